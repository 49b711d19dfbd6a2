"""A log of histograms with known counts, and locators of Histograms and Distributions."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.index import logs
from tests.web.cards import chart
from tests.web.waiting import get_stable_box

RUNS = ("conv", "vit")
STEPS = range(0, 2000, 10)


def make_buckets(step: int) -> list[tuple[float, float, float]]:
    """Return eight buckets from -2 to 2 with increasing counts."""
    return [(-2 + 0.5 * at, -1.5 + 0.5 * at, 10 * (at + 1) + step) for at in range(8)]


def write_histogram_log(folder: Path) -> None:
    for run in RUNS:
        records = [logs.histogram(step, make_buckets(step), tag="layer/weights") for step in STEPS]
        records += [logs.histogram(step, make_buckets(0), tag="layer/bias") for step in range(3)]
        logs.write(folder, run, b"".join(records))
    nan = float("nan")
    odd = [logs.histogram(step, make_buckets(step), tag="odd/gradients") for step in range(4)]
    odd.append(logs.histogram(4, [(nan, nan, 0)] * 3, tag="odd/gradients"))
    odd.append(logs.histogram(0, [], tag="odd/empty"))
    logs.write(folder, "vit", b"".join(odd), name="events.out.tfevents.2")


def write_many_runs(folder: Path) -> None:
    """Write twenty runs with one tag."""
    for number in range(20):
        records = [logs.histogram(step, make_buckets(step), tag="w") for step in range(5)]
        logs.write(folder, f"run{number}", b"".join(records))


def drawn_histogram(page: Page, title: str) -> Locator:
    """Return the chart once it has histograms."""
    locator = chart(page, title)
    expect(locator).to_have_attribute("aria-label", re.compile(r"\d (histogram|distribution)s? of"))
    return locator


def read_label(page: Page, title: str) -> str:
    return str(drawn_histogram(page, title).get_attribute("aria-label"))


def expect_label(page: Page, title: str, pattern: str) -> None:
    expect(chart(page, title)).to_have_attribute("aria-label", re.compile(pattern))


def hover_chart(page: Page, title: str, across: float, down: float) -> None:
    """Move the mouse to a point of a chart, given as fractions of its width and height."""
    x, y = get_stable_box(drawn_histogram(page, title)).at(across, down)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)


def drag_chart(
    page: Page, title: str, start: tuple[float, float], stop: tuple[float, float]
) -> None:
    hover_chart(page, title, *start)
    page.mouse.down()
    x, y = get_stable_box(drawn_histogram(page, title)).at(*stop)
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    page.mouse.up()


def read_tooltip_cells(page: Page) -> dict[str, list[str]]:
    tooltip = page.get_by_role("status", name="Hovered histogram")
    expect(tooltip).to_be_visible()
    script = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    return {name: cells for name, *cells in tooltip.locator("tbody tr").evaluate_all(script)}


def open_settings(page: Page, title: str) -> Locator:
    """Return the settings panel; open it if necessary."""
    panel = page.get_by_role("complementary", name=f"{title} settings")
    if not panel.is_visible():
        page.get_by_role("button", name=f"{title} settings").click()
    return panel
