"""Compute the lines of charts, anew or from those of the previous request.

Charts of live logs are requested again and again, and few of their runs change in between. So
`LiveCharts` keeps each chart as a `ChartState`, computes only the lines of runs that have changed,
and leaves out the lines that the client has, according to the ``base`` of its request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from tracklight.dashboards.scalars.schemas import (
    ChartRequest,
    ChartRow,
    ChartsRequest,
    LineRow,
    make_line_row,
)
from tracklight.index.downsampling import (
    Extent,
    ExtentView,
    LineView,
    get_centers,
    make_edges,
    make_growing_edges,
    merge_extents,
)
from tracklight.index.series_query import SeriesQuery
from tracklight.index.shard import SeriesKey
from tracklight.plugin import Context, Source
from tracklight.util.files import hash_key
from tracklight.util.memory import LruCache

#: In charts with more lines, only the lines themselves are drawn.
_MAX_DETAILED_LINES = 100
#: Values of all lines of one chart. With more lines there are fewer pixel columns per line, down to
#: the minimum.
_MAX_LINE_CELLS = 380_000
_MIN_COLUMNS = 100
#: Points of all lines of one chart that may be sent without reduction.
_MAX_UNREDUCED_POINTS = 300_000
#: Charts with fewer points in total are not reduced.
_MIN_REDUCED_POINTS = 2000

#: Memory for the charts of live logs, and how long they are kept after the last request.
_MAX_STATE_BYTES = 64 << 20
_STATE_IDLE_S = 60.0
#: Memory of a line besides its columns, and of one of its points or cells.
_LINE_BYTES, _CELL_BYTES = 2000, 12

#: Between the cursor, the hash of the state of the log, and that of the layout.
_REVISION_SEPARATOR = "~"

Extents = Mapping[SeriesKey, Extent]


@dataclass(frozen=True)
class LineBuilder:
    """Compute the lines of one chart."""

    log: Source
    request: ChartsRequest
    chart: ChartRequest
    query: SeriesQuery

    def measure(self, keys: Sequence[SeriesKey]) -> dict[SeriesKey, Extent]:
        view = ExtentView(self.chart.start, self.chart.stop)
        extents = self.log.query(keys, replace(self.query, smoothing=None), view)
        return dict(zip(keys, extents, strict=True))

    def compute(self, keys: Sequence[SeriesKey], view: LineView) -> dict[SeriesKey, LineRow]:
        """Return the lines that have points."""
        lines = zip(keys, self.log.query(keys, self.query, view), strict=True)
        return {key: make_line_row(*key, line) for key, line in lines if line.points}

    def make_row(
        self, extents: Extents, view: LineView, lines: Mapping[SeriesKey, LineRow]
    ) -> ChartRow:
        """Return a chart of lines, in the order of the extents."""
        rows = [lines[key] for key in extents if key in lines]
        return ChartRow(
            self.chart.id,
            runs=len({run for run, _ in extents}),
            points=sum(extent.points for extent in extents.values()),
            reduced=any(extent.points > view.max_points for extent in extents.values()),
            grid=get_centers(view.edges) if any(line.x is None for line in rows) else None,
            lines=rows,
        )


def get_x_range(chart: ChartRequest, *ranges: tuple[float, float] | None) -> tuple[float, float]:
    """Return the visible range of x: the requested one, or that of all lines and bands."""
    given = [one for one in ranges if one is not None]
    low = min((one[0] for one in given), default=np.inf)
    high = max((one[1] for one in given), default=-np.inf)
    if low > high:
        low, high = 0.0, 1.0
    return (
        low if chart.start is None else chart.start,
        high if chart.stop is None else chart.stop,
    )


def plan_line_view(
    request: ChartsRequest,
    extents: Iterable[Extent],
    start: float,
    stop: float,
    *,
    can_grow: bool = False,
) -> LineView:
    """Choose the number of pixel columns of a chart, and which lines are sent without reduction.

    Args:
        request: The request.
        extents: The extents of all lines of the chart.
        start: The lowest visible x.
        stop: The highest visible x.
        can_grow: Whether to choose columns that stay in place when the lines get longer.
    """
    points = [extent.points for extent in extents]
    is_smoothed = request.smoothing is not None
    line_only = len(points) > _MAX_DETAILED_LINES
    values_per_column = 3 if not is_smoothed else 1 if line_only else 4
    cells_per_column = len(points) * values_per_column
    columns = min(request.width, max(_MAX_LINE_CELLS // cells_per_column, _MIN_COLUMNS))
    max_points = max(2 * columns, _MIN_REDUCED_POINTS // len(points))
    if sum(min(count, max_points) for count in points) > _MAX_UNREDUCED_POINTS:
        max_points = 0
    growing = make_growing_edges(start, stop, columns) if can_grow else None
    return LineView(
        edges=make_edges(start, stop, columns) if growing is None else growing,
        max_points=max_points,
        is_smoothed=is_smoothed,
        line_only=line_only,
        max_overwritten=2 * (columns + 1) if request.overwritten else 0,
        is_growing=growing is not None,
    )


# ---- charts of live logs


@dataclass(frozen=True)
class LogPosition:
    """The position in the stream of changes and the state of the log, before anything is read."""

    cursor: str
    state: str


@dataclass(frozen=True)
class ChartState:
    """A chart with what it was computed from."""

    position: LogPosition
    extents: dict[SeriesKey, Extent]
    view: LineView
    lines: dict[SeriesKey, LineRow]
    row: ChartRow

    def count_bytes(self) -> int:
        cells = sum(len(line.y) for line in self.row.lines)
        return _LINE_BYTES * len(self.extents) + _CELL_BYTES * cells


class LiveCharts:
    """Charts of lines, kept from one request to the next.

    Args:
        context: The context of the dashboard; charts are kept if it can tell what has changed.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cache = LruCache[str, ChartState](max_bytes=_MAX_STATE_BYTES, idle_s=_STATE_IDLE_S)

    def find_position(self, request: ChartsRequest) -> LogPosition | None:
        """Return the current position for the charts of a request; None if they are not kept.

        Lines that are compared with a baseline change with its run, and a band with all of its
        runs.
        """
        if request.groups is not None or request.baseline is not None:
            return None
        context = self._context
        if context.state is None or context.changed_runs is None:
            return None
        return LogPosition(context.cursor(), context.state())

    def draw(
        self, builder: LineBuilder, keys: Sequence[SeriesKey], position: LogPosition
    ) -> ChartRow:
        """Return a chart of at least one series, without the lines that the client has.

        Args:
            builder: Computes the lines.
            keys: The series.
            position: The position before the series were listed.
        """
        name = _make_name(builder)
        state = self._cache.find(name)
        if state is None or state.position.state != position.state:
            state = self._update(builder, keys, position, state)
            self._cache.put(name, state, state.count_bytes())
        return self._omit_known_lines(builder, state)

    def _update(
        self,
        builder: LineBuilder,
        keys: Sequence[SeriesKey],
        position: LogPosition,
        old: ChartState | None,
    ) -> ChartState:
        """Compute a chart from its last state, if it has one, and the runs that have changed."""
        changed = None
        if old is not None and [*old.extents] == keys:
            changed = self._find_changed_runs(builder, old.position.cursor, position)
        if old is None or changed is None:
            extents = builder.measure(keys)
            view = _plan_live_view(builder, extents)
            lines = builder.compute(keys, view)
        else:
            changed_keys = [key for key in keys if key[0] in changed]
            extents = {**old.extents, **builder.measure(changed_keys)}
            view = _plan_live_view(builder, extents)
            if _keeps_lines(builder.chart, old, view):
                lines = {key: line for key, line in old.lines.items() if key[0] not in changed}
                lines.update(builder.compute(changed_keys, view))
            else:
                lines = builder.compute(keys, view)
        row = builder.make_row(extents, view, lines)
        row.revision = _make_revision(position, _hash_layout(builder, row, view))
        return ChartState(position, extents, view, lines, row)

    def _find_changed_runs(
        self, builder: LineBuilder, since: str, position: LogPosition
    ) -> Collection[str] | None:
        if since == position.cursor or self._context.changed_runs is None:
            return None  # what a refresh in progress has read so far is not known
        metric = builder.query.metric
        tags = builder.chart.tags if metric is None else [*builder.chart.tags, metric]
        return self._context.changed_runs(since, tags)

    def _omit_known_lines(self, builder: LineBuilder, state: ChartState) -> ChartRow:
        """Return the chart of a state, without the lines that have not changed since the base."""
        chart, row = builder.chart, state.row
        changed: Collection[str] | None = None
        if chart.base == row.revision:
            changed = ()
        elif chart.base is not None:
            cursor, layout = _split_revision(chart.base)
            if layout == _split_revision(row.revision)[1]:
                changed = self._find_changed_runs(builder, cursor, state.position)
        if changed is None:
            return msgspec.structs.replace(row, id=chart.id)
        lines = [line for line in row.lines if line.run in changed]
        return msgspec.structs.replace(row, id=chart.id, base=chart.base, lines=lines)


