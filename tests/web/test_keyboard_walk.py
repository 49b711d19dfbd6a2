"""Walks through all dashboards with the keyboard alone.

Each walk visits some of the dashboards, so that none takes long. It starts at the top of the page.
For each dashboard it

1. moves to the tab bar with Shift+Tab and opens the dashboard with Enter; dashboards that share a
   tab are in its menu;
2. moves to the main control of the dashboard with Tab;
3. operates it with the keys listed in `STOPS` and sees the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.every_dashboard import DASHBOARDS

pytestmark = pytest.mark.browser

#: How many walks visit all dashboards.
PARTS = 2
#: More than the number of elements that can be focused on any dashboard.
MAX_TABS = 150


class Stop(NamedTuple):
    """A dashboard on a walk."""

    tab: str
    title: str
    #: The tab whose menu has the dashboard if not all tabs fit.
    group: str
    role: Literal["application", "button", "img", "slider"]
    #: The accessible name of the main control, as a regular expression.
    control: str
    keys: tuple[str, ...]
    #: CSS selector of what the keys bring about.
    result: str
    #: Regular expression that the URL matches afterwards.
    url: str = "."


STOPS = [
    # Show only the scalars.
    Stop(
        "overview", "Overview", "Metrics", "button", "^Scalar$", ("Enter",), "main", "kind=scalar"
    ),
    # Group by the first column that is offered.
    Stop(
        "runs",
        "Runs",
        "Metrics",
        "button",
        "^Group",
        ("Enter", "ArrowDown", "Enter", "Escape"),
        "main [role=row]",
        "rt-group",
    ),
    # Smooth more.
    Stop(
        "scalars",
        "Scalars",
        "Metrics",
        "slider",
        "^Smoothing$",
        ("ArrowRight", "ArrowRight"),
        "main article",
        "smoothing",
    ),
    # Read the values of a chart, from its first point on.
    Stop(
        "custom_scalars",
        "Custom scalars",
        "Metrics",
        "img",
        "^损失: 3 lines",
        ("Home", "ArrowRight"),
        "[role=status][aria-label='Values at cursor'] tbody tr",
    ),
    # Read the values of a chart of the workspace.
    Stop(
        "workspaces",
        "Workspace",
        "Metrics",
        "img",
        "^训练.损失",
        ("Home", "ArrowRight"),
        "[role=status][aria-label='Values at cursor'] tbody tr",
    ),
    # Go to the previous step of all images.
    Stop(
        "images",
        "Images",
        "Media",
        "slider",
        "^Step of all cards$",
        ("ArrowLeft",),
        "main article [data-step='10']",
    ),
    # Move forward in a clip.
    Stop(
        "audio",
        "Audio",
        "Media",
        "slider",
        "^Playback position in 基线",
        ("ArrowRight",),
        "main article [role=slider]:not([aria-valuenow='0'])",
    ),
    # Show the text as it was logged.
    Stop(
        "text", "Text", "Media", "button", "^Raw$", ("Enter",), "main article pre", "text-format="
    ),
    # Draw histograms over each other.
    Stop("histograms", "Histograms", "Model", "button", "^Overlay$", ("Space",), "main article"),
    # Draw the runs over each other.
    Stop("distributions", "Distributions", "Model", "button", "^Overlaid$", ("Space",), "main"),
    # Show ROC curves.
    Stop("pr_curves", "PR curves", "Evaluation", "button", "^ROC$", ("Enter",), "main article"),
    # Show the metrics of the slices.
    Stop(
        "fairness",
        "Fairness",
        "Evaluation",
        "button",
        "^Metrics$",
        ("Enter",),
        "main article [data-drawn]",
        "fairness-view=metrics",
    ),
    # Show statistics of the features of a data file.
    Stop(
        "what_if",
        "What-If",
        "More",
        "button",
        "^Features$",
        ("Enter",),
        "main table, main [role=table]",
        "wi=features",
    ),
    # Turn a mesh.
    Stop(
        "mesh",
        "Mesh",
        "Media",
        "img",
        "立方体, 基线.* vertices",
        ("ArrowLeft", "ArrowLeft"),
        "main article",
        "camera=",
    ),
    # Select a node of the graph.
    Stop(
        "graphs",
        "Graphs",
        "Model",
        "application",
        "^Graph",
        ("ArrowDown",),
        "[data-node] [aria-pressed=true]",
        "node=",
    ),
    # Show trials in another plot.
    Stop("hparams", "HParams", "Metrics", "button", "^Scatter matrix$", ("Enter",), "main", "hp="),
    # Zoom in on the points.
    Stop(
        "projector",
        "Projector",
        "Model",
        "application",
        "points$",
        ("+",),
        "[data-drawn='1']",
        "orbit=",
    ),
    # Open the trace of the profile.
    Stop(
        "profile",
        "Profile",
        "Performance",
        "button",
        "^Trace$",
        ("Enter",),
        "[data-tool=trace] [role=application]",
        "tool=trace",
    ),
    # Show the source code of a dump.
    Stop(
        "debugger",
        "Debugger",
        "Model",
        "button",
        "^Source code$",
        ("Enter",),
        "main [aria-current=location]",
        "debugger-view=code",
    ),
]


def press_until_focused(page: Page, key: Literal["Tab", "Shift+Tab"], target: Locator) -> None:
    """Move the focus with a key until it arrives at an element."""
    expect(target).to_be_visible()
    element = target.element_handle()
    for _ in range(MAX_TABS):
        if element.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press(key)
    pytest.fail(f"{key} does not reach {target}")


def open_dashboard(page: Page, stop: Stop) -> None:
    """Go to the tab bar, which is before the dashboard, and open another dashboard."""
    bar = page.get_by_role("navigation", name="Dashboards")
    link = bar.get_by_role("link", name=stop.title, exact=True)
    if link.count() == 0:
        tab = bar.get_by_role("button", name=re.compile(f"^({stop.group}|More)"))
        press_until_focused(page, "Shift+Tab", tab.first)
        page.keyboard.press("Enter")
        menu = page.get_by_role("dialog")
        # A dashboard without data in the log is a button.
        inactive = menu.get_by_role("button", name=stop.title, exact=True)
        link = menu.get_by_role("link", name=stop.title, exact=True).or_(inactive)
        press_until_focused(page, "Tab", link)
    else:
        press_until_focused(page, "Shift+Tab", link)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"tab={stop.tab}(&|$)"))


def test_walks_lead_to_every_dashboard() -> None:
    assert {stop.tab for stop in STOPS} == {dashboard.tab for dashboard in DASHBOARDS}


@pytest.mark.parametrize("part", range(PARTS))
def test_every_dashboard_is_operated_by_keyboard(
    chinese_board: str, open_page: Callable[..., Page], part: int
) -> None:
    dashboards = {dashboard.tab: dashboard for dashboard in DASHBOARDS}
    # Which data file What-If opens is part of the URL on every tab.
    page = open_page(f"{chinese_board}?tab=overview&wi-file=人口.csv", locale="en-US")
    # Hide the runs, so that the dashboard follows the top bar.
    press_until_focused(page, "Tab", page.get_by_role("button", name="Hide runs"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="Runs")).to_have_count(0)
    for stop in STOPS[part::PARTS]:
        open_dashboard(page, stop)
        dashboards[stop.tab].wait(page)
        control = page.locator("main").get_by_role(stop.role, name=re.compile(stop.control))
        press_until_focused(page, "Tab", control.first)
        for key in stop.keys:
            page.keyboard.press(key)
        expect(page.locator(stop.result).first).to_be_visible()
        expect(page).to_have_url(re.compile(stop.url))
        if stop.role == "button":
            expect(control.first).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize(
    ("locale", "text"), [("en-US", "Skip to content"), ("zh-CN", "跳到主要内容")]
)
def test_first_tab_stop_skips_to_the_content(
    sweep: str, open_page: Callable[..., Page], locale: str, text: str
) -> None:
    page = open_page(sweep, locale=locale)
    expect(page.locator("main article").first).to_be_visible()
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name=text)
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
