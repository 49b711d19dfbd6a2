"""Overview dashboard: the list of all tags of a log."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import builders as b
from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.locators import section_buttons, step_range, tag_names, tag_row, tag_table
from tests.web.waiting import get_stable_text, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

OVERVIEW = "?tab=overview"


@pytest.fixture
def page(sweep: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(sweep + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_be_visible()
    return page


def test_tags_are_grouped_with_ranges_and_sparklines(page: Page) -> None:
    expect(section_buttons(page)).to_have_text(["Ungrouped 2 tags", "eval 1 tag", "train 3 tags"])
    losses = ["train/loss", "train/loss_2", "train/loss_10"]
    wait_for_value(page, lambda: tag_names(page), ["lr", "samples", "eval/loss", *losses])

    row = tag_row(page, "train/loss")
    for text in ("0.0863 \N{EN DASH} 0.259", "Scalar", "150", step_range(0, 49)):
        expect(row).to_contain_text(text)
    expect(row.get_by_role("img")).to_be_visible()

    canvas = tag_row(page, "train/loss").locator("canvas")
    expect(canvas).to_be_visible()
    page.wait_for_function(
        """canvas => {
            const { width, height } = canvas;
            const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
            return data.some((byte, at) => at % 4 === 3 && byte > 0);
        }""",
        arg=canvas.element_handle(),
    )


def test_url_stores_filter_and_collapsed_sections(
    page: Page, open_page: Callable[..., Page]
) -> None:
    page.get_by_label("Filter tags").fill("loss")
    section_buttons(page).filter(has_text="eval").click()
    expect(tag_row(page, "eval/loss")).to_have_count(0)
    expect(page).to_have_url(re.compile("tags=loss&overview-collapsed=eval"))
    other = open_page(get_stable_url(page))
    expect(other.get_by_label("Filter tags")).to_have_value("loss")
    expect(tag_row(other, "train/loss")).to_be_visible()
    expect(tag_row(other, "lr")).to_have_count(0)
    expect(tag_row(other, "eval/loss")).to_have_count(0)


def test_filters_by_kind_and_words(page: Page) -> None:
    kinds = page.get_by_role("group", name="Type")
    kinds.get_by_role("button", name="Image").click()
    wait_for_value(page, lambda: tag_names(page), ["samples"])
    expect(page).to_have_url(re.compile("kind=image$"))
    kinds.get_by_role("button", name="All").click()
    expect(tag_row(page, "train/loss")).to_be_visible()

    page.get_by_label("Filter tags").fill("bleu")
    expect(page.get_by_text("No tags match “bleu”")).to_be_visible()


def test_shows_count_of_overwritten_points(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append_records(
        logdir / "conv", *loss_records("loss", range(20)), *loss_records("loss", range(12, 30))
    )
    page = open_page(serve(logdir).address + OVERVIEW)
    expect(tag_row(page, "loss")).to_contain_text("8 overwritten")


def test_shows_nan_and_infinity(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> None:
    append_records(
        logdir / "conv", *loss_records("loss", range(3)), b.scalar("loss", 5, float("nan"))
    )
    append_records(logdir / "conv", b.scalar("gain", 5, float("inf")))
    page = open_page(serve(logdir).address + OVERVIEW)
    expect(tag_row(page, "loss")).to_contain_text("NaN")
    expect(tag_row(page, "gain")).to_contain_text("∞")


def test_tag_names_are_escaped(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> None:
    evil = "<img src=x onerror=alert(1)>"
    append_records(logdir / "conv", *loss_records(f"a/{evil}", range(3)))
    page = open_page(serve(logdir).address + OVERVIEW)
    expect(tag_table(page)).to_contain_text(evil)
    expect(page.locator("img[src=x]")).to_have_count(0)


def write_hundred_runs(logdir: Path) -> None:
    """Write a tag of all runs, one of the last run, and one of a run in the middle."""
    for index in range(100):
        tags = ["shared", *(["middle"] if index == 50 else []), *(["last"] if index == 99 else [])]
        for tag in tags:
            append_records(logdir / f"run{index:03d}", *loss_records(tag, range(5)))


hundred_runs = board_fixture(write_hundred_runs, "module", "?tab=overview&selected=all")


def test_trends_of_a_hundred_runs(hundred_runs: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(hundred_runs)
    for tag in ("shared", "middle", "last"):
        expect(tag_row(page, tag).get_by_role("img")).to_be_visible()
    # The first page of runs is enough for `shared`; the other tags share a second request.
    get_stable_text(tag_table(page))
    assert len([url for url in requests if "scalars/query" in url]) <= 4
