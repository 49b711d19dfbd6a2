"""Gathers the events of a trace in Chrome's form into columns, piece by piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

import numpy as np

from tracklight.formats.chrome_trace import ChromeEvent
from tracklight.profiles.columns.numbering import number
from tracklight.profiles.reading.moments import find_possible, tell_impossible
from tracklight.profiles.reading.saying import KEYS, Saying
from tracklight.profiles.reading.words import Places, Words
from tracklight.profiles.trace import Trace, Track
from tracklight.types import Float64, Int32, Int64

_US = 1_000_000
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})
#: Most events of a trace with stacks are these, and nothing that we keep is said of them.
_PYTHON = "python_function"
#: Rows that PyTorch adds for the viewer, where nothing ran.
_NOBODY = frozenset({"Spans", "Traces", "", -1})
#: One field of some events.
Column = list[Any]
_GETTERS = [attrgetter(field) for field in ChromeEvent.__struct_fields__ if field != "ph"]


class Gathered:
    """What was met so far: for each column, one array a piece."""

    def __init__(self) -> None:
        self._names, self._categories, self._saying = Words(), Words(), Saying()
        self._owners: Places[tuple[Hashable, Hashable]] = Places()
        self._called: dict[tuple[str, Any, Any], str] = {}
        self._open: dict[int, list[ChromeEvent]] = defaultdict(list)
        self._count = 0
        self._rows = [np.empty((0, 3), np.int32)]
        self._times = [np.empty((0, 2))]

    def add(self, events: list[ChromeEvent]) -> None:
        """Take some events; a million of them come along here, so columns are made at once."""
        whole = [event for event in events if event.ph == "X"]
        if len(whole) < len(events):
            whole += self._mend([event for event in events if event.ph != "X"])
        if not whole:
            return
        names, categories, pids, tids, starts, durations, args = _turn(whole)
        times = np.column_stack([_take_numbers(starts), _take_numbers(durations)])
        owner = self._take_owners(pids, tids)
        is_nobody = np.array([pid in _NOBODY for pid, _ in self._owners.all], bool)
        kept = np.isfinite(times).all(axis=1) & (times[:, 1] >= 0) & ~is_nobody[owner]
        if not kept.all():
            times, owner = times[kept], owner[kept]
            names, categories, args = (
                list(compress(column, kept.tolist())) for column in (names, categories, args)
            )
        name, category = _take_words(self._names, names), _take_words(self._categories, categories)
        self._hear(category, args)
        self._rows.append(np.column_stack([owner, name, category]))
        self._times.append(times)
        self._count += len(times)

    def _take_owners(self, pids: Column, tids: Column) -> Int32:
        try:
            return _look_up(self._owners, zip(pids, tids, strict=True), len(pids))
        except TypeError:  # numbers of threads that are lists and the like
            owners = zip(map(_name, pids), map(_name, tids), strict=True)
            return _look_up(self._owners, owners, len(pids))

    def _hear(self, category: Int32, args: Column) -> None:
        """Keep what is said of events; those of one category mostly say the same things."""
        for each in np.unique(category).tolist():
            if each != self._categories.get(_PYTHON):
                mine = np.flatnonzero(category == each)
                telling = [at for at in mine.tolist() if args[at] is not None]
                told = [args[at] for at in telling]
                self._saying.add(np.array(telling, np.int64) + self._count, told)

    def _mend(self, events: list[ChromeEvent]) -> Iterator[ChromeEvent]:
        """Instants, and those whose beginning and end stand apart, as whole events."""
        for event in events:
            if event.ph in ("i", "I"):
                event.dur = 0.0
                yield event
            elif event.ph == "B":
                self._open[self._owners[_name_owner(event)]].append(event)
            elif event.ph == "E":
                yield from self._end(event)
            elif event.ph == "M" and event.args and isinstance(event.args.name, str):
                owner = (str(event.name), *_name_owner(event))
                self._called[owner] = event.args.name

    def _end(self, event: ChromeEvent) -> Iterator[ChromeEvent]:
        open_ = self._open[self._owners[_name_owner(event)]]
        if open_:
            began = open_.pop()
            start, end = _take_numbers([began.ts, event.ts]).tolist()
            began.dur = max(end - start, 0.0)
            yield began

    def make_trace(self, base_ns: int, problems: Sequence[str]) -> Trace:
        rows, times = np.concatenate(self._rows), np.concatenate(self._times)
        possible = find_possible(times[:, 0] * _US, times[:, 1] * _US)
        rows, times = rows[possible], times[possible]
        began_us = float(times[:, 0].min()) if len(times) else 0.0
        start, duration = _count_ps(times[:, 0] - began_us), _count_ps(times[:, 1])
        used, track = number(rows[:, 0])
        order = np.lexsort((-duration, start, track))
        return Trace(
            tracks=tuple(self._iter_tracks(used, self._find_devices(rows))),
            names=tuple(self._names.all),
            categories=tuple(self._categories.all),
            track=track[order].astype(np.int32),
            name=rows[order, 1],
            category=rows[order, 2],
            start_ps=start[order],
            duration_ps=duration[order],
            keys=KEYS,
            said=self._saying.make().move(np.flatnonzero(possible)[order], self._count),
            read_text=self._saying.texts.all.__getitem__,
            began_ns=base_ns + int(began_us * 1_000),
            problems=(*problems, *tell_impossible(possible)),
        )

    def _find_devices(self, rows: Int32) -> set[int]:
        kinds = [place for name, place in self._categories.items() if name in _DEVICE]
        return set(np.unique(rows[np.isin(rows[:, 2], kinds), 0]).tolist())

    def _iter_tracks(self, owners: Int64, devices: set[int]) -> Iterator[Track]:
        for owner in owners.tolist():
            pid, tid = self._owners.all[owner]
            process = self._called.get(("process_name", pid, 0)) or self._find_process(pid)
            name = self._called.get(("thread_name", pid, tid), str(tid))
            number = tid if isinstance(tid, int) else 0
            yield Track(process or str(pid), name, number, owner in devices)

    def _find_process(self, pid: Any) -> str:
        called = self._called.items()
        named = (
            name for (what, owner, _), name in called if (what, owner) == ("process_name", pid)
        )
        return next(named, "")


def _turn(events: list[ChromeEvent]) -> Iterator[Column]:
    """The fields of some events, one after the other."""
    return (list(map(get, events)) for get in _GETTERS)


def _take_words(words: Words, values: Column) -> Int32:
    all_texts = set(map(type, values)) == {str}
    return _look_up(words, values if all_texts else map(str, values), len(values))


def _look_up(places: Places[Any], things: Iterable[Any], count: int) -> Int32:
    return np.fromiter(map(places.__getitem__, things), np.int32, count)


def _take_numbers(values: Sequence[Any]) -> Float64:
    """Numbers, and texts that are some; what is neither is NaN."""
    try:
        return np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError, OverflowError):
        return np.array([_as_number(value) for value in values])


def _as_number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _count_ps(us: Float64) -> Int64:
    return np.rint(us * _US).astype(np.int64)


def _name_owner(event: ChromeEvent) -> tuple[Hashable, Hashable]:
    return _name(event.pid), _name(event.tid)


def _name(value: Any) -> Hashable:
    return value if isinstance(value, (int, float, str)) else str(value)
