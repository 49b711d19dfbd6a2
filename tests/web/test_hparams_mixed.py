"""HParams: a hyperparameter that is a text in one trial and a number in all others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tracklight
from tests.web.conftest import board_fixture
from tests.web.waiting import get_stable_box

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
#: A float that has more digits than a cell shows.
BATCHES = [16 * (1 + trial % 3) + 0.30000000000000004 for trial in range(12)]


def write_mixed(logdir: Path) -> None:
    for trial, batch in enumerate(["auto", *BATCHES]):
        with tracklight.summary.create_file_writer(logdir / f"run-{trial:02}").as_default():
            tracklight.hparams.hparams({"batch": batch, "seed": trial})
            tracklight.summary.scalar("loss", 0.5 + trial / 100, step=0)


board = board_fixture(write_mixed, "module", "?tab=hparams&hp=slice")


def test_one_text_leaves_a_column_numeric(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    status = page.get_by_role("toolbar", name="HParams").get_by_role("status")
    expect(status).to_have_text("13 trials")
    table = page.get_by_role("table", name="Trials")
    expect(table.get_by_text("auto", exact=True)).to_be_visible()
    expect(table.get_by_text("16.3", exact=True).first).to_be_visible()
    panel = page.get_by_role("region", name="Filter: batch")
    other = panel.get_by_role("checkbox", name="Include trials without a number")
    expect(other).to_be_checked()
    other.uncheck()
    expect(status).to_have_text("12 of 13 trials")
    least = panel.get_by_role("textbox", name="Minimum batch")
    least.fill("20")
    least.press("Enter")
    expect(status).to_have_text("8 of 13 trials")
    other.check()
    expect(status).to_have_text("9 of 13 trials")
    # The text has a place of its own in the plot, beside the numbers.
    plot = page.get_by_role("img", name="loss vs. batch")
    box = get_stable_box(plot)
    # The labels of the axes take 52 and 12 pixels; the text is at 6 % of the remaining width.
    left, right = (52 + part * (box.width - 64) for part in (0.02, 0.11))
    page.mouse.move(box.x + left, box.y + 2)
    page.mouse.down()
    page.mouse.move(box.x + right - 3, box.y + box.height / 2)
    page.mouse.move(box.x + right, box.y + box.height - 2)
    page.mouse.up()
    expect(status).to_have_text("1 of 13 trials")
    expect(table.locator("[data-trial]")).to_have_attribute("data-trial", "run-00")
