"""Which op each event is, and how long ops took."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles import arrays
from tracklight.analysis.profiles.arrays import compute_child_time
from tracklight.analysis.profiles.trace import Trace
from tracklight.analysis.profiles.xla_programs import (
    InstructionMap,
    classify_instruction,
    list_programs,
    map_instructions,
)
from tracklight.types import Bool, Int32, Int64

# Which op an event is, by its name: one of TensorFlow, tf.data or JAX, a copy, or none.

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*\Z")

_TF_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*\Z")

_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?\Z", re.DOTALL)

_NUMBER_SUFFIX = re.compile(r"(.*)_[+-]?\d+\Z", re.DOTALL)

_COPY_NAMES = ("MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH")


class Op(NamedTuple):
    name: str
    type: str


@lru_cache(maxsize=65_536)
def parse_op_name(name: str) -> Op | None:
    left, colon, right = name.partition(":")
    if not colon:
        copy = next((each for each in _COPY_NAMES if left.lower().startswith(each.lower())), None)
        return Op(name, copy) if copy else None
    if left == "Iterator":
        return Op(name, "Dataset")
    if _TF_NAME.match(left) and _TF_TYPE.match(right):
        return Op(left, right)
    kind = right or _strip_number(left.rpartition("/")[2])
    if _JAX_TYPE.match(kind):
        return Op(left, kind.partition("[")[0])
    return None if right else Op(left, kind)


def _strip_number(name: str) -> str:
    numbered = _NUMBER_SUFFIX.match(name)
    return numbered[1] if numbered else name


# Which op each event is, as that is written down while it is found out.


class OpSide(IntEnum):
    """Who does an op."""

    HOST = 0
    DEVICE = 1
    PYTHON = 2


class EventOps(NamedTuple):
    op_index: Int32
    """Of each event, which op it is; -1: none."""
    ops: list[Op]
    sides: list[OpSide]
    launch_event: Int64
    """Of each event, by which event it was called; what one call launched is one call."""


class EventOpsBuilder:
    """Ops by number, in the order in which they are met."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.op_index = np.full(len(trace), -1, np.int32)
        self.launch_event = np.arange(len(trace))
        self._indices: dict[tuple[Op, OpSide], int] = {}

    def set(self, event: int, op: Op, side: OpSide) -> None:
        self.op_index[event] = self._get_index(op, side)

    def set_by_name(self, mask: Bool, side: OpSide, parse: Callable[[str], Op | None]) -> None:
        """Name events by nothing but what they are called; each name is looked at once."""
        events = np.flatnonzero(mask)
        names, inverse = np.unique(self.trace.name[events], return_inverse=True)
        self.set_many(events, inverse, [parse(self.trace.names[name]) for name in names], side)

    def set_many(self, events: Int64, index: Int64, ops: Sequence[Op | None], side: OpSide) -> None:
        """Name events each by one of some ops; None takes the name away."""
        used = np.bincount(index, minlength=len(ops)) > 0
        places = [
            self._get_index(op, side) if op is not None and is_used else -1
            for op, is_used in zip(ops, used.tolist(), strict=True)
        ]
        self.op_index[events] = np.array(places, np.int32)[index]

    def _get_index(self, op: Op, side: OpSide) -> int:
        return self._indices.setdefault((op, side), len(self._indices))

    def build(self) -> EventOps:
        ops, sides = [op for op, _ in self._indices], [side for _, side in self._indices]
        return EventOps(self.op_index, ops, sides, self.launch_event)


# Ops of PyTorch's traces, and of any other in Chrome's form.

_OP_CATEGORY, _PYTHON_CATEGORY = "cpu_op", "python_function"

#: What stands around ops, launches them, or only happens at a time.
_NON_OP_CATEGORIES = frozenset({
    "gpu_user_annotation", "user_annotation", "cuda_runtime", "cuda_driver", "overhead", "Trace",
    "cpu_instant_event", "thread_state", _PYTHON_CATEGORY,
})  # fmt: skip

_DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


def assign_chrome_ops(trace: Trace, builder: EventOpsBuilder) -> None:
    is_python = trace.match_categories(_PYTHON_CATEGORY) & ~trace.on_device
    builder.set_by_name(is_python, OpSide.PYTHON, lambda name: Op(name, "Python"))
    if _OP_CATEGORY in trace.categories:
        builder.set_by_name(
            trace.match_categories(_OP_CATEGORY), OpSide.HOST, lambda name: Op(name, name)
        )
        _assign_shapes(trace, builder)
        _assign_kernels(trace, builder)
        return
    # Who wrote this is not known: all that it tells apart is taken for what ops do.
    for category in {*trace.categories} - _NON_OP_CATEGORIES:
        mine = trace.match_categories(category) & ~trace.on_device & (trace.duration_ps > 0)
        builder.set_by_name(mine, OpSide.HOST, lambda name, kind=category: Op(name, kind))  # type: ignore[misc]
    _assign_kernels(trace, builder)


