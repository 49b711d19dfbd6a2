"""A copy of a board plays and draws its clips with no server anywhere."""

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
from tracklight.server.page import PAGE_DIR

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (PAGE_DIR / "copy" / "board.js").exists(), reason="the page of copies was not built"
    ),
]

Open = Callable[..., Page]


@pytest.mark.parametrize("name", ["copy", "copy.html"])
def test_clips_are_drawn_and_played(tmp_path: Path, open_page: Open, name: str) -> None:
    write_audio_log(tmp_path / "logs")
    page = open_page(copy(tmp_path / "logs", tmp_path / name, "tab=audio&tags=voice"))
    drawn_waveform(page, "voice", "alto")
    expect(clip(page, "voice", "alto")).to_contain_text("8 kHz")
    play_button(page, "voice", "alto").click()
    wait_for_position(page, 0.2)


def test_a_copy_says_which_steps_it_carries(tmp_path: Path, open_page: Open) -> None:
    short = encode_wav(np.sin(np.arange(800) / 5), SAMPLE_RATE)
    steps = b"".join(audio_record("voice", step, [short]) for step in range(100))
    logs.write(tmp_path / "logs", "long", steps)
    page = open_page(copy(tmp_path / "logs", tmp_path / "copy", "tab=audio"))
    drawn_waveform(page, "voice", "long")
    expect(card(page, "voice")).to_contain_text("30 of 100 steps in this copy")
    expect(clip(page, "voice", "long")).to_contain_text("step 99")
