"""Which events of a host brought about which others, by the links that TensorFlow leaves.

An event is the child of the innermost one around it on its thread, of the executor's turn that
asked for it, and of whoever handed it to another thread.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np

from tracklight.profiles.columns.nesting import find_parents
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

EXECUTOR = "ExecutorState::Process"
_ASKS_FOR_INPUT = frozenset(
    {"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"}
)
_REGION_START, _REGION_STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
#: Where this many hand over and as many take, nobody can say who took what.
_CROWD = 64


class Family:
    """The links of one host's events; events are named by their place in the trace."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self.trace = trace
        self.events: list[int] = events.tolist()
        self._said: dict[str, dict[int, int]] = {}
        self._children: dict[int, list[int]] = defaultdict(list)
        self._parents: dict[int, list[int]] = defaultdict(list)
        # Pieces of work of a thread pool are no events of the trace; they get the numbers after it.
        self._next = len(trace)
        self._nest(events)
        self._link_input()
        self._link_threads()

    def name(self, event: int) -> str:
        return self.trace.names[self.trace.name[event]] if event < len(self.trace) else ""

    def said(self, key: str) -> dict[int, int]:
        """The whole numbers that are said of events under a key."""
        if key not in self._said:
            events, numbers = self.trace.find_numbers(key)
            self._said[key] = dict(zip(events.tolist(), numbers.tolist(), strict=True))
        return self._said[key]

    def link(self, parent: int, child: int) -> None:
        self._children[parent].append(child)
        self._parents[child].append(parent)

    def walk_down(self, event: int, enters: Callable[[int], bool]) -> Iterator[int]:
        """An event and all that came of it, nearest first; what is not entered is passed by."""
        return _walk(event, self._children, enters)

    def walk_up(self, event: int) -> Iterator[int]:
        return _walk(event, self._parents, lambda _: True)

    def _nest(self, events: Int64) -> None:
        tracks = self.trace.track[events]
        for track in np.unique(tracks).tolist():
            self._nest_track(events[tracks == track])

    def _nest_track(self, events: Int64) -> None:
        start, end = self.trace.start_ps[events], self.trace.end_ps[events]
        regions = self._find_regions(events)
        if regions:
            bounds = np.array(regions, np.int64)
            number = np.arange(self._next, self._next + len(regions))
            self._next += len(regions)
            events = np.concatenate([events, number])
            start, end = np.append(start, bounds[:, 0]), np.append(end, bounds[:, 1])
            order = np.lexsort((start - end, start))
            events, start, end = events[order], start[order], end[order]
        names = events.tolist()
        aside = [at for at, event in enumerate(names) if self.said("_a").get(event)]
        for child, parent in zip(names, find_parents(end, aside).tolist(), strict=True):
            if parent >= 0:
                self.link(names[parent], child)

    def _find_regions(self, events: Int64) -> list[tuple[int, int]]:
        """When a thread of a pool worked for somebody: from a mark to the mark that ends it."""
        regions, began = [], 0
        for event in events.tolist():
            name = self.name(event)
            if name == _REGION_START and event in self.said("_c"):
                began = int(self.trace.start_ps[event])
            elif name == _REGION_STOP and began:
                regions.append((began, int(self.trace.start_ps[event])))
        return regions

    def _link_input(self) -> None:
        """Who asks for input asks for the executor's turn of the same number."""
        turns = {
            (self.said("id")[event], self.said("iter_num")[event]): event
            for event in self.find(EXECUTOR)
        }
        for name in _ASKS_FOR_INPUT:
            for event in self.find(name):
                turn = turns.get((self.said("id")[event], self.said("iter_num")[event]))
                if turn is not None:
                    self.link(turn, event)

    def find(self, name: str) -> list[int]:
        """Events of a name that say which turn they are of."""
        has = self.said("id").keys() & self.said("iter_num").keys()
        return [event for event in self.events if event in has and self.name(event) == name]

    def _link_threads(self) -> None:
        gives, takes = self._by_context("_pt", "_p"), self._by_context("_ct", "_c")
        for context, givers in gives.items():
            takers = takes.get(context, ())
            if min(len(givers), len(takers)) < _CROWD:
                for giver in givers:
                    for taker in takers:
                        self.link(giver, taker)

    def _by_context(self, kind: str, number: str) -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = defaultdict(list)
        kinds, numbers = self.said(kind), self.said(number)
        for event in self.events:
            if event in kinds and event in numbers:
                found[kinds[event], numbers[event]].append(event)
        return found


def _walk(event: int, links: dict[int, list[int]], enters: Callable[[int], bool]) -> Iterator[int]:
    met, waiting = {event}, deque([event])
    while waiting:
        here = waiting.popleft()
        if not enters(here):
            continue
        yield here
        for there in _unmet(links.get(here, ()), met):
            waiting.append(there)


def _unmet(events: Iterable[int], met: set[int]) -> Iterator[int]:
    for event in events:
        if event not in met:
            met.add(event)
            yield event
