"""The series that a copy of a board takes along: whole, or what a wide screen shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.index.downsampling import to_float32_if_exact
from tracklight.index.series_query import Curve, SeriesQuery
from tracklight.plugin import Context
from tracklight.types import Float32, Float64, Int32, Int64

#: A series with more points is thinned out.
_MAX_UNREDUCED_POINTS = 2000
#: The columns of pixels of a screen on which the copy still looks exactly as the log would.
_SCREEN_WIDTH_PX = 2000
#: Of the values that are not finite so many are marked in a chart.
_MAX_NONFINITE = 50


class ExportedSeries(msgspec.Struct):
    """One series without overwritten points; ``index`` says which of the points they are.

    ``points``, ``overwritten`` and ``odd`` count those of the log. ``index`` is null where all
    points are here.
    """

    run: str
    points: int
    overwritten: int
    odd: int
    step: Float64
    wall_time: Float64
    value: Float32 | Float64
    index: Int32 | None


class ExportedTag(msgspec.Struct):
    """All series of a tag."""

    tag: str
    series: list[ExportedSeries]


class ExportedTagEntry(msgspec.Struct):
    """Where a tag's series are, and which runs have it."""

    tag: str
    path: str
    runs: list[str]


class ExportedTagList(msgspec.Struct):
    """What there is."""

    tags: list[ExportedTagEntry]


def iter_static_export(context: Context, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The list of tags, and then tag by tag the series of these runs."""
    chosen = frozenset(runs)
    tags = []
    for number, tag in enumerate(context.scalar_tags()):
        own = [run for run in context.runs_with(tag) if run in chosen]
        if own:
            tags.append(ExportedTagEntry(tag, f"series/{number}", own))
    yield "series", ExportedTagList(tags)
    for one in tags:
        keys = [(run, one.tag) for run in one.runs]
        yield one.path, ExportedTag(one.tag, context.log.query(keys, SeriesQuery(), export_curve))


def export_curve(curve: Curve) -> ExportedSeries:
    """A curve along its steps, thinned out if it is long."""
    rows = (
        None
        if len(curve) <= _MAX_UNREDUCED_POINTS
        else pick_pixel_rows(curve.step, curve.value, _SCREEN_WIDTH_PX)
    )
    kept = curve if rows is None else curve.take(rows)
    return ExportedSeries(
        run=curve.series.run,
        points=len(curve),
        overwritten=int(np.count_nonzero(curve.series.overwritten)),
        odd=curve.stats.nonfinite_count,
        step=kept.step.astype(np.float64),
        wall_time=kept.wall_time,
        value=to_float32_if_exact(kept.value),
        index=None if rows is None else rows.astype(np.int32),
    )


def pick_pixel_rows(step: Int64, value: Float64, columns: int) -> Int64:
    """Of each column the first, last, lowest and highest row: a line through them covers the
    very pixels that a line through all rows does."""
    finite = np.flatnonzero(np.isfinite(value))
    edges = np.linspace(float(step[0]), float(step[-1]), columns + 1)
    column = np.searchsorted(edges[1:-1], step[finite], side="right")
    by_value = finite[np.lexsort((value[finite], column))]
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(finite))[: len(starts)] - 1
    odd = np.flatnonzero(~np.isfinite(value))[:_MAX_NONFINITE]
    kept = [finite[starts], finite[ends], by_value[starts], by_value[ends], odd, [0, len(step) - 1]]
    return np.unique(np.concatenate(kept))
