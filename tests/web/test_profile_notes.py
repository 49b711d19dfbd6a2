"""The trace viewer: notes at a time, and the order of pinned tracks; idle time in the overview."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import serve_log
from tests.web.profile_log import TAB, open_tool
from tests.web.test_appearance import list_violations
from tests.web.test_profile_query import write_capture

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("notes"), write_capture) as address:
        yield address + TAB


def test_notes_are_flags_on_the_time_axis(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&tool=trace&p-event=100")
    notes = page.get_by_role("region", name="Notes")
    notes.get_by_role("textbox").fill("the slow one")
    notes.get_by_role("button", name="Save").click()
    flag = page.get_by_role("button", name="Note: the slow one", exact=True)
    expect(flag).to_be_visible()
    page.reload()
    expect(flag).to_be_visible()
    assert list_violations(page) == []
    notes.get_by_role("button", name="Delete note the slow one").click()
    expect(flag).to_have_count(0)


def test_pinned_tracks_are_reordered(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&tool=trace&p-trace-pinned=1.0")
    tracks = page.get_by_role("list", name="Tracks").get_by_role("listitem")
    pinned = tracks.filter(has=page.get_by_role("button", name="Unpin"))
    expect(pinned).to_have_count(2)
    names = pinned.all_inner_texts()
    pinned.last.get_by_role("button", name="Move").click()
    expect(pinned.first).to_have_text(names[1])
    expect(page).to_have_url(re.compile(r"p-trace-pinned=0\.1"))


def test_overview_says_why_the_device_was_idle(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    open_tool(page, "Overview")
    idle = page.get_by_role("group", name="GPU 0: idle between kernels")
    for text in ("host wait", "kernel wait", "other"):
        expect(idle).to_contain_text(text)
