"""Which Python code ran while nothing else was recorded.

Frames are recorded by PyTorch (with stacks), by JAX, and by the built-in sampler, which also names
lines. They enclose ops, so they do not count as work of their own, but explain the time between.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import (
    find_largest,
    intersect_intervals,
    merge_intervals,
    merge_spans,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

_PYTHON_CATEGORY = "python_function"
#: Only the longest gaps are examined, at several times each.
_MAX_GAPS = 400
_TIMES_PER_GAP = 5
#: Nested frames that ended before the time in question.
_MAX_SKIPPED_FRAMES = 2_000


class GapFrames(NamedTuple):
    """What Python did in the gaps between other events."""

    share: float
    """Share of the gaps in which any Python frame ran."""
    longest: int
    """The frame in which most of that time was spent; -1 for none."""


def mask_python_frames(trace: Trace) -> Bool:
    """Return a mask of the Python functions and lines on the host."""
    is_frame = trace.match_names(lambda name: name.startswith("$"))
    return (is_frame | trace.match_categories(_PYTHON_CATEGORY)) & ~trace.on_device


def find_gap_frames(trace: Trace, known: Bool, spans: Int64) -> GapFrames:
    """Return the innermost Python frames that ran while no known event did.

    Args:
        trace: The trace.
        known: Mask of the events that explain the time themselves.
        spans: Interval set to look at.
    """
    frames = np.flatnonzero(mask_python_frames(trace))
    gaps = _find_gaps(trace, known, spans)
    if not len(frames) or not len(gaps):
        return GapFrames(0.0, -1)
    # The thread whose frames cover most of the time is the one that drives the program.
    time = np.bincount(trace.track[frames], trace.duration_ps[frames].astype(float))
    frames = frames[trace.track[frames] == np.argmax(time)]
    gaps = gaps[find_largest(gaps[:, 1] - gaps[:, 0], _MAX_GAPS)]
    starts, ends = trace.start_ps[frames], trace.end_ps[frames]
    length = gaps[:, 1] - gaps[:, 0]
    parts = np.arange(1, 2 * _TIMES_PER_GAP, 2)
    times = gaps[:, :1] + length[:, np.newaxis] * parts // (2 * _TIMES_PER_GAP)
    weight = np.repeat(length // _TIMES_PER_GAP, _TIMES_PER_GAP)
    positions = _find_innermost(starts, ends, times.ravel())
    weights: Counter[int] = Counter()
    by_name: Counter[int] = Counter()
    for position, each in zip(positions.tolist(), weight.tolist(), strict=True):
        if position >= 0:
            frame = int(frames[position])
            weights[frame] += each
            by_name[int(trace.name[frame])] += each
    total = int(weight.sum())
    if not total or not weights:
        return GapFrames(0.0, -1)
    name = by_name.most_common(1)[0][0]
    longest = max((frame for frame in weights if trace.name[frame] == name), key=weights.get)  # type: ignore[arg-type]
    return GapFrames(sum(weights.values()) / total, longest)


def _find_gaps(trace: Trace, known: Bool, spans: Int64) -> Int64:
    """Return when no known event ran, as an interval set within spans."""
    window = merge_intervals(spans)
    if not len(window):
        return window
    busy = merge_spans(trace.start_ps[known], trace.end_ps[known])
    edges = np.concatenate([[window[0, 0]], busy.ravel(), [window[-1, 1]]])
    return intersect_intervals(merge_intervals(edges.reshape(-1, 2)), window)


def _find_innermost(starts: Int64, ends: Int64, times_ps: Int64) -> Int64:
    """Return the position of the last frame to start of those that run at each time, -1 for none.

    Frames are sorted by start.
    """
    position = np.searchsorted(starts, times_ps, "right") - 1
    first = position - _MAX_SKIPPED_FRAMES
    pending = np.arange(len(times_ps))
    while len(pending):
        at = position[pending]
        is_over = (at >= 0) & (at > first[pending]) & (ends[at] <= times_ps[pending])
        pending = pending[is_over]
        position[pending] -= 1
    is_found = (position >= 0) & (position > first)
    is_found[is_found] = ends[position[is_found]] > times_ps[is_found]
    return np.where(is_found, position, -1)
