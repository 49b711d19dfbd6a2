"""All dumps and recordings of a log, opened on demand, and the checks behind alerts about them.

`DebuggerData` is one of them for programs, as `tracklight.open` returns it.

`DumpMonitor` notices NaN and Inf in dumps while they are written. Opening a dump takes hundreds of
megabytes if it has millions of events, so the monitor scans only what was appended, keeps no
columns, and stops at the first non-finite tensor of a dump. In recordings, a scalar counts NaN
and Inf.

All other kinds of problems need the whole recording or dump (`HealthMonitor`). It is analyzed in
the background after a change, and large dumps are left out.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger import AlertKind, HealthAlert, RootCause
from tracklight.analysis.debugger.dump import DebugDump, iter_dumps, read_metadata
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.recording import (
    Recording,
    RecordingAnalysis,
    RecordingKey,
    iter_recordings,
)
from tracklight.analysis.source import Source
from tracklight.errors import LogError, TracklightError, UsageError
from tracklight.formats.debug_events import (
    EXECUTION_FIELD,
    TRACE_FIELD,
    FileFollower,
    Health,
    create_event_scanner,
    decode_execution_name,
    decode_trace_name,
)
from tracklight.formats.tensor_health import PLUGIN, STATS
from tracklight.logdir.filesystem import FileHandle
from tracklight.types import DebugEventFile, Float32, Int64

# ---- dumps that grow

_FIELDS = {"execution": EXECUTION_FIELD, "graph_execution_traces": TRACE_FIELD}


class NonFiniteEvent(NamedTuple):
    """The first event of a dump with a non-finite tensor."""

    run: str
    prefix: str
    """Of the files of the dump."""
    op: str
    """Name of an operation of a graph, or the type of an execution."""
    value: float
    """Infinity if the tensor contains no NaN, otherwise NaN."""
    wall_time: float


class DebugFiles(Protocol):
    """The part of `tracklight.analysis.source.Source` that the monitor needs."""

    def debug_files(self) -> Iterable[DebugEventFile]: ...

    def open_debug_file(self, file: DebugEventFile) -> FileHandle: ...


class DumpMonitor:
    """Checks dumps for non-finite tensors. Must not be called from two threads at once."""

    def __init__(self, source: DebugFiles) -> None:
        self._source = source
        self._files: dict[str, _MonitoredFile] = {}
        self._reported: set[tuple[str, str]] = set()

    def check(self, runs: Collection[str]) -> list[NonFiniteEvent]:
        """Read what was appended to the dumps of runs.

        Returns:
            The first non-finite event of each dump in which none was found before.
        """
        wanted = frozenset(runs)
        found: dict[tuple[str, str], NonFiniteEvent] = {}
        for file in self._source.debug_files():
            dump = file.run, file.prefix
            if file.run not in wanted or dump in self._reported or file.kind not in _FIELDS:
                continue
            event = self._check_file(file)
            if event is not None:
                earlier = found.get(dump)
                if earlier is None or event.wall_time < earlier.wall_time:
                    found[dump] = event
        self._reported.update(found)
        return list(found.values())

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Forget runs that were removed, so that they are checked again if they come back."""
        removed = frozenset(runs)
        self._reported = {dump for dump in self._reported if dump[0] not in removed}
        self._files = {path: item for path, item in self._files.items() if item.run not in removed}

    def _check_file(self, file: DebugEventFile) -> NonFiniteEvent | None:
        known = self._files.get(file.path)
        if known is None or file.bytes < known.position:  # a smaller file is another dump
            known = self._files[file.path] = _MonitoredFile(file)
        try:
            return known.update(file, self._source)
        except OSError:
            return None  # read again when it changes


def find_first_event(files: Iterable[DebugEventFile], source: DebugFiles) -> NonFiniteEvent | None:
    """Return the first event of a dump with a non-finite tensor, without opening the dump.

    Raises:
        OSError: A file cannot be read.
    """
    wanted = [file for file in files if file.kind in _FIELDS]
    events = [_MonitoredFile(file).update(file, source) for file in wanted]
    found = [event for event in events if event is not None]
    return min(found, key=lambda item: item.wall_time, default=None)


