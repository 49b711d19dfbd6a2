"""HParams: one filtered set of sessions, seen as a table and as pictures."""

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

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

OpenPage = Callable[..., Page]
TAB = "?tab=hparams"
#: Room above and below the axes of parallel coordinates, in pixels.
HEAD, FOOT = 48, 26

SVG = "{http://www.w3.org/2000/svg}"

board = board_fixture(write_grid, "module", TAB)


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Sessions").locator("[data-session]")


def names(page: Page) -> list[str]:
    """The sessions of the table from top to bottom, as far as they are on the screen."""
    return rows(page).evaluate_all("rows => rows.map(row => row.dataset.session)")


def expect_sessions(page: Page, sessions: list[Session]) -> None:
    """The page shows these and no others, in all places that say so."""
    count, total = len(sessions), len(GRID)
    said = f"{total} sessions" if count == total else f"{count} of {total} sessions"
    expect(page.get_by_role("toolbar", name="HParams").get_by_role("status")).to_have_text(said)
    best = sorted(sessions, key=lambda session: -session.accuracy)
    shown = [session.name for session in best]
    for place, name in enumerate(shown[:6]):
        expect(rows(page).nth(place)).to_have_attribute("data-session", name)
    wait_for_condition(page, lambda: set(names(page)) <= set(shown))


def surface(page: Page) -> Locator:
    picture = page.get_by_role("img", name=re.compile(r"sessions? over dropout"))
    expect(picture).to_have_attribute("data-drawn", re.compile(r"\d"))
    return picture


def brush(page: Page, title: str, start: float, stop: float) -> None:
    """Drags along an axis, between parts of its length counted from below."""
    box = get_stable_box(surface(page))
    name = get_stable_box(page.get_by_role("group", name=f"Axis {title}", exact=True))
    across = name.center[0]
    length = box.height - HEAD - FOOT
    place = [box.y + HEAD + (1 - part) * length for part in (start, stop)]
    page.mouse.move(across, place[0])
    page.mouse.down()
    page.mouse.move(across, sum(place) / 2)
    page.mouse.move(across, place[1])
    page.mouse.up()


def rules(page: Page, name: str) -> dict[str, dict[str, list[float]]]:
    """The filters as the address has them, once there is one of that name."""
    expect(page).to_have_url(re.compile(f"hp-if=[^&]*{name}"))
    return dict(json.loads(parse_qs(urlsplit(get_stable_url(page)).query)["hp-if"][0]))


def open_page_of(board: str, open_page: OpenPage, query: str = "") -> Page:
    page = open_page(board + query)
    expect(rows(page).first).to_be_visible()
    return page


def test_the_best_session_and_what_the_best_have_in_common_are_said_first(
    board: str, open_page: OpenPage
) -> None:
    page = open_page_of(board, open_page)
    won = page.get_by_role("region", name="What won")
    expect(won).to_contain_text(f"Best accuracy {BEST.accuracy:.4g} {BEST.name}")
    for words in ("low dropout 0.1", "high learning_rate 0.01", "many units 256"):
        expect(won.get_by_role("button", name=re.compile(words))).to_be_visible()
    expect_sessions(page, GRID)
    won.get_by_role("button", name="low dropout").click()
    [range_of] = [rule["range"] for rule in rules(page, "dropout").values()]
    expect_sessions(page, [one for one in GRID if range_of[0] <= one.dropout <= range_of[1]])


def test_a_brush_on_accuracy_leaves_the_sessions_that_are_under_it(
    board: str, open_page: OpenPage
) -> None:
    page = open_page_of(board, open_page)
    expect(surface(page)).to_have_attribute("data-drawn", "36")
    brush(page, "accuracy", 0.55, 0.9)
    low, high = rules(page, "accuracy")["metric:|accuracy"]["range"]
    found = [one for one in GRID if low <= one.accuracy <= high]
    assert 5 < len(found) < 30
    expect_sessions(page, found)
    expect(surface(page)).to_have_attribute("data-drawn", str(len(found)))
    # A second axis leaves fewer, a link the same, and a click on the axis gives the first up.
    brush(page, "dropout", 0, 0.5)
    low, high = rules(page, "dropout")["hparam:dropout"]["range"]
    both = [one for one in found if low <= one.dropout <= high]
    assert 0 < len(both) < len(found)
    expect_sessions(page, both)
    expect_sessions(open_page_of(get_stable_url(page), open_page), both)
    brush(page, "accuracy", 0.2, 0.2)
    expect_sessions(page, [one for one in GRID if low <= one.dropout <= high])
    page.keyboard.press("z")
    expect_sessions(page, GRID)


