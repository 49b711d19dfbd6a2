"""Audio: accessibility, small screens, full screen and empty states."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.audio_log import card, clip, drawn_waveform, play_button, write_audio_log
from tests.web.conftest import board_fixture
from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import get_stable_box, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


audio_board = board_fixture(write_audio_log, "module", "?tab=audio")


def test_no_accessibility_violations(audio_board: str, open_page: OpenPage) -> None:
    compared = "clip-a=voice,alto,0,20&clip-b=voice,basso,0,20"
    page = open_page(f"{audio_board}&{compared}")
    drawn_waveform(page, "voice", "alto")
    assert list_violations(page) == []
    page.get_by_role("button", name="Audio settings").click()
    assert list_violations(page) == []


def test_fits_on_a_phone(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&clip-a=voice,alto,0,20", width=390)
    drawn_waveform(page, "voice", "alto")
    assert not overflows(page)
    play_button(page, "voice", "alto").click()
    expect(clip(page, "voice", "alto")).to_contain_text(re.compile(r"0:00\.\d+ / 0:04\.000"))
    assert not overflows(page)


def test_full_screen_has_larger_charts(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    before = get_stable_box(drawn_waveform(page, "voice", "alto"))
    card(page, "voice").hover()
    page.keyboard.press("m")
    full = page.locator(".full").get_by_role("slider").first
    expect(full).to_have_attribute("data-drawn", "wave tones")
    wait_for_condition(page, lambda: get_stable_box(full).height > 1.5 * before.height)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("card="))


def test_no_matching_tag(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=nowhere")
    expect(page.get_by_text("No tags match “nowhere”.")).to_be_visible()


def test_shortcuts_are_listed(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    for label in ("Play or pause", "Set as A, or switch to A", "Loop"):
        expect(dialog).to_contain_text(label)
