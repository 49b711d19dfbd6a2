"""What is drawn and what is listed agree: bands, colors, legends, order and updates."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests import builders as b
from tests.web.cards import (
    card,
    chart,
    choose_menu_item,
    drawn_chart,
    move_cursor_to,
    open_settings,
    parse_number,
    read_tooltip_cells,
)
from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.locators import connection_status, run_row, run_rows
from tests.web.run_table import checked_runs, run_checkbox, run_color
from tests.web.scalar_log import scalar_records
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_seeds(logdir: Path) -> None:
    """Write train and validation runs of two seeds; the second ends at step 4."""
    for seed, last in (("seed1", 9), ("seed2", 4)):
        for split, value in (("train", 1.0), ("validation", 5.0)):
            values = [value + (seed == "seed2") * 2] * (last + 1)
            append_records(logdir / seed / split, *scalar_records("loss", range(last + 1), values))


seeds = board_fixture(write_seeds, "module", "?tab=scalars&smoothing=0&mode=bands")


def read_row(page: Page, name: str) -> list[float]:
    return [parse_number(cell) for cell in read_tooltip_cells(page)[name]]


def test_bands_keep_train_and_validation_apart(seeds: str, open_page: OpenPage) -> None:
    page = open_page(seeds)
    expect(chart(page, "loss")).to_have_attribute("aria-label", re.compile("2 lines,"))
    move_cursor_to(page, "loss", 2)
    std = 2**0.5
    for split, mean in (("train", 2.0), ("validation", 6.0)):
        wanted = pytest.approx([mean, mean - std, mean + std, 2], rel=2e-3)
        wait_for_value(page, lambda s=split: read_row(page, f"All 4 runs · {s}"), wanted)
    move_cursor_to(page, "loss", 8)
    wait_for_value(page, lambda: read_row(page, "All 4 runs · train"), [1, 1, 1, 1])
    expect(card(page, "loss").locator("[data-note]")).to_contain_text("n = 1\N{EN DASH}2")


def test_runs_in_the_list_have_the_color_of_their_band(seeds: str, open_page: OpenPage) -> None:
    page = open_page(seeds)
    drawn_chart(page, "loss")
    names = ["seed1/train", "seed2/train", "seed2/validation"]
    wait_for_value(page, lambda: len({run_color(page, name) for name in names}), 1)
    page.get_by_role("button", name="Lines", exact=True).click()
    wait_for_value(page, lambda: len({run_color(page, name) for name in names}), 2)


def test_minimum_number_of_runs(seeds: str, open_page: OpenPage) -> None:
    page = open_page(seeds)
    drawn_chart(page, "loss")
    box = open_settings(page).get_by_role("textbox", name="Min runs")
    box.fill("2")
    box.press("Enter")
    expect(page).to_have_url(re.compile("min-runs=2"))
    expect(chart(page, "loss")).to_have_attribute("aria-label", re.compile("x axis 0 to 4,"))


def test_csv_of_bands_has_bands(seeds: str, open_page: OpenPage) -> None:
    page = open_page(seeds)
    drawn_chart(page, "loss")
    with page.expect_download() as download:
        choose_menu_item(page, "loss", "Export CSV")
    rows = [*csv.DictReader(io.StringIO(download.value.path().read_text("utf-8")))]
    assert {row["group"] for row in rows} == {"All 4 runs · train", "All 4 runs · validation"}
    train = [row for row in rows if row["group"].endswith("train")]
    assert [row["runs"] for row in train] == ["2"] * 5 + ["1"] * 5
    assert [float(row["center"]) for row in train] == [2.0] * 5 + [1.0] * 5


def test_first_baseline_has_scalars(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    picture = b.event(b.summary(b.value("picture", b.image(b""))), step=1)
    append_records(logdir / "a-pictures", b.record(picture))
    append_records(logdir / "b", *loss_records("loss", range(5)))
    append_records(logdir / "c", *loss_records("loss", range(5)))
    page = open_page(serve(logdir).address + "?tab=scalars")
    drawn_chart(page, "loss")
    page.get_by_role("button", name="Δ baseline").click()
    expect(page.get_by_role("combobox", name="Baseline")).to_have_value("b")
    drawn_chart(page, "loss")


def test_dead_server_leaves_data_visible(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    append_records(logdir / "a", *loss_records("loss", range(5)))
    append_records(logdir / "a", *loss_records("other", range(5)))
    board = serve(logdir)
    page = open_page(board.address + "?tab=scalars")
    drawn_chart(page, "loss")
    board.stop()
    # Needs a response that does not come.
    page.get_by_role("button", name="Relative", exact=True).click()
    expect(connection_status(page, "Server unreachable")).to_be_visible()
    expect(card(page, "loss")).to_contain_text("Not updated")
    expect(chart(page, "loss")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_card_says_that_it_is_updating(sweep: str, open_page: OpenPage) -> None:
    page = open_page(f"{sweep}?tab=scalars&tags=train/loss&selected=none;%2Bvit")
    drawn_chart(page, "train/loss")
    held: list[Route] = []
    page.route("**/scalars/query", lambda route: held.append(route))
    run_checkbox(page, "conv/lr1e-3").click()
    loss = card(page, "train/loss")
    expect(loss).to_have_attribute("aria-busy", "true")
    expect(loss).to_contain_text("Updating…")
    expect(loss.locator("[data-note]")).to_have_text("")
    page.unroute("**/scalars/query")  # continues the request
    expect(loss).to_have_attribute("aria-busy", "false")
    expect(loss.locator("[data-note]")).to_contain_text("2 runs")


MANY_RUNS = 501


def write_many_runs(logdir: Path) -> None:
    """Write runs of which those that come last in the alphabet are the newest."""
    for number in range(MANY_RUNS):
        append_records(
            logdir / f"run-{number:03d}",
            b.record(b.event(b.summary(b.value("loss", b.simple(1.0))), step=1, wall=1e9 + number)),
        )


many_runs = board_fixture(write_many_runs, "module")


def test_selected_runs_of_a_large_log_are_at_the_top(many_runs: str, open_page: OpenPage) -> None:
    page = open_page(many_runs + "?tab=overview")
    expect(run_rows(page).first).to_contain_text("run-500")
    expect(run_checkbox(page, "run-500")).to_be_checked()
    names = "rows => rows.map((row) => row.dataset.run)"

    def are_newest_selected() -> bool:
        shown = page.locator("[data-run]").evaluate_all(names)
        is_sorted = len(shown) > 5 and shown == sorted(shown, reverse=True)
        return is_sorted and checked_runs(page) == shown

    wait_for_condition(page, are_newest_selected)
    page.goto(many_runs + "?tab=overview&sort=name")
    expect(run_row(page, "run-000").get_by_role("checkbox")).not_to_be_checked()


def test_legend_names_the_lines(sweep: str, open_page: OpenPage) -> None:
    page = open_page(f"{sweep}?tab=scalars&tags=train/loss")
    drawn_chart(page, "train/loss")
    legend = card(page, "train/loss").get_by_role("list", name="Legend of")
    expect(legend.get_by_role("listitem")).to_have_text(["conv/lr3e-4", "conv/lr1e-3", "vit"])
    colors = [run_color(page, run) for run in ("conv/lr3e-4", "conv/lr1e-3", "vit")]
    read_colors = "all => all.map((i) => getComputedStyle(i).color)"
    wait_for_value(page, lambda: legend.locator("i").evaluate_all(read_colors), colors)
    panel = open_settings(page)
    panel.get_by_role("checkbox", name="Show legend and line labels").uncheck()
    expect(legend).to_have_count(0)


def test_wide_charts_have_labels_instead_of_a_legend(sweep: str, open_page: OpenPage) -> None:
    page = open_page(f"{sweep}?tab=scalars&tags=train/loss&wide=train/loss")
    drawn_chart(page, "train/loss")
    wait_for_condition(page, lambda: get_stable_box(chart(page, "train/loss")).width > 600)
    legends = page.get_by_role("list", name="Legend of train/loss", exact=True)
    expect(legends).to_have_count(0)


def test_full_screen_covers_the_window(sweep: str, open_page: OpenPage) -> None:
    page = open_page(f"{sweep}?tab=scalars&tags=train/loss")
    drawn_chart(page, "train/loss").hover()
    card(page, "train/loss").get_by_role("button", name="Full screen").click()
    full = card(page, "train/loss").last
    expect(full.get_by_role("heading", level=2)).to_be_visible()
    wait_for_value(page, lambda: get_stable_box(full), (0, 0, 1440, 900))
    page.keyboard.press("Escape")
    expect(card(page, "train/loss")).to_have_count(1)


@pytest.mark.parametrize("button", ["Scalars settings", "Settings"])
def test_settings_do_not_move_the_cards(sweep: str, open_page: OpenPage, button: str) -> None:
    page = open_page(f"{sweep}?tab=scalars")
    drawn_chart(page, "train/loss")
    before = get_stable_box(card(page, "train/loss"))
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("complementary").last).to_be_visible()
    assert get_stable_box(card(page, "train/loss")) == before
