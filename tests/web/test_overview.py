"""What a person sees of a log that is there, and what they can do with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import builders as b
from tests.web.conftest import Serve
from tests.web.parts import all_runs, run, run_count, runs, sections, steps, table, tag, tag_names
from tests.web.writing import NAME, append, scalars

pytestmark = pytest.mark.browser


@pytest.fixture
def page(sweep: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(sweep)
    expect(tag(page, "train/loss")).to_be_visible()
    return page


def test_runs_are_listed_with_their_counts(page: Page) -> None:
    expect(runs(page)).to_have_count(4)
    assert [name.split("\n")[0] for name in runs(page).all_inner_texts()] == [
        "All runs",
        "conv/lr3e-4",
        "conv/lr1e-3",
        "vit",
    ]
    expect(run(page, "vit")).to_contain_text("6")
    expect(run(page, "vit")).to_contain_text("115")
    expect(run_count(page)).to_have_text("3 runs")


def test_what_runs_share_is_dimmed(page: Page) -> None:
    expect(run(page, "conv/lr1e-3").locator(".shared")).to_have_text("conv/")
    expect(run(page, "vit").locator(".shared")).to_have_text("")


def test_footer_sums_up(page: Page) -> None:
    expect(page.locator("footer")).to_have_text(
        re.compile(r"logs\s*· 3 runs\s*· 345 points\s*all kept")
    )


def test_tags_stand_in_sections_in_natural_order(page: Page) -> None:
    assert [re.sub(r"\s+", " ", text).strip() for text in sections(page).all_inner_texts()] == [
        "▾ no prefix 2 tags",
        "▾ eval 1 tag",
        "▾ train 3 tags",
    ]
    assert tag_names(page) == [
        "lr",
        "samples",
        "eval/loss",
        "train/loss",
        "train/loss_2",
        "train/loss_10",
    ]


def test_all_runs_together_tell_how_far_their_last_values_are_apart(page: Page) -> None:
    expect(tag(page, "train/loss")).to_contain_text("0.0863 … 0.259")
    expect(tag(page, "train/loss").get_by_role("img")).to_be_visible()


def test_one_run_tells_its_last_value_steps_and_points(page: Page) -> None:
    run(page, "vit").click()
    row = tag(page, "eval/loss")
    for text in ("0.406", "scalar", "5", steps(0, 40)):
        expect(row).to_contain_text(text)
    expect(tag(page, "samples")).to_contain_text("image")
    expect(page.get_by_role("main")).to_contain_text("6 tags")
    expect(page).to_have_title("vit · tracklight")


def test_a_sparkline_has_ink(page: Page) -> None:
    canvas = tag(page, "train/loss").locator("canvas")
    expect(canvas).to_be_visible()
    page.wait_for_function(
        """canvas => {
            const { width, height } = canvas;
            const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
            return data.some((byte, at) => at % 4 === 3 && byte > 0);
        }""",
        arg=canvas.element_handle(),
    )


def test_the_address_holds_the_view(page: Page, open_page: Callable[..., Page]) -> None:
    run(page, "vit").click()
    page.get_by_label("Filter tags").fill("loss")
    sections(page).filter(has_text="eval").click()
    expect(tag(page, "eval/loss")).to_have_count(0)
    copy = open_page(page.url)
    expect(run(copy, "vit")).to_have_attribute("aria-selected", "true")
    expect(copy.get_by_label("Filter tags")).to_have_value("loss")
    expect(tag(copy, "train/loss")).to_be_visible()
    expect(tag(copy, "lr")).to_have_count(0)
    expect(tag(copy, "eval/loss")).to_have_count(0)


def test_the_back_button_goes_back_to_the_run_before(page: Page) -> None:
    run(page, "vit").click()
    run(page, "conv/lr1e-3").click()
    page.go_back()
    expect(run(page, "vit")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(all_runs(page)).to_have_attribute("aria-selected", "true")


def test_runs_are_found_by_words_or_by_a_regular_expression(page: Page) -> None:
    box = page.get_by_label("Filter runs")
    box.fill("3e-4 CONV")
    expect(runs(page)).to_have_count(2)
    expect(run_count(page)).to_have_text("1 of 3 runs")
    page.get_by_role("complementary").get_by_label("Regular expression").click()
    box.fill("^(vit|.*e-3)$")
    expect(run_count(page)).to_have_text("2 of 3 runs")
    box.fill("(vit")
    expect(page.get_by_text("Unterminated group")).to_be_visible()
    expect(box).to_have_attribute("aria-invalid", "true")
    expect(runs(page)).to_have_count(4)
    box.press("Escape")
    expect(box).to_have_value("")


def test_one_kind_of_tag_can_be_picked(page: Page) -> None:
    kinds = page.get_by_role("group", name="Kind")
    kinds.get_by_role("button", name="image").click()
    assert tag_names(page) == ["samples"]
    assert page.url.endswith("?kind=image")
    kinds.get_by_role("button", name="all").click()
    expect(tag(page, "train/loss")).to_be_visible()


def test_a_filter_that_finds_nothing_says_so(page: Page) -> None:
    page.get_by_label("Filter runs").fill("resnet")
    expect(page.get_by_text("No run matches “resnet”.")).to_be_visible()
    page.get_by_label("Filter tags").fill("bleu")
    expect(page.get_by_text("No tag matches “bleu”.")).to_be_visible()


def test_the_keyboard_does_it_all(page: Page) -> None:
    page.keyboard.press("/")
    expect(page.get_by_label("Filter runs")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    listbox = page.get_by_role("listbox", name="Runs")
    expect(listbox).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(run(page, "conv/lr1e-3")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(run(page, "vit")).to_have_attribute("aria-selected", "true")
    active = listbox.get_attribute("aria-activedescendant")
    expect(run(page, "vit")).to_have_id(str(active))
    page.keyboard.press("Escape")
    expect(all_runs(page)).to_have_attribute("aria-selected", "true")


def test_a_run_that_is_not_there_is_told_with_the_nearest(page: Page) -> None:
    page.goto(page.url + "?run=vitt")
    expect(page.get_by_role("alert")).to_contain_text('No run "vitt"; nearest: "vit".')
    page.get_by_role("button", name="Show all runs").click()
    expect(tag(page, "train/loss")).to_be_visible()


def test_damage_is_told_where_it_is(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    records = scalars("loss", range(20))
    offset = sum(map(len, records[:5]))
    records[5] = b.flip(records[5], -6)
    append(logdir / "conv", *records)
    page = open_page(serve(logdir).address)
    notice = page.get_by_role("main").get_by_role("status").filter(has_text="damaged")
    expect(notice).to_contain_text(
        f"1 damaged record in {NAME} at {offset} B: skipped, the rest is shown."
    )
    expect(page.locator("footer")).to_contain_text("1 damaged")
    notice.get_by_role("button", name="Details").click()
    expect(notice.get_by_role("listitem")).to_contain_text(f"conv/{NAME}")
    expect(tag(page, "loss")).to_contain_text("19")


def test_overwritten_points_are_counted(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append(logdir / "conv", *scalars("loss", range(20)), *scalars("loss", range(12, 30)))
    page = open_page(serve(logdir).address)
    expect(tag(page, "loss")).to_contain_text("8 overwritten")


def test_numbers_that_are_not_finite_are_named(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    append(logdir / "conv", *scalars("loss", range(3)), b.scalar("loss", 5, float("nan")))
    append(logdir / "conv", b.scalar("gain", 5, float("inf")))
    page = open_page(serve(logdir).address + "?run=conv")
    expect(tag(page, "loss")).to_contain_text("NaN")
    expect(tag(page, "gain")).to_contain_text("∞")


def test_names_from_a_log_are_text_and_never_markup(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    evil = "<img src=x onerror=alert(1)>"
    append(logdir / "conv", *scalars(f"a/{evil}", range(3)))
    page = open_page(serve(logdir).address)
    expect(table(page)).to_contain_text(evil)
    assert page.locator("img[src=x]").count() == 0
