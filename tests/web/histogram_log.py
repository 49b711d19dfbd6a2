"""Histograms whose numbers tests know, and the parts of the tabs that show them."""

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
    """Eight buckets from -2 to 2, of which the later ones count more."""
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
    """Twenty runs of one tag."""
    for number in range(20):
        records = [logs.histogram(step, make_buckets(step), tag="w") for step in range(5)]
        logs.write(folder, f"run{number}", b"".join(records))


def drawn_histogram(page: Page, title: str) -> Locator:
    """The chart, once it has histograms."""
    found = chart(page, title)
    expect(found).to_have_attribute("aria-label", re.compile(r"\d (histogram|distribution)s? of"))
    return found


def read_label(page: Page, title: str) -> str:
    return str(drawn_histogram(page, title).get_attribute("aria-label"))


def expect_label(page: Page, title: str, words: str) -> None:
    expect(chart(page, title)).to_have_attribute("aria-label", re.compile(words))


def hover_chart(page: Page, title: str, across: float, down: float) -> None:
    """Put the pointer on a place of a chart, given in parts of its size."""
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


def read_tooltip(page: Page) -> dict[str, list[str]]:
    tip = page.get_by_role("status", name="Values at the cursor")
    expect(tip).to_be_visible()
    script = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    return {name: cells for name, *cells in tip.locator("tbody tr").evaluate_all(script)}


def open_settings(page: Page, title: str) -> Locator:
    """The panel at the right, opened if it is not."""
    panel = page.get_by_role("complementary", name=f"Settings of {title}")
    if not panel.is_visible():
        page.get_by_role("button", name=f"Settings of {title}").click()
    return panel
