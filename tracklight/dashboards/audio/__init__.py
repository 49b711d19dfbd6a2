"""The Audio dashboard: clips of sound to listen to, to see and to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.audio.answers import ClipsAnswer, SpectrogramAnswer, WaveformAnswer
from tracklight.dashboards.audio.asks import ClipAsk, SpectrogramAsk, WaveformAsk
from tracklight.dashboards.audio.clips import Clips, find_type
from tracklight.dashboards.audio.part import take_part
from tracklight.dashboards.audio.spectrogram import answer_spectrogram
from tracklight.dashboards.audio.waveform import answer_waveform
from tracklight.media.addresses import value_path
from tracklight.media.copies import iter_copies
from tracklight.media.reader import Reader, ValueAsk, has_mark
from tracklight.media.steps import StepsAnswer, StepsAsk, list_steps
from tracklight.plugin import Blob, Context, Dashboard, Route


class Audio(Dashboard):
    """Gives clips as they were logged, and pictures of WAV files computed from their samples."""

    name = "audio"
    title = "Audio"
    plugins = ("audio",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._clips = Clips(Reader(context))

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsAsk, self.steps),
            Route("about", ValueAsk, self.about, "GET", immutable=has_mark),
            Route("clip", ClipAsk, self.clip, "GET"),
            Route("waveform", WaveformAsk, self.waveform, "GET", immutable=has_mark),
            Route("spectrogram", SpectrogramAsk, self.spectrogram, "GET", immutable=has_mark),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, self.plugins, runs, self._iter_copied)

    def steps(self, ask: StepsAsk) -> StepsAnswer:
        """When the clips of some tags were logged."""
        return list_steps(self.context, ask)

    def about(self, ask: ValueAsk) -> ClipsAnswer:
        """What the clips of a value are: labels, sample rates, lengths."""
        return self._clips.describe(ask)

    def clip(self, ask: ClipAsk) -> Blob:
        """The file of a clip as it was logged; parts of it may be asked for by a range."""
        content = self._clips.read(ask)
        return Blob(content, find_type(content), immutable=has_mark(ask))

    def waveform(self, ask: WaveformAsk) -> WaveformAnswer:
        """How far a WAV clip swings, from every sample of each column."""
        return answer_waveform(take_part(self._clips.read(ask), ask.start, ask.stop), ask)

    def spectrogram(self, ask: SpectrogramAsk) -> SpectrogramAnswer:
        """How loud each frequency of a WAV clip is over time, as the pixels of a picture."""
        return answer_spectrogram(take_part(self._clips.read(ask), ask.start, ask.stop), ask)

    def _iter_copied(self, ask: ValueAsk) -> Iterator[tuple[str, object]]:
        """A copy draws the waveforms itself, from the files that it carries."""
        about = self._clips.describe(ask)
        yield value_path("about", ask), about
        for part in range(len(about.clips)):
            clip = self.clip(ClipAsk(ask.run, ask.tag, ask.index, ask.mark, part))
            yield value_path("clip", ask, part=part), clip
