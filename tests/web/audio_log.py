"""A log of audio clips, and locators of the Audio dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.index import logs
from tests.web.flac import encode_flac
from tracklight.formats import summary
from tracklight.formats.media import encode_wav
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.types import Float64

SAMPLE_RATE = 8000
SECONDS = 4.0
STEPS = (0, 10, 20)


def write_audio_log(logdir: Path) -> None:
    """Write two runs with two clips per step, a stereo clip, and clips the server cannot decode."""
    for number, run in enumerate(("alto", "basso")):
        records = []
        for step in STEPS:
            hertz = 440 / (number + 1) + step
            clips = [
                encode_wav(_tone(hertz), SAMPLE_RATE),
                encode_wav(0.2 * _tone(2 * hertz), SAMPLE_RATE),
            ]
            records.append(audio_record("voice", step, clips, ["low **note**", "high note"]))
        logs.write(logdir, run, b"".join(records))
    stereo = np.stack([_tone(300), _tone(900)], axis=1)
    others = [
        encode_flac((0.5 * _tone(500) * 32767).astype(np.int16), SAMPLE_RATE),
        b"ID3" + bytes(200),
        b"<svg onload='alert(1)'>",
        encode_wav(np.zeros(0), SAMPLE_RATE),
    ]
    extra = audio_record("music/stereo", 5, [encode_wav(stereo, 16_000)])
    extra += audio_record("odd/files", 5, others, ["flac", "noise", "page", "nothing"])
    logs.write(logdir, "extra", extra)


def audio_record(tag: str, step: int, clips: Sequence[bytes], labels: Sequence[str] = ()) -> bytes:
    value = summary.audio(tag, list(clips), list(labels))
    return encode_record(encode_event(1.7e9 + step, step, [value]))


def _tone(hertz: float) -> Float64:
    time = np.arange(int(SAMPLE_RATE * SECONDS)) / SAMPLE_RATE
    return np.asarray(0.5 * np.sin(2 * np.pi * hertz * time) * np.exp(-time / 3))


# ---- locators

#: Record the audio elements that play; they are not attached to the document. They play slowly, so
#: that no clip of 4 seconds ends while a busy machine runs the steps of a test.
RECORD_PLAYING = """
window.sounding = new Set();
const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () {
  window.sounding.add(this);
  this.playbackRate = 0.25;
  return play.call(this);
};
"""


def card(page: Page, tag: str) -> Locator:
    return page.get_by_role("article", name=tag)


def clip(page: Page, tag: str, run: str, part: int = 0) -> Locator:
    return card(page, tag).locator(f'[data-run="{run}"] > .clip').nth(part)


def waveform(page: Page, tag: str, run: str, part: int = 0) -> Locator:
    return clip(page, tag, run, part).get_by_role("slider")


def drawn_waveform(
    page: Page, tag: str, run: str, part: int = 0, what: str = "wave tones"
) -> Locator:
    """Return the chart of a clip once it is drawn."""
    chart = waveform(page, tag, run, part)
    expect(chart).to_have_attribute("data-drawn", what)
    return chart


def play_button(page: Page, tag: str, run: str, part: int = 0) -> Locator:
    return clip(page, tag, run, part).locator("button").first


def read_position(page: Page) -> float:
    """Return the playback position in seconds, as shown in the toolbar."""
    minutes, seconds = page.get_by_label("Playback position", exact=True).inner_text().split(":")
    return 60 * int(minutes) + float(seconds)


def wait_for_position(page: Page, above: float) -> None:
    page.wait_for_function(
        """above => {
            const text = document.querySelector('[aria-label="Playback position"]');
            const [minutes, seconds] = (text?.textContent ?? '0:0').split(':').map(Number);
            return 60 * minutes + seconds > above;
        }""",
        arg=above,
    )
