"""Debugger dashboard: root cause, alerts, heat map, executions, source code and comparison."""

# ruff: noqa: RUF001 (the page uses typographic signs)

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.archives import extract
from tests.web.conftest import board_fixture
from tests.web.debugger_log import write_dead_units, write_dump
from tests.web.waiting import get_stable_box, get_stable_url
from tracklight.cli import main
from tracklight.cli.demo.faulty_models import write_divergence
from tracklight.server.routing import PAGE_DIR

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
DUMPS = Path(__file__).parents[1] / "data/debug_events/dumps.tar.xz"
BAD_RUN = "recorded/lr=0.5"


def write_log(folder: Path) -> None:
    extract(DUMPS, folder)
    for file in folder.glob("*.json"):
        file.unlink()
    write_divergence(folder / "recorded", now=1.7e9)


def write_dumps(folder: Path) -> None:
    write_dump(folder / "first", shift=0)
    write_dump(folder / "second", shift=0.5)
    write_dead_units(folder / "ranks", rank=1)


board = board_fixture(write_log, "module")
#: Two dumps of the same program with different inputs, and a recording of rank 1.
other_board = board_fixture(write_dumps, "module")


def open_debugger(open_page: OpenPage, board: str, source: str, **params: str) -> Page:
    query = "".join(f"&debugger-{name}={quote(value)}" for name, value in params.items())
    return open_page(f"{board}?tab=debugger&debugger-run={quote(source)}{query}")


def root_cause(page: Page) -> Locator:
    return page.get_by_role("region", name="Root cause")


def details(page: Page) -> Locator:
    return page.locator("main aside").last


def rows(page: Page, name: str) -> Locator:
    return page.get_by_role("table", name=name).get_by_role("row")


def test_root_cause_of_a_recording_and_stored_values(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, BAD_RUN)
    cause = root_cause(page)
    expect(cause.get_by_role("heading")).to_have_text("“log” produced 3 −Inf of 320 values")
    for text in ("Step 97", "train.py:34", "The logarithm of 0 is -Inf", "softmax", "Finite"):
        expect(cause).to_contain_text(text)
    expect(cause.locator("[data-drawn]")).to_have_attribute("data-drawn", "1")
    expect(rows(page, "Alerts").first).to_contain_text("Root cause")

    root_cause(page).get_by_role("button", name="Values of log").click()
    expect(details(page)).to_contain_text("3 −Inf")
    expect(details(page).locator("td.bad").first).to_have_text("−∞")
    assert re.search(r"debugger-item=v(:|%3A)log", get_stable_url(page))


