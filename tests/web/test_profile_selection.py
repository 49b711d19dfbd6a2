"""The trace viewer: several selected events, rows of a query, and the order and width of tracks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import serve_log
from tests.web.profile_log import TAB, open_tool
from tests.web.test_appearance import list_violations
from tests.web.test_profile_query import CAPTURE, run_sql, write_capture
from tests.web.test_profile_tools import table_rows
from tests.web.waiting import get_stable_box
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.timeline import Timeline

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
MIN_TRACE_PX = 480


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("selection"), write_capture) as address:
        yield address + TAB


def get_timeline(page: Page) -> Locator:
    timeline = page.locator("[role=application][data-complete=true]")
    expect(timeline).to_be_visible()
    return timeline


def get_details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details")


def test_events_are_selected_by_rectangle_and_click(board: str, open_page: OpenPage) -> None:
    timeline = Timeline(open_capture(CAPTURE))
    trace = timeline.trace
    kernels = trace.on_device.nonzero()[0]
    longest = int(kernels[trace.duration_ps[kernels].argmax()])
    start, duration = (float(it[longest]) / 1e6 for it in (trace.start_ps, trace.duration_ps))
    # The kernel fills the middle half of the width.
    page = open_page(
        f"{board}&tool=trace&p-span={start - duration / 2}~{start + duration * 1.5}"
        f"&p-trace-pinned={trace.track[longest]}"
    )
    box = get_stable_box(get_timeline(page))
    y = box.y + 3 + 18 * int(timeline.lane[longest]) + 8
    page.keyboard.down("Control")
    page.mouse.click(box.x + box.width / 2, y)
    details = get_details(page)
    expect(details.get_by_role("heading", name="Selected events").first).to_be_visible()
    expect(table_rows(page, "Events by name")).to_have_count(1)
    expect(table_rows(page, "Events by name")).to_contain_text(
        trace.names[trace.name[longest]][:20]
    )
    # A second click removes it.
    page.mouse.click(box.x + box.width / 2, y)
    expect(table_rows(page, "Events by name")).to_have_count(0)
    page.keyboard.up("Control")
    page.get_by_role("button", name="Reset zoom").click()
    expect(page).not_to_have_url(re.compile("p-span="))
    page.keyboard.down("Control")
    page.mouse.move(box.x + 1, box.y + 1)
    page.mouse.down()
    on_track = trace.track == trace.track[longest]
    lanes = int(timeline.lane[on_track].max()) + 1
    page.mouse.move(box.x + box.width - 1, box.y + 18 * lanes, steps=4)
    page.mouse.up()
    page.keyboard.up("Control")
    expect(table_rows(page, "Events by name").first).to_be_visible()
    selected = page.get_by_role("status", name="Selection")
    count = int(on_track.sum())
    expect(selected).to_have_text(f"selected: {count}")
    page.get_by_role("button", name="Next selected event").click()
    expect(selected).to_have_text(f"selected: 1 of {count}")
    page.reload()
    expect(selected).to_have_text(f"selected: 1 of {count}")
    assert list_violations(page) == []
    page.get_by_role("button", name="Clear selection").click()
    expect(selected).to_have_count(0)


def test_rows_of_a_query_are_marked_and_visited(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    open_tool(page, "Query")
    run_sql(page, "SELECT event, name, duration_ms FROM events ORDER BY 3 DESC LIMIT 7")
    page.get_by_role("button", name="Show all in trace").click()
    get_timeline(page)
    rows = page.get_by_role("status", name="Selection")
    expect(rows).to_have_text("rows: 7")
    page.get_by_role("button", name="Next selected event").click()
    expect(rows).to_have_text("rows: 1 of 7")
    trace = open_capture(CAPTURE)
    longest = trace.names[trace.name[trace.duration_ps.argmax()]]
    expect(get_details(page)).to_contain_text(longest)
    page.keyboard.press(",")
    expect(rows).to_have_text("rows: 7 of 7")
    # Rows without events are time spans.
    open_tool(page, "Query")
    run_sql(page, "SELECT name, start_ms, total_ms AS duration_ms FROM steps")
    page.get_by_role("button", name="Show all in trace").click()
    page.get_by_role("button", name="Next selected event").click()
    expect(rows).to_have_text(re.compile("rows: 1 of "))
    expect(get_details(page)).to_contain_text("Selected range")


def test_tracks_are_reordered_and_keep_their_width(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&tool=trace")
    page.set_viewport_size({"width": 1280, "height": 800})
    timeline = get_timeline(page)
    expect(get_details(page)).to_be_visible()
    width = get_stable_box(timeline).width
    assert width >= MIN_TRACE_PX
    tracks = page.get_by_role("list", name="Tracks").get_by_role("listitem")
    names = tracks.all_inner_texts()
    assert len(names) >= 3
    second = tracks.nth(1).get_by_role("button").first
    second.press("Alt+ArrowUp")
    expect(tracks.first).to_have_text(names[1])
    expect(page).to_have_url(re.compile(r"p-trace-order=\d"))
    first = get_stable_box(tracks.first)
    last = get_stable_box(tracks.nth(2))
    page.mouse.move(first.x + 40, first.y + 8)
    page.mouse.down()
    page.mouse.move(last.x + 40, last.y + last.height - 2, steps=4)
    page.mouse.up()
    expect(tracks.nth(2)).to_have_text(names[1])
    expect(page).to_have_url(re.compile(r"p-trace-order=\d+\.\d"))
    page.reload()
    get_timeline(page)
    expect(tracks.nth(2)).to_have_text(names[1])
