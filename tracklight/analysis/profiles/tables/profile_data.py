"""`ProfileData`: a profiler capture as tables, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from tracklight.analysis.profiles.attribution.device_steps import locate_in_spans
from tracklight.analysis.profiles.calls.nesting import nest_events
from tracklight.analysis.profiles.calls.operators import OperatorGrouping, summarize_operators
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.kernels import TensorCoreUse
from tracklight.analysis.profiles.memory.allocators import analyze_memory
from tracklight.analysis.profiles.ops import OpSide
from tracklight.analysis.profiles.roofline import Utilization
from tracklight.analysis.profiles.steps import StepPart
from tracklight.analysis.profiles.summary import ProfileSummary, summarize_analysis
from tracklight.analysis.profiles.tables.analyzed import AnalyzedTrace
from tracklight.analysis.profiles.tables.sql import (
    MAX_ROWS,
    ColumnType,
    QueryResult,
    SqlDatabase,
    get_column_type,
)
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64
from tracklight.util.frames import CategoryColumn, Column, Frame, ObjectColumn

_OPERATOR_GROUPINGS: tuple[OperatorGrouping, ...] = ("name", "shape", "stack", "module")


class ProfileTable(Frame):
    """A table of a capture; converts to pandas, Polars and Arrow."""

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries. Unknown numbers are NaN.

        Example:
            >>> log.profile("train").parts.to_records()[0]
            {'name': 'host_compute', 'ms': 0.4, 'share': 0.1, 'hidden_ms': 1.2}
        """
        columns = [self[name].tolist() for name in self.columns]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True)]

    def get_column_types(self) -> dict[str, ColumnType]:
        """Return the columns and their types in SQL queries."""
        return {name: get_column_type(column) for name, column in self._columns.items()}


