"""Where most of the numbers of a chart are, so that a few far ones do not hide their shape.

One weight in ten thousand that is a hundred times as large, or a last step before everything became
infinite, would leave all others in one bin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.dashboards.histograms.bins import Reach
from tracklight.dashboards.histograms.percentiles import find_percentiles
from tracklight.formats.histograms import Histograms

#: In hundredths of a percent: so many numbers of a step may lie beyond either end.
_TAILS = np.array([40.0, 9960.0])
#: A step that spreads so many times as wide as three in four of them is an outlier itself.
_MUCH_WIDER = 2.5
_MOST_STEPS = 75
#: Where all of it is at most so many times as wide as its core, all of it is shown.
_HARDLY_WIDER = 1.6
_ROOM = 0.04


def find_core(parts: Sequence[Histograms], reach: Reach) -> Reach:
    """The part of a reach that holds nearly all numbers of nearly all steps."""
    low, high = np.concatenate([find_percentiles(part, _TAILS) for part in parts]).T
    finite = np.isfinite(low) & np.isfinite(high)
    low, high = low[finite], high[finite]
    width = high - low
    if not len(width):
        return reach
    usual = width <= _MUCH_WIDER * np.percentile(width, _MOST_STEPS)
    if not usual.any() or width.max() == 0:
        return reach
    start, stop = float(low[usual].min()), float(high[usual].max())
    if not stop > start or reach[1] - reach[0] <= _HARDLY_WIDER * (stop - start):
        return reach
    room = _ROOM * (stop - start)
    return max(reach[0], start - room), min(reach[1], stop + room)
