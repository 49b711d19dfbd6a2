"""A dashboard of somebody else's, with its own module, in the page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.plugin.skeleton import SKELETON, register
from tests.web.conftest import Serve
from tests.web.parts import run, tab
from tests.web.writing import append, scalars, write_sweep

pytestmark = pytest.mark.browser


@pytest.fixture
def page(
    logdir: Path,
    tmp_path: Path,
    serve: Serve,
    open_page: Callable[..., Page],
    monkeypatch: pytest.MonkeyPatch,
) -> Page:
    entry = "leaderboard = tracklight_leaderboard:Leaderboard"
    paths = [str(register(tmp_path / "site", entry)), str(SKELETON)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    write_sweep(logdir)
    page = open_page(serve(logdir).address)
    tab(page, "Leaderboard").click()
    page.get_by_label("Scalar").select_option("train/loss")
    return page


def names(page: Page) -> list[str]:
    return page.get_by_role("main").locator("tbody tr td:nth-child(2)").all_inner_texts()


def test_it_has_a_tab_and_an_address(page: Page, open_page: Callable[..., Page]) -> None:
    rows = page.get_by_role("main").locator("tbody tr")
    expect(rows).to_have_count(3)
    assert names(page) == ["conv/lr1e-3", "conv/lr3e-4", "vit"]
    page.get_by_label("Goal").select_option("max")
    expect(rows.first).to_contain_text("vit")
    expect(page).to_have_url(re.compile("tab=leaderboard&board-tag=train/loss&board-goal=max"))
    copy = open_page(page.url)
    expect(copy.get_by_role("main").locator("tbody tr").first).to_contain_text("vit")


def test_it_follows_the_table_of_runs_and_the_log(page: Page, logdir: Path) -> None:
    rows = page.get_by_role("main").locator("tbody tr")
    expect(rows).to_have_count(3)
    run(page, "vit").get_by_role("checkbox").click()
    expect(rows).to_have_count(2)
    append(logdir / "late", *scalars("train/loss", range(200)))
    expect(rows.first).to_contain_text("late")


def test_it_leaves_nothing_behind(page: Page) -> None:
    expect(page.get_by_label("Scalar")).to_be_visible()
    tab(page, "Overview").click()
    expect(page.get_by_role("table", name="Tags")).to_be_visible()
    expect(page.get_by_label("Scalar")).to_have_count(0)
