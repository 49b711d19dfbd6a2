"""Derived metrics: defined in the page, shown like tags, shared by all pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import card_titles, drawn_chart
from tests.web.conftest import serve_log
from tests.web.event_writer import append_records
from tests.web.scalar_log import STEPS, scalar_records
from tests.web.waiting import wait_for_value

pytestmark = pytest.mark.browser


def write_log(logdir: Path) -> None:
    for number, run in enumerate(("a", "b")):
        for tag, value in (("loss", number + 1.0), ("val loss", number + 4.0)):
            append_records(logdir / run, *scalar_records(tag, STEPS, [value] * len(STEPS)))


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    with serve_log(tmp_path, write_log) as address:
        yield f"{address}?tab=scalars"


def open_dialog(page: Page) -> Locator:
    page.get_by_role("button", name="Derived metrics").click()
    return page.get_by_role("dialog", name="Derived metrics")


def add(dialog: Locator, name: str, expression: str) -> None:
    dialog.get_by_role("textbox", name="Name").fill(name)
    dialog.get_by_role("textbox", name="Expression").fill(expression)
    dialog.get_by_role("button", name="Add", exact=True).click()


def close(dialog: Locator) -> None:
    dialog.get_by_role("button", name="Close").click()


def test_a_metric_is_a_card_and_a_column(address: str, open_page: Callable[..., Page]) -> None:
    page, other = open_page(address), open_page(address)
    drawn_chart(page, "loss")
    drawn_chart(other, "loss")
    dialog = open_dialog(page)
    add(dialog, "gap", '"val loss" - los')
    expect(dialog).to_contain_text("No run has a metric “los”; did you mean “loss”?")
    expect(dialog).to_contain_text("at character 14")
    dialog.get_by_role("textbox", name="Expression").fill('"val loss" - loss')
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("listitem")).to_contain_text("gap")
    close(dialog)
    for it in (page, other):
        expect(drawn_chart(it, "gap")).to_have_attribute("aria-label", re.compile("2 lines"))
    page.goto(address.replace("tab=scalars", "tab=runs&rt-filter=last(gap) > 2"))
    expect(page.get_by_role("row").filter(has_text="a")).not_to_have_count(0)


def test_two_pages_change_one_metric(address: str, open_page: Callable[..., Page]) -> None:
    page, other = open_page(address), open_page(address)
    first, second = open_dialog(page), open_dialog(other)
    add(first, "gap", "loss * 2")
    expect(second.get_by_role("listitem")).to_contain_text("loss * 2")
    second.get_by_role("button", name="Edit").click()
    first.get_by_role("button", name="Edit").click()
    first.get_by_role("textbox", name="Expression").fill("loss * 3")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("listitem")).to_contain_text("loss * 3")
    second.get_by_role("textbox", name="Expression").fill("loss * 4")
    second.get_by_role("button", name="Save").click()
    expect(second).to_contain_text("Someone else has changed the metric")
    expect(second.get_by_role("textbox", name="Expression")).to_have_value("loss * 4")
    expect(second.get_by_role("listitem")).to_contain_text("loss * 3")
    second.get_by_role("button", name="Save").click()
    expect(first.get_by_role("listitem")).to_contain_text("loss * 4")


def test_a_deleted_metric_disappears(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page(address)
    dialog = open_dialog(page)
    add(dialog, "twice", "loss * 2")
    close(dialog)
    drawn_chart(page, "twice")
    open_dialog(page)
    dialog.get_by_role("button", name="Delete “twice”").click()
    close(dialog)
    wait_for_value(page, lambda: sorted(card_titles(page)), ["loss", "val loss"])
