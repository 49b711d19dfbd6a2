"""Build small traces: events on threads and one stream of a device, or files of any events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.trace import INT, TEXT, ArgTable, Trace, Track

#: The track of the device. All others are threads.
DEVICE = 9


class EventSpec(NamedTuple):
    """An event of a track and its arguments."""

    track: int
    name: str
    start_us: float
    end_us: float
    args: Mapping[str, int | str] = {}


def open_chrome(path: Path, events: Iterable[Mapping[str, Any]]) -> Trace:
    """Write events in the Chrome format and open the file.

    Unless they say otherwise, they are complete events of one thread.
    """
    rows = [{"ph": "X", "pid": 1, "tid": 1, **event} for event in events]
    path.write_text(json.dumps({"traceEvents": rows}), encoding="utf-8")
    return open_capture(path)


def make_trace(*events: EventSpec) -> Trace:
    ordered = sorted(events, key=lambda event: (event.track, event.start_us, -event.end_us))
    names = list(dict.fromkeys(event.name for event in ordered))
    keys = list(dict.fromkeys(key for event in ordered for key in event.args))
    texts: list[str] = []
    rows = []
    for number, event in enumerate(ordered):
        for key, value in event.args.items():
            if isinstance(value, str):
                texts.append(value)
                rows.append((number, keys.index(key), TEXT, len(texts) - 1))
            else:
                rows.append((number, keys.index(key), INT, value))
    args = np.array(rows, np.int64).reshape(-1, 4)
    tracks = tuple(Track("/host:CPU", f"thread {id}", id, False) for id in range(DEVICE))
    start_ps = np.array([round(event.start_us * 1e6) for event in ordered], np.int64)
    return Trace(
        tracks=(*tracks, Track("/device:GPU:0", "Stream #1", 1, True, "/device:GPU:0")),
        names=tuple(names),
        categories=("",),
        track=np.array([event.track for event in ordered], np.int32),
        name=np.array([names.index(event.name) for event in ordered], np.int32),
        category=np.zeros(len(ordered), np.int32),
        start_ps=start_ps,
        duration_ps=np.array([round(e.end_us * 1e6) for e in ordered], np.int64) - start_ps,
        arg_keys=tuple(keys),
        args=ArgTable(
            args[:, 0], args[:, 1].astype(np.int32), args[:, 2].astype(np.uint8), args[:, 3]
        ),
        get_text=texts.__getitem__,
    )
