"""Calls: which event called which, PyTorch's table of operators, and call trees.

The numbers of operators and modules are those of ``torch.profiler``'s ``key_averages()``. The self
time of an operator on the host is its time without nested operators and without calls of the
device's API, which are rows of their own. Its self time on devices is that of the kernels and
copies that it launched itself; its total time includes those of nested operators. Nested calls of
the same name count more than once in total times, as they do in PyTorch.

Call trees are calls merged by their stack, for flame graphs. On the host, the time of a call is its
duration. On devices, it is the time of the kernels and copies that were launched during the call;
kernels are the leaves of the tree. Tracks are the roots, unless two trees are compared: threads
have other names in every capture.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles import compute_callers, unique_inverse
from tracklight.analysis.profiles.attribution import pair_launches
from tracklight.analysis.profiles.ops import EventOps
from tracklight.analysis.profiles.steps import Steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int32, Int64

# ---- nesting


class Nesting(NamedTuple):
    """Some events of a trace and how they nest. All columns have one row per event of ``events``.

    A caller precedes its callees, as events are sorted by start.
    """

    events: Int64
    """Numbers of the events in the trace."""
    caller: Int64
    """The row of the caller of each event; -1 for none."""
    depth: Int32
    total_ps: Int64
    """Duration, or how much of it is in the window."""
    self_ps: Int64
    """Time without nested events."""


def nest_events(trace: Trace, mask: Bool, window: tuple[int, int] | None = None) -> Nesting:
    """Return how the events of a mask nest within each track.

    Args:
        trace: The trace.
        mask: The events to consider.
        window: Start and end in ps. Events outside are left out, others are cut off.
    """
    events = np.flatnonzero(mask)
    start, end = trace.start_ps[events], trace.end_ps[events]
    if window is not None:
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        is_inside = end > start
        events, start, end = events[is_inside], start[is_inside], end[is_inside]
    caller, depth = np.full(len(events), -1, np.int64), np.zeros(len(events), np.int32)
    bounds = np.flatnonzero(np.diff(trace.track[events], prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        own_caller, depth[first:last] = compute_callers(start[first:last], end[first:last])
        caller[first:last] = np.where(own_caller < 0, -1, own_caller + first)
    depth = _move_outlasting(start, end, caller, depth)
    total_ps = end - start
    self_ps = total_ps.copy()
    called = np.flatnonzero(caller >= 0)
    inside_ps = np.minimum(end[called], end[caller[called]]) - start[called]
    np.subtract.at(self_ps, caller[called], np.maximum(inside_ps, 0))
    np.maximum(self_ps, 0, out=self_ps)
    return Nesting(events, caller, depth, total_ps, self_ps)


def _move_outlasting(start: Int64, end: Int64, caller: Int64, depth: Int32) -> Int32:
    """Move events that mostly run after their caller to an outer one, and return new depths.

    A step that PyTorch's profiler begins is recorded as if the call that starts the profiler, which
    ends soon after, had called it.
    """
    rows, is_moved = np.flatnonzero(caller >= 0), False
    while len(rows):
        inside_ps = np.minimum(end[rows], end[caller[rows]]) - start[rows]
        rows = rows[2 * inside_ps < end[rows] - start[rows]]
        caller[rows] = caller[caller[rows]]
        is_moved |= bool(len(rows))
        rows = rows[caller[rows] >= 0]
    return _measure_depths(caller) if is_moved else depth


def _measure_depths(caller: Int64) -> Int32:
    """Return how many callers each event has, one above the other.

    The distance to an ancestor and that from it to another one are added up, so that the number of
    passes is the logarithm of the greatest depth.
    """
    ancestor = np.append(caller, -1).astype(np.int32)
    depth = (ancestor >= 0).astype(np.int32)
    while (ancestor >= 0).any():
        # The last row is no event: its depth is 0, and it has no ancestor.
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return depth[:-1]


def select_below(nesting: Nesting, is_root: Bool) -> Nesting:
    """Return only some events, without those that others of them called, and what they called.

    Args:
        nesting: The events.
        is_root: Whether each event of the trace is one of those to start from.
    """
    is_root = is_root[nesting.events]
    root = np.where(is_root, np.arange(len(nesting.events)), -1)
    # The outer one of two roots overrides the inner one.
    for rows in _iter_levels(nesting):
        caller = nesting.caller[rows]
        root_of_caller = np.where(caller >= 0, root[caller], -1)
        root[rows] = np.where(root_of_caller >= 0, root_of_caller, root[rows])
    rows = np.flatnonzero(root >= 0)
    new_row = np.full(len(nesting.events) + 1, -1, np.int64)
    new_row[rows] = np.arange(len(rows))
    is_outermost = root[rows] == rows
    return Nesting(
        events=nesting.events[rows],
        caller=np.where(is_outermost, -1, new_row[nesting.caller[rows]]),
        depth=nesting.depth[rows] - nesting.depth[root[rows]],
        total_ps=nesting.total_ps[rows],
        self_ps=nesting.self_ps[rows],
    )


def _iter_levels(nesting: Nesting) -> Iterator[Int64]:
    """Yield the rows of each depth, outermost first."""
    max_depth = int(nesting.depth.max(initial=-1))
    # NumPy sorts 16-bit integers by radix, which is faster.
    depth = nesting.depth.astype(np.uint16) if max_depth < 1 << 16 else nesting.depth
    order = np.argsort(depth, kind="stable")
    bounds = np.searchsorted(nesting.depth[order], np.arange(max_depth + 2)).tolist()
    return (order[first:last] for first, last in pairwise(bounds))


def sum_over_callees(nesting: Nesting, values: Int64) -> Int64:
    """Return for each event the sum of its own value and those of all events that it called."""
    total: Int64 = values.copy()
    for rows in [*_iter_levels(nesting)][:0:-1]:
        np.add.at(total, nesting.caller[rows], total[rows])
    return total


def propagate_down(nesting: Nesting, values: Int64) -> Int64:
    """Return the value of each event or, where it is -1, that of its nearest caller."""
    result: Int64 = values.copy()
    for rows in [*_iter_levels(nesting)][1:]:
        missing = rows[result[rows] < 0]
        result[missing] = result[nesting.caller[missing]]
    return result


def merge_paths(nesting: Nesting, name: Int32 | Int64) -> tuple[Int64, Int64, Int64]:
    """Merge events with the same names on their stacks into nodes.

    Returns:
        The node of each event, and for each node its parent (-1 for none) and its name. A parent
        precedes its children.
    """
    node = np.full(len(nesting.events), -1, np.int64)
    parents, names = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    count = 0
    for rows in _iter_levels(nesting):
        caller = nesting.caller[rows]
        parent = np.where(caller < 0, -1, node[caller])
        # Numbers from 0 make small keys, which are faster to find.
        first_parent = int(parent.min(initial=0))
        names_of, name_index = unique_inverse(name[rows])
        keys = (parent - first_parent) * len(names_of) + name_index
        unique, inverse = unique_inverse(keys)
        node[rows] = inverse.reshape(-1) + count
        parents.append(unique // len(names_of) + first_parent)
        names.append(names_of[unique % len(names_of)])
        count += len(unique)
    return node, np.concatenate(parents), np.concatenate(names)


def match_launchers(trace: Trace, nesting: Nesting) -> tuple[Int64, Int64]:
    """Return device events and the rows of the events that launched them.

    Of PyTorch's events, an external id names the op that ran during the launch. Otherwise, a
    correlation id names the call that launched the work; if that is not one of the events, it is
    the innermost event around the call.
    """
    row_of = np.full(len(trace) + 1, -1, np.int64)
    row_of[nesting.events] = np.arange(len(nesting.events))
    kernels, launchers = _pair_by_external_id(trace, row_of)
    is_paired = np.zeros(len(trace), bool)
    is_paired[kernels] = True
    calls, targets = pair_launches(trace)
    is_new = ~is_paired[targets] & trace.is_device_work[targets]
    calls, targets = calls[is_new], targets[is_new]
    rows = row_of[calls]
    is_unknown = rows < 0
    rows[is_unknown] = _locate_enclosing(trace, nesting, calls[is_unknown])
    is_known = rows >= 0
    return np.append(kernels, targets[is_known]), np.append(launchers, rows[is_known])


def _pair_by_external_id(trace: Trace, row_of: Int64) -> tuple[Int64, Int64]:
    events, ids = trace.get_int_args("external")
    is_op = trace.match_categories("cpu_op", "user_annotation")[events] & ~trace.on_device[events]
    ops, op_ids = events[is_op], ids[is_op]
    is_work = trace.is_device_work[events]
    kernels, kernel_ids = events[is_work], ids[is_work]
    if not len(ops):
        return kernels[:0], kernels[:0]
    order = np.argsort(op_ids, kind="stable")
    ops, op_ids = ops[order], op_ids[order]
    match = np.minimum(np.searchsorted(op_ids, kernel_ids), len(ops) - 1)
    rows = np.where(op_ids[match] == kernel_ids, row_of[ops[match]], -1)
    is_known = rows >= 0
    return kernels[is_known], rows[is_known]


def _locate_enclosing(trace: Trace, nesting: Nesting, calls: Int64) -> Int64:
    """Return the innermost event that runs when each call starts, -1 for none."""
    rows = np.searchsorted(nesting.events, calls) - 1
    track, start, end = trace.track, trace.start_ps, trace.end_ps
    for _ in range(int(nesting.depth.max(initial=0)) + 1):
        event = nesting.events[rows] if len(nesting.events) else rows
        is_same_track = (rows >= 0) & (track[event] == track[calls])
        is_outside = is_same_track & (end[event] <= start[calls])
        rows = np.where(is_same_track, rows, -1)
        if not is_outside.any():
            break
        rows[is_outside] = nesting.caller[rows[is_outside]]
    return rows


# ---- PyTorch's operators

OperatorGrouping = Literal["name", "shape", "stack", "module"]
OperatorKind = Literal["op", "annotation", "call"]

#: What is shown of a stack: the innermost frames.
_MAX_STACK_FRAMES = 5
_KINDS: dict[str, OperatorKind] = {
    "cpu_op": "op",
    "user_annotation": "annotation",
    "cuda_runtime": "call",
    "cuda_driver": "call",
    "overhead": "call",
}
_MODULE_PREFIX = "nn.Module: "
_PYTHON_CATEGORY = "python_function"


class Operators(NamedTuple):
    """Statistics with one row per operator, or per operator and shapes or stack.

    Modules are in the order of the tree that they form, each after the module that contains it.
    Other rows are sorted by descending self time on devices, then on the host.
    """

    names: list[str]
    groups: list[str]
    """The shapes of the inputs, or the innermost frames of the stack, one per line."""
    kinds: list[OperatorKind]
    depths: Int32
    """How deep a module is nested; 0 for operators."""
    counts: Int64
    host_self_ps: Int64
    host_total_ps: Int64
    device_self_ps: Int64
    device_total_ps: Int64
    longest_event: Int64


def has_operators(trace: Trace) -> bool:
    return "cpu_op" in trace.categories


def has_stacks(trace: Trace) -> bool:
    return _PYTHON_CATEGORY in trace.categories


def has_modules(trace: Trace) -> bool:
    return any(name.startswith(_MODULE_PREFIX) for name in trace.names)


def summarize_operators(trace: Trace, grouping: OperatorGrouping = "name") -> Operators:
    """Return the operators of a trace of PyTorch, or its modules."""
    if grouping == "module":
        return _summarize_modules(trace)
    nesting = _merge_duplicates(trace, nest_events(trace, _mask_operators(trace)))
    device_ps = _sum_device_time(trace, nesting)
    group, texts = _get_groups(trace, nesting, grouping)
    keys = trace.name[nesting.events].astype(np.int64) * len(texts) + group
    # Operators and annotations may have the same name.
    categories = len(trace.categories)
    keys = keys * categories + trace.category[nesting.events]
    unique, row = unique_inverse(keys)
    columns = _sum_columns(trace, nesting, device_ps, row, len(unique))
    order = np.lexsort((-columns.host_self_ps, -columns.device_self_ps))
    pairs = [divmod(key // categories, len(texts)) for key in unique[order].tolist()]
    kinds = [_KINDS[trace.categories[key % categories]] for key in unique[order].tolist()]
    return Operators(
        names=[trace.names[name] for name, _ in pairs],
        groups=[texts[text] for _, text in pairs],
        kinds=kinds,
        depths=np.zeros(len(order), np.int32),
        **{name: column[order] for name, column in columns._asdict().items()},
    )


class _Columns(NamedTuple):
    counts: Int64
    host_self_ps: Int64
    host_total_ps: Int64
    device_self_ps: Int64
    device_total_ps: Int64
    longest_event: Int64


def _sum_columns(
    trace: Trace, nesting: Nesting, device_ps: Int64, row: Int64, count: int
) -> _Columns:
    duration = nesting.total_ps
    longest = np.zeros(count, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[row[order]] = nesting.events[order]

    def sum_by_row(values: Int64) -> Int64:
        total = np.zeros(count, np.int64)
        np.add.at(total, row, values)
        return total

    return _Columns(
        counts=np.bincount(row, minlength=count),
        host_self_ps=sum_by_row(nesting.self_ps),
        host_total_ps=sum_by_row(duration),
        device_self_ps=sum_by_row(device_ps),
        device_total_ps=sum_by_row(sum_over_callees(nesting, device_ps)),
        longest_event=longest,
    )


def _mask_operators(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return trace.match_categories(*_KINDS) & ~trace.on_device


def _merge_duplicates(trace: Trace, nesting: Nesting) -> Nesting:
    """Drop events whose only caller of the same name calls nothing else, as PyTorch does.

    An autograd function and the node of the engine that runs it may be recorded under one name.
    """
    events, caller = nesting.events, nesting.caller
    callees = np.bincount(caller[caller >= 0], minlength=len(events))
    has_caller = caller >= 0
    is_duplicate = has_caller.copy()
    is_duplicate[has_caller] = (callees[caller[has_caller]] == 1) & (
        trace.name[events[has_caller]] == trace.name[events[caller[has_caller]]]
    )
    if not is_duplicate.any():
        return nesting
    mask = np.zeros(len(trace), bool)
    mask[events[~is_duplicate]] = True
    return nest_events(trace, mask)


def _sum_device_time(trace: Trace, nesting: Nesting) -> Int64:
    """Return the time of the device work that each event launched itself."""
    kernels, rows = match_launchers(trace, nesting)
    device_ps = np.zeros(len(nesting.events), np.int64)
    np.add.at(device_ps, rows, trace.duration_ps[kernels])
    return device_ps


def _get_groups(
    trace: Trace, nesting: Nesting, grouping: OperatorGrouping
) -> tuple[Int64, list[str]]:
    """Return the index of the group of each event, and the texts of all groups."""
    group = np.zeros(len(nesting.events), np.int64)
    if grouping == "shape":
        events, index, texts = trace.get_unique_text_args("input_dims")
        text_of = np.full(len(trace), -1, np.int64)
        text_of[events] = index
        group = text_of[nesting.events] + 1
        return group, ["", *map(format_shapes, texts)]
    if grouping == "stack":
        return _get_stacks(trace, nesting)
    return group, [""]


@lru_cache(maxsize=65_536)
def format_shapes(input_dims: str) -> str:
    """Format the shapes of the inputs as ``[8, 3], [3], []``; an input without one is ``[]``."""
    try:
        shapes = json.loads(input_dims)
        return ", ".join(json.dumps(shape) for shape in shapes)
    except (ValueError, TypeError, RecursionError):
        return input_dims


def _get_stacks(trace: Trace, nesting: Nesting) -> tuple[Int64, list[str]]:
    """Return the stack of each event: the Python frames around it, innermost first."""
    is_python = trace.match_categories(_PYTHON_CATEGORY) & ~trace.on_device
    mask = is_python.copy()
    mask[nesting.events] = True
    all_events = nest_events(trace, mask)
    is_frame = is_python[all_events.events]
    texts, frame_of = [""], np.full(len(all_events.events), -1, np.int64)
    index_of: dict[tuple[int, ...], int] = {(): 0}
    stacks: dict[int, tuple[int, ...]] = {-1: ()}
    names = trace.name[all_events.events].tolist()
    callers = all_events.caller.tolist()
    frames = is_frame.tolist()
    group = np.zeros(len(all_events.events), np.int64)
    # The innermost frame around each event, and the frames of its stack.
    for row, (caller, name, is_python_frame) in enumerate(zip(callers, names, frames, strict=True)):
        outer = row if is_python_frame else (int(frame_of[caller]) if caller >= 0 else -1)
        frame_of[row] = outer
        if is_python_frame:
            outer_frame = int(frame_of[caller]) if caller >= 0 else -1
            stacks[row] = (name, *stacks[outer_frame][: _MAX_STACK_FRAMES - 1])
        else:
            stack = stacks[outer]
            if stack not in index_of:
                index_of[stack] = len(texts)
                texts.append("\n".join(trace.names[frame] for frame in stack))
            group[row] = index_of[stack]
    return group[~is_frame], texts


def _summarize_modules(trace: Trace) -> Operators:
    """Return the modules as a tree: one row per path, with the time of the ops inside."""
    is_module = trace.match_names(lambda name: name.startswith(_MODULE_PREFIX)) & ~trace.on_device
    nesting = nest_events(trace, is_module)
    # Device work belongs to the innermost module around the op that launched it.
    operators = nest_events(trace, _mask_operators(trace) | is_module)
    kernels, rows = match_launchers(trace, operators)
    row_of_module = np.full(len(operators.events), -1, np.int64)
    row_of_module[is_module[operators.events]] = np.arange(len(nesting.events))
    module_of = propagate_down(operators, row_of_module)
    device_ps = np.zeros(len(nesting.events), np.int64)
    inside = module_of[rows] >= 0
    np.add.at(device_ps, module_of[rows[inside]], trace.duration_ps[kernels[inside]])
    path, parents, names = merge_paths(nesting, trace.name[nesting.events])
    columns = _sum_columns(trace, nesting, device_ps, path, len(names))
    order = _order_as_tree(parents, columns.host_total_ps)
    depth = np.zeros(len(names), np.int32)
    for node, parent in enumerate(parents.tolist()):
        depth[node] = depth[parent] + 1 if parent >= 0 else 0
    labels = [trace.names[name].removeprefix(_MODULE_PREFIX) for name in names.tolist()]
    return Operators(
        names=[labels[node] for node in order],
        groups=[""] * len(order),
        kinds=["op"] * len(order),
        depths=depth[order],
        **{name: column[order] for name, column in columns._asdict().items()},
    )


def _order_as_tree(parents: Int64, weight: Int64) -> list[int]:
    """Return nodes so that each is followed by its children, heaviest first."""
    children: dict[int, list[int]] = {}
    for node in np.argsort(-weight, kind="stable").tolist():
        children.setdefault(int(parents[node]), []).append(node)
    order: list[int] = []
    pending = children.get(-1, [])[::-1]
    while pending:
        node = pending.pop()
        order.append(node)
        pending += children.get(node, [])[::-1]
    return order


# ---- call trees

TimeOn = Literal["host", "device"]
FrameKind = Literal["all", "ops", "python", "modules"]

#: Numbers of steps, which would keep the calls of different steps apart.
_STEP_NUMBER = re.compile(r"#\d+\Z")
#: Nodes with a smaller share of the time are not worth sending, nor are more than this many.
_MIN_SHARE, _MAX_NODES = 1 / 4000, 5000


@dataclass(frozen=True)
class CallSelection:
    """Which calls to merge. The defaults are all calls on the host."""

    time_on: TimeOn = "host"
    frames: FrameKind = "all"
    """Which events are frames of a stack; others are left out, and their time is their caller's."""
    tracks: frozenset[int] = frozenset()
    """Threads of the host or streams of devices; all if empty."""
    steps: tuple[int, int] | None = None
    """The first and the last step; all of the capture if None."""
    below: str = ""
    """Only calls of this name and what they called."""
    by_track: bool = True
    """Whether tracks are the roots; otherwise, their calls are merged."""