class _MonitoredFile:
    """A file of events that is scanned for the first non-finite tensor."""

    def __init__(self, file: DebugEventFile) -> None:
        self.run = file.run
        self._prefix = file.prefix
        self._is_trace = file.kind == "graph_execution_traces"
        self._scanner = create_event_scanner(_FIELDS[file.kind])
        self._follower = FileFollower(self._scanner, self._collect)
        self._names: list[bytes] = []
        self._tensors = 0
        self._found: NonFiniteEvent | None = None

    @property
    def position(self) -> int:
        return self._follower.position

    def update(self, file: DebugEventFile, source: DebugFiles) -> NonFiniteEvent | None:
        if self._found is None and self.position < file.bytes:
            with source.open_debug_file(file) as handle:
                self._follower.update(handle.read_into, file.bytes)
        return self._found

    def _collect(self) -> None:
        part = self._scanner.take()
        self._names += part["names"]
        first_tensor, self._tensors = self._tensors, self._tensors + len(part["health"])
        bad = np.flatnonzero(part["health"] == Health.NON_FINITE)
        if self._found is not None or not len(bad):
            return
        row = int(bad[0])
        if not self._is_trace:
            row = int(np.searchsorted(part["tensor_end"], first_tensor + row, "right"))
        name = self._names[int(part["name"][row])]
        nan = int(part["bad_counts"][0, 3])
        self._found = NonFiniteEvent(
            self.run,
            self._prefix,
            decode_trace_name(name).op if self._is_trace else decode_execution_name(name).op_type,
            float("inf") if nan == 0 else float("nan"),
            float(part["wall_time"][row]),
        )


# ---- the library

Analysis: TypeAlias = DumpAnalysis | RecordingAnalysis

#: How many opened dumps are kept; each may take hundreds of megabytes.
_MAX_OPEN = 4
#: Dumps up to this size are read for lists of dumps and for alerts, before anyone opens them.
MAX_QUICK_BYTES = 64 << 20


class SourceSummary(NamedTuple):
    """What is known of a dump or recording without details."""

    kind: Literal["dump", "recording"]
    framework: str
    version: str
    problem_step: int | None = None
    """The step of the root cause of a recording; None if another rank has the cause."""
    problem_time: float | None = None
    """The wall time of the root cause of a recording, or of the first NaN or Inf of a dump."""


class _Entry(NamedTuple):
    run: str
    version: str
    hosts: list[list[DebugEventFile]]
    recording: RecordingKey | None

    @property
    def bytes(self) -> int:
        return sum(file.bytes for host in self.hosts for file in host)


