"""A graph with the bodies of its functions, each a sheet that is made when it is first opened."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tracklight.errors import UsageError
from tracklight.graphs.changes import ChangeName, join_changes
from tracklight.graphs.comparing import Comparison
from tracklight.graphs.model import Graph
from tracklight.graphs.naming import BODY
from tracklight.graphs.sheet import Sheet

#: A function may call itself.
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path leads: ``path`` counts inside of a sheet, ``prefix`` leads to the sheet."""

    sheet: Sheet
    prefix: str
    path: str
    call: Spot | None = None
    """The node whose function the sheet is; None in the graph itself."""

    def outwards(self, path: str) -> str:
        """The whole path of something on this sheet."""
        return self.prefix + path


class Atlas:
    """May be asked from any thread."""

    def __init__(self, graph: Graph, comparison: Comparison | None = None) -> None:
        self.graph = graph
        self.comparison = comparison
        self.root = Sheet(graph)
        self._bodies: dict[str, Sheet] = {}
        self._lock = threading.Lock()

    def locate(self, path: str) -> Spot:
        """Follow a path through the calls in it: ``call|function|path inside``."""
        *calls, inner = path.split(BODY)
        if len(calls) % 2 or len(calls) > 2 * _DEEPEST:
            raise UsageError(f'the graph has nothing at "{path}"')
        spot = Spot(self.root, "", "")
        for node, function in zip(calls[::2], calls[1::2], strict=True):
            spot = self._enter(spot, node, function)
        return Spot(spot.sheet, spot.prefix, inner, spot.call)

    def find_functions(self, sheet: Sheet, place: int) -> list[str]:
        """The functions that a node runs and that can be opened."""
        calls = dict.fromkeys(sheet.graph.describe(place).calls)
        return [name for name in calls if name in self.graph.functions and BODY not in name]

    def find_change(self, sheet: Sheet, first: int, last: int) -> ChangeName | None:
        """What became of a range of leaves, in a comparison; nothing in a plain graph."""
        if self.comparison is None or sheet is not self.root:
            return None
        return join_changes(self.comparison.change[sheet.hierarchy.order[first:last]].tolist())

    def body(self, function: str) -> Sheet:
        with self._lock:
            found = self._bodies.get(function)
            if found is None:
                found = self._bodies[function] = Sheet(self.graph.functions[function])
            return found

    def iter_bodies(self) -> Iterator[Spot]:
        """The bodies of all functions that can be opened, each at the first call of it."""
        seen: set[str] = set()
        waiting = deque([Spot(self.root, "", "")])
        while waiting and len(seen) < len(self.graph.functions):
            spot = waiting.popleft()
            for place, name in self._iter_calls(spot.sheet):
                if name not in seen:
                    seen.add(name)
                    found = self._enter(spot, spot.sheet.hierarchy.paths[place], name)
                    waiting.append(found)
                    yield found

    def _iter_calls(self, sheet: Sheet) -> Iterator[tuple[int, str]]:
        for place in range(len(sheet.graph)):
            for name in self.find_functions(sheet, place):
                yield place, name

    def _enter(self, spot: Spot, node: str, function: str) -> Spot:
        place = spot.sheet.hierarchy.place_of.get(node)
        if place is None or function not in self.find_functions(spot.sheet, place):
            raise UsageError(f'no node "{spot.outwards(node)}" of the graph runs "{function}"')
        call = Spot(spot.sheet, spot.prefix, node, spot.call)
        return Spot(self.body(function), f"{spot.outwards(node)}{BODY}{function}{BODY}", "", call)
