"""Which op each event is, and how long each op took.

An op is an op of a framework, an instruction of an XLA program or a Python function. A kernel is
named after the op that launched it, so that host time and device time appear under the same name.
Start with `compute_op_stats`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles import (
    compute_child_time,
    measure_intervals,
    merge_spans,
    sum_by_index,
    unique_counts,
    unique_inverse,
)
from tracklight.analysis.profiles.trace import TPU_OP_LINES, Trace
from tracklight.analysis.profiles.xla_programs import (
    InstructionMap,
    classify_instruction,
    group_runs,
    list_programs,
    map_instructions,
)
from tracklight.types import Bool, Int32, Int64

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*\Z")
_TF_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*\Z")
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?\Z", re.DOTALL)
_NUMBER_SUFFIX = re.compile(r"(.*)_[+-]?\d+\Z", re.DOTALL)
_COPY_NAMES = ("MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH")

_OP_CATEGORY, _PYTHON_CATEGORY = "cpu_op", "python_function"
#: Events that enclose ops, launch them or only mark a time.
_NON_OP_CATEGORIES = frozenset({
    "gpu_user_annotation", "user_annotation", "cuda_runtime", "cuda_driver", "overhead", "Trace",
    "cpu_instant_event", "thread_state", _PYTHON_CATEGORY,
})  # fmt: skip
_DEVICE_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")

ALLOCATION_NAMES = ("MemoryAllocation", "MemoryDeallocation")
#: A ``tf_op`` argument that names a whole program.
_MODULE_PREFIX = "XlaModule:"


class Op(NamedTuple):
    name: str
    type: str


class OpSide(IntEnum):
    """Where an op runs."""

    HOST = 0
    DEVICE = 1
    PYTHON = 2


class EventOps(NamedTuple):
    """The op of each event."""

    op_index: Int32
    """For each event, an index into ``ops``; -1 for none."""
    ops: list[Op]
    sides: list[OpSide]
    launch_event: Int64
    """For each event, the event that launched it, or itself. All kernels of one launch are one
    call of their op."""
    has_launch: Bool
    """Whether it is known which kernels each event was launched with."""


class OpStats(NamedTuple):
    """Statistics with one row per op, sorted by descending self time."""

    ops: list[Op]
    sides: Int32
    counts: Int64
    total_ps: Int64
    self_ps: Int64
    """Time without nested ops."""
    longest_event: Int64
    idle_ps: dict[OpSide, int]
    """How long no op ran on any thread, or on any stream of a device, between the first and the
    last op. Of several devices, the mean."""


@lru_cache(maxsize=65_536)
def parse_op_name(name: str) -> Op | None:
    """Return the op that an event name of TensorFlow, tf.data or JAX names, if any."""
    left, colon, right = name.partition(":")
    if not colon:
        copy = next(
            (copy_name for copy_name in _COPY_NAMES if left.lower().startswith(copy_name.lower())),
            None,
        )
        return Op(name, copy) if copy else None
    if left == "Iterator":
        return Op(name, "Dataset")
    if _TF_NAME.match(left) and _TF_TYPE.match(right):
        return Op(left, right)
    type = right or _strip_number(left.rpartition("/")[2])
    if _JAX_TYPE.match(type):
        return Op(left, type.partition("[")[0])
    return None if right else Op(left, type)


def _strip_number(name: str) -> str:
    match = _NUMBER_SUFFIX.match(name)
    return match[1] if match else name


class EventOpsBuilder:
    """Assign ops to events. Later assignments overwrite earlier ones."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.op_index = np.full(len(trace), -1, np.int32)
        self.launch_event = np.arange(len(trace))
        self.has_launch = ~trace.on_device
        self._indices: dict[tuple[Op, OpSide], int] = {}

    def set(self, event: int, op: Op, side: OpSide) -> None:
        self.op_index[event] = self._get_index(op, side)

    def set_by_name(self, mask: Bool, side: OpSide, parse: Callable[[str], Op | None]) -> None:
        """Assign ops by the names of events. Each unique name is parsed once."""
        events = np.flatnonzero(mask)
        names, inverse = unique_inverse(self.trace.name[events])
        ops = [parse(self.trace.names[name]) for name in names.tolist()]
        self.set_many(events, inverse, ops, side)

    def set_many(self, events: Int64, index: Int64, ops: Sequence[Op | None], side: OpSide) -> None:
        """Assign ``ops[index[i]]`` to ``events[i]``; None removes the op of an event."""
        is_used = np.bincount(index, minlength=len(ops)) > 0
        indices = [
            self._get_index(op, side) if op is not None and used else -1
            for op, used in zip(ops, is_used.tolist(), strict=True)
        ]
        self.op_index[events] = np.array(indices, np.int32).take(index)

    def build(self) -> EventOps:
        ops, sides = [op for op, _ in self._indices], [side for _, side in self._indices]
        return EventOps(self.op_index, ops, sides, self.launch_event, self.has_launch)

    def _get_index(self, op: Op, side: OpSide) -> int:
        return self._indices.setdefault((op, side), len(self._indices))


