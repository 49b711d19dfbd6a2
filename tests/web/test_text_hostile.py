"""Hostile texts are rendered in a browser without running or loading anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from tests.hostile_markdown import VECTORS
from tests.web.conftest import board_fixture
from tests.web.text_log import text_entries, text_list, write_hostile_texts

pytestmark = pytest.mark.browser

#: Returns forbidden elements, attributes and links in the rendered texts.
FIND_FAULTS = """list => [
  ...list.querySelectorAll('.rendered-text, .rendered-text *')
].flatMap(node => {
  const faults = [...node.attributes]
    .filter(({name}) => /^on|^style$|^id$|^src|^data-|^action|^xlink/i.test(name))
    .map(({name, value}) => `${node.localName} ${name}=${value}`);
  const banned = 'script style iframe object embed svg img image video audio link meta base form';
  if (banned.split(' ').includes(node.localName)) faults.push(`<${node.localName}>`);
  const address = node.getAttribute('href');
  if (address !== null && !/^(https?|mailto):/.test(address)) faults.push(node.outerHTML);
  return faults;
})"""


#: Scroll down, and wait until the rows there are rendered.
SCROLL_DOWN = """list => new Promise((done) => {
  list.scrollBy(0, 700);
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""

hostile = board_fixture(write_hostile_texts, "module")


@pytest.mark.parametrize("form", ["markdown", "raw"])
def test_hostile_texts_run_and_load_nothing(
    hostile: str, open_page: Callable[..., Page], form: str
) -> None:
    page = open_page("about:blank")
    foreign_requests: list[str] = []
    dialogs: list[str] = []
    page.on("request", lambda request: _record_foreign(request, hostile, foreign_requests))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.add_init_script("window.hits = []; window.hit = what => window.hits.push(what)")
    page.goto(f"{hostile}?tab=text&step-mode=all&card=x&text-format={form}")
    expect(text_entries(page, "x").first).to_be_visible()
    seen: set[str] = set()
    for _ in range(400):
        expect(text_list(page, "x").get_by_text("Loading…")).to_have_count(0)
        assert text_list(page, "x").evaluate(FIND_FAULTS) == []
        seen.update(text_entries(page, "x").evaluate_all("all => all.map(one => one.ariaPosInSet)"))
        if len(seen) == len(VECTORS):
            break
        text_list(page, "x").evaluate(SCROLL_DOWN)
    assert len(seen) == len(VECTORS), "every one of them was on the page"
    assert (page.evaluate("window.hits"), foreign_requests, dialogs) == ([], [], [])
    assert page.url.startswith(hostile)


def _record_foreign(request: Request, own: str, foreign_requests: list[str]) -> None:
    if not request.url.startswith((own, "data:image/", "blob:")):
        foreign_requests.append(request.url)
