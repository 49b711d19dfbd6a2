"""Audio cards: metadata, steps, waveforms, spectrograms, zoom, export and live updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.web.audio_log import (
    RECORD_PLAYING,
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

OpenPage = Callable[..., Page]


audio_board = board_fixture(write_audio_log, "module", "?tab=audio")


def test_clips_show_metadata_for_every_run(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(audio_board)
    drawn_waveform(page, "voice", "alto")
    first_clip = clip(page, "voice", "alto")
    expect(first_clip).to_contain_text("low **note**")
    expect(first_clip).to_contain_text("0:04.000")
    expect(first_clip).to_contain_text("8 kHz")
    expect(first_clip).to_contain_text("mono")
    expect(first_clip).to_contain_text("16-bit")
    expect(first_clip).to_contain_text("Step 20")
    expect(clip(page, "voice", "alto", 1)).to_contain_text("high note")
    expect(card(page, "voice")).to_contain_text("basso")
    drawn_waveform(page, "music/stereo", "extra")
    expect(clip(page, "music/stereo", "extra")).to_contain_text("stereo")
    expect(clip(page, "music/stereo", "extra")).to_contain_text("16 kHz")


def test_slider_reaches_every_step(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    slider = page.get_by_role("slider", name="Step of all cards")
    slider.focus()
    for step in reversed(STEPS[:-1]):
        page.keyboard.press("ArrowLeft")
        expect(clip(page, "voice", "alto")).to_contain_text(f"Step {step}")
        expect(page).to_have_url(re.compile(f"step={step}"))


def test_unlinked_cards_have_their_own_step(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&sync-steps=0")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("slider", name="Step of voice").focus()
    page.keyboard.press("Home")
    expect(clip(page, "voice", "alto")).to_contain_text("Step 0")
    expect(page).to_have_url(re.compile("steps=voice,0"))


def test_hover_shows_time_and_value(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    chart = drawn_waveform(page, "voice", "alto")
    box = get_stable_box(chart)
    page.mouse.move(box.center[0], box.y + 30)
    expect(chart.locator(".hover-info")).to_have_text(
        re.compile(r"^0:0[12]\.\d{3} · .?[\d.e-]+ … [\d.]+")
    )
    page.mouse.move(box.center[0], box.y + box.height - 40)
    expect(chart.locator(".hover-info")).to_have_text(re.compile(r"· [\d.]+ k?Hz · .?\d+ dB$"))


def test_spectrogram_toggle_and_settings(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    before = get_stable_box(card(page, "voice"))
    page.get_by_role("button", name="Spectrogram").click()
    drawn_waveform(page, "voice", "alto", what="wave")
    wait_for_condition(page, lambda: get_stable_box(card(page, "voice")).height < before.height)
    page.keyboard.press("t")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("button", name="Audio settings").click()
    with page.expect_request(re.compile("spectrogram.*scale=linear")):
        page.get_by_role("combobox", name="Frequency scale").select_option("Linear")
    with page.expect_request(re.compile("spectrogram.*window=512")):
        page.get_by_role("combobox", name="Window size").select_option("512 samples")
    page.get_by_role("combobox", name="Dynamic range").select_option("60 dB")
    expect(page).to_have_url(re.compile("spectrogram=linear.*fft-window=512"))


def test_fit_height_scales_quiet_clips(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice&spectrogram=off")
    chart = drawn_waveform(page, "voice", "alto", 1, "wave")
    before = chart.screenshot()
    page.get_by_role("button", name="Audio settings").click()
    page.get_by_label("Normalize amplitude").check()
    expect(page).to_have_url(re.compile("clip-normalize=1"))
    page.get_by_role("button", name="Audio settings").click()
    wait_for_condition(page, lambda: chart.screenshot() != before)


def test_zoom_requests_a_range_of_samples(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
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
    page.get_by_role("button", name="More actions for voice", exact=True).click()
    page.get_by_role("menuitem", name="Reset zoom").click()
    expect(page).not_to_have_url(re.compile("clip-zoom"))


def test_exports_the_logged_file_and_the_chart(
    audio_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{audio_board}&tags=stereo")
    drawn_waveform(page, "music/stereo", "extra")
    clip(page, "music/stereo", "extra").get_by_role(
        "button", name=re.compile("^More actions for")
    ).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download audio").click()
    assert download.value.suggested_filename == "music_stereo_extra_Step_5.wav"
    download.value.save_as(tmp_path / "clip.wav")
    samples = decode_wav((tmp_path / "clip.wav").read_bytes())
    assert samples.shape == (4 * SAMPLE_RATE, 2)
    assert abs(samples).max() == pytest.approx(0.5, abs=0.01)

    drawn_waveform(page, "music/stereo", "extra")
    menu_button = clip(page, "music/stereo", "extra").get_by_role(
        "button", name=re.compile("^More actions for")
    )
    downloads = {}
    for kind in ("SVG", "PNG"):
        menu_button.click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=f"Export {kind}").click()
        downloads[kind] = download.value.path().read_bytes()
    assert all(part in downloads["SVG"] for part in (b"<image", b"data:image/png", b"<path"))
    assert downloads["PNG"].startswith(b"\x89PNG")


def test_copy_as_python(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=voice")
    drawn_waveform(page, "voice", "alto")
    page.get_by_role("button", name="More actions for voice", exact=True).click()
    page.get_by_role("menuitem", name="Copy as Python…").click()
    expect(page.get_by_role("dialog")).to_contain_text('log.audio(run, "voice")')


def test_invalid_clips_and_other_formats(audio_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{audio_board}&tags=odd&spectrogram=off")
    unknown = clip(page, "odd/files", "extra", 2)
    expect(unknown).to_contain_text("Cannot show the waveform: 23 bytes of an unknown file type")
    expect(unknown.get_by_role("button", name=re.compile("^Play"))).to_be_disabled()
    empty = clip(page, "odd/files", "extra", 3)
    expect(empty).to_contain_text("the clip has no samples")

    flac = clip(page, "odd/files", "extra", 0)
    expect(flac).to_contain_text("FLAC audio is decoded in the browser.")
    flac.get_by_role("button", name="Show waveform").click()
    drawn_waveform(page, "odd/files", "extra", 0, "wave")
    expect(flac).to_contain_text("0:04.000")
    expect(flac).to_contain_text("8 kHz")
    undecodable = clip(page, "odd/files", "extra", 1)
    undecodable.get_by_role("button", name="Show waveform").click()
    expect(undecodable.get_by_role("alert")).to_contain_text("The browser cannot decode this audio")


def test_shows_network_error_and_recovers(audio_board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    page.route(re.compile("/audio/about"), lambda route: route.abort())
    page.goto(f"{audio_board}&tags=voice")
    expect(card(page, "voice").get_by_role("alert").first).to_contain_text("Server unreachable")
    expect(card(page, "voice").get_by_role("button", name="Retry").first).to_be_visible()
    page.unroute(re.compile("/audio/about"))
    drawn_waveform(page, "voice", "alto")


def test_only_cards_near_the_viewport_are_loaded(
    tmp_path: Path, open_page: OpenPage, serve: Callable[..., object]
) -> None:
    short = encode_wav(np.sin(np.arange(800) / 5), SAMPLE_RATE)
    tags = [f"t{number:03d}/clip" for number in range(200)]
    logs.write(tmp_path, "many", b"".join(audio_record(tag, 0, [short]) for tag in tags))
    board = serve(tmp_path)
    requests: list[str] = []
    page = open_page("about:blank")
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{board.address}?tab=audio")
    drawn_waveform(page, "t000/clip", "many")
    get_stable_box(card(page, "t000/clip"), 500)
    about = [url for url in requests if "/audio/about" in url]
    assert 1 <= len(about) < 30
    assert not [url for url in requests if "/audio/clip" in url]


def test_new_steps_appear(
    tmp_path: Path, open_page: OpenPage, serve: Callable[..., object]
) -> None:
    short = encode_wav(np.sin(np.arange(8000) / 5), SAMPLE_RATE)
    path = logs.write(tmp_path, "live", audio_record("voice", 1, [short]))
    board = serve(tmp_path)
    page = open_page(f"{board.address}?tab=audio")
    drawn_waveform(page, "voice", "live")
    expect(clip(page, "voice", "live")).to_contain_text("Step 1")
    logs.append(path, audio_record("voice", 2, [short, short]))
    expect(clip(page, "voice", "live", 1)).to_contain_text("Step 2")
    expect(waveform(page, "voice", "live", 1)).to_have_attribute("data-drawn", "wave tones")


def test_playing_clip_keeps_its_step_when_new_steps_arrive(
    tmp_path: Path, open_page: OpenPage, serve: Callable[..., object]
) -> None:
    long = encode_wav(np.sin(np.arange(SAMPLE_RATE * 20) / 5), SAMPLE_RATE)
    path = logs.write(tmp_path, "live", audio_record("voice", 1, [long]))
    board = serve(tmp_path)
    page = open_page("about:blank")
    page.add_init_script(RECORD_PLAYING)
    page.goto(f"{board.address}?tab=audio")
    drawn_waveform(page, "voice", "live")
    play_button(page, "voice", "live").click()
    wait_for_position(page, 0.2)
    logs.append(path, audio_record("voice", 2, [long]))
    expect(card(page, "voice")).to_contain_text("2 steps")
    expect(clip(page, "voice", "live")).to_contain_text("Step 1")
    play_button(page, "voice", "live").click()
    expect(clip(page, "voice", "live")).to_contain_text("Step 2")
