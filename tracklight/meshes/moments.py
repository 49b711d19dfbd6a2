"""The steps of a mesh, whose parts may have been logged at different ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracklight.errors import LogError
from tracklight.formats.summary import MeshContent
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import SeriesSteps, StepsAnswer, StepsAsk, make_marks
from tracklight.meshes.names import find_parts, find_runs
from tracklight.plugin_base import Context, Source
from tracklight.types import Float64, Int32, Int64, Located

_NONE = -1


@dataclass(frozen=True, slots=True)
class Moments:
    """Every step at which any part was logged, each with the last of every part until then.

    So faces that are logged once hold for all later vertices, and colours that change over a
    mesh that does not are all seen.
    """

    parts: Mapping[MeshContent, Located]
    step: Int64
    wall_time: Float64
    mark: Int32
    rows: Mapping[MeshContent, Int32]
    """Which value of each part belongs to a moment; -1 where there is none yet."""

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, index: int) -> Moment:
        places = {
            part: (self.parts[part], int(rows[index]))
            for part, rows in self.rows.items()
            if rows[index] != _NONE
        }
        return Moment(
            int(self.step[index]), float(self.wall_time[index]), int(self.mark[index]), places
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """One mesh of one run at one step: where the value of each of its parts is."""

    step: int
    wall_time: float
    mark: int
    places: Mapping[MeshContent, tuple[Located, int]]


def list_steps(context: Context, ask: StepsAsk) -> StepsAnswer:
    """When some meshes were logged, run by run."""
    cursor = context.cursor()
    series = []
    for name in ask.tags:
        having = find_runs(context.log, name)
        for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
            moments = join_parts(find_parts(context.log, run, name))
            if len(moments):
                index = np.arange(len(moments), dtype=np.int32)
                columns = index, moments.step, moments.wall_time, moments.mark
                series.append(SeriesSteps(run, name, *columns))
    return StepsAnswer(cursor, series)


def find_moment(log: Source, ask: ValueAsk) -> Moment:
    """The moment that an ask names: by its mark if it has one, as places move when a run starts
    over."""
    moments = join_parts(find_parts(log, ask.run, ask.tag))
    index: int | None = ask.index
    if ask.mark is not None and (ask.index >= len(moments) or moments.mark[ask.index] != ask.mark):
        found = np.flatnonzero(moments.mark == ask.mark)
        index = int(found[0]) if len(found) else None
    if index is None or index >= len(moments):
        raise LogError(f'the log no longer has this step of "{ask.tag}"; load the page again')
    return moments[index]


def join_parts(parts: Mapping[MeshContent, Located]) -> Moments:
    """The moments of a mesh; none before its first vertices, if it has any."""
    orders = {part: _order(located) for part, located in parts.items()}
    steps = [parts[part].step[order] for part, order in orders.items()]
    step = np.unique(np.concatenate([np.zeros(0, np.int64), *steps]))
    if len(orders.get(MeshContent.VERTEX, ())):
        step = step[step >= parts[MeshContent.VERTEX].step[orders[MeshContent.VERTEX][0]]]
    rows = {part: _find_rows(parts[part].step, order, step) for part, order in orders.items()}
    wall_time = np.zeros(len(step))
    mark = np.zeros(len(step), np.int64)
    for part, own in rows.items():
        located, there = parts[part], own != _NONE
        marks = np.where(there, make_marks(located)[own], 0) if len(located) else 0
        mark = (mark * 31 + marks + there) & 0x7FFFFFFF
        fresh = there & (located.step[own] == step) if len(located) else there
        wall_time = np.where(fresh & (wall_time == 0), _take(located.wall_time, own), wall_time)
    return Moments(parts, step, wall_time, mark.astype(np.int32), rows)


def _order(located: Located) -> Int32:
    """The values that hold, by their steps; of several at one step the last one counts."""
    current = np.flatnonzero(~located.overwritten)
    order: Int32 = current[np.argsort(located.step[current], kind="stable")].astype(np.int32)
    return order


def _find_rows(steps: Int64, order: Int32, at: Int64) -> Int32:
    last = np.searchsorted(steps[order], at, side="right") - 1
    return np.where(last < 0, _NONE, _take(order, last)).astype(np.int32)


def _take(column: Float64 | Int32, rows: Int64 | Int32) -> Float64 | Int32:
    """Of an empty column nothing is taken, whatever is asked for."""
    return column[rows] if len(column) else np.zeros(len(rows), column.dtype)
