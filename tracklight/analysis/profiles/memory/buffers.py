"""What a program of XLA keeps in memory when it needs most, according to its buffer assignment.

XLA decides at compile time where each value is stored. Parameters, outputs and constants are kept
for the whole run. Temporary values share one allocation, and the order in which they are allocated
and freed says which of them are live at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal, NamedTuple

from tracklight.analysis.profiles.xla_programs import XlaProgram
from tracklight.errors import FormatError
from tracklight.formats.profiles.hlo import (
    HEAP_ALLOCATE,
    HEAP_FREE,
    HEAP_SHARE,
    BufferAssignment,
    HeapEvent,
    HloAllocation,
    parse_buffers,
)

BufferKind = Literal["parameter", "output", "constant", "temporary"]


class ProgramBuffer(NamedTuple):
    """A buffer that is live when the program needs most memory."""

    kind: BufferKind
    instruction: str
    scope: str
    """The framework's name of what the instruction was compiled from; empty if unknown."""
    source: str
    bytes: int


class ProgramMemory(NamedTuple):
    """The memory of a program; bytes of all allocations, and of what is live at the peak."""

    name: str
    allocated_bytes: int
    """All allocations together: what a run of the program needs."""
    peak_bytes: int
    """Live values, without the gaps between temporary ones."""
    has_order: bool
    """Whether it is known which temporary values are live at the same time."""
    buffers: list[ProgramBuffer]
    """Live at the peak, largest first."""


def analyze_buffers(programs: Iterable[XlaProgram]) -> list[ProgramMemory]:
    """Return the memory of each program with a buffer assignment, largest first."""
    memories = []
    for program in programs:
        with suppress(FormatError):  # a damaged assignment
            assignment = parse_buffers(program.module)
            if assignment.allocations:
                memories.append(_analyze_program(program, assignment))
    return sorted(memories, key=lambda memory: -memory.allocated_bytes)


def _analyze_program(program: XlaProgram, assignment: BufferAssignment) -> ProgramMemory:
    allocations = [each for each in assignment.allocations if not each.is_thread_local]
    buffers: list[ProgramBuffer] = []
    has_order = True
    for allocation in allocations:
        kind = _get_kind(allocation)
        if kind == "temporary":
            live, is_ordered = _list_live_at_peak(assignment, allocation)
            has_order = has_order and is_ordered
            buffers.extend(
                _make_buffer(program, assignment, kind, id, size) for id, size in live.items()
            )
        else:
            # The buffers of such an allocation are views or later values of the same memory.
            first = next(iter(allocation.buffers), -1)
            buffers.append(_make_buffer(program, assignment, kind, first, allocation.size))
    return ProgramMemory(
        name=program.module.name,
        allocated_bytes=sum(allocation.size for allocation in allocations),
        peak_bytes=sum(buffer.bytes for buffer in buffers),
        has_order=has_order,
        buffers=sorted(buffers, key=lambda buffer: -buffer.bytes),
    )


def _get_kind(allocation: HloAllocation) -> BufferKind:
    if allocation.is_parameter:
        return "parameter"
    if allocation.is_constant:
        return "constant"
    return "output" if allocation.is_output else "temporary"


def _list_live_at_peak(
    assignment: BufferAssignment, allocation: HloAllocation
) -> tuple[dict[int, int], bool]:
    """Return the sizes of the temporary buffers that are live at the peak, and if that is known.

    Without an order, the allocation itself is all that is known.
    """
    own_ids = frozenset(allocation.buffers)
    traces = assignment.heap_traces
    events = next((it for it in traces if any(event.buffer in own_ids for event in it)), None)
    if events is None:
        own = next(iter(allocation.buffers), -1)
        return {own: allocation.size}, len(allocation.buffers) <= 1
    sizes = {id: assignment.buffers[id].size for id in own_ids if id in assignment.buffers}
    peak = total = position = 0
    for at, (change, _) in enumerate(_iter_changes(events, sizes), 1):
        total += change
        if total > peak:
            peak, position = total, at
    live: dict[int, int] = {}
    for change, buffer in islice(_iter_changes(events, sizes), position):
        if change > 0:
            live[buffer] = change
        elif change < 0:
            live.pop(buffer, None)
    return live, True


def _iter_changes(
    events: Sequence[HeapEvent], sizes: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Yield by how much each event changes the live memory, and the buffer that owns it.

    Memory that several buffers share is freed with the last of them, and may be taken again later.
    """
    owners: dict[int, int] = {}
    """The buffer whose memory each buffer uses."""
    users: dict[int, int] = {}
    """How many live buffers use the memory of each buffer."""
    for kind, buffer, shared_with in events:
        if kind == HEAP_FREE:
            owner = owners.get(buffer, buffer)
            users[owner] = users.get(owner, 0) - 1
            if not users[owner]:
                yield -sizes.get(owner, 0), owner
        elif kind in (HEAP_ALLOCATE, HEAP_SHARE):
            owner = owners.get(shared_with, shared_with) if kind == HEAP_SHARE else buffer
            owners[buffer] = owner
            users[owner] = users.get(owner, 0) + 1
            if users[owner] == 1:
                yield sizes.get(owner, 0), owner


def _make_buffer(
    program: XlaProgram, assignment: BufferAssignment, kind: BufferKind, id: int, size: int
) -> ProgramBuffer:
    buffer = assignment.buffers.get(id)
    instruction = None if buffer is None else program.by_id.get(buffer.instruction_id)
    name = "" if buffer is None else buffer.instruction
    if instruction is None:
        return ProgramBuffer(kind, name, "", "", size)
    return ProgramBuffer(
        kind, instruction.name, instruction.op_name, program.get_source(instruction), size
    )
