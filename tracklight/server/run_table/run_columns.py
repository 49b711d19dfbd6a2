"""Columns of runs that are read from the log: hyperparameters, and metrics as one number each."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.source import Empty
from tracklight.errors import UsageError
from tracklight.logdir import natural_key
from tracklight.logdir.discover import iter_ancestors
from tracklight.plugin import Route
from tracklight.server.source import LogOverview, LogSource, RunRow, VersionedCache
from tracklight.types import Bool, Float64, Kind, SummaryColumns
from tracklight.util.files import JsonNumber, to_json_number
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    # Imported on use: most servers show charts first.
    from tracklight.formats.hparams import HParamValue

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
