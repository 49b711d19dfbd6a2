"""Finds the nodes that others name as their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracklight.graphs.model import Edges
from tracklight.types import Int64

_SHOWN = 3


class Names:
    """Gives each node a name that no other has: those that come later get a number."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, name: str) -> str:
        while count := self._taken.get(name, 0):
            self._taken[name] = count + 1
            name = f"{name}_{count}"
        self._taken[name] = 1
        return name


class Input(NamedTuple):
    """An output of a node that another one reads."""

    source: str
    output: str
    is_control: bool


class Wiring:
    """Collects edges by name; what leads nowhere is remembered for a sentence."""

    def __init__(self, names: Sequence[str]) -> None:
        self._place: dict[str, int] = {}
        self._twice: dict[str, None] = {}
        self._missing: dict[str, None] = {}
        # Columns, as a tuple an edge would be one more thing for the garbage collector to walk.
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._positions: list[int] = []
        self._controls: list[bool] = []
        self._outputs: list[str] = []
        for place, name in enumerate(names):
            if self._place.setdefault(name, place) != place:
                self._twice[name] = None

    def add(self, target: int, position: int, source: str, output: str, control: bool) -> None:
        found = self._place.get(source)
        if found is None:
            self.miss(source)
            return
        self._sources.append(found)
        self._targets.append(target)
        self._positions.append(position)
        self._outputs.append(output)
        self._controls.append(control)

    def join(
        self,
        first: int,
        counts: Int64,
        names: Sequence[str],
        split: Callable[[int, str], Input | None],
    ) -> None:
        """The inputs of many nodes, by the number that each has, from the node ``first`` on.

        Nearly all are plain names of nodes with one output. The others ``split`` takes apart, with
        None for what need not be there.
        """
        sources = [self._place.get(name) for name in names]
        targets = np.repeat(np.arange(first, first + len(counts)), counts).tolist()
        begins = np.repeat(np.cumsum(counts) - counts, counts)
        positions = (np.arange(len(names)) - begins).tolist()
        begin = 0
        for at in [at for at, source in enumerate(sources) if source is None]:
            self._extend(sources[begin:at], targets[begin:at], positions[begin:at])
            if found := split(targets[at], names[at]):
                self.add(targets[at], positions[at], *found)
            begin = at + 1
        self._extend(sources[begin:], targets[begin:], positions[begin:])

    def _extend(self, sources: list[Any], targets: list[int], positions: list[int]) -> None:
        self._sources += sources
        self._targets += targets
        self._positions += positions
        self._outputs += ["0"] * len(sources)
        self._controls += [False] * len(sources)

    def miss(self, source: str) -> None:
        self._missing[source] = None

    def edges(self) -> Edges:
        ends = (self._sources, self._targets, self._positions)
        source, target, position = (np.array(column, np.int32) for column in ends)
        return Edges(source, target, position, self._outputs, np.array(self._controls, bool))

    def problems(self) -> tuple[str, ...]:
        said = []
        if self._missing:
            said.append(
                f"{_count(self._missing, 'input')} named but not there: {_list(self._missing)}"
            )
        if self._twice:
            said.append(
                f"{_count(self._twice, 'name')} given to several nodes: {_list(self._twice)}"
            )
        return tuple(said)


def _count(names: dict[str, None], noun: str) -> str:
    return f"1 {noun} is" if len(names) == 1 else f"{len(names):,} {noun}s are"


def _list(names: Iterable[str]) -> str:
    first = list(names)
    more = ", …" if len(first) > _SHOWN else ""
    return ", ".join(first[:_SHOWN]) + more
