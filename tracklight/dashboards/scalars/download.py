"""The points behind a view as one file."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import numpy as np

from tracklight.dashboards.scalars.asks import Format, TableAsk
from tracklight.dashboards.scalars.choice import Choice, Key
from tracklight.errors import UsageError
from tracklight.index.curve import Curve
from tracklight.index.lens import Lens
from tracklight.index.measuring import Measure
from tracklight.plugin import Blob, Context
from tracklight.types import Bool, Float64, Int64

_MOST_POINTS = 2_000_000

_MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


def make_file(context: Context, ask: TableAsk) -> Blob:
    """Run, tag, step, time, value, and what the ask adds to them, for every point."""
    from tracklight.export import FORMATS  # a board that nobody takes anything from needs none

    choice = Choice(context, ask)
    keys, lens = choice.keys(ask.tags), choice.make_lens(ask.tags)
    _check_size(context, keys, lens)
    file = io.BytesIO()
    writer = FORMATS[ask.format](file, _columns(ask))
    for key in keys:  # one after the other, so that only the file grows
        writer.write(context.log.query([key], lens, Copy(ask.overwritten))[0])
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[ask.format], f"scalars.{ask.format}")


def _check_size(context: Context, keys: list[Key], lens: Lens) -> None:
    extents = context.log.query(keys, replace(lens, smoothing=None), Measure()) if keys else []
    points = sum(extent.points for extent in extents)
    if points > _MOST_POINTS:
        raise UsageError(
            f"these are {points:,} points, and a download holds {_MOST_POINTS:,}: "
            "choose fewer runs or tags, or use the command `tracklight export`"
        )


def _columns(ask: TableAsk) -> tuple[str, ...]:
    added = {
        "x": ask.x != "step",
        "value": True,
        "smoothed": ask.smoothing is not None,
        "overwritten": ask.overwritten,
    }
    return ("step", "wall_time", *(name for name, is_there in added.items() if is_there))


@dataclass(frozen=True)
class Sheet:
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
class Copy:
    """Sees all of a curve, and on request what was overwritten as well."""

    overwritten: bool

    def __call__(self, curve: Curve) -> Sheet:
        series = curve.series
        none = np.zeros(len(curve), np.bool_)
        columns = curve.step, curve.wall_time, curve.x, curve.value, curve.smooth, none
        sheet = Sheet(series.run, series.tag, *columns)
        if self.overwritten and series.overwritten.any():
            return _join(_overwritten(curve), sheet)
        return sheet


def _overwritten(curve: Curve) -> Sheet:
    """The points that have no place in the line; they were never smoothed."""
    series, marks = curve.series, curve.series.overwritten
    step, wall, value = series.step[marks], series.wall_time[marks], series.value[marks]
    nothing = np.full(len(step), np.nan)
    columns = step, wall, curve.axis(step, wall), value.astype(np.float64), nothing
    return Sheet(series.run, series.tag, *columns, np.ones(len(step), np.bool_))


def _join(before: Sheet, after: Sheet) -> Sheet:
    """In the order of steps, at each step in the order told."""
    names = ("step", "wall_time", "x", "value", "smoothed", "overwritten")
    columns = {n: np.concatenate([getattr(before, n), getattr(after, n)]) for n in names}
    order = np.argsort(columns["step"], kind="stable")
    return Sheet(after.run, after.tag, **{name: column[order] for name, column in columns.items()})