def _plan_live_view(builder: LineBuilder, extents: Extents) -> LineView:
    start, stop = get_x_range(builder.chart, merge_extents(extents.values()))
    can_grow = builder.chart.stop is None
    return plan_line_view(builder.request, extents.values(), start, stop, can_grow=can_grow)


def _make_name(builder: LineBuilder) -> str:
    chart = msgspec.structs.replace(builder.chart, id="", base=None)
    request = msgspec.structs.replace(builder.request, charts=[chart])
    return msgspec.json.encode(request).decode()


def _keeps_lines(chart: ChartRequest, old: ChartState, view: LineView) -> bool:
    """Return whether the lines of runs that have not changed are the same in another view."""
    if view.settings != old.view.settings:
        return False
    has_all_points = not old.row.reduced and chart.start is None and chart.stop is None
    return has_all_points or view.columns == old.view.columns


def _make_revision(position: LogPosition, layout: str) -> str:
    state = hash_key(position.state, size_bytes=6)
    return _REVISION_SEPARATOR.join((position.cursor, state, layout))


def _split_revision(revision: str) -> tuple[str, str]:
    """Return the cursor and the layout of a revision."""
    cursor, _, rest = revision.partition(_REVISION_SEPARATOR)
    return cursor, rest.partition(_REVISION_SEPARATOR)[2]


def _hash_layout(builder: LineBuilder, row: ChartRow, view: LineView) -> str:
    """Return a hash of everything that all lines of a chart have in common, and of their series.

    The hash of another process may be different, but so are its cursors.
    """
    columns = "" if row.grid is None else view.columns
    series = tuple((line.run, line.tag) for line in row.lines)
    return f"{hash((_make_name(builder), view.settings, columns, series)) % 2**64:x}"