class CallTree(NamedTuple):
    """Nodes of a tree, each after its parent."""

    names: list[str]
    parent: Int64
    """-1 for a root."""
    counts: Int64
    """Number of calls; at the leaves of a tree of device time, number of kernels."""
    total_ps: Int64
    self_ps: Int64
    longest_event: Int64
    """The longest event of each node; -1 for a track."""

    def __len__(self) -> int:
        return len(self.names)


def list_frame_kinds(trace: Trace) -> list[FrameKind]:
    """Return the kinds of frames that a trace has."""
    kinds: list[FrameKind] = ["all"]
    if "cpu_op" in trace.categories:
        kinds.append("ops")
    if _PYTHON_CATEGORY in trace.categories or any(name.startswith("$") for name in trace.names):
        kinds.append("python")
    if any(name.startswith(_MODULE_PREFIX) for name in trace.names):
        kinds.append("modules")
    return kinds


def build_call_tree(
    trace: Trace, steps: Steps, event_ops: EventOps, selection: CallSelection
) -> CallTree:
    """Merge the selected calls by their stack."""
    mask = _mask_frames(trace, event_ops, selection.frames) & ~trace.on_device
    host_tracks = {at for at in selection.tracks if not trace.tracks[at].is_device}
    if host_tracks:
        mask &= _mask_tracks(trace, host_tracks)
    if selection.time_on == "device":
        return _build_device_tree(trace, steps, selection, mask)
    window = None
    if selection.steps is not None:
        first, last = selection.steps
        window = int(steps.host_spans[first, 0]), int(steps.host_spans[last, 1])
    nesting = nest_events(trace, mask & (trace.duration_ps > 0), window)
    if selection.below:
        nesting = select_below(nesting, _mask_name(trace, selection.below))
    nodes = _Nodes(trace, nesting, selection.by_track)
    return nodes.build(nodes.sum(nesting.total_ps), nodes.sum(nesting.self_ps))


