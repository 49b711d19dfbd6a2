"""The series that a copy of a board takes along: whole, or what a wide screen shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.index.curve import Curve
from tracklight.index.lens import Lens
from tracklight.index.reduction import narrow_exactly
from tracklight.plugin import Context
from tracklight.types import Float32, Float64, Int32, Int64

#: A series with more points is thinned out.
_MOST_WHOLE = 2000
#: The columns of pixels of a screen on which the copy still looks exactly as the log would.
_COLUMNS = 2000
#: Of the values that are not finite so many are marked in a chart.
_MOST_ODD = 50


class SeriesCopy(msgspec.Struct):
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


class TagCopy(msgspec.Struct):
    """All series of a tag."""

    tag: str
    series: list[SeriesCopy]


class CopiedTag(msgspec.Struct):
    """Where a tag's series are, and which runs have it."""

    tag: str
    path: str
    runs: list[str]


class CopiedTags(msgspec.Struct):
    """What there is."""

    tags: list[CopiedTag]


def iter_copies(context: Context, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
    """The list of tags, and then tag by tag the series of these runs."""
    chosen = frozenset(runs)
    tags = []
    for number, tag in enumerate(context.tags()):
        own = [run for run in context.runs_with(tag) if run in chosen]
        if own:
            tags.append(CopiedTag(tag, f"series/{number}", own))
    yield "series", CopiedTags(tags)
    for one in tags:
        keys = [(run, one.tag) for run in one.runs]
        yield one.path, TagCopy(one.tag, context.log.query(keys, Lens(), copy_curve))


def copy_curve(curve: Curve) -> SeriesCopy:
    """A curve along its steps, thinned out if it is long."""
    rows = None if len(curve) <= _MOST_WHOLE else find_rows(curve.step, curve.value, _COLUMNS)
    kept = curve if rows is None else curve.take(rows)
    return SeriesCopy(
        run=curve.series.run,
        points=len(curve),
        overwritten=int(np.count_nonzero(curve.series.overwritten)),
        odd=curve.survey.odd_count,
        step=kept.step.astype(np.float64),
        wall_time=kept.wall_time,
        value=narrow_exactly(kept.value),
        index=None if rows is None else rows.astype(np.int32),
    )


def find_rows(step: Int64, value: Float64, columns: int) -> Int64:
    """Of each column the first, last, lowest and highest row: a line through them covers the
    very pixels that a line through all rows does."""
    finite = np.flatnonzero(np.isfinite(value))
    edges = np.linspace(float(step[0]), float(step[-1]), columns + 1)
    column = np.searchsorted(edges[1:-1], step[finite], side="right")
    by_value = finite[np.lexsort((value[finite], column))]
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(finite))[: len(starts)] - 1
    odd = np.flatnonzero(~np.isfinite(value))[:_MOST_ODD]
    kept = [finite[starts], finite[ends], by_value[starts], by_value[ends], odd, [0, len(step) - 1]]
    return np.unique(np.concatenate(kept))
