"""Filter, sort, sample and count the rows of the sessions table, for logs with very many trials.

The page does the same with all rows if there are few (`web/src/dashboards/hparams/model`), so a
column has the same values here as there: `TrialTable` converts the cells of a `SessionTable`, and
`TrialRows` has the rows that match a `TrialQuery`.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.columns import (
    CellState,
    HParamColumn,
    Metric,
    format_number,
    get_finite_range,
)
from tracklight.analysis.media.time_limits import match_lines
from tracklight.dashboards.hparams.responses import (
    MAX_METRICS,
    MetricColumn,
    SessionTable,
    make_table_response,
)
from tracklight.dashboards.hparams.schemas import (
    Facet,
    FacetRequest,
    FacetsRequest,
    FacetsResponse,
    TrialFilter,
    TrialQuery,
    TrialsRequest,
    TrialsResponse,
)
from tracklight.formats.hparams import Status
from tracklight.logdir import natural_key
from tracklight.plugin import Context
from tracklight.types import Bool, Float64, Int64

#: Columns whose cells are sent without being requested.
_DEFAULT_HPARAMS = 20
_DEFAULT_METRICS = 5
#: Categories of a facet.
_MAX_CATEGORIES = 100
#: A trial without an end counts as running if it logged something in this time.
_MAX_RUNNING_SILENCE_S = 300
#: Value of ``SessionRows.source`` for trials of study files, which have no runs.
_STUDY_FILE = 2

_LINE_BREAKS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_VALIDATION = re.compile("val|test|eval", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class TrialColumn:
    """A column whose rows can be compared as numbers."""

    values: Float64
    """The number, or the index into ``categories``; NaN if there is neither."""
    categories: list[str] | None
    """In natural order; None if the values are numbers."""
    is_blank: Bool
    """Which rows have no value, or a text in a column of numbers."""


class TrialTable:
    """The columns of a `SessionTable`, converted when they are first used. It never changes."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self._columns: dict[str, TrialColumn | None] = {}
        self._metrics: dict[str, MetricColumn] = {}

    def __len__(self) -> int:
        return len(self.table.names)

    def find_column(self, key: str) -> TrialColumn | None:
        """Return a column by its key; None if there is none."""
        if key == "status":  # depends on the time
            return self._make_status()
        if key not in self._columns:
            self._columns[key] = self._make_column(key)
        return self._columns[key]

    def read_metrics(self, metrics: Sequence[Metric]) -> list[MetricColumn]:
        """Return the values of some metrics."""
        missing = [metric for metric in metrics if metric.key not in self._metrics]
        for column in self.table.read(missing) if missing else ():
            self._metrics[column.metric.key] = column
        return [self._metrics[metric.key] for metric in metrics]

    def find_objective(self, query: TrialQuery) -> tuple[Metric, bool] | None:
        """Return the metric that rows are ranked by and whether it is minimized.

        It is None if there are no metrics, or if the rows are of several studies.
        """
        snapshot = self.table.snapshot
        if not snapshot.metrics or (query.study is None and len(snapshot.studies) > 1):
            return None
        metric = snapshot.find_metric(query.objective or "") or _get_default_metric(
            snapshot.metrics
        )
        return metric, (query.goal or metric.goal) == "min"

    def _make_column(self, key: str) -> TrialColumn | None:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            columns = self.table.get_hparam_columns()
            column = next((column for column in columns if column.name == name), None)
            return None if column is None else _convert(column, self.table.first_sessions)
        if kind == "metric":
            metric = self.table.snapshot.find_metric(name)
            return None if metric is None else self._make_metric(metric)
        if key == "name":
            return _make_texts(self.table.get_labels())
        if key == "study":
            sessions = self.table.sessions
            return _make_texts([sessions[at].study for at in self.table.first_sessions.tolist()])
        start, end, last = self.table.get_times()
        if key == "start":
            return TrialColumn(start, None, np.isnan(start))
        if key == "duration":
            duration = np.where(np.isnan(end), last, end) - start
            return TrialColumn(duration, None, np.isnan(duration))
        return None

    def _make_metric(self, metric: Metric) -> TrialColumn:
        (column,) = self.read_metrics([metric])
        is_blank = np.isnan(column.steps)
        return TrialColumn(np.where(is_blank, np.nan, column.values), None, is_blank)

    def _make_status(self) -> TrialColumn:
        status = np.array(self.table.get_statuses(), np.float64)
        last = self.table.get_times()[2]
        is_running = (status == Status.UNKNOWN) & (time.time() - last < _MAX_RUNNING_SILENCE_S)
        status[is_running] = Status.RUNNING
        names = [item.name.lower() for item in Status]
        return TrialColumn(status, names, np.zeros(len(status), np.bool_))


