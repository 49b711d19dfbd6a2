"""The events and the alerts of a dump as tables, and the graph around one of its nodes.

There may be millions of events and of alerts, so both are kept as columns. Events can be filtered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger import AlertKind, HealthAlert, get_non_finite_kind
from tracklight.analysis.debugger.dump import DebugDump, name_dtype
from tracklight.formats.debug_events import UNKNOWN_COUNT, Health
from tracklight.types import Float64, Int64
from tracklight.util.memory import LruCache

# ---- events

#: Selections that are kept, since scrolling asks for the same one again and again.
_MAX_SELECTIONS = 4


class EventName(NamedTuple):
    """What rows with the same name have in common. ``op_name`` of an execution is empty."""

    op_type: str
    op_name: str = ""
    slot: int = 0
    graph: str = ""


class EventRows:
    """Rows of a dump. Millions of rows share few names, so text is only compared with the names.

    Args:
        names: The distinct names.
        ids: The name of each row.
        wall_time: The time of each row.
        health: The worst health of the tensors of each row.
    """

    def __init__(
        self,
        names: Sequence[EventName],
        ids: NDArray[Any],
        wall_time: Float64,
        health: NDArray[np.uint8],
    ) -> None:
        self.names, self.ids = names, ids
        self.wall_time, self.health = wall_time, health
        self._selections = LruCache[tuple[str, str, str, bool], Int64](max_items=_MAX_SELECTIONS)

    def select(
        self, query: str = "", graph: str = "", op_name: str = "", only_non_finite: bool = False
    ) -> Int64 | None:
        """Return the rows that match all filters, in order; None for all rows.

        Args:
            query: Part of the type or name of the operation.
            graph: Id of the graph, together with ``op_name``.
            op_name: Name of the operation.
            only_non_finite: Only rows with NaN or Inf.
        """
        key = query.lower(), graph, op_name, only_non_finite
        if not (query or op_name or only_non_finite):
            return None
        return self._selections.get_or_build(key, lambda: self._select(*key))

    def _select(self, query: str, graph: str, op_name: str, only_non_finite: bool) -> Int64:
        matches = [
            query in f"{name.op_type} {name.op_name}".lower()
            and (not op_name or (name.op_name == op_name and graph in ("", name.graph)))
            for name in self.names
        ]
        # Rows without a name have the number -1 or the number of names.
        is_shown = np.array([*matches, False], bool)[self.ids]
        if only_non_finite:
            is_shown &= self.health == Health.NON_FINITE
        return np.flatnonzero(is_shown).astype(np.int64)


# ---- the graph around a node

NodeT = TypeVar("NodeT", bound=Hashable)

#: A problem comes from the inputs, so more of them are shown than of what uses the node.
_INPUT_LEVELS = 3
_CONSUMER_LEVELS = 1


@dataclass(frozen=True)
class Neighborhood(Generic[NodeT]):
    """Nodes, the one in the center first, and edges between their indexes."""

    nodes: list[NodeT]
    edges: list[tuple[int, int]]
    is_truncated: bool
    """Whether nodes were left out to stay below the limit."""


def build_neighborhood(
    center: NodeT,
    get_inputs: Callable[[NodeT], Iterable[NodeT]],
    get_consumers: Callable[[NodeT], Iterable[NodeT]],
    limit: int,
) -> Neighborhood[NodeT]:
    """Return the nodes within a few edges of a node, the nearest first.

    Args:
        center: The node in the center.
        get_inputs: Returns the nodes that a node is computed from.
        get_consumers: Returns the nodes that use a node.
        limit: Largest number of nodes.
    """
    found = {center: 0}
    is_truncated = False
    for get_neighbors, levels in ((get_inputs, _INPUT_LEVELS), (get_consumers, _CONSUMER_LEVELS)):
        queue = deque([(center, 0)])
        while queue:
            node, level = queue.popleft()
            if level == levels:
                continue
            for neighbor in get_neighbors(node):
                if neighbor in found:
                    continue
                if len(found) >= limit:
                    is_truncated = True
                    break
                found[neighbor] = len(found)
                queue.append((neighbor, level + 1))
    edges = {
        (found[source], target)
        for node, target in found.items()
        for source in get_inputs(node)
        if source in found and source != node
    }
    return Neighborhood(list(found), sorted(edges), is_truncated)


# ---- alerts

#: The kinds of non-finite values come first.
_ALL_KINDS = tuple(
    sorted(AlertKind, key=lambda item: (not item.is_non_finite, list(AlertKind).index(item)))
)


class DumpAlerts(Sequence[HealthAlert]):
    """All alerts of a dump in chronological order, as columns."""

    def __init__(self, dump: DebugDump, others: Sequence[HealthAlert] = ()) -> None:
        self._dump = dump
        self.others = list(others)
        """The alerts that are not about NaN and Inf."""
        traces, executions = dump.traces, dump.executions
        self._trace_rows = np.flatnonzero(traces.health == Health.NON_FINITE)
        tensors = np.flatnonzero(executions.health == Health.NON_FINITE)
        self._execution_rows = np.searchsorted(executions.tensor_end, tensors, "right")
        firsts = np.concatenate([[0], executions.tensor_end]).astype(np.int64)
        self._tensor_rows = tensors
        self._slots = tensors - firsts[self._execution_rows]
        wall_time = np.concatenate(
            [
                traces.wall_time[self._trace_rows],
                executions.wall_time[self._execution_rows],
                np.array([alert.wall_time for alert in self.others], np.float64),
            ]
        )
        counts = (len(self._trace_rows), len(tensors), len(self.others))
        self._first = np.cumsum([0, *counts])
        # At the same time, tensors in a graph come before the execution of the graph.
        self._order: Int64 = np.argsort(wall_time, kind="stable")
        self.wall_time: Float64 = wall_time[self._order]
        self._selections = LruCache[tuple[tuple[str, ...], str, str], Int64](
            max_items=_MAX_SELECTIONS
        )

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[HealthAlert]:
        return (self._make(int(index)) for index in self._order)

    def __getitem__(self, index: int) -> HealthAlert:  # type: ignore[override]
        return self._make(int(self._order[index]))

    @cached_property
    def _kinds(self) -> NDArray[np.uint8]:
        """The kind of every alert, by its position in `_ALL_KINDS`; not yet in order."""
        nan = np.concatenate(
            [self._dump.traces.bad_counts[:, 3], self._dump.executions.bad_counts[:, 3]]
        )
        codes = np.where(nan == UNKNOWN_COUNT, 2, np.where(nan > 0, 0, 1)).astype(np.uint8)
        others = [_ALL_KINDS.index(alert.kind) for alert in self.others]
        return np.concatenate([codes, np.array(others, np.uint8)])

    @cached_property
    def _kind_counts(self) -> dict[str, int]:
        counts = np.bincount(self._kinds, minlength=len(_ALL_KINDS)).tolist()
        return {kind.value: n for kind, n in zip(_ALL_KINDS, counts, strict=True) if n}

    def count_kinds(self) -> dict[str, int]:
        return self._kind_counts

    def select(self, kinds: Sequence[str], query: str, dtype: str) -> Int64:
        """Return the positions of the alerts that match all filters; empty filters match all."""
        key = tuple(kinds), query.lower(), dtype
        return self._selections.get_or_build(key, lambda: self._select(*key))

    def _select(self, kinds: tuple[str, ...], query: str, dtype: str) -> Int64:
        is_shown = np.ones(len(self._order), bool)
        if kinds:
            is_shown &= np.array([kind.value in kinds for kind in _ALL_KINDS])[self._kinds]
        first, second = int(self._first[1]), int(self._first[2])
        if query:
            # Many alerts share few names.
            dump = self._dump
            ops = [dump.find_op(name.graph, name.op) for name in dump.traces.names]
            types = [op.type if op else "" for op in ops]
            in_traces = [
                query in f"{kind}\n{name.op}".lower()
                for kind, name in zip(types, dump.traces.names, strict=True)
            ]
            in_executions = [
                query in execution_name.op_type.lower() for execution_name in dump.execution_names
            ]
            is_shown[:first] &= np.array([*in_traces, False])[dump.traces.name[self._trace_rows]]
            is_shown[first:second] &= np.array([*in_executions, False])[
                dump.executions.name[self._execution_rows]
            ]
            is_shown[second:] &= np.array(
                [query in f"{other.op_type}\n{other.op_name}".lower() for other in self.others],
                bool,
            )
        if dtype:
            traces, executions = self._dump.traces, self._dump.executions
            is_shown[:first] &= _has_dtype(traces.shapes, dtype)[traces.shape[self._trace_rows]]
            is_shown[first:second] &= _has_dtype(executions.shapes, dtype)[
                executions.shape[self._tensor_rows]
            ]
            is_shown[second:] &= np.array([other.dtype == dtype for other in self.others], bool)
        return np.flatnonzero(is_shown[self._order]).astype(np.int64)

    def find_first_non_finite(self) -> int | None:
        """Return the position of the first alert about NaN or infinity."""
        is_non_finite = self._order < self._first[2]
        return int(np.argmax(is_non_finite)) if is_non_finite.any() else None

    def _make(self, index: int) -> HealthAlert:
        if index >= self._first[2]:
            return self.others[index - int(self._first[2])]
        if index < self._first[1]:
            return self._make_trace_alert(index)
        return self._make_execution_alert(index - int(self._first[1]))

    def _make_trace_alert(self, index: int) -> HealthAlert:
        dump, row = self._dump, int(self._trace_rows[index])
        traces = dump.traces
        name = traces.names[traces.name[row]]
        op = dump.find_op(name.graph, name.op)
        size, neg_inf, pos_inf, nan = _get_counts(traces.bad_counts[index])
        return HealthAlert(
            kind=get_non_finite_kind(nan, neg_inf, pos_inf),
            op_type=op.type if op else "",
            op_name=name.op,
            output_slot=name.slot,
            wall_time=float(traces.wall_time[row]),
            size=size,
            nan=nan,
            neg_inf=neg_inf,
            pos_inf=pos_inf,
            graph_execution=row,
            dtype=_get_dtype(traces.shapes[traces.shape[row]]),
        )

    def _make_execution_alert(self, index: int) -> HealthAlert:
        dump, row = self._dump, int(self._execution_rows[index])
        executions = dump.executions
        op_type = dump.execution_names[executions.name[row]].op_type
        size, neg_inf, pos_inf, nan = _get_counts(executions.bad_counts[index])
        return HealthAlert(
            kind=get_non_finite_kind(nan, neg_inf, pos_inf),
            op_type=op_type,
            op_name="",
            output_slot=int(self._slots[index]),
            wall_time=float(executions.wall_time[row]),
            size=size,
            nan=nan,
            neg_inf=neg_inf,
            pos_inf=pos_inf,
            execution=row,
            dtype=_get_dtype(executions.shapes[executions.shape[self._tensor_rows[index]]]),
        )


def _get_dtype(shape: Int64) -> str:
    return name_dtype(int(shape[0])) if shape[0] > 0 else ""


def _has_dtype(shapes: Int64, dtype: str) -> NDArray[np.bool_]:
    return np.array([*(_get_dtype(shape) == dtype for shape in shapes), False])


def _get_counts(row: NDArray[np.uint32]) -> list[int | None]:
    return [None if count == UNKNOWN_COUNT else count for count in row.tolist()]
