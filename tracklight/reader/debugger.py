"""`DebuggerData`: a dump of TensorFlow's debugger or a recording of ``tracklight.debugger``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger.alerts import HealthAlert, RootCause
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.library import Analysis
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis
from tracklight.errors import UsageError
from tracklight.formats.tensor_health import STATS
from tracklight.types import Float32, Int64


class DebuggerData:
    """What a program computed, as recorded by a debugger.

    Example:
        >>> data = log.debugger("run1")
        >>> print(data.root_cause.message)
        Step 7: "log" produced 3 -Inf of 64 values from finite inputs between 0 and 1, ...
        >>> data.statistic("norm").shape  # steps, tensors
        (100, 42)
    """

    def __init__(self, name: str, analysis: Analysis) -> None:
        self.name = name
        self._analysis = analysis

    def __repr__(self) -> str:
        return f'<DebuggerData "{self.name}": {self.framework}, {len(self.alerts)} alerts>'

    @property
    def framework(self) -> str:
        if isinstance(self._analysis, DumpAnalysis):
            return self._analysis.dump.framework
        return self._analysis.recording.framework

    @property
    def alerts(self) -> Sequence[HealthAlert]:
        """All alerts in chronological order."""
        return self._analysis.alerts

    @property
    def root_cause(self) -> RootCause | None:
        return self._analysis.root_cause

    # ---- recordings

    @property
    def step(self) -> Int64:
        """The steps of a recording."""
        return self._get_recording().recording.step

    @property
    def tensors(self) -> list[str]:
        """Names of the tensors of a recording, with their roles: ``fc1.weight (gradient)``."""
        layout = self._get_recording().recording.layout
        return [f"{it.name} ({it.role})" for it in layout.tensors]

    def statistic(self, name: str) -> Float32:
        """Return a statistic of all tensors of a recording (steps, tensors).

        Args:
            name: One of ``nan``, ``neg_inf``, ``pos_inf``, ``zeros``, ``negatives``, ``min``,
                ``max``, ``mean``, ``std``, ``norm``, ``overflow``, ``underflow`` and ``dead``.

        Raises:
            UsageError: There is no such statistic, or this is not a recording.
        """
        if name not in STATS:
            raise UsageError(f'no statistic "{name}"; there are {", ".join(STATS)}')
        return self._get_recording().recording.get_stat(name)

    # ---- dumps

    @property
    def executions(self) -> dict[str, NDArray[Any]]:
        """Executions of a dump as columns: ``wall_time``, ``op_type`` and ``graph``."""
        dump = self._get_dump().dump
        names, ids = dump.execution_names, dump.executions.name
        return {
            "wall_time": dump.executions.wall_time,
            "op_type": _take([it.op_type for it in names], ids),
            "graph": _take([it.graph for it in names], ids),
        }

    @property
    def graph_executions(self) -> dict[str, NDArray[Any]]:
        """Graph execution traces of a dump as columns.

        They are ``wall_time``, ``op_type``, ``op_name``, ``output_slot``, ``graph`` and
        ``is_finite`` (1, 0, or -1 if it was not recorded).
        """
        dump = self._get_dump().dump
        traces = dump.traces
        ops = [dump.find_op(it.graph, it.op) for it in traces.names]
        is_finite = np.array([-1, 1, 0], np.int8)[traces.health]
        slots = np.array([it.slot for it in traces.names], np.int32)
        return {
            "wall_time": traces.wall_time,
            "op_type": _take([op.type if op else "" for op in ops], traces.name),
            "op_name": _take([it.op for it in traces.names], traces.name),
            "output_slot": slots[traces.name] if len(slots) else np.empty(0, np.int32),
            "graph": _take([it.graph for it in traces.names], traces.name),
            "is_finite": is_finite,
        }

    def value(
        self, *, execution: int | None = None, graph_execution: int | None = None, slot: int = 0
    ) -> NDArray[Any] | None:
        """Return a tensor of a dump in mode FULL_TENSOR; None if the dump does not contain it.

        Args:
            execution: Index of an execution.
            graph_execution: Index of a graph execution trace.
            slot: Output of the execution.

        Raises:
            UsageError: Not exactly one index was given, or it is out of range.
        """
        analysis = self._get_dump()
        if (execution is None) == (graph_execution is None):
            raise UsageError("value() takes either execution= or graph_execution=")
        row = execution if execution is not None else graph_execution
        columns = analysis.dump.executions if execution is not None else analysis.dump.traces
        if row is None or not 0 <= row < len(columns.wall_time):
            raise UsageError(f"there are {len(columns.wall_time)} of these, so no index {row}")
        if execution is None:
            return analysis.dump.read_trace_tensor(row).value
        tensors = analysis.dump.read_execution_tensors(row)
        return tensors[slot].value if slot < len(tensors) else None

    def _get_dump(self) -> DumpAnalysis:
        if not isinstance(self._analysis, DumpAnalysis):
            raise UsageError(
                f'"{self.name}" is a recording, which has statistics and no executions'
            )
        return self._analysis

    def _get_recording(self) -> RecordingAnalysis:
        if not isinstance(self._analysis, RecordingAnalysis):
            raise UsageError(f'"{self.name}" is a dump, which has executions and no statistics')
        return self._analysis


def _take(texts: list[str], ids: NDArray[Any]) -> NDArray[np.object_]:
    array = np.array([*texts, ""], object)
    taken: NDArray[np.object_] = array[ids]
    return taken