def _get_default_metric(metrics: Sequence[Metric]) -> Metric:
    """Return the metric that the page shows first."""
    declared = next((metric for metric in metrics if metric.is_declared), None)
    validation = (item for item in metrics if _VALIDATION.search(f"{item.group} {item.label}"))
    return declared or next(validation, metrics[0])


def _convert(column: HParamColumn, sessions: Int64) -> TrialColumn:
    values = column.values[sessions]
    if column.states is None:
        return TrialColumn(values, None, np.zeros(len(values), np.bool_))
    states = column.states[sessions]
    is_number = states == CellState.NUMBER
    if column.type == "number" or (column.type == "mixed" and column.is_mostly_numbers):
        return TrialColumn(np.where(is_number, values, np.nan), None, ~is_number)
    if column.type == "string":
        is_missing = states == CellState.MISSING
        return TrialColumn(np.where(is_missing, np.nan, values), column.categories, is_missing)
    cells = zip(values.tolist(), states.tolist(), strict=True)
    return _make_texts([_format_cell(value, state, column.categories) for value, state in cells])


def _format_cell(value: float, state: int, words: Sequence[str]) -> str | None:
    if state == CellState.MISSING:
        return None
    if state == CellState.TEXT:
        return words[int(value)]
    return ("true" if value else "false") if state == CellState.BOOL else format_number(value)


def _make_texts(texts: Sequence[str | None]) -> TrialColumn:
    categories = sorted({text for text in texts if text is not None}, key=natural_key)
    index_of: dict[str | None, float] = {text: at for at, text in enumerate(categories)}
    values = np.array([index_of.get(text, math.nan) for text in texts], np.float64)
    return TrialColumn(values, categories, np.isnan(values))


