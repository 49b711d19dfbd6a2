"""Text dashboard: accessibility, phones, shortcuts and live updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.test_appearance import list_violations, overflows
from tests.web.text_log import event_record, make_story, text_entries, text_list
from tests.web.waiting import get_stable_box, wait_for_value
from tracklight.formats import summary

pytestmark = pytest.mark.browser

Open = Callable[..., Page]

#: Returns the text at a fixed position of the list.
READ_AT = """list => {
  const {x, y} = list.getBoundingClientRect();
  return document.elementFromPoint(x + 60, y + 120).closest('[role=listitem]').innerText;
}"""


def test_has_no_accessibility_violations(library: str, open_page: Open) -> None:
    page = open_page(f"{library}&q=cat&pinned=model/card")
    expect(text_entries(page, "model/card").first).to_contain_text("The model")
    expect(page.get_by_text("60 matches")).to_be_visible()
    page.get_by_role("button", name="Show matches").click()
    page.get_by_role("button", name="Text settings").click()
    assert list_violations(page) == []
    page.get_by_role("button", name="Raw").first.click()
    expect(text_entries(page, "model/card").first).to_contain_text("# The model")
    assert list_violations(page) == []


def test_other_views_have_no_accessibility_violations(library: str, open_page: Open) -> None:
    page = open_page("about:blank")
    for rest in ("&card=story&text-compare=a,10,b,20", "&card=arrays/cube", "&step-mode=all"):
        page.goto(f"{library}{rest}")
        expect(page.get_by_role("main")).to_contain_text(re.compile(r"mat \d|box \d"))
        assert list_violations(page) == [], rest


def test_fits_phone_width(library: str, open_page: Open) -> None:
    page = open_page("about:blank", width=390)
    for rest in ("", "&card=story", "&card=story&text-compare=a,10,b,20", "&q=cat"):
        page.goto(f"{library}{rest}")
        expect(page.get_by_role("main")).to_contain_text(re.compile("model|mat"))
        assert not overflows(page), rest


def test_shortcuts_work_and_are_listed(library: str, open_page: Open) -> None:
    page = open_page(library)
    expect(text_entries(page, "story").first).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search text")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    expect(page).to_have_url(re.compile("step-mode=all"))


def test_new_texts_keep_scroll_position(serve: Serve, logdir: Path, open_page: Open) -> None:
    file = logdir / "run" / "events.out.tfevents.1"
    file.parent.mkdir()
    file.write_bytes(
        b"".join(event_record(n, summary.text("story", make_story(n))) for n in range(20))
    )
    page = open_page(f"{serve(logdir).address}?tab=text")
    expect(text_entries(page, "story").first).to_contain_text("mat 19.")
    _append_text(file, 20)
    expect(text_entries(page, "story").first).to_contain_text("mat 20.")
    page.get_by_role("button", name="All steps").click()
    shown = text_list(page, "story")
    # The list is not that long before all its entries are loaded.
    scroll = "list => { list.scrollTop = 600; return list.scrollTop; }"
    wait_for_value(page, lambda: shown.evaluate(scroll), 600)
    expect(shown.get_by_text("Loading…")).to_have_count(0)
    get_stable_box(shown.get_by_role("listitem").last)
    before = shown.evaluate(READ_AT)
    _append_text(file, 21)
    expect(page.get_by_text("22 entries")).to_be_attached()
    get_stable_box(shown.get_by_role("listitem").last)
    wait_for_value(page, lambda: shown.evaluate(READ_AT), before)
    shown.evaluate("list => list.scrollTo(0, 0)")
    expect(text_entries(page, "story").first).to_contain_text("mat 21.")


def _append_text(file: Path, number: int) -> None:
    with file.open("ab") as stream:
        stream.write(event_record(number, summary.text("story", make_story(number))))