def _assign_shapes(trace: Trace, book: EventOpsBuilder) -> None:
    """Tell ops apart by the shapes of what they were given, where the capture recorded them."""
    events, which, texts = trace.get_unique_text_args("input_dims")
    is_op = book.op_index[events] >= 0
    events, which = events[is_op], which[is_op]
    pairs, pair = arrays.unique_inverse(trace.name[events].astype(np.int64) * len(texts) + which)
    named = (divmod(each, len(texts)) for each in pairs.tolist())
    ops = [_make_shaped_op(trace.names[name], texts[text]) for name, text in named]
    book.set_many(events, pair, ops, OpSide.HOST)


def _make_shaped_op(kind: str, text: str) -> Op:
    shapes = _format_shapes(text)
    return Op(f"{kind} ({shapes})" if shapes else kind, kind)


@lru_cache(maxsize=65_536)
def _format_shapes(text: str) -> str:
    try:
        shapes = json.loads(text)
        return ", ".join("x".join(map(str, _iter_sizes(shape))) for shape in shapes if shape)
    except (ValueError, TypeError, RecursionError):
        return ""


def _iter_sizes(shape: object) -> Iterator[object]:
    """A shape, or the shapes of a list of tensors one after the other."""
    for each in shape if isinstance(shape, list) else ():
        yield "(" + "x".join(map(str, each)) + ")" if isinstance(each, list) else each


def _assign_kernels(trace: Trace, book: EventOpsBuilder) -> None:
    """Call what runs on a device after the op that launched it."""
    kernels = trace.match_categories(*_DEVICE_CATEGORIES) & trace.on_device
    book.set_by_name(kernels, OpSide.DEVICE, lambda name: Op(name, "kernel"))
    events, numbers = trace.get_int_args("external")
    is_op = (book.op_index[events] >= 0) & ~trace.on_device[events]
    launchers = dict(zip(numbers[is_op].tolist(), events[is_op].tolist(), strict=True))
    mine = kernels[events]
    launched = zip(events[mine].tolist(), numbers[mine].tolist(), strict=True)
    naming = book.build()
    for event, launcher in ((event, launchers.get(number)) for event, number in launched):
        if launcher is not None:
            book.set(event, naming.ops[naming.op_index[launcher]], OpSide.DEVICE)
            book.launch_event[event] = launcher


# Which op each event is: one of a framework, an instruction of a program, a function of Python.
#
# An op of a device is called after what launched it, so that the time that a device took and the time
# that its host took stand under one name.

_ALLOCATION_NAMES = ("MemoryAllocation", "MemoryDeallocation")

#: What is said to be an op and is the whole program.
_MODULE_PREFIX = "XlaModule:"


def assign_ops(trace: Trace, instructions: InstructionMap | None = None) -> EventOps:
    """Name the ops; ``placement`` saves finding out which instructions events are once more."""
    book = EventOpsBuilder(trace)
    if any(trace.categories):
        assign_chrome_ops(trace, book)
    else:
        instructions = instructions or map_instructions(trace, list_programs(trace))
        _assign_xplane_ops(trace, book, instructions)
    return book.build()


def _assign_xplane_ops(trace: Trace, book: EventOpsBuilder, placement: InstructionMap) -> None:
    """Name the ops of TensorFlow and JAX: what is known more closely is written over the rest."""
    host = ~trace.on_device
    book.set_by_name(host, OpSide.HOST, parse_op_name)
    book.set_by_name(trace.on_device & (trace.duration_ps > 0), OpSide.DEVICE, _make_kernel_op)
    _assign_tf_ops(trace, book)
    _assign_instructions(trace, book, placement)
    frames = host & trace.match_names(lambda name: name.startswith("$"))
    book.set_by_name(frames, OpSide.PYTHON, lambda name: Op(name[1:], "Python"))


def _assign_tf_ops(trace: Trace, book: EventOpsBuilder) -> None:
    """Name events after the op that they are said to be of; a host's own name goes before that."""
    events, which, texts = trace.get_unique_text_args("tf_op")
    ops = [
        parse_op_name(text) or Op(text, "") if text not in ("", _MODULE_PREFIX) else None
        for text in texts
    ]
    is_named = np.array([op is not None for op in ops], bool)[which]
    is_named &= ~trace.match_names(lambda name: name in _ALLOCATION_NAMES)[events]
    on_device = trace.on_device[events]
    for side, mine in (
        (OpSide.HOST, ~on_device & (book.op_index[events] < 0)),
        (OpSide.DEVICE, on_device),
    ):
        book.set_many(events[is_named & mine], which[is_named & mine], ops, side)


