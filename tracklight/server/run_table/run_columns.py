"""Columns of runs that are read from the log: hyperparameters, metrics and states.

A metric is one number for each run, such as its last value. The state of a run follows from what is
known about it, in this order:

1. A record of its end (`tracklight.run`, HParams): *finished* or *crashed*. It counts only until
   something is logged after it, since a directory may be used for a second training.
2. Something was logged in the last minutes: *running*.
3. A record of its start, but none of its end: *crashed* if its process is gone, which is known
   on the same machine, or after a day without data; otherwise *stalled*.
4. No record at all, as in most logs of other programs: *inactive*.

Runs below a directory with such records, such as ``train`` and ``validation`` of Keras, have the
state of that directory.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Generic, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.source import Empty
from tracklight.errors import UsageError
from tracklight.logdir import natural_key
from tracklight.logdir.discover import iter_ancestors
from tracklight.plugin import Route
from tracklight.server.source import LogOverview, LogSource, RunRow, VersionedCache
from tracklight.types import Bool, Float64, Kind, SummaryColumns
from tracklight.util.files import JsonNumber, to_json_number
from tracklight.util.memory import LruCache, get_pid_namespace, is_process_alive

if TYPE_CHECKING:
    # Imported on use: most servers show charts first.
    from tracklight.formats.hparams import HParamValue, RunEnd, RunStart

_MAX_EXAMPLE_VALUES = 20
#: Each metric takes about 3 MB for 100,000 runs.
_MAX_CACHED_METRICS = 32

HParams = Mapping[str, "HParamValue"]
Cell = bool | JsonNumber | None

#: The prefixes of the keys of metrics: last, lowest and highest value, and the last step.
METRIC_FIELDS = ("last", "min", "max", "step")
#: The prefix of metrics at a step: ``at:1000:loss`` is the last value up to step 1000.
AT_FIELD = "at"
_AT_STEP = re.compile(r"-?\d{1,18}")
_NO_HPARAMS: HParams = {}


class HParamColumn(msgspec.Struct):
    """A hyperparameter over all runs; ``values`` are the first of its distinct values."""

    name: str
    type: Literal["number", "string", "bool"]
    distinct: int
    low: float | None
    high: float | None
    values: list[Cell]


class ColumnListResponse(msgspec.Struct):
    """The available columns; ``metrics`` are the tags of scalars.

    ``display_names`` has those of hyperparameters and metrics that were logged with one, by the
    keys of their columns.
    """

    hparams: list[HParamColumn]
    metrics: list[str]
    display_names: dict[str, str]


class ColumnsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Columns by key: ``hparam:lr``, ``last:loss``, ``min:loss``, ``max:acc``, ``step:loss``."""

    columns: Annotated[list[str], msgspec.Meta(max_length=100)]


class ColumnsResponse(msgspec.Struct):
    """One value per run for each column, in the order of ``runs``; null if a run has none."""

    runs: list[str]
    columns: dict[str, list[Cell]]


