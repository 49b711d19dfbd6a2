"""The tracks in the order in which somebody wants to see them."""

from __future__ import annotations

import re

import msgspec
import numpy as np

from tracklight.profiles.timeline.timeline import Timeline
from tracklight.profiles.trace import Track
from tracklight.types import Float64

_MAIN = re.compile(r"\b(main|python[\d.]*)\b", re.IGNORECASE)


class TrackRow(msgspec.Struct):
    id: int
    process: str
    name: str
    is_device: bool
    is_main: bool
    lanes: int
    events: int
    busy_ps: float
    """How long anything went on in it."""


def list_tracks(timeline: Timeline) -> list[TrackRow]:
    """The main thread, then devices, then other threads, the busiest first.

    Tracks in which nothing happened are left out.
    """
    trace = timeline.trace
    counts = np.bincount(trace.track, minlength=len(trace.tracks)).tolist()
    busy = measure_busy(timeline)
    main = _find_main(trace.tracks, counts)
    rows = [
        TrackRow(
            at,
            track.process,
            track.name,
            track.is_device,
            at == main,
            len(timeline.rows_of(at)),
            counts[at],
            float(busy[at]),
        )
        for at, track in enumerate(trace.tracks)
        if counts[at]
    ]
    return sorted(rows, key=lambda row: _rank(row, trace.tracks[row.id]))


def measure_busy(timeline: Timeline) -> Float64:
    """How long each track did something: as long as its topmost events."""
    trace = timeline.trace
    top = timeline.lane == 0
    weights = trace.duration_ps[top].astype(np.float64)
    busy: Float64 = np.bincount(trace.track[top], weights, len(trace.tracks)).astype(np.float64)
    return busy


def _find_main(tracks: tuple[Track, ...], counts: list[int]) -> int:
    """The thread with the most events, of those that are called so if any is."""
    hosts = [at for at, track in enumerate(tracks) if not track.is_device]
    called = [at for at in hosts if _MAIN.search(tracks[at].name)]
    return max(called or hosts, key=counts.__getitem__, default=-1)


def _rank(row: TrackRow, track: Track) -> tuple[object, ...]:
    if row.is_main:
        return (0,)
    if row.is_device:
        return 1, row.process, track.id, row.id
    return 2, -row.busy_ps, row.id
