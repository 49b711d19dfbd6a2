"""Trace viewer: drawing, search, measurement, details, keyboard and export."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, Request, expect

from tests.web.conftest import board_fixture
from tests.web.profile_log import choose_capture
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import Box, get_stable_box, get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
#: Slightly longer than the delay after which the page writes the viewport to the URL.
URL_DELAY_MS = 600
STEPS, STEP_US = 4, 10_000
#: Margin on both sides of a trace, as a fraction of its length.
MARGIN = 0.02


def iter_events(kernel_us: float) -> Iterator[dict[str, Any]]:
    """Yield steps of 10 ms with two calls and their kernels, which get longer with each step."""
    main, device = {"pid": 7, "tid": 7}, {"pid": 0, "tid": 3}
    yield {"ph": "M", "name": "thread_name", **main, "args": {"name": "python"}}
    yield {"ph": "M", "name": "thread_name", **device, "args": {"name": "stream 3"}}
    for step in range(STEPS):
        at = step * STEP_US
        step_event = {"ph": "X", **main, "ts": at, "dur": STEP_US, "cat": "user_annotation"}
        yield {**step_event, "name": f"ProfilerStep#{step}"}
        for call in range(2):
            began, number = at + 1_000 + 4_000 * call, 10 * step + call + 1
            op = {"ph": "X", **main, "ts": began, "dur": 3_000, "cat": "cpu_op"}
            yield {**op, "name": "aten::mm", "args": {"Input Dims": [[64, 64], [64, 64]]}}
            launch = {"ph": "X", **main, "ts": began + 500, "dur": 500, "cat": "cuda_runtime"}
            yield {**launch, "name": "cudaLaunchKernel", "args": {"correlation": number}}
            kernel = {"ph": "X", **device, "ts": began + 2_000, "cat": "kernel"}
            length = kernel_us + 100 * step
            kernel_args = {"correlation": number, "grid": [8, 1, 1]}
            yield {**kernel, "dur": length, "name": "ampere_sgemm_64x64", "args": kernel_args}


def write_trace(logdir: Path) -> None:
    for run, kernel_us in (("slow", 2_000.0), ("fast", 500.0)):
        folder = logdir / run
        folder.mkdir(parents=True)
        content = {"traceEvents": list(iter_events(kernel_us))}
        (folder / "vm_7.1700000000000.pt.trace.json").write_text(json.dumps(content))


board = board_fixture(write_trace, "module", "?tab=profile&tool=trace")


def wait_for_trace(page: Page) -> Locator:
    """Return the canvas of the tracks once everything visible is loaded."""
    field = page.get_by_role("application").first
    expect(field).to_have_attribute("data-complete", "true")
    return field


def time_to_fraction(us: float) -> float:
    """Return the horizontal position of a time in the whole trace, as a fraction of the width."""
    whole = STEPS * STEP_US
    return (us / whole + MARGIN) / (1 + 2 * MARGIN)


def event_position(place: Box, us: float, lane: int) -> tuple[float, float]:
    """Return the screen position of a time in a lane of the first track, the main thread."""
    return place.x + place.width * time_to_fraction(us), place.y + 3 + 18 * lane + 8


def read_color(field: Locator, us: float, lane: int) -> list[int]:
    return field.evaluate(
        """(field, [across, y]) => {
            const canvas = field.querySelector('canvas');
            const ratio = canvas.width / field.clientWidth;
            const copy = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
            const at = [Math.round(canvas.width * across), Math.round(y * ratio)];
            copy.drawImage(canvas, ...at, 1, 1, 0, 0, 1, 1);
            return [...copy.getImageData(0, 0, 1, 1).data];
        }""",
        [time_to_fraction(us), 3 + 18 * lane + 3],
    )


def test_draws_searches_and_follows_events(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    field = wait_for_trace(page)
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("steps marked by the profiler")
    expect(page.get_by_role("list", name="Tracks").get_by_role("listitem")).to_have_count(2)
    # Calls of the same name have the same color, and the gap between them another.
    wait_for_condition(
        page,
        lambda: (
            read_color(field, 2_000, 1)
            == read_color(field, 16_000, 1)
            != read_color(field, 4_500, 1)
        ),
    )

    page.keyboard.press("f")
    page.keyboard.type("SGEMM 64")
    match_count = page.get_by_role("status", name="Matches")
    expect(match_count).to_have_text("8")
    expect(details).to_contain_text("8 events, 17.2 ms")
    page.keyboard.press("Enter")
    expect(match_count).to_have_text("1 of 8")
    expect(details.get_by_role("heading", name="ampere_sgemm_64x64")).to_be_visible()
    details.get_by_role("button", name="Longest").click()
    expect(match_count).to_have_text("7 of 8")
    expect(details).to_contain_text("2.3 ms")
    expect(details.get_by_role("region", name="Arguments")).to_contain_text("[8, 1, 1]")

    details.get_by_role("region", name="Launched by").get_by_role("button").click()
    expect(details.get_by_role("heading", name="cudaLaunchKernel")).to_be_visible()
    around = details.get_by_role("region", name="Parents").get_by_role("button")
    expect(around).to_have_count(2)
    expect(around.first).to_contain_text("ProfilerStep#3")
    around.nth(1).click()
    expect(details.get_by_role("heading", name="aten::mm")).to_be_visible()
    link = get_stable_url(page, URL_DELAY_MS)

    other = open_page(link)
    wait_for_trace(other)
    other_details = other.get_by_role("complementary", name="Details")
    expect(other_details.get_by_role("heading", name="aten::mm")).to_be_visible()
    expect(other_details).to_contain_text("ProfilerStep#3")
    expect(other.get_by_role("status", name="Matches")).to_have_text("8")


def test_searches_by_regular_expression_and_in_arguments(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    field = wait_for_trace(page)
    details = page.get_by_role("complementary", name="Details")
    search = page.get_by_role("searchbox", name="Search events")
    match_count = page.get_by_role("status", name="Matches")
    search.fill("^AMPERE_.+x64$")
    expect(match_count).to_have_text("no matches")
    expect(details).to_contain_text("* matches anything")
    bar = page.get_by_role("toolbar", name="Trace")
    bar.get_by_role("button", name="Regular expression").click()
    expect(match_count).to_have_text("8")
    search.fill("^correlation=3[12]$")
    expect(match_count).to_have_text("no matches")
    page.get_by_role("button", name="Also search arguments").click()
    # Two launches of the last step and their kernels.
    expect(match_count).to_have_text("4")
    expect(details).to_contain_text("4 events")
    # Only the matching launches are highlighted.
    wait_for_condition(page, lambda: read_color(field, 31_600, 2) != read_color(field, 1_600, 2))
    search.press("Enter")
    expect(match_count).to_have_text("1 of 4")

    other = open_page(get_stable_url(page, URL_DELAY_MS))
    wait_for_trace(other)
    expect(other.get_by_role("status", name="Matches")).to_have_text("1 of 4")
    other.get_by_role("button", name="Find all").click()
    expect(other.get_by_role("status", name="Matches")).to_have_text("7 of 8")
    bar = other.get_by_role("toolbar", name="Trace")
    for switch in ("Regular expression", "Also search arguments"):
        expect(bar.get_by_role("button", name=switch, pressed=False)).to_be_visible()

    search.fill("(")
    expect(page.get_by_text("invalid regular expression")).to_be_visible()


def test_search_sends_one_valid_request_for_each_query(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    wait_for_trace(page)
    sent: list[dict[str, object]] = []

    def record(request: Request) -> None:
        if request.url.endswith("timeline/search"):
            sent.append(request.post_data_json)

    page.on("request", record)
    search = page.get_by_role("searchbox", name="Search events")
    search.fill("sgemm")
    expect(page.get_by_role("status", name="Matches")).to_have_text("8")
    search.fill("aten")
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("aten::mm")
    assert [body["query"] for body in sent] == ["sgemm", "aten"]
    assert all("capture" in body for body in sent)


def test_exports_visible_trace_as_png_on_white(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    field = wait_for_trace(page)
    place = get_stable_box(field)
    names = get_stable_box(page.get_by_role("list", name="Tracks"))
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export visible trace as PNG").click()
    assert download.value.suggested_filename.endswith("_trace.png")
    with Image.open(download.value.path()) as image:
        picture = np.asarray(image.convert("RGB"))
    assert picture.shape[1] == pytest.approx(names.width + place.width, abs=1)
    assert picture.shape[0] < place.height, "what is below the last track is left out"
    assert picture[0, 0].tolist() == [255, 255, 255]
    # A call and the gap after it, below the title and the ruler.
    x, y = (int(each) for each in event_position(place, 2_000, 1))
    gap = int(event_position(place, 4_500, 1)[0])
    x, gap, y = x - int(names.x), gap - int(names.x), y - int(place.y) + 36 + 44 - 5
    call = read_color(field, 2_000, 1)[:3]
    assert picture[y, x].tolist() == call != picture[y, gap].tolist()
    # The name of the first track is to the left of it.
    assert (picture[80:100, : int(names.width)] < 100).any()


def test_measured_range_snaps_to_events_and_is_summarized(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    place = get_stable_box(wait_for_trace(page))
    page.mouse.move(*event_position(place, 11_000, 1))
    page.mouse.down()
    page.mouse.move(*event_position(place, 14_000, 1), steps=4)
    page.mouse.up()
    expect(page.get_by_role("status", name="Selected range")).to_have_text("3 ms")
    details = page.get_by_role("complementary", name="Details")
    row = details.get_by_role("row", name=re.compile("sgemm"))
    expect(row).to_contain_text("1 ms")  # it ends after the range
    expect(details.get_by_role("region", name="Track utilization")).to_contain_text("100%")

    page.get_by_role("button", name="Measure ProfilerStep#2").click()
    expect(page.get_by_role("status", name="Selected range")).to_have_text("10 ms")
    expect(details.get_by_role("row", name=re.compile("aten::mm"))).to_contain_text("6 ms")
    page.keyboard.press("Escape")
    expect(page.get_by_role("status", name="Selected range")).to_have_count(0)

    page.mouse.move(*event_position(place, 2_000, 1))
    expect(page.get_by_role("status", name="Event")).to_contain_text("aten::mm")
    page.mouse.dblclick(*event_position(place, 2_000, 1))
    expect(page.get_by_role("application")).to_have_accessible_name(re.compile(r"3\.6 ms visible"))
    expect(details.get_by_role("heading", name="aten::mm")).to_be_visible()


def test_navigates_by_keyboard_and_collapses_pins_and_hides_tracks(
    board: str, open_page: OpenPage
) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    field = wait_for_trace(page)
    expect(field).to_have_accessible_name(re.compile(r"2 tracks, 41\.6 ms"))
    page.keyboard.press("w")
    expect(field).to_have_accessible_name(re.compile(r"29\.12 ms"))
    expect(page.locator(".ruler .tick").first).to_have_text("10 ms")
    page.keyboard.press("a")
    expect(page.locator(".ruler .tick").first).to_have_text("5 ms")
    page.keyboard.press("z")
    expect(field).to_have_accessible_name(re.compile(r"41\.6 ms"))

    tracks = page.get_by_role("list", name="Tracks")
    host = tracks.get_by_role("button", name=re.compile("^python"))
    host.click()
    expect(host).to_have_attribute("aria-expanded", "false")
    tracks.get_by_role("listitem").nth(1).hover()
    tracks.get_by_role("button", name="Pin stream 3 to top").click()
    expect(tracks.get_by_role("button", name="Unpin stream 3")).to_be_visible()
    tracks.get_by_role("listitem").first.hover()
    tracks.get_by_role("button", name="Hide python").click()
    expect(tracks.get_by_role("listitem")).to_have_count(1)
    other = open_page(get_stable_url(page, URL_DELAY_MS))
    expect(other.get_by_role("list", name="Tracks").get_by_role("listitem")).to_have_count(1)
    other.get_by_role("button", name="Tracks (1 hidden)").click()
    other.get_by_role("menuitemcheckbox", name="python").click()
    expect(other.get_by_role("list", name="Tracks").get_by_role("listitem")).to_have_count(2)


def test_tooltip_disappears_with_a_jump(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "slow")
    field = wait_for_trace(page)
    box = get_stable_box(field)
    x, y = event_position(box, 2_000, 1)
    page.mouse.dblclick(x, y)
    expect(field).not_to_have_accessible_name(re.compile(r"41\.6 ms"))
    wait_for_trace(page)
    tooltip = page.get_by_role("status", name="Event", exact=True)

    def show_tooltip() -> bool:
        """Move the pointer, as the trace may still be moving."""
        for offset in (0, 5):
            page.mouse.move(box.x + box.width / 2 + offset, y)
        return tooltip.count() == 1

    wait_for_condition(page, show_tooltip)
    expect(tooltip).to_contain_text("aten::mm")
    # The pointer stays where it is, and the trace moves below it.
    details = page.get_by_role("complementary", name="Details")
    details.get_by_role("button", name="Next").dispatch_event("click")
    expect(details).to_contain_text("2 of 8")
    details.get_by_role("button", name="Next").dispatch_event("click")
    expect(details).to_contain_text("3 of 8")
    expect(tooltip).to_have_count(0)


def test_compares_two_traces_accessibly_on_a_phone(board: str, open_page: OpenPage) -> None:
    page = open_page(board, width=390, color_scheme="dark")
    choose_capture(page, "Select capture", "fast")
    wait_for_trace(page)
    assert not overflows(page)
    page.get_by_role("button", name="Details").click()
    expect(page.get_by_role("complementary", name="Details")).to_be_visible()
    assert list_violations(page) == []
    page.get_by_role("button", name="Hide details").click()
    choose_capture(page, "Select baseline capture", "slow")
    fields = page.get_by_role("application")
    expect(fields).to_have_count(2)
    expect(fields.nth(1)).to_have_attribute("data-complete", "true")
    page.get_by_role("searchbox", name="Search events").fill("sgemm")
    expect(page.get_by_role("status", name="Matches")).to_have_text("8")
    assert list_violations(page) == []


def test_back_and_forward_restore_zoom_and_selection(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    place = get_stable_box(wait_for_trace(page))
    whole = get_stable_url(page, URL_DELAY_MS)
    page.mouse.click(*event_position(place, 1_500, 1))
    expect(page).to_have_url(re.compile("p-event="))
    selected = get_stable_url(page, URL_DELAY_MS)
    details = page.get_by_role("heading", name="aten::mm")
    expect(details).to_be_visible()
    page.mouse.dblclick(*event_position(place, 11_500, 1))
    expect(page).to_have_url(re.compile("p-span="))
    zoomed = get_stable_url(page, URL_DELAY_MS)
    for url in (selected, whole):
        page.go_back()
        # A double click first selects, so that it adds two entries.
        if get_stable_url(page, URL_DELAY_MS) not in (selected, whole):
            page.go_back()
        assert get_stable_url(page, URL_DELAY_MS) == url
    expect(details).to_have_count(0)
    page.go_forward()
    assert get_stable_url(page, URL_DELAY_MS) == selected
    expect(details).to_be_visible()
    page.go_forward()
    page.go_forward()
    assert get_stable_url(page, URL_DELAY_MS) == zoomed


def test_back_from_another_capture_restores_the_selection(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&capture=")
    wait_for_trace(page)
    place = get_stable_box(page.get_by_role("application").first)
    page.mouse.click(*event_position(place, 1_500, 1))
    expect(page).to_have_url(re.compile("p-event="))
    selected = get_stable_url(page, URL_DELAY_MS)
    name = (
        "fast"
        if page.get_by_role("button", name=re.compile("^Select capture.*slow")).count()
        else "slow"
    )
    choose_capture(page, "Select capture", name)
    expect(page).not_to_have_url(re.compile("p-event="))
    wait_for_trace(page)
    page.go_back()
    assert get_stable_url(page, URL_DELAY_MS) == selected
    expect(page.get_by_role("heading", name="aten::mm")).to_be_visible()
