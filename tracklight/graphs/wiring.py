"""Finds the nodes that others name as their inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tracklight.graphs.model import Edges

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

    def find(self, name: str) -> int | None:
        return self._place.get(name)

    def add(self, target: int, position: int, source: str, output: str, control: bool) -> None:
        found = self._place.get(source)
        if found is None:
            self.miss(source)
            return
        self._append(found, target, position, output, control)

    def join(self, target: int, position: int, source: str) -> bool:
        """The usual edge, from the only output of a node; False if there is no such node."""
        found = self._place.get(source)
        if found is not None:
            self._append(found, target, position, "0", False)
        return found is not None

    def _append(self, source: int, target: int, position: int, output: str, control: bool) -> None:
        self._sources.append(source)
        self._targets.append(target)
        self._positions.append(position)
        self._outputs.append(output)
        self._controls.append(control)

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
