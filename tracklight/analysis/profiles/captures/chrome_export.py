"""Write a trace in the Chrome trace format, which Perfetto and other viewers open."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from tracklight.analysis.profiles.attribution.launches import pair_handoffs, pair_launches
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
    # Streams of a device may have the same process name as the threads that use it.
    owners = [(track.process, track.device) for track in trace.tracks]
    pid_of = {owner: pid for pid, owner in enumerate(dict.fromkeys(owners))}
    counter_pids = {process: pid for (process, _), pid in reversed(pid_of.items())}
    for counter in trace.counters:
        if counter.process not in counter_pids:
            counter_pids[counter.process] = pid_of[counter.process, ""] = len(pid_of)
    yield [
        {
            "ph": "M",
            "name": "process_name",
            "pid": pid,
            "args": {"name": device if device and device != process else process},
        }
        for (process, device), pid in pid_of.items()
    ]
    yield [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": pid_of[owner],
            "tid": tid,
            "args": {"name": track.name},
        }
        for tid, (owner, track) in enumerate(zip(owners, trace.tracks, strict=True))
    ]
    pids = [pid_of[owner] for owner in owners]
    # Rows of arguments are unordered. Sort them once, so that those of an event are a slice.
    order = np.argsort(trace.args.event, kind="stable")
    ends = np.searchsorted(trace.args.event[order], np.arange(len(trace) + 1))
    for first in range(0, len(trace), _EVENTS_PER_CHUNK):
        events = range(first, min(first + _EVENTS_PER_CHUNK, len(trace)))
        yield [
            _make_event(trace, event, pids, order[ends[event] : ends[event + 1]])
            for event in events
        ]
    for counter in trace.counters:
        times_us = (counter.times_ps / _PS_PER_US).tolist()
        pid = counter_pids[counter.process]
        yield [
            {"ph": "C", "name": counter.name, "pid": pid, "ts": ts, "args": {"value": value}}
            for ts, value in zip(times_us, counter.values.tolist(), strict=True)
        ]
    launches, launched = pair_launches(trace)
    handoffs = pair_handoffs(trace)
    source = np.concatenate([launches, handoffs.source]).tolist()
    target = np.concatenate([launched, handoffs.target]).tolist()
    for first in range(0, len(source), _EVENTS_PER_CHUNK):
        rows = range(first, min(first + _EVENTS_PER_CHUNK, len(source)))
        yield [
            _make_flow_end(trace, event, pids, id, ends)
            for id in rows
            for event, ends in ((source[id], False), (target[id], True))
        ]


def _make_flow_end(
    trace: Trace, event: int, pids: list[int], id: int, ends: bool
) -> dict[str, Any]:
    """Return the start or the end of an arrow, bound to the event that begins there."""
    track = int(trace.track[event])
    fields: dict[str, Any] = {
        "ph": "f" if ends else "s",
        "id": id,
        "name": "flow",
        "cat": "flow",
        "pid": pids[track],
        "tid": track,
        "ts": int(trace.start_ps[event]) / _PS_PER_US,
    }
    return {**fields, "bp": "e"} if ends else fields


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
