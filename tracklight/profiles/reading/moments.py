"""Leaves out what is said to have happened when nothing can have.

Some versions of profilers write marks decades ahead, and damaged files anything. One such event
would stretch a capture of seconds over years, and years do not fit into picoseconds of 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tracklight.types import Bool, Float64, Int64

#: Some ten days: no capture is as long, and sums of a few of them still fit.
_MOST_PS = 1e18


def find_possible(start_ps: Float64, duration_ps: Float64 | Int64) -> Bool:
    """Of each event whether it is within days of most others, and no longer than days."""
    if not len(start_ps):
        return np.zeros(0, bool)
    half = (len(start_ps) - 1) // 2
    near: Bool = np.abs(start_ps - np.partition(start_ps, half)[half]) < _MOST_PS
    return near & (duration_ps < _MOST_PS)


def tell_impossible(possible: Bool) -> Iterator[str]:
    count = len(possible) - int(possible.sum())
    if count:
        events = "1 event is" if count == 1 else f"{count:,} events are"
        yield f"{events} left out, as no capture lasts for so many days"
