"""The programs of XLA that a capture carries, and which of their instructions an event is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracklight.formats.hlo import Computation, Instruction, Module, iter_running
from tracklight.profiles.columns.numbering import number
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

#: What names of instructions have and names of kernels cannot.
_INNER = re.compile(r"[.-]")
_LIBRARY = re.compile(r"gemm|nvjet|cutlass|matmul", re.I)
_PRODUCTS = re.compile(r"gemm|matmul", re.I)
#: No place among those of a placement.
_UNKNOWN, _LEFT = -1, -2


class Placed(NamedTuple):
    """An instruction, and where it stands."""

    program: Program
    instruction: Instruction


class Program:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.computations = {each.id: each for each in module.computations}

    @property
    def entry(self) -> Computation | None:
        return self.computations.get(self.module.entry)

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        return {each.name: each for each in self.iter_instructions()}

    @cached_property
    def by_number(self) -> dict[int, Instruction]:
        """Numbers are the program's, not the computation's."""
        return {each.id: each for each in self.iter_instructions()}

    @cached_property
    def running(self) -> dict[str, Instruction]:
        """Those that run by themselves, and are not a part of another."""
        computations = iter_running(self.module)
        return {each.name: each for it in computations for each in it.instructions}

    @cached_property
    def by_kernel(self) -> dict[str, Instruction]:
        """Instructions under the names of the kernels that are made of them."""
        return {_INNER.sub("_", name): each for name, each in self.running.items()}

    @cached_property
    def library_products(self) -> list[Instruction]:
        """Products that are left to a library, in the order in which they run."""
        ordered = self.entry.instructions if self.entry else ()
        return [each for each in ordered if _PRODUCTS.search(each.target)]

    def find_source(self, instruction: Instruction) -> str:
        """File and line of the user's program; empty where nobody says."""
        frame = instruction.frame - 1
        known = 0 <= frame < len(self.module.frames)
        return instruction.source or (self.module.frames[frame] if known else "")

    def iter_instructions(self) -> Iterator[Instruction]:
        for computation in self.module.computations:
            yield from computation.instructions


def read_programs(trace: Trace) -> list[Program]:
    """The programs of a capture that have something in them."""
    return [Program(module) for module in trace.modules if module.computations]


class Placement(NamedTuple):
    """Which instruction events are, where that is known."""

    events: Int64
    which: Int64
    """Of each, one of the places."""
    places: list[Placed]


def place_events(trace: Trace, programs: list[Program]) -> Placement:
    """Find the instructions that events are.

    Kernels that were launched together, as one graph, only say which graph it was; their own names
    tell which instruction most of them are, and what is left of one launch are the library's
    products, in their order.
    """
    placing = _Placing(trace, programs)
    placing.add(*trace.find_unlike_texts("hlo_op"))
    placing.add_products()
    return placing.make()


class _Placing:
    def __init__(self, trace: Trace, programs: list[Program]) -> None:
        self._trace = trace
        self._programs = programs
        self._by_id = {program.module.id: program for program in programs}
        self._events: list[Int64] = []
        self._which: list[Int64] = []
        self._places: list[Placed] = []
        self._left: Int64 = np.empty(0, np.int64)
        self._number = self._spread("program_id")

    def add(self, events: Int64, which: Int64, ops: list[str]) -> None:
        """Find the instructions of events that say they are of an op; like ones only once."""
        numbers, of_program = number(self._number[events])
        names = self._trace.name[events].astype(np.int64)
        keys = (of_program * len(ops) + which) * len(self._trace.names) + names
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        places = np.array(
            [
                self._find(int(numbers[of_program[at]]), ops[which[at]], int(names[at]))
                for at in first.tolist()
            ],
            np.int64,
        )[inverse]
        self._keep(events[places >= 0], places[places >= 0])
        self._left = events[places == _LEFT]

    def _keep(self, events: Int64, which: Int64) -> None:
        self._events.append(events)
        self._which.append(which)

    def _spread(self, key: str) -> Int64:
        """Of each event the number that is said under a key, 0 where there is none."""
        spread = np.zeros(len(self._trace), np.int64)
        events, numbers = self._trace.find_numbers(key)
        spread[events] = numbers
        return spread

    def _find(self, program_id: int, op: str, name: int) -> int:
        program = self._by_id.get(program_id) or _find_program(self._programs, op)
        if program is None:
            return _UNKNOWN
        kernel = self._trace.names[name]
        own = program.running.get(op.rpartition("::")[2]) or program.by_kernel.get(kernel)
        if own is not None:
            return self._place(Placed(program, own))
        return _LEFT if _LIBRARY.search(kernel) else _UNKNOWN

    def _place(self, placed: Placed) -> int:
        self._places.append(placed)
        return len(self._places) - 1

    def add_products(self) -> None:
        """Only where there are as many kernels as products is it known which is which."""
        of_program: dict[int, Int64] = {}
        for events in self._iter_launches():
            program = self._by_id.get(int(self._number[events[0]]))
            if program is None or len(program.library_products) != len(events):
                continue
            if program.module.id not in of_program:
                placed = [Placed(program, each) for each in program.library_products]
                of_program[program.module.id] = np.array([self._place(it) for it in placed])
            self._keep(events, of_program[program.module.id])

    def _iter_launches(self) -> Iterator[Int64]:
        """What is left of each launch of a program, in order of time."""
        left, launch = self._left, self._spread("correlation_id")
        if len(left):
            keys = (self._trace.start_ps[left], launch[left], self._number[left])
            left = left[np.lexsort(keys)]
            changes = np.diff(launch[left]).astype(bool) | np.diff(self._number[left]).astype(bool)
            yield from np.split(left, np.flatnonzero(changes) + 1)

    def make(self) -> Placement:
        nothing = np.empty(0, np.int64)
        events, which = (np.concatenate([nothing, *it]) for it in (self._events, self._which))
        return Placement(events, which, self._places)


def _find_program(programs: list[Program], op: str) -> Program | None:
    return next((each for each in programs if op in each.running), None)
