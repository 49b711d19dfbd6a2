"""Audio clips in a static export, without a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.index import logs
from tests.web.audio_log import (
    SAMPLE_RATE,
    audio_record,
    card,
    clip,
    drawn_waveform,
    play_button,
    wait_for_position,
    write_audio_log,
)
from tests.web.test_static_board import copy
from tracklight.formats.media import encode_wav
from tracklight.server.routing import PAGE_DIR

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
    ),
]

OpenPage = Callable[..., Page]


@pytest.mark.parametrize("name", ["copy", "copy.html"])
def test_static_export_draws_and_plays_clips(
    tmp_path: Path, open_page: OpenPage, name: str
) -> None:
    write_audio_log(tmp_path / "logs")
    page = open_page(copy(tmp_path / "logs", tmp_path / name, "tab=audio&tags=voice"))
    drawn_waveform(page, "voice", "alto")
    expect(clip(page, "voice", "alto")).to_contain_text("8 kHz")
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.2)


def test_static_export_shows_number_of_included_steps(tmp_path: Path, open_page: OpenPage) -> None:
    short = encode_wav(np.sin(np.arange(800) / 5), SAMPLE_RATE)
    steps = b"".join(audio_record("voice", step, [short]) for step in range(100))
    logs.write(tmp_path / "logs", "long", steps)
    page = open_page(copy(tmp_path / "logs", tmp_path / "copy", "tab=audio"))
    drawn_waveform(page, "voice", "long")
    expect(card(page, "voice")).to_contain_text("30 of 100 steps in this export")
    expect(clip(page, "voice", "long")).to_contain_text("Step 99")
