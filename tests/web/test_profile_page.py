"""Profile dashboard: overview, findings, comparison, input pipeline, steps and hosts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.conftest import serve_log
from tests.web.locators import click_retry
from tests.web.profile_log import (
    TAB,
    choose_capture,
    format_ms,
    load_summary,
    open_tool,
    section,
    tool_panel,
    write_captures,
)
from tests.web.waiting import get_stable_url

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


@pytest.fixture(scope="module")
def board(folder: Path) -> Iterator[str]:
    with serve_log(folder, write_captures) as address:
        yield address + TAB


def test_overview_lists_findings_with_their_events(
    board: str, folder: Path, open_page: OpenPage
) -> None:
    expected = load_summary(folder / "logs", "flowers/before")
    page = open_page(board)
    choose_capture(page, "Select capture", "flowers/before")
    time = section(page, "Step time")
    expect(time).to_contain_text(format_ms(expected.steps.mean_ms))
    parts = page.get_by_role("table", name="Step time breakdown")
    input_wait = next(part for part in expected.parts if part.name == "input")
    expect(parts.locator("[data-part=input]")).to_contain_text(format_ms(input_wait.ms))
    expect(section(page, "Utilization").locator("[data-share=long]")).to_contain_text("100%")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export steps as CSV").click()
    head, *rows = Path(download.value.path()).read_text().splitlines()
    assert head.startswith("step,start_ms,total_ms,") and len(rows) == expected.steps.count

    findings = section(page, "Recommendations")
    names = [finding.name for finding in expected.findings]
    expect(findings.locator("[data-finding]")).to_have_count(len(names))
    first = findings.locator(f"[data-finding={names[0]}]")
    expect(first).to_contain_text("prefetch")
    expect(first.get_by_role("region", name="Code")).to_contain_text("AUTOTUNE")
    evidence = expected.findings[0].evidence[0]
    first.get_by_title(f"{evidence.name} on {evidence.track}").first.click()
    expect(tool_panel(page, "trace")).to_contain_text(evidence.name)
    assert f"p-event={evidence.event}" in get_stable_url(page, 600)

    page.go_back()
    expect(section(page, "Step time")).to_be_visible()
    second = findings.locator(f"[data-finding={names[1]}]")
    second.get_by_role("button", name=re.compile("32 bits")).click()
    expect(second).to_contain_text("mixed_precision")


def test_changed_thresholds_are_stored_in_url(
    board: str, folder: Path, open_page: OpenPage
) -> None:
    count = len(load_summary(folder / "logs", "flowers/before").findings)
    page = open_page(board)
    choose_capture(page, "Select capture", "flowers/before")
    findings = section(page, "Recommendations").locator("[data-finding]")
    expect(findings).to_have_count(count)
    page.get_by_role("button", name="Thresholds").click()
    field = page.get_by_role("textbox", name="The input is too slow, percent")
    expect(field).to_have_value("5")
    field.fill("99")
    field.press("Enter")
    expect(findings).to_have_count(count - 1)
    expect(page.get_by_role("button", name="Thresholds (1 changed)")).to_be_visible()

    other = open_page(get_stable_url(page, 600))
    findings = section(other, "Recommendations").locator("[data-finding]")
    expect(findings).to_have_count(count - 1)
    other.get_by_role("button", name="Thresholds").click()
    other.get_by_role("button", name="Reset to defaults").click()
    expect(findings).to_have_count(count)
    expect(findings.first).to_have_attribute("data-finding", "input")


def test_compares_findings_of_two_captures(board: str, folder: Path, open_page: OpenPage) -> None:
    before, after = (
        load_summary(folder / "logs", f"flowers/{name}") for name in ("before", "after")
    )
    page = open_page(board)
    page.get_by_role("button", name="flowers/before", exact=True).click()
    saved = format_ms(before.steps.mean_ms - after.steps.mean_ms)
    expect(section(page, "Step time")).to_contain_text(f"\N{MINUS SIGN}{saved}")
    changes = page.get_by_role("list", name="Changes in recommendations")
    expect(changes.locator("[data-change=input]")).to_contain_text("resolved")
    expect(
        page.get_by_role("img", name=re.compile("^Time of each step, baseline: 10 steps"))
    ).to_be_visible()

    open_tool(page, "Compare")
    ops = page.get_by_role("table", name="Ops by change")
    row = ops.locator('[data-op="decode_image/DecodeImage"]')
    old_op = next(op for op in before.ops if op.name == "decode_image/DecodeImage")
    expect(row).to_contain_text(
        f"\N{MINUS SIGN}{format_ms(old_op.self_ms / before.steps.count)} gone"
    )
    page.keyboard.press("x")
    expect(page.get_by_role("button", name=re.compile("^Select capture: .*before"))).to_be_visible()
    expect(row).to_contain_text("new")
    link = get_stable_url(page)

    other = open_page(link)
    expect(other.locator('[data-op="decode_image/DecodeImage"]')).to_contain_text("new")
    choose_capture(other, "Select baseline capture", "None")
    expect(tool_panel(other, "overview")).to_be_visible()


def test_input_pipeline_shows_slowest_stage(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "flowers/before")
    open_tool(page, "Input")
    expect(section(page, "Input wait")).to_contain_text("Map")
    slowest = page.locator("[data-stage]").filter(has_text="slowest")
    expect(slowest).to_contain_text("Map")
    expect(page.locator("p.advice").first).to_contain_text("num_parallel_calls")
    choose_capture(page, "Select baseline capture", "flowers/after")
    expect(section(page, "Input wait").locator("[data-tone=worse]").first).to_be_visible()
    slowest.get_by_role("button", name="Map").click()
    expect(tool_panel(page, "trace")).to_be_visible()


def test_reads_steps_by_keyboard_and_with_another_marker(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "flowers/before")
    steps = page.get_by_role("img", name=re.compile("^Time of each step: 10 steps"))
    steps.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("status", name="Step", exact=True)).to_contain_text("input")
    marks = page.get_by_role("combobox", name="Step source")
    marks.select_option(label="InstantiatedCapturedFunction::Run (320)")
    expect(page.get_by_role("img", name=re.compile("^Time of each step: 320"))).to_be_visible()
    expect(page).to_have_url(re.compile("p-marker=InstantiatedCapturedFunction"))
    page.go_back()
    expect(steps).to_be_visible()
    # The rules of xprof equal xprof only without a device.
    expect(page.get_by_role("combobox", name="Breakdown")).to_have_count(0)
    steps.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(tool_panel(page, "trace")).to_be_visible()


def test_selects_hosts_and_reports_damaged_capture(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "jax")
    bits = section(page, "Utilization").locator("[data-share=short]")
    rate = section(page, "Utilization").locator("[data-rate=flops]")
    expect(rate).to_contain_text(re.compile(r"FLOP/s .*% of .*NVIDIA H200"))
    host = page.get_by_role("combobox", name="Host", exact=True)
    host.select_option("worker-f32")
    expect(page).to_have_url(re.compile("p-host=worker-f32"))
    expect(section(page, "Utilization").locator("[data-share=long]")).to_contain_text("%")
    hosts = section(page, "Hosts")
    expect(hosts.get_by_role("listitem")).to_have_count(2)
    hosts.get_by_role("button", name="worker-bf16").click()
    expect(host).to_have_value("worker-bf16")
    expect(bits).to_contain_text("%")
    choose_capture(page, "Select capture", "damaged")
    expect(page.get_by_role("alert")).to_contain_text("worker.xplane.pb")


def test_shows_loading_progress_and_retries_failed_request(board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    held: list[Route] = []
    broken = [True]

    def fail(route: Route) -> None:
        if broken[0]:
            route.fulfill(status=500, json={"error": {"message": "It broke.", "hint": "Wait."}})
        else:
            route.continue_()

    opening = {"state": "opening", "share": 0.25, "bytes": 4_000_000}
    page.route("**/api/v1/profile/tools?*", lambda route: held.append(route))
    page.route("**/api/v1/profile/overview?*", fail)
    page.route(
        "**/api/v1/profile/opening?*",
        lambda route: route.fulfill(json={**opening, "problem": None}),
    )
    page.goto(board)
    expect(page.get_by_role("progressbar", name="Reading capture")).to_have_attribute(
        "value", "0.25"
    )
    expect(page.get_by_text("4 MB")).to_be_visible()
    reason = {"code": "", "text": "No allocation was recorded.", "args": {}}
    empty_tool = {"name": "memory", "empty_reason": reason, "hint": None}
    overview_tool = {"name": "overview", "empty_reason": None, "hint": None}
    held[0].fulfill(json={"tools": [overview_tool, empty_tool]})
    expect(page.get_by_role("alert")).to_contain_text("It broke.")
    page.get_by_role("button", name="1 without data").click()
    dialog = page.get_by_role("dialog", name="Tools without data")
    expect(dialog).to_contain_text("Memory No allocation was recorded.")
    page.keyboard.press("Escape")
    broken[0] = False
    click_retry(page)
    expect(section(page, "Step time")).to_be_visible()
