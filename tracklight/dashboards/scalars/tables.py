"""Numbers for tables: of each series the point at a place, or a range in a few numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracklight.dashboards.scalars.charts import SeriesKey, SeriesSelection
from tracklight.dashboards.scalars.schemas import (
    DownloadFormat,
    DownloadRequest,
    NearestPointRow,
    NearestPointsRequest,
    NearestPointsResponse,
    Number,
    RangeStatsRequest,
    RangeStatsResponse,
    RangeStatsRow,
    make_point_row,
)
from tracklight.errors import UsageError
from tracklight.index.sampling import ExtentView, NearestPointView, RangeStats, RangeStatsView
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Blob, Context
from tracklight.types import Bool, Float64, Int64
from tracklight.util.json_number import to_json_number

_MAX_ROWS = 50_000


def get_nearest_points(context: Context, request: NearestPointsRequest) -> NearestPointsResponse:
    choice = SeriesSelection(context, request)
    keys = _check_row_count(choice.list_keys(request.tags))
    spots = (
        context.log.query(keys, choice.make_query(request.tags), NearestPointView(request.at))
        if keys
        else []
    )
    return NearestPointsResponse(
        [
            NearestPointRow(
                run,
                tag,
                spot.step,
                to_json_number(spot.wall_time),
                to_json_number(spot.relative_s),
                spot.x,
                to_json_number(spot.value),
                to_json_number(spot.smoothed),
            )
            for (run, tag), spot in zip(keys, spots, strict=True)
            if spot is not None
        ]
    )


def compute_range_stats(context: Context, request: RangeStatsRequest) -> RangeStatsResponse:
    choice = SeriesSelection(context, request)
    keys = _check_row_count(choice.list_keys(request.tags))
    view = RangeStatsView(request.start, request.stop)
    stretches = context.log.query(keys, choice.make_query(request.tags), view) if keys else []
    pairs = zip(keys, stretches, strict=True)
    return RangeStatsResponse([_make_range_row(*key, one) for key, one in pairs if one is not None])


def _check_row_count(keys: Sequence[SeriesKey]) -> Sequence[SeriesKey]:
    if len(keys) > _MAX_ROWS:
        raise UsageError(f"this table has more than {_MAX_ROWS:,} rows: choose fewer runs or tags")
    return keys


def _make_range_row(run: str, tag: str, stretch: RangeStats) -> RangeStatsRow:
    before, after = stretch.first.value, stretch.last.value
    return RangeStatsRow(
        run=run,
        tag=tag,
        start=make_point_row(stretch.first),
        stop=make_point_row(stretch.last),
        min=make_point_row(stretch.lowest),
        max=make_point_row(stretch.highest),
        mean=None if stretch.mean is None else to_json_number(stretch.mean),
        count=stretch.points,
        change=_to_finite(after - before),
        change_ratio=_to_finite((after - before) / abs(before)) if before else None,
    )


def _to_finite(value: float) -> Number | None:
    return value if math.isfinite(value) else None


# The points behind a view as one file.

_MAX_POINTS = 2_000_000

_MEDIA_TYPES: dict[DownloadFormat, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


def make_download(context: Context, request: DownloadRequest) -> Blob:
    """Run, tag, step, time, value, and what the ask adds to them, for every point."""
    from tracklight.reader.export import (
        SERIES_WRITERS,  # a board that nobody takes anything from needs none
    )

    choice = SeriesSelection(context, request)
    keys, lens = choice.list_keys(request.tags), choice.make_query(request.tags)
    _check_size(context, keys, lens)
    file = io.BytesIO()
    writer = SERIES_WRITERS[request.format](file, _list_columns(request))
    for key in keys:  # one after the other, so that only the file grows
        writer.write(context.log.query([key], lens, DownloadView(request.overwritten))[0])
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[request.format], f"scalars.{request.format}")


def _check_size(context: Context, keys: list[SeriesKey], lens: SeriesQuery) -> None:
    extents = context.log.query(keys, replace(lens, smoothing=None), ExtentView()) if keys else []
    points = sum(extent.points for extent in extents)
    if points > _MAX_POINTS:
        raise UsageError(
            f"these are {points:,} points, and a download holds {_MAX_POINTS:,}: "
            "choose fewer runs or tags, or use the command `tracklight export`"
        )


def _list_columns(ask: DownloadRequest) -> tuple[str, ...]:
    added = {
        "x": ask.x != "step",
        "value": True,
        "smoothed": ask.smoothing is not None,
        "overwritten": ask.overwritten,
    }
    return ("step", "wall_time", *(name for name, is_there in added.items() if is_there))


@dataclass(frozen=True)
class DownloadTable:
    """Columns of one series, as a file has them."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    x: Float64
    value: Float64
    smoothed: Float64
    overwritten: Bool

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True)
class DownloadView:
    """Sees all of a curve, and on request what was overwritten as well."""

    with_overwritten: bool

    def __call__(self, curve: Curve) -> DownloadTable:
        series = curve.series
        none = np.zeros(len(curve), np.bool_)
        columns = curve.step, curve.wall_time, curve.x, curve.value, curve.smoothed, none
        sheet = DownloadTable(series.run, series.tag, *columns)
        if self.with_overwritten and series.overwritten.any():
            return _merge_tables(_make_overwritten_table(curve), sheet)
        return sheet


def _make_overwritten_table(curve: Curve) -> DownloadTable:
    """The points that have no place in the line; they were never smoothed."""
    series, marks = curve.series, curve.series.overwritten
    step, wall, value = series.step[marks], series.wall_time[marks], series.value[marks]
    nothing = np.full(len(step), np.nan)
    columns = step, wall, curve.axis(step, wall), value.astype(np.float64), nothing
    return DownloadTable(series.run, series.tag, *columns, np.ones(len(step), np.bool_))


def _merge_tables(before: DownloadTable, after: DownloadTable) -> DownloadTable:
    """In the order of steps, at each step in the order told."""
    names = ("step", "wall_time", "x", "value", "smoothed", "overwritten")
    columns = {n: np.concatenate([getattr(before, n), getattr(after, n)]) for n in names}
    order = np.argsort(columns["step"], kind="stable")
    return DownloadTable(
        after.run, after.tag, **{name: column[order] for name, column in columns.items()}
    )
