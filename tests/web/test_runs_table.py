"""Run table: selection, sorting, columns, groups and colors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records
from tests.web.run_table import (
    cell,
    checked_runs,
    choose_from_menu,
    column_header,
    grid,
    group_row,
    row,
    rows,
    run_checkbox,
    run_color,
    run_name,
    run_names,
    runs_panel,
)
from tests.web.study_log import LAST_ACCURACIES, TRIAL_NAMES, TRIALS, mean_and_stdev
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

ACCURACY = "columns=hparam:lr,last:val/acc"
CLIPBOARD = "navigator.clipboard.readText()"


@pytest.fixture
def open_table(study: str, open_page: Callable[..., Page]) -> Callable[..., Page]:
    def open_table(query: str = "", **options: object) -> Page:
        page = open_page(f"{study}?{query}", **options)
        expect(rows(page).first).to_be_visible()
        return page

    return open_table


def read_groups(heads: Locator) -> list[str]:
    """Return the groups of the table from top to bottom."""
    return heads.evaluate_all("heads => heads.map(head => head.dataset.group)")


def sort_by_last(descending: bool) -> list[str]:
    return sorted(TRIAL_NAMES, key=LAST_ACCURACIES.__getitem__, reverse=descending)


def test_lists_runs_and_differing_columns_and_marks_a_baseline(
    open_table: Callable[..., Page],
) -> None:
    page = open_table()
    # Learning rates are compared as numbers, so 3e-4 comes before 1e-3.
    expected = [TRIAL_NAMES[at] for at in (0, 2, 1, 3, 4, 5, 6, 7)]
    wait_for_value(page, lambda: run_names(page), expected)
    wait_for_value(page, lambda: checked_runs(page), expected)

    expect(column_header(page, "lr")).to_be_visible()
    expect(column_header(page, "optimizer")).to_be_visible()
    expect(column_header(page, "seed")).to_have_count(0)

    run_name(page, "conv/lr1e-3").hover()
    expect(row(page, "conv/lr1e-3")).to_have_class(re.compile(r"\bhighlighted\b"))
    run_name(page, "vit/tiny-lr1e-4").hover()
    expect(row(page, "conv/lr1e-3")).not_to_have_class(re.compile(r"\bhighlighted\b"))

    run_name(page, "conv/lr1e-3").click(button="right")
    page.get_by_role("menuitemcheckbox", name="Use as baseline").click()
    expect(row(page, "conv/lr1e-3")).to_contain_text("base")
    expect(page).to_have_url(re.compile("baseline=conv/lr1e-3"))


def test_url_stores_selection(
    open_table: Callable[..., Page], open_page: Callable[..., Page]
) -> None:
    page = open_table()
    run_checkbox(page, "conv/lr1e-3").click()
    run_checkbox(page, "conv/lr3e-4").click()
    expect(run_checkbox(page, "conv/lr1e-3")).not_to_be_checked()
    expect(page).to_have_url(re.compile(r"selected=auto%3B-conv/%7Blr1e-3,lr3e-4%7D"))
    other = open_page(get_stable_url(page))
    expect(run_checkbox(other, "conv/lr3e-4")).not_to_be_checked()
    others = sorted(run for run in TRIAL_NAMES if not run.startswith("conv/lr"))
    wait_for_value(other, lambda: sorted(checked_runs(other)), others)


def test_double_click_isolates_run_and_restores_all(open_table: Callable[..., Page]) -> None:
    page = open_table()
    run_name(page, "vit/tiny-lr1e-4").dblclick()
    expect(rows(page).locator(":checked")).to_have_count(1)
    wait_for_value(page, lambda: checked_runs(page), ["vit/tiny-lr1e-4"])
    run_name(page, "vit/tiny-lr1e-4").dblclick()
    expect(rows(page).locator(":checked")).to_have_count(8)
    run_name(page, "conv/lr1e-3").click(modifiers=["Alt"])
    expect(rows(page).locator(":checked")).to_have_count(1)
    page.go_back()
    expect(rows(page).locator(":checked")).to_have_count(8)


def test_selects_all_none_inverse_and_newest(open_table: Callable[..., Page]) -> None:
    page = open_table("runs=conv")

    def choose(item: str) -> None:
        runs_panel(page).get_by_role("button", name="More run actions").click()
        page.get_by_role("menuitem", name=re.compile(f"^{item}")).click()

    checked = rows(page).locator(":checked")
    choose("Deselect all matching")
    expect(checked).to_have_count(0)
    run_checkbox(page, "conv/lr1e-3").click()
    choose("Invert selection")
    expect(checked).to_have_count(2)
    wait_for_value(page, lambda: checked_runs(page), ["conv/bn-lr3e-3", "conv/lr3e-4"])
    choose("Select all matching")
    expect(checked).to_have_count(3)
    runs_panel(page).get_by_role("button", name="More run actions").click()
    page.get_by_role("spinbutton").fill("2")
    page.get_by_role("button", name="Select", exact=True).click()
    expect(checked).to_have_count(2)
    newest = sorted(TRIALS[:3], key=lambda trial: trial.hours_ago)[:2]
    wait_for_value(page, lambda: set(checked_runs(page)), {trial.name for trial in newest})


def test_header_checkbox_selects_matching_runs(open_table: Callable[..., Page]) -> None:
    page = open_table("runs=dense")
    every = page.get_by_role("checkbox", name="Select all matching runs")
    expect(every).to_be_checked()
    every.click()
    expect(rows(page).locator(":checked")).to_have_count(0)
    runs_panel(page).get_by_role("searchbox").fill("")
    expect(rows(page).locator(":checked")).to_have_count(6)
    wait_for_condition(page, lambda: every.evaluate("box => box.indeterminate"))


def test_shift_click_selects_range(open_table: Callable[..., Page]) -> None:
    page = open_table("selected=none")
    run_checkbox(page, "conv/lr3e-4").click()
    run_checkbox(page, "dense/512-lr1e-3").click(modifiers=["Shift"])
    expect(rows(page).locator(":checked")).to_have_count(4)
    between = ["conv/lr3e-4", "conv/lr1e-3", "dense/256-lr1e-3", "dense/512-lr1e-3"]
    wait_for_value(page, lambda: checked_runs(page), between)


def test_columns_show_hyperparameters_and_metrics(open_table: Callable[..., Page]) -> None:
    page = open_table("columns=hparam:lr,hparam:optimizer,last:val/acc,max:val/acc,duration")
    for trial in TRIALS:
        expect(cell(page, trial.name, 1)).to_have_text(f"{trial.lr:g}")
        expect(cell(page, trial.name, 2)).to_have_text(trial.optimizer)
        expect(cell(page, trial.name, 3)).to_have_text(f"{trial.last:.4g}")
        expect(cell(page, trial.name, 4)).to_have_text(f"{max(trial.accuracies):.4g}")
        expect(cell(page, trial.name, 5)).to_have_text("2 min")
    exact = cell(page, "conv/lr1e-3", 3).get_attribute("title")
    assert float(str(exact)) == pytest.approx(0.9087, rel=1e-6)
    assert "right" in cell(page, "conv/lr1e-3", 3).evaluate("c => getComputedStyle(c).textAlign")


def test_adds_and_removes_columns(open_table: Callable[..., Page]) -> None:
    page = open_table("columns=start")
    expect(cell(page, "vit/tiny-lr1e-4", 1)).to_have_text("2 h ago")
    runs_panel(page).get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="Min", exact=True).click()
    page.get_by_role("combobox", name="Search columns").fill("acc")
    page.get_by_role("dialog").get_by_role("option", name="val/acc").click()
    page.keyboard.press("Escape")
    expect(column_header(page, "min val/acc")).to_be_visible()
    expect(cell(page, "conv/lr1e-3", 2)).to_have_text("0.5")
    column_header(page, "Start time").click(button="right")
    page.get_by_role("menuitem", name="Remove column").click()
    expect(column_header(page, "Start time")).to_have_count(0)
    expect(page).to_have_url(re.compile("columns=min%3Aval/acc"))


def test_sorts_by_column_in_both_directions(open_table: Callable[..., Page]) -> None:
    page = open_table(ACCURACY)
    expect(cell(page, "vit/tiny-lr1e-4", 2)).to_have_text("0.8412")
    column_header(page, "val/acc").click()
    expect(rows(page).first).to_have_attribute("data-run", sort_by_last(True)[0])
    wait_for_value(page, lambda: run_names(page), sort_by_last(descending=True))
    column_header(page, "val/acc").click()
    expect(rows(page).first).to_have_attribute("data-run", sort_by_last(False)[0])
    wait_for_value(page, lambda: run_names(page), sort_by_last(descending=False))
    sorted_by = grid(page).locator("[role=columnheader][aria-sort=ascending]")
    expect(sorted_by).to_contain_text("val/acc")


def test_column_width_is_remembered(open_table: Callable[..., Page]) -> None:
    page = open_table(ACCURACY)
    grip = page.get_by_role("separator", name="Resize column lr")
    grip.focus()
    page.keyboard.press("ArrowLeft")
    expect(grip).to_have_attribute("aria-valuenow", "78")
    page.reload()
    expect(grip).to_have_attribute("aria-valuenow", "78")
    assert "78" not in get_stable_url(page).partition("?")[2]


def test_groups_runs(open_table: Callable[..., Page], study: str) -> None:
    page = open_table()
    groupings = {
        "path:1": ["conv", "dense", "vit"],
        "hparam:optimizer": ["adam", "sgd"],
        "re:lr(.)e": ["1", "3"],
    }
    for grouping, keys in groupings.items():
        page.goto(f"{study}?group={grouping}")
        heads = grid(page).locator("[role=row][data-group]")
        wait_for_value(page, lambda heads=heads: read_groups(heads), keys)


def test_group_shows_mean_of_sorted_column(open_table: Callable[..., Page]) -> None:
    page = open_table(f"group=path:1&{ACCURACY}&sort=-last:val/acc")
    for model in ("conv", "dense", "vit"):
        mean, spread = mean_and_stdev([trial for trial in TRIALS if trial.model == model])
        expect(group_row(page, model)).to_contain_text(f"{mean:.4g} ± {spread:.2g}")
    heads = grid(page).locator("[role=row][data-group]")
    means = {
        m: mean_and_stdev([t for t in TRIALS if t.model == m])[0] for m in ("conv", "dense", "vit")
    }
    expected = sorted(means, key=means.__getitem__, reverse=True)
    wait_for_value(page, lambda: read_groups(heads), expected)


def test_collapses_and_selects_groups(open_table: Callable[..., Page]) -> None:
    page = open_table("group=path:1")
    group_row(page, "dense").get_by_role("button", name="Collapse dense").click()
    expect(row(page, "dense/256-lr1e-3")).to_have_count(0)
    expect(group_row(page, "dense")).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile("collapsed-groups=dense"))
    page.reload()
    expect(group_row(page, "dense")).to_have_attribute("aria-expanded", "false")
    group_row(page, "conv").get_by_role("checkbox").click()
    expect(rows(page).locator(":checked")).to_have_count(3)
    wait_for_condition(page, lambda: all(run.startswith("vit") for run in checked_runs(page)))
    group_row(page, "conv").get_by_role("checkbox").click()
    expect(rows(page).locator(":checked")).to_have_count(6)


def test_changes_grouping_in_the_table(open_table: Callable[..., Page]) -> None:
    page = open_table()
    runs_panel(page).get_by_role("button", name="Group None").click()
    page.get_by_role("dialog").get_by_role("option", name="optimizer").click()
    expect(group_row(page, "adam")).to_be_visible()
    runs_panel(page).get_by_role("button", name="Group optimizer").click()
    pattern = page.get_by_role("textbox", name="Group by regular expression")
    pattern.fill("(conv")
    expect(page.get_by_text("Invalid regular expression: unterminated group")).to_be_visible()
    pattern.fill("(conv|vit)")
    expect(page.get_by_text("2 groups from 6 runs")).to_be_visible()
    pattern.press("Enter")
    expect(group_row(page, "vit")).to_be_visible()
    expect(group_row(page, "")).to_contain_text("Other")
    page.go_back()
    expect(group_row(page, "adam")).to_be_visible()


def read_colors(page: Page) -> dict[str, str]:
    """Return the color of each run, read at once."""
    script = """rows => Object.fromEntries(rows.map(row => [
        row.dataset.run,
        getComputedStyle(row.querySelector('[type=checkbox]')).borderTopColor]))"""
    colors: dict[str, str] = rows(page).evaluate_all(script)
    assert len(colors) == len(TRIAL_NAMES)
    return colors


def test_colors_by_run_group_hyperparameter_or_pattern(open_table: Callable[..., Page]) -> None:
    page = open_table()
    # Training and validation of one experiment share a color; validation is striped.
    first, second = TRIAL_NAMES[6:]
    wait_for_value(page, lambda: len(set(read_colors(page).values())), 7)
    wait_for_condition(page, lambda: (own := read_colors(page))[first] == own[second])
    striped = "box => getComputedStyle(box).backgroundImage.includes('gradient')"
    assert [run_checkbox(page, run).evaluate(striped) for run in (first, second)] == [False, True]

    page = open_table("group=path:1&color=group")
    wait_for_value(page, lambda: len(set(read_colors(page).values())), 3)
    convolutions = [run for run in TRIAL_NAMES if run.startswith("conv")]
    wait_for_value(page, lambda: len({read_colors(page)[run] for run in convolutions}), 1)

    page = open_table("color=hparam:lr&columns=hparam:lr")
    expect(cell(page, "conv/lr1e-3", 1)).to_have_text("0.001")

    def read_colors_by_rate() -> list[set[str]]:
        colors = read_colors(page)
        rates = sorted({trial.lr for trial in TRIALS})
        return [{colors[trial.name] for trial in TRIALS if trial.lr == rate} for rate in rates]

    wait_for_value(page, lambda: [len(shades) for shades in read_colors_by_rate()], [1] * 4)
    lowest, *_, highest = read_colors_by_rate()
    assert len(set.union(*read_colors_by_rate())) == 4
    # From blue to amber.
    assert (lowest, highest) == ({"rgb(63, 111, 224)"}, {"rgb(185, 130, 0)"})

    page = open_table("color=re:(conv|dense)")
    wait_for_value(page, lambda: len(set(read_colors(page).values())), 3)
    wait_for_value(page, lambda: run_color(page, "vit/tiny-lr1e-4"), "rgb(125, 125, 138)")


def test_copies_names_and_paths(open_table: Callable[..., Page]) -> None:
    page = open_table(permissions=["clipboard-read", "clipboard-write"])
    run_name(page, "conv/lr3e-4").click()
    run_name(page, "dense/256-lr1e-3").click(modifiers=["Shift"])
    choose_from_menu(page, "conv/lr1e-3", "Copy names")
    chosen = ["conv/lr3e-4", "conv/lr1e-3", "dense/256-lr1e-3"]
    wait_for_value(page, lambda: page.evaluate(CLIPBOARD), "\n".join(chosen))
    choose_from_menu(page, "vit/tiny-lr1e-4", "Copy path")
    wait_for_condition(page, lambda: page.evaluate(CLIPBOARD).endswith("/logs/vit/tiny-lr1e-4"))


def test_actions_button_does_not_cover_name(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    run = "a_long_name_of_a_run_that_needs_all_available_space"
    append_records(logdir / run, *loss_records("loss", range(3)))
    page = open_page(serve(logdir).address)
    row(page, run).hover()
    button = row(page, run).get_by_role("button", name=f"Actions for {run}")
    expect(button).to_have_css("opacity", "1")
    text, place = get_stable_box(run_name(page, run)), get_stable_box(button)
    assert text.x + text.width <= place.x


SCHEDULE = "resnet50_lr0.{rate}_bs128_cosine_schedule"


@pytest.fixture
def nested_page(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> Page:
    """Open a log whose runs are two folders deep and have long names."""
    for rate in ("001", "01"):
        for part in ("train", "validation"):
            folder = logdir / "experiments" / SCHEDULE.format(rate=rate) / part
            append_records(folder, *loss_records("loss", range(3)))
    page = open_page(serve(logdir).address)
    expect(rows(page)).to_have_count(4)
    return page


def is_cut(found: Locator) -> bool:
    return found.evaluate("node => node.scrollWidth > node.clientWidth")


def test_long_names_are_readable_at_the_default_width(nested_page: Page) -> None:
    page = nested_page
    # The folder of all runs is shown once, other folders have a row of their own.
    expect(runs_panel(page).get_by_title("All runs are in experiments/")).to_be_visible()
    for rate in ("001", "01"):
        name = SCHEDULE.format(rate=rate)
        folder = group_row(page, f"experiments/{name}/")
        expect(folder).to_contain_text(name)
        expect(folder.locator(".count")).to_have_text("2")
        assert not is_cut(folder.locator(".label"))
        for part in ("train", "validation"):
            run = run_name(page, f"experiments/{name}/{part}")
            expect(run).to_have_text(part)
            assert not is_cut(run.locator("span").last)
    folder.get_by_role("button", name="Collapse").click()
    expect(rows(page)).to_have_count(2)
    folder.get_by_role("checkbox").click()
    expect(page).to_have_url(re.compile("selected="))
    folder.get_by_role("button", name="Expand").click()
    for part in ("train", "validation"):
        run = row(page, f"experiments/{name}/{part}")
        expect(run.get_by_role("checkbox")).not_to_be_checked()


def test_two_line_mode_gives_the_name_the_first_line(nested_page: Page) -> None:
    page = nested_page
    runs_panel(page).get_by_role("button", name="More run actions").click()
    page.get_by_role("menuitemcheckbox", name="Two lines per run").click()
    first = rows(page).first

    def is_name_in_first_line() -> bool:
        name = first.locator(".name").bounding_box()
        start = first.get_by_role("gridcell").nth(1).bounding_box()
        return start["y"] >= name["y"] + name["height"] and name["width"] > 200

    wait_for_condition(page, is_name_in_first_line)
    page.reload()
    expect(rows(page)).to_have_count(4)
    wait_for_value(page, lambda: rows(page).first.bounding_box()["height"], 46)


def test_column_without_values_takes_no_space(open_table: Callable[..., Page]) -> None:
    page = open_table("columns=note,hparam:lr")
    expect(column_header(page, "lr")).to_be_visible()
    expect(column_header(page, "Notes")).to_have_count(0)
    runs_panel(page).get_by_role("button", name="Columns").click()
    notes = page.get_by_role("dialog").get_by_role("option", name="Notes")
    expect(notes).to_contain_text("no values")
