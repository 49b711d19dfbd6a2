"""Charts in the gallery of parts: what they draw, and what a hand and a keyboard do to them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.test_looks import find_violations, overflows
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

SVG = "{http://www.w3.org/2000/svg}"
BLUE = (0x42, 0x69, 0xD0)
COUNT_PIXELS = """(chart, [red, green, blue]) => {
  const canvas = chart.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    count += data[at + 3] > 128 && Math.abs(data[at] - red) + Math.abs(data[at + 1] - green)
      + Math.abs(data[at + 2] - blue) < 12;
  return count;
}"""


SCROLLED = "document.querySelector('main').scrollTop"
WAIT_SCROLLED = """wanted => new Promise(done => {
  const look = () =>
    document.querySelector('main').scrollTop === wanted ? done() : requestAnimationFrame(look);
  look();
})"""


@pytest.fixture
def gallery(sweep: str, open_page: Callable[..., Page]) -> Page:
    return open_page(f"{sweep}gallery.html")


def find_chart(page: Page, name: str, theme: str = "light") -> Locator:
    """A chart that has been drawn and is on the screen."""
    group = page.get_by_role("group", name=theme, exact=True)
    chart = group.locator(f'[role=img][aria-label^="{name}:"][data-drawn]')
    chart.evaluate("chart => chart.scrollIntoView({ block: 'center' })")
    return chart


def find_values(page: Page) -> list[tuple[int, float]]:
    """Step and value of each line under the cursor, as the light half of the gallery says."""
    table = page.get_by_role("table", name="Values under the cursor").first
    cells = table.get_by_role("row").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.innerText))"
    )
    return [(int(step.replace(",", "")), float(value)) for _, step, value in cells]


def drag(page: Page, chart: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """From one place of a chart to another, in parts of its width and height."""
    box = get_stable_box(chart)
    page.mouse.move(*box.at(*start))
    page.mouse.down()
    page.mouse.move(*box.at(*end), steps=4)
    page.mouse.up()


def test_lines_are_drawn_in_their_colours(gallery: Page) -> None:
    for theme in ("light", "dark"):
        expect_blue(find_chart(gallery, "restart", theme))
        assert find_chart(gallery, "nothing", theme).evaluate(COUNT_PIXELS, BLUE) == 0


def expect_blue(chart: Locator) -> None:
    wait_for_condition(chart.page, lambda: chart.evaluate(COUNT_PIXELS, BLUE) > 100)


def test_every_chart_is_drawn_sharp_on_a_dense_screen(
    sweep: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{sweep}gallery.html", device_scale_factor=2)
    chart = find_chart(page, "restart")
    width = round(2 * get_stable_box(chart).width)
    canvas = chart.locator("canvas").first
    wait_for_value(page, lambda: canvas.evaluate("canvas => canvas.width"), width)


def test_a_drag_zooms_a_double_click_fits(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    whole = chart.get_attribute("aria-label")
    assert whole and "0 to 10,000 across" in whole
    drag(gallery, chart, (0.4, 0.2), (0.7, 0.6))
    expect(chart).not_to_have_attribute("aria-label", re.compile("0 to 10,000 across"))
    expect(chart).to_have_attribute("aria-label", re.compile("across"))
    chart.dblclick()
    expect(chart).to_have_attribute("aria-label", whole)


def test_the_plain_wheel_scrolls_and_ctrl_wheel_zooms(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    whole = chart.get_attribute("aria-label")
    assert whole
    chart.hover()
    before = gallery.evaluate(SCROLLED)
    gallery.mouse.wheel(0, 60)
    gallery.evaluate(WAIT_SCROLLED, before + 60)
    expect(chart).to_have_attribute("aria-label", whole)
    gallery.keyboard.down("Control")
    gallery.mouse.wheel(0, -120)
    gallery.keyboard.up("Control")
    expect(chart).not_to_have_attribute("aria-label", whole)
    assert gallery.evaluate(SCROLLED) == before + 60


def test_shift_drag_moves_the_paper(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    gallery.keyboard.down("Shift")
    drag(gallery, chart, (0.3, 0.5), (0.8, 0.5))
    gallery.keyboard.up("Shift")
    expect(chart).to_have_attribute("aria-label", re.compile("\N{MINUS SIGN}.*across"))


def test_new_points_leave_a_zoom_alone(gallery: Page) -> None:
    chart = find_chart(gallery, "growing")
    whole = chart.get_attribute("aria-label")
    assert whole
    more = gallery.get_by_role("button", name="More points").first
    more.click()
    expect(chart).not_to_have_attribute("aria-label", whole)
    grown = chart.get_attribute("aria-label")
    assert grown
    drag(gallery, chart, (0.3, 0.3), (0.6, 0.7))
    expect(chart).not_to_have_attribute("aria-label", grown)
    zoomed = chart.get_attribute("aria-label")
    assert zoomed
    more.click()
    more.click()
    expect(chart).to_have_attribute("aria-label", zoomed)


def test_hover_tells_the_points_under_the_pointer(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    box = get_stable_box(chart)
    gallery.mouse.move(*box.center)
    table = gallery.get_by_role("table", name="Values under the cursor").first
    expect(table.get_by_role("row")).to_have_count(3)
    for run, (step, value) in enumerate(find_values(gallery)):
        assert 4000 < step < 6000
        # What samples.ts makes of a run at its point number `at`.
        at = round(step / 10_000 * 120)
        assert value == pytest.approx(10 ** (-2 - 0.25 * run - 1.6 * at / 121), rel=1e-3)


def test_arrow_keys_go_from_point_to_point(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    chart.focus()
    gallery.keyboard.press("End")
    wait_for_value(gallery, lambda: find_values(gallery)[0][0], 10_000)
    gallery.keyboard.press("ArrowLeft")
    wait_for_value(gallery, lambda: find_values(gallery)[0][0], 9_917)
    gallery.keyboard.press("ArrowLeft")
    wait_for_value(gallery, lambda: find_values(gallery)[0][0], 9_833)
    gallery.keyboard.press("Home")
    gallery.keyboard.press("ArrowRight")
    first = (83, pytest.approx(10 ** (-2 - 1.6 / 121), rel=1e-3))
    wait_for_value(gallery, lambda: find_values(gallery)[0], first)


def test_keys_zoom_and_fit(gallery: Page) -> None:
    chart = find_chart(gallery, "growing")
    whole = chart.get_attribute("aria-label")
    assert whole and "0 to 10,000 across" in whole
    chart.focus()
    gallery.keyboard.press("+")
    expect(chart).to_have_attribute("aria-label", re.compile("1,667 to 8,333 across"))
    gallery.keyboard.press("-")
    gallery.keyboard.press("-")
    gallery.keyboard.press("0")
    expect(chart).to_have_attribute("aria-label", whole)


def test_a_drag_selects_a_range_where_that_is_asked_for(gallery: Page) -> None:
    chart = find_chart(gallery, "range")
    told = gallery.get_by_label("Range", exact=True).first
    expect(told).to_have_text("3000 to 6000")
    drag(gallery, chart, (0.2, 0.5), (0.9, 0.6))
    expect(told).not_to_have_text("3000 to 6000")
    start, _, stop = told.inner_text().partition(" to ")
    assert 0 < int(start) < 3000
    assert 8000 < int(stop) < 10_000


def test_escape_gives_up_a_drag(gallery: Page) -> None:
    chart = find_chart(gallery, "learning rate")
    whole = chart.get_attribute("aria-label")
    assert whole
    box = get_stable_box(chart)
    gallery.mouse.move(box.x + 100, box.y + 50)
    gallery.mouse.down()
    gallery.mouse.move(box.x + 200, box.y + 120, steps=3)
    gallery.keyboard.press("Escape")
    gallery.mouse.up()
    expect(chart).to_have_attribute("aria-label", whole)


def test_a_chart_is_taken_away_as_svg(gallery: Page, tmp_path: Path) -> None:
    find_chart(gallery, "validation/accuracy")
    with gallery.expect_download() as download:
        gallery.get_by_role("button", name="SVG").first.click()
    download.value.save_as(tmp_path / "chart.svg")
    root = ElementTree.parse(tmp_path / "chart.svg").getroot()
    assert root.tag == f"{SVG}svg"
    assert root.findtext(f"{SVG}title") == "validation/accuracy <smoothed & raw>"
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"step", "accuracy", "2k", "0.80", "conv/bn-lr3e-3", "vit/tiny-lr1e-4"} <= set(words)
    strokes = [path.get("stroke") for path in root.iter(f"{SVG}path")]
    # The smoothed line, the raw one behind it and the sample in the legend.
    assert strokes.count("#4269d0") == 3


def test_a_chart_is_taken_away_as_png(gallery: Page, tmp_path: Path) -> None:
    find_chart(gallery, "validation/accuracy")
    with gallery.expect_download() as download:
        gallery.get_by_role("button", name="PNG").first.click()
    download.value.save_as(tmp_path / "chart.png")
    content = (tmp_path / "chart.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20], "big") == 2 * 880
    assert len(content) > 20_000


def test_a_finger_points_and_two_zoom(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{sweep}gallery.html", width=390, has_touch=True)
    assert not overflows(page)
    chart = find_chart(page, "learning rate")
    whole = chart.get_attribute("aria-label")
    assert whole
    box = get_stable_box(chart)
    page.touchscreen.tap(box.x + box.width / 2, box.y + 80)
    table = page.get_by_role("table", name="Values under the cursor").first
    expect(table.get_by_role("row")).to_have_count(3)
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, *places: float) -> None:
        points = [{"x": box.x + x, "y": box.y + 80, "id": at} for at, x in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", 150)
    fingers("touchStart", 150, 200)
    fingers("touchMove", 120, 240)
    fingers("touchMove", 90, 280)
    fingers("touchEnd")
    expect(chart).not_to_have_attribute("aria-label", whole)


def test_bars_show_the_first_and_count_the_rest(gallery: Page) -> None:
    bars = gallery.get_by_role("group", name="light").get_by_role("group", name="bars")
    expect(bars.get_by_role("listitem")).to_have_count(8)
    expect(bars.get_by_role("listitem").nth(5)).to_contain_text("NaN")
    expect(bars).to_contain_text("1 more")


def test_nothing_in_the_gallery_stands_in_the_way(gallery: Page) -> None:
    find_chart(gallery, "nothing")
    # Each part is there twice, once in each theme, and so are the names of its regions.
    faults = find_violations(gallery)
    assert [fault for fault in faults if not fault.startswith("landmark-unique")] == []
