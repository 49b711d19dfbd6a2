"""Read and write Chrome trace JSON, the format of PyTorch's profiler (Kineto) and Perfetto.

A trace with Python stacks has millions of events, so they are turned into columns chunk by chunk.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress
from math import isfinite, nan
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from tracklight.analysis.profiles import Interner, StringInterner, unique_inverse
from tracklight.analysis.profiles.attribution import pair_handoffs, pair_launches
from tracklight.analysis.profiles.trace import (
    FLOAT,
    INT,
    TEXT,
    ArgTable,
    RecordedCounter,
    Trace,
    Track,
    iter_implausible_warnings,
    mask_plausible_events,
    parse_chrome_environment,
    parse_kineto_devices,
    parse_rank,
    snap_rounded_events,
    sort_events,
)
from tracklight.errors import FormatError, Message, find_message
from tracklight.formats.profiles.chrome_trace import (
    ChromeCounterEvent,
    ChromeEvent,
    ChromeEventArgs,
    EventChunk,
    iter_event_chunks,
    read_trace_header,
)
from tracklight.types import Float64, Int32, Int64

ARG_KEYS = ChromeEventArgs.__struct_fields__

# ---- writing

_PS_PER_US = 1_000_000
_INT64 = range(-(1 << 63), 1 << 63)
#: Counters that are further from the events than this, about eleven days, are damaged.
_MAX_COUNTER_DISTANCE_US = 1e12
_DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})
#: Most events of a trace with stacks. None of their arguments is used.
_PYTHON_CATEGORY = "python_function"
#: Processes that PyTorch adds for its viewer; nothing ran in them.
_VIEWER_ONLY_PIDS = frozenset({"Spans", "Traces", "", -1})
#: The defaults of the arguments, which stand for missing values.
_MISSING = astuple(ChromeEventArgs())

_MAX_TUPLES = 500

#: Values of one field for several events.
Column = Sequence[Any]


def read_chrome_trace(
    path: Path, on_progress: Callable[[float], None] = lambda share: None
) -> Trace:
    """Read a file. A truncated file gives the events before the truncation and a problem."""
    builder = ChromeTraceBuilder()
    problems: tuple[str | Message, ...] = ()
    try:
        for chunk in iter_event_chunks(path, on_progress):
            builder.add(chunk)
    except FormatError as error:
        problems = (find_message(error) or str(error),)
    header = read_trace_header(path)
    base_ns = header.get("baseTimeNanoseconds", 0)
    return replace(
        builder.build(base_ns if isinstance(base_ns, int) else 0, problems),
        is_partial=bool(problems),
        devices=parse_kineto_devices(header.get("deviceProperties")),
        environment=parse_chrome_environment(header),
        rank=parse_rank(header),
    )


class ChromeTraceBuilder:
    """Collect events chunk by chunk and build a trace of them."""

    def __init__(self) -> None:
        self._names = StringInterner()
        self._categories = StringInterner()
        self._args = ArgTableBuilder()
        self._owners: Interner[tuple[Hashable, Hashable]] = Interner()
        """Pairs of a process id and a thread id."""
        self._metadata_names: dict[tuple[str, Any, Any], str] = {}
        """Names of processes and threads, by the kind of metadata event, pid and tid."""
        self._open: dict[int, list[ChromeEvent]] = defaultdict(list)
        """Begin events without an end event yet, by owner."""
        self._count = 0
        self._invalid_count = 0
        """Events without a valid time or duration."""
        # Arrays per chunk: owner, name and category; start and duration in microseconds.
        self._rows = [np.empty((0, 3), np.int32)]
        self._times = [np.empty((0, 2))]
        self._counters: dict[tuple[Hashable, str], dict[str, list[tuple[float, float]]]] = {}
        """Times and values by the process and the name of a counter, and by series."""

    def add(self, chunk: EventChunk) -> None:
        """Add a chunk of events."""
        for counter in chunk.counters:
            self._add_counter(counter)
        events = chunk.events
        complete = [event for event in events if event.ph == "X"]
        if len(complete) < len(events):
            complete += self._complete_events([event for event in events if event.ph != "X"])
        if not complete:
            return
        _, names, categories, pids, tids, starts, durations, args = _get_columns(complete)
        times = np.column_stack([_parse_numbers(starts), _parse_numbers(durations)])
        owner = self._intern_owners(pids, tids)
        is_viewer_only = np.array(
            [pid in _VIEWER_ONLY_PIDS for pid, _ in self._owners.interned], bool
        )
        has_times = np.isfinite(times).all(axis=1) & (times[:, 1] >= 0)
        self._invalid_count += int((~has_times & ~is_viewer_only[owner]).sum())
        is_valid = has_times & ~is_viewer_only[owner]
        if not is_valid.all():
            times, owner = times[is_valid], owner[is_valid]
            names, categories, args = (
                list(compress(column, is_valid.tolist())) for column in (names, categories, args)
            )
        name = _intern_strings(self._names, names)
        category = _intern_strings(self._categories, categories)
        self._add_args(category, args)
        self._rows.append(np.column_stack([owner, name, category]))
        self._times.append(times)
        self._count += len(times)

    def build(self, base_ns: int, problems: Sequence[str | Message]) -> Trace:
        """Return the trace of all events.

        Args:
            base_ns: Unix time that event times are relative to.
            problems: What went wrong while reading.
        """
        rows, times = np.concatenate(self._rows), np.concatenate(self._times)
        is_plausible = mask_plausible_events(times[:, 0] * _PS_PER_US, times[:, 1] * _PS_PER_US)
        rows, times = rows[is_plausible], times[is_plausible]
        first_us = float(times[:, 0].min()) if len(times) else self._get_first_counter_us()
        start, duration = _us_to_ps(times[:, 0] - first_us), _us_to_ps(times[:, 1])
        owners, track = unique_inverse(rows[:, 0])
        device_owners = self._get_device_owners(rows)
        if len(times) and (times == np.rint(times)).all():
            on_host = np.flatnonzero(~np.isin(rows[:, 0], list(device_owners)))
            end = snap_rounded_events(
                track[on_host], start[on_host], start[on_host] + duration[on_host]
            )
            duration[on_host] = end - start[on_host]
        order = sort_events(track, start, duration)
        if order is None:
            order = np.arange(len(start))
        return Trace(
            tracks=tuple(self._iter_tracks(owners, device_owners)),
            names=tuple(self._names.interned),
            categories=tuple(self._categories.interned),
            track=track[order].astype(np.int32),
            name=rows[order, 1],
            category=rows[order, 2],
            start_ps=start[order],
            duration_ps=duration[order],
            arg_keys=ARG_KEYS,
            args=self._args.build().reorder(np.flatnonzero(is_plausible)[order], self._count),
            get_text=self._args.texts.interned.__getitem__,
            start_time_ns=base_ns + int(first_us * 1_000),
            problems=(
                *problems,
                *self._iter_invalid_warnings(),
                *iter_implausible_warnings(is_plausible),
            ),
            counters=tuple(self._iter_counters(first_us)),
        )

    def _add_counter(self, event: ChromeCounterEvent) -> None:
        time_us = _parse_number(event.ts)
        name = str(event.name) if event.id is None else f"{event.name} [{event.id}]"
        for key, number in event.read_series().items():
            value = nan if isinstance(number, bool) else _parse_number(number)
            if isfinite(time_us) and isfinite(value):
                series = self._counters.setdefault((_make_hashable(event.pid), name), {})
                series.setdefault(key, []).append((time_us, value))

    def _get_first_counter_us(self) -> float:
        rows = (row for series in self._counters.values() for row in chain(*series.values()))
        return min((time_us for time_us, _ in rows), default=0.0)

    def _iter_counters(self, first_us: float) -> Iterator[RecordedCounter]:
        for (pid, name), series in self._counters.items():
            process = self._get_process_name(pid) or str(pid)
            for key, rows in series.items():
                times_us, values = np.array(rows).T
                times_us -= first_us
                near = np.flatnonzero(np.abs(times_us) < _MAX_COUNTER_DISTANCE_US)
                order = near[np.argsort(times_us[near], kind="stable")]
                if len(order):
                    yield RecordedCounter(
                        process,
                        name if len(series) == 1 else f"{name}: {key}",
                        _us_to_ps(times_us[order]),
                        values[order],
                    )

    def _iter_invalid_warnings(self) -> Iterator[Message]:
        if self._invalid_count:
            yield Message.format(
                "profile.invalid_times",
                "Ignored events without a valid time or duration: {count:,}",
                count=self._invalid_count,
            )

    def _complete_events(self, events: list[ChromeEvent]) -> Iterator[ChromeEvent]:
        """Yield instant events, and begin events once their end event is found."""
        for event in events:
            if event.ph in ("i", "I"):
                event.dur = 0.0
                yield event
            elif event.ph == "B":
                self._open[self._owners[_get_owner(event)]].append(event)
            elif event.ph == "E":
                yield from self._end_event(event)
            elif event.ph == "M" and event.args and isinstance(event.args.name, str):
                owner = (str(event.name), *_get_owner(event))
                self._metadata_names[owner] = event.args.name

    def _end_event(self, end_event: ChromeEvent) -> Iterator[ChromeEvent]:
        open_events = self._open[self._owners[_get_owner(end_event)]]
        if open_events:
            event = open_events.pop()
            start, end = _parse_numbers([event.ts, end_event.ts]).tolist()
            event.dur = max(end - start, 0.0)
            yield event

    def _intern_owners(self, pids: Column, tids: Column) -> Int32:
        try:
            return _intern(self._owners, zip(pids, tids, strict=True), len(pids))
        except TypeError:  # ids that are lists or objects
            owners = zip(map(_make_hashable, pids), map(_make_hashable, tids), strict=True)
            return _intern(self._owners, owners, len(pids))

    def _add_args(self, category: Int32, args: Column) -> None:
        """Store arguments by category, as events of one category mostly have the same keys."""
        for item in np.unique(category).tolist():
            if item != self._categories.get(_PYTHON_CATEGORY):
                events = np.flatnonzero(category == item).tolist()
                with_args = [event for event in events if args[event] is not None]
                self._args.add(
                    np.array(with_args, np.int64) + self._count,
                    [args[event] for event in with_args],
                )

    def _get_device_owners(self, rows: Int32) -> set[int]:
        ids = [id for name, id in self._categories.items() if name in _DEVICE_CATEGORIES]
        return set(np.unique(rows[np.isin(rows[:, 2], ids), 0]).tolist())

    def _iter_tracks(self, owners: Int64, device_owners: set[int]) -> Iterator[Track]:
        for owner in owners.tolist():
            pid, tid = self._owners.interned[owner]
            process = self._get_process_name(pid) or str(pid)
            name = self._metadata_names.get(("thread_name", pid, tid), str(tid))
            is_device = owner in device_owners
            device = (f"GPU {pid}" if isinstance(pid, int) else str(pid)) if is_device else ""
            yield Track(process, name, tid if isinstance(tid, int) else 0, is_device, device)

    def _get_process_name(self, pid: Any) -> str:
        name = self._metadata_names.get(("process_name", pid, 0))
        if name:
            return name
        names = (
            name
            for (kind, owner, _), name in self._metadata_names.items()
            if (kind, owner) == ("process_name", pid)
        )
        return next(names, "")


class ArgTableBuilder:
    """Collect event arguments, one key after the other."""

    def __init__(self) -> None:
        self.texts = StringInterner()
        self._raw_texts = _RawTextIds(self.texts)
        int64 = np.empty(0, np.int64)
        self._parts = [ArgTable(int64, int64.astype(np.int32), int64.astype(np.uint8), int64)]

    def add(self, events: Int64, args: list[ChromeEventArgs]) -> None:
        columns = _get_columns(args) if args else []
        for key, (column, missing) in enumerate(zip(columns, _MISSING, strict=False)):
            present, values = _select_present(events, column, missing)
            if values:
                kind, bits = self._encode(values)
                keys = np.full(len(present), key, np.int32)
                self._parts.append(ArgTable(present, keys, kind, bits))

    def build(self) -> ArgTable:
        return ArgTable(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))

    def _encode(self, values: Column) -> tuple[NDArray[np.uint8], Int64]:
        """Return the kinds and bits of values, which mostly have the same type."""
        count = len(values)
        types = set(map(type, values))
        if types == {Raw}:
            ids = _look_up_ids(self._raw_texts, map(bytes, values), count)
            return np.full(count, TEXT, np.uint8), ids
        if types == {str}:
            return np.full(count, TEXT, np.uint8), _look_up_ids(self.texts, values, count)
        if types == {float}:
            return np.full(count, FLOAT, np.uint8), np.array(values, np.float64).view(np.int64)
        if types == {int} and min(values) in _INT64 and max(values) in _INT64:
            return np.full(count, INT, np.uint8), np.array(values, np.int64)
        kinds, bits = zip(*map(self._encode_one, values), strict=True)
        return np.array(kinds, np.uint8), np.array(bits)

    def _encode_one(self, value: Any) -> tuple[int, int]:
        if type(value) is Raw:
            return TEXT, self._raw_texts[bytes(value)]
        if isinstance(value, int) and value in _INT64:
            return INT, int(value)
        if isinstance(value, float):
            return FLOAT, int(np.float64(value).view(np.int64))
        return TEXT, self.texts[str(value)]


class _RawTextIds(dict[bytes, int]):
    """Ids of texts by their raw bytes, so that each is decoded once."""

    def __init__(self, texts: StringInterner) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, content: bytes) -> int:
        id = self[content] = self._texts[content.decode("utf-8", "replace")]
        return id


def _select_present(events: Int64, column: Column, missing: object) -> tuple[Int64, Column]:
    """Return the events with a value, and the values. Mostly all or none have one."""
    missing_count = column.count(missing)
    if not missing_count:
        return events, column
    if missing_count == len(column):
        return events[:0], []
    is_present = [value is not missing for value in column]
    return events[is_present], list(compress(column, is_present))


def _look_up_ids(ids: Mapping[Any, int], keys: Iterable[Any], count: int) -> Int64:
    return np.fromiter(map(ids.__getitem__, keys), np.int64, count)


def _get_columns(rows: Sequence[Struct]) -> list[Column]:
    """Return the values of each field of some structs."""
    columns: list[list[Any]] = [[] for _ in rows[0].__struct_fields__]
    # One tuple per row is faster than a call per row and field, unless there are so many at a time
    # that the garbage collector starts.
    for first in range(0, len(rows), _MAX_TUPLES):
        tuples = map(astuple, rows[first : first + _MAX_TUPLES])
        for column, values in zip(columns, zip(*tuples, strict=True), strict=True):
            column += values
    return [*columns]


def _intern_strings(interner: StringInterner, values: Column) -> Int32:
    all_strings = set(map(type, values)) == {str}
    return _intern(interner, values if all_strings else map(str, values), len(values))


def _intern(interner: Interner[Any], values: Iterable[Any], count: int) -> Int32:
    return np.fromiter(map(interner.__getitem__, values), np.int32, count)


def _parse_numbers(values: Sequence[Any]) -> Float64:
    """Return numbers and the numbers in texts; NaN for anything else."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.array([_parse_number(value) for value in values])


def _parse_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _us_to_ps(us: Float64) -> Int64:
    return np.rint(us * _PS_PER_US).astype(np.int64)


def _get_owner(event: ChromeEvent) -> tuple[Hashable, Hashable]:
    return _make_hashable(event.pid), _make_hashable(event.tid)


def _make_hashable(value: Any) -> Hashable:
    return value if isinstance(value, (int, float, str)) else str(value)


_EVENTS_PER_CHUNK = 5_000


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
