"""Derived metrics: expressions over scalar tags such as ``train/loss - validation/loss``.

`DerivedLog` wraps a log and adds its derived metrics to its scalar tags, so that curves, columns,
filters and alerts all read them like logged ones. They are listed with the tags of the runs that
have all of their inputs, and are computed from all points when they are queried. `expression`
parses and evaluates one expression on points; nothing of it is executed as Python. May import
`tracklight.index` and what lies below.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from tracklight.analysis.source import ResultT, Source, reduce_here
from tracklight.errors import ExpressionError, Message, UsageError
from tracklight.index.aggregation import CurveReduction
from tracklight.index.series_query import Curve, SeriesQuery, View, apply
from tracklight.index.tags import merge_shared_tags, summarize
from tracklight.types import (
    Kind,
    Point,
    Series,
    SeriesSummary,
    SharedTag,
    Stamp,
    SummaryColumns,
    TagInfo,
)
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    from tracklight.analysis.derived_metrics.expression import Expression, Points, TagReference


SeriesKey = tuple[str, str]

#: Derived series that are kept until the log changes.
_CACHE_BYTES = 64 << 20
#: Series that are computed at once.
_MAX_BATCH_SERIES = 500


class DerivedMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named expression over scalar tags; the name is shown like a tag."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    expression: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]


class DerivedLog:
    """A log (see `Source`) that also has the derived metrics that users defined.

    Everything that is not about scalars is that of the wrapped log. A logged tag hides a derived
    metric of the same name in the runs that have it.

    Args:
        source: The log.
        read_metrics: Returns the current definitions. It is called often and must be fast.
    """

    def __init__(
        self, source: Source, read_metrics: Callable[[], tuple[DerivedMetric, ...]]
    ) -> None:
        self._source = source
        self._read_metrics = read_metrics
        self._lock = threading.Lock()
        self._metrics = read_metrics()
        self._expressions = dict(_iter_expanded(self._metrics))
        self._changes = 0
        self._cached = LruCache[tuple[str, str, Hashable], Series](max_bytes=_CACHE_BYTES)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    @property
    def version(self) -> int:
        """A number that grows with every change of the log or of the derived metrics."""
        self._get_expressions()
        return self._source.version + self._changes

    def check(self, metric: DerivedMetric) -> None:
        """Check that a metric can be added.

        Raises:
            ExpressionError: Its expression is not valid, names a tag that no run has, or uses the
                metric itself.
            UsageError: A logged scalar has its name.
        """
        from tracklight.analysis.derived_metrics.expression import expand, parse_expression

        expression = parse_expression(metric.expression)
        runs = [run.name for run in self._source.runs()]
        tags = {
            shared_tag.tag
            for shared_tag in self._source.shared_tags(runs)
            if shared_tag.kind is Kind.SCALAR
        }
        if metric.name in tags:
            raise UsageError(
                "derived.name_is_tag",
                'the log has a scalar "{name}": choose another name',
                name=metric.name,
            )
        known_runs = frozenset(runs)
        definitions = {**_parse_valid(self._read_metrics()), metric.name: expression}
        expand(expression, definitions)
        names = tags | definitions.keys()
        for reference in expression.references:
            if reference.tag not in names:
                message = _describe_unknown_tag(reference, names)
            elif reference.run is not None and reference.run not in known_runs:
                message = Message.format(
                    "derived.unknown_run", "There is no run “{run}”", run=reference.run
                )
            else:
                continue
            raise ExpressionError(message, reference.offset, expression.text)

    def find_state(self, tag: str) -> Hashable | None:
        """Return what the values of a derived metric depend on besides the points of the run."""
        expression = self._get_expressions().get(tag)
        if expression is None:
            return None
        keys = [
            (reference.run, reference.tag)
            for reference in expression.references
            if reference.run is not None
        ]
        return expression, *(self._source.last_points(keys) if keys else ())

    # ---- the methods of `Source` that are about scalars

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        logged = self._source.tags(run)
        expressions = self._get_expressions()
        if not expressions:
            return logged
        scalars = {info.tag for info in logged if info.kind is Kind.SCALAR}
        derived = self._compute([(run, name) for name in expressions if name not in scalars])
        infos = [_make_tag_info(item, expressions[item.tag].text) for item in derived.values()]
        return (*logged, *infos)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        logged = self._source.shared_tags(runs)
        expressions = self._get_expressions()
        if not expressions:
            return logged
        by_tag = {item.tag: item for item in logged if item.kind is Kind.SCALAR}
        baselines = self._list_baselines(expressions.values())
        derived = [
            shared
            for name, expression in expressions.items()
            if name not in by_tag
            and (shared := _share(name, expression, by_tag, baselines)) is not None
        ]
        return merge_shared_tags([*logged, *derived], runs) if derived else logged

    def scalar(self, run: str, tag: str) -> Series:
        found = self._compute(self._list_derived([(run, tag)]))
        return found[run, tag] if found else self._source.scalar(run, tag)

    def query(
        self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[ResultT]
    ) -> list[ResultT]:
        derived = self._list_derived(keys)
        is_derived_axis = query.metric in self._get_expressions()
        if not derived and not is_derived_axis:
            return self._source.query(keys, query, view)
        # With a derived metric on the x axis, logged series are read here as well.
        local = frozenset(keys if is_derived_axis else derived)
        others = [key for key in keys if key not in local]
        results = dict(zip(others, self._source.query(others, query, view), strict=True))
        axes = self._read_axes({run for run, _ in local}, query.metric)
        for start in range(0, len(derived), _MAX_BATCH_SERIES):
            for key, series in self._compute(derived[start : start + _MAX_BATCH_SERIES]).items():
                results[key] = apply(series, query, view, axes.get(key[0]))
        for run, tag in local.difference(results):
            results[run, tag] = apply(self.scalar(run, tag), query, view, axes.get(run))
        return [results[key] for key in keys]

    def reduce(
        self, keys: Sequence[SeriesKey], query: SeriesQuery, reduction: CurveReduction[ResultT]
    ) -> ResultT:
        if not self._list_derived(keys) and query.metric not in self._get_expressions():
            return self._source.reduce(keys, query, reduction)
        return reduce_here(self, keys, query, reduction)

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        found = list(self._source.summaries(keys))
        derived = self._compute_missing(keys, found)
        return [
            summarize(derived[key]) if key in derived else item
            for key, item in zip(keys, found, strict=True)
        ]

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        found = list(self._source.last_points(keys))
        derived = self._compute_missing(keys, found)
        return [
            item if key not in derived else derived[key][-1] if len(derived[key]) else None
            for key, item in zip(keys, found, strict=True)
        ]

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        columns = self._source.summary_columns(runs, tag)
        if tag not in self._get_expressions():
            return columns
        missing = np.flatnonzero(~columns.is_present).tolist()
        rows = {runs[row]: row for row in missing}
        for start in range(0, len(missing), _MAX_BATCH_SERIES):
            keys = [(runs[row], tag) for row in missing[start : start + _MAX_BATCH_SERIES]]
            for series in self._compute(keys).values():
                _set_row(columns, rows[series.run], summarize(series))
        return columns

    # ---- internals

    def _get_expressions(self) -> Mapping[str, Expression]:
        """Return the valid expressions by name, parsed again after a change."""
        metrics = self._read_metrics()
        with self._lock:
            if metrics != self._metrics:
                self._expressions = dict(_iter_expanded(metrics))
                self._metrics = metrics
                self._changes += 1
            return self._expressions

    def _list_derived(self, keys: Sequence[SeriesKey]) -> list[SeriesKey]:
        """Return the series that are not logged and for which there is a derived metric."""
        expressions = self._get_expressions()
        candidates = [key for key in keys if key[1] in expressions]
        logged = self._source.last_points(candidates) if candidates else ()
        return [key for key, point in zip(candidates, logged, strict=True) if point is None]

    def _compute_missing(
        self, keys: Sequence[SeriesKey], found: Sequence[object | None]
    ) -> dict[SeriesKey, Series]:
        expressions = self._get_expressions()
        pairs = zip(keys, found, strict=True)
        return self._compute([key for key, item in pairs if item is None and key[1] in expressions])

    def _list_baselines(self, expressions: Iterable[Expression]) -> frozenset[SeriesKey]:
        """Return the series of other runs that expressions refer to and that exist."""
        keys = [
            (reference.run, reference.tag)
            for expression in expressions
            for reference in expression.references
            if reference.run is not None
        ]
        found = self._source.last_points(keys) if keys else ()
        return frozenset(key for key, point in zip(keys, found, strict=True) if point is not None)

    def _read_axes(self, runs: Iterable[str], metric: str | None) -> dict[str, Series]:
        """Return the series on the x axis by run, empty for runs that do not have it."""
        if metric is None:
            return {}
        names = list(runs)
        points = self.last_points([(run, metric) for run in names])
        return {
            run: _make_empty_series(run, metric) if point is None else self.scalar(run, metric)
            for run, point in zip(names, points, strict=True)
        }

    def _compute(self, keys: Sequence[SeriesKey]) -> dict[SeriesKey, Series]:
        """Return derived series; those of runs without all of the inputs are left out."""
        expressions = self._get_expressions()
        state = self.version, getattr(self._source, "progress", None)
        results = {}
        pending = []
        for key in keys:
            series = self._cached.find((*key, state))
            if series is not None:
                results[key] = series
            elif key[1] in expressions:
                pending.append((key, expressions[key[1]]))
        inputs = self._read_inputs(
            [
                (reference.run or run, reference.tag)
                for (run, _), item in pending
                for reference in item.references
            ]
        )
        for key, expression in pending:
            run, name = key
            origins = {
                (reference.run, reference.tag): (reference.run or run, reference.tag)
                for reference in expression.references
            }
            if all(origin in inputs for origin in origins.values()):
                from tracklight.analysis.derived_metrics.expression import evaluate

                points = evaluate(expression, {item: inputs[at] for item, at in origins.items()})
                series = results[key] = _make_series(run, name, points)
                self._cached.put((*key, state), series, 32 * len(series) + 500)
        return results

    def _read_inputs(self, keys: Sequence[SeriesKey]) -> dict[SeriesKey, Points]:
        """Return the points of the series that exist, without overwritten ones."""
        distinct = list(dict.fromkeys(keys))
        last = self._source.last_points(distinct)
        present = [key for key, point in zip(distinct, last, strict=True) if point is not None]
        points = self._source.query(present, SeriesQuery(), _collect_points) if present else []
        return dict(zip(present, points, strict=True))


def _collect_points(curve: Curve) -> Points:
    from tracklight.analysis.derived_metrics.expression import make_points

    return make_points(curve.step, curve.wall_time, curve.value)


def _parse_valid(metrics: Iterable[DerivedMetric]) -> dict[str, Expression]:
    """Return the expressions that are valid; another version may have stored others."""
    from tracklight.analysis.derived_metrics.expression import parse_expression

    expressions = {}
    for metric in metrics:
        with suppress(ExpressionError):
            expressions[metric.name] = parse_expression(metric.expression)
    return expressions


def _iter_expanded(metrics: Sequence[DerivedMetric]) -> Iterator[tuple[str, Expression]]:
    """Yield the valid expressions, with the metrics that they use replaced by their inputs."""
    if not metrics:
        return
    from tracklight.analysis.derived_metrics.expression import expand

    definitions = _parse_valid(metrics)
    for name, expression in definitions.items():
        with suppress(ExpressionError):
            yield name, expand(expression, definitions)


def _make_empty_series(run: str, tag: str) -> Series:
    empty = np.empty(0)
    return Series(run, tag, np.empty(0, np.int64), empty, empty, np.empty(0, np.bool_))


def _make_series(run: str, tag: str, points: Points) -> Series:
    is_overwritten = np.zeros(len(points), np.bool_)
    return Series(run, tag, points.step, points.wall_time, points.value, is_overwritten)


def _make_tag_info(series: Series, expression: str) -> TagInfo:
    first, last = (
        [Stamp(item.step, item.wall_time) for item in (series[0], series[-1])]
        if len(series)
        else (None, None)
    )
    return TagInfo(
        series.tag, "scalars", Kind.SCALAR, len(series), 0, first, last, "", f"`{expression}`"
    )


def _share(
    name: str,
    expression: Expression,
    logged: Mapping[str, SharedTag],
    baselines: frozenset[SeriesKey],
) -> SharedTag | None:
    """Return the tag of a metric with the runs that have its inputs; None if there are none.

    Joining all series of all runs would take too long for a list, so the number of points is the
    lowest of the inputs, which is the highest that the metric can have.
    """
    inputs = []
    for reference in expression.references:
        if reference.run is not None:
            if (reference.run, reference.tag) not in baselines:
                return None
        elif reference.tag not in logged:
            return None
        else:
            inputs.append(logged[reference.tag])
    if not inputs:
        return None
    others = [frozenset(item.runs) for item in inputs[1:]]
    runs = tuple(run for run in inputs[0].runs if all(run in other for other in others))
    if not runs:
        return None
    fewest = min(inputs, key=lambda item: item.count)
    return SharedTag(
        name, "scalars", Kind.SCALAR, runs, fewest.count - fewest.overwritten, 0,
        fewest.first, fewest.last, "", f"`{expression.text}`",
    )  # fmt: skip


def _set_row(columns: SummaryColumns, row: int, summary: SeriesSummary) -> None:
    if summary.last is not None:
        columns.is_present[row] = True
        columns.last[row], columns.step[row] = summary.last.value, summary.last.step
    if summary.min is not None and summary.max is not None:
        columns.low[row], columns.high[row] = summary.min.value, summary.max.value


def _describe_unknown_tag(reference: TagReference, tags: Iterable[str]) -> Message:
    name = reference.tag
    left = name.rpartition("/")[0]
    if left in tags:
        return Message.format(
            "derived.divide_with_spaces",
            "No run has a metric “{name}”; put spaces around “/” to divide",
            name=name,
        )
    similar = difflib.get_close_matches(name, list(tags), 1)
    if similar:
        return Message.format(
            "filter.unknown_metric_similar",
            "No run has a metric “{name}”; did you mean “{similar}”?",
            name=name,
            similar=similar[0],
        )
    return Message.format("filter.unknown_metric", "No run has a metric “{name}”", name=name)