def test_details_of_a_tensor_show_its_neighborhood_histogram_and_stack(
    board: str, open_page: OpenPage
) -> None:
    page = open_debugger(open_page, board, BAD_RUN)
    root_cause(page).get_by_role("button", name="Show details").click()
    panel = details(page)
    graph = panel.get_by_role("region", name="Graph structure")
    expect(graph.locator("[data-node] [aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("log.*NaN/Inf")
    )
    expect(graph.get_by_role("button", name=re.compile("softmax.*Finite"))).to_be_visible()
    expect(panel.get_by_role("img", name=re.compile("Value histograms of"))).to_be_visible()
    graph.get_by_role("button", name=re.compile("softmax")).click()
    expect(graph.locator("[data-node] [aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("softmax")
    )
    panel.get_by_role("button", name="train.py:26").click()
    expect(page.locator("[aria-current=location] code")).to_contain_text("torch.softmax(x, 1)")


def test_source_code_of_a_recording(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, BAD_RUN)
    root_cause(page).get_by_role("button", name="train.py:34").click()
    expect(page.locator("[aria-current=location] code")).to_contain_text("torch.log(p)[rows, y]")
    assert "debugger-view=code" in get_stable_url(page)


def test_alerts_are_filtered_and_stepped_through(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, BAD_RUN)
    alerts = page.get_by_role("region", name="Alerts")
    expect(alerts.get_by_role("table")).to_have_attribute("aria-rowcount", re.compile(r"[1-9]"))
    page.get_by_role("group", name="Alert kinds").get_by_role("button", name="Inf").click()
    expect(rows(page, "Alerts")).to_have_count(2)
    expect(alerts).to_contain_text(re.compile(r"2 of \d+"))
    alerts.get_by_role("button", name="Next alert").click()
    expect(rows(page, "Alerts").nth(0).locator("[aria-current=true]")).to_be_visible()
    alerts.get_by_role("button", name="Next alert").click()
    expect(rows(page, "Alerts").nth(1).locator("[aria-current=true]")).to_be_visible()
    expect(details(page)).to_contain_text("loss")
    url = get_stable_url(page)
    assert "debugger-kinds=inf" in url
    reopened = open_page(url)
    expect(rows(reopened, "Alerts")).to_have_count(2)
    expect(details(reopened)).to_contain_text("loss")


def test_heat_map(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, BAD_RUN, view="tensors", role="gradient")
    table = page.get_by_role("table", name="Heat map of Norm over steps")
    expect(table.get_by_role("row")).to_have_count(4)
    table.locator("button", has_text="conv1.weight").click()
    expect(details(page)).to_contain_text("gradient")
    expect(details(page).locator("[data-drawn]")).to_have_attribute("data-drawn", "1")
    strip = table.locator("canvas").first
    box = get_stable_box(strip)
    page.mouse.move(box.x + box.width / 2, box.y + 5)
    expect(page.get_by_role("status", name="Values at this step")).to_contain_text("conv1.weight")
    page.mouse.down()
    page.mouse.move(box.x + box.width * 0.75, box.y + 5, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    assert "debugger-steps=" in get_stable_url(page)


def test_healthy_recording_has_no_problem(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, "recorded/lr=0.05")
    expect(root_cause(page)).to_contain_text("No problems found")


def test_compares_recordings(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, BAD_RUN, view="compare")
    difference = page.get_by_role("region", name="First difference")
    expect(difference.get_by_role("heading")).to_contain_text("First difference at step")


def test_compares_dumps(other_board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, other_board, "first", view="compare")
    difference = page.get_by_role("region", name="First difference")
    expect(difference.get_by_role("heading")).to_have_text("First difference in Sub “差”")
    expect(difference).to_contain_text("Value at [0, 0]")
    expect(difference).to_contain_text("2 (Graph execution 0)")
    expect(difference).to_contain_text("2.5 (Graph execution 0)")
    difference.get_by_role("button", name="Show in timeline").click()
    current = page.get_by_role("table", name="Graph executions").locator("[aria-current=true]")
    expect(current).to_contain_text("Sub")


def test_alert_about_a_dump_opens_it(other_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{other_board}?tab=overview")
    page.get_by_role("button", name=re.compile("alert", re.I)).first.click()
    panel = page.get_by_role("complementary", name="Alerts")
    panel.get_by_role("button", name=re.compile("first: the output of")).click()
    expect(root_cause(page).get_by_role("heading")).to_contain_text("Log “对数” produced")
    assert "debugger-run=first" in get_stable_url(page)


def test_alert_about_dead_units_opens_its_rank(other_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{other_board}?tab=overview")
    page.get_by_role("button", name=re.compile("alert", re.I)).first.click()
    panel = page.get_by_role("complementary", name="Alerts")
    text = re.compile(r"ranks \(rank 1\): dead units at step 0")
    panel.get_by_role("button", name=text).click()
    expect(root_cause(page)).to_contain_text("10 of 10 units are zero for all inputs")
    assert "rank+1" in get_stable_url(page) or "rank%201" in get_stable_url(page)


def test_alert_about_dead_units_in_chinese(other_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{other_board}?tab=overview", locale="zh-CN")
    page.get_by_role("button", name=re.compile("告警")).first.click()
    text = re.compile(r"“激活”在第 0 步存在问题：失活单元。10 个单元中有 10 个对所有输入均为零")
    expect(page.get_by_role("button", name=text)).to_be_visible()


def test_root_cause_of_a_dump_leads_to_its_graph_and_source(
    board: str, open_page: OpenPage
) -> None:
    page = open_debugger(open_page, board, "full_tensor")
    cause = root_cause(page)
    expect(cause.get_by_role("heading")).to_contain_text("Log")
    cause.get_by_role("button", name="Show in timeline").click()
    current = page.get_by_role("table", name="Graph executions").locator("[aria-current=true]")
    expect(current).to_contain_text("Log")
    panel = details(page)
    expect(panel.get_by_role("region", name="Values")).to_be_visible()
    expect(panel.get_by_role("group", name="Inputs")).to_be_visible()
    expect(panel.get_by_role("group", name="Consumers").get_by_role("button")).not_to_have_count(0)
    graph = panel.get_by_role("region", name="Graph structure")
    expect(graph.locator("[data-node] [aria-pressed=true]")).to_have_attribute(
        "aria-label", re.compile("Log.*NaN/Inf")
    )
    expect(panel.get_by_role("button", name=re.compile("library frame")).first).to_be_visible()
    panel.get_by_role("button", name=re.compile(r"debug_dump_program\.py:\d+")).first.click()
    expect(page.locator("[aria-current=location] code")).to_have_text(re.compile(r"\S"))


def test_executions_link_to_graph_executions(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, "full_health", view="executions", search="__")
    table = page.get_by_role("table", name="Executions", exact=True)
    expect(table.get_by_role("row").first).to_contain_text("__forward_loss")
    table.get_by_role("row").first.locator("button").click()
    link = details(page).get_by_role("button", name=re.compile("Graph executions"))
    link.click()
    expect(page.get_by_role("region", name="Graph executions")).to_be_visible()
    expect(
        page.get_by_role("table", name="Graph executions").locator("[aria-current=true]")
    ).to_be_visible()


def test_only_non_finite_executions(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, "full_health", view="graph_executions")
    table = page.get_by_role("table", name="Graph executions")
    expect(table.get_by_role("row").first).to_be_visible()
    before = table.get_attribute("aria-rowcount")
    page.get_by_label("Only NaN/Inf").check()
    expect(table).not_to_have_attribute("aria-rowcount", before or "")
    expect(table.get_by_role("img", name="Finite", exact=True)).to_have_count(0)


def test_timeline_zooms(board: str, open_page: OpenPage) -> None:
    page = open_debugger(open_page, board, "full_health", view="executions")
    plot = page.get_by_role("region", name="Timeline").locator("svg")
    expect(plot.locator("path.traces")).to_have_attribute("d", re.compile("M"))
    box = get_stable_box(plot)
    page.mouse.move(box.x + box.width * 0.5, box.y + 30)
    page.mouse.down()
    page.mouse.move(box.x + box.width * 0.9, box.y + 30, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.get_by_role("button", name="Reset zoom").click()
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)


def test_chinese(board: str, open_page: OpenPage) -> None:
    url = f"{board}?tab=debugger&debugger-run={quote(BAD_RUN)}"
    page = open_page(url, locale="zh-CN")
    cause = page.get_by_role("region", name="根本原因")
    expect(cause.get_by_role("heading")).to_have_text("“log” 产生了 3 个 −Inf（共 320 个值）")
    expect(cause).to_contain_text("0 的对数为 -Inf")


@pytest.mark.parametrize(
    ("locale", "title", "label"),
    [
        ("en-US", "No data for Debugger yet", "Example code for {}"),
        ("zh-CN", "调试器尚无数据", "{} 示例代码"),
    ],
)
def test_shows_how_to_record(
    locale: str, title: str, label: str, open_page: OpenPage, sweep: str
) -> None:
    page = open_page(f"{sweep}?tab=debugger", locale=locale)
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    examples = {
        "PyTorch": "with debugger.watch(model",
        "JAX": "train_step = debugger.watch(train_step",
        "Keras": "callbacks=[watcher]",
        "TensorFlow": "enable_dump_debug_info",
    }
    for framework, text in examples.items():
        expect(page.get_by_role("heading", name=framework, exact=True)).to_be_visible()
        expect(page.get_by_label(label.format(framework))).to_contain_text(text)


@pytest.mark.skipif(
    not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
)
def test_static_export(tmp_path: Path, open_page: OpenPage) -> None:
    write_divergence(tmp_path / "logs", now=1.7e9)
    target = tmp_path / "board.html"
    arguments = ["export", str(tmp_path / "logs"), "--no-cache", f"--static={target}"]
    assert main([*arguments, "--view=?tab=debugger&debugger-run=lr%3D0.5"]) == 0
    page = open_page(target.as_uri())
    expect(root_cause(page).get_by_role("heading")).to_contain_text("3 −Inf")
    page.get_by_role("group", name="Alert kinds").get_by_role("button", name="Inf").click()
    expect(rows(page, "Alerts")).to_have_count(2)
    root_cause(page).get_by_role("button", name="Show details").click()
    expect(details(page)).to_contain_text("Norm")
    expect(details(page).locator("[data-node] [aria-pressed=true]")).to_be_visible()
    page.get_by_role("button", name="Heat map", exact=True).click()
    expect(rows(page, "Heat map of Norm over steps").first).to_be_visible()
    page.get_by_role("button", name="Source code", exact=True).click()
    expect(page.locator("[aria-current=location] code")).to_contain_text("torch.log(p)[rows, y]")
    page.get_by_role("button", name="Compare", exact=True).click()
    difference = page.get_by_role("region", name="First difference")
    expect(difference.get_by_role("heading")).to_contain_text("First difference at step")


@pytest.mark.skipif(
    not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
)
def test_static_export_of_a_dump(tmp_path: Path, open_page: OpenPage) -> None:
    extract(DUMPS, tmp_path / "dumps")
    target = tmp_path / "board.html"
    logdir = str(tmp_path / "dumps/full_health")
    arguments = ["export", logdir, "--no-cache", f"--static={target}"]
    assert main([*arguments, "--view=?tab=debugger&debugger-view=graph_executions"]) == 0
    page = open_page(target.as_uri())
    table = page.get_by_role("table", name="Graph executions")
    expect(table).to_have_attribute("aria-rowcount", "159")
    page.get_by_label("Only NaN/Inf").check()
    expect(table).not_to_have_attribute("aria-rowcount", "159")
    page.get_by_role("button", name="Problems", exact=True).click()
    root_cause(page).get_by_role("button", name="Show details").click()
    expect(details(page).locator("[data-node] [aria-pressed=true]")).to_be_visible()