class DebuggerLibrary:
    """Opens dumps and recordings by name. All methods may be called from any thread.

    Args:
        source: The log.
        max_open: How many opened dumps and recordings are kept.
    """

    def __init__(self, source: Source, max_open: int = _MAX_OPEN) -> None:
        self._source = source
        self._max_open = max_open
        self._lock = threading.Lock()
        self._listed: tuple[int, dict[str, _Entry]] | None = None
        self._dumps: dict[str, DebugDump] = {}
        self._open: dict[str, tuple[str, Analysis]] = {}
        self._summaries: dict[str, tuple[str, SourceSummary]] = {}

    def list_names(self) -> list[str]:
        """Return the names of all dumps and recordings."""
        with self._lock:
            return list(self._list())

    def get_run(self, name: str) -> str:
        """Return the run that a dump or recording belongs to."""
        with self._lock:
            return self._get_entry(name).run

    def find_dump(self, prefix: str) -> str | None:
        """Return the name of the dump with files of this prefix."""
        with self._lock:
            for name, entry in self._list().items():
                if any(file.prefix == prefix for host in entry.hosts for file in host):
                    return name
        return None

    def count_dump_bytes(self, name: str) -> int:
        """Return the size of the files of a dump; 0 for a recording."""
        with self._lock:
            return self._get_entry(name).bytes

    def get(self, name: str) -> Analysis:
        """Open a dump or recording, or read what was appended to it.

        Raises:
            LogError: There is no dump or recording of that name.
        """
        with self._lock:
            entry = self._get_entry(name)
            known = self._open.pop(name, None)
            if known is None or known[0] != entry.version:
                known = entry.version, self._analyze(name, entry)
            self._open[name] = known  # the last one is the most recently used
            while len(self._open) > self._max_open:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._dumps.pop(oldest, None)
            return known[1]

    def summarize(self, name: str) -> SourceSummary:
        """Summarize a dump or recording. A dump, which may be large, is not opened.

        Raises:
            LogError: There is no dump or recording of that name.
        """
        with self._lock:
            entry = self._get_entry(name)
            known = self._summaries.get(name)
        if known is not None and known[0] == entry.version:
            return known[1]
        if entry.recording is None:
            metadata = read_metadata(entry.hosts[0], self._source.open_debug_file)
            version = metadata.tensorflow_version if metadata is not None else ""
            time = self._find_problem_time(entry)
            summary = SourceSummary("dump", DebugDump.framework, version, problem_time=time)
        else:
            analysis = self.get(name)
            assert isinstance(analysis, RecordingAnalysis)
            layout, cause = analysis.recording.layout, analysis.root_cause
            is_own = cause is not None and analysis.cause_in_other_rank is None
            step = cause.step if cause is not None and is_own else None
            time = None if step is None else analysis.recording.find_wall_time(step)
            summary = SourceSummary("recording", layout.framework, layout.version, step, time)
        with self._lock:
            self._summaries[name] = entry.version, summary
        return summary

    def _find_problem_time(self, entry: _Entry) -> float | None:
        if entry.bytes > MAX_QUICK_BYTES:
            return None
        event = find_first_event((file for host in entry.hosts for file in host), self._source)
        return event.wall_time if event is not None else None

    def _analyze(self, name: str, entry: _Entry) -> Analysis:
        if entry.recording is not None:
            return RecordingAnalysis(Recording(self._source, entry.recording))
        dump = self._dumps.get(name)
        if dump is None:
            dump = self._dumps[name] = DebugDump(entry.hosts, self._source.open_debug_file)
        else:
            dump.update(entry.hosts)
        return DumpAnalysis(dump)

    def _get_entry(self, name: str) -> _Entry:
        entries = self._list()
        if name not in entries:
            names = ", ".join(f'"{entry}"' for entry in list(entries)[:5]) or "none"
            raise LogError(f'No debugger data "{name}". Found: {names}')
        return entries[name]

    def _list(self) -> dict[str, _Entry]:
        version = self._source.version
        if self._listed is None or self._listed[0] != version:
            self._listed = version, self._list_entries()
        return self._listed[1]

    def _list_entries(self) -> dict[str, _Entry]:
        entries: dict[str, _Entry] = {}
        for name, hosts in iter_dumps(self._source.debug_files(), self._source.open_debug_file):
            files = [file for host in hosts for file in host]
            version = " ".join(file.version for file in files)
            entries[name] = _Entry(files[0].run, version, hosts, None)
        for key in iter_recordings(self._source):
            name = key.name if key.name not in entries else f"{key.name} (recording)"
            tags = [tag for tag in self._source.tags(key.run) if tag.tag.startswith("debugger/")]
            version = " ".join(f"{tag.tag} {tag.count}" for tag in tags)
            entries[name] = _Entry(key.run, version, [], key)
        return entries


# ---- checks in the background

#: After a check, wait for so many times as long as it took.
_PAUSE_FACTOR = 10
_MAX_PAUSE_S = 60.0


class HealthProblem(NamedTuple):
    """The first alert of a kind in a dump or recording."""

    run: str
    source: str
    """Name of the dump or recording."""
    alert: HealthAlert
    alert_count: int
    """Number of alerts of that kind."""


class HealthChanges(NamedTuple):
    """What a check has found."""

    found: list[HealthProblem]
    ended: list[HealthProblem]
    """Problems found before that are over, such as units that are no longer dead."""
    is_new: bool
    """False if the run has not changed since the monitor was started."""


