"""Clips are there for every run and step, and look as they sound."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.web.audio_log import (
    SAMPLE_RATE,
    STEPS,
    audio_record,
    card,
    clip,
    drawn_waveform,
    play_button,
    wait_for_position,
    waveform,
    write_audio_log,
)
from tests.web.conftest import board_fixture
from tests.web.waiting import get_stable_box, wait_for_condition
from tracklight.formats.media import decode_wav, encode_wav

pytestmark = pytest.mark.browser

Open = Callable[..., Page]


sounds = board_fixture(write_audio_log, "module", "?tab=audio")


def test_a_clip_for_every_run_with_what_it_is(sounds: str, open_page: Open) -> None:
    page = open_page(sounds)
    drawn_waveform(page, "voice", "alto")
    one = clip(page, "voice", "alto")
    expect(one).to_contain_text("low **note**")
    expect(one).to_contain_text("0:04.000")
    expect(one).to_contain_text("8 kHz")
    expect(one).to_contain_text("mono")
    expect(one).to_contain_text("16-bit")
    expect(one).to_contain_text("step 20")
    expect(clip(page, "voice", "alto", 1)).to_contain_text("high note")
    expect(card(page, "voice")).to_contain_text("basso")
    drawn_waveform(page, "music/stereo", "extra")
    expect(clip(page, "music/stereo", "extra")).to_contain_text("stereo")
    expect(clip(page, "music/stereo", "extra")).to_contain_text("16 kHz")


def test_every_step_is_reached(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    slider = page.get_by_role("slider", name="Step of all cards")
    slider.focus()
    for step in reversed(STEPS[:-1]):
        page.keyboard.press("ArrowLeft")
        expect(clip(page, "voice", "alto")).to_contain_text(f"step {step}")
        expect(page).to_have_url(re.compile(f"step={step}"))


def test_each_card_may_have_a_step_of_its_own(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&link=0")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("slider", name="Step of voice").focus()
    page.keyboard.press("Home")
    expect(clip(page, "voice", "alto")).to_contain_text("step 0")
    expect(page).to_have_url(re.compile("steps=voice,0"))


def test_what_the_pointer_is_at_is_told(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice")
    chart = drawn_waveform(page, "voice", "alto")
    box = get_stable_box(chart)
    page.mouse.move(box.center[0], box.y + 30)
    expect(chart.locator(".told")).to_have_text(
        re.compile(r"^0:0[12]\.\d{3} · .?[\d.e-]+ … [\d.]+")
    )
    page.mouse.move(box.center[0], box.y + box.height - 40)
    expect(chart.locator(".told")).to_have_text(re.compile(r"· [\d.]+ k?Hz · .?\d+ dB$"))


def test_the_spectrogram_is_switched_and_scaled(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    before = get_stable_box(card(page, "voice"))
    page.get_by_role("button", name="Spectrogram").click()
    drawn_waveform(page, "voice", "alto", what="wave")
    wait_for_condition(page, lambda: get_stable_box(card(page, "voice")).height < before.height)
    page.keyboard.press("t")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("button", name="Settings of Audio").click()
    with page.expect_request(re.compile("spectrogram.*scale=linear")):
        page.get_by_role("combobox", name="Scale").select_option("Linear")
    with page.expect_request(re.compile("spectrogram.*window=512")):
        page.get_by_role("combobox", name="Window").select_option("512 samples")
    page.get_by_role("combobox", name="Range").select_option("60 dB")
    expect(page).to_have_url(re.compile("tones=linear.*tones-window=512"))


def test_quiet_clips_may_fill_the_height(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice&tones=off")
    chart = drawn_waveform(page, "voice", "alto", 1, "wave")
    before = chart.screenshot()
    page.get_by_role("button", name="Settings of Audio").click()
    page.get_by_label("Fit the height").check()
    expect(page).to_have_url(re.compile("clip-fit=1"))
    page.get_by_role("button", name="Settings of Audio").click()
    wait_for_condition(page, lambda: chart.screenshot() != before)


def test_a_zoom_asks_for_the_samples_themselves(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice")
    chart = drawn_waveform(page, "voice", "alto")
    chart.hover()
    page.keyboard.down("Control")
    with page.expect_response(re.compile(r"waveform.*start=[1-9]")) as answered:
        for _ in range(12):
            page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    assert answered.value.ok
    expect(page).to_have_url(re.compile("clip-zoom=voice"))
    chart.dblclick()
    expect(page).not_to_have_url(re.compile("clip-zoom"))
    chart.focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile("clip-zoom=voice"))
    page.get_by_role("button", name="More for voice", exact=True).click()
    page.get_by_role("menuitem", name="Show whole clips").click()
    expect(page).not_to_have_url(re.compile("clip-zoom"))


def test_the_file_is_the_one_that_was_logged(sounds: str, open_page: Open, tmp_path: Path) -> None:
    page = open_page(f"{sounds}&tags=stereo")
    drawn_waveform(page, "music/stereo", "extra")
    clip(page, "music/stereo", "extra").get_by_role("button", name=re.compile("^More for")).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download clip").click()
    assert download.value.suggested_filename == "music_stereo_extra_step_5.wav"
    download.value.save_as(tmp_path / "clip.wav")
    samples = decode_wav((tmp_path / "clip.wav").read_bytes())
    assert samples.shape == (4 * SAMPLE_RATE, 2)
    assert abs(samples).max() == pytest.approx(0.5, abs=0.01)


def test_the_picture_is_taken_away(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=stereo")
    drawn_waveform(page, "music/stereo", "extra")
    more = clip(page, "music/stereo", "extra").get_by_role("button", name=re.compile("^More for"))
    taken = {}
    for kind in ("SVG", "PNG"):
        more.click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Download {kind}").click()
        taken[kind] = download.value.path().read_bytes()
    assert all(part in taken["SVG"] for part in (b"<image", b"data:image/png", b"<path"))
    assert taken["PNG"].startswith(b"\x89PNG")


def test_the_same_is_read_in_python(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("button", name="More for voice", exact=True).click()
    page.get_by_role("menuitem", name="Copy as Python …").click()
    expect(page.get_by_role("dialog")).to_contain_text('log.audio(run, "voice")')


def test_what_only_a_browser_decodes_is_drawn_when_asked_for(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=odd&tones=off")
    flac = clip(page, "odd/files", "extra", 0)
    expect(flac).to_contain_text("FLAC is decoded by your browser.")
    flac.get_by_role("button", name="Draw it").click()
    drawn_waveform(page, "odd/files", "extra", 0, "wave")
    expect(flac).to_contain_text("0:04.000")
    expect(flac).to_contain_text("8 kHz")
    noise = clip(page, "odd/files", "extra", 1)
    noise.get_by_role("button", name="Draw it").click()
    expect(noise.get_by_role("alert")).to_contain_text("The browser cannot decode this clip.")


def test_what_is_no_sound_is_said(sounds: str, open_page: Open) -> None:
    page = open_page(f"{sounds}&tags=odd&tones=off")
    wrong = clip(page, "odd/files", "extra", 2)
    expect(wrong).to_contain_text("cannot be drawn: 23 bytes of an unknown file type")
    expect(wrong.get_by_role("button", name=re.compile("^Play"))).to_be_disabled()
    empty = clip(page, "odd/files", "extra", 3)
    expect(empty).to_contain_text("the clip has no samples")


def test_a_clip_that_is_gone_is_said_and_asked_for_again(sounds: str, open_page: Open) -> None:
    page = open_page("about:blank")
    page.route(re.compile("/audio/about"), lambda route: route.abort())
    page.goto(f"{sounds}&tags=voice")
    alert = card(page, "voice").get_by_role("alert").first
    expect(alert).to_contain_text("The server does not answer.")
    page.unroute(re.compile("/audio/about"))
    alert.get_by_role("button", name="Try again").click()
    drawn_waveform(page, "voice", "alto")


def test_a_wall_of_clips_loads_only_what_is_near(
    tmp_path: Path, open_page: Open, serve: Callable[..., object]
) -> None:
    short = encode_wav(np.sin(np.arange(800) / 5), SAMPLE_RATE)
    tags = [f"t{number:03d}/clip" for number in range(200)]
    logs.write(tmp_path, "many", b"".join(audio_record(tag, 0, [short]) for tag in tags))
    board = serve(tmp_path)
    asked: list[str] = []
    page = open_page("about:blank")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{board.address}?tab=audio")
    drawn_waveform(page, "t000/clip", "many")
    get_stable_box(card(page, "t000/clip"), 500)
    about = [url for url in asked if "/audio/about" in url]
    assert 1 <= len(about) < 30
    assert not [url for url in asked if "/audio/clip" in url]


def test_new_steps_come_in(tmp_path: Path, open_page: Open, serve: Callable[..., object]) -> None:
    short = encode_wav(np.sin(np.arange(8000) / 5), SAMPLE_RATE)
    path = logs.write(tmp_path, "live", audio_record("voice", 1, [short]))
    board = serve(tmp_path)
    page = open_page(f"{board.address}?tab=audio")
    drawn_waveform(page, "voice", "live")
    expect(clip(page, "voice", "live")).to_contain_text("step 1")
    logs.append(path, audio_record("voice", 2, [short, short]))
    expect(clip(page, "voice", "live", 1)).to_contain_text("step 2")
    expect(waveform(page, "voice", "live", 1)).to_have_attribute("data-drawn", "wave tones")


def test_what_plays_stays_when_new_steps_come_in(
    tmp_path: Path, open_page: Open, serve: Callable[..., object]
) -> None:
    long = encode_wav(np.sin(np.arange(SAMPLE_RATE * 20) / 5), SAMPLE_RATE)
    path = logs.write(tmp_path, "live", audio_record("voice", 1, [long]))
    board = serve(tmp_path)
    page = open_page(f"{board.address}?tab=audio")
    drawn_waveform(page, "voice", "live")
    play_button(page, "voice", "live").click()
    wait_for_position(page, 0.2)
    logs.append(path, audio_record("voice", 2, [long]))
    expect(card(page, "voice")).to_contain_text("2 steps")
    expect(clip(page, "voice", "live")).to_contain_text("step 1")
    play_button(page, "voice", "live").click()
    expect(clip(page, "voice", "live")).to_contain_text("step 2")
