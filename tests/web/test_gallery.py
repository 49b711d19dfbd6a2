"""Component gallery: charts, menus, tables and states in both themes.

The gallery is not part of the package. It is built here and served by a plain file server.
"""

from __future__ import annotations

import re
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value
from tools import build_web

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
BLUE = (0x5F, 0x8D, 0xD3)
COUNT_PIXELS = """(chart, [red, green, blue]) => {
  const canvas = chart.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    count += data[at + 3] > 128 && Math.abs(data[at] - red) + Math.abs(data[at + 1] - green)
      + Math.abs(data[at + 2] - blue) < 12;
  return count;
}"""


SCROLL_TOP = "document.querySelector('main').scrollTop"
WAIT_FOR_SCROLL = """wanted => new Promise(done => {
  const look = () =>
    document.querySelector('main').scrollTop === wanted ? done() : requestAnimationFrame(look);
  look();
})"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def gallery_url() -> Iterator[str]:
    if build_web.find_npm() is None:
        pytest.skip("building the gallery needs npm")
    handler = partial(QuietHandler, directory=str(build_web.build_gallery()))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/gallery.html"
        server.shutdown()


def gallery_fixture(query: str = "") -> Any:
    """Return a fixture that opens a part of the gallery; all of it takes a second to load."""

    @pytest.fixture
    def page(gallery_url: str, open_page: Callable[..., Page]) -> Page:
        return open_page(gallery_url + query)

    return page


gallery = gallery_fixture()
charts = gallery_fixture("?examples=charts&theme=light")
controls = gallery_fixture("?examples=controls&theme=light")
menus = gallery_fixture("?examples=menus&theme=light")
tables = gallery_fixture("?examples=tables&theme=light")


def drawn_gallery_chart(page: Page, name: str, theme: str = "light") -> Locator:
    """Return a chart that is drawn, scrolled into view."""
    group = page.get_by_role("group", name=theme, exact=True)
    chart = group.locator(f'[role=img][aria-label^="{name}:"][data-drawn]')
    chart.evaluate("chart => chart.scrollIntoView({ block: 'center' })")
    return chart


def read_values(page: Page) -> list[tuple[int, float]]:
    """Return step and value of each line under the cursor, from the light theme's table."""
    table = page.get_by_role("table", name="Values under the cursor").first
    cells = table.get_by_role("row").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.innerText))"
    )
    return [(int(step.replace(",", "")), float(value)) for _, step, value in cells]


