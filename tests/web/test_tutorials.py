"""Every tag in logs of well-known tutorials, and in damaged logs, has a card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.interop.test_corpus import read_oracle, unpack
from tests.web.conftest import Board
from tests.web.locators import dashboard_tab
from tests.web.waiting import wait_for_value

pytestmark = pytest.mark.browser

#: The tabs that show the tags of each plugin.
TABS = {
    "images": ["Images"],
    "audio": ["Audio"],
    "text": ["Text"],
    "histograms": ["Histograms", "Distributions"],
    "pr_curves": ["PR curves"],
    "mesh": ["Mesh"],
}
CASES = {
    "seed000": "images by class, a batch of 20, weights over epochs",
    "seed002": "every kind of summary",
    "seed003": "confusion matrices",
    "torch": "every add_ of PyTorch's writer",
    "legacy_v1": "values of TensorFlow 1",
    "jax": "writers of JAX",
    "nasty": "one thing wrong in each run",
}
#: Parts of one mesh share a card.
PARTS = ("_VERTEX", "_FACE", "_COLOR")


@contextmanager
def serve_case(case: str, folder: Path) -> Iterator[str]:
    board = Board(unpack(case, folder))
    yield board.address
    board.stop()


def expected_tags(case: str) -> dict[str, set[str]]:
    """Return the tags of each plugin according to TensorBoard's reader."""
    found: dict[str, set[str]] = {}
    for run in read_oracle(case)["multiplexer"]["runs"].values():
        for plugin, tags in run["plugins"].items():
            if plugin in TABS:
                found.setdefault(plugin, set()).update(map(strip_mesh_suffix, tags))
    return found


def strip_mesh_suffix(tag: str) -> str:
    part = next((part for part in PARTS if tag.endswith(part)), "")
    return tag.removesuffix(part)


def list_cards(page: Page) -> set[str]:
    """Scroll through all cards and return their ids; only those near the viewport exist."""
    expect(page.locator("[data-card]").first).to_be_visible()
    found: set[str] = set()
    scroller = page.locator("[data-card]").first.evaluate_handle(
        """card => {
            let wall = card.parentElement;
            while (wall && wall.scrollHeight <= wall.clientHeight + 1) wall = wall.parentElement;
            return wall ?? document.scrollingElement;
        }"""
    )
    while True:
        ids = page.locator("[data-card]").evaluate_all("all => all.map(one => one.dataset.card)")
        found.update(ids)
        # Scroll down by most of a page, until that is no longer possible.
        moved = scroller.evaluate(
            """async wall => {
                const before = wall.scrollTop;
                wall.scrollTop += wall.clientHeight * 0.8;
                await new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)));
                return wall.scrollTop > before;
            }"""
        )
        if not moved:
            return found


@pytest.mark.parametrize("case", CASES)
def test_every_tag_has_a_card(case: str, tmp_path: Path, open_page: Callable[..., Page]) -> None:
    with serve_case(case, tmp_path) as address:
        page = open_page(address, width=1800)
        for plugin, tags in expected_tags(case).items():
            for title in TABS[plugin]:
                dashboard_tab(page, title).click()
                expect(dashboard_tab(page, title)).to_have_attribute("aria-current", "page")
                wait_for_value(page, lambda tags=tags: tags - list_cards(page), set())