def assign_ops(trace: Trace, instructions: InstructionMap | None = None) -> EventOps:
    """Return the op of each event.

    Args:
        trace: The trace.
        instructions: The XLA instructions of events, if they are already known.
    """
    builder = EventOpsBuilder(trace)
    if any(trace.categories):
        _assign_chrome_ops(trace, builder)
    else:
        instructions = instructions or map_instructions(trace, list_programs(trace))
        _assign_xplane_ops(trace, builder, instructions)
    return builder.build()


def _assign_chrome_ops(trace: Trace, builder: EventOpsBuilder) -> None:
    """Assign the ops of PyTorch, or of any other trace in the Chrome format."""
    is_python = trace.match_categories(_PYTHON_CATEGORY) & ~trace.on_device
    builder.set_by_name(is_python, OpSide.PYTHON, lambda name: Op(name, "Python"))
    if _OP_CATEGORY in trace.categories:
        is_op = trace.match_categories(_OP_CATEGORY)
        builder.set_by_name(is_op, OpSide.HOST, lambda name: Op(name, name))
        _assign_shapes(trace, builder)
        _assign_kernels(trace, builder)
        return
    # An unknown writer: take every other category for a type of ops.
    for category in {*trace.categories} - _NON_OP_CATEGORIES:
        mask = trace.match_categories(category) & ~trace.on_device & (trace.duration_ps > 0)
        builder.set_by_name(mask, OpSide.HOST, lambda name, type=category: Op(name, type))  # type: ignore[misc]
    _assign_kernels(trace, builder)


def _assign_shapes(trace: Trace, builder: EventOpsBuilder) -> None:
    """Distinguish ops of one name by the shapes of their inputs, if these were recorded."""
    events, text_index, texts = trace.get_unique_text_args("input_dims")
    is_op = builder.op_index[events] >= 0
    events, text_index = events[is_op], text_index[is_op]
    keys = trace.name[events].astype(np.int64) * len(texts) + text_index
    unique_keys, index = unique_inverse(keys)
    pairs = (divmod(key, len(texts)) for key in unique_keys.tolist())
    ops = [_make_shaped_op(trace.names[name], texts[text]) for name, text in pairs]
    builder.set_many(events, index, ops, OpSide.HOST)


def _make_shaped_op(type: str, input_dims: str) -> Op:
    shapes = _format_shapes(input_dims)
    return Op(f"{type} ({shapes})" if shapes else type, type)


@lru_cache(maxsize=65_536)
def _format_shapes(input_dims: str) -> str:
    """Format ``[[8, 3], [3]]`` as ``8x3, 3``."""
    try:
        shapes = json.loads(input_dims)
        return ", ".join("x".join(map(str, _iter_sizes(shape))) for shape in shapes if shape)
    except (ValueError, TypeError, RecursionError):
        return ""


def _iter_sizes(shape: object) -> Iterator[object]:
    """Yield the sizes of a shape, or the shapes of a list of tensors."""
    for item in shape if isinstance(shape, list) else ():
        yield "(" + "x".join(map(str, item)) + ")" if isinstance(item, list) else item