def _mask_frames(trace: Trace, event_ops: EventOps, kind: FrameKind) -> Bool:
    if kind == "modules":
        return trace.match_names(lambda name: name.startswith(_MODULE_PREFIX))
    if kind == "ops":
        return (
            trace.match_categories("cpu_op") if any(trace.categories) else event_ops.op_index >= 0
        )
    if kind == "python":
        is_frame = trace.match_names(lambda name: name.startswith("$"))
        return trace.match_categories(_PYTHON_CATEGORY) | is_frame
    return np.ones(len(trace), bool)


def _mask_tracks(trace: Trace, tracks: set[int]) -> Bool:
    is_selected = np.zeros(len(trace.tracks), bool)
    is_selected[list(tracks)] = True
    return is_selected[trace.track]


def _mask_name(trace: Trace, name: str) -> Bool:
    return trace.match_names(lambda item: _STEP_NUMBER.sub("", item) == name)


def _build_device_tree(
    trace: Trace, steps: Steps, selection: CallSelection, mask: Bool
) -> CallTree:
    nesting = nest_events(trace, mask)
    kernels, rows = match_launchers(trace, nesting)
    launcher = np.full(len(trace), -1, np.int64)
    launcher[kernels] = rows
    kernels = np.flatnonzero(_mask_kernels(trace, steps, selection))
    if selection.below:
        selected = select_below(nesting, _mask_name(trace, selection.below))
        row_of = np.full(len(trace) + 1, -1, np.int64)
        row_of[selected.events] = np.arange(len(selected.events))
        is_launched = launcher >= 0
        launcher[is_launched] = row_of[nesting.events[launcher[is_launched]]]
        nesting = selected
    if selection.below or any(not trace.tracks[at].is_device for at in selection.tracks):
        kernels = kernels[launcher[kernels] >= 0]
    nodes = _Nodes(trace, nesting, selection.by_track)
    return nodes.build_with_kernels(kernels, launcher[kernels])


