"""HParams: the filtered trials as a table and as plots."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import board_fixture
from tests.web.hparams_log import BEST, GRID, Session, write_grid
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_condition
from tracklight.formats.hparams import Status

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
TAB = "?tab=hparams"
FIRST_VIEWS = ("Table", "Parallel coordinates", "Scatter matrix", "Importance")
#: Space above and below the axes of the parallel coordinates plot, in pixels.
TOP_PX, BOTTOM_PX = 48, 26

SVG = "{http://www.w3.org/2000/svg}"

board = board_fixture(write_grid, "module", TAB)


def trial_rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Trials").locator("[data-trial]")


def trial_names(page: Page) -> list[str]:
    """Return the names of the rendered table rows from top to bottom."""
    return trial_rows(page).evaluate_all("rows => rows.map(row => row.dataset.trial)")


def expect_trials(page: Page, sessions: list[Session]) -> None:
    """Expect the status and the table to show exactly these trials."""
    count, total = len(sessions), len(GRID)
    status = f"{total} trials" if count == total else f"{count} of {total} trials"
    expect(page.get_by_role("toolbar", name="HParams").get_by_role("status")).to_have_text(status)
    best = sorted(sessions, key=lambda session: -session.accuracy)
    shown = [session.name for session in best]
    for position, name in enumerate(shown[:6]):
        expect(trial_rows(page).nth(position)).to_have_attribute("data-trial", name)
    wait_for_condition(page, lambda: set(trial_names(page)) <= set(shown))


def drawn_parallel_plot(page: Page) -> Locator:
    plot = page.get_by_role(
        "img", name=re.compile(r"^Parallel coordinates of \d+ trials?: dropout")
    )
    expect(plot).to_have_attribute("data-drawn", re.compile(r"\d"))
    return plot


def brush_axis(page: Page, title: str, start: float, stop: float) -> None:
    """Drag along an axis between two fractions of its length, measured from the bottom."""
    box = get_stable_box(drawn_parallel_plot(page))
    name = get_stable_box(page.get_by_role("group", name=f"Axis: {title}", exact=True))
    x_position = name.center[0]
    length = box.height - TOP_PX - BOTTOM_PX
    position = [box.y + TOP_PX + (1 - part) * length for part in (start, stop)]
    page.mouse.move(x_position, position[0])
    page.mouse.down()
    page.mouse.move(x_position, sum(position) / 2)
    page.mouse.move(x_position, position[1])
    page.mouse.up()


def read_filters(page: Page, name: str) -> dict[str, dict[str, list[float]]]:
    """Return the filters in the URL once there is one for this column."""
    expect(page).to_have_url(re.compile(f"hp-filter=[^&]*{name}"))
    return dict(json.loads(parse_qs(urlsplit(get_stable_url(page)).query)["hp-filter"][0]))


def open_hparams(board: str, open_page: OpenPage, query: str = "") -> Page:
    page = open_page(board + query)
    expect(trial_rows(page).first).to_be_visible()
    return page


def test_best_trial_and_insights_are_shown_first(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    insights = page.get_by_role("region", name="Insights")
    expect(insights).to_contain_text(f"Best accuracy: {BEST.accuracy:.4g} {BEST.name}")
    for label in ("high learning_rate 0.01", "many units 256"):
        expect(insights.get_by_role("button", name=re.compile(label))).to_be_visible()
    expect_trials(page, GRID)
    insights.get_by_role("button", name="high learning_rate").click()
    [range_of] = [rule["range"] for rule in read_filters(page, "learning_rate").values()]
    expect_trials(
        page, [session for session in GRID if range_of[0] <= session.learning_rate <= range_of[1]]
    )


def test_axis_brushes_filter_trials(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    expect(drawn_parallel_plot(page)).to_have_attribute("data-drawn", "36")
    brush_axis(page, "accuracy", 0.55, 0.9)
    low, high = read_filters(page, "accuracy")["metric:|accuracy"]["range"]
    found = [session for session in GRID if low <= session.accuracy <= high]
    assert 5 < len(found) < 30
    expect_trials(page, found)
    expect(drawn_parallel_plot(page)).to_have_attribute("data-drawn", str(len(found)))
    # A second axis narrows the selection, a URL restores it, a click on an axis clears its filter.
    brush_axis(page, "dropout", 0, 0.5)
    low, high = read_filters(page, "dropout")["hparam:dropout"]["range"]
    both = [session for session in found if low <= session.dropout <= high]
    assert 0 < len(both) < len(found)
    expect_trials(page, both)
    expect_trials(open_hparams(get_stable_url(page), open_page), both)
    brush_axis(page, "accuracy", 0.2, 0.2)
    expect_trials(page, [session for session in GRID if low <= session.dropout <= high])
    page.keyboard.press("z")
    expect_trials(page, GRID)


def test_box_selection_filters_all_views(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page, "&hp=scatter")
    cell = page.get_by_role("img", name="accuracy vs. learning_rate")
    box = get_stable_box(cell)
    page.mouse.move(*box.at(0.3, 0.6))
    page.mouse.down()
    page.mouse.move(*box.at(0.98, 0.05), steps=3)
    page.mouse.up()
    filters = read_filters(page, "accuracy")
    found = [
        session
        for session in GRID
        if filters["hparam:learning_rate"]["range"][0] <= session.learning_rate
        and filters["metric:|accuracy"]["range"][0] <= session.accuracy
        and session.accuracy <= filters["metric:|accuracy"]["range"][1]
    ]
    assert 3 < len(found) < 30
    expect_trials(page, found)
    page.get_by_role("button", name="Parallel coordinates").click()
    expect(drawn_parallel_plot(page)).to_have_attribute("data-drawn", str(len(found)))


def test_filter_panel(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    panel = page.get_by_role("complementary", name="Filters")
    panel.get_by_role("checkbox", name="Failed").uncheck()
    succeeded = [session for session in GRID if session.status.name == "SUCCESS"]
    expect_trials(page, succeeded)
    panel.get_by_role("checkbox", name="adam").uncheck()
    expect_trials(page, [session for session in succeeded if session.optimizer == "sgd"])
    panel.get_by_role("button", name="Clear", exact=True).click()
    least = panel.get_by_role("textbox", name="Minimum units")
    least.fill("200")
    least.press("Enter")
    expect_trials(page, [session for session in GRID if session.units >= 200])
    search = panel.get_by_role("searchbox", name=re.compile("Filter trials"))
    search.fill("[02]$")
    expect_trials(
        page, [session for session in GRID if session.units >= 200 and session.name[-1] in "02"]
    )
    search.fill("[")
    expect(panel.get_by_text("Unterminated")).to_be_visible()
    search.fill("")
    # The filter can be applied to the runs of all dashboards, which also filters sessions.
    panel.get_by_role("button", name="Apply to run filter").click()
    expect(page).to_have_url(re.compile(r"runs-query=units"))
    expect(page.get_by_role("complementary", name="Runs")).to_contain_text("18 of 36 runs")
    panel.get_by_role("button", name="Clear", exact=True).click()
    expect_trials(page, [session for session in GRID if session.units >= 200])


def column_headers(page: Page) -> Locator:
    return page.get_by_role("table", name="Trials").get_by_role("columnheader")


def column_header(page: Page, title: str) -> Locator:
    return column_headers(page).filter(has_text=re.compile(rf"^\W*{title}"))


def choose_column_action(page: Page, title: str, item: str) -> None:
    column_header(page, title).hover()
    page.get_by_role("button", name=f"Options for {title}", exact=True).click()
    page.get_by_role("menu").get_by_text(item, exact=True).click()


def test_sort_by_several_columns_and_arrange_columns(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page, "&hp=table")
    column_header(page, "dropout").get_by_role("button", name=re.compile("^dropout")).click()
    column_header(page, "units").get_by_role("button", name=re.compile("^units")).click(
        modifiers=["Shift"]
    )
    expect(column_header(page, "units")).to_contain_text("2")
    column_header(page, "units").get_by_role("button", name=re.compile("^units")).click(
        modifiers=["Shift"]
    )
    expect(column_header(page, "units")).to_have_attribute("aria-sort", "descending")
    expected = [
        session.name
        for session in sorted(GRID, key=lambda session: (session.dropout, -session.units))
    ]
    wait_for_condition(page, lambda: (names := trial_names(page)) == expected[: len(names)])
    choose_column_action(page, "dropout", "Hide column")
    expect(column_header(page, "dropout")).to_have_count(0)
    choose_column_action(page, "loss", "Pin column")
    column_header(page, "optimizer").drag_to(column_header(page, "learning_rate"))
    titles = ["Trial", "accuracy", "loss", "optimizer", "learning_rate", "units"]
    for position, title in enumerate(titles):
        expect(column_headers(page).nth(position)).to_contain_text(title)
    grip = page.get_by_role("separator", name="Width of units")
    before = int(str(grip.get_attribute("aria-valuenow")))
    grip.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", str(before + 16))
    expect(page).to_have_url(re.compile("hp-hidden=.*hp-pinned=|hp-pinned=.*hp-hidden="))
    other = open_hparams(get_stable_url(page), open_page)
    for position, title in enumerate(titles):
        expect(column_headers(other).nth(position)).to_contain_text(title)


def download_text(page: Page, name: str) -> str:
    page.get_by_role("button", name="Export trials").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=name).click()
    return download.value.path().read_text()


def test_export_visible_trials(board: str, open_page: OpenPage) -> None:
    query = '&hp-filter=[["hparam:units",{"range":[200,600]}]]&hp-hidden=hparam:optimizer'
    page = open_hparams(board, open_page, query)
    found = sorted(
        (session for session in GRID if session.units >= 200),
        key=lambda session: (session.status is Status.SUCCESS, session.accuracy),
        reverse=True,
    )
    table = list(csv.reader(io.StringIO(download_text(page, "CSV"))))
    assert [line[0] for line in table[1:]] == [session.name for session in found]
    assert "optimizer" not in table[0]
    assert len(json.loads(download_text(page, "JSON"))) > 0
    assert found[0].name in download_text(page, "LaTeX")
    assert download_text(page, "Markdown").count("\n") >= len(found)


def download_plot(page: Page, kind: str) -> bytes:
    page.get_by_role("button", name="Export trials").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=f"Plot as {kind}").click()
    return download.value.path().read_bytes()


def select_view(page: Page, title: str) -> None:
    """Select a view; those after the first four are in a menu at this width."""
    views = page.get_by_role("group", name="View")
    if title not in FIRST_VIEWS:
        views.get_by_role("button", name=re.compile("^(More views|View: .*)$")).click()
        page.get_by_role("menuitemcheckbox", name=title).click()
    else:
        views.get_by_role("button", name=title, exact=True).click()


#: The views with a plot, and texts in its image.
TEXTS_BY_VIEW = {
    "Parallel coordinates": {"dropout", "units", "0.01", "log", "accuracy"},
    "Scatter matrix": {"dropout", "loss", "accuracy"},
    "Slice": {"dropout", "units", "accuracy"},
    "Contour": {"dropout", "accuracy"},
    "History": {"accuracy", "Start time"},
    "Importance": {"dropout", "learning_rate", "units", "optimizer"},
    "Timeline": {"Time since the first start"},
}


@pytest.mark.parametrize("part", range(2))
def test_export_every_plot_as_image(board: str, open_page: OpenPage, part: int) -> None:
    page = open_hparams(board, open_page, '&hp-filter=[["hparam:units",{"range":[200,600]}]]')
    count = sum(session.units >= 200 for session in GRID)
    for title, expected in [*TEXTS_BY_VIEW.items()][part::2]:
        select_view(page, title)
        if title == "Importance":
            expect(page.get_by_role("list", name="Importance for accuracy")).to_be_visible()
        else:
            plot_name = re.compile(" vs. |^Parallel coordinates|^Timeline")
            expect(page.get_by_role("img", name=plot_name).first).to_be_visible()
        plot = ElementTree.fromstring(download_plot(page, "SVG"))
        texts = {str(text.text) for text in plot.iter(f"{SVG}text")}
        assert {f"{title} · accuracy · {count} trials"} | expected <= texts, title
        assert plot.find(f".//{SVG}path") is not None
        assert download_plot(page, "PNG")[:8] == b"\x89PNG\r\n\x1a\n"
        # All points are drawn, including those that the filter excludes.
        if title == "History":
            assert len(list(plot.iter(f"{SVG}circle"))) == len(GRID)


def test_hovered_trial_is_highlighted_and_links_to_scalars(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    box = get_stable_box(drawn_parallel_plot(page))
    axis = get_stable_box(page.get_by_role("group", name="Axis: accuracy", exact=True))
    # The line of the best session is at the top of the axis.
    page.mouse.move(axis.center[0] - 30, box.y + TOP_PX + 1)
    page.mouse.move(axis.center[0], box.y + TOP_PX + 1)
    expect(page.get_by_role("status", name="Trial")).to_contain_text(BEST.name)
    expect(trial_rows(page).first).to_have_class(re.compile("hovered"))
    expect(trial_rows(page).first.get_by_role("img")).to_be_visible()
    trial_rows(page).first.get_by_role("button", name=BEST.name).click()
    expect(page).to_have_url(re.compile("tab=scalars"))
    expect(page.get_by_role("article", name="accuracy").get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("1 line,")
    )


def test_importance_slice_contour_and_history(board: str, open_page: OpenPage) -> None:
    page = open_hparams(board, open_page)
    select_view(page, "Importance")
    bars = page.get_by_role("list", name="Importance for accuracy").get_by_role("listitem")
    expect(bars).to_have_count(4)
    expect(bars.first).to_contain_text("%")
    bars.filter(has_text="units").get_by_role("button").click()
    expect(page.get_by_role("img", name="accuracy vs. units")).to_be_visible()
    select_view(page, "Contour")
    page.get_by_role("combobox", name="X axis").select_option("dropout")
    expect(page.get_by_role("img", name="vs. dropout")).to_be_visible()
    expect(page).to_have_url(re.compile("hp-contour-x=hparam"))
    select_view(page, "History")
    improvements = 0
    best = float("-inf")
    completed = [session for session in GRID if session.status is Status.SUCCESS]
    for session in completed:
        improvements += session.accuracy > best
        best = max(best, session.accuracy)
    expect(
        page.get_by_text(f"{improvements} improvements in {len(completed)} trials")
    ).to_be_visible()
    # Choose another metric, and the opposite direction.
    page.get_by_role("button", name="Objective: accuracy").click()
    objective = page.get_by_role("group", name="Objective")
    objective.get_by_role("option", name="loss", exact=True).click()
    expect(page.get_by_role("region", name="Insights")).to_contain_text(f"Best loss: {BEST.loss}")
    objective.get_by_role("button", name="Minimize").click()
    worst = max(GRID, key=lambda session: session.loss)
    expect(trial_rows(page).first).to_have_attribute("data-trial", worst.name)
