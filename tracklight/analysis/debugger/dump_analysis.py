"""Alerts and root cause of a dump of TensorFlow's debugger."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tracklight.analysis.debugger import (
    AlertKind,
    HealthAlert,
    InputSummary,
    RootCause,
    SourceLine,
    find_hint,
    get_non_finite_kind,
    make_translatable,
)
from tracklight.analysis.debugger.dump import DebugDump, Frame, TensorSummary
from tracklight.analysis.debugger.dump_rows import DumpAlerts, EventName, EventRows
from tracklight.errors import Message
from tracklight.formats.debug_events import GraphOp, Health
from tracklight.util.parsing import is_library_path

#: A function that was traced this often is reported, as TensorFlow does.
_MIN_RETRACES = 5
#: How many tensors to follow back from the first alert.
_MAX_STEPS_BACK = 1000
#: Ops that only pass on a tensor and are not traced.
_PASSTHROUGH_OPS = frozenset({"Identity", "StopGradient", "PreventGradient", "Enter", "Exit"})
#: Ops whose outputs are results of a function or serve control flow, rather than arguments.
_NOT_PASSED_OPS = frozenset(
    {"Identity", "NoOp", "Placeholder", "TensorListPushBack", "EmptyTensorList"}
)
#: Tensors of threads that run in parallel may be written out of order by so much.
_MAX_REORDERING_S = 0.05
_RELU_OPS = frozenset({"Relu", "Relu6", "LeakyRelu", "Elu", "Selu"})
#: An activation that is zero in this many executions in a row has died.
_MIN_DEAD_EXECUTIONS = 3

_FUNCTION_CALL = re.compile(r"__(?:inference|forward)_(.+)_\d+")

#: The default size of the circular buffer.
_DEFAULT_BUFFER_EVENTS = 1000

_SHAPE_CHANGED = Message("debugger.shape_changed", "The shape differs from the previous execution.")
_ALL_ZERO = Message(
    "debugger.all_zero", "All outputs are zero, so the layer below gets no gradient."
)
_DEAD_HINT = Message(
    "debugger.hint_dead_relu",
    "Lower the learning rate, use LeakyReLU, or check the bias of the layer below.",
)


class _TensorRef(NamedTuple):
    """A tensor of the dump: a trace, or an output of an execution."""

    is_trace: bool
    row: int
    slot: int


def _list_unconsumed(ops: Collection[GraphOp]) -> list[str]:
    """Return the tensors of a graph that no recorded op uses.

    A dump does not contain the ops that call functions, so these are what was passed to them.
    """
    consumed = {tensor for op in ops for tensor in op.inputs}
    tensors = [
        f"{op.name}:{slot}"
        for op in ops
        if op.type not in _NOT_PASSED_OPS
        for slot in range(op.outputs)
    ]
    return [tensor for tensor in tensors if tensor not in consumed]


class DumpAnalysis:
    """What went wrong in a dump."""

    def __init__(self, dump: DebugDump) -> None:
        self.dump = dump

    @cached_property
    def alerts(self) -> DumpAlerts:
        others = [
            *self._iter_retracing(),
            *self._iter_shape_changes(),
            *self._iter_dead_activations(),
        ]
        return DumpAlerts(self.dump, others)

    @cached_property
    def root_cause(self) -> RootCause | None:
        """The tensor that was the first to be non-finite although its inputs were finite."""
        alerts = self.alerts
        first = alerts.find_first_non_finite()
        if first is None:
            dead = next((item for item in alerts if item.kind == AlertKind.DEAD_UNITS), None)
            return None if dead is None else self._explain_dead(dead)
        alert = alerts[first]
        if alert.graph_execution is not None:
            ref = _TensorRef(True, alert.graph_execution, alert.output_slot)
        else:
            ref = _TensorRef(False, alert.execution or 0, alert.output_slot)
        ref, inputs, is_certain = self._trace_back(ref)
        followers = len(alerts) - 1
        return self._explain(ref, inputs, followers, is_certain)

    @cached_property
    def execution_rows(self) -> EventRows:
        """The executions; the health of one is the worst of its outputs."""
        columns = self.dump.executions
        health = np.zeros(len(columns.offset), np.uint8)
        rows = np.searchsorted(columns.tensor_end, np.arange(len(columns.health)), "right")
        np.maximum.at(health, rows, columns.health)
        names = [
            EventName(execution_name.op_type, graph=execution_name.graph)
            for execution_name in self.dump.execution_names
        ]
        return EventRows(names, columns.name, columns.wall_time, health)

    @cached_property
    def trace_rows(self) -> EventRows:
        """The graph execution traces."""
        traces = self.dump.traces
        names = []
        for name in traces.names:
            op = self.dump.find_op(name.graph, name.op)
            names.append(EventName(op.type if op else "", name.op, name.slot, name.graph))
        return EventRows(names, traces.name, traces.wall_time, traces.health)

    # ---- root cause

    def _trace_back(
        self, ref: _TensorRef
    ) -> tuple[_TensorRef, list[tuple[str, _TensorRef | None]], bool]:
        """Go from a non-finite tensor to its non-finite inputs, as far as there are any.

        Returns:
            The tensor whose inputs are all finite or unknown, these inputs, and whether all that
            should have been recorded of them was.
        """
        seen = {ref}
        for _ in range(_MAX_STEPS_BACK):
            inputs, is_complete = (
                self._find_graph_inputs(ref) if ref.is_trace else self._find_eager_inputs(ref)
            )
            bad = (
                item
                for _, item in inputs
                if item is not None and item not in seen and self._is_bad(item)
            )
            earlier = next(bad, None)
            if earlier is None:
                return ref, inputs, is_complete
            ref = earlier
            seen.add(ref)
        return ref, inputs, False

    def _is_bad(self, ref: _TensorRef) -> bool:
        if ref.is_trace:
            return bool(self.dump.traces.health[ref.row] == Health.NON_FINITE)
        index = self._find_tensor(ref)
        return index is not None and bool(self.dump.executions.health[index] == Health.NON_FINITE)

    def _find_tensor(self, ref: _TensorRef) -> int | None:
        """Return the row of an output of an execution in the columns of tensors."""
        ends = self.dump.executions.tensor_end
        index = (int(ends[ref.row - 1]) if ref.row else 0) + ref.slot
        return index if index < int(ends[ref.row]) else None

    def _find_graph_inputs(
        self, ref: _TensorRef
    ) -> tuple[list[tuple[str, _TensorRef | None]], bool]:
        traces = self.dump.traces
        name = traces.names[traces.name[ref.row]]
        op = self.dump.find_op(name.graph, name.op)
        if op is None:
            return [], False
        inputs: list[tuple[str, _TensorRef | None]] = []
        is_complete = True
        for tensor in op.inputs:
            found, is_traced = self._find_input_trace(name.graph, tensor, ref.row)
            inputs.append((tensor, found))
            is_complete &= found is not None or not is_traced
        return inputs, is_complete

    def _find_input_trace(
        self, graph: str, tensor: str, row: int
    ) -> tuple[_TensorRef | None, bool]:
        """Return the trace of an input, and whether the dump traces that tensor at all.

        Arguments of a function are followed to the call of the function.
        """
        for _ in range(20):
            op_name, _, slot = tensor.rpartition(":")
            ids = self._trace_ids.get((graph, op_name, int(slot) if slot.isdigit() else 0))
            if ids:
                return self._find_row(ids, row), True
            op = self.dump.find_op(graph, op_name)
            if op is not None and op.type == "Placeholder":
                argument = self._find_argument(graph, op_name, row)
                if argument is None or isinstance(argument, _TensorRef):
                    return argument, argument is not None
                graph, tensor = argument
                continue
            if op is None or op.type not in _PASSTHROUGH_OPS or not op.inputs:
                return None, False
            tensor = op.inputs[0]
        return None, False

    def _find_argument(
        self, graph: str, placeholder: str, row: int
    ) -> tuple[str, str] | _TensorRef | None:
        """Return what was passed for an argument of a function, if there is no doubt.

        That is a tensor of the enclosing graph, or an output of an eager execution.
        """
        dump = self.dump
        ops = dump.ops.get(graph, {}).values()
        arguments = [op.name for op in ops if op.type == "Placeholder"]
        position = arguments.index(placeholder)
        outer = dump.list_outer_graphs(graph)[:-1]
        if outer and (outer_ops := dump.ops.get(outer[-1])):
            passed = _list_unconsumed(outer_ops.values())
            return (outer[-1], passed[position]) if len(passed) == len(arguments) else None
        execution = self.find_execution(row)
        if execution is None:
            return None
        inputs, _ = self._find_eager_inputs(_TensorRef(False, execution, 0))
        return inputs[position][1] if len(inputs) == len(arguments) else None

    @cached_property
    def _trace_ids(self) -> dict[tuple[str, str, int], list[int]]:
        ids: dict[tuple[str, str, int], list[int]] = {}
        for index, name in enumerate(self.dump.traces.names):
            ids.setdefault((name.graph, name.op, name.slot), []).append(index)
        return ids

    def _find_row(self, ids: Sequence[int], row: int) -> _TensorRef | None:
        """Return the last trace of a tensor before a row, or one that was written just after it."""
        traces = self.dump.traces
        rows = np.flatnonzero(np.isin(traces.name, ids) if len(ids) > 1 else traces.name == ids[0])
        position = int(np.searchsorted(rows, row))
        if position > 0:
            return _TensorRef(True, int(rows[position - 1]), 0)
        if position < len(rows) and rows[position] != row:
            delay = traces.wall_time[rows[position]] - traces.wall_time[row]
            if delay <= _MAX_REORDERING_S:
                return _TensorRef(True, int(rows[position]), 0)
        return None

    def _find_eager_inputs(
        self, ref: _TensorRef
    ) -> tuple[list[tuple[str, _TensorRef | None]], bool]:
        executions = self.dump.executions
        first = int(executions.input_end[ref.row - 1]) if ref.row else 0
        inputs: list[tuple[str, _TensorRef | None]] = []
        for tensor_id in executions.input_id[first : int(executions.input_end[ref.row])].tolist():
            producer = self._find_producer(tensor_id, ref.row)
            if producer is None:
                inputs.append((f"tensor {tensor_id}", None))
                continue
            op_type = self.dump.execution_names[executions.name[producer.row]].op_type
            inputs.append((f"{op_type}:{producer.slot}", producer))
        return inputs, True

    def find_eager_inputs(self, row: int) -> list[tuple[str, int | None]]:
        """Return the inputs of an execution, and the executions that produced them."""
        inputs, _ = self._find_eager_inputs(_TensorRef(False, row, 0))
        return [(name, None if ref is None else ref.row) for name, ref in inputs]

    def _find_producer(self, tensor_id: int, row: int) -> _TensorRef | None:
        """Return the execution that produced an eager tensor; ids may be used again."""
        executions = self.dump.executions
        limit = int(executions.output_end[row - 1]) if row else 0
        matches = np.flatnonzero(executions.output_id[:limit] == tensor_id)
        if not len(matches):
            return None
        index = int(matches[-1])
        producer = int(np.searchsorted(executions.output_end, index, "right"))
        first = int(executions.output_end[producer - 1]) if producer else 0
        return _TensorRef(False, producer, index - first)

    def _explain(
        self,
        ref: _TensorRef,
        inputs: Sequence[tuple[str, _TensorRef | None]],
        followers: int,
        is_certain: bool,
    ) -> RootCause:
        op_type, op_name, stack = self._describe(ref)
        summary = self._read(ref)
        kind = get_non_finite_kind(summary.nan, summary.neg_inf, summary.pos_inf)
        lines = self.get_source_lines(stack)
        source = find_user_line(lines)
        described = tuple(self._describe_input(name, item) for name, item in inputs)
        is_finite = [item.is_finite for item in described]
        origin = " from finite inputs" if is_finite and all(is_finite) else ""
        if not origin and self._may_be_circular:
            is_certain = False
        hint = find_hint(op_type)
        name = f'{op_type} "{op_name}"' if op_name else op_type
        message = f"{name} produced {describe_counts(summary)}{origin}"
        if source is not None:
            message += f" at {source}"
        if not is_certain:
            message += "; what happened before is not in the dump"
        return RootCause(
            kind=kind,
            op_type=op_type,
            op_name=op_name,
            message=message + ".",
            hint=hint.text if hint is not None else "",
            hint_code=hint.code if hint is not None else "",
            dtype=summary.dtype or "",
            size=summary.size,
            nan=summary.nan,
            neg_inf=summary.neg_inf,
            pos_inf=summary.pos_inf,
            output_slot=self.dump.traces.names[self.dump.traces.name[ref.row]].slot
            if ref.is_trace
            else ref.slot,
            execution=self.find_execution(ref.row) if ref.is_trace else ref.row,
            graph_execution=ref.row if ref.is_trace else None,
            inputs=described,
            source=source,
            stack=tuple(lines),
            followers=followers,
            is_certain=is_certain,
        )

    @property
    def _may_be_circular(self) -> bool:
        """Whether the dump seems to have only the last events, as many as fit its buffer."""
        executions, traces = len(self.dump.executions.offset), len(self.dump.traces.offset)
        return _DEFAULT_BUFFER_EVENTS in (executions, traces) or executions == traces > 0

    def _describe(self, ref: _TensorRef) -> tuple[str, str, Sequence[str]]:
        """Return type and name of an op, and the ids of its stack frames."""
        if not ref.is_trace:
            name = self.dump.execution_names[self.dump.executions.name[ref.row]]
            return name.op_type, "", name.stack
        trace = self.dump.traces.names[self.dump.traces.name[ref.row]]
        op = self.dump.find_op(trace.graph, trace.op)
        return (op.type, op.name, op.stack) if op else ("", trace.op, ())

    def _read(self, ref: _TensorRef) -> TensorSummary:
        if ref.is_trace:
            return self.dump.read_trace_tensor(ref.row)
        tensors = self.dump.read_execution_tensors(ref.row)
        return tensors[ref.slot] if ref.slot < len(tensors) else TensorSummary(0)

    def _describe_input(self, name: str, ref: _TensorRef | None) -> InputSummary:
        if ref is None:
            return InputSummary(name, None)
        summary = self._read(ref)
        lowest = highest = None
        if summary.value is not None and summary.value.dtype.kind in "fiu" and summary.value.size:
            lowest, highest = float(np.min(summary.value)), float(np.max(summary.value))
        shape = summary.shape
        has_bad = summary.has_non_finite
        return InputSummary(
            name=name,
            is_finite=None if has_bad is None else not has_bad,
            min=lowest,
            max=highest,
            zeros=summary.zero,
            negatives=summary.negative,
            size=summary.size,
            shape=None if shape is None else tuple(-1 if dim is None else dim for dim in shape),
            dtype=summary.dtype or "",
        )

    def find_execution(self, trace: int) -> int | None:
        """Return the execution during which a trace was recorded.

        An execution is written when it has finished, so it is the first call of the enclosing
        function after the trace. Calls that are differentiated have no graph id, only a name.
        """
        traces, executions = self.dump.traces, self.dump.executions
        chain = self.dump.list_outer_graphs(traces.names[traces.name[trace]].graph)
        known = self.dump.graphs
        graph_names = [known[id].name for id in chain if id in known and known[id].name][:1]
        ids = [
            index
            for index, name in enumerate(self.dump.execution_names)
            if name.graph in chain or get_function_name(name.op_type) in graph_names
        ]
        start = int(np.searchsorted(executions.wall_time, traces.wall_time[trace]))
        matches = np.flatnonzero(np.isin(executions.name[start:], ids))
        return start + int(matches[0]) if len(matches) else None

    def find_traces(self, execution: int) -> tuple[int, int] | None:
        """Return the first and the last trace that an execution of a function recorded.

        Traces are written while the function runs, the execution when it has finished.
        """
        executions, traces = self.dump.executions, self.dump.traces
        name = self.dump.execution_names[executions.name[execution]]
        if not name.graph and not get_function_name(name.op_type):
            return None
        end = int(np.searchsorted(traces.wall_time, executions.wall_time[execution], "right"))
        before = executions.wall_time[execution - 1] if execution else -np.inf
        start = int(np.searchsorted(traces.wall_time, before, "right"))
        return (start, end - 1) if start < end else None

    def get_source_lines(self, frame_ids: Sequence[str]) -> list[SourceLine]:
        """Return a stack, outermost first, with the code of the lines of the user's program."""
        return [self._make_line(frame) for frame in self.dump.get_stack(frame_ids)]

    def _make_line(self, frame: Frame) -> SourceLine:
        code = ""
        is_library = is_library_path(frame.path)
        if frame.path and not is_library:
            lines = self._get_lines(frame.host, frame.path)
            code = lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
        return SourceLine(frame.path, frame.line, frame.function, code, is_library)

    def _get_lines(self, host: str, path: str) -> list[str]:
        cache: dict[tuple[str, str], list[str]] = self.__dict__.setdefault("_lines", {})
        if (host, path) not in cache:
            cache[host, path] = self.dump.read_source_lines(path, host) or []
        return cache[host, path]

    # ---- other alerts

    def _iter_retracing(self) -> Iterator[HealthAlert]:
        """Report functions that were traced again and again."""
        graphs = self.dump.graphs
        by_name = Counter(graph.name for graph in graphs.values() if graph.name)
        called = {name.graph for name in self.dump.execution_names if name.graph}
        for name, count in by_name.items():
            ids = [id for id, graph in graphs.items() if graph.name == name]
            if count < _MIN_RETRACES or called.isdisjoint(ids):
                continue
            ops = [op for id in ids for op in self.dump.ops.get(id, {}).values()]
            wall_time = max((op.wall_time for op in ops), default=0.0)
            message = Message.format(
                "debugger.function_retraced",
                'The function "{name}" was traced {count} times. Pass tensors instead of Python '
                "numbers, and give it an input_signature.",
                name=name,
                count=count,
            )
            text, code, args = make_translatable(message)
            yield HealthAlert(
                AlertKind.RETRACING, name, "", 0, wall_time, message=text, code=code, args=args
            )

    def _iter_shape_changes(self) -> Iterator[HealthAlert]:
        """Report tensors in graphs whose rank, dtype or dimensions but the first changed."""
        traces = self.dump.traces
        if len(traces.shapes) < 2 or not len(traces.name):
            return
        pairs = traces.name.astype(np.int64) * len(traces.shapes) + traces.shape
        if len(traces.names) * len(traces.shapes) <= len(pairs):
            pairs = np.flatnonzero(np.bincount(pairs))  # much faster than sorting
        names, counts = np.unique(np.unique(pairs) // len(traces.shapes), return_counts=True)
        for name_id in names[counts > 1].tolist():
            rows = np.flatnonzero(traces.name == name_id)
            shapes = traces.shapes[traces.shape[rows]].copy()
            shapes[:, 2:4] = 0  # the batch may have another size
            changes = np.flatnonzero((shapes[1:] != shapes[:-1]).any(axis=1)) + 1
            name = traces.names[name_id]
            op = self.dump.find_op(name.graph, name.op)
            for row in rows[changes].tolist():
                yield HealthAlert(
                    AlertKind.SHAPE_CHANGE,
                    op.type if op else "",
                    name.op,
                    name.slot,
                    float(traces.wall_time[row]),
                    graph_execution=row,
                    message=_SHAPE_CHANGED.text,
                    code=_SHAPE_CHANGED.code,
                )

    def _iter_dead_activations(self) -> Iterator[HealthAlert]:
        """Report activations that were zero everywhere in their last executions."""
        traces = self.dump.traces
        for name_id, name in enumerate(traces.names):
            op = self.dump.find_op(name.graph, name.op)
            if op is None or op.type not in _RELU_OPS:
                continue
            rows = np.flatnonzero(traces.name == name_id)[-_MIN_DEAD_EXECUTIONS:]
            tensors = [self.dump.read_trace_tensor(int(row)) for row in rows]
            is_dead = [tensor.size and tensor.zero == tensor.size for tensor in tensors]
            if len(rows) < _MIN_DEAD_EXECUTIONS or not all(is_dead):
                continue
            yield HealthAlert(
                AlertKind.DEAD_UNITS,
                op.type,
                name.op,
                name.slot,
                float(traces.wall_time[rows[0]]),
                size=tensors[0].size,
                graph_execution=int(rows[0]),
                dtype=tensors[0].dtype or "",
                message=_ALL_ZERO.text,
                code=_ALL_ZERO.code,
            )

    def _explain_dead(self, alert: HealthAlert) -> RootCause:
        _, _, stack = self._describe(_TensorRef(True, alert.graph_execution or 0, 0))
        lines = self.get_source_lines(stack)
        source = find_user_line(lines)
        where = f" at {source}" if source is not None else ""
        return RootCause(
            kind=alert.kind,
            op_type=alert.op_type,
            op_name=alert.op_name,
            message=f'All outputs of {alert.op_type} "{alert.op_name}" are zero{where}.',
            detail=alert.message,
            code=alert.code,
            hint=_DEAD_HINT.text,
            hint_code=_DEAD_HINT.code,
            dtype=alert.dtype,
            size=alert.size,
            output_slot=alert.output_slot,
            execution=self.find_execution(alert.graph_execution or 0),
            graph_execution=alert.graph_execution,
            source=source,
            stack=tuple(lines),
            followers=len(self.alerts) - 1,
        )


def get_function_name(op_type: str) -> str:
    """Return the name of the function that an op calls, such as ``f`` for ``__inference_f_12``."""
    match = _FUNCTION_CALL.fullmatch(op_type)
    return match[1] if match else ""


def find_user_line(stack: Sequence[SourceLine]) -> SourceLine | None:
    """Return the innermost frame outside libraries, or else the innermost one."""
    users = [line for line in stack if line.path and not is_library_path(line.path)]
    return users[-1] if users else stack[-1] if stack else None


def describe_counts(tensor: TensorSummary) -> str:
    """Format the non-finite counts of a tensor, such as ``2 NaN and 1 +Inf of 4 values``."""
    counts = ((tensor.nan, "NaN"), (tensor.neg_inf, "-Inf"), (tensor.pos_inf, "+Inf"))
    parts = [f"{count:,} {name}" for count, name in counts if count]
    if not parts:
        return "NaN or Inf"
    return f"{' and '.join(parts)} of {tensor.size:,} values"
