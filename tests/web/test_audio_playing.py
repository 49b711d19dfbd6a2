"""Audio playback: play, seek, loop and compare clips."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.audio_log import (
    RECORD_PLAYING,
    clip,
    drawn_waveform,
    play_button,
    read_position,
    wait_for_position,
    waveform,
    write_audio_log,
)
from tests.web.conftest import serve_log
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

#: Return whether the position has fallen back since the first call, and never below a limit.
HAS_LOOPED = """lowest => {
  const text = document.querySelector('[aria-label="Playback position"]').textContent;
  const [minutes, seconds] = text.split(':').map(Number);
  const position = 60 * minutes + seconds;
  if (position < lowest) throw new Error(`played ${text}`);
  const hasLooped = position < window.lastPosition;
  window.lastPosition = position;
  return hasLooped;
}"""
PLAYING_SOURCES = "[...window.sounding].filter(one => !one.paused).map(one => one.src)"


@pytest.fixture(scope="module")
def audio_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("sounds"), write_audio_log) as address:
        yield f"{address}?tab=audio&tags=voice"


@pytest.fixture
def page(audio_board: str, open_page: OpenPage) -> Page:
    page = open_page("about:blank")
    page.add_init_script(RECORD_PLAYING)
    page.goto(audio_board)
    drawn_waveform(page, "voice", "alto")
    return page


def get_playing_sources(page: Page) -> list[str]:
    sources: list[str] = page.evaluate(PLAYING_SOURCES)
    return sources


def click_at(page: Page, chart: Locator, fraction: float) -> None:
    box = get_stable_box(chart)
    inner = box.width - 42
    page.mouse.click(box.x + 34 + fraction * inner, box.y + 30)


def test_play_and_pause(page: Page) -> None:
    # In a loop: on a slow machine the clip would end before it is paused.
    page.get_by_role("button", name="Loop").click()
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.3)
    wait_for_value(page, lambda: len(get_playing_sources(page)), 1)
    expect(play_button(page, "voice", "alto")).to_have_attribute("aria-pressed", "true")
    play_button(page, "voice", "alto").click()
    wait_for_value(page, lambda: get_playing_sources(page), [])

    def is_stopped() -> bool:
        before = read_position(page)
        page.wait_for_timeout(300)
        return read_position(page) == before

    # The displayed position may follow the sound by a frame.
    wait_for_condition(page, is_stopped)
    expect(page).to_have_url(re.compile(r"clip=voice,alto,0&clip-time=[0-3]\.\d+"))


def test_only_one_clip_plays_at_a_time(page: Page) -> None:
    page.get_by_role("button", name="Loop").click()
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.2)
    play_button(page, "voice", "alto", 1).click()
    wait_for_value(
        page, lambda: ["clip=1" in source for source in get_playing_sources(page)], [True]
    )


def test_click_seeks(page: Page) -> None:
    chart = drawn_waveform(page, "voice", "alto")
    click_at(page, chart, 0.5)
    wait_for_value(page, lambda: read_position(page), pytest.approx(2.0, abs=0.05))
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"^0:0[12]\.\d+ of 0:04\.000"))
    page.keyboard.press("Space")
    wait_for_position(page, 2.2)
    page.keyboard.press("Space")
    wait_for_value(page, lambda: get_playing_sources(page), [])


def test_arrow_keys_seek(page: Page) -> None:
    chart = drawn_waveform(page, "voice", "alto")
    click_at(page, chart, 0.25)
    wait_for_value(page, lambda: read_position(page), pytest.approx(1.0, abs=0.05))
    chart.focus()
    start = read_position(page)
    page.keyboard.press("ArrowRight")
    wait_for_value(page, lambda: read_position(page), pytest.approx(start + 0.04, abs=0.002))
    page.keyboard.press("Shift+ArrowRight")
    wait_for_value(page, lambda: read_position(page), pytest.approx(start + 0.44, abs=0.002))
    page.keyboard.press("Home")
    wait_for_value(page, lambda: read_position(page), 0)
    page.keyboard.press("End")
    wait_for_value(page, lambda: read_position(page), 4)
    chart.blur()
    page.keyboard.press("ArrowLeft")
    wait_for_value(page, lambda: read_position(page), 3.5)


def test_dragged_range_loops(page: Page) -> None:
    chart = drawn_waveform(page, "voice", "alto")
    box = get_stable_box(chart)
    inner = box.width - 42
    page.mouse.move(box.x + 34 + 0.25 * inner, box.y + 30)
    page.mouse.down()
    page.mouse.move(box.x + 34 + 0.4 * inner, box.y + 35, steps=4)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"clip-loop=(1|0\.9)[\d.]*(~|%7E)1\.[56].*loop=1"))
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.9)
    page.wait_for_function(HAS_LOOPED, arg=0.9)
    wait_for_value(page, lambda: len(get_playing_sources(page)), 1)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("clip-loop"))


def test_whole_clip_loops(page: Page) -> None:
    page.get_by_role("button", name="Loop").click()
    expect(page).to_have_url(re.compile("loop=1"))
    chart = drawn_waveform(page, "voice", "alto")
    click_at(page, chart, 0.97)
    page.keyboard.press("Space")
    page.wait_for_function(
        """() => {
            const text = document.querySelector('[aria-label="Playback position"]');
            const seconds = Number(text.textContent.split(':')[1]);
            return seconds > 0.05 && seconds < 2;
        }"""
    )
    wait_for_value(page, lambda: len(get_playing_sources(page)), 1)
    page.keyboard.press("l")
    expect(page).not_to_have_url(re.compile("loop="))


def test_comparing_two_runs_keeps_the_position(page: Page) -> None:
    play_button(page, "voice", "alto").click()
    clip(page, "voice", "alto").get_by_role("button", name=re.compile("^A: compare")).click()
    other = clip(page, "voice", "basso")
    other.scroll_into_view_if_needed()
    other.get_by_role("button", name=re.compile("^B: compare")).click()
    bar = page.get_by_role("group", name="Compare clips")
    expect(bar).to_contain_text("alto")
    expect(bar).to_contain_text("basso")
    wait_for_position(page, 0.5)
    page.evaluate("document.activeElement.blur()")
    before = read_position(page)
    page.keyboard.press("b")
    page.wait_for_function(f"() => {PLAYING_SOURCES}.some(source => source.includes('run=basso'))")
    wait_for_position(page, before)
    wait_for_value(page, lambda: len(get_playing_sources(page)), 1)
    page.keyboard.press("a")
    page.wait_for_function(f"() => {PLAYING_SOURCES}.some(source => source.includes('run=alto'))")
    wait_for_condition(page, lambda: read_position(page) >= before)
    wait_for_value(page, lambda: len(get_playing_sources(page)), 1)
    expect(page).to_have_url(re.compile("clip-a=voice,alto,0,20.*clip-b=voice,basso,0,20"))
    bar.get_by_role("button", name="Stop comparing").click()
    expect(bar).to_have_count(0)


def test_compare_two_steps(page: Page) -> None:
    clip(page, "voice", "alto").get_by_role("button", name=re.compile("^A: compare")).click()
    page.get_by_role("slider", name="Step of all cards").focus()
    page.keyboard.press("Home")
    expect(clip(page, "voice", "alto")).to_contain_text("Step 0")
    clip(page, "voice", "alto").get_by_role("button", name=re.compile("^B: compare")).click()
    bar = page.get_by_role("group", name="Compare clips")
    expect(bar).to_contain_text("step 20")
    expect(bar).to_contain_text("step 0")
    bar.get_by_role("button").nth(0).click()
    page.wait_for_function(f"() => {PLAYING_SOURCES}.length === 1")
    (one,) = get_playing_sources(page)
    bar.get_by_role("button").nth(1).click()
    page.wait_for_function(
        f"one => {PLAYING_SOURCES}.length === 1 && {PLAYING_SOURCES}[0] !== one", arg=one
    )


def test_shortcut_marks_the_playing_clip(page: Page) -> None:
    play_button(page, "voice", "alto").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    expect(page).to_have_url(re.compile("clip-a=voice,alto,0,20"))


def test_changing_the_step_continues_playback(page: Page) -> None:
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.4)
    (first,) = get_playing_sources(page)
    page.get_by_role("slider", name="Step of all cards").focus()
    before = read_position(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        f"first => {PLAYING_SOURCES}.length === 1 && {PLAYING_SOURCES}[0] !== first", arg=first
    )
    wait_for_condition(page, lambda: read_position(page) >= before)


def test_volume_is_remembered(page: Page, audio_board: str) -> None:
    slider = page.get_by_role("slider", name="Volume")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "60%")
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.1)
    level = "[...window.sounding][0].volume"
    wait_for_value(page, lambda: page.evaluate(level), pytest.approx(0.6))
    page.goto(audio_board)
    expect(slider).to_have_attribute("aria-valuetext", "60%")


def test_url_restores_the_state(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&clip=voice,basso,1&clip-time=1.5&loop=1&clip-loop=1~2")
    waveform(page, "voice", "basso", 1).scroll_into_view_if_needed()
    chart = drawn_waveform(page, "voice", "basso", 1)
    expect(chart).to_have_attribute("aria-valuetext", "0:01.500 of 0:04.000")
    loop_button = page.get_by_role("button", name="Loop")
    expect(loop_button).to_have_attribute("aria-pressed", "true")


def test_unplayable_clip_shows_an_error(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(audio_board.replace("tags=voice", "tags=odd"))
    undecodable = clip(page, "odd/files", "extra", 1)
    undecodable.get_by_role("button", name=re.compile("^Play")).click()
    expect(undecodable.get_by_role("alert").first).to_contain_text(
        "The browser cannot play this audio."
    )


def test_leaving_the_dashboard_stops_playback(page: Page) -> None:
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.1)
    page.get_by_role("navigation", name="Dashboards").get_by_role("link", name="Overview").click()
    page.wait_for_function(f"() => {PLAYING_SOURCES}.length === 0")
