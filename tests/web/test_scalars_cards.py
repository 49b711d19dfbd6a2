"""Scalar cards: order, filters, pins, sizes, full screen and combined cards."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.cards import (
    card,
    card_titles,
    cards,
    chart,
    choose_menu_item,
    drawn_chart,
    open_menu,
    open_settings,
    read_axes,
)
from tests.web.conftest import Serve
from tests.web.event_writer import append_records
from tests.web.locators import run_row
from tests.web.scalar_log import scalar_records
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

TITLES = [
    *("epoch", "long", "odd", "restart", "spike", "eval/bleu"),
    *("train/accuracy", "train/loss", "train/loss_2", "train/loss_10"),
]


@pytest.fixture
def page(board: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(board)
    drawn_chart(page, "epoch")
    return page


def section(page: Page, title: str) -> Locator:
    return page.get_by_role("heading", level=2).get_by_role("button", name=re.compile(f"^{title}"))


def test_each_tag_has_a_card_in_natural_order(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 2000})
    expect(cards(page)).to_have_count(len(TITLES))
    wait_for_value(page, lambda: card_titles(page), TITLES)
    expect(section(page, "train")).to_contain_text("4 cards")


def test_card_shows_all_selected_runs(page: Page) -> None:
    expect(chart(page, "epoch")).to_have_attribute("aria-label", re.compile("3 lines"))
    run_row(page, "vit").get_by_role("checkbox").click()
    expect(chart(page, "epoch")).to_have_attribute("aria-label", re.compile("2 lines"))
    expect(card(page, "epoch").locator("[data-note]")).to_have_text("2 runs · all points")


def test_hides_tags_without_selected_runs(page: Page) -> None:
    expect(card(page, "long")).to_be_visible()
    run_row(page, "vit").get_by_role("checkbox").click()
    expect(card(page, "long")).to_have_count(0)
    expect(card(page, "epoch")).to_be_visible()


def test_collapsed_sections_survive_reload(page: Page) -> None:
    section(page, "train").click()
    expect(card(page, "train/loss")).to_have_count(0)
    expect(section(page, "train")).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile("collapsed=train"))
    page.reload()
    drawn_chart(page, "epoch")
    expect(card(page, "train/loss")).to_have_count(0)


def test_filters_tags_by_words_and_regular_expression(page: Page) -> None:
    box = page.get_by_role("combobox", name="Filter tags")
    box.fill("train loss")
    expect(cards(page)).to_have_count(3)
    box.fill("^train/loss$|bleu")
    expect(page.get_by_text("No tags match")).to_be_visible()
    page.get_by_role("toolbar").get_by_role("button", name="Regular expression").click()
    expect(cards(page)).to_have_count(2)
    wait_for_value(page, lambda: card_titles(page), ["eval/bleu", "train/loss"])
    expect(page).to_have_url(re.compile("tags-regex=1"))
    page.reload()
    expect(cards(page)).to_have_count(2)


def test_invalid_regular_expression_shows_error_and_hides_nothing(page: Page) -> None:
    page.get_by_role("toolbar").get_by_role("button", name="Regular expression").click()
    page.get_by_role("combobox", name="Filter tags").fill("(loss")
    expect(page.get_by_text("nterminated group")).to_be_visible()
    expect(card(page, "epoch")).to_be_visible()


def test_filter_completes_tags(page: Page) -> None:
    box = page.get_by_role("combobox", name="Filter tags")
    box.fill("loss")
    options = page.get_by_role("listbox", name="Matching tags").get_by_role("option")
    expect(options).to_have_text(["train/loss", "train/loss_2", "train/loss_10"])
    box.press("ArrowDown")
    box.press("ArrowDown")
    box.press("Enter")
    expect(box).to_have_value("train/loss_2")
    expect(options).to_have_count(0)
    expect(cards(page)).to_have_count(1)


def test_offers_reset_when_no_tag_matches(page: Page) -> None:
    page.get_by_role("combobox", name="Filter tags").fill("nowhere")
    expect(page.get_by_text("No tags match “nowhere”.")).to_be_visible()
    page.get_by_role("button", name="Clear filter").click()
    expect(card(page, "epoch")).to_be_visible()


def test_shows_message_when_no_run_is_selected(page: Page) -> None:
    for name in ("conv/a", "conv/b", "vit"):
        run_row(page, name).get_by_role("checkbox").click()
    expect(page.get_by_text("No runs selected.")).to_be_visible()


def test_pinned_cards_are_on_top_and_in_their_section(page: Page) -> None:
    card(page, "spike").get_by_role("button", name="Pin").click()
    expect(section(page, "Pinned")).to_contain_text("1 card")
    expect(card(page, "spike")).to_have_count(2)
    expect(cards(page).first).to_have_attribute("aria-label", "spike")
    expect(page).to_have_url(re.compile("pinned=spike"))
    cards(page).first.get_by_role("button", name="Unpin").click()
    expect(card(page, "spike")).to_have_count(1)


def test_full_width_card(page: Page) -> None:
    before = get_stable_box(card(page, "long"))
    choose_menu_item(page, "long", "Full width")
    expect(page).to_have_url(re.compile("wide=long"))
    wait_for_condition(page, lambda: get_stable_box(card(page, "long")).width > 2.5 * before.width)


def test_full_screen_and_back(page: Page) -> None:
    card(page, "epoch").hover()
    card(page, "epoch").get_by_role("button", name="Full screen").click()
    expect(page).to_have_url(re.compile("card=epoch"))
    full = page.get_by_role("article").and_(page.locator(".full"))
    wait_for_condition(page, lambda: get_stable_box(full).width > 1000)
    assert get_stable_box(full).height > 700
    page.go_back()
    expect(full).to_have_count(0)
    page.go_forward()
    full.get_by_role("button", name="Exit full screen").click()
    expect(full).to_have_count(0)


def test_card_size_is_remembered_but_not_in_url(page: Page) -> None:
    before = get_stable_box(card(page, "epoch"))
    page.get_by_role("slider", name="Card size").fill("700")
    expect(cards(page)).not_to_have_count(0)
    wait_for_condition(page, lambda: get_stable_box(card(page, "epoch")).width > before.width + 200)
    after = get_stable_box(card(page, "epoch"))
    page.reload()
    drawn_chart(page, "epoch")
    wait_for_value(page, lambda: get_stable_box(card(page, "epoch")), after)
    assert "size" not in get_stable_url(page)


def test_shows_description(page: Page) -> None:
    choose_menu_item(page, "eval/bleu", "Description")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("How well it translates.")
    expect(dialog.locator("strong")).to_have_text("translates")
    page.keyboard.press("Escape")
    menu = open_menu(page, "epoch")
    expect(menu.get_by_text("Description")).to_have_count(0)


def test_dragging_card_onto_another_combines_them(page: Page) -> None:
    card(page, "odd").locator("header").drag_to(card(page, "epoch"))
    both = card(page, "epoch + odd")
    expect(both).to_be_visible()
    expect(section(page, "Combined")).to_contain_text("1 card")
    expect(chart(page, "epoch + odd")).to_have_attribute("aria-label", re.compile("4 lines"))
    both.get_by_role("button", name="2 tags").click()
    page.get_by_role("listitem").filter(has_text="odd").get_by_role(
        "button", name="Right axis"
    ).click()
    expect(page).to_have_url(re.compile(r"multi-tag=epoch\S*%3Eodd"))
    page.keyboard.press("Escape")
    choose_menu_item(page, "epoch + odd", "Remove card")
    expect(both).to_have_count(0)


def test_adds_tag_from_the_menu(page: Page) -> None:
    choose_menu_item(page, "spike", "Add tag…")
    page.get_by_role("dialog").get_by_role("combobox", name="Tag").fill("restart")
    page.keyboard.press("Enter")
    expect(card(page, "spike + restart")).to_be_visible()


def test_second_axis_has_separate_limits(board: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{board}?multi-tag=train/accuracy\\,>train/loss&smoothing=0")
    _, _, _, high = read_axes(page, "train/accuracy + train/loss")
    assert high <= 1.0
    shared = open_page(f"{board}?multi-tag=train/accuracy\\,train/loss&smoothing=0&outliers=0")
    assert read_axes(shared, "train/accuracy + train/loss")[3] > 3.0


def test_regular_expression_creates_combined_card(page: Page) -> None:
    panel = open_settings(page)
    panel.get_by_label("Combine tags matching a regular expression").fill("loss_")
    panel.get_by_role("button", name="Add", exact=True).click()
    expect(chart(page, "/loss_/")).to_have_attribute("aria-label", re.compile("6 lines"))


def test_renders_cards_near_viewport_with_one_request(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    many = [
        record for at in range(2000) for record in scalar_records(f"layer/{at}", [0, 1], [at, at])
    ]
    append_records(logdir / "run", *many)
    address = serve(logdir).address
    page = open_page("about:blank")
    chart_counts: list[int] = []
    page.on(
        "request",
        lambda request: (
            chart_counts.append(len((request.post_data_json or {})["charts"]))
            if request.url.endswith("scalars/query")
            else None
        ),
    )
    page.goto(address)
    drawn_chart(page, "layer/0")
    expect(page.get_by_role("toolbar").get_by_role("status")).to_have_text("2,000 tags")
    wait_for_value(page, lambda: chart_counts, [cards(page).count()])
    assert chart_counts[0] < 40
    page.get_by_role("article").first.hover()
    page.mouse.wheel(0, 60_000)
    expect(card(page, "layer/0")).to_have_count(0)
    expect(cards(page).first).to_have_attribute("data-points", "2")
    wait_for_condition(page, lambda: cards(page).count() < 40)
