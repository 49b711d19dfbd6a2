"""The buckets behind a view as one file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.histograms.asks import BucketsAsk, Format
from tracklight.dashboards.histograms.charts import read_histograms
from tracklight.dashboards.histograms.choice import Chosen, choose_all
from tracklight.errors import UsageError
from tracklight.plugin import Blob, Context
from tracklight.types import Float64, Int64, Located

_MOST_BYTES = 128 << 20
#: Histograms of a series that are read at once.
_AT_ONCE = 1000
_COLUMNS = ("step", "wall_time", "left", "right", "count")

_MEDIA_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Sheet:
    """Columns of one series, as a file has them: a row for each bucket."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    left: Float64
    right: Float64
    count: Float64

    def __len__(self) -> int:
        return len(self.step)


def make_file(context: Context, ask: BucketsAsk) -> Blob:
    """Run, tag, step, time, edges and count for every bucket as logged."""
    from tracklight.export import FORMATS  # a board that nobody takes anything from needs none

    chosen = list(_iter_chosen(context, ask))
    _check_size(chosen)
    file = io.BytesIO()
    writer = FORMATS[ask.format](file, _COLUMNS)
    for located, own in chosen:
        writer.write(_join([_make_sheet(context, located, part) for part in _iter_parts(own)]))
    writer.close()
    return Blob(file.getvalue(), _MEDIA_TYPES[ask.format], f"histograms.{ask.format}")


def _iter_chosen(context: Context, ask: BucketsAsk) -> Iterator[tuple[Located, Chosen]]:
    for tag in ask.tags:
        having = context.log.plugin_data(tag)
        for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
            located = context.log.located(run, tag)
            chosen = choose_all(located, ask.x, ask.start, ask.stop)
            if chosen.count:
                yield located, chosen


def _check_size(chosen: Sequence[tuple[Located, Chosen]]) -> None:
    size_bytes = sum(int(located.size[own.index].sum()) for located, own in chosen)
    if size_bytes > _MOST_BYTES:
        raise UsageError(
            f"these histograms take {size_bytes >> 20:,} MB in the log, and a download holds "
            f"{_MOST_BYTES >> 20:,}: choose fewer runs, tags or steps"
        )


def _iter_parts(chosen: Chosen) -> Iterator[Chosen]:
    for start in range(0, len(chosen.index), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        yield Chosen(chosen.index[rows], chosen.x[rows], chosen.count)


def _make_sheet(context: Context, located: Located, chosen: Chosen) -> Sheet:
    histograms = read_histograms(context, located, chosen)
    rows = chosen.index[histograms.rows()]
    columns = histograms.left, histograms.right, histograms.counts
    return Sheet(located.run, located.tag, located.step[rows], located.wall_time[rows], *columns)


def _join(sheets: list[Sheet]) -> Sheet:
    columns = (np.concatenate([getattr(one, name) for one in sheets]) for name in _COLUMNS)
    return Sheet(sheets[0].run, sheets[0].tag, *columns)
