"""A capture as tables: `AnalyzedTrace`, and `ProfileData` for programs.

An `AnalyzedTrace` is a trace and what is derived from it, each computed once: programs, ops, steps,
kernels and costs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from tracklight.analysis.profiles import locate_in_spans
from tracklight.analysis.profiles.calls import (
    OperatorGrouping,
    nest_events,
    summarize_operators,
)
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.findings.summary import ProfileSummary, summarize_analysis
from tracklight.analysis.profiles.kernels import KernelStats, TensorCoreUse, list_kernels
from tracklight.analysis.profiles.memory import analyze_memory
from tracklight.analysis.profiles.memory.snapshots import (
    DeviceMemory,
    analyze_buffers,
    analyze_snapshot,
    describe_user_frame,
)
from tracklight.analysis.profiles.ops import (
    EventOps,
    Op,
    OpSide,
    OpStats,
    assign_ops,
    compute_op_stats,
)
from tracklight.analysis.profiles.roofline import (
    Cost,
    RooflinePoint,
    Utilization,
    compute_op_costs,
    compute_roofline_points,
    compute_utilization,
)
from tracklight.analysis.profiles.sql import (
    MAX_ROWS,
    ColumnType,
    QueryResult,
    SqlDatabase,
    get_column_type,
)
from tracklight.analysis.profiles.steps import (
    StepAnalysis,
    StepPart,
    StepRules,
    Steps,
    analyze_steps,
)
from tracklight.analysis.profiles.timeline.details import Counter, list_counters
from tracklight.analysis.profiles.trace import (
    PS_PER_MS,
    Framework,
    Trace,
    detect_framework,
    make_empty_trace,
)
from tracklight.analysis.profiles.xla_programs import (
    InstructionMap,
    XlaProgram,
    list_programs,
    map_instructions,
)
from tracklight.analysis.profiles.xprof import compute_xprof_op_stats
from tracklight.errors import UsageError
from tracklight.formats.profiles.memory_profiles import CudaSnapshot, parse_cuda_snapshot
from tracklight.types import CaptureKind, Float64, Int64
from tracklight.util.frames import CategoryColumn, Column, Frame, ObjectColumn

# ---- analyzed traces

#: If more values are derived from a trace (by choosing many step markers), the oldest are dropped.
_MAX_DERIVED = 64

T = TypeVar("T")


class AnalyzedTrace:
    """A trace, and what was derived from it.

    May be used from any thread. Derived values are computed by one thread at a time.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._derived: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @property
    def framework(self) -> Framework:
        return self.get_or_compute("framework", lambda: detect_framework(self.trace))

    @property
    def programs(self) -> list[XlaProgram]:
        return self.get_or_compute("programs", lambda: list_programs(self.trace))

    @property
    def instructions(self) -> InstructionMap:
        return self.get_or_compute(
            "instructions", lambda: map_instructions(self.trace, self.programs)
        )

    @property
    def event_ops(self) -> EventOps:
        return self.get_or_compute("event_ops", lambda: assign_ops(self.trace, self.instructions))

    def get_op_stats(self, rules: StepRules = "ours") -> OpStats:
        if rules == "xprof" and not self.trace.on_device.any():
            return self.get_or_compute("xprof_ops", lambda: compute_xprof_op_stats(self.trace))
        return self.get_or_compute("ops", lambda: compute_op_stats(self.trace, self.event_ops))

    def analyze_steps(self, marker: str = "", rules: StepRules = "ours") -> StepAnalysis:
        return self.get_or_compute(
            ("analyze_steps", marker, rules), lambda: analyze_steps(self.trace, marker, rules)
        )

    def get_steps(self, marker: str = "") -> Steps:
        return self.analyze_steps(marker).steps

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return a derived value, computed at most once per key while it is cached."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = compute()
                while len(self._derived) > _MAX_DERIVED:
                    del self._derived[next(iter(self._derived))]
            return cast(T, self._derived[key])

    @property
    def kernels(self) -> list[KernelStats]:
        return self.get_or_compute(
            "kernels", lambda: list_kernels(self.trace, self.event_ops, self.instructions)
        )

    @property
    def op_costs(self) -> dict[Op, Cost]:
        """Mean FLOPs and bytes of a call of each op of which they are known."""
        return self.get_or_compute(
            "op_costs", lambda: compute_op_costs(self.trace, self.event_ops, self.instructions)
        )

    @property
    def roofline_points(self) -> list[RooflinePoint]:
        return self.get_or_compute(
            "roofline_points", lambda: compute_roofline_points(self.get_op_stats(), self.op_costs)
        )

    @property
    def utilization(self) -> Utilization | None:
        """The rates that devices achieved; None if no cost of a device op is known."""
        return self.get_or_compute(
            "utilization",
            lambda: compute_utilization(
                self.trace,
                self.event_ops,
                self.instructions,
                self.get_op_stats(),
                self.roofline_points,
            ),
        )