def _mask_kernels(trace: Trace, steps: Steps, selection: CallSelection) -> Bool:
    mask = trace.is_device_work & (trace.duration_ps > 0)
    streams = {at for at in selection.tracks if trace.tracks[at].is_device}
    if streams:
        mask &= _mask_tracks(trace, streams)
    if selection.steps is not None:
        first, last = selection.steps
        mask &= (steps.device_steps >= first) & (steps.device_steps <= last)
    return mask


class _Nodes:
    """The nodes of merged calls: tracks first, then calls by depth."""

    def __init__(self, trace: Trace, nesting: Nesting, by_track: bool) -> None:
        self._trace, self._nesting = trace, nesting
        names, name_of = _merge_step_names(trace)
        tracks, track_index = unique_inverse(trace.track[nesting.events])
        name = name_of[trace.name[nesting.events]].astype(np.int64)
        name_count = max(len(names), 1)
        if by_track:
            # Calls of different tracks stay apart: the name of a root includes its track.
            is_root = nesting.caller < 0
            name = np.where(is_root, name + name_count * (1 + track_index), name)
        else:
            tracks = tracks[:0]
        self.track_count = len(tracks)
        node, parent, keys = merge_paths(nesting, name)
        self.node = node + self.track_count
        root = keys // name_count - 1 if by_track else np.full(len(keys), -1)
        parent = np.where(parent < 0, root, parent + self.track_count)
        self.parent = np.append(np.full(self.track_count, -1), parent)
        self.names = [trace.tracks[at].name or trace.tracks[at].process for at in tracks.tolist()]
        self.names += [names[key] for key in (keys % name_count).tolist()]

    def sum(self, values: Int64) -> Int64:
        total = np.zeros(len(self.names), np.int64)
        np.add.at(total, self.node, values)
        return total

    def build(self, total_ps: Int64, self_ps: Int64) -> CallTree:
        """Return the tree; the time of a track is that of its outermost calls."""
        outermost = np.flatnonzero((self.parent >= 0) & (self.parent < self.track_count))
        np.add.at(total_ps, self.parent[outermost], total_ps[outermost])
        longest_ps = np.full(len(self.names), -1, np.int64)
        np.maximum.at(longest_ps, self.node, self._nesting.total_ps)
        is_longest = self._nesting.total_ps == longest_ps[self.node]
        longest = np.full(len(self.names), -1, np.int64)
        longest[self.node[is_longest]] = self._nesting.events[is_longest]
        counts = np.bincount(self.node, minlength=len(self.names))
        return CallTree(self.names, self.parent, counts, total_ps, self_ps, longest)

    def build_with_kernels(self, kernels: Int64, rows: Int64) -> CallTree:
        """Return the tree of device time. Kernels without a known launch are below a root."""
        trace, count = self._trace, len(self.names)
        duration = trace.duration_ps[kernels]
        # Node 0 is the track of kernels whose launch is unknown.
        stream, stream_index = unique_inverse(trace.track[kernels[rows < 0]])
        parent = np.full(len(kernels), -1, np.int64)
        parent[rows >= 0] = self.node[rows[rows >= 0]] if len(self.node) else -1
        parent[rows < 0] = count + stream_index
        names = [*self.names, *(trace.tracks[at].name for at in stream.tolist())]
        base = len(names)
        unique, leaf = unique_inverse(parent * len(trace.names) + trace.name[kernels])
        leaf_parent = unique // max(len(trace.names), 1)
        names += [trace.names[key] for key in (unique % max(len(trace.names), 1)).tolist()]
        parents = np.concatenate([self.parent, np.full(len(stream), -1), leaf_parent])
        self_ps, counts = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
        np.add.at(self_ps, leaf + base, duration)
        counts[:count] = np.bincount(self.node, minlength=count)
        np.add.at(counts, leaf + base, 1)
        total_ps = self_ps.copy()
        for node in range(len(names) - 1, -1, -1):
            if parents[node] >= 0:
                total_ps[parents[node]] += total_ps[node]
        longest = np.full(len(names), -1, np.int64)
        order = np.argsort(duration, kind="stable")
        longest[leaf[order] + base] = kernels[order]
        if len(self.node):
            longest[self.node[::-1]] = self._nesting.events[::-1]
        return take_nodes(
            CallTree(names, parents, counts, total_ps, self_ps, longest),
            np.flatnonzero(total_ps > 0),
        )


def _merge_step_names(trace: Trace) -> tuple[list[str], Int32]:
    """Return names without numbers of steps, and the index of the new name of each name."""
    index: dict[str, int] = {}
    new = [index.setdefault(_STEP_NUMBER.sub("", name), len(index)) for name in trace.names]
    return [*index], np.array(new, np.int32)


def take_nodes(tree: CallTree, nodes: Int64) -> CallTree:
    """Return some nodes of a tree, which include the parents of all of them."""
    position = np.full(len(tree) + 1, -1, np.int64)
    position[nodes] = np.arange(len(nodes))
    return CallTree(
        names=[tree.names[node] for node in nodes.tolist()],
        parent=position[tree.parent[nodes]],
        counts=tree.counts[nodes],
        total_ps=tree.total_ps[nodes],
        self_ps=tree.self_ps[nodes],
        longest_event=tree.longest_event[nodes],
    )


def select_visible(total_ps: Int64, parent: Int64) -> Int64:
    """Return the nodes that are large enough to be drawn, with their parents."""
    whole_ps = int(total_ps[parent < 0].sum())
    limit_ps = whole_ps * _MIN_SHARE
    if (total_ps >= limit_ps).sum() > _MAX_NODES:
        limit_ps = float(np.sort(total_ps)[-_MAX_NODES])
    # A parent is at least as large as its children, so that it is kept with them.
    return np.flatnonzero(total_ps >= max(limit_ps, 1))


class MergedTrees(NamedTuple):
    """The nodes of two trees, merged by stack."""

    names: list[str]
    parent: Int64
    before: Int64
    """The node in the first tree; -1 for none."""
    after: Int64


def merge_trees(before: CallTree, after: CallTree) -> MergedTrees:
    """Merge two trees: nodes with the same names on their stacks are one."""
    index: dict[tuple[int, str], int] = {}
    names: list[str] = []
    parents: list[int] = []
    columns: list[list[int]] = []
    for tree in (before, after):
        merged = [-1] * (len(tree) + 1)
        for node, (name, parent) in enumerate(zip(tree.names, tree.parent.tolist(), strict=True)):
            key = merged[parent], name
            at = index.setdefault(key, len(names))
            if at == len(names):
                names.append(name)
                parents.append(key[0])
            merged[node] = at
        columns.append(merged[:-1])
    nodes = np.full((2, len(names)), -1, np.int64)
    for row, merged in zip(nodes, columns, strict=True):
        row[merged] = np.arange(len(merged))
    return MergedTrees(names, np.array(parents, np.int64), nodes[0], nodes[1])