def _assign_kernels(trace: Trace, builder: EventOpsBuilder) -> None:
    """Name device events after the op that launched them."""
    is_kernel = trace.match_categories(*_DEVICE_CATEGORIES) & trace.on_device
    builder.set_by_name(is_kernel, OpSide.DEVICE, lambda name: Op(name, "kernel"))
    events, ids = trace.get_int_args("external")
    is_op = (builder.op_index[events] >= 0) & ~trace.on_device[events]
    launchers = dict(zip(ids[is_op].tolist(), events[is_op].tolist(), strict=True))
    launched = is_kernel[events]
    event_ops = builder.build()
    for event, id in zip(events[launched].tolist(), ids[launched].tolist(), strict=True):
        launcher = launchers.get(id)
        if launcher is not None:
            builder.set(event, event_ops.ops[event_ops.op_index[launcher]], OpSide.DEVICE)
            builder.launch_event[event] = launcher
            builder.has_launch[event] = True


def _assign_xplane_ops(
    trace: Trace, builder: EventOpsBuilder, instructions: InstructionMap
) -> None:
    """Assign the ops of TensorFlow and JAX, from the least to the most specific source."""
    on_host = ~trace.on_device
    builder.set_by_name(on_host, OpSide.HOST, parse_op_name)
    is_work = trace.is_device_work & (trace.duration_ps > 0)
    builder.set_by_name(is_work, OpSide.DEVICE, _make_kernel_op)
    _assign_tf_ops(trace, builder)
    _assign_instructions(trace, builder, instructions)
    _assign_tpu_ops(trace, builder)
    is_frame = on_host & trace.match_names(lambda name: name.startswith("$"))
    builder.set_by_name(is_frame, OpSide.PYTHON, lambda name: Op(name[1:], "Python"))


def _assign_tf_ops(trace: Trace, builder: EventOpsBuilder) -> None:
    """Assign the op in the ``tf_op`` argument; on the host only to events that have none yet."""
    events, index, texts = trace.get_unique_text_args("tf_op")
    ops = [
        parse_op_name(text) or Op(text, "") if text not in ("", _MODULE_PREFIX) else None
        for text in texts
    ]
    has_op = np.array([op is not None for op in ops], bool)[index]
    has_op &= ~trace.match_names(lambda name: name in ALLOCATION_NAMES)[events]
    on_device = trace.on_device[events]
    for side, mask in (
        (OpSide.HOST, has_op & ~on_device & (builder.op_index[events] < 0)),
        (OpSide.DEVICE, has_op & on_device),
    ):
        builder.set_many(events[mask], index[mask], ops, side)


def _assign_tpu_ops(trace: Trace, builder: EventOpsBuilder) -> None:
    """Name the ops of TPUs after their instruction and give them the category of the profiler."""
    events, text_index, categories = trace.get_unique_text_args("hlo_category")
    is_work = trace.is_device_work[events]
    events, text_index = events[is_work], text_index[is_work]
    keys = trace.name[events].astype(np.int64) * len(categories) + text_index
    unique_keys, index = unique_inverse(keys)
    pairs = (divmod(key, len(categories)) for key in unique_keys.tolist())
    ops = [Op(_get_hlo_name(trace.names[name]), categories[text]) for name, text in pairs]
    builder.set_many(events, index, ops, OpSide.DEVICE)


def _get_hlo_name(name: str) -> str:
    """Return the name of an instruction given as text, such as ``%dot.1 = f32[8] dot(%a)``."""
    return name.partition(" = ")[0].removeprefix("%")


def _assign_instructions(
    trace: Trace, builder: EventOpsBuilder, instructions: InstructionMap
) -> None:
    events, index, refs = instructions
    ops = [Op(ref.instruction.name, classify_instruction(*ref)) for ref in refs]
    for side in (OpSide.HOST, OpSide.DEVICE):
        mask = trace.on_device[events] == (side == OpSide.DEVICE)
        builder.set_many(events[mask], index[mask], ops, side)
    builder.launch_event[events] = group_runs(trace, instructions)
    builder.has_launch[events] = True


def _make_kernel_op(name: str) -> Op:
    return Op(name, "copy" if name.lower().startswith("memcpy") else "kernel")


