"""The example of a third-party dashboard, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.plugin.skeleton import SKELETON, register
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records, write_sweep
from tests.web.locators import dashboard_tab, run_row
from tracklight.cli import main

pytestmark = pytest.mark.browser


@pytest.fixture
def page(
    logdir: Path,
    tmp_path: Path,
    serve: Serve,
    open_page: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
) -> Page:
    site = register(tmp_path / "site", "leaderboard = tracklight_leaderboard:Leaderboard")
    monkeypatch.syspath_prepend(str(SKELETON))
    monkeypatch.syspath_prepend(str(site))
    write_sweep(logdir)
    return open_page(serve(logdir).address)


def test_plugin_tab_follows_updates_and_stores_settings_in_url(page: Page, logdir: Path) -> None:
    dashboard_tab(page, "Leaderboard").click()
    rows = page.locator("table.leaderboard tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Scalar").select_option("train/loss")
    page.get_by_label("Goal").select_option("max")
    expect(page).to_have_url(re.compile("board-goal=max"))
    first = rows.first.locator("td").nth(1)
    expect(first).to_have_text("vit")  # it has the largest losses
    best = first.inner_text()

    # Only selected runs are ranked.
    run_row(page, best).get_by_role("checkbox").click()
    expect(rows).to_have_count(2)
    run_row(page, best).get_by_role("checkbox").click()
    expect(rows).to_have_count(3)

    # New points are ranked while the page is open.
    loser = rows.last.locator("td").nth(1).inner_text()
    append_records(logdir / loser, *loss_records("train/loss", [60], scale=1e6))
    expect(first).to_have_text(loser)

    page.reload()
    expect(page.get_by_label("Goal")).to_have_value("max")
    expect(first).to_have_text(loser)
    dashboard_tab(page, "Scalars").click()
    expect(rows).to_have_count(0)


@pytest.mark.parametrize("target", ["board.html", "board"])
def test_plugin_tab_works_in_static_export(
    target: str,
    tmp_path: Path,
    open_page: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = register(tmp_path / "site", "leaderboard = tracklight_leaderboard:Leaderboard")
    monkeypatch.syspath_prepend(str(SKELETON))
    monkeypatch.syspath_prepend(str(site))
    write_sweep(tmp_path / "logs")
    exported = tmp_path / target
    assert main(["export", str(tmp_path / "logs"), "--no-cache", f"--static={exported}"]) == 0
    index = exported / "index.html" if exported.is_dir() else exported
    page = open_page(index.as_uri())
    dashboard_tab(page, "Leaderboard").click()
    rows = page.locator("table.leaderboard tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Scalar").select_option("train/loss")
    page.get_by_label("Goal").select_option("max")
    expect(rows.first.locator("td").nth(1)).to_have_text("vit")
    bar = page.locator(".leaderboard-bar")
    expect(bar).to_have_css("display", "flex")
