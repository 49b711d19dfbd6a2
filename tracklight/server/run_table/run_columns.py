"""Columns of runs that are read from the log: hyperparameters, and metrics as one number each."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from tracklight.analysis.source import Empty
from tracklight.errors import UsageError
from tracklight.formats.hparams import SESSION_START_TAG, HParamValue
from tracklight.logdir.names import natural_key
from tracklight.plugin import Route
from tracklight.server.source import LogOverview, LogSource, RunRow, VersionedCache
from tracklight.types import SeriesSummary
from tracklight.util.json_number import JsonNumber, to_json_number
from tracklight.util.lru_cache import LruCache

_MAX_EXAMPLE_VALUES = 20
#: Each metric takes about 2 MB for 10,000 runs.
_MAX_CACHED_METRICS = 32

#: The last, lowest and highest value of a metric in one run, and its last step.
MetricValues = tuple[float | None, float | None, float | None, float | None]
HParams = Mapping[str, HParamValue]
Cell = bool | JsonNumber | None

#: The prefixes of column keys, in the order of `MetricValues`.
METRIC_FIELDS = ("last", "min", "max", "step")
_NO_VALUES: MetricValues = (None, None, None, None)
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
    """The available columns; ``metrics`` are the tags of scalars."""

    hparams: list[HParamColumn]
    metrics: list[str]


class ColumnsRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Columns by key: ``hparam:lr``, ``last:loss``, ``min:loss``, ``max:acc``, ``step:loss``."""

    columns: Annotated[list[str], msgspec.Meta(max_length=100)]


class ColumnsResponse(msgspec.Struct):
    """One value per run for each column, in the order of ``runs``; null if a run has none."""

    runs: list[str]
    columns: dict[str, list[Cell]]


class RunColumnsApi:
    """The routes ``runs/columns``.

    Attributes:
        hparams: The hyperparameters of all runs.
        metrics: The metrics of all runs.
    """

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._overview = overview
        self.hparams = RunHParams(source, overview)
        self.metrics = RunMetrics(source, overview)
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
        runs = list(self._overview.runs())
        return ColumnsResponse(runs, {key: self._read_column(key, runs) for key in request.columns})

    def _build_list(self) -> ColumnListResponse:
        columns: dict[str, list[HParamValue]] = {}
        for hparams in self.hparams.read().values():
            for name, value in hparams.items():
                columns.setdefault(name, []).append(value)
        names = sorted(columns, key=natural_key)
        tags = self._overview.scalar_tags()
        return ColumnListResponse(
            [describe_hparam(name, columns[name]) for name in names], sorted(tags, key=natural_key)
        )

    def _read_column(self, key: str, runs: Sequence[str]) -> list[Cell]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            hparams = self.hparams.read()
            return [make_cell(hparams.get(run, _NO_HPARAMS).get(name)) for run in runs]
        if kind not in METRIC_FIELDS:
            raise UsageError(
                "runs.unknown_column",
                'there is no column "{key}"; use hparam:NAME, last:TAG, min:TAG or max:TAG',
                key=key,
            )
        values = self.metrics.read(name)
        index = METRIC_FIELDS.index(kind)
        return [make_cell(values.get(run, _NO_VALUES)[index]) for run in runs]


class RunHParams:
    """The hyperparameters of all runs, which inherit those of the sessions they belong to."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._cached = VersionedCache(source, self._read)

    def read(self) -> Mapping[str, HParams]:
        """Return the hyperparameters of all runs that have some."""
        return self._cached.get()

    def _read(self) -> Mapping[str, HParams]:
        if not (self._source.settings() or self._source.plugin_data(SESSION_START_TAG)):
            return {}
        # Most logs have no hyperparameters, so this is loaded only when needed.
        from tracklight.analysis.experiments.sessions import get_session_reader, inherit_hparams

        sessions = get_session_reader(self._source).read().sessions
        own = {session.name: session.hparams for session in sessions if session.hparams}
        return inherit_hparams(own, self._overview.runs()) if own else {}


class RunMetrics:
    """The last, lowest and highest values of metrics, computed again only for grown runs."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._lock = threading.Lock()
        self._cache: LruCache[str, dict[str, tuple[RunRow, MetricValues]]] = LruCache(
            max_items=_MAX_CACHED_METRICS
        )

    def read(self, tag: str) -> dict[str, MetricValues]:
        """Return the values of the scalar ``tag`` in all runs that have it."""
        with self._lock:
            cached = self._refresh(tag)
            self._cache.put(tag, cached)
        return {run: values for run, (_, values) in cached.items()}

    def _refresh(self, tag: str) -> dict[str, tuple[RunRow, MetricValues]]:
        rows = self._overview.runs()
        before = self._cache.find(tag) or {}
        runs = [run for run in self._overview.runs_with_scalar(tag) if run in rows]
        # The row of a run has its bytes and points: if it is the same, so are the values.
        grown = [
            run
            for run in runs
            if run not in before
            or (before[run][0] is not rows[run] and before[run][0] != rows[run])
        ]
        summaries = self._source.summaries([(run, tag) for run in grown])
        updated = {
            run: (rows[run], get_metric_values(summary))
            for run, summary in zip(grown, summaries, strict=True)
            if summary is not None
        }
        cached = before | updated
        return {run: cached[run] for run in runs if run in cached}


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


def get_metric_values(summary: SeriesSummary) -> MetricValues:
    """Return the numbers that the table shows of a series."""
    points = (summary.last, summary.min, summary.max)
    last, low, high = (None if point is None else point.value for point in points)
    return last, low, high, None if summary.last is None else float(summary.last.step)


def make_cell(value: HParamValue | None) -> Cell:
    return to_json_number(value) if isinstance(value, float) else value
