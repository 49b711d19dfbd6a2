"""The Audio dashboard: play audio clips and show their waveforms and spectrograms.

* This module: the routes, and the description of clips.
* `schemas`: requests and responses.
* `signals`: waveforms and spectrograms of WAV files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media import (
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    export_values,
    has_fingerprint,
    list_steps,
    value_path,
)
from tracklight.analysis.source import Sentence
from tracklight.dashboards.audio.schemas import (
    ClipInfo,
    ClipRequest,
    ClipsResponse,
    SpectrogramRequest,
    SpectrogramResponse,
    WaveformRequest,
    WaveformResponse,
)
from tracklight.dashboards.audio.signals import compute_spectrogram, compute_waveform, select_frames
from tracklight.errors import FormatError, LogError, Message, find_message
from tracklight.formats import values
from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, parse_wav, sniff_media_type
from tracklight.plugin import Blob, Context, Dashboard, Route

#: Only the first clips of a value are described.
_MAX_CLIPS = 1000
#: Longer labels are truncated.
_MAX_LABEL_CHARACTERS = 2000

_WAV = "audio/wav"
#: Media types that a browser may be able to play.
_ENCODING_NAMES = {
    "audio/mpeg": "MP3",
    "audio/aac": "AAC",
    "audio/flac": "FLAC",
    "audio/ogg": "Ogg",
    "audio/mp4": "MP4",
    "video/mp4": "MP4",
    "video/webm": "WebM",
}


class Audio(Dashboard):
    """Serves clips as they were logged, and waveforms and spectrograms of WAV files."""

    name = "audio"
    title = "Audio"
    plugins = ("audio",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._values = ValueReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("about", ValueRequest, self.about, "GET", immutable=has_fingerprint),
            Route("clip", ClipRequest, self.clip, "GET"),
            Route("waveform", WaveformRequest, self.waveform, "GET", immutable=has_fingerprint),
            Route(
                "spectrogram",
                SpectrogramRequest,
                self.spectrogram,
                "GET",
                immutable=has_fingerprint,
            ),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(self.context, self.plugins, runs, self._iter_exported)

    def steps(self, request: StepsRequest) -> StepsResponse:
        """List the steps at which clips were logged."""
        return list_steps(self.context, request)

    def about(self, request: ValueRequest) -> ClipsResponse:
        """Describe the clips of a value: label, encoding, sample rate, duration."""
        value = self._read_value(request)
        shown = range(min(len(value.clips), _MAX_CLIPS))
        return ClipsResponse(len(value.clips), [_describe_clip(value, index) for index in shown])

    def clip(self, request: ClipRequest) -> Blob:
        """Return the file of a clip as it was logged. Supports range requests."""
        content = self._read_clip(request)
        return Blob(content, _get_media_type(content), immutable=has_fingerprint(request))

    def waveform(self, request: WaveformRequest) -> WaveformResponse:
        """Return the minimum, maximum and RMS of a WAV clip for each column of pixels."""
        clip = self._read_clip(request)
        return compute_waveform(select_frames(clip, request.start, request.stop), request)

    def spectrogram(self, request: SpectrogramRequest) -> SpectrogramResponse:
        """Return the level of each frequency of a WAV clip over time, as pixels."""
        clip = self._read_clip(request)
        return compute_spectrogram(select_frames(clip, request.start, request.stop), request)

    def _read_value(self, request: ValueRequest) -> values.Audio:
        value = self._values.read(request)
        if not isinstance(value, values.Audio):
            raise LogError("audio.not_audio", '"{tag}" is not an audio tag', tag=request.tag)
        return value

    def _read_clip(self, request: ClipRequest) -> bytes:
        clips = self._read_value(request).clips
        if request.clip >= len(clips):
            raise LogError(
                "audio.no_clip",
                "no clip {part}: the value has {clips} clips",
                part=request.clip,
                clips=len(clips),
            )
        return clips[request.clip]

    def _iter_exported(self, request: ValueRequest) -> Iterator[tuple[str, object]]:
        """Yield the responses for one value. An exported page draws waveforms by itself."""
        about = self.about(request)
        yield value_path("about", request), about
        for index in range(len(about.clips)):
            clip_request = ClipRequest(
                request.run, request.tag, request.index, request.fingerprint, index
            )
            yield value_path("clip", request, clip=index), self.clip(clip_request)


def _get_media_type(clip: bytes) -> str:
    """Return a media type that a browser only plays, or one that it only saves."""
    media_type = sniff_media_type(clip)
    return media_type if media_type == _WAV or media_type in _ENCODING_NAMES else UNKNOWN_MEDIA_TYPE


def _describe_clip(value: values.Audio, index: int) -> ClipInfo:
    clip, label = value.clips[index], value.labels[index]
    if len(label) > _MAX_LABEL_CHARACTERS:
        label = label[: _MAX_LABEL_CHARACTERS - 1] + "…"
    info = ClipInfo(label=label, bytes=len(clip), content_type=_get_media_type(clip), encoding="")
    if info.content_type == _WAV:
        _add_wav_header(info, clip)
    else:
        _add_logged_properties(info, value)
    return info


def _add_wav_header(info: ClipInfo, clip: bytes) -> None:
    try:
        wav = parse_wav(clip)
    except FormatError as error:
        info.encoding = "WAV"
        info.problem = Sentence.make(find_message(error) or str(error))
        return
    info.encoding = wav.encoding
    info.sample_rate = wav.sample_rate
    info.channels, info.bits, info.frames = wav.channels, wav.bits, wav.frames
    info.duration_s = wav.duration_s
    if not wav.frames:
        info.problem = Sentence.make(Message("audio.no_samples", "the clip has no samples"))


def _add_logged_properties(info: ClipInfo, value: values.Audio) -> None:
    """Describe a file that is not WAV by what the log says about it."""
    encoding = _ENCODING_NAMES.get(info.content_type)
    info.encoding = encoding or "unknown"
    info.sample_rate = value.sample_rate or None
    info.channels, info.frames = value.channels or None, value.frames or None
    if info.sample_rate and info.frames:
        info.duration_s = info.frames / info.sample_rate
    if not info.bytes:
        info.problem = Sentence.make(Message("audio.empty", "the clip is empty"))
    elif encoding:
        info.problem = Sentence.make(
            Message.format(
                "audio.browser_only",
                "only the browser can decode {encoding} ({size:,} bytes)",
                encoding=encoding,
                size=info.bytes,
            )
        )
    else:
        info.problem = Sentence.make(
            Message.format(
                "audio.unknown_type", "{size:,} bytes of an unknown file type", size=info.bytes
            )
        )
