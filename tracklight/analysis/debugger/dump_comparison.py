"""Find where two dumps of the same program first differ.

Tensors are matched by name: the third output of an operation in one dump is compared with the third
one in the other. Graphs run their operations in parallel, so positions in a file mean nothing, and
ids of graphs are random.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger.dump import DebugDump, TensorSummary
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis, get_function_name
from tracklight.formats.debug_events import Health, TensorDebugMode
from tracklight.types import Bool, Float64, Int64

#: Tensors whose counts or values are read from the files and compared.
MAX_COMPARED_VALUES = 20_000
_MAX_ONLY = 100
#: Modes that store more of a tensor than its shape and the number of NaN and Inf.
_MODES_WITH_VALUES = (TensorDebugMode.FULL_HEALTH, TensorDebugMode.FULL_TENSOR)

EventKind = Literal["execution", "graph_execution"]
#: What differs: the operation itself, or a property of its output.
DifferenceKind = Literal[
    "operation", "dtype", "shape", "size", "non_finite", "nan", "neg_inf", "pos_inf", "negative",
    "zero", "positive", "value",
]  # fmt: skip


class TensorKey(NamedTuple):
    """What tensors of two dumps are matched by."""

    graph: str
    """Name of the function; empty for executions."""
    op: str
    """Name of an operation of a graph, or the type of an execution."""
    slot: int

    def __str__(self) -> str:
        op = f"{self.op}:{self.slot}" if self.slot else self.op
        return f"{self.graph}/{op}" if self.graph else op


@dataclass(frozen=True)
class DumpDifference:
    """An event of the first dump, and how its counterpart in the second differs."""

    event: EventKind
    index: int
    other_index: int
    slot: int
    kind: DifferenceKind
    first: str
    second: str
    element: tuple[int, ...] | None = None
    """Position of the first value that differs."""


@dataclass
class DumpComparison:
    """The result of `compare_dumps`."""

    difference: DumpDifference | None = None
    compared: int = 0
    """Number of tensors that both dumps have, in the same mode."""
    is_limited: bool = False
    """Whether values were not compared beyond the first `MAX_COMPARED_VALUES`."""
    only_first: list[str] = field(default_factory=list)
    only_second: list[str] = field(default_factory=list)


class _Tensors(NamedTuple):
    """The outputs of all events of one kind, one row each."""

    keys: list[TensorKey]
    key: Int64
    event: Int64
    slot: Int64
    wall_time: Float64
    mode: Int64
    shapes: Int64
    shape: Int64
    bad_counts: Int64
    """Health, size and counts of -Inf, +Inf and NaN; zeros if the tensor is finite."""


class _Pairs(NamedTuple):
    first: Int64
    second: Int64


def compare_dumps(
    first: DumpAnalysis, second: DumpAnalysis, *, tolerance: float = 1e-3
) -> DumpComparison:
    """Find the first difference, in the order of the first dump.

    Args:
        first: A dump.
        second: A dump of the same program.
        tolerance: Values that differ by less, relatively, are equal.
    """
    result = DumpComparison()
    found: list[tuple[float, DumpDifference]] = []
    if (operation := _find_operation(first.dump, second.dump)) is not None:
        found.append(operation)
    kinds: tuple[EventKind, ...] = ("graph_execution", "execution")
    for kind in kinds:
        collect = _collect_traces if kind == "graph_execution" else _collect_executions
        a, b = collect(first.dump), collect(second.dump)
        pairs = _match(a, b)
        used_a, used_b = _list_used_keys(a), _list_used_keys(b)
        result.only_first += [str(key) for key in used_a if key not in used_b]
        result.only_second += [str(key) for key in used_b if key not in used_a]
        # Two modes cannot be compared by what they store.
        same_mode = a.mode[pairs.first] == b.mode[pairs.second]
        pairs = _Pairs(pairs.first[same_mode], pairs.second[same_mode])
        result.compared += len(pairs.first)
        order = np.argsort(a.wall_time[pairs.first], kind="stable")
        pairs = _Pairs(pairs.first[order], pairs.second[order])
        differs = _compare_columns(a, b, pairs)
        end = int(np.argmax(differs)) if differs.any() else len(differs)
        difference, is_limited = _compare_values(
            kind, (first.dump, second.dump), (a, b), pairs, end, tolerance
        )
        result.is_limited |= is_limited
        if difference is None and end < len(differs):
            row_a, row_b = int(pairs.first[end]), int(pairs.second[end])
            summaries = _read(first.dump, kind, a, row_a), _read(second.dump, kind, b, row_b)
            difference = _describe(kind, (a, b), (row_a, row_b), summaries, tolerance)
        if difference is not None:
            rows = first.execution_rows if kind == "execution" else first.trace_rows
            found.append((float(rows.wall_time[difference.index]), difference))
    if found:
        result.difference = min(found, key=lambda item: item[0])[1]
    result.only_first = sorted(set(result.only_first))[:_MAX_ONLY]
    result.only_second = sorted(set(result.only_second))[:_MAX_ONLY]
    return result


def _name_op(op_type: str) -> str:
    """Return the type of an operation, without the number of a function."""
    return get_function_name(op_type) or op_type


def _find_operation(first: DebugDump, second: DebugDump) -> tuple[float, DumpDifference] | None:
    """Return the first execution that is not the same operation in both dumps."""
    names = [
        [_name_op(execution_name.op_type) for execution_name in dump.execution_names]
        for dump in (first, second)
    ]
    ids = {name: index for index, name in enumerate(dict.fromkeys([*names[0], *names[1]]))}
    rows = [
        np.array([ids[name] for name in part], np.int64)[dump.executions.name]
        for part, dump in zip(names, (first, second), strict=True)
    ]
    count = min(len(rows[0]), len(rows[1]))
    differs = np.flatnonzero(rows[0][:count] != rows[1][:count])
    if not len(differs):
        return None
    index = int(differs[0])
    labels = [
        part[dump.executions.name[index]] for part, dump in zip(names, (first, second), strict=True)
    ]
    difference = DumpDifference("execution", index, index, 0, "operation", labels[0], labels[1])
    return float(first.executions.wall_time[index]), difference


def _collect_traces(dump: DebugDump) -> _Tensors:
    traces, graphs = dump.traces, dump.graphs
    keys = []
    for item in traces.names:
        name = graphs[item.graph].name if item.graph in graphs else ""
        keys.append(TensorKey(get_function_name(name) or name, item.op, item.slot))
    slots = np.array([item.slot for item in traces.names], np.int64)
    modes = np.array([item.mode for item in traces.names], np.int64)
    return _Tensors(
        keys,
        traces.name.astype(np.int64),
        np.arange(len(traces.name)),
        slots[traces.name],
        traces.wall_time,
        modes[traces.name],
        traces.shapes,
        traces.shape.astype(np.int64),
        _spread_counts(traces.health, traces.bad_counts),
    )


def _collect_executions(dump: DebugDump) -> _Tensors:
    columns, names = dump.executions, dump.execution_names
    tensors = np.arange(len(columns.health))
    event = np.searchsorted(columns.tensor_end, tensors, "right")
    firsts = np.concatenate([[0], columns.tensor_end]).astype(np.int64)
    slot = tensors - firsts[event]
    name = columns.name[event].astype(np.int64)
    slots = int(slot.max(initial=0)) + 1
    keys = [
        TensorKey("", _name_op(item.op_type), index) for item in names for index in range(slots)
    ]
    modes = np.array([item.mode for item in names], np.int64)
    return _Tensors(
        keys,
        name * slots + slot,
        event,
        slot,
        columns.wall_time[event],
        modes[name],
        columns.shapes,
        columns.shape.astype(np.int64),
        _spread_counts(columns.health, columns.bad_counts),
    )


def _spread_counts(health: NDArray[Any], bad_counts: NDArray[Any]) -> Int64:
    counts = np.zeros((len(health), 5), np.int64)
    counts[:, 0] = health
    counts[health == Health.NON_FINITE, 1:] = bad_counts
    return counts


def _list_used_keys(tensors: _Tensors) -> dict[TensorKey, None]:
    return dict.fromkeys(tensors.keys[row] for row in np.unique(tensors.key).tolist())


def _match(first: _Tensors, second: _Tensors) -> _Pairs:
    """Return the rows of tensors with the same key, the first with the first and so on."""
    numbers = {key: number for number, key in enumerate(_list_used_keys(first))}
    keys = [
        np.array([numbers.get(item, -1) for item in tensors.keys], np.int64)[tensors.key]
        for tensors in (first, second)
    ]
    known = [np.flatnonzero(item >= 0) for item in keys]
    orders = [
        rows[np.argsort(key[rows], kind="stable")] for rows, key in zip(known, keys, strict=True)
    ]
    counts = [np.bincount(key[key >= 0], minlength=len(numbers)) for key in keys]
    starts = [np.cumsum(count) - count for count in counts]
    key = keys[0][orders[0]]
    occurrence = np.arange(len(key)) - starts[0][key]
    is_paired = occurrence < counts[1][key]
    return _Pairs(orders[0][is_paired], orders[1][(starts[1][key] + occurrence)[is_paired]])


def _compare_columns(first: _Tensors, second: _Tensors, pairs: _Pairs) -> Bool:
    """Return which pairs differ in their shape, their health or the number of NaN and Inf."""
    ids = {tuple(item): index for index, item in reversed(list(enumerate(first.shapes.tolist())))}
    shape_a = np.array([ids[tuple(shape)] for shape in first.shapes.tolist()], np.int64)
    shape_b = np.array([ids.get(tuple(shape), -1) for shape in second.shapes.tolist()], np.int64)
    if not len(pairs.first):
        return np.zeros(0, bool)
    differs: Bool = shape_a[first.shape[pairs.first]] != shape_b[second.shape[pairs.second]]
    counts_a, counts_b = first.bad_counts[pairs.first], second.bad_counts[pairs.second]
    differs |= (counts_a != counts_b).any(axis=1)
    return differs


def _compare_values(
    kind: EventKind,
    dumps: tuple[DebugDump, DebugDump],
    tensors: tuple[_Tensors, _Tensors],
    pairs: _Pairs,
    end: int,
    tolerance: float,
) -> tuple[DumpDifference | None, bool]:
    """Compare what the files store of the pairs before ``end``.

    Returns:
        The first difference, and whether some pairs were left out.
    """
    has_values = np.isin(tensors[0].mode[pairs.first[:end]], _MODES_WITH_VALUES)
    positions = np.flatnonzero(has_values)
    for position in positions[:MAX_COMPARED_VALUES].tolist():
        rows = int(pairs.first[position]), int(pairs.second[position])
        a, b = (
            _read(dump, kind, part, row)
            for dump, part, row in zip(dumps, tensors, rows, strict=True)
        )
        difference = _describe(kind, tensors, rows, (a, b), tolerance)
        if difference is not None:
            return difference, False
    return None, len(positions) > MAX_COMPARED_VALUES


def _read(dump: DebugDump, kind: EventKind, tensors: _Tensors, row: int) -> TensorSummary:
    event, slot = int(tensors.event[row]), int(tensors.slot[row])
    if kind == "graph_execution":
        return dump.read_trace_tensor(event)
    summaries = dump.read_execution_tensors(event)
    return summaries[slot] if slot < len(summaries) else TensorSummary(0)


def _describe(
    kind: EventKind,
    tensors: tuple[_Tensors, _Tensors],
    rows: tuple[int, int],
    summaries: tuple[TensorSummary, TensorSummary],
    tolerance: float,
) -> DumpDifference | None:
    """Return how two tensors differ; None if they are equal."""
    event, other = int(tensors[0].event[rows[0]]), int(tensors[1].event[rows[1]])
    slot = int(tensors[0].slot[rows[0]])
    a, b = summaries
    if a.mode != b.mode:
        return None
    pairs: tuple[tuple[DifferenceKind, object, object], ...] = (
        ("dtype", a.dtype, b.dtype),
        ("shape", a.shape, b.shape),
        ("size", a.size, b.size),
        ("nan", a.nan, b.nan),
        ("neg_inf", a.neg_inf, b.neg_inf),
        ("pos_inf", a.pos_inf, b.pos_inf),
        ("non_finite", a.has_non_finite, b.has_non_finite),
    )
    for name, x, y in pairs:
        if x != y:
            return DumpDifference(kind, event, other, slot, name, _format(x), _format(y))
    if a.value is not None and b.value is not None:
        equal = DumpDifference(kind, event, other, slot, "value", "", "")
        return _find_element(a.value, b.value, equal, tolerance)
    counts: tuple[tuple[DifferenceKind, object, object], ...] = (
        ("negative", a.negative, b.negative),
        ("zero", a.zero, b.zero),
        ("positive", a.positive, b.positive),
    )
    for name, x, y in counts:
        if x != y:
            return DumpDifference(kind, event, other, slot, name, _format(x), _format(y))
    return None


def _find_element(
    a: NDArray[Any], b: NDArray[Any], difference: DumpDifference, tolerance: float
) -> DumpDifference | None:
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        x, y = a.astype(np.complex128), b.astype(np.complex128)
        differs = ~np.isclose(x, y, rtol=tolerance, atol=1e-12, equal_nan=True)
    else:
        differs = np.asarray(a != b)
    if not differs.any():
        return None
    position = int(np.argmax(differs))
    element = tuple(int(item) for item in np.unravel_index(position, differs.shape))
    first, second = _format(a[element]), _format(b[element])
    return replace(difference, first=first, second=second, element=element)


def _format(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"[{', '.join('?' if item is None else str(item) for item in value)}]"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    return str(value)