@dataclass(frozen=True, eq=False)
class TrialRows:
    """The rows that match a query, and their order."""

    trials: TrialTable
    query: TrialQuery
    context: Context

    @cached_property
    def mask(self) -> Bool:
        """Which rows match.

        Raises:
            UsageError: A regular expression or the query of runs is not valid.
        """
        mask = np.ones(len(self.trials), np.bool_)
        if self.query.runs is not None and self.context.select_runs is not None:
            mask &= self._match_runs(frozenset(self.context.select_runs(self.query.runs)))
        for condition in self.query.filters:
            column = self.trials.find_column(condition.key)
            if column is not None:
                mask &= _match(column, condition)
        return mask

    @cached_property
    def ordered(self) -> Int64:
        """The matching rows, sorted. Rows without a value come last in both directions.

        By default, the best come first, and those that cannot be the best come last.
        """
        rows = np.flatnonzero(self.mask)
        keys: list[NDArray[np.float64 | np.bool_]] = []
        if self._sort and not self.query.sort:
            keys.append(~self.trials.table.is_rankable[rows])
        for text in self._sort:
            column = self.trials.find_column(text.removeprefix("-"))
            if column is not None:
                values = column.values[rows]
                keys += [np.isnan(values), -values if text.startswith("-") else values]
        ordered: Int64 = rows[np.lexsort(keys[::-1])] if keys else rows
        return ordered

    @cached_property
    def objective(self) -> tuple[Metric, bool] | None:
        return self.trials.find_objective(self.query)

    def find_best(self) -> int | None:
        """Return the best of the matching rows; None if there is no objective or no value."""
        if self.objective is None:
            return None
        metric, is_minimized = self.objective
        column = self.trials.find_column(f"metric:{metric.key}")
        values = np.full(0, np.nan) if column is None else column.values
        rows = np.flatnonzero(self.mask & self.trials.table.is_rankable & np.isfinite(values))
        if not len(rows):
            return None
        choose = np.argmin if is_minimized else np.argmax
        return int(rows[choose(values[rows])])

    def sample(self, count: int, is_matching: bool) -> Int64:
        """Return a random sample of the rows that match, or of those that do not, in their order.

        The order in which rows are taken depends only on their numbers, so that a sample changes
        little when rows are added or a filter changes.
        """
        rows = np.flatnonzero(self.mask if is_matching else ~self.mask)
        if len(rows) <= count:
            return rows
        return np.sort(rows[np.argpartition(_hash(rows), count)[:count]]) if count else rows[:0]

    @cached_property
    def _sort(self) -> Sequence[str]:
        if self.query.sort or self.objective is None:
            return self.query.sort
        metric, is_minimized = self.objective
        return [f"{'' if is_minimized else '-'}metric:{metric.key}"]

    def _match_runs(self, names: frozenset[str]) -> Bool:
        table = self.trials.table
        mask = np.array(
            [item.source == _STUDY_FILE or item.name in names for item in table.sessions], np.bool_
        )
        if table.aggregation is None:
            return mask
        of_group = np.zeros(len(self.trials), np.bool_)
        np.logical_or.at(of_group, table.groups.group_of, mask)
        return of_group


def _hash(rows: Int64) -> NDArray[np.uint64]:
    """Return a number for each row that looks random (the finalizer of SplitMix64)."""
    bits = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = bits ^ (bits >> np.uint64(31))
    return mixed


def _match(column: TrialColumn, condition: TrialFilter) -> Bool:
    mask = np.ones(len(column.values), np.bool_)
    if condition.range is not None:
        low, high = condition.range
        mask &= (column.values >= low) & (column.values <= high)
    if condition.values is not None:
        mask &= np.isin(column.values, _encode(column, condition.values))
    if condition.pattern:
        mask &= _match_pattern(column, condition.pattern)
    return np.where(column.is_blank, condition.blank, mask)


def _encode(column: TrialColumn, texts: Iterable[str]) -> Float64:
    if column.categories is not None:
        index_of = {text: at for at, text in enumerate(column.categories)}
        return np.array([index_of[text] for text in texts if text in index_of], np.float64)
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text))
        except ValueError:
            continue
    return np.array(numbers, np.float64)


def _match_pattern(column: TrialColumn, pattern: str) -> Bool:
    """Match each distinct value once."""
    if column.categories is None:
        distinct, inverse = np.unique(column.values, return_inverse=True)
        return _match_texts([format_number(value) for value in distinct.tolist()], pattern)[inverse]
    matches = np.append(_match_texts(column.categories, pattern), False)
    return matches[np.where(np.isnan(column.values), -1, column.values).astype(np.int64)]


def _match_texts(texts: Sequence[str], pattern: str) -> Bool:
    lines = "\n".join(_LINE_BREAKS.sub(" ", text) for text in texts)
    return match_lines(pattern, lines, len(texts)) if texts else np.zeros(0, np.bool_)


