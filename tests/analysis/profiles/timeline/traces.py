"""Small traces for tests of the timeline."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracklight.analysis.profiles.trace import ArgTable, Trace, Track, make_empty_trace

#: Track, name, start and duration.
Event = tuple[int, str, int, int]

__all__ = ["Event", "make_empty_trace", "make_trace"]


def make_trace(events: Iterable[Event], devices: Iterable[int] = ()) -> Trace:
    """Return a trace of events, sorted as traces are."""
    rows = sorted(events, key=lambda event: (event[0], event[2], -event[3]))
    names = sorted({name for _, name, _, _ in rows})
    count = max((track for track, *_ in rows), default=-1) + 1
    on_device = set(devices)
    empty = np.empty(0, np.int64)
    return Trace(
        tracks=tuple(Track("p", f"thread {id}", id, id in on_device) for id in range(count)),
        names=tuple(names),
        categories=("",),
        track=np.array([track for track, *_ in rows], np.int32),
        name=np.array([names.index(name) for _, name, _, _ in rows], np.int32),
        category=np.zeros(len(rows), np.int32),
        start_ps=np.array([start for *_, start, _ in rows], np.int64),
        duration_ps=np.array([duration for *_, duration in rows], np.int64),
        arg_keys=(),
        args=ArgTable(empty, empty.astype(np.int32), empty.astype(np.uint8), empty),
        get_text=str,
    )