def list_instruction_ops(instructions: InstructionMap) -> list[Op]:
    """The op that each instruction is."""
    return [
        Op(each.instruction.name, classify_instruction(*each)) for each in instructions.instructions
    ]


def _assign_instructions(trace: Trace, book: EventOpsBuilder, placement: InstructionMap) -> None:
    events, which, _ = placement
    named = list_instruction_ops(placement)
    for side in (OpSide.HOST, OpSide.DEVICE):
        mine = trace.on_device[events] == (side == OpSide.DEVICE)
        book.set_many(events[mine], which[mine], named, side)


def _make_kernel_op(name: str) -> Op:
    """A kernel of which nothing else is known; copies are known by their names."""
    return Op(name, "copy" if name.lower().startswith("memcpy") else "kernel")


# How long ops took, on the host and on devices: all of them, each counted once.


class OpStats(NamedTuple):
    """One row an op, those that took longest by themselves first."""

    ops: list[Op]
    sides: Int32
    counts: Int64
    total_ps: Int64
    self_ps: Int64
    """Without what ran inside of it."""
    longest_event: Int64
    """The event that took longest."""
    idle_ps: dict[OpSide, int]
    """How long threads, or devices, did nothing between their first op and their last."""


def compute_op_stats(trace: Trace, event_ops: EventOps | None = None) -> OpStats:
    event_ops = event_ops or assign_ops(trace)
    alone, idle = _measure_times(trace, event_ops)
    named = np.flatnonzero(event_ops.op_index >= 0)
    op, count = event_ops.op_index[named], len(event_ops.ops)
    calls = _count_calls(op, event_ops.launch_event[named], trace.name[named], count)
    own = _sum_by_op(op, alone[named], count)
    order = np.argsort(-own, kind="stable")
    # An op whose every event was given another name is none.
    order = order[calls[order] > 0]
    return OpStats(
        ops=[event_ops.ops[at] for at in order.tolist()],
        sides=np.array(event_ops.sides, np.int32)[order],
        counts=calls[order],
        total_ps=_sum_by_op(op, trace.duration_ps[named], count)[order],
        self_ps=own[order],
        longest_event=_get_longest_events(op, named, trace.duration_ps[named], count)[order],
        idle_ps=idle,
    )


def _measure_times(trace: Trace, naming: EventOps) -> tuple[Int64, dict[OpSide, int]]:
    """How long each event took by itself, and how long nobody did anything."""
    alone = trace.duration_ps.copy()
    idle = dict.fromkeys(OpSide, 0)
    side_of = np.array([*naming.sides, -1], np.int64)[naming.op_index]
    for side in OpSide:
        events = np.flatnonzero(side_of == side)
        for mine in np.split(events, np.flatnonzero(np.diff(trace.track[events])) + 1):
            start, end = trace.start_ps[mine], trace.end_ps[mine]
            if side != OpSide.DEVICE:  # whose kernels overlap, and are never nested
                alone[mine] -= compute_child_time(start, end)
            idle[side] += _measure_idle(start, end)
    return alone, idle


def _measure_idle(start: Int64, end: Int64) -> int:
    """How long nothing ran between the first beginning and the last end."""
    busy_until = np.maximum.accumulate(end)[:-1]
    return int(np.maximum(start[1:] - busy_until, 0).sum())


def _count_calls(op: Int32, call: Int64, name: Int32, count: int) -> Int64:
    """Count a call that launches several kernels once.

    Where it is not known what launched them, as often as the commonest of its kernels ran.
    """
    keys = op.astype(np.int64) << 32
    called = np.bincount(arrays.unique_counts(keys | call)[0] >> 32, minlength=count)
    pairs, times = arrays.unique_counts(keys | name)
    commonest = np.zeros(count, np.int64)
    np.maximum.at(commonest, pairs >> 32, times)
    return np.minimum(called, commonest)


def _sum_by_op(op: Int32, ps: Int64, count: int) -> Int64:
    """Sum by op in whole picoseconds, of which a day is more than doubles hold."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, op, ps)
    return sums


def _get_longest_events(op: Int32, events: Int64, duration: Int64, count: int) -> Int64:
    longest = np.zeros(count, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[op[order]] = events[order]
    return longest
