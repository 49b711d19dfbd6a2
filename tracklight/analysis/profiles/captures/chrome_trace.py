"""Gathers what events of a trace in Chrome's form say of themselves, one key after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import Interner, StringInterner, unique_inverse
from tracklight.analysis.profiles.captures.metadata import (
    parse_chrome_environment,
    parse_kineto_devices,
)
from tracklight.analysis.profiles.captures.timestamps import (
    iter_implausible_warnings,
    mask_plausible_events,
)
from tracklight.analysis.profiles.trace import FLOAT, INT, TEXT, ArgTable, Trace, Track
from tracklight.errors import FormatError
from tracklight.formats.profiles.chrome_trace import (
    ChromeEvent,
    ChromeEventArgs,
    iter_event_chunks,
    read_trace_header,
)
from tracklight.types import Float64, Int32, Int64

ARG_KEYS = ChromeEventArgs.__struct_fields__

#: How to get each key's value, and what stands in its place where there is none.
_ARG_GETTERS = [(attrgetter(key), getattr(ChromeEventArgs(), key)) for key in ARG_KEYS]

_INT64 = range(-(1 << 63), 1 << 63)


class _DecodedTexts(dict[bytes, int]):
    """The number of a text by its bytes, so that one that comes again is not decoded again."""

    def __init__(self, texts: StringInterner) -> None:
        super().__init__()
        self._texts = texts

    def __missing__(self, content: bytes) -> int:
        place = self[content] = self._texts[content.decode("utf-8", "replace")]
        return place


class ArgTableBuilder:
    def __init__(self) -> None:
        self.texts = StringInterner()
        self._decoded = _DecodedTexts(self.texts)
        nothing = np.empty(0, np.int64)
        self._parts = [
            ArgTable(nothing, nothing.astype(np.int32), nothing.astype(np.uint8), nothing)
        ]

    def add(self, events: Int64, args: list[ChromeEventArgs]) -> None:
        """Take the arguments of some events."""
        for key, (get, absent) in enumerate(_ARG_GETTERS):
            mine, values = _select_present(events, list(map(get, args)), absent)
            if values:
                kind, bits = self._encode(values)
                self._parts.append(ArgTable(mine, np.full(len(mine), key, np.int32), kind, bits))

    def build(self) -> ArgTable:
        return ArgTable(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))

    def _encode(self, values: list[Any]) -> tuple[NDArray[np.uint8], Int64]:
        """Of each value which kind it is, and its bits; mostly all are of one type."""
        types = set(map(type, values))
        if types == {Raw}:
            return _fill_kind(TEXT, len(values)), _look_up_ids(
                self._decoded, map(bytes, values), len(values)
            )
        if types == {str}:
            return _fill_kind(TEXT, len(values)), _look_up_ids(self.texts, values, len(values))
        if types == {float}:
            return _fill_kind(FLOAT, len(values)), np.array(values, np.float64).view(np.int64)
        if types == {int} and min(values) in _INT64 and max(values) in _INT64:
            return _fill_kind(INT, len(values)), np.array(values, np.int64)
        pairs = [self._encode_one(value) for value in values]
        return np.array([kind for kind, _ in pairs], np.uint8), np.array(
            [bits for _, bits in pairs]
        )

    def _encode_one(self, value: Any) -> tuple[int, int]:
        if type(value) is Raw:
            return TEXT, self._decoded[bytes(value)]
        if isinstance(value, int) and value in _INT64:
            return INT, int(value)
        if isinstance(value, float):
            return FLOAT, int(np.float64(value).view(np.int64))
        return TEXT, self.texts[str(value)]


def _select_present(events: Int64, column: list[Any], absent: object) -> tuple[Int64, list[Any]]:
    """The events of which something is said, and what; mostly that is all of them or none."""
    missing = column.count(absent)
    if not missing:
        return events, column
    if missing == len(column):
        return events[:0], []
    there = [value is not absent for value in column]
    return events[there], list(compress(column, there))


def _look_up_ids(places: Mapping[Any, int], keys: Iterable[Any], count: int) -> Int64:
    return np.fromiter(map(places.__getitem__, keys), np.int64, count)


def _fill_kind(kind: int, count: int) -> NDArray[np.uint8]:
    return np.full(count, kind, np.uint8)


# Gathers the events of a trace in Chrome's form into columns, piece by piece.

_PS_PER_US = 1_000_000

_DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})

#: Most events of a trace with stacks are these, and nothing that we keep is said of them.
_PYTHON_CATEGORY = "python_function"

#: Rows that PyTorch adds for the viewer, where nothing ran.
_VIEWER_ONLY_PIDS = frozenset({"Spans", "Traces", "", -1})

#: One field of some events.
Column = list[Any]

_EVENT_GETTERS = [attrgetter(field) for field in ChromeEvent.__struct_fields__ if field != "ph"]


class ChromeTraceBuilder:
    """What was met so far: for each column, one array a piece."""

    def __init__(self) -> None:
        self._names, self._categories, self._args = (
            StringInterner(),
            StringInterner(),
            ArgTableBuilder(),
        )
        self._owners: Interner[tuple[Hashable, Hashable]] = Interner()
        self._metadata_names: dict[tuple[str, Any, Any], str] = {}
        self._open: dict[int, list[ChromeEvent]] = defaultdict(list)
        self._count = 0
        self._rows = [np.empty((0, 3), np.int32)]
        self._times = [np.empty((0, 2))]

    def add(self, events: list[ChromeEvent]) -> None:
        """Take some events; a million of them come along here, so columns are made at once."""
        whole = [event for event in events if event.ph == "X"]
        if len(whole) < len(events):
            whole += self._complete_events([event for event in events if event.ph != "X"])
        if not whole:
            return
        names, categories, pids, tids, starts, durations, args = _iter_fields(whole)
        times = np.column_stack([_parse_numbers(starts), _parse_numbers(durations)])
        owner = self._intern_owners(pids, tids)
        is_nobody = np.array([pid in _VIEWER_ONLY_PIDS for pid, _ in self._owners.interned], bool)
        kept = np.isfinite(times).all(axis=1) & (times[:, 1] >= 0) & ~is_nobody[owner]
        if not kept.all():
            times, owner = times[kept], owner[kept]
            names, categories, args = (
                list(compress(column, kept.tolist())) for column in (names, categories, args)
            )
        name, category = (
            _intern_strings(self._names, names),
            _intern_strings(self._categories, categories),
        )
        self._add_args(category, args)
        self._rows.append(np.column_stack([owner, name, category]))
        self._times.append(times)
        self._count += len(times)

    def _intern_owners(self, pids: Column, tids: Column) -> Int32:
        try:
            return _intern(self._owners, zip(pids, tids, strict=True), len(pids))
        except TypeError:  # numbers of threads that are lists and the like
            owners = zip(map(_make_hashable, pids), map(_make_hashable, tids), strict=True)
            return _intern(self._owners, owners, len(pids))

    def _add_args(self, category: Int32, args: Column) -> None:
        """Keep what is said of events; those of one category mostly say the same things."""
        for each in np.unique(category).tolist():
            if each != self._categories.get(_PYTHON_CATEGORY):
                mine = np.flatnonzero(category == each)
                telling = [at for at in mine.tolist() if args[at] is not None]
                told = [args[at] for at in telling]
                self._args.add(np.array(telling, np.int64) + self._count, told)

    def _complete_events(self, events: list[ChromeEvent]) -> Iterator[ChromeEvent]:
        """Instants, and those whose beginning and end stand apart, as whole events."""
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

    def _end_event(self, event: ChromeEvent) -> Iterator[ChromeEvent]:
        open_ = self._open[self._owners[_get_owner(event)]]
        if open_:
            began = open_.pop()
            start, end = _parse_numbers([began.ts, event.ts]).tolist()
            began.dur = max(end - start, 0.0)
            yield began

    def build(self, base_ns: int, problems: Sequence[str]) -> Trace:
        rows, times = np.concatenate(self._rows), np.concatenate(self._times)
        possible = mask_plausible_events(times[:, 0] * _PS_PER_US, times[:, 1] * _PS_PER_US)
        rows, times = rows[possible], times[possible]
        began_us = float(times[:, 0].min()) if len(times) else 0.0
        start, duration = _us_to_ps(times[:, 0] - began_us), _us_to_ps(times[:, 1])
        used, track = unique_inverse(rows[:, 0])
        order = np.lexsort((-duration, start, track))
        return Trace(
            tracks=tuple(self._iter_tracks(used, self._get_device_owners(rows))),
            names=tuple(self._names.interned),
            categories=tuple(self._categories.interned),
            track=track[order].astype(np.int32),
            name=rows[order, 1],
            category=rows[order, 2],
            start_ps=start[order],
            duration_ps=duration[order],
            arg_keys=ARG_KEYS,
            args=self._args.build().reorder(np.flatnonzero(possible)[order], self._count),
            get_text=self._args.texts.interned.__getitem__,
            start_time_ns=base_ns + int(began_us * 1_000),
            problems=(*problems, *iter_implausible_warnings(possible)),
        )

    def _get_device_owners(self, rows: Int32) -> set[int]:
        kinds = [place for name, place in self._categories.items() if name in _DEVICE_CATEGORIES]
        return set(np.unique(rows[np.isin(rows[:, 2], kinds), 0]).tolist())

    def _iter_tracks(self, owners: Int64, devices: set[int]) -> Iterator[Track]:
        for owner in owners.tolist():
            pid, tid = self._owners.interned[owner]
            process = self._metadata_names.get(("process_name", pid, 0)) or self._get_process_name(
                pid
            )
            name = self._metadata_names.get(("thread_name", pid, tid), str(tid))
            number = tid if isinstance(tid, int) else 0
            yield Track(process or str(pid), name, number, owner in devices)

    def _get_process_name(self, pid: Any) -> str:
        called = self._metadata_names.items()
        named = (
            name for (what, owner, _), name in called if (what, owner) == ("process_name", pid)
        )
        return next(named, "")


def _iter_fields(events: list[ChromeEvent]) -> Iterator[Column]:
    """The fields of some events, one after the other."""
    return (list(map(get, events)) for get in _EVENT_GETTERS)


def _intern_strings(words: StringInterner, values: Column) -> Int32:
    all_texts = set(map(type, values)) == {str}
    return _intern(words, values if all_texts else map(str, values), len(values))


def _intern(places: Interner[Any], things: Iterable[Any], count: int) -> Int32:
    return np.fromiter(map(places.__getitem__, things), np.int32, count)


def _parse_numbers(values: Sequence[Any]) -> Float64:
    """Numbers, and texts that are some; what is neither is NaN."""
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


# Turns a trace of PyTorch's profiler, or any in Chrome's form, into a trace of ours.


def read_chrome_trace(
    path: Path, on_progress: Callable[[float], None] = lambda share: None
) -> Trace:
    """Read a file; one that breaks off gives what stands before that."""
    gathered = ChromeTraceBuilder()
    problems: tuple[str, ...] = ()
    try:
        for piece in iter_event_chunks(path, on_progress):
            gathered.add(piece)
    except FormatError as error:
        problems = (str(error),)
    head = read_trace_header(path)
    base_ns = head.get("baseTimeNanoseconds", 0)
    return replace(
        gathered.build(base_ns if isinstance(base_ns, int) else 0, problems),
        devices=parse_kineto_devices(head.get("deviceProperties")),
        environment=parse_chrome_environment(head),
    )
