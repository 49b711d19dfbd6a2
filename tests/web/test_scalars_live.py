"""Live updates of scalar charts, and failed and canceled requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.cards import (
    card,
    cards,
    drawn_chart,
    read_axes,
    table_rows,
    tooltip,
    value_table,
)
from tests.web.conftest import Serve
from tests.web.event_writer import append_records
from tests.web.scalar_log import loss, scalar_records, write_scalar_log
from tests.web.waiting import get_stable_box, wait_for_value

pytestmark = pytest.mark.browser

MORE = tuple(range(600, 900, 10))


@pytest.fixture
def address(logdir: Path, serve: Serve) -> str:
    write_scalar_log(logdir)
    return serve(logdir).address


def write_more(logdir: Path) -> None:
    append_records(logdir / "vit", *scalar_records("train/loss", MORE, loss("vit", MORE)))


def test_draws_new_points(address: str, logdir: Path, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{address}?tags=train/loss&table=1")
    drawn_chart(page, "train/loss")
    expect(card(page, "train/loss")).to_have_attribute("data-last-step", "590")
    write_more(logdir)
    expect(card(page, "train/loss")).to_have_attribute("data-last-step", "890")
    expect(card(page, "train/loss")).to_have_attribute("data-points", "210")
    wait_for_value(page, lambda: read_axes(page, "train/loss")[1], "890")
    row = table_rows(value_table(page, "train/loss")).filter(has_text="vit")
    expect(row).to_contain_text("890")


def test_new_tags_get_cards_and_keep_scroll_position(
    address: str, logdir: Path, open_page: Callable[..., Page]
) -> None:
    many = [record for at in range(300) for record in scalar_records(f"layer/{at:03}", [1], [at])]
    append_records(logdir / "vit", *many)
    page = open_page(f"{address}?tags=layer")
    drawn_chart(page, "layer/000")
    page.get_by_role("article").first.hover()
    page.mouse.wheel(0, 6000)
    expect(card(page, "layer/000")).to_have_count(0)
    get_stable_box(cards(page).first)
    title = str(cards(page).nth(9).get_attribute("aria-label"))
    place = get_stable_box(card(page, title))
    append_records(
        logdir / "vit",
        *scalar_records("layer/000a", [1], [1]),
        *scalar_records("layer/000b", [1], [1]),
    )
    append_records(logdir / "vit", *scalar_records("layer/000c", [1], [1]))
    status = page.get_by_role("toolbar").get_by_role("status")
    expect(status).to_have_text("313 tags")
    wait_for_value(page, lambda: get_stable_box(card(page, title)), place)


def test_live_updates_keep_zoom_smoothing_and_tooltip(
    address: str, logdir: Path, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{address}?tags=train/loss&zoom=train/loss,100,200,0,2,,&smoothing=0.8")
    box = get_stable_box(drawn_chart(page, "train/loss"))
    seen = read_axes(page, "train/loss")
    x, y = box.center
    page.mouse.move(x, y)
    page.mouse.move(x + 1, y)
    expect(tooltip(page).locator("thead")).to_contain_text("·")
    tooltip_text = tooltip(page).inner_text()
    write_more(logdir)
    expect(card(page, "train/loss")).to_have_attribute("data-last-step", "890")
    wait_for_value(page, lambda: read_axes(page, "train/loss"), seen)
    wait_for_value(page, tooltip(page).inner_text, tooltip_text)
    expect(page.get_by_role("slider", name="Smoothing")).to_have_value("0.8")


def test_shows_network_error_and_recovers(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    page.route("**/scalars/query", lambda route: route.abort())
    page.goto(f"{address}?tags=train/loss")
    expect(page.get_by_text("Server unreachable").first).to_be_visible()
    page.unroute("**/scalars/query")
    drawn_chart(page, "train/loss")
    expect(page.get_by_text("Server unreachable")).to_have_count(0)


def test_cancels_outdated_requests(address: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    page.add_init_script(
        """const send = fetch;
        window.asked = [];
        window.fetch = (address, init) => {
          if (String(address).endsWith('scalars/query')) asked.push(init.signal);
          return send(address, init);
        };"""
    )
    page.goto(f"{address}?tags=train/loss&smoothing=0")
    drawn_chart(page, "train/loss")
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    # Not unrouted before the end: that would let the held request finish.
    page.route("**/scalars/query", hold_first)
    page.get_by_role("button", name="Relative", exact=True).click()
    page.wait_for_function("asked.length == 2")
    page.get_by_role("button", name="Wall time", exact=True).click()
    page.wait_for_function("asked.length == 3")
    wait_for_value(
        page, lambda: page.evaluate("asked.map(signal => signal.aborted)")[1:], [True, False]
    )