def drag(page: Page, chart: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag between two points of a chart, given as fractions of its width and height."""
    box = get_stable_box(chart)
    page.mouse.move(*box.at(*start))
    page.mouse.down()
    page.mouse.move(*box.at(*end), steps=4)
    page.mouse.up()


def test_lines_are_drawn_in_their_colors(gallery_url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{gallery_url}?examples=charts")
    for theme in ("light", "dark"):
        expect_blue(drawn_gallery_chart(page, "restart", theme))
        assert drawn_gallery_chart(page, "nothing", theme).evaluate(COUNT_PIXELS, BLUE) == 0


def expect_blue(chart: Locator) -> None:
    wait_for_condition(chart.page, lambda: chart.evaluate(COUNT_PIXELS, BLUE) > 100)


def test_canvas_uses_device_pixel_ratio(gallery_url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{gallery_url}?examples=charts&theme=light", device_scale_factor=2)
    chart = drawn_gallery_chart(page, "restart")
    width = round(2 * get_stable_box(chart).width)
    canvas = chart.locator("canvas").first
    wait_for_value(page, lambda: canvas.evaluate("canvas => canvas.width"), width)


def test_drag_zooms_and_double_click_resets(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    initial = chart.get_attribute("aria-label")
    assert initial and "x axis 0 to 10,000" in initial
    drag(charts, chart, (0.4, 0.2), (0.7, 0.6))
    expect(chart).not_to_have_attribute("aria-label", re.compile("x axis 0 to 10,000"))
    expect(chart).to_have_attribute("aria-label", re.compile("x axis"))
    chart.dblclick()
    expect(chart).to_have_attribute("aria-label", initial)


def test_wheel_scrolls_and_ctrl_wheel_zooms(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    initial = chart.get_attribute("aria-label")
    assert initial
    chart.hover()
    before = charts.evaluate(SCROLL_TOP)
    charts.mouse.wheel(0, 60)
    charts.evaluate(WAIT_FOR_SCROLL, before + 60)
    expect(chart).to_have_attribute("aria-label", initial)
    charts.keyboard.down("Control")
    charts.mouse.wheel(0, -120)
    charts.keyboard.up("Control")
    expect(chart).not_to_have_attribute("aria-label", initial)
    assert charts.evaluate(SCROLL_TOP) == before + 60


def test_shift_drag_pans(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    charts.keyboard.down("Shift")
    drag(charts, chart, (0.3, 0.5), (0.8, 0.5))
    charts.keyboard.up("Shift")
    expect(chart).to_have_attribute("aria-label", re.compile("x axis \N{MINUS SIGN}"))


def test_new_points_keep_the_zoom(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "growing")
    initial = chart.get_attribute("aria-label")
    assert initial
    more = charts.get_by_role("button", name="More points").first
    more.click()
    expect(chart).not_to_have_attribute("aria-label", initial)
    grown = chart.get_attribute("aria-label")
    assert grown
    drag(charts, chart, (0.3, 0.3), (0.6, 0.7))
    expect(chart).not_to_have_attribute("aria-label", grown)
    zoomed = chart.get_attribute("aria-label")
    assert zoomed
    more.click()
    more.click()
    expect(chart).to_have_attribute("aria-label", zoomed)


def test_hover_shows_values_under_the_cursor(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    box = get_stable_box(chart)
    charts.mouse.move(*box.center)
    table = charts.get_by_role("table", name="Values under the cursor").first
    expect(table.get_by_role("row")).to_have_count(3)
    for run, (step, value) in enumerate(read_values(charts)):
        assert 4000 < step < 6000
        # The value that samples.ts computes for point number `at` of a run.
        at = round(step / 10_000 * 120)
        assert value == pytest.approx(10 ** (-2 - 0.25 * run - 1.6 * at / 121), rel=1e-3)


def test_arrow_keys_move_the_cursor(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    chart.focus()
    charts.keyboard.press("End")
    wait_for_value(charts, lambda: read_values(charts)[0][0], 10_000)
    charts.keyboard.press("ArrowLeft")
    wait_for_value(charts, lambda: read_values(charts)[0][0], 9_917)
    charts.keyboard.press("ArrowLeft")
    wait_for_value(charts, lambda: read_values(charts)[0][0], 9_833)
    charts.keyboard.press("Home")
    charts.keyboard.press("ArrowRight")
    first = (83, pytest.approx(10 ** (-2 - 1.6 / 121), rel=1e-3))
    wait_for_value(charts, lambda: read_values(charts)[0], first)


def test_keys_zoom_and_reset(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "growing")
    initial = chart.get_attribute("aria-label")
    assert initial and "x axis 0 to 10,000" in initial
    chart.focus()
    charts.keyboard.press("+")
    expect(chart).to_have_attribute("aria-label", re.compile("x axis 1,667 to 8,333"))
    charts.keyboard.press("-")
    charts.keyboard.press("-")
    charts.keyboard.press("0")
    expect(chart).to_have_attribute("aria-label", initial)


def test_drag_selects_a_range(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "range")
    range_text = charts.get_by_label("Range", exact=True).first
    expect(range_text).to_have_text("3000 to 6000")
    drag(charts, chart, (0.2, 0.5), (0.9, 0.6))

    def is_selected() -> bool:
        start, _, stop = range_text.inner_text().partition(" to ")
        return 0 < int(start) < 3000 and 8000 < int(stop) < 10_000

    wait_for_condition(charts, is_selected)


def test_escape_cancels_a_drag(charts: Page) -> None:
    chart = drawn_gallery_chart(charts, "learning rate")
    initial = chart.get_attribute("aria-label")
    assert initial
    box = get_stable_box(chart)
    charts.mouse.move(box.x + 100, box.y + 50)
    charts.mouse.down()
    charts.mouse.move(box.x + 200, box.y + 120, steps=3)
    charts.keyboard.press("Escape")
    charts.mouse.up()
    expect(chart).to_have_attribute("aria-label", initial)


def test_touch_tap_and_pinch(gallery_url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(gallery_url, width=390, has_touch=True)
    assert not overflows(page)
    chart = drawn_gallery_chart(page, "learning rate")
    initial = chart.get_attribute("aria-label")
    assert initial
    box = get_stable_box(chart)
    page.touchscreen.tap(box.x + box.width / 2, box.y + 80)
    table = page.get_by_role("table", name="Values under the cursor").first
    expect(table.get_by_role("row")).to_have_count(3)
    touch = page.context.new_cdp_session(page)

    def dispatch_touch(kind: str, *xs: float) -> None:
        points = [{"x": box.x + x, "y": box.y + 80, "id": at} for at, x in enumerate(xs)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    dispatch_touch("touchStart", 150)
    dispatch_touch("touchStart", 150, 200)
    dispatch_touch("touchMove", 120, 240)
    dispatch_touch("touchMove", 90, 280)
    dispatch_touch("touchEnd")
    expect(chart).not_to_have_attribute("aria-label", initial)


def test_bars_and_exports(charts: Page, tmp_path: Path) -> None:
    bars = charts.get_by_role("group", name="light").get_by_role("group", name="bars")
    expect(bars.get_by_role("listitem")).to_have_count(8)
    expect(bars.get_by_role("listitem").nth(5)).to_contain_text("NaN")
    expect(bars).to_contain_text("1 more")

    drawn_gallery_chart(charts, "validation/accuracy")
    with charts.expect_download() as download:
        charts.get_by_role("button", name="SVG").first.click()
    download.value.save_as(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "validation/accuracy <smoothed & raw>"
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"step", "accuracy", "2k", "0.80", "conv/bn-lr3e-3", "vit/tiny-lr1e-4"} <= set(texts)
    strokes = [path.get("stroke") for path in root.iter(f"{SVG}path")]
    # The smoothed line, the raw line and the legend.
    assert strokes.count("#5f8dd3") == 3

    drawn_gallery_chart(charts, "validation/accuracy")
    with charts.expect_download() as download:
        charts.get_by_role("button", name="PNG").first.click()
    download.value.save_as(tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") == 2 * 880
    assert len(content) > 20_000


def light(page: Page) -> Locator:
    return page.get_by_role("group", name="light", exact=True)


def test_menu_has_one_tab_stop_and_typeahead(menus: Page) -> None:
    button = light(menus).get_by_role("button", name="Menu", exact=True)
    button.press("Enter")
    menu = menus.get_by_role("menu", name="Card")
    expect(menu.get_by_role("menuitem", name="Reset zoom")).to_be_focused()
    expect(menu.locator("button[tabindex='0']")).to_have_count(1)
    menus.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitemcheckbox", name="Log scale")).to_be_focused()
    menus.keyboard.type("loc")
    expect(menu.get_by_role("menuitemcheckbox", name="Lock range")).to_be_focused()
    menus.keyboard.press("ArrowDown")  # The last item is disabled.
    expect(menu.get_by_role("menuitem", name="Reset zoom")).to_be_focused()
    menus.keyboard.press("Escape")
    expect(menu).to_have_count(0)
    expect(button).to_be_focused()


def test_menu_closes_when_the_focus_leaves_it(menus: Page) -> None:
    light(menus).get_by_role("button", name="Menu", exact=True).press("Enter")
    menu = menus.get_by_role("menu", name="Card")
    expect(menu.get_by_role("menuitem", name="Reset zoom")).to_be_focused()
    menus.keyboard.press("Tab")
    expect(menu).to_have_count(0)


def test_menu_follows_its_button_when_the_page_scrolls(gallery: Page) -> None:
    button = light(gallery).get_by_role("button", name="Menu", exact=True)
    button.evaluate("button => button.scrollIntoView({ block: 'center' })")
    button.click()
    menu = gallery.get_by_role("menu", name="Card")
    offset = get_stable_box(menu).y - get_stable_box(button).y
    gallery.evaluate("document.querySelector('main').scrollTop += 60")
    wait_for_condition(
        gallery,
        lambda: abs(get_stable_box(menu).y - get_stable_box(button).y - offset) < 2,
    )


def test_combobox_keeps_the_focus_and_names_the_active_option(menus: Page) -> None:
    button = light(menus).get_by_role("button", name="Color: by lr")
    button.click()
    dialog = menus.get_by_role("dialog", name="Color")
    box = dialog.get_by_role("combobox", name="Search columns")
    expect(box).to_be_focused()
    box.fill("acc")
    expect(dialog.get_by_role("option")).to_have_count(1)

    def read_active() -> list[str]:
        active = box.get_attribute("aria-activedescendant")
        return menus.locator(f'[id="{active}"]').all_inner_texts()

    wait_for_value(menus, read_active, ["validation/accuracy"])
    box.press("Enter")
    expect(dialog).to_have_count(0)
    expect(light(menus).get_by_role("button", name="Color: by acc")).to_be_focused()


def test_combobox_reports_no_matches(menus: Page) -> None:
    light(menus).get_by_role("button", name="Column", exact=True).click()
    menus.get_by_role("combobox", name="Search columns").fill("nowhere")
    expect(menus.get_by_text("No matches for “nowhere”")).to_be_visible()


def test_icon_button_has_a_tooltip_for_pointer_and_keyboard(controls: Page) -> None:
    button = light(controls).get_by_role("button", name="download", exact=True)
    tooltip = controls.locator(".element-tooltip")
    button.hover()
    expect(tooltip).to_have_text("download")
    controls.mouse.move(0, 0)
    expect(tooltip).to_have_count(0)
    light(controls).get_by_role("button", name="contrast", exact=True).focus()
    controls.keyboard.press("Tab")
    expect(tooltip).to_have_text("copy")
    controls.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)


def test_data_table_sorts_and_renders_only_visible_rows(tables: Page) -> None:
    table = light(tables).get_by_role("table", name="Ops", exact=True)
    table.scroll_into_view_if_needed()
    header = table.get_by_role("columnheader", name="Calls")
    expect(header).to_have_attribute("aria-sort", "none")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(table.get_by_role("row").nth(1)).to_contain_text("96")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    assert table.get_by_role("row").count() < 40


def test_dialog_returns_the_focus(menus: Page) -> None:
    button = light(menus).get_by_role("button", name="Dialog…")
    button.press("Enter")
    dialog = menus.get_by_role("dialog", name="Save layout")
    expect(dialog.get_by_role("button", name="Save")).to_be_visible()
    menus.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


@pytest.mark.parametrize("name", ["Menu", "Column", "Dialog…"])
def test_open_layer_has_no_accessibility_violations(
    gallery_url: str, open_page: Callable[..., Page], name: str
) -> None:
    page = open_page(f"{gallery_url}?examples=menus")
    for theme in ("light", "dark"):
        group = page.get_by_role("group", name=theme, exact=True)
        group.get_by_role("button", name=name, exact=True).click()
        assert list_component_violations(page) == []
        page.keyboard.press("Escape")


def list_component_violations(page: Page) -> list[str]:
    # Each component appears once per theme, so region names are not unique.
    return [
        violation
        for violation in list_violations(page)
        if not violation.startswith("landmark-unique")
    ]


def test_no_accessibility_violations(gallery: Page) -> None:
    drawn_gallery_chart(gallery, "nothing")
    assert list_component_violations(gallery) == []


def test_list_of_measured_rows_reaches_every_row(tables: Page) -> None:
    group = tables.get_by_role("group", name="light", exact=True)
    rows = group.get_by_role("list", name="Texts")
    rows.scroll_into_view_if_needed()
    expect(rows.get_by_text("Text 0:", exact=True)).to_be_visible()
    assert rows.get_by_role("listitem").count() < 100
    # The height of the list changes while rows are measured.
    last = rows.get_by_text(re.compile(r"^Text 499:"))
    scroll_down = "list => { list.scrollTop = list.scrollHeight; return true; }"
    wait_for_condition(
        tables, lambda: rows.evaluate(scroll_down) and last.count() == 1 and last.is_visible()
    )

    def has_no_gaps() -> bool:
        tops = rows.get_by_role("listitem").evaluate_all(
            "rows => rows.map(row => [row.getBoundingClientRect().top,"
            " row.getBoundingClientRect().bottom])"
        )
        return all(abs(top - bottom) < 1 for (_, bottom), (top, _) in pairwise(tops))

    wait_for_condition(tables, has_no_gaps)
