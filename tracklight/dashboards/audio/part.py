"""Some frames of a clip: what a chart shows of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.wav import Wav, open_wav
from tracklight.types import Int64

#: So many channels are drawn: nobody can tell more of them apart, and a header may claim 65,535.
MOST_CHANNELS = 16


@dataclass(frozen=True, slots=True)
class Part:
    """The frames from ``start`` to before ``stop``: at least one."""

    wav: Wav
    start: int
    stop: int

    def divide(self, most: int) -> Int64:
        """The frames at which columns begin, and the end of the last; none is empty."""
        length = self.stop - self.start
        columns = min(most, length)
        edges: Int64 = self.start + np.arange(columns + 1, dtype=np.int64) * length // columns
        return edges


def take_part(clip: bytes, start: int, stop: int | None) -> Part:
    """A part of a WAV file, as much of it as there is."""
    wav = open_wav(clip)
    if not wav.frames:
        raise FormatError("a clip without a single sample")
    stop = wav.frames if stop is None else max(1, min(stop, wav.frames))
    return Part(wav, min(start, stop - 1), stop)
