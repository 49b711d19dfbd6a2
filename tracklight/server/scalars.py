"""``POST api/scalars/query``: any set of scalars, reduced to the pixels that will show them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np

from tracklight.errors import LogError, UsageError
from tracklight.plugin import Problem
from tracklight.server.overview import Overview
from tracklight.server.problems import describe
from tracklight.server.source import Source
from tracklight.server.wire import Number, column
from tracklight.types import Grid

_MOST_CELLS = 4_000_000

Column = Literal["first", "last", "low", "high", "count"]
_ALL_COLUMNS: tuple[Column, ...] = ("first", "last", "low", "high", "count")


class ChartQuery(msgspec.Struct, forbid_unknown_fields=True):
    """One tag; of these runs, or of all that have it. ``start`` and ``stop`` are steps."""

    tag: str
    runs: list[str] | None = None
    start: float | None = None
    stop: float | None = None


class ScalarQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Some charts, each ``width`` pixels wide and with at most ``limit`` lines."""

    charts: Annotated[list[ChartQuery], msgspec.Meta(max_length=512)]
    width: Annotated[int, msgspec.Meta(ge=1, le=8192)] = 400
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100
    columns: Annotated[tuple[Column, ...], msgspec.Meta(min_length=1)] = _ALL_COLUMNS


class Line(msgspec.Struct):
    """One run's points in each column of pixels; null where there are none to tell of."""

    run: str
    columns: dict[str, list[Number | None]]


class Chart(msgspec.Struct):
    """``x`` holds the edges of the columns; ``runs`` counts those there are, drawn or not."""

    tag: str
    runs: int = 0
    x: list[float] = []
    lines: list[Line] = []
    error: Problem | None = None


@dataclass(frozen=True)
class Scalars:
    """Answers queries for scalars out of the index."""

    source: Source
    overview: Overview

    def answer(self, query: ScalarQuery) -> list[Chart]:
        runs = [self._runs(asked) for asked in query.charts]
        lines = sum(min(len(names), query.limit) for names in runs)
        if lines * query.width * len(query.columns) > _MOST_CELLS:
            raise UsageError("lines times width times columns is more than four million cells")
        return [self._chart(*pair, query) for pair in zip(query.charts, runs, strict=True)]

    def _runs(self, asked: ChartQuery) -> list[str]:
        return self.overview.runs_with_scalar(asked.tag) if asked.runs is None else asked.runs

    def _chart(self, asked: ChartQuery, runs: list[str], query: ScalarQuery) -> Chart:
        drawn = runs[: query.limit]
        if not drawn:
            return Chart(asked.tag)
        keys = [(run, asked.tag) for run in drawn]
        try:
            grid = self.source.reduce(keys, asked.start, asked.stop, query.width)
        except LogError as error:
            # One tag that has just gone must not spoil the other charts of the page.
            return Chart(asked.tag, error=describe(error))
        lines = [_line(run, grid, row, query.columns) for row, run in enumerate(drawn)]
        return Chart(asked.tag, len(runs), grid.x.tolist(), lines)


def _line(run: str, grid: Grid, row: int, columns: Container[Column]) -> Line:
    count = grid.count[row]
    filled = np.greater(count, 0)
    tables = {"first": grid.first, "last": grid.last, "low": grid.low, "high": grid.high}
    cells = {name: column(table[row], filled) for name, table in tables.items() if name in columns}
    return Line(run, {**cells, "count": count.tolist()} if "count" in columns else cells)
