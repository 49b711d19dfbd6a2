"""Write a trace in the Chrome trace format, which Perfetto and other viewers open."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Int64

_EVENTS_PER_CHUNK = 5_000
_PS_PER_US = 1e6


def iter_chrome_trace(trace: Trace) -> Iterator[bytes]:
    """Yield the chunks of a gzip-compressed JSON file."""
    compressor = zlib.compressobj(6, wbits=31)
    for text in _iter_json(trace):
        yield compressor.compress(text)
    yield compressor.flush()


def _iter_json(trace: Trace) -> Iterator[bytes]:
    yield b'{"displayTimeUnit":"ms","traceEvents":['
    separator = b""
    for events in _iter_event_lists(trace):
        if events:
            yield separator + msgspec.json.encode(events)[1:-1]
            separator = b",\n"
    yield b"]}"


def _iter_event_lists(trace: Trace) -> Iterator[list[dict[str, Any]]]:
    processes = dict.fromkeys(track.process for track in trace.tracks)
    pid_of = {process: pid for pid, process in enumerate(processes)}
    yield [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}}
        for process, pid in pid_of.items()
    ]
    yield [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": pid_of[track.process],
            "tid": tid,
            "args": {"name": track.name},
        }
        for tid, track in enumerate(trace.tracks)
    ]
    pids = [pid_of[track.process] for track in trace.tracks]
    # Rows of arguments are unordered. Sort them once, so that those of an event are a slice.
    order = np.argsort(trace.args.event, kind="stable")
    ends = np.searchsorted(trace.args.event[order], np.arange(len(trace) + 1))
    for first in range(0, len(trace), _EVENTS_PER_CHUNK):
        events = range(first, min(first + _EVENTS_PER_CHUNK, len(trace)))
        yield [
            _make_event(trace, event, pids, order[ends[event] : ends[event + 1]])
            for event in events
        ]


def _make_event(trace: Trace, event: int, pids: list[int], arg_rows: Int64) -> dict[str, Any]:
    track = int(trace.track[event])
    fields = {
        "ph": "X",
        "name": trace.names[trace.name[event]],
        "cat": trace.categories[trace.category[event]],
        "pid": pids[track],
        "tid": track,
        "ts": int(trace.start_ps[event]) / _PS_PER_US,
        "dur": int(trace.duration_ps[event]) / _PS_PER_US,
    }
    if len(arg_rows):
        fields["args"] = trace.get_args_of_rows(arg_rows)
    return fields