class RunColumnsApi:
    """The routes ``runs/columns``.

    Args:
        source: The log.
        overview: The runs and tags of the log.
        find_state: Returns what the values of a tag depend on besides the run, or None.

    Attributes:
        hparams: The hyperparameters of all runs.
        metrics: The metrics of all runs.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        find_state: Callable[[str], Hashable | None] = lambda tag: None,
    ) -> None:
        self._source = source
        self._overview = overview
        self.hparams = RunHParams(source, overview)
        self.metrics = RunMetrics(source, find_state)
        self._columns = VersionedCache(source, self._build_list)

    def routes(self) -> Sequence[Route]:
        return [
            Route("runs/columns", Empty, self.list_columns, "GET"),
            Route("runs/columns", ColumnsRequest, self.read_columns),
        ]

    def list_columns(self, _: Empty) -> ColumnListResponse:
        """Return the available columns of the run table."""
        return self._columns.get()

    def read_columns(self, request: ColumnsRequest) -> ColumnsResponse:
        """Return the values of some columns of the run table."""
        rows = self._overview.runs()
        columns = {key: self._read_column(key, rows) for key in request.columns}
        return ColumnsResponse(list(rows), columns)

    def _build_list(self) -> ColumnListResponse:
        columns: dict[str, list[HParamValue]] = {}
        for hparams in self.hparams.read().values():
            for name, value in hparams.items():
                columns.setdefault(name, []).append(value)
        names = sorted(columns, key=natural_key)
        tags = self._overview.scalar_tags()
        return ColumnListResponse(
            [describe_hparam(name, columns[name]) for name in names],
            sorted(tags, key=natural_key),
            self._read_display_names(),
        )

    def _read_display_names(self) -> dict[str, str]:
        """Return the names that experiments declare, or else those of the tags themselves."""
        from tracklight.formats.hparams import EXPERIMENT_TAG, parse_experiment

        hparams: dict[str, str] = {}
        metrics: dict[str, str] = {}
        for data in dict.fromkeys(self._source.plugin_data(EXPERIMENT_TAG).values()):
            experiment = parse_experiment(data)
            if experiment is None:
                continue
            for hparam in experiment.hparams:
                hparams.setdefault(hparam.name, hparam.display_name)
            for metric in sorted(experiment.metrics, key=lambda metric: metric.group != ""):
                if self._is_only_in_group(metric.tag, metric.group):
                    metrics.setdefault(metric.tag, metric.display_name)
        for tag in self._overview.tags():
            if tag.kind is Kind.SCALAR and not metrics.get(tag.tag):
                metrics[tag.tag] = tag.display_name
        columns = [("hparam", hparams), *((field, metrics) for field in METRIC_FIELDS)]
        return {
            f"{kind}:{name}": shown
            for kind, names in columns
            for name, shown in names.items()
            if shown and shown != name
        }

    def _is_only_in_group(self, tag: str, group: str) -> bool:
        """Return whether only runs of a group of metrics have a tag.

        A name such as "loss (val.)" of the group ``validation`` does not fit other runs.
        """
        runs = self._overview.runs_with_scalar(tag)
        return group == "" or all(f"/{run}".endswith(f"/{group}") for run in runs)

    def _read_column(self, key: str, rows: Mapping[str, RunRow]) -> list[Cell]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            hparams = self.hparams.read()
            return [make_cell(hparams.get(run, _NO_HPARAMS).get(name)) for run in rows]
        if kind not in METRIC_FIELDS:
            raise UsageError(
                "runs.unknown_column",
                'there is no column "{key}"; use hparam:NAME, last:TAG, min:TAG or max:TAG',
                key=key,
            )
        values, is_missing = get_metric_column(self.metrics.read(name, rows), kind)
        pairs = zip(values.tolist(), is_missing.tolist(), strict=True)
        return [None if missing else to_json_number(value) for value, missing in pairs]


class RunHParams:
    """The hyperparameters of all runs, which inherit those of the sessions they belong to."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._cached = VersionedCache(source, self._read)
        self._records = VersionedCache(source, self._read_records)

    def read(self) -> Mapping[str, HParams]:
        """Return the hyperparameters of all runs that have some."""
        return self._cached.get()

    def read_some(self, runs: Sequence[str]) -> Mapping[str, HParams]:
        """Return the hyperparameters of some runs, without parsing those of all runs if possible.

        Parsing 100,000 records takes seconds, and the first page of a table shows 200 of them.
        """
        from tracklight.formats.hparams import parse_session_start_info

        known = self._cached.find()
        if known is not None or self._source.settings() or self._source.study_files():
            return self.read()
        records = self._records.get()
        found: dict[str, HParams] = {}
        for run in runs:
            owner = next((name for name in iter_ancestors(run) if name in records), None)
            start = None if owner is None else parse_session_start_info(records[owner])
            if start is None or not start.hparams:
                return self.read() if records else {}
            found[run] = start.hparams
        return found

    def _read_records(self) -> Mapping[str, bytes]:
        from tracklight.formats.hparams import SESSION_START_TAG

        return self._source.plugin_data(SESSION_START_TAG)

    def _read(self) -> Mapping[str, HParams]:
        settings = self._source.settings()
        if not (settings or self._records.get()):
            return {}
        # Most logs have no hyperparameters, so this is loaded only when needed.
        from tracklight.analysis.experiments.sessions import get_session_reader, inherit_hparams

        reader = get_session_reader(self._source)
        if settings or self._source.study_files():
            sessions = reader.read().sessions
            own = {session.name: session.hparams for session in sessions if session.hparams}
        else:
            own = reader.read_recorded_hparams()
        return inherit_hparams(own, self._overview.runs()) if own else {}


class MetricKey(NamedTuple):
    """What the key of a column of a metric means; ``step`` is that of `AT_FIELD`."""

    field: str
    tag: str
    step: int = 0


