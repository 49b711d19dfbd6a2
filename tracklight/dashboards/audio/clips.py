"""Finds the clips of a value, and says what each of them is."""

from __future__ import annotations

from tracklight.dashboards.audio.answers import ClipRow, ClipsAnswer
from tracklight.dashboards.audio.asks import ClipAsk
from tracklight.errors import FormatError, LogError
from tracklight.formats.media_type import UNKNOWN, sniff
from tracklight.formats.values import Audio
from tracklight.formats.wav import open_wav
from tracklight.media.reader import Reader, ValueAsk

#: Of a value with more clips the first ones are described.
_MOST_CLIPS = 1000
#: A longer label is cut.
_MOST_LETTERS = 2000

_WAV = "audio/wav"
_NAMES = {
    "audio/mpeg": "MP3",
    "audio/aac": "AAC",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mp4": "MP4",
    "video/mp4": "MP4",
    "video/webm": "WebM",
}


class Clips:
    """The clips of a log."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read_all(self, ask: ValueAsk) -> Audio:
        value = self._reader.read(ask)
        if not isinstance(value, Audio):
            raise LogError(f'"{ask.tag}" holds no sound')
        return value

    def read(self, ask: ClipAsk) -> bytes:
        """The file of one clip, as it was logged."""
        clips = self.read_all(ask).clips
        if ask.part >= len(clips):
            raise LogError(f"this value has {len(clips)} clips, so there is no clip {ask.part}")
        return clips[ask.part]

    def describe(self, ask: ValueAsk) -> ClipsAnswer:
        value = self.read_all(ask)
        shown = range(min(len(value.clips), _MOST_CLIPS))
        return ClipsAnswer(len(value.clips), [_describe(value, part) for part in shown])


def find_type(clip: bytes) -> str:
    """The type of a file that can only be listened to, or else be saved."""
    found = sniff(clip)
    return found if found == _WAV or found in _NAMES else UNKNOWN


def _describe(value: Audio, part: int) -> ClipRow:
    clip, label = value.clips[part], value.labels[part]
    row = ClipRow(
        label=label if len(label) <= _MOST_LETTERS else label[: _MOST_LETTERS - 1] + "…",
        bytes=len(clip),
        content_type=find_type(clip),
        encoding="",
    )
    if row.content_type == _WAV:
        _describe_wav(row, clip)
    else:
        _describe_other(row, value)
    return row


def _describe_wav(row: ClipRow, clip: bytes) -> None:
    try:
        wav = open_wav(clip)
    except FormatError as error:
        row.encoding, row.problem = "WAV", str(error)
        return
    row.encoding = wav.encoding
    row.sample_rate = wav.sample_rate
    row.channels, row.bits, row.frames = wav.channels, wav.bits, wav.frames
    row.duration_s = wav.duration_s
    if not wav.frames:
        row.problem = "a clip without a single sample"


def _describe_other(row: ClipRow, value: Audio) -> None:
    """What a file that is no WAV holds is known to the log at most."""
    name = _NAMES.get(row.content_type)
    row.encoding = name or "unknown"
    row.sample_rate = value.sample_rate or None
    row.channels, row.frames = value.channels or None, value.frames or None
    if row.sample_rate and row.frames:
        row.duration_s = row.frames / row.sample_rate
    kind = f"{name}, which only the browser decodes" if name else "no kind of sound that is known"
    row.problem = f"{row.bytes:,} bytes of {kind}" if row.bytes else "a clip without a single byte"