class HealthMonitor:
    """Analyzes recordings and dumps that change, one run at a time.

    Must not be called from two threads at once.

    Args:
        source: The log.
        kinds: Which alerts to report; NaN and Inf are never reported here.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        source: Source,
        kinds: Collection[AlertKind],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._kinds = frozenset(kind for kind in kinds if not kind.is_non_finite)
        self._clock = clock
        self._library = DebuggerLibrary(source, max_open=1)
        self._pending: dict[str, bool] = {}
        self._next_check_s = 0.0
        self._firing: dict[tuple[str, AlertKind], HealthProblem] = {}
        self._reported: set[tuple[str, str, AlertKind]] = set()

    def add_runs(self, runs: Sequence[str], *, is_new: bool) -> None:
        """Check these runs later, if they have dumps or recordings."""
        if not self._kinds:
            return
        checked = {file.run for file in self._source.debug_files()}
        for shared in self._source.shared_tags(runs):
            if shared.plugin == PLUGIN:
                checked.update(shared.runs)
        for run in runs:
            if run in checked:
                self._pending[run] = is_new or self._pending.get(run, False)

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Forget runs that were removed, so that they are checked again if they come back."""
        removed = frozenset(runs)
        self._pending = {run: item for run, item in self._pending.items() if run not in removed}
        self._firing = {key: item for key, item in self._firing.items() if item.run not in removed}
        self._reported = {key for key in self._reported if key[0] not in removed}

    def find_delay_s(self) -> float | None:
        """Return how long to wait before the next check; None if nothing is to be checked."""
        return max(self._next_check_s - self._clock(), 0.0) if self._pending else None

    def check_next(self) -> HealthChanges:
        """Analyze the dumps and recordings of the run that has waited for longest."""
        run = next(iter(self._pending))
        changes = HealthChanges([], [], self._pending.pop(run))
        start_s = self._clock()
        for name in self._library.list_names():
            try:
                if self._library.get_run(name) == run:
                    self._check_source(run, name, changes)
            except (TracklightError, OSError):
                continue  # the dashboard says why it cannot be read
        end_s = self._clock()
        self._next_check_s = end_s + min(_PAUSE_FACTOR * (end_s - start_s), _MAX_PAUSE_S)
        return changes

    def _check_source(self, run: str, name: str, changes: HealthChanges) -> None:
        if self._library.count_dump_bytes(name) > MAX_QUICK_BYTES:
            return
        problems: dict[AlertKind, HealthProblem] = {}
        for alert in _iter_causes(self._library.get(name)):
            if alert.kind in self._kinds:
                first = problems.get(alert.kind) or HealthProblem(run, name, alert, 0)
                problems[alert.kind] = first._replace(alert_count=first.alert_count + 1)
        for kind in self._kinds:
            firing = self._firing.get((name, kind))
            if kind in problems and (run, name, kind) not in self._reported:
                # A problem that ends and begins again is reported once.
                self._reported.add((run, name, kind))
                self._firing[name, kind] = problems[kind]
                changes.found.append(problems[kind])
            elif kind not in problems and firing is not None:
                del self._firing[name, kind]
                changes.ended.append(firing)


def _iter_causes(analysis: Analysis) -> Iterator[HealthAlert]:
    """Yield alerts without those that follow from NaN and Inf."""
    if isinstance(analysis, DumpAnalysis):
        yield from analysis.alerts.others
        return
    bad_steps = (item.step for item in analysis.alerts if item.kind.is_non_finite)
    first_bad_step = next(bad_steps, None)
    for alert in analysis.alerts:
        if first_bad_step is None or (alert.step or 0) < first_bad_step:
            yield alert


# ---- data for programs


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
        return [f"{tensor.name} ({tensor.role})" for tensor in layout.tensors]

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
            "op_type": _take([name.op_type for name in names], ids),
            "graph": _take([name.graph for name in names], ids),
        }

    @property
    def graph_executions(self) -> dict[str, NDArray[Any]]:
        """Graph execution traces of a dump as columns.

        They are ``wall_time``, ``op_type``, ``op_name``, ``output_slot``, ``graph`` and
        ``is_finite`` (1, 0, or -1 if it was not recorded).
        """
        dump = self._get_dump().dump
        traces = dump.traces
        ops = [dump.find_op(name.graph, name.op) for name in traces.names]
        is_finite = np.array([-1, 1, 0], np.int8)[traces.health]
        slots = np.array([name.slot for name in traces.names], np.int32)
        return {
            "wall_time": traces.wall_time,
            "op_type": _take([op.type if op else "" for op in ops], traces.name),
            "op_name": _take([name.op for name in traces.names], traces.name),
            "output_slot": slots[traces.name] if len(slots) else np.empty(0, np.int32),
            "graph": _take([name.graph for name in traces.names], traces.name),
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