def parse_metric_key(key: str) -> MetricKey | None:
    """Return the meaning of a key such as ``last:loss`` or ``at:1000:loss``; None for others."""
    field, _, tag = key.partition(":")
    if field in METRIC_FIELDS:
        return MetricKey(field, tag)
    step, _, tag = tag.partition(":")
    if field == AT_FIELD and _AT_STEP.fullmatch(step):
        return MetricKey(field, tag, int(step))
    return None


class RunMetrics:
    """The last, lowest and highest values of metrics, computed again only for grown runs."""

    def __init__(
        self,
        source: LogSource,
        find_state: Callable[[str], Hashable | None] = lambda tag: None,
    ) -> None:
        self._source = source
        self._find_state = find_state
        self._lock = threading.Lock()
        self._cache = LruCache[tuple[str, Hashable | None], _CachedMetric](
            max_items=_MAX_CACHED_METRICS
        )

    def read(self, tag: str, rows: Mapping[str, RunRow]) -> SummaryColumns:
        """Return the values of the scalar ``tag`` in all runs, which are those of an overview."""
        key = tag, self._find_state(tag)
        with self._lock:
            cached = self._cache.find(key)
            if cached is None or cached.rows is not rows:
                cached = _CachedMetric(rows, self._update(tag, rows, cached))
                self._cache.put(key, cached)
        return cached.columns

    def read_column(self, key: MetricKey, rows: Mapping[str, RunRow]) -> tuple[Float64, Bool]:
        """Return the values of a column in all runs, and which of them are missing."""
        columns = self.read(key.tag, rows)
        if key.field == AT_FIELD:
            return self._read_at(key, list(rows), columns.is_present)
        return get_metric_column(columns, key.field)

    def read_some(self, key: MetricKey, runs: Sequence[str]) -> tuple[Float64, Bool]:
        """Return the values of a column in some runs, without reading it in all others."""
        columns = self._source.summary_columns(runs, key.tag)
        if key.field == AT_FIELD:
            return self._read_at(key, runs, columns.is_present)
        return get_metric_column(columns, key.field)

    def _read_at(
        self, key: MetricKey, runs: Sequence[str], is_present: Bool
    ) -> tuple[Float64, Bool]:
        """Return the last values up to a step."""
        from tracklight.analysis.experiments.columns import MetricReduction, read_metric_values

        values, is_missing = np.full(len(runs), np.nan), np.ones(len(runs), np.bool_)
        present = np.flatnonzero(is_present).tolist()
        if present:
            keys = [(runs[at], key.tag) for at in present]
            reduction = MetricReduction("step", step=key.step)
            values[present], steps = read_metric_values(self._source, keys, reduction)
            is_missing[present] = np.isnan(steps)
        return values, is_missing

    def _update(
        self, tag: str, rows: Mapping[str, RunRow], cached: _CachedMetric | None
    ) -> SummaryColumns:
        names = list(rows)
        if cached is None or list(cached.rows) != names:
            return self._source.summary_columns(names, tag)
        # The row of a run has its bytes and points: if it is the same, so are the values.
        pairs = zip(cached.rows.values(), rows.values(), strict=True)
        grown = [at for at, (old, new) in enumerate(pairs) if old is not new and old != new]
        if not grown:
            return cached.columns
        values = self._source.summary_columns([names[at] for at in grown], tag)
        columns = {}
        for name in SummaryColumns.__slots__:
            column = getattr(cached.columns, name).copy()
            column[grown] = getattr(values, name)
            columns[name] = column
        return SummaryColumns(**columns)


class _CachedMetric(NamedTuple):
    rows: Mapping[str, RunRow]
    columns: SummaryColumns


def describe_hparam(name: str, values: Iterable[HParamValue]) -> HParamColumn:
    """Describe a hyperparameter by its values in all runs."""
    distinct = set(values)
    if any(isinstance(value, str) for value in distinct):
        texts = sorted(map(str, distinct), key=natural_key)
        examples: list[Cell] = [*texts[:_MAX_EXAMPLE_VALUES]]
        return HParamColumn(name, "string", len(distinct), None, None, examples)
    if all(isinstance(value, bool) for value in distinct):
        return HParamColumn(name, "bool", len(distinct), None, None, [*sorted(distinct)])
    numbers = sorted(map(float, distinct), key=lambda value: (not math.isfinite(value), value))
    low, high = compute_extent(numbers)
    cells = [make_cell(value) for value in numbers[:_MAX_EXAMPLE_VALUES]]
    return HParamColumn(name, "number", len(distinct), low, high, cells)