def make_trials_response(rows: TrialRows, request: TrialsRequest) -> TrialsResponse:
    """Return a page and a sample of the rows."""
    trials, table = rows.trials, rows.trials.table
    page = rows.ordered[request.offset : request.offset + request.limit]
    sample = rows.sample(request.sample, is_matching=True)
    others = rows.sample(request.others, is_matching=False)
    best = rows.find_best()
    sent = np.unique(np.concatenate([page, sample, others, [] if best is None else [best]]))
    keys = {*request.columns, *(text.removeprefix("-") for text in request.sort)}
    keys |= {condition.key for condition in request.filters}
    hparams = table.get_hparam_columns()
    default = [column for column in hparams if column.differs] or hparams
    keys |= {f"hparam:{column.name}" for column in default[:_DEFAULT_HPARAMS]}
    keys |= {f"metric:{metric.key}" for metric in table.snapshot.metrics[:_DEFAULT_METRICS]}
    if table.snapshot.metrics:
        objective = table.snapshot.find_metric(request.objective or "")
        keys.add(f"metric:{(objective or _get_default_metric(table.snapshot.metrics)).key}")
    listed = [
        metric
        for at, metric in enumerate(table.snapshot.metrics)
        if at < MAX_METRICS or f"metric:{metric.key}" in keys
    ]
    read = trials.read_metrics([item for item in listed if f"metric:{item.key}" in keys])
    return TrialsResponse(
        table=make_table_response(table, sent.astype(np.int64), keys, listed, read),
        total=len(trials),
        matched=int(np.count_nonzero(rows.mask)),
        page=page.astype(np.int32),
        sample=sample.astype(np.int32),
        others=others.astype(np.int32),
        best=best,
    )


def make_facets_response(rows: TrialRows, request: FacetsRequest) -> FacetsResponse:
    """Return the distributions of the requested columns."""
    columns = [(item, rows.trials.find_column(item.key)) for item in request.columns]
    return FacetsResponse(
        total=len(rows.trials),
        matched=int(np.count_nonzero(rows.mask)),
        facets=[
            _make_category_facet(item.key, column, rows.mask)
            if column.categories is not None
            else _make_number_facet(item, column, rows.mask, request.bins)
            for item, column in columns
            if column is not None
        ],
    )


def _make_category_facet(key: str, column: TrialColumn, mask: Bool) -> Facet:
    categories = column.categories or []
    used = ~np.isnan(column.values)
    codes = column.values[used].astype(np.int64)
    counts = np.bincount(codes, minlength=len(categories))
    matching = np.bincount(codes[mask[used]], minlength=len(categories))
    chosen = np.arange(len(categories))
    if len(chosen) > _MAX_CATEGORIES:
        chosen = np.sort(np.argsort(-counts, kind="stable")[:_MAX_CATEGORIES])
    return Facet(
        key=key,
        low=None,
        high=None,
        categories=[categories[at] for at in chosen.tolist()],
        counts=counts[chosen].astype(np.int32),
        matching=matching[chosen].astype(np.int32),
        blank=int(np.count_nonzero(column.is_blank)),
    )


def _make_number_facet(item: FacetRequest, column: TrialColumn, mask: Bool, bins: int) -> Facet:
    is_finite = np.isfinite(column.values)
    values = column.values[is_finite]
    low, high = get_finite_range(values)
    at = _assign_bins(item, values, bins)
    return Facet(
        key=item.key,
        low=low,
        high=high,
        categories=None,
        counts=np.bincount(at, minlength=bins).astype(np.int32),
        matching=np.bincount(at[mask[is_finite]], minlength=bins).astype(np.int32),
        blank=int(np.count_nonzero(column.is_blank)),
    )


def _assign_bins(item: FacetRequest, values: Float64, bins: int) -> Int64:
    """Return the bin of each value, as on the axes of the page."""
    if not len(values):
        return np.zeros(0, np.int64)
    if item.scale == "quantile":
        ordered = np.sort(values)
        first, after = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        positions = (first + after - 1) / 2 / max(1, len(values) - 1)
    else:
        is_log = item.scale == "log" and values.min() > 0
        scaled = np.log(values) if is_log else values
        span = scaled.max() - scaled.min()
        positions = (scaled - scaled.min()) / span if span > 0 else np.full(len(values), 0.5)
    return np.clip(np.floor(positions * bins), 0, bins - 1).astype(np.int64)
