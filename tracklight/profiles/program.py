"""The programs of XLA that a capture carries, and which of their instructions an event is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tracklight.formats.hlo import Computation, Instruction, Module
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
    def by_kernel(self) -> dict[str, Instruction]:
        """Instructions under the names of the kernels that are made of them."""
        return {_INNER.sub("_", name): each for name, each in self.instructions.items()}

    @cached_property
    def library_products(self) -> list[Instruction]:
        """Products that are left to a library, in the order in which they run."""
        ordered = self.entry.instructions if self.entry else ()
        return [each for each in ordered if _PRODUCTS.search(each.target)]

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
    for event, op in _pair(trace.find_texts("hlo_op")):
        placing.add(event, op)
    placing.add_products()
    return placing.make()


class _Placing:
    def __init__(self, trace: Trace, programs: list[Program]) -> None:
        self._trace = trace
        self._programs = programs
        self._by_id = {program.module.id: program for program in programs}
        self._numbers = dict(_pair(trace.find_numbers("program_id")))
        self._launches = dict(_pair(trace.find_numbers("correlation_id")))
        self._known: dict[tuple[int, str, int], int] = {}
        self._left: dict[tuple[int, int], list[int]] = {}
        self._events: list[int] = []
        self._which: list[int] = []
        self._places: list[Placed] = []

    def add(self, event: int, op: str) -> None:
        number = self._numbers.get(event, 0)
        key = (number, op, int(self._trace.name[event]))
        place = self._known.get(key)
        if place is None:
            place = self._known[key] = self._find(*key)
        if place >= 0:
            self._events.append(event)
            self._which.append(place)
        elif place == _LEFT:
            launch = (number, self._launches.get(event, 0))
            self._left.setdefault(launch, []).append(event)

    def _find(self, number: int, op: str, name: int) -> int:
        program = self._by_id.get(number) or _find_program(self._programs, op)
        if program is None:
            return _UNKNOWN
        kernel = self._trace.names[name]
        own = program.instructions.get(op.rpartition("::")[2]) or program.by_kernel.get(kernel)
        if own is not None:
            return self._place(Placed(program, own))
        return _LEFT if _LIBRARY.search(kernel) else _UNKNOWN

    def _place(self, placed: Placed) -> int:
        self._places.append(placed)
        return len(self._places) - 1

    def add_products(self) -> None:
        """Only where there are as many kernels as products is it known which is which."""
        of_program: dict[int, list[int]] = {}
        for (number, _), events in self._left.items():
            program = self._by_id.get(number)
            if program is None or len(program.library_products) != len(events):
                continue
            if number not in of_program:
                products = program.library_products
                of_program[number] = [self._place(Placed(program, each)) for each in products]
            order = np.argsort(self._trace.start_ps[events], kind="stable")
            self._events += [events[at] for at in order.tolist()]
            self._which += of_program[number]

    def make(self) -> Placement:
        events, which = np.array(self._events, np.int64), np.array(self._which, np.int64)
        return Placement(events, which, self._places)


def _find_program(programs: list[Program], op: str) -> Program | None:
    return next((each for each in programs if op in each.instructions), None)


def _pair(found: tuple[Int64, Int64 | list[str]]) -> Iterator[tuple[int, Any]]:
    events, values = found
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    return zip(events.tolist(), listed, strict=True)