def compute_extent(numbers: Iterable[float]) -> tuple[float | None, float | None]:
    """Return the lowest and highest finite number."""
    finite = [value for value in numbers if math.isfinite(value)]
    return min(finite, default=None), max(finite, default=None)


def get_metric_column(columns: SummaryColumns, field: str) -> tuple[Float64, Bool]:
    """Return the values of one of `METRIC_FIELDS` in all runs, and which of them are missing."""
    if field == "last":
        return columns.last, ~columns.is_present
    values = {"min": columns.low, "max": columns.high, "step": columns.step}[field]
    return values, np.isnan(values)


def make_cell(value: HParamValue | None) -> Cell:
    return to_json_number(value) if isinstance(value, float) else value


# ---- states of runs

T = TypeVar("T")

#: A run that logged something in this time is running.
MAX_RUNNING_AGE_S = 300.0
#: A run that has recorded its start and no end is stalled until this time, then crashed.
MAX_STALLED_AGE_S = 86_400.0
#: The last records of a file may be a little newer than the record of the end.
_END_TOLERANCE_S = 60.0


class RunState(IntEnum):
    """The state of a run, in the order in which runs are sorted by it."""

    RUNNING = 0
    STALLED = 1
    CRASHED = 2
    FINISHED = 3
    INACTIVE = 4


STATE_NAMES = [state.name.lower() for state in RunState]


class RecordParser(Generic[T]):
    """Parses records of runs when they are needed; records never change."""

    def __init__(self, parse: Callable[[bytes], T | None]) -> None:
        self._parse = parse
        self._parsed: dict[bytes, T | None] = {}

    def find(self, content: bytes | None) -> T | None:
        """Return a parsed record; None if there is none, or if it is invalid."""
        if content is None:
            return None
        if content not in self._parsed:
            self._parsed[content] = self._parse(content)
        return self._parsed[content]

    def forget_all_but(self, contents: Mapping[str, bytes]) -> None:
        """Forget the records that no run has anymore."""
        if len(self._parsed) > 2 * len(contents):
            kept = set(contents.values())
            self._parsed = {data: item for data, item in self._parsed.items() if data in kept}


@dataclass(frozen=True, eq=False)
class RunRecords:
    """What programs recorded about runs; runs below a directory share its records."""

    owners: Sequence[str | None]
    """For each run, the run that has its records."""
    has_start: Bool
    ends: Mapping[str, RunEnd]
    start_contents: Mapping[str, bytes]
    start_parser: RecordParser[RunStart]

    def find_start(self, owner: str | None) -> RunStart | None:
        """Return the record of the start of an owner of records."""
        if owner is None:
            return None
        return self.start_parser.find(self.start_contents.get(owner))

    def list_ends(self) -> list[RunEnd | None]:
        return [None if owner is None else self.ends.get(owner) for owner in self.owners]


