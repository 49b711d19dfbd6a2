"""Histograms and Distributions: accessibility, small screens, empty state, static export."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.web.cards import card
from tests.web.conftest import Serve, board_fixture
from tests.web.histogram_log import (
    drawn_histogram,
    expect_label,
    hover_chart,
    open_settings,
    write_histogram_log,
)
from tests.web.test_appearance import list_violations, overflows
from tracklight.cli import main

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


board = board_fixture(write_histogram_log, "module")


@pytest.mark.parametrize("name", ["histograms", "distributions"])
def test_no_accessibility_violations_and_fits_on_a_phone(
    board: str, open_page: OpenPage, name: str
) -> None:
    page = open_page(f"{board}?tab={name}")
    drawn_histogram(page, "layer/weights")
    open_settings(page, name.capitalize())
    card(page, "layer/bias").get_by_role("button", name="Show table").click()
    hover_chart(page, "layer/weights", 0.5, 0.6)
    expect(page.get_by_role("status", name="Hovered histogram")).to_be_visible()
    assert list_violations(page) == []
    page.get_by_role("button", name="Close panel").click()
    page.set_viewport_size({"width": 390, "height": 900})
    drawn_histogram(page, "layer/weights")
    assert not overflows(page)


def test_empty_state_shows_example_code(tmp_path: Path, open_page: OpenPage, serve: Serve) -> None:
    logs.write(tmp_path, "a", logs.points(range(3)))
    page = open_page(f"{serve(tmp_path).address}?tab=histograms")
    expect(page.get_by_text('summary.histogram("layer1/weights"')).to_be_visible()


def test_static_export_works_without_a_server(tmp_path: Path, open_page: OpenPage) -> None:
    write_histogram_log(tmp_path / "logs")
    target = tmp_path / "copy"
    assert main(["export", str(tmp_path / "logs"), "--no-cache", f"--static={target}"]) == 0
    page = open_page(f"{(target / 'index.html').as_uri()}?tab=histograms")
    expect_label(page, "layer/weights", "60 histograms of 2 runs, 0 to 1,990")
    note = card(page, "layer/weights").locator("[data-note]")
    expect(note).to_have_text("2 runs · 30 of 200 steps in this export")
    hover_chart(page, "layer/weights", 0.2, 0.45)
    expect(page.get_by_role("status", name="Hovered histogram")).not_to_contain_text("≈")
    page.goto(f"{(target / 'index.html').as_uri()}?tab=distributions")
    expect_label(page, "layer/weights", re.escape("60 distributions of 2 runs"))
