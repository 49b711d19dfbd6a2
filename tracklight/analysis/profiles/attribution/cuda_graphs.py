"""Which XLA instruction each kernel of a CUDA graph runs.

Kernels of a graph are labeled with the graph, not with an instruction. XLA names a kernel after an
instruction, but instructions with equal computations share one kernel: in a model of equal layers,
most kernels are named after an instruction of another layer. The nodes of a graph are created in
program order, so the kernels of a launch are matched with the instructions one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from tracklight.formats.profiles.hlo import HloInstruction

#: Instructions that run no kernel.
_NO_KERNEL_OPCODES = frozenset({
    "parameter", "constant", "bitcast", "tuple", "get-tuple-element", "after-all", "partition-id",
    "replica-id", "opt-barrier", "add-dependency",
})  # fmt: skip
_NUMBER_SUFFIX = re.compile(r"([._]\d+)+\Z")
#: If fewer of the kernels are named like their instruction, the two do not match.
_MIN_SAME_NAME_SHARE = 0.75


class GraphKernel(NamedTuple):
    """A kernel or copy of one launch of a graph."""

    name: str
    node: int
    """Nodes are numbered in the order in which they were added to the graph."""
    start_ps: int


def match_kernels(
    kernels: Sequence[GraphKernel],
    instructions: Sequence[HloInstruction],
    by_kernel_name: Mapping[str, HloInstruction],
) -> list[HloInstruction | None]:
    """Return the instruction of each kernel of a launch; None where it is unknown.

    Args:
        kernels: All kernels of one launch.
        instructions: The instructions that the graph runs, in program order.
        by_kernel_name: Instructions by the name of the kernel that XLA generated for them.
    """
    active = [each for each in instructions if each.opcode not in _NO_KERNEL_OPCODES]
    generated = [each for each in active if each.opcode != "custom-call"]
    own = [at for at, kernel in enumerate(kernels) if kernel.name in by_kernel_name]
    own.sort(key=lambda at: kernels[at].node)
    result: list[HloInstruction | None] = [None] * len(kernels)
    copies = [each for each in generated if each.opcode == "copy"]
    if len(own) == len(generated) - len(copies):
        generated = [each for each in generated if each.opcode != "copy"]
    if len(own) != len(generated) or not _have_same_names(
        [kernels[at].name for at in own], [each.name for each in generated]
    ):
        return _match_unique_names(kernels, by_kernel_name)
    for at, instruction in zip(own, generated, strict=True):
        result[at] = instruction
    _match_library_calls(kernels, active, result)
    return result


def _match_library_calls(
    kernels: Sequence[GraphKernel],
    active: Sequence[HloInstruction],
    result: list[HloInstruction | None],
) -> None:
    """Set the instructions of library kernels, given those of all generated kernels.

    A call may run several kernels. Between two generated kernels run the kernels of the calls
    between their instructions.
    """
    calls = [each for each in active if each.opcode == "custom-call"]
    others = [
        at
        for at, kernel in enumerate(kernels)
        if result[at] is None and not kernel.name.lower().startswith("mem")
    ]
    others.sort(key=lambda at: kernels[at].node)
    if len(others) == len(calls):
        for at, call in zip(others, calls, strict=True):
            result[at] = call
        return
    calls_before: dict[int, list[HloInstruction]] = {}
    pending: list[HloInstruction] = []
    for each in active:
        if each.opcode == "custom-call":
            pending.append(each)
        else:
            calls_before[each.id] = pending
            pending = []
    order = sorted(range(len(kernels)), key=lambda at: kernels[at].start_ps)
    for is_known, run in groupby(order, key=lambda at: result[at] is not None):
        positions = list(run)
        if is_known:
            continue
        following = order.index(positions[-1]) + 1
        instruction = result[order[following]] if following < len(order) else None
        between = pending if instruction is None else calls_before.get(instruction.id, [])
        if len(between) == 1:
            for at in positions:
                result[at] = between[0]


def _match_unique_names(
    kernels: Sequence[GraphKernel], by_kernel_name: Mapping[str, HloInstruction]
) -> list[HloInstruction | None]:
    """Match by name the kernels that run once; others may be shared by several instructions."""
    names = [kernel.name for kernel in kernels]
    return [by_kernel_name.get(name) if names.count(name) == 1 else None for name in names]


def _have_same_names(kernels: Sequence[str], instructions: Sequence[str]) -> bool:
    """Return whether kernels are named like instructions, apart from numbers."""
    pairs = zip(kernels, instructions, strict=True)
    same = sum(
        _strip_number(kernel) == _strip_number(name.replace("-", "_").replace(".", "_"))
        for kernel, name in pairs
    )
    return same >= _MIN_SAME_NAME_SHARE * len(kernels)


def _strip_number(name: str) -> str:
    return _NUMBER_SUFFIX.sub("", name)