def test_a_box_in_one_plot_filters_all_views(board: str, open_page: OpenPage) -> None:
    page = open_page_of(board, open_page, "&hp=scatter")
    cell = page.get_by_role("img", name="accuracy over learning_rate")
    box = get_stable_box(cell)
    page.mouse.move(*box.at(0.3, 0.6))
    page.mouse.down()
    page.mouse.move(*box.at(0.98, 0.05), steps=3)
    page.mouse.up()
    said = rules(page, "accuracy")
    found = [
        one
        for one in GRID
        if said["hparam:learning_rate"]["range"][0] <= one.learning_rate
        and said["metric:|accuracy"]["range"][0] <= one.accuracy
        and one.accuracy <= said["metric:|accuracy"]["range"][1]
    ]
    assert 3 < len(found) < 30
    expect_sessions(page, found)
    page.get_by_role("button", name="Parallel").click()
    expect(surface(page)).to_have_attribute("data-drawn", str(len(found)))


def test_filters_of_the_panel(board: str, open_page: OpenPage) -> None:
    page = open_page_of(board, open_page)
    panel = page.get_by_role("complementary", name="Filters")
    panel.get_by_role("checkbox", name="failure").uncheck()
    succeeded = [one for one in GRID if one.status.name == "SUCCESS"]
    expect_sessions(page, succeeded)
    panel.get_by_role("checkbox", name="adam").uncheck()
    expect_sessions(page, [one for one in succeeded if one.optimizer == "sgd"])
    panel.get_by_role("button", name="Clear", exact=True).click()
    least = panel.get_by_role("textbox", name="At least, units")
    least.fill("200")
    least.press("Enter")
    expect_sessions(page, [one for one in GRID if one.units >= 200])
    search = panel.get_by_role("searchbox", name=re.compile("Filter sessions"))
    search.fill("[02]$")
    expect_sessions(page, [one for one in GRID if one.units >= 200 and one.name[-1] in "02"])
    search.fill("[")
    expect(panel.get_by_text("Unterminated")).to_be_visible()
    search.fill("")
    # The runs of every dashboard may be filtered alike, and what filters them filters sessions.
    panel.get_by_role("button", name="Filter them like this").click()
    expect(page).to_have_url(re.compile(r"runs-expr=units"))
    expect(page.get_by_role("complementary", name="Runs")).to_contain_text("18 of 36 runs")
    panel.get_by_role("button", name="Clear", exact=True).click()
    expect_sessions(page, [one for one in GRID if one.units >= 200])


def headings(page: Page) -> Locator:
    return page.get_by_role("table", name="Sessions").get_by_role("columnheader")


def heading(page: Page, title: str) -> Locator:
    return headings(page).filter(has_text=re.compile(rf"^\W*{title}"))


def choose(page: Page, title: str, item: str) -> None:
    heading(page, title).hover()
    page.get_by_role("button", name=f"More for {title}", exact=True).click()
    page.get_by_role("menu").get_by_text(item, exact=True).click()


def test_the_table_is_sorted_by_several_columns_and_arranged(
    board: str, open_page: OpenPage
) -> None:
    page = open_page_of(board, open_page, "&hp=table")
    heading(page, "dropout").get_by_role("button", name=re.compile("^dropout")).click()
    heading(page, "units").get_by_role("button", name=re.compile("^units")).click(
        modifiers=["Shift"]
    )
    expect(heading(page, "units")).to_contain_text("↑2")
    heading(page, "units").get_by_role("button", name=re.compile("^units")).click(
        modifiers=["Shift"]
    )
    expect(heading(page, "units")).to_have_attribute("aria-sort", "descending")
    wanted = [one.name for one in sorted(GRID, key=lambda one: (one.dropout, -one.units))]
    wait_for_condition(page, lambda: (seen := names(page)) == wanted[: len(seen)])
    choose(page, "dropout", "Hide")
    expect(heading(page, "dropout")).to_have_count(0)
    choose(page, "loss", "Pin to the left")
    heading(page, "optimizer").drag_to(heading(page, "learning_rate"))
    titles = ["Session", "accuracy", "loss", "optimizer", "learning_rate", "units"]
    for place, title in enumerate(titles):
        expect(headings(page).nth(place)).to_contain_text(title)
    grip = page.get_by_role("separator", name="Width of units")
    before = int(str(grip.get_attribute("aria-valuenow")))
    grip.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", str(before + 16))
    expect(page).to_have_url(re.compile("hp-hide=.*hp-pin=|hp-pin=.*hp-hide="))
    other = open_page_of(get_stable_url(page), open_page)
    for place, title in enumerate(titles):
        expect(headings(other).nth(place)).to_contain_text(title)


def taken(page: Page, name: str) -> str:
    page.get_by_role("button", name="Download all that is shown").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=name).click()
    return download.value.path().read_text()