# ---- tables

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


class _PeakRow(NamedTuple):
    """Memory that is in use at the peak of an allocator."""

    allocator: str
    category: str
    location: str
    bytes: int
    occurrences: int
    type: str = ""
    shape: str = ""


class ProfileData:
    """A profiler capture of one host. Times are in milliseconds.

    Of a memory snapshot of PyTorch, only `memory` and `memory_at_peak` have rows.

    Example:
        >>> profile = log.profile("train")
        >>> profile.summary.steps.mean_ms
        4.31
        >>> profile.kernels.to_pandas().head()
        >>> profile.operators("shape").to_pandas().sort_values("device_self_ms")
        >>> profile.query("SELECT name, sum(duration_ms) FROM events WHERE on_device GROUP BY name")
    """

    def __init__(
        self,
        run: str,
        session: str,
        host: str,
        analyzed: AnalyzedTrace,
        snapshot: CudaSnapshot | None = None,
    ) -> None:
        self.run = run
        self.session = session
        self.host = host
        self._analyzed = analyzed
        self._snapshot = snapshot

    def __repr__(self) -> str:
        if self._snapshot is not None:
            return f'<ProfileData "{self.run}" {self.session}: a memory snapshot>'
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
            "grid": _make_texts([",".join(map(str, launch.grid)) for launch in launches]),
            "block": _make_texts([",".join(map(str, launch.block)) for launch in launches]),
            "registers": np.array([launch.registers for launch in launches], np.int64),
            "shared_bytes": np.array([launch.shared_bytes for launch in launches], np.int64),
            "occupancy_percent": _make_floats([launch.occupancy for launch in launches]),
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
        """The allocators and their peaks; unknown numbers are NaN.

        A memory snapshot of PyTorch has a row per GPU: what was requested of the allocator, and
        ``reserved_bytes``, what it had from the driver at the same time.
        """
        if self._snapshot is not None:
            return self._make_snapshot_memory()
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
            "reserved_bytes": np.full(len(rows), nan),
            "lifetime_peak_bytes": _make_floats([nan if item < 0 else item for item in lifetime]),
            "leaked_bytes": _make_floats([sum(leak.bytes for leak in row.leaks) for row in rows]),
        })  # fmt: skip

    def _make_snapshot_memory(self) -> ProfileTable:
        rows = self._snapshot_devices
        unknown = np.full(len(rows), nan)
        return ProfileTable({
            "allocator": _make_texts([f"GPU {row.device}" for row in rows]),
            "is_device": np.ones(len(rows), bool),
            "peak_bytes": np.array([row.in_use_bytes[row.peak] for row in rows], np.int64),
            "peak_ms": _make_floats([row.ms[row.peak] if row.has_times else nan for row in rows]),
            "capacity_bytes": unknown,
            "reserved_bytes": _make_floats([row.reserved_bytes[row.peak] for row in rows]),
            "lifetime_peak_bytes": unknown,
            "leaked_bytes": unknown,
        })  # fmt: skip

    @cached_property
    def memory_at_peak(self) -> ProfileTable:
        """What was in use at the peak of each allocator, largest first.

        ``category`` is the kind of memory that the allocator reports. In a memory snapshot, it is
        what the memory is used for: ``weights``, ``gradients``, ``optimizer``, ``activations``,
        ``workspace``, ``other`` or ``unknown``. ``location`` is the op, or the line of the program.

        Example:
            >>> log.profile("train", "memory_snapshot.pickle").memory_at_peak.to_pandas().groupby(
            ...     "category"
            ... )["bytes"].sum()
        """
        if self._snapshot is not None:
            stacks = self._snapshot.stacks
            rows = [
                _PeakRow(
                    allocator=f"GPU {device.device}",
                    category=group.category.name.lower(),
                    location=describe_user_frame(stacks[group.stack]),
                    bytes=group.bytes,
                    occurrences=group.occurrences,
                )
                for device in self._snapshot_devices
                for group in device.peak_groups
            ]
        else:
            rows = [
                _PeakRow(
                    allocator=allocator.name,
                    category=group.region,
                    location=group.op,
                    bytes=group.bytes,
                    occurrences=group.occurrences,
                    type=group.type,
                    shape=group.shape,
                )
                for allocator in analyze_memory(self._analyzed.trace, self._analyzed.get_steps())
                for group in allocator.peak_groups
            ]
        return ProfileTable({
            "allocator": _make_texts([row.allocator for row in rows]),
            "category": _make_texts([row.category for row in rows]),
            "location": _make_texts([row.location for row in rows]),
            "type": _make_texts([row.type for row in rows]),
            "shape": _make_texts([row.shape for row in rows]),
            "bytes": np.array([row.bytes for row in rows], np.int64),
            "count": np.array([row.occurrences for row in rows], np.int64),
        })  # fmt: skip

    @cached_property
    def _snapshot_devices(self) -> list[DeviceMemory]:
        return [] if self._snapshot is None else analyze_snapshot(self._snapshot)

    @cached_property
    def program_memory(self) -> ProfileTable:
        """The memory of XLA's programs by their buffer assignment, largest first.

        ``allocated_bytes`` is what a run needs, ``peak_bytes`` what is live at its peak.
        """
        rows = analyze_buffers(self._analyzed.programs)
        return ProfileTable({
            "name": _make_texts([row.name for row in rows]),
            "allocated_bytes": np.array([row.allocated_bytes for row in rows], np.int64),
            "peak_bytes": np.array([row.peak_bytes for row in rows], np.int64),
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

    @cached_property
    def counters(self) -> ProfileTable:
        """Numbers that change over time: recorded counters, memory in use, and launch queues.

        ``kind`` is ``"recorded"`` for counters in the file, as of the hardware, ``"memory"`` for
        the memory in use of an allocator, and ``"queue"`` for the work of a device that was
        launched but has not begun. ``mean`` is the mean over time. The values are in
        `counter_values`.
        """
        rows, end_ps = self._counters, int(self._analyzed.trace.end_ps.max(initial=0))
        return ProfileTable({
            "counter": np.arange(len(rows)),
            "kind": _make_texts([row.kind for row in rows]),
            "process": _make_texts([row.process for row in rows]),
            "name": _make_texts([row.name for row in rows]),
            "count": np.array([len(row.values) for row in rows], np.int64),
            "min": _make_floats([float(row.values.min()) for row in rows]),
            "mean": _make_floats([row.measure_mean(end_ps) for row in rows]),
            "max": _make_floats([float(row.values.max()) for row in rows]),
            "last": _make_floats([float(row.values[-1]) for row in rows]),
        })  # fmt: skip

    @cached_property
    def counter_values(self) -> ProfileTable:
        """The values of all `counters`: from each time to the next, a counter has the value."""
        rows = self._counters
        counts = np.array([len(row.values) for row in rows], np.int64)
        numbers = np.repeat(np.arange(len(rows)), counts)
        times = [row.times_ps for row in rows]
        return ProfileTable({
            "counter": numbers,
            "name": _make_categories([row.name for row in rows], numbers),
            "time_ms": _to_ms(np.concatenate([np.empty(0, np.int64), *times])),
            "value": np.concatenate([np.empty(0), *(row.values for row in rows)]),
        })  # fmt: skip

    @cached_property
    def _counters(self) -> list[Counter]:
        rows = list_counters(self._analyzed.trace, self._analyzed.get_steps())
        return [row for row in rows if len(row.values)]

    @property
    def query_tables(self) -> dict[str, ProfileTable]:
        """The tables that `query` can read, by name."""
        return {
            "events": self.events,
            "steps": self.steps,
            "ops": self.ops,
            "kernels": self.kernels,
            "counters": self.counters,
            "counter_values": self.counter_values,
        }

    def query(self, sql: str) -> ProfileTable:
        """Run a SQL query over the tables of the capture.

        They are ``events``, ``steps``, ``ops``, ``kernels``, ``counters`` and ``counter_values``.
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


def load_profile(run: str, session: str, host: str, path: Path, kind: CaptureKind) -> ProfileData:
    """Read a capture file: a trace, or a memory snapshot of PyTorch.

    Raises:
        FormatError: The file cannot be read.
    """
    if kind == "snapshot":
        snapshot = parse_cuda_snapshot(path.read_bytes())
        return ProfileData(run, session, host, AnalyzedTrace(make_empty_trace()), snapshot)
    return ProfileData(run, session, host, AnalyzedTrace(open_capture(path)))


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
