"""The kernels that ran on devices: how they were launched, for which op, and how well they fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, prod
from typing import Any, NamedTuple

import numpy as np

from tracklight.profiles.kernels.tensor_cores import Use, find_use, is_eligible, may_multiply
from tracklight.profiles.ops.book import Naming
from tracklight.profiles.ops.opname import Op
from tracklight.profiles.program.kinds import SHORT_TYPES, find_product_types
from tracklight.profiles.program.program import Placement
from tracklight.profiles.trace import Trace
from tracklight.types import Int64

_NUMBER = re.compile(r"\d+")
_NOBODY = Op("", "")


class Launch(NamedTuple):
    """How a kernel was launched; what is not known is 0, and of occupancy NaN."""

    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    registers: int = 0
    shared_bytes: int = 0
    occupancy: float = nan
    """In percent of the threads that a multiprocessor can hold."""

    @property
    def blocks(self) -> int:
        return prod(self.grid) if self.grid else 0


@dataclass
class Kernel:
    """All runs of a kernel that were launched in one way for one op."""

    name: str
    op: Op
    launch: Launch
    tensor_cores: Use
    is_eligible: bool
    """It does what tensor cores can do."""
    count: int = 0
    total_ps: int = 0
    min_ps: int = 1 << 62
    max_ps: int = 0
    longest: int = -1


def find_kernels(trace: Trace, naming: Naming, placement: Placement | None = None) -> list[Kernel]:
    """The kernels of a capture, those that ran longest first.

    ``placement`` tells on which numbers the products of a program's own kernels work.
    """
    short = _find_short(placement) if placement else frozenset()
    kernels: dict[tuple[int, int, Launch], Kernel] = {}
    ids: dict[tuple[int, int, int], Kernel] = {}
    for event, launch in _iter_launches(trace):
        name, op = int(trace.name[event]), int(naming.op[event])
        # Launches that are alike are one object, which is quicker to tell apart than what it says.
        kernel = ids.get((name, op, id(launch)))
        if kernel is None:
            kernel = _make(trace.names[name], naming.ops[op] if op >= 0 else _NOBODY, launch, short)
            kernel = ids[name, op, id(launch)] = kernels.setdefault((name, op, launch), kernel)
        _add(kernel, event, int(trace.duration_ps[event]))
    return sorted(kernels.values(), key=lambda kernel: -kernel.total_ps)


def _find_short(placement: Placement) -> frozenset[str]:
    """The instructions that multiply numbers of 16 bits or fewer."""
    return frozenset(
        placed.instruction.name
        for placed in placement.places
        if (types := find_product_types(*placed)) and types <= SHORT_TYPES
    )


def _make(name: str, op: Op, launch: Launch, short: frozenset[str]) -> Kernel:
    use = find_use(name, op.type)
    if use == Use.UNKNOWN and op.name in short:
        use = Use.YES  # XLA's own kernels leave such products to nothing else
    is_product = use == Use.YES or (is_eligible(op.type) and may_multiply(name))
    return Kernel(name, op, launch, use, is_product)


def _add(kernel: Kernel, event: int, ps: int) -> None:
    kernel.count += 1
    kernel.total_ps += ps
    kernel.min_ps = min(kernel.min_ps, ps)
    if ps > kernel.max_ps or kernel.longest < 0:
        kernel.max_ps, kernel.longest = ps, event


def _iter_launches(trace: Trace) -> Iterator[tuple[int, Launch]]:
    """What TensorFlow and JAX say in one text, and PyTorch under names of its own."""
    known: dict[str, Launch] = {}
    events, texts = trace.find_texts("kernel_details")
    for event, text in zip(events.tolist(), texts, strict=True):
        if text not in known:
            known[text] = _read_details(text)
        yield event, known[text]
    yield from _iter_torch(trace)


def _read_details(text: str) -> Launch:
    said = dict(word.partition(":")[::2] for word in text.split())
    return Launch(
        grid=_numbers(said.get("grid", "")),
        block=_numbers(said.get("block", "")),
        registers=_number(said.get("regs", "")),
        shared_bytes=_number(said.get("static_shared", ""))
        + _number(said.get("dynamic_shared", "")),
        occupancy=_real(said.get("occ_pct", "")),
    )


def _iter_torch(trace: Trace) -> Iterator[tuple[int, Launch]]:
    events = np.flatnonzero(trace.find_categories("kernel") & trace.on_device)
    if not len(events):
        return
    grids, blocks = (dict(_pair(*trace.find_texts(key))) for key in ("grid", "block"))
    registers, shared, whole = (
        dict(_pair(at, numbers.tolist()))
        for at, numbers in map(trace.find_numbers, ("registers", "shared_memory", "occupancy"))
    )
    at, reals = trace.find_reals("occupancy")
    occupancy = whole | dict(_pair(at, reals.tolist()))
    known: dict[tuple[Any, ...], Launch] = {}
    for event in events.tolist():
        said = tuple(each.get(event) for each in (grids, blocks, registers, shared, occupancy))
        if said not in known:
            known[said] = _make_launch(*said)
        yield event, known[said]


def _make_launch(
    grid: str | None, block: str | None, registers: Any, shared: Any, occupancy: Any
) -> Launch:
    share = nan if occupancy is None else float(occupancy)
    return Launch(_numbers(grid or ""), _numbers(block or ""), registers or 0, shared or 0, share)


def _pair(events: Int64, values: list[Any]) -> Iterator[tuple[int, Any]]:
    return zip(events.tolist(), values, strict=True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, _NUMBER.findall(text)[:3]))


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan
