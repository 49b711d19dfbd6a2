"""PyTorch's operators and modules: calls, and time on the host and on devices.

The numbers are those of ``torch.profiler``'s ``key_averages()``. The self time of an operator on
the host is its time without nested operators and without calls of the device's API, which are rows
of their own. Its self time on devices is that of the kernels and copies that it launched itself;
its total time includes those of nested operators. Nested calls of the same name count more than
once in total times, as they do in PyTorch.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.calls.nesting import (
    Nesting,
    find_launchers,
    merge_paths,
    nest_events,
    propagate_down,
    sum_over_callees,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Int32, Int64

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
    kernels, rows = find_launchers(trace, nesting)
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
    kernels, rows = find_launchers(trace, operators)
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
