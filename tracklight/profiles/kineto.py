"""Turns a trace of PyTorch's profiler, or any in Chrome's form, into a trace of ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Raw
from msgspec.structs import astuple

from tracklight.errors import FormatError
from tracklight.formats.chrome_trace import Args, ChromeEvent, iter_pieces, read_head
from tracklight.profiles.devices import read_kineto_devices
from tracklight.profiles.environment import read_head_facts
from tracklight.profiles.trace import REAL, TEXT, WHOLE, Said, Trace, Track
from tracklight.profiles.words import Words

_US = 1_000_000
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"})
#: Most events of a trace with stacks are these, and nothing that we keep is said of them.
_PYTHON = "python_function"
#: Rows that PyTorch adds for the viewer, where nothing ran.
_NOBODY = frozenset({"Spans", "Traces", "", -1})
_NOTHING = Raw()
_KEYS = Args.__struct_fields__


def read_kineto(path: Path, tell: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a file; one that breaks off gives what stands before that."""
    gathered = _Gathered()
    problems: tuple[str, ...] = ()
    try:
        for piece in iter_pieces(path, tell):
            gathered.add(piece)
    except FormatError as error:
        problems = (str(error),)
    head = read_head(path)
    base_ns = head.get("baseTimeNanoseconds", 0)
    return replace(
        gathered.make_trace(base_ns if isinstance(base_ns, int) else 0, problems),
        devices=read_kineto_devices(head.get("deviceProperties")),
        environment=read_head_facts(head),
    )


class _Gathered:
    """What was met so far: for each column, one array a piece."""

    def __init__(self) -> None:
        self.names, self.categories, self.texts = Words(), Words(), Words()
        self._count = 0
        self._tracks: dict[tuple[Any, Any], int] = {}
        self._on_device: set[int] = set()
        self._called: dict[tuple[str, Any, Any], str] = {}
        self._open: dict[int, list[ChromeEvent]] = defaultdict(list)
        self._rows = [np.empty((0, 3), np.int32)]
        self._times = [np.empty((0, 2))]
        self._said = [np.empty((0, 4), np.int64)]

    def add(self, events: list[ChromeEvent]) -> None:
        """Take some events; a million of them come along here, so columns are made at once."""
        whole = [
            event
            for event in chain((event for event in events if event.ph == "X"), self._mend(events))
            if event.pid not in _NOBODY and _has_times(event)
        ]
        names, categories = self.names.place, self.categories.place
        self._rows.append(
            np.array(
                [(self._track(e), names(str(e.name)), categories(str(e.cat))) for e in whole],
                np.int32,
            ).reshape(-1, 3)
        )
        self._times.append(np.array([(e.ts, e.dur) for e in whole], np.float64).reshape(-1, 2))
        self._said.append(np.array(list(self._iter_said(whole)), np.int64).reshape(-1, 4))
        self._count += len(whole)

    def _mend(self, events: list[ChromeEvent]) -> Iterator[ChromeEvent]:
        """Instants, and those whose beginning and end stand apart, as whole events."""
        for event in events:
            if event.ph in ("i", "I"):
                event.dur = 0.0
                yield event
            elif event.ph == "B":
                self._open[self._track(event)].append(event)
            elif event.ph == "E" and self._open[self._track(event)] and _has_times(event):
                began = self._open[self._track(event)].pop()
                if _has_times(began):
                    began.dur = max(event.ts - began.ts, 0.0)
                    yield began
            elif event.ph == "M" and event.args and isinstance(event.args.name, str):
                self._called[event.name, event.pid, event.tid] = event.args.name

    def _track(self, event: ChromeEvent) -> int:
        owner = (_hashable(event.pid), _hashable(event.tid))
        track = self._tracks.setdefault(owner, len(self._tracks))
        if event.cat in _DEVICE:
            self._on_device.add(track)
        return track

    def _iter_said(self, events: list[ChromeEvent]) -> Iterator[tuple[int, int, int, int]]:
        for number, event in enumerate(events, self._count):
            if event.args is None or event.cat == _PYTHON:
                continue
            for key, value in enumerate(astuple(event.args)):
                if value is not None and value != _NOTHING:
                    yield number, key, *self._said_as(value)

    def _said_as(self, value: Any) -> tuple[int, int]:
        if type(value) is Raw:
            return TEXT, self.texts.place(bytes(value).decode("utf-8", "replace"))
        if isinstance(value, int) and abs(value) < 1 << 63:
            return WHOLE, int(value)
        if isinstance(value, float):
            return REAL, int(np.float64(value).view(np.int64))
        return TEXT, self.texts.place(str(value))

    def make_trace(self, base_ns: int, problems: tuple[str, ...]) -> Trace:
        rows, times = np.concatenate(self._rows), np.concatenate(self._times)
        began_us = float(times[:, 0].min()) if len(times) else 0.0
        start = np.rint((times[:, 0] - began_us) * _US).astype(np.int64)
        duration = np.rint(times[:, 1] * _US).astype(np.int64)
        order = np.lexsort((-duration, start, rows[:, 0]))
        return Trace(
            tracks=tuple(self._iter_tracks()),
            names=tuple(self.names.all),
            categories=tuple(self.categories.all),
            track=rows[order, 0],
            name=rows[order, 1],
            category=rows[order, 2],
            start_ps=start[order],
            duration_ps=duration[order],
            keys=_KEYS,
            said=self._make_said(order),
            read_text=self.texts.all.__getitem__,
            began_ns=base_ns + int(began_us * 1_000),
            problems=problems,
        )

    def _make_said(self, order: np.ndarray[Any, np.dtype[np.int64]]) -> Said:
        said = np.concatenate(self._said)
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        kind = said[:, 2].astype(np.uint8)
        return Said(places[said[:, 0]], said[:, 1].astype(np.int32), kind, said[:, 3])

    def _iter_tracks(self) -> Iterator[Track]:
        for (pid, tid), track in self._tracks.items():
            process = self._called.get(("process_name", pid, 0)) or self._find_process(pid)
            name = self._called.get(("thread_name", pid, tid), str(tid))
            number = tid if isinstance(tid, int) else 0
            yield Track(process or str(pid), name, number, track in self._on_device)

    def _find_process(self, pid: Any) -> str:
        called = self._called.items()
        named = (
            name for (what, owner, _), name in called if (what, owner) == ("process_name", pid)
        )
        return next(named, "")


def _has_times(event: ChromeEvent) -> bool:
    """Whether it says when it was; texts that are numbers are taken for them."""
    if type(event.ts) is float and type(event.dur) is float:  # nearly all of them
        return event.dur >= 0
    try:
        event.ts, event.dur = float(event.ts), max(float(event.dur), 0.0)
    except (TypeError, ValueError):
        return False
    return isfinite(event.ts) and isfinite(event.dur)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (int, str)) else str(value)
