"""HParams of a log with two searches: a selector, and the best trial of each by its direction."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.dashboards.hparams.test_studies import declare, write_trial
from tests.web.conftest import board_fixture

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_studies(logdir: Path) -> None:
    """Write two searches with the same trial ids; only one of them minimizes the metric."""
    for study, direction in (("descent", "minimize"), ("ascent", "maximize")):
        declare(logdir, study, direction)
        for trial in range(24):
            x = trial / 24
            run = f"{study}/trial-{trial:04}"
            write_trial(logdir, run, {"x": x, study: x}, trial + 1.0, f"trial-{trial:04}")


board = board_fixture(write_studies, "module", "?tab=hparams&hp=table")


def test_each_study_has_its_own_direction(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    toolbar = page.get_by_role("toolbar", name="HParams")
    expect(toolbar.get_by_role("status")).to_have_text("48 trials")
    insights = page.get_by_role("region", name="Insights")
    expect(insights).to_contain_text("Choose a study to see its best trials")
    expect(page.get_by_title("Best trial")).to_have_count(0)
    insights.get_by_role("button", name="descent 24 trials").click()
    expect(insights).to_contain_text("Best loss: 1 trial-0000")
    expect(toolbar.get_by_role("status")).to_have_text("24 trials")
    expect(toolbar.get_by_role("button", name="Minimize")).to_be_visible()
    table = page.get_by_role("table", name="Trials")
    expect(table.get_by_role("columnheader", name="descent")).to_be_visible()
    expect(table.get_by_role("columnheader", name="ascent", exact=True)).to_have_count(0)

    toolbar.get_by_role("button", name="Study: descent").click()
    page.get_by_role("option", name="ascent").click()
    expect(insights).to_contain_text("Best loss: 24 trial-0023")
    expect(page).to_have_url(re.compile("hp-study=ascent"))
    expect(toolbar.get_by_role("button", name="Maximize")).to_be_visible()


def test_sentence_and_chip_have_the_same_words(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp-study=ascent&hp=importance")
    insights = page.get_by_role("region", name="Insights")
    chip = insights.get_by_role("button", name="high x")
    expect(chip).to_be_visible()
    words, range_ = chip.locator("strong").inner_text(), chip.locator("small").inner_text()
    bars = page.get_by_role("list", name="Importance for loss")
    expect(bars).to_contain_text(f"Best: {words} ({range_})")
    expect(page.get_by_text(re.compile(r"^In 24 trials of ascent, loss depends"))).to_be_visible()


def test_an_unknown_study_shows_all(board: str, open_page: OpenPage) -> None:
    page = open_page(f"{board}&hp-study=gone")
    status = page.get_by_role("toolbar", name="HParams").get_by_role("status")
    expect(status).to_have_text("48 trials")
