"""Small traces that are made up for tests."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracklight.analysis.profiles.trace import ArgTable, Trace, Track, make_empty_trace

#: A track, a name, a start and a duration.
Event = tuple[int, str, int, int]

__all__ = ["Event", "make_empty_trace", "make_trace"]


def make_trace(events: Iterable[Event], devices: Iterable[int] = ()) -> Trace:
    """A trace of these events, in the order that traces have."""
    rows = sorted(events, key=lambda event: (event[0], event[2], -event[3]))
    names = sorted({name for _, name, _, _ in rows})
    count = max((track for track, *_ in rows), default=-1) + 1
    on_device = set(devices)
    nothing = np.empty(0, np.int64)
    return Trace(
        tracks=tuple(Track("p", f"thread {at}", at, at in on_device) for at in range(count)),
        names=tuple(names),
        categories=("",),
        track=np.array([track for track, *_ in rows], np.int32),
        name=np.array([names.index(name) for _, name, _, _ in rows], np.int32),
        category=np.zeros(len(rows), np.int32),
        start_ps=np.array([start for *_, start, _ in rows], np.int64),
        duration_ps=np.array([duration for *_, duration in rows], np.int64),
        arg_keys=(),
        args=ArgTable(nothing, nothing.astype(np.int32), nothing.astype(np.uint8), nothing),
        get_text=str,
    )
