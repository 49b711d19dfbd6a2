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
        self._rows: list[tuple[int, int, int, bool]] = []
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
        self._rows.append((found, target, position, control))
        self._outputs.append(output)

    def miss(self, source: str) -> None:
        self._missing[source] = None

    def edges(self) -> Edges:
        rows = np.array(self._rows, np.int32).reshape(-1, 4)
        source, target, position, control = (np.ascontiguousarray(column) for column in rows.T)
        return Edges(source, target, position, self._outputs, control.astype(bool))

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