class RecordReader:
    """Reads the records of all runs. Tags that no run has cost nothing."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        from tracklight.formats.hparams import (
            parse_run_end,
            parse_run_start,
            parse_session_end_info,
        )

        self._source = source
        self._overview = overview
        self._starts = RecordParser(parse_run_start)
        self._ends = RecordParser(parse_run_end)
        self._session_ends = RecordParser(parse_session_end_info)

    def read(self, runs: Iterable[str]) -> RunRecords:
        """Read the records of some runs, in their order."""
        from tracklight.formats.hparams import (
            RUN_END_TAG,
            RUN_START_TAG,
            SESSION_END_TAG,
            SESSION_START_TAG,
            RunEnd,
            Status,
        )

        tags = (RUN_START_TAG, RUN_END_TAG, SESSION_START_TAG, SESSION_END_TAG)
        runs_with: dict[str, set[str]] = {tag: set() for tag in tags}
        for shared in self._overview.tags():
            if shared.tag in runs_with:
                runs_with[shared.tag].update(shared.runs)

        def read(tag: str) -> Mapping[str, bytes]:
            return self._source.plugin_data(tag) if runs_with[tag] else {}

        ends = {
            run: RunEnd(end.status == Status.FAILURE, "", end.wall_time)
            for run, end in _parse_all(read(SESSION_END_TAG), self._session_ends).items()
            if end.status not in (Status.UNKNOWN, Status.RUNNING)
        }
        ends |= _parse_all(read(RUN_END_TAG), self._ends)
        started = runs_with[RUN_START_TAG] | runs_with[SESSION_START_TAG]
        recorded = started | ends.keys()
        owners = [_find_owner(run, recorded) for run in runs] if recorded else [None for _ in runs]
        has_start = np.array([owner in started for owner in owners], np.bool_)
        starts = read(RUN_START_TAG)
        self._starts.forget_all_but(starts)
        return RunRecords(owners, has_start, ends, starts, self._starts)


def _find_owner(run: str, recorded: Container[str]) -> str | None:
    if run in recorded:
        return run
    return next((name for name in iter_ancestors(run) if name in recorded), None)


def _parse_all(contents: Mapping[str, bytes], parser: RecordParser[T]) -> dict[str, T]:
    parsed = ((run, parser.find(content)) for run, content in contents.items())
    records = {run: record for run, record in parsed if record is not None}
    parser.forget_all_but(contents)
    return records


@dataclass(eq=False)
class StateTracker:
    """Computes the states of all runs of one version of the log at any time."""

    rows: Sequence[RunRow]
    records: RunRecords
    _namespace: str = field(default_factory=get_pid_namespace)

    def __post_init__(self) -> None:
        own_last = np.array([_to_float(row.last_wall) for row in self.rows], np.float64)
        self.last = self._share_last(own_last)
        """When each run, or another run with the same records, last logged something."""
        ends = self.records.list_ends()
        ended = np.array([math.nan if end is None else end.wall_time for end in ends], np.float64)
        ended = np.where(ended > 0, ended, self.last)
        is_resumed = self.last > ended + _END_TOLERANCE_S
        has_ended = np.array([end is not None for end in ends], np.bool_)
        self.end = np.where(has_ended & ~is_resumed, ended, np.nan)
        """When each run ended; NaN without a valid record."""
        self._has_failed = np.array([end is not None and end.failed for end in ends], np.bool_)
        # Only processes that this one could see are checked; dead ones once.
        is_open = (self.records.has_start & np.isnan(self.end)).tolist()
        pairs = zip(self.records.owners, is_open, strict=True)
        starts = {
            owner: self.records.find_start(owner) if self._namespace else None
            for owner in dict.fromkeys(owner for owner, has_no_end in pairs if has_no_end)
        }
        self._processes = {
            owner: start
            for owner, start in starts.items()
            if start is not None and start.pid > 0 and start.pid_namespace == self._namespace
        }
        self._dead: set[str | None] = set()

    def compute(self, now: float) -> NDArray[np.uint8]:
        """Return the `RunState` of each run."""
        age = now - self.last
        has_end = ~np.isnan(self.end)
        states = np.full(len(self.rows), RunState.INACTIVE, np.uint8)
        states[self.records.has_start] = RunState.STALLED
        states[self.records.has_start & (age > MAX_STALLED_AGE_S)] = RunState.CRASHED
        states[age < MAX_RUNNING_AGE_S] = RunState.RUNNING
        if self._processes:
            is_alive, is_dead = self._check_processes()
            states[is_dead] = RunState.CRASHED
            states[is_alive & (states == RunState.CRASHED)] = RunState.STALLED
        states[has_end] = RunState.FINISHED
        states[has_end & self._has_failed] = RunState.CRASHED
        return states

    def _check_processes(self) -> tuple[Bool, Bool]:
        unknown = self._processes.keys() - self._dead
        self._dead |= {
            owner
            for owner in unknown
            if not is_process_alive(self._processes[owner].pid, self._processes[owner].wall_time)
        }
        owners = self.records.owners
        is_dead = np.array([owner in self._dead for owner in owners], np.bool_)
        is_known = np.array([owner in self._processes for owner in owners], np.bool_)
        return is_known & ~is_dead, is_dead

    def _share_last(self, last: Float64) -> Float64:
        owners = self.records.owners
        latest: dict[str, float] = {}
        for owner, value in zip(owners, last.tolist(), strict=True):
            if owner is not None and value > latest.get(owner, -math.inf):
                latest[owner] = value
        if not latest:
            return last
        shared = [
            value if owner is None else latest.get(owner, value)
            for owner, value in zip(owners, last.tolist(), strict=True)
        ]
        return np.array(shared, np.float64)


def _to_float(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
