"""Traces made by hand: a few events on threads and on one queue of a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.trace import INT, TEXT, ArgTable, Trace, Track

#: The track that is a device's; all others are threads.
DEVICE = 9


class Made(NamedTuple):
    """An event of a track, from a time to another in µs, and what is said of it."""

    track: int
    name: str
    start_us: float
    end_us: float
    said: Mapping[str, int | str] = {}


def make_trace(*events: Made) -> Trace:
    ordered = sorted(events, key=lambda it: (it.track, it.start_us, -it.end_us))
    names = list(dict.fromkeys(event.name for event in ordered))
    keys = list(dict.fromkeys(key for event in ordered for key in event.said))
    texts: list[str] = []
    rows = []
    for at, event in enumerate(ordered):
        for key, value in event.said.items():
            if isinstance(value, str):
                texts.append(value)
                rows.append((at, keys.index(key), TEXT, len(texts) - 1))
            else:
                rows.append((at, keys.index(key), INT, value))
    said = np.array(rows, np.int64).reshape(-1, 4)
    tracks = tuple(Track("/host:CPU", f"thread {at}", at, False) for at in range(DEVICE))
    start_ps = np.array([round(event.start_us * 1e6) for event in ordered], np.int64)
    return Trace(
        tracks=(*tracks, Track("/device:GPU:0", "Stream #1", 1, True)),
        names=tuple(names),
        categories=("",),
        track=np.array([event.track for event in ordered], np.int32),
        name=np.array([names.index(event.name) for event in ordered], np.int32),
        category=np.zeros(len(ordered), np.int32),
        start_ps=start_ps,
        duration_ps=np.array([round(e.end_us * 1e6) for e in ordered], np.int64) - start_ps,
        arg_keys=tuple(keys),
        args=ArgTable(
            said[:, 0], said[:, 1].astype(np.int32), said[:, 2].astype(np.uint8), said[:, 3]
        ),
        get_text=texts.__getitem__,
    )