class ProfileData:
    """A profiler capture of one host. Times are in milliseconds.

    Example:
        >>> profile = log.profile("train")
        >>> profile.summary.steps.mean_ms
        4.31
        >>> profile.kernels.to_pandas().head()
        >>> profile.operators("shape").to_pandas().sort_values("device_self_ms")
        >>> profile.query("SELECT name, sum(duration_ms) FROM events WHERE on_device GROUP BY name")
    """

    def __init__(self, run: str, session: str, host: str, analyzed: AnalyzedTrace) -> None:
        self.run = run
        self.session = session
        self.host = host
        self._analyzed = analyzed

    def __repr__(self) -> str:
        steps = self.summary.steps
        return (
            f'<ProfileData "{self.run}" {self.session}: '
            f"{steps.count} steps of {steps.mean_ms:.4g} ms, {self.summary.events:,} events>"
        )

    @cached_property
    def summary(self) -> ProfileSummary:
        """The overview: step time, its parts, devices, findings, environment."""
        analyzed = self._analyzed
        return summarize_analysis(analyzed.trace, analyzed.analyze_steps(), analyzed.get_op_stats())

    @property
    def findings(self) -> Sequence[Finding]:
        """What to change, by the time of a step that it would save at most."""
        return self.summary.findings

    @property
    def problems(self) -> list[str]:
        """What is missing in the file or was corrected while reading it."""
        return [problem.text for problem in self.summary.problems]

    @cached_property
    def steps(self) -> ProfileTable:
        """One row per step: its start and duration, and how long it spent in each part.

        Parts count every instant once; ``other_ms`` is the rest of the step.
        """
        analysis = self._analyzed.analyze_steps()
        breakdown = analysis.breakdown
        averaged = np.zeros(len(analysis.steps.names), bool)
        averaged[analysis.averaged_slice] = True
        parts = {
            f"{part.name.lower()}_ms": _to_ms(breakdown.exclusive_ps[:, part]) for part in StepPart
        }
        return ProfileTable({
            "step": np.arange(len(analysis.steps.names)),
            "name": _make_texts(analysis.steps.names),
            "is_averaged": averaged,
            "start_ms": _to_ms(analysis.steps.spans[:, 0]),
            "total_ms": _to_ms(breakdown.total_ps),
            **parts,
            "other_ms": _to_ms(breakdown.other_ps),
        })  # fmt: skip

    @cached_property
    def parts(self) -> ProfileTable:
        """What an average step spends its time on; ``hidden_ms`` ran behind another part."""
        rows = self.summary.parts
        return ProfileTable({
            "name": _make_texts([row.name for row in rows]),
            "ms": _make_floats([row.ms for row in rows]),
            "share": _make_floats([row.share for row in rows]),
            "hidden_ms": _make_floats([row.hidden_ms for row in rows]),
        })  # fmt: skip

    @cached_property
    def devices(self) -> ProfileTable:
        """How long each device was busy and idle in an average step, and in total."""
        rows = self.summary.devices
        return ProfileTable({
            "name": _make_texts([row.name for row in rows]),
            "busy_ms": _make_floats([row.busy_ms for row in rows]),
            "idle_ms": _make_floats([row.idle_ms for row in rows]),
            "total_ms": _make_floats([row.total_ms for row in rows]),
            "outside_ms": _make_floats([row.outside_ms for row in rows]),
            "host_wait_ms": _make_floats([row.host_wait_ms for row in rows]),
            "kernel_wait_ms": _make_floats([row.kernel_wait_ms for row in rows]),
            "other_wait_ms": _make_floats([row.other_wait_ms for row in rows]),
        })  # fmt: skip

    @cached_property
    def ops(self) -> ProfileTable:
        """All ops of the capture, longest self time first.

        ``flops`` and ``bytes`` are those of all calls, computed from shapes; NaN if unknown.
        """
        stats, costs = self._analyzed.get_op_stats(), self._analyzed.op_costs
        known = [costs.get(op) for op in stats.ops]
        flops = _make_floats([nan if cost is None else cost.flops for cost in known])
        size = _make_floats([nan if cost is None else cost.bytes for cost in known])
        return ProfileTable({
            "name": _make_texts([op.name for op in stats.ops]),
            "type": _make_texts([op.type for op in stats.ops]),
            "side": _make_texts([OpSide(side).name.lower() for side in stats.sides.tolist()]),
            "count": stats.counts,
            "total_ms": _to_ms(stats.total_ps),
            "self_ms": _to_ms(stats.self_ps),
            "flops": stats.counts * flops,
            "bytes": stats.counts * size,
        })  # fmt: skip

    @cached_property
    def kernels(self) -> ProfileTable:
        """Kernels by launch configuration and op, longest total time first."""
        rows = self._analyzed.kernels
        launches = [row.launch for row in rows]
        return ProfileTable({
            "name": _make_texts([row.name for row in rows]),
            "op": _make_texts([row.op.name for row in rows]),
            "grid": _make_texts([",".join(map(str, each.grid)) for each in launches]),
            "block": _make_texts([",".join(map(str, each.block)) for each in launches]),
            "registers": np.array([each.registers for each in launches], np.int64),
            "shared_bytes": np.array([each.shared_bytes for each in launches], np.int64),
            "occupancy_percent": _make_floats([each.occupancy for each in launches]),
            "tensor_cores": _make_texts(
                [TensorCoreUse(row.tensor_cores).name.lower() for row in rows]
            ),
            "count": np.array([row.count for row in rows], np.int64),
            "total_ms": _to_ms(np.array([row.total_ps for row in rows], np.int64)),
            "min_ms": _to_ms(np.array([row.min_ps for row in rows], np.int64)),
            "max_ms": _to_ms(np.array([row.max_ps for row in rows], np.int64)),
        })  # fmt: skip

    @property
    def utilization(self) -> Utilization | None:
        """Achieved FLOP/s and memory bandwidth, and the peaks of the device.

        None if nothing ran on a device, or if the cost of no op is known.

        Example:
            >>> use = log.profile("train").utilization
            >>> use.flops_per_s / use.peak_flops_per_s  # model FLOPs utilization
            0.43
        """
        return self._analyzed.utilization

    @cached_property
    def memory(self) -> ProfileTable:
        """The allocators and their peaks; unknown numbers are NaN."""
        rows = analyze_memory(self._analyzed.trace, self._analyzed.get_steps())
        peaks = [row.events[row.peak_index] for row in rows]
        capacity = [
            peak.in_use_bytes + peak.free_bytes if peak.free_bytes >= 0 else nan for peak in peaks
        ]
        lifetime = [row.lifetime_peak_bytes for row in rows]
        return ProfileTable({
            "allocator": _make_texts([row.name for row in rows]),
            "is_device": np.array([row.is_device for row in rows], bool),
            "peak_bytes": np.array([peak.in_use_bytes for peak in peaks], np.int64),
            "peak_ms": _to_ms(np.array([peak.time_ps for peak in peaks], np.int64)),
            "capacity_bytes": _make_floats(capacity),
            "lifetime_peak_bytes": _make_floats([nan if it < 0 else it for it in lifetime]),
            "leaked_bytes": np.array(
                [sum(leak.bytes for leak in row.leaks) for row in rows], np.int64
            ),
        })  # fmt: skip

    def operators(self, group_by: OperatorGrouping = "name") -> ProfileTable:
        """Return PyTorch's operators with their time on the host and on devices.

        The numbers are those of ``torch.profiler``'s ``key_averages()``.

        Args:
            group_by: ``"name"``; ``"shape"`` adds the shapes of the inputs and ``"stack"`` the
                innermost Python frames as column ``group``; ``"module"`` gives the tree of
                ``nn.Module`` calls with their ``depth``.

        Raises:
            UsageError: ``group_by`` is something else.
        """
        if group_by not in _OPERATOR_GROUPINGS:
            options = ", ".join(f'"{option}"' for option in _OPERATOR_GROUPINGS)
            raise UsageError(f'group_by="{group_by}" is not one of {options}')
        rows = summarize_operators(self._analyzed.trace, group_by)
        return ProfileTable({
            "name": _make_texts(rows.names),
            "group": _make_texts(rows.groups),
            "kind": _make_texts(list(rows.kinds)),
            "depth": rows.depths,
            "count": rows.counts,
            "host_self_ms": _to_ms(rows.host_self_ps),
            "host_total_ms": _to_ms(rows.host_total_ps),
            "device_self_ms": _to_ms(rows.device_self_ps),
            "device_total_ms": _to_ms(rows.device_total_ps),
        })  # fmt: skip

    @cached_property
    def events(self) -> ProfileTable:
        """Every event of the capture, by track and start.

        ``step`` is the step that launched an event on a device, or in which an event on the host
        started; -1 for none. ``self_ms`` is the time without nested events of the same track.
        """
        trace, ops = self._analyzed.trace, self._analyzed.event_ops
        steps = self._analyzed.get_steps()
        step = locate_in_spans(steps.host_spans, trace.start_ps)
        nesting = nest_events(trace, np.ones(len(trace), bool))
        return ProfileTable({
            "event": np.arange(len(trace)),
            "process": _make_categories([track.process for track in trace.tracks], trace.track),
            "track": _make_categories([track.name for track in trace.tracks], trace.track),
            "on_device": trace.on_device,
            "category": CategoryColumn([*trace.categories], trace.category),
            "name": CategoryColumn([*trace.names], trace.name),
            # Events without an op have the index -1, which is the last name.
            "op": _make_categories([*(op.name for op in ops.ops), ""], ops.op_index),
            "step": np.where(trace.on_device, steps.device_steps, step),
            "start_ms": _to_ms(trace.start_ps),
            "duration_ms": _to_ms(trace.duration_ps),
            "self_ms": _to_ms(nesting.self_ps),
        })  # fmt: skip

    @property
    def query_tables(self) -> dict[str, ProfileTable]:
        """The tables that `query` can read, by name."""
        return {
            "events": self.events,
            "steps": self.steps,
            "ops": self.ops,
            "kernels": self.kernels,
        }

    def query(self, sql: str) -> ProfileTable:
        """Run a SQL query over the tables ``events``, ``steps``, ``ops`` and ``kernels``.

        It runs in a process of its own, which can read nothing else.

        Args:
            sql: A SELECT statement in the dialect of DuckDB. The first 10,000 rows are returned.

        Raises:
            MissingDependencyError: The extra ``sql`` is not installed.
            UsageError: The query is wrong, or takes too much time or memory.

        Example:
            >>> profile.query("SELECT step, count(*) AS n FROM events GROUP BY step").to_pandas()
        """
        return ProfileTable(self.run_query(sql).to_columns())

    def run_query(self, sql: str, max_rows: int = MAX_ROWS) -> QueryResult:
        """Run a query as `query` does, and return whether rows were left out as well."""
        database = self._analyzed.get_or_compute(
            "sql_database", lambda: SqlDatabase(self.query_tables)
        )
        return database.run(sql, max_rows)


def _to_ms(ps: Int64) -> Float64:
    ms: Float64 = ps / PS_PER_MS
    return ms


def _make_texts(values: Sequence[str]) -> Column:
    return ObjectColumn(list(values), "string")


def _make_floats(values: Sequence[float]) -> Float64:
    return np.array(values, np.float64)


def _make_categories(names: Sequence[str], index: np.ndarray[Any, Any]) -> CategoryColumn:
    """Return names by index, each as one category although several tracks may have it."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    codes = np.array([numbers[name] for name in names], np.int32)
    return CategoryColumn(list(numbers), codes[index])
