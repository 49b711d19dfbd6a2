"""Finds the clips of a value, and says what each of them is."""

from __future__ import annotations

from tracklight.analysis.media.values import ValueReader, ValueRequest
from tracklight.dashboards.audio.schemas import ClipInfo, ClipRequest, ClipsResponse
from tracklight.errors import FormatError, LogError
from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, parse_wav, sniff_media_type
from tracklight.formats.values import Audio

#: Of a value with more clips the first ones are described.
_MAX_CLIPS = 1000
#: A longer label is cut.
_MAX_LABEL_CHARACTERS = 2000

_WAV = "audio/wav"
_ENCODING_NAMES = {
    "audio/mpeg": "MP3",
    "audio/aac": "AAC",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mp4": "MP4",
    "video/mp4": "MP4",
    "video/webm": "WebM",
}


class ClipReader:
    """The clips of a log."""

    def __init__(self, reader: ValueReader) -> None:
        self._reader = reader

    def read_value(self, request: ValueRequest) -> Audio:
        value = self._reader.read(request)
        if not isinstance(value, Audio):
            raise LogError(f'"{request.tag}" holds no sound')
        return value

    def read(self, request: ClipRequest) -> bytes:
        """The file of one clip, as it was logged."""
        clips = self.read_value(request).clips
        if request.part >= len(clips):
            raise LogError(f"this value has {len(clips)} clips, so there is no clip {request.part}")
        return clips[request.part]

    def describe(self, request: ValueRequest) -> ClipsResponse:
        value = self.read_value(request)
        shown = range(min(len(value.clips), _MAX_CLIPS))
        return ClipsResponse(len(value.clips), [_describe(value, part) for part in shown])


def get_clip_media_type(clip: bytes) -> str:
    """The type of a file that can only be listened to, or else be saved."""
    found = sniff_media_type(clip)
    return found if found == _WAV or found in _ENCODING_NAMES else UNKNOWN_MEDIA_TYPE


def _describe(value: Audio, part: int) -> ClipInfo:
    clip, label = value.clips[part], value.labels[part]
    row = ClipInfo(
        label=label
        if len(label) <= _MAX_LABEL_CHARACTERS
        else label[: _MAX_LABEL_CHARACTERS - 1] + "…",
        bytes=len(clip),
        content_type=get_clip_media_type(clip),
        encoding="",
    )
    if row.content_type == _WAV:
        _describe_wav(row, clip)
    else:
        _describe_other(row, value)
    return row


def _describe_wav(row: ClipInfo, clip: bytes) -> None:
    try:
        wav = parse_wav(clip)
    except FormatError as error:
        row.encoding, row.problem = "WAV", str(error)
        return
    row.encoding = wav.encoding
    row.sample_rate = wav.sample_rate
    row.channels, row.bits, row.frames = wav.channels, wav.bits, wav.frames
    row.duration_s = wav.duration_s
    if not wav.frames:
        row.problem = "a clip without a single sample"


def _describe_other(row: ClipInfo, value: Audio) -> None:
    """What a file that is no WAV holds is known to the log at most."""
    name = _ENCODING_NAMES.get(row.content_type)
    row.encoding = name or "unknown"
    row.sample_rate = value.sample_rate or None
    row.channels, row.frames = value.channels or None, value.frames or None
    if row.sample_rate and row.frames:
        row.duration_s = row.frames / row.sample_rate
    kind = f"{name}, which only the browser decodes" if name else "no kind of sound that is known"
    row.problem = f"{row.bytes:,} bytes of {kind}" if row.bytes else "a clip without a single byte"