def compute_op_stats(trace: Trace, event_ops: EventOps | None = None) -> OpStats:
    """Return how often each op ran and how long it took.

    Args:
        trace: The trace.
        event_ops: The result of `assign_ops`, if it is already known.
    """
    event_ops = event_ops or assign_ops(trace)
    self_ps, idle_ps = _measure_times(trace, event_ops)
    events = np.flatnonzero(event_ops.op_index >= 0)
    op, count = event_ops.op_index[events], len(event_ops.ops)
    duration = trace.duration_ps[events]
    calls = _count_calls(trace, event_ops, events)
    op_self_ps = sum_by_index(op, self_ps[events], count)
    order = np.argsort(-op_self_ps, kind="stable")
    # Drop ops whose events were all reassigned to other ops.
    order = order[calls[order] > 0]
    return OpStats(
        ops=[event_ops.ops[index] for index in order.tolist()],
        sides=np.array(event_ops.sides, np.int32)[order],
        counts=calls[order],
        total_ps=sum_by_index(op, duration, count)[order],
        self_ps=op_self_ps[order],
        longest_event=_get_longest_events(op, events, duration, count)[order],
        idle_ps=idle_ps,
    )


def _measure_times(trace: Trace, event_ops: EventOps) -> tuple[Int64, dict[OpSide, int]]:
    """Return the self time of each event and the idle time of each side."""
    self_ps = trace.duration_ps.copy()
    event_side = np.array([*event_ops.sides, -1], np.int8).take(event_ops.op_index)
    nests = np.array(
        [not track.is_device or track.name in TPU_OP_LINES for track in trace.tracks], bool
    )
    for side in OpSide:
        # Kernels of a stream overlap but do not nest.
        side_events = np.flatnonzero((event_side == side) & nests.take(trace.track))
        track_changes = np.flatnonzero(np.diff(trace.track[side_events])) + 1
        for events in np.split(side_events, track_changes):
            start, end = trace.start_ps[events], trace.end_ps[events]
            self_ps[events] -= compute_child_time(start, end)
    idle_ps = {side: _measure_idle(trace, np.flatnonzero(event_side == side)) for side in OpSide}
    return self_ps, idle_ps


def _measure_idle(trace: Trace, events: Int64) -> int:
    """Return how long none of some events ran between the first and the last of them.

    Of several devices, the mean is returned.
    """
    if not len(events):
        return 0
    devices = sorted({track.device for track in trace.tracks})
    device = np.array([devices.index(track.device) for track in trace.tracks])[trace.track[events]]
    idle = []
    for item in np.flatnonzero(np.bincount(device)).tolist():
        own = events[device == item]
        start, end = trace.start_ps[own], trace.end_ps[own]
        busy_ps = measure_intervals(merge_spans(start, end))
        idle.append(int(end.max() - start.min()) - busy_ps)
    return round(sum(idle) / len(idle))


def _count_calls(trace: Trace, event_ops: EventOps, events: Int64) -> Int64:
    """Count the calls of each op. A call that launches several kernels counts once.

    If launches are unknown, an op was called as often as its most frequent kernel ran.

    Args:
        trace: The trace.
        event_ops: The op of each event.
        events: The events with an op.
    """
    op, count = event_ops.op_index, len(event_ops.ops)
    is_known, launch = event_ops.has_launch[events], event_ops.launch_event[events]
    # Most events, those of the host, are calls of their own.
    is_own = is_known & (launch == events)
    calls: Int64 = np.bincount(op[events[is_own]], minlength=count)
    has_own = np.zeros(len(trace), bool)
    has_own[events[is_own]] = True
    is_launched = is_known & ~is_own & ~(has_own[launch] & (op[launch] == op[events]))
    launched_op = op[events[is_launched]].astype(np.int64)
    launch_keys, _ = unique_counts(launched_op << 32 | launch[is_launched])
    calls += np.bincount(launch_keys >> 32, minlength=count)
    others = events[~is_known]
    kernel_keys, kernel_counts = unique_counts(
        op[others].astype(np.int64) << 32 | trace.name[others]
    )
    max_kernel_count = np.zeros(count, np.int64)
    np.maximum.at(max_kernel_count, kernel_keys >> 32, kernel_counts)
    return calls + max_kernel_count


def _get_longest_events(op: Int32, events: Int64, duration: Int64, count: int) -> Int64:
    """Return the longest event of each op, the last of several that are equally long."""
    longest_ps = np.full(count, -1, np.int64)
    np.maximum.at(longest_ps, op, duration)
    longest = np.zeros(count, np.int64)
    is_longest = duration == longest_ps[op]
    longest[op[is_longest]] = events[is_longest]
    return longest
