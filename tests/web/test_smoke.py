"""Every dashboard opens on the demo log and draws something, without an error in the console."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

#: Dashboards by their name in the URL: the title of the tab, and a selector that must match.
DASHBOARDS = {
    "scalars": ("Scalars", "article canvas"),
    "images": ("Images", "article img"),
    "audio": ("Audio", "article canvas"),
    "text": ("Text", "article"),
    "histograms": ("Histograms", "article canvas"),
    "distributions": ("Distributions", "article canvas"),
    "pr_curves": ("PR curves", "article canvas"),
    "fairness": ("Fairness", "section ol li"),
    "what_if": ("What-If", "main canvas"),
    "mesh": ("Mesh", "article canvas"),
    "custom_scalars": ("Custom scalars", "article canvas"),
    "graphs": ("Graphs", "[role=application]"),
    "hparams": ("HParams", "main [role=row]"),
    "projector": ("Projector", "[role=application]"),
    "debugger": ("Debugger", "main section"),
    "profile": ("Profile", "main section"),
    "workspaces": ("Workspace", "main [role=toolbar]"),
    "runs": ("Runs", "main [data-run]"),
    "overview": ("Overview", "[role=table][aria-label=Tags] [role=row]"),
}

#: What-If opens a data file, others show the log.
QUERIES = {"what_if": "&wi-file=lending/applications.csv&wi-file-label=repaid"}


@pytest.mark.parametrize("name", DASHBOARDS)
def test_dashboard_draws(name: str, demo: str, open_page: Callable[..., Page]) -> None:
    title, content = DASHBOARDS[name]
    page = open_page(f"{demo}?tab={name}{QUERIES.get(name, '')}")
    dashboards = page.get_by_role("navigation", name="Dashboards")
    # A group of tabs that do not fit shows its open dashboard, such as "Media: Text".
    group = dashboards.get_by_role("button", name=re.compile(f": {title}$"))
    expect(dashboards.locator("[aria-current=page]").or_(group)).to_contain_text(title)
    expect(page.locator(content).first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_all_dashboards_are_covered() -> None:
    listed = (Path(__file__).parents[2] / "web/src/dashboards/index.ts").read_text(encoding="utf-8")
    assert [name for name in DASHBOARDS if f"name: '{name}'" not in listed] == []
    assert listed.count("    name: '") == len(DASHBOARDS)
