"""The stages of tf.data pipelines, and which of them a program really waited for.

Each iterator says whose input it is. While a stage is waited for and one that feeds it works, on
whichever thread, it is that one that is waited for; what is left is the stage's own. So what is
prefetched while the program computes costs nothing, however long it takes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tracklight.profiles.columns.intervals import intersect, measure, merge, unite
from tracklight.profiles.columns.nesting import find_parents
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

STAGE = "Iterator::"
#: Iterators that are made anew for each pass have numbers; what is read from them is one stage.
_PASS = re.compile(r"(?<=Repeat)\[\d+\]|(?<=FlatMap)\[\d+\]|(?<=Interleave)\[\d+\]")

_INPUT = re.compile(r"\[\d+\]\Z")


class Stage(NamedTuple):
    """One dataset of a pipeline; times are sums in ps."""

    path: str
    parent: int | None
    """Its place among the stages, the one that it feeds."""
    calls: int
    total_ps: int
    self_ps: int
    """Without the stages that it called on its own thread."""
    critical_ps: int
    """How long the program waited for nothing else."""
    parallel: int | None
    """How many of its calls may run at once, where it says so."""
    longest: int
    """The event that took longest."""

    @property
    def op(self) -> str:
        """The kind of dataset: ``Map``, ``BatchV2``, ``Prefetch``."""
        return self.path.rpartition("::")[2].partition("[")[0]


def find_pipelines(trace: Trace, window: Int64) -> list[list[Stage]]:
    """Each pipeline's stages, those that are fed before those that feed them.

    ``window`` are the times, as a set, in which waiting counts.
    """
    mask = trace.find_names(lambda name: name.startswith(STAGE))
    events = np.flatnonzero(mask)
    if len(window):
        inside = (trace.end_ps[events] > window[0, 0]) & (trace.start_ps[events] < window[-1, 1])
        events = events[inside]
    if not len(events):
        return []
    roots = _find_roots(trace, events)
    return [_Pipeline(trace, events[roots == root], window).measure() for root in np.unique(roots)]


def _find_roots(trace: Trace, events: Int64) -> Int64:
    """Of each event, which root iterator it works for; all of one where iterators say nothing."""
    ids, parents = _read(trace, "id"), _read(trace, "parent_id")
    above = {ids[event]: parents[event] for event in parents if event in ids}
    found: dict[int, int] = {}
    for event in events.tolist():
        at = ids.get(event, 0)
        if at not in found:
            found[at] = _climb(at, above)
    return np.array([found[ids.get(event, 0)] for event in events.tolist()], np.int64)


def _climb(at: int, above: dict[int, int]) -> int:
    met = {at}
    while at in above and above[at] not in met:
        at = above[at]
        met.add(at)
    return at


def _read(trace: Trace, key: str) -> dict[int, int]:
    events, numbers = trace.find_numbers(key)
    return dict(zip(events.tolist(), numbers.tolist(), strict=True))


class _Pipeline:
    def __init__(self, trace: Trace, events: Int64, window: Int64) -> None:
        self._trace = trace
        self._window = window
        self._events: dict[str, list[int]] = defaultdict(list)
        for event in events.tolist():
            self._events[_PASS.sub("", trace.names[trace.name[event]])].append(event)
        self._paths = sorted(self._events, key=lambda path: (path.count("::"), path))
        self._alone = _measure_alone(trace, events)
        self._parallel = _read(trace, "parallelism")

    def measure(self) -> list[Stage]:
        waited = self._find_waited()
        return [self._make(path, waited) for path in self._paths]

    def _find_waited(self) -> dict[str, Int64]:
        """When each stage was waited for, by the program or by who is waited for."""
        waited: dict[str, Int64] = {}
        for path in self._paths:
            events = np.array(self._events[path])
            spans = np.column_stack([self._trace.start_ps[events], self._trace.end_ps[events]])
            above = self._find_parent(path)
            within = self._window if above is None else waited[above]
            waited[path] = intersect(merge(spans), within)
        return waited

    def _find_parent(self, path: str) -> str | None:
        """The nearest stage above, as some leave no events; a number says which input it is."""
        while "::" in path:
            path = _INPUT.sub("", path.rpartition("::")[0])
            if path in self._events:
                return path
        return None

    def _make(self, path: str, waited: dict[str, Int64]) -> Stage:
        events = np.array(self._events[path])
        took = self._trace.duration_ps[events]
        parent = self._find_parent(path)
        below = (waited[other] for other in self._paths if self._find_parent(other) == path)
        parallel = [self._parallel[e] for e in self._events[path] if e in self._parallel]
        return Stage(
            path=path,
            parent=None if parent is None else self._paths.index(parent),
            calls=len(events),
            total_ps=int(took.sum()),
            self_ps=sum(self._alone[event] for event in self._events[path]),
            critical_ps=measure(waited[path]) - measure(unite(below)),
            parallel=parallel[-1] if parallel else None,
            longest=int(events[np.argmax(took)]),
        )


def _measure_alone(trace: Trace, events: Int64) -> dict[int, int]:
    """How long each call of a stage took without those that it made on its own thread."""
    alone: dict[int, int] = {}
    for mine in _iter_tracks(trace, events):
        took = trace.duration_ps[mine].copy()
        parents = find_parents(trace.end_ps[mine])
        inner = parents >= 0
        np.subtract.at(took, parents[inner], trace.duration_ps[mine][inner])
        alone.update(zip(mine.tolist(), took.tolist(), strict=True))
    return alone


def _iter_tracks(trace: Trace, events: Int64) -> Iterator[Int64]:
    yield from np.split(events, np.flatnonzero(np.diff(trace.track[events])) + 1)
