"""Static exports, opened from disk without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests import builders as b
from tests.web import locators
from tests.web.cards import table_rows, value_table
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, write_sweep
from tests.web.waiting import wait_for_value
from tracklight.cli import main
from tracklight.server.routing import PAGE_DIR

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
    ),
]

OpenPage = Callable[..., Page]
HOSTILE_TAG = "</script><script>document.title='broken'</script>\u2028"


@pytest.fixture
def sweep_dir(tmp_path: Path) -> Path:
    write_sweep(tmp_path / "logs")
    return tmp_path / "logs"


def copy(logdir: Path, target: Path, view: str = "") -> str:
    """Export a log and return the URL of the exported page."""
    args = ["export", str(logdir), "--no-cache", f"--static={target}", f"--view={view}"]
    assert main(args) == 0
    return (target / "index.html" if target.is_dir() else target).as_uri()


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name, exact=True)


def read_values(page: Page, name: str) -> dict[str, list[float]]:
    """Return the exact values of each run in a table card: last, lowest, highest, first."""
    rows = table_rows(card(page, name).get_by_role("table"))
    expect(rows.first).to_be_visible()
    return {
        row.get_by_role("rowheader").inner_text().strip(): row.locator("span[title]").evaluate_all(
            "cells => cells.map((cell) => Number(cell.title)).filter((value) => !isNaN(value))"
        )
        for row in rows.all()
    }


def decay(step: int, scale: float) -> float:
    return float(np.float32(scale * np.exp(-step / 20)))


@pytest.mark.parametrize("target", ["board.html", "board"])
def test_export_shows_values_of_the_log(
    sweep_dir: Path, tmp_path: Path, open_page: OpenPage, target: str
) -> None:
    view = "?" + urlencode({"display": "train/loss,table"})
    page = open_page(copy(sweep_dir, tmp_path / target, view))
    expect(locators.run_rows(page)).to_have_count(3)
    expect(locators.connection_status(page, "Static export")).to_be_visible()
    wanted = {
        run: [decay(step, scale) for step in (49, 49, 0, 0)]
        for run, scale in (("conv/lr1e-3", 1.0), ("conv/lr3e-4", 2.0), ("vit", 3.0))
    }
    wait_for_value(page, lambda: read_values(page, "train/loss"), wanted)
    for tag in ("eval/loss", "lr"):
        expect(card(page, tag).locator("[data-drawn]")).not_to_have_attribute("data-drawn", "0")


def test_export_has_view_of_the_url(
    sweep_dir: Path, tmp_path: Path, open_page: OpenPage, serve: Serve
) -> None:
    query = {
        "selected": "none;+conv/lr3e-4,vit",
        "smoothing": "0.8",
        "tags": "train",
        "color": "re:(.*)",
    }
    board = serve(sweep_dir)
    address = f"{board.address}?{urlencode(query)}"
    original = open_page(address)
    expect(card(original, "train/loss").locator("[data-drawn='2']")).to_be_visible()
    page = open_page(copy(sweep_dir, tmp_path / "board.html", address))
    expect(card(page, "train/loss").locator("[data-drawn='2']")).to_be_visible()
    expect(locators.run_rows(page)).to_have_count(2)
    expect(card(page, "lr")).to_have_count(0)
    expect(page.get_by_role("slider", name="Smoothing")).to_have_value("0.8")
    wait_for_value(page, lambda: len(read_colors(page)), 2)
    wait_for_value(page, lambda: read_colors(page), read_colors(original))


def read_colors(page: Page) -> dict[str, str]:
    """Return the colors of all selected runs."""
    rows = locators.run_rows(page).filter(has=page.get_by_role("checkbox", checked=True)).all()
    return {
        row.get_attribute("data-run") or "": row.locator(
            "[style*=color], [style*=background]"
        ).first.get_attribute("style")
        or ""
        for row in rows
    }


def test_smoothing_works_in_export(sweep_dir: Path, tmp_path: Path, open_page: OpenPage) -> None:
    view = urlencode({"smoothing": "0.5", "table": "1", "runs": "vit"})
    page = open_page(copy(sweep_dir, tmp_path / "board.html", view))
    cells = table_rows(value_table(page, "train/loss")).get_by_role("cell")
    expect(cells.first).to_be_visible()
    values = np.array([decay(step, 3.0) for step in range(50)])
    weights = 0.5 ** np.arange(50)[::-1]
    smoothed = (weights * values).sum() / weights.sum()
    wait_for_value(page, lambda: float(cells.first.inner_text()), pytest.approx(smoothed, rel=1e-3))


def test_tag_names_are_escaped(tmp_path: Path, open_page: OpenPage) -> None:
    append_records(
        tmp_path / "logs" / "run", b.scalar(HOSTILE_TAG, 0, 1.0), b.scalar(HOSTILE_TAG, 1, 2.0)
    )
    page = open_page(copy(tmp_path / "logs", tmp_path / "board.html"))
    expect(locators.run_rows(page)).to_have_count(1)
    expect(page.get_by_role("article")).to_have_count(1)
    assert "broken" not in page.title()


def test_long_series_is_marked_as_downsampled(tmp_path: Path, open_page: OpenPage) -> None:
    spike = 31_337
    records = [b.scalar("loss", step, 9.0 if step == spike else 1.0) for step in range(40_000)]
    append_records(tmp_path / "logs" / "run", *records)
    page = open_page(copy(tmp_path / "logs", tmp_path / "board", "display=loss,table"))
    # The last, lowest, highest and first value.
    wait_for_value(page, lambda: read_values(page, "loss")["run"], [1.0, 1.0, 9.0, 1.0])
    expect(card(page, "loss")).to_have_attribute("data-points", "40000")
    expect(card(page, "loss")).to_contain_text("downsampled in this export")


def test_export_is_read_only(sweep_dir: Path, tmp_path: Path, open_page: OpenPage) -> None:
    page = open_page(copy(sweep_dir, tmp_path / "board.html"))
    expect(locators.run_rows(page)).to_have_count(3)
    expect(page.get_by_role("button", name="Alerts")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause live updates")).to_have_count(0)
