"""The Audio dashboard: clips of sound to listen to, to see and to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.analysis.media.static_export import export_values, value_path
from tracklight.analysis.media.values import (
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    has_fingerprint,
    list_steps,
)
from tracklight.dashboards.audio.clips import ClipReader, get_clip_media_type
from tracklight.dashboards.audio.schemas import (
    ClipRequest,
    ClipsResponse,
    SpectrogramRequest,
    SpectrogramResponse,
    WaveformRequest,
    WaveformResponse,
)
from tracklight.dashboards.audio.signals import compute_spectrogram, compute_waveform, select_frames
from tracklight.plugin import Blob, Context, Dashboard, Route


class Audio(Dashboard):
    """Gives clips as they were logged, and pictures of WAV files computed from their samples."""

    name = "audio"
    title = "Audio"
    plugins = ("audio",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._clips = ClipReader(ValueReader(context))

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
        return export_values(self.context, self.plugins, runs, self._iter_copied)

    def steps(self, ask: StepsRequest) -> StepsResponse:
        """When the clips of some tags were logged."""
        return list_steps(self.context, ask)

    def about(self, ask: ValueRequest) -> ClipsResponse:
        """What the clips of a value are: labels, sample rates, lengths."""
        return self._clips.describe(ask)

    def clip(self, ask: ClipRequest) -> Blob:
        """The file of a clip as it was logged; parts of it may be asked for by a range."""
        content = self._clips.read(ask)
        return Blob(content, get_clip_media_type(content), immutable=has_fingerprint(ask))

    def waveform(self, ask: WaveformRequest) -> WaveformResponse:
        """How far a WAV clip swings, from every sample of each column."""
        return compute_waveform(select_frames(self._clips.read(ask), ask.start, ask.stop), ask)

    def spectrogram(self, ask: SpectrogramRequest) -> SpectrogramResponse:
        """How loud each frequency of a WAV clip is over time, as the pixels of a picture."""
        return compute_spectrogram(select_frames(self._clips.read(ask), ask.start, ask.stop), ask)

    def _iter_copied(self, ask: ValueRequest) -> Iterator[tuple[str, object]]:
        """A copy draws the waveforms itself, from the files that it carries."""
        about = self._clips.describe(ask)
        yield value_path("about", ask), about
        for part in range(len(about.clips)):
            clip = self.clip(ClipRequest(ask.run, ask.tag, ask.index, ask.mark, part))
            yield value_path("clip", ask, part=part), clip