def test_all_that_is_shown_can_be_taken_away(board: str, open_page: OpenPage) -> None:
    query = '&hp-if=[["hparam:units",{"range":[200,600]}]]&hp-hide=hparam:optimizer'
    page = open_page_of(board, open_page, query)
    found = sorted(
        (one for one in GRID if one.units >= 200), key=lambda one: one.accuracy, reverse=True
    )
    table = list(csv.reader(io.StringIO(taken(page, "CSV"))))
    assert [line[0] for line in table[1:]] == [one.name for one in found]
    assert "optimizer" not in table[0]
    assert len(json.loads(taken(page, "JSON"))) > 0
    assert found[0].name in taken(page, "LaTeX")
    assert taken(page, "Markdown").count("\n") >= len(found)


def taken_picture(page: Page, kind: str) -> bytes:
    page.get_by_role("button", name="Download all that is shown").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=f"Plot as {kind}").click()
    return download.value.path().read_bytes()


def test_every_plot_can_be_taken_away_as_a_picture(board: str, open_page: OpenPage) -> None:
    page = open_page_of(board, open_page, '&hp-if=[["hparam:units",{"range":[200,600]}]]')
    views = page.get_by_role("group", name="View")
    count = sum(one.units >= 200 for one in GRID)
    words = {
        "Parallel": {"dropout", "units", "0.01", "log", "accuracy"},
        "Scatter": {"dropout", "loss", "accuracy"},
        "Slices": {"dropout", "units", "accuracy"},
        "Contour": {"dropout", "accuracy"},
        "Best so far": {"accuracy", "Start"},
        "Importance": {"dropout", "learning_rate", "units", "optimizer"},
    }
    for title, wanted in words.items():
        views.get_by_role("button", name=title).click()
        if title == "Importance":
            expect(page.get_by_role("list", name="Importance for accuracy")).to_be_visible()
        else:
            expect(page.get_by_role("img", name=" over ").first).to_be_visible()
        picture = ElementTree.fromstring(taken_picture(page, "SVG"))
        said = {str(text.text) for text in picture.iter(f"{SVG}text")}
        assert {f"{title} · accuracy · {count} sessions"} | wanted <= said, title
        assert picture.find(f".//{SVG}path") is not None
        assert taken_picture(page, "PNG")[:8] == b"\x89PNG\r\n\x1a\n"
        # Every dot of a plane, those that the filter leaves out as well.
        if title == "Best so far":
            assert len(list(picture.iter(f"{SVG}circle"))) == len(GRID)


def test_a_session_under_the_pointer_is_lit_everywhere_and_leads_to_its_curves(
    board: str, open_page: OpenPage
) -> None:
    page = open_page_of(board, open_page)
    box = get_stable_box(surface(page))
    axis = get_stable_box(page.get_by_role("group", name="Axis accuracy", exact=True))
    # The best line is at the upper end of the axis.
    page.mouse.move(axis.center[0] - 30, box.y + HEAD + 1)
    page.mouse.move(axis.center[0], box.y + HEAD + 1)
    expect(page.get_by_role("status", name="Session")).to_contain_text(BEST.name)
    expect(rows(page).first).to_have_class(re.compile("hovered"))
    expect(rows(page).first.get_by_role("img")).to_be_visible()
    rows(page).first.get_by_role("button", name=BEST.name).click()
    expect(page).to_have_url(re.compile("tab=scalars"))
    expect(page.get_by_role("article", name="accuracy").get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("1 line,")
    )


def test_importance_slices_contour_and_the_best_so_far(board: str, open_page: OpenPage) -> None:
    page = open_page_of(board, open_page)
    views = page.get_by_role("group", name="View")
    views.get_by_role("button", name="Importance").click()
    bars = page.get_by_role("list", name="Importance for accuracy").get_by_role("listitem")
    expect(bars).to_have_count(4)
    expect(bars.first).to_contain_text("%")
    bars.filter(has_text="units").get_by_role("button").click()
    expect(page.get_by_role("img", name="accuracy over units")).to_be_visible()
    views.get_by_role("button", name="Contour").click()
    page.get_by_role("combobox", name="Across").select_option("dropout")
    expect(page.get_by_role("img", name="over dropout")).to_be_visible()
    expect(page).to_have_url(re.compile("hp-x=hparam"))
    views.get_by_role("button", name="Best so far").click()
    records = 0
    best = float("-inf")
    for one in GRID:
        records += one.accuracy > best
        best = max(best, one.accuracy)
    expect(page.get_by_text(f"{records} records in 36 sessions")).to_be_visible()
    # What is best may be another metric, and the other end of it.
    page.get_by_role("button", name="Best by accuracy").click()
    best_by = page.get_by_role("group", name="What is best")
    best_by.get_by_role("button", name="loss", exact=True).click()
    expect(page.get_by_role("region", name="What won")).to_contain_text(f"Best loss {BEST.loss}")
    best_by.get_by_role("button", name="lowest").click()
    worst = max(GRID, key=lambda one: one.loss)
    expect(rows(page).first).to_have_attribute("data-session", worst.name)
