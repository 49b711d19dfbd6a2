"""Which op each event is, as that is written down while it is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tracklight.profiles.ops.opname import Op
from tracklight.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64


class Side(IntEnum):
    """Who does an op."""

    HOST = 0
    DEVICE = 1
    PYTHON = 2


class Naming(NamedTuple):
    op: Int32
    """Of each event, which op it is; -1: none."""
    ops: list[Op]
    sides: list[Side]
    call: Int64
    """Of each event, by which event it was called; what one call launched is one call."""


class Book:
    """Ops by number, in the order in which they are met."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.op = np.full(len(trace), -1, np.int32)
        self.call = np.arange(len(trace))
        self._places: dict[tuple[Op, Side], int] = {}

    def write(self, event: int, op: Op, side: Side) -> None:
        self.op[event] = self._place(op, side)

    def write_names(self, which: Bool, side: Side, find: Callable[[str], Op | None]) -> None:
        """Name events by nothing but what they are called; each name is looked at once."""
        events = np.flatnonzero(which)
        names, inverse = np.unique(self.trace.name[events], return_inverse=True)
        self.write_many(events, inverse, [find(self.trace.names[name]) for name in names], side)

    def write_many(self, events: Int64, which: Int64, ops: Sequence[Op | None], side: Side) -> None:
        """Name events each by one of some ops; None takes the name away."""
        used = np.bincount(which, minlength=len(ops)) > 0
        places = [
            self._place(op, side) if op is not None and is_used else -1
            for op, is_used in zip(ops, used.tolist(), strict=True)
        ]
        self.op[events] = np.array(places, np.int32)[which]

    def _place(self, op: Op, side: Side) -> int:
        return self._places.setdefault((op, side), len(self._places))

    def make(self) -> Naming:
        ops, sides = [op for op, _ in self._places], [side for _, side in self._places]
        return Naming(self.op, ops, sides, self.call)
