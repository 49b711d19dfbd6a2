"""List the tags of runs, and summarize series, without assembling them where possible.

- `list_tags`: the tags of one run, from block headers alone unless points were overwritten.
- `list_shared_tags`: the tags of many runs together, the first request of a page with ten thousand
  runs. Most runs have the same tags with the same metadata; they are summed up as one group.
- `get_last_points`: the last point of some series, without reading the others.
- `summarize`: count, last point and extremes of one series; `SummaryTable`: those of one tag in
  many runs as columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.formats.batch import META_GRAPH_TAG, Points, ScalarType
from tracklight.index import Block
from tracklight.index.event_file import EventFile
from tracklight.index.pack import stack_headers
from tracklight.index.run import (
    RunIndex,
    TagSource,
    decode_tag,
    find_series,
    get_kind,
    is_known_plugin,
    split_metadata,
)
from tracklight.logdir import natural_key
from tracklight.types import (
    Bool,
    Float64,
    Int64,
    Kind,
    Point,
    Series,
    SeriesSummary,
    SharedTag,
    Stamp,
    SummaryColumns,
    TagInfo,
)

#: A row of a `SeriesTable`: count, first step and time, last step and time, is_increasing. A plain
#: tuple, because there is one for every tag of every run.
_SeriesRow = tuple[int, int, float, int, float, bool]

#: Series of runs with the same tags are summed up when there are this many.
_MAX_PENDING_SERIES = 1 << 18

#: Tags, contents and metadata of a file, without the content of plugins.
_TagGroupKey = tuple[tuple[bytes, ...], tuple[int, ...], tuple[tuple[int, bytes], ...]]


# ---- tags of one run


def list_tags(run: RunIndex) -> tuple[TagInfo, ...]:
    """Return all tags of a run, in natural order."""
    return tuple(_TagLister(run).list_infos())


class SeriesTable(msgspec.Struct, frozen=True):
    """A table with one row for each tag of a file."""

    count: Int64
    first_step: Int64
    first_wall: Float64
    last_step: Int64
    last_wall: Float64
    is_increasing: Bool
    """Whether every value has a greater step than the one before it."""

    def to_rows(self) -> list[_SeriesRow]:
        columns = (
            self.count, self.first_step, self.first_wall,
            self.last_step, self.last_wall, self.is_increasing,
        )  # fmt: skip
        return list(zip(*(column.tolist() for column in columns), strict=True))


def tabulate_points(file: EventFile) -> SeriesTable:
    """Summarize the scalar points of each tag of a file."""
    return _tabulate(file, [block for s in file.sessions for block in s.points.blocks])


def tabulate_references(file: EventFile) -> SeriesTable:
    """Summarize the non-scalar values of each tag of a file."""
    return _tabulate(file, [block for s in file.sessions for block in s.references.blocks])


def _tabulate(file: EventFile, blocks: Iterable[Block[Any]]) -> SeriesTable:
    """Summarize blocks in the order written: the first one with a series has its first value."""
    tags = len(file.tags)
    table = SeriesTable(
        count=np.zeros(tags, np.int64),
        first_step=np.zeros(tags, np.int64),
        first_wall=np.zeros(tags, np.float64),
        last_step=np.zeros(tags, np.int64),
        last_wall=np.zeros(tags, np.float64),
        is_increasing=np.ones(tags, np.bool_),
    )
    for block in blocks:
        header, series = block.header, block.header.series
        is_new = table.count[series] == 0
        table.first_step[series[is_new]] = header.first_step[is_new]
        table.first_wall[series[is_new]] = header.first_wall[is_new]
        continues = is_new | (header.first_step > table.last_step[series])
        table.is_increasing[series] &= header.is_increasing & continues
        table.last_step[series] = header.last_step
        table.last_wall[series] = header.last_wall
        table.count[series] += np.diff(header.starts)
    return table


class _TagLister:
    """Combine the tables of a run's files, tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        self._run = run
        self._tables = [tabulate_points(file) for file in run.files]
        sessions = [session for file in run.files for session in file.sessions]
        self._has_references = any(session.references.blocks for session in sessions)
        self._references: list[list[_SeriesRow]] = []
        if self._has_references:
            self._references = [tabulate_references(file).to_rows() for file in run.files]
        self._was_restarted = any(session.start is not None for session in sessions)

    @cached_property
    def _points(self) -> list[list[_SeriesRow]]:
        return [table.to_rows() for table in self._tables]

    def list_infos(self) -> list[TagInfo]:
        if len(self._tables) == 1 and not self._has_references and not self._was_restarted:
            return self._list_points()
        return [self._make_info(tag, sources) for tag, sources in self._run.sources().items()]

    def _list_points(self) -> list[TagInfo]:
        """List the tags of the usual run, which has one file of scalar points.

        The same as `_make_info` for each tag, in a tenth of the time: logs may have a million.
        """
        sources = self._run.sources()
        table = self._tables[0]
        numbers = [places[0][1] for places in sources.values()]
        order = np.array(numbers, np.int64)
        columns = (
            table.first_step, table.first_wall, table.last_step, table.last_wall, table.count,
        )  # fmt: skip
        first_step, first_wall, last_step, last_wall, count = (
            column[order].tolist() for column in columns
        )
        plugin, kind, display_name, description = self._describe_all(numbers, sources)
        # `map` calls the constructors without running bytecode for each tag.
        infos = list(
            map(
                TagInfo, sources, plugin, kind, count, repeat(0),
                map(Stamp, first_step, first_wall), map(Stamp, last_step, last_wall),
                display_name, description,
            )
        )  # fmt: skip
        is_usual = (table.is_increasing & (table.count > 0))[order]
        is_usual &= np.fromiter(map(len, sources.values()), np.int64, len(sources)) == 1
        if not is_usual.all():
            items = list(sources.items())
            for index in np.flatnonzero(~is_usual).tolist():
                infos[index] = self._make_info(*items[index])
        return infos

    def _describe_all(
        self, numbers: Sequence[int], sources: Mapping[str, Sequence[TagSource]]
    ) -> Iterable[Iterable[Any]]:
        """Return plugin, kind, display name and description of the tags of the usual run."""
        file = self._run.files[0]
        metadata = list(map(file.metadata.get, numbers))
        contents = list(map(file.contents.__getitem__, numbers))
        if len(set(metadata)) == 1 and len(set(contents)) == 1:
            return map(repeat, self._describe(next(iter(sources.values()))))
        keys = list(zip(metadata, contents, strict=True))
        places_of = dict(zip(keys, sources.values(), strict=True))
        known = {key: self._describe(places) for key, places in places_of.items()}
        return zip(*map(known.__getitem__, keys), strict=True) if keys else [()] * 4

    def _describe(self, sources: Sequence[TagSource]) -> tuple[str, Kind, str, str]:
        described, plugin = self._run.describe(sources)
        kind = get_kind(plugin, has_points=True)
        return plugin, kind, described.display_name, described.description

    def _make_info(self, tag: str, sources: Sequence[TagSource]) -> TagInfo:
        points = [row for file, series in sources if (row := self._points[file][series])[0]]
        references: list[_SeriesRow] = []
        if self._has_references:
            references = [
                row for file, series in sources if (row := self._references[file][series])[0]
            ]
        if points and references:
            first, last = self._get_mixed_ends(sources)
        else:
            rows = points or references
            first, last = rows[0], rows[-1]
        metadata, plugin = self._run.describe(sources)
        return TagInfo(
            tag,
            plugin,
            get_kind(plugin, bool(points)),
            sum([row[0] for row in points + references]),
            self._count_overwritten(tag, points, references),
            Stamp(first[1], first[2]),
            Stamp(last[3], last[4]),
            metadata.display_name,
            metadata.description,
        )

    def _get_mixed_ends(self, sources: Sequence[TagSource]) -> tuple[_SeriesRow, _SeriesRow]:
        """Return the rows with the first and last value of a tag with points and other values.

        Within a file, only the wall time tells which of the two was written first.
        """
        rows_of_files = [
            [row for row in (self._points[file][series], self._references[file][series]) if row[0]]
            for file, series in sources
        ]
        rows_of_files = [rows for rows in rows_of_files if rows]
        first = min(rows_of_files[0], key=lambda row: row[2])
        last = max(rows_of_files[-1], key=lambda row: row[4])
        return first, last

    def _count_overwritten(
        self, tag: str, points: Sequence[_SeriesRow], references: Sequence[_SeriesRow]
    ) -> int:
        """Count overwritten values; series whose steps only increase need not be assembled."""
        count = 0
        if points and (self._was_restarted or not _is_increasing(points)):
            count += int(self._run.scalar(tag).overwritten.sum())
        if references and (self._was_restarted or not _is_increasing(references)):
            count += int(self._run.locate(tag).overwritten.sum())
        return count


def _is_increasing(rows: Sequence[_SeriesRow]) -> bool:
    if len(rows) == 1:
        return rows[0][5]
    return all(row[5] for row in rows) and all(
        before[3] < after[1] for before, after in pairwise(rows)
    )


# ---- tags of many runs


def list_shared_tags(runs: Sequence[RunIndex]) -> tuple[SharedTag, ...]:
    """Return the tags of some runs, each with the runs that have it, in the order of the runs."""
    groups: dict[_TagGroupKey, _TagGroup] = {}
    ungrouped = []
    for run in runs:
        if len(run.files) != 1 or len(run.files[0].sessions) > 1:
            ungrouped.append(run)
            continue
        key = _make_group_key(run.files[0])
        group = groups.get(key)
        if group is None:
            group = groups[key] = _TagGroup(run)
        group.add(run)
    tags = [tag for group in groups.values() for tag in group.iter_tags()]
    ungrouped += [run for group in groups.values() for run in group.rejected]
    tags += [make_shared_tag(run.name, info) for run in ungrouped for info in list_tags(run)]
    return merge_shared_tags(tags, [run.name for run in runs])


def make_shared_tag(run: str, info: TagInfo) -> SharedTag:
    """Convert the tag of one run."""
    return SharedTag(
        info.tag, info.plugin, info.kind, (run,), info.count, info.overwritten,
        info.first, info.last, info.display_name, info.description,
    )  # fmt: skip


def merge_shared_tags(tags: Iterable[SharedTag], runs: Sequence[str]) -> tuple[SharedTag, ...]:
    """Merge tags with the same name and kind; their runs are in the order of ``runs``.

    The result is the same in whatever order and groups tags are merged, so that it does not depend
    on the shards. Tags are in natural order. Of several plugins, display names or descriptions, the
    first one in alphabetical order is used.
    """
    position = {run: index for index, run in enumerate(runs)}
    groups: dict[tuple[str, Kind], list[SharedTag]] = {}
    for tag in tags:
        groups.setdefault((tag.tag, tag.kind), []).append(tag)
    ordered = sorted(groups, key=lambda key: (natural_key(key[0]), key[1].value))
    return tuple(
        _merge(group, position) if len(group := groups[key]) > 1 else group[0] for key in ordered
    )


def _merge(group: list[SharedTag], position: dict[str, int]) -> SharedTag:
    runs = (run for tag in group for run in tag.runs)
    return SharedTag(
        tag=group[0].tag,
        plugin=_get_first_name(tag.plugin for tag in group),
        kind=group[0].kind,
        runs=tuple(sorted(runs, key=position.__getitem__)),
        count=sum(tag.count for tag in group),
        overwritten=sum(tag.overwritten for tag in group),
        first=min((tag.first for tag in group if tag.first), key=_order_first, default=None),
        last=max((tag.last for tag in group if tag.last), key=_order_last, default=None),
        display_name=_get_first_name(tag.display_name for tag in group),
        description=_get_first_name(tag.description for tag in group),
    )


def _get_first_name(names: Iterable[str]) -> str:
    return min(filter(None, names), default="")


def _order_first(stamp: Stamp) -> tuple[int, float]:
    return stamp.step, math.inf if math.isnan(stamp.wall_time) else stamp.wall_time


def _order_last(stamp: Stamp) -> tuple[int, float]:
    return stamp.step, -math.inf if math.isnan(stamp.wall_time) else stamp.wall_time


def _make_group_key(file: EventFile) -> _TagGroupKey:
    """Return what the tags of a file have in common with those of other runs.

    The content of a plugin, such as the hyperparameters of a session, differs between runs.
    """
    metadata = [
        (series, data if (parts := split_metadata(data)) is None else parts[0])
        for series, data in file.metadata.items()
    ]
    return file.tags, file.contents, tuple(metadata)


def _iter_blocks(file: EventFile) -> Iterator[tuple[Block[Any], bool]]:
    """Yield the blocks of a file, and whether they have points."""
    for session in file.sessions:
        for points in session.points.blocks:
            yield points, True
        for references in session.references.blocks:
            yield references, False


class _TagGroup:
    """Runs with the same tags, summed up tag by tag, many runs at once.

    Attributes:
        rejected: Runs that have to be listed by themselves: they have a series whose steps do not
            increase or that is in several blocks, or one whose kind is not that of other runs.
    """

    def __init__(self, run: RunIndex) -> None:
        size = len(run.files[0].tags)
        self.rejected: list[RunIndex] = []
        self._tags = run.files[0].tags
        self._descriptions = [run.describe([(0, series)]) for series in range(size)]
        self._has_known_kind = np.array(
            [is_known_plugin(plugin) for _, plugin in self._descriptions], np.bool_
        )
        self._has_points: NDArray[np.int8] = np.full(size, -1, np.int8)
        """Whether series of unknown plugins have points; -1 until there is a run."""
        self._pending: list[RunIndex] = []
        self._runs: list[str] = []
        self._count = np.zeros(size, np.int64)
        self._first_step = np.full(size, np.iinfo(np.int64).max)
        self._first_wall = np.full(size, np.nan)
        self._last_step = np.full(size, np.iinfo(np.int64).min)
        self._last_wall = np.full(size, np.nan)

    def add(self, run: RunIndex) -> None:
        self._pending.append(run)
        if len(self._pending) * len(self._tags) > _MAX_PENDING_SERIES:
            self._sum_up_pending()

    def iter_tags(self) -> Iterator[SharedTag]:
        self._sum_up_pending()
        runs = tuple(self._runs)
        for series, tag in enumerate(self._tags if runs else ()):
            if tag == META_GRAPH_TAG or not self._count[series]:
                continue
            metadata, plugin = self._descriptions[series]
            yield SharedTag(
                tag=decode_tag(tag),
                plugin=plugin,
                kind=get_kind(plugin, has_points=self._has_points[series] == 1),
                runs=runs,
                count=int(self._count[series]),
                overwritten=0,
                first=Stamp(int(self._first_step[series]), float(self._first_wall[series])),
                last=Stamp(int(self._last_step[series]), float(self._last_wall[series])),
                display_name=metadata.display_name,
                description=metadata.description,
            )

    def _sum_up_pending(self) -> None:
        runs, self._pending = self._pending, []
        blocks = [
            (number, block, has_points)
            for number, run in enumerate(runs)
            for block, has_points in _iter_blocks(run.files[0])
        ]
        stacked = stack_headers([block for _, block, _ in blocks])
        if not len(stacked.block):
            self._runs += [run.name for run in runs]
            return
        columns = stacked.columns
        owner = np.array([number for number, _, _ in blocks])[stacked.block]
        has_points = np.array([is_points for _, _, is_points in blocks])[stacked.block]
        series = columns["series"]
        # A series in two blocks of a run; series are numbered from 0.
        cell = owner * len(self._tags) + series
        is_bad = ~columns["is_increasing"] | (np.bincount(cell) > 1)[cell]
        is_bad |= self._select_other_kinds(series, has_points)
        is_rejected = np.zeros(len(runs), np.bool_)
        is_rejected[owner[is_bad]] = True
        kept = ~is_rejected[owner]
        for run, bad in zip(runs, is_rejected.tolist(), strict=True):
            if bad:
                self.rejected.append(run)
            else:
                self._runs.append(run.name)
        self._add_rows({name: column[kept] for name, column in columns.items()})

    def _add_rows(self, columns: dict[str, NDArray[Any]]) -> None:
        series = columns["series"]
        np.add.at(self._count, series, columns["count"])
        for best, wall, end, choose_step, choose_wall in (
            (self._first_step, self._first_wall, "first", np.minimum, np.fmin),
            (self._last_step, self._last_wall, "last", np.maximum, np.fmax),
        ):
            before = best.copy()
            choose_step.at(best, series, columns[f"{end}_step"])
            wall[best != before] = np.nan
            # Of several runs with that step, the earliest or latest time; NaN is ignored.
            rows = np.flatnonzero(columns[f"{end}_step"] == best[series])
            choose_wall.at(wall, series[rows], columns[f"{end}_wall"][rows])

    def _select_other_kinds(self, series: NDArray[Any], has_points: Bool) -> Bool:
        """Return which series have another kind than the same series of the first run."""
        first, index = np.unique(series, return_index=True)
        is_unset = self._has_points[first] < 0
        self._has_points[first[is_unset]] = has_points[index[is_unset]]
        is_other: Bool = ~self._has_known_kind[series] & (self._has_points[series] != has_points)
        return is_other


# ---- last points and summaries of series


def get_last_points(run: RunIndex, tags: Sequence[str]) -> list[Point | None]:
    """Return the last written point of each tag; None if the run has none."""
    points: list[Point | None] = [None] * len(tags)
    sources = run.sources()
    missing = [index for index, tag in enumerate(tags) if tag in sources]
    for number in reversed(range(len(run.files))):
        index_of_series = {
            series: index
            for index in missing
            for file, series in sources[tags[index]]
            if file == number
        }
        for block in _iter_blocks_backwards(run.files[number]) if index_of_series else ():
            for series, point in _iter_last_points(block, [*index_of_series]):
                points[index_of_series.pop(series)] = point
            if not index_of_series:
                break
        missing = [index for index in missing if points[index] is None]
    return points


def _iter_blocks_backwards(file: EventFile) -> Iterator[Block[Points]]:
    for session in reversed(file.sessions):
        yield from reversed(session.points.blocks)


def _iter_last_points(block: Block[Points], wanted: list[int]) -> Iterator[tuple[int, Point]]:
    """Yield the wanted series of a block with their last points."""
    header = block.header
    candidates = np.minimum(np.searchsorted(header.series, wanted), len(header.series) - 1)
    if len(header.series):
        found = np.flatnonzero(header.series[candidates] == wanted)
    else:
        found = candidates[:0]
    indexes = candidates[found]
    rows = block.get_rows_of(indexes.tolist())
    last = header.starts[indexes + 1] - 1
    values = _to_floats(rows.value[last], rows.scalar_type[indexes])
    columns = rows.step[last].tolist(), rows.wall[last].tolist(), values
    for number, *point in zip(found.tolist(), *columns, strict=True):
        yield wanted[number], Point(*point)


def _to_floats(raw: NDArray[Any], scalar_types: NDArray[Any]) -> list[float]:
    if not scalar_types.any():  # all are ScalarType.FLOAT, the usual case
        floats: list[float] = raw.view(ScalarType.FLOAT.dtype).tolist()
        return floats
    pairs = zip(raw, scalar_types.tolist(), strict=True)
    return [float(value.view(ScalarType(scalar_type).dtype)) for value, scalar_type in pairs]


def summarize(series: Series) -> SeriesSummary:
    """Return count, last, lowest and highest point of a series without overwritten points."""
    current = series.without_overwritten()
    if not len(current):
        return SeriesSummary(0, None, None, None)
    last = _make_point(current, _get_last_row(current))
    finite = np.flatnonzero(np.isfinite(current.value))
    if not len(finite):
        return SeriesSummary(len(current), last, None, None)
    values = current.value[finite]
    lowest = _make_point(current, int(finite[np.argmin(values)]))
    highest = _make_point(current, int(finite[np.argmax(values)]))
    return SeriesSummary(len(current), last, lowest, highest)


class SummaryTable:
    """Last, lowest and highest value of all series of many runs, without assembling them.

    Most runs have one file with one block of points, whose header has these numbers.
    """

    def __init__(self, runs: Mapping[str, RunIndex]) -> None:
        self._runs = list(runs.values())
        self._number_of_run = {name: number for number, name in enumerate(runs)}
        self._others: list[int] = []
        self._tables: dict[tuple[bytes, ...], int] = {}
        simple: list[int] = []
        table_of_block: list[int] = []
        blocks = []
        for number, run in enumerate(self._runs):
            if len(run.files) != 1 or len(run.files[0].sessions) != 1:
                self._others.append(number)
            elif len(own := run.files[0].sessions[0].points.blocks) > 1:
                self._others.append(number)
            elif own:
                simple.append(number)
                blocks.append(own[0])
                table = self._tables.setdefault(run.files[0].tags, len(self._tables))
                table_of_block.append(table)
        self._headers = stack_headers(blocks)
        # For each row of the headers: its run, and the number of the table of its tags.
        self._run_of_row = np.array(simple, np.int64)[self._headers.block]
        self._table_of_row = np.array(table_of_block, np.int64)[self._headers.block]

    def summarize(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        """Return the numbers of a tag in some runs, each of which is listed once."""
        columns = np.full((4, len(runs)), np.nan)
        is_present = np.zeros(len(runs), np.bool_)
        found, target, others = self._locate(runs, tag)
        is_present[target] = True
        for number, name in enumerate(("last_value", "low", "high", "last_step")):
            columns[number, target] = self._headers.columns[name][found]
        for row, run in others:
            summary = summarize(run.scalar_or_empty(tag))
            if summary.last is not None:
                is_present[row] = True
                columns[0, row], columns[3, row] = summary.last.value, summary.last.step
            if summary.min is not None and summary.max is not None:
                columns[1, row], columns[2, row] = summary.min.value, summary.max.value
        return SummaryColumns(is_present, *columns)

    def get_last_points(self, runs: Sequence[str], tag: str) -> list[Point | None]:
        """Return the last written point of a tag in some runs, each of which is listed once."""
        points: list[Point | None] = [None] * len(runs)
        found, target, others = self._locate(runs, tag)
        headers = self._headers.columns
        columns = (headers[name][found] for name in ("last_step", "last_wall", "last_value"))
        for row, *point in zip(
            target.tolist(), *(column.tolist() for column in columns), strict=True
        ):
            points[row] = Point(*point)
        for row, run in others:
            points[row] = get_last_points(run, [tag])[0]
        return points

    def _locate(
        self, runs: Sequence[str], tag: str
    ) -> tuple[Int64, Int64, list[tuple[int, RunIndex]]]:
        """Locate a tag in some runs.

        Returns:
            The rows of the headers that have its numbers, the positions in ``runs`` that these
            belong to, and the runs whose points have to be read, with their positions.
        """
        numbers = np.array([self._number_of_run.get(run, -1) for run in runs], np.int64)
        known = np.flatnonzero(numbers >= 0)
        position = np.full(len(self._runs), -1)
        position[numbers[known]] = known
        found = [find_series(tags, tag) for tags in self._tables]
        # -1 matches no series; several tags that are shown as one are not looked up here.
        wanted = np.array([-1 if series is None else series for series in found], np.int64)
        several = np.array([series == -1 for series in found], np.bool_)
        headers = self._headers.columns
        is_found = headers["series"] == wanted[self._table_of_row] if len(found) else []
        rows = np.flatnonzero(is_found)
        rows = rows[position[self._run_of_row[rows]] >= 0]
        is_simple = headers["is_increasing"][rows]
        assembled = [np.array(self._others, np.int64), self._run_of_row[rows[~is_simple]]]
        if several.any():
            assembled.append(np.unique(self._run_of_row[several[self._table_of_row]]))
        others = [
            (at, self._runs[number])
            for number in np.concatenate(assembled).tolist()
            if (at := int(position[number])) >= 0
        ]
        rows = rows[is_simple]
        return rows, position[self._run_of_row[rows]], others


def _get_last_row(series: Series) -> int:
    """Return the row with the highest step, which is not the last one if workers interleaved."""
    end = len(series) - 1
    if series.step[end] < series.step.max():
        return end - int(np.argmax(series.step[::-1]))
    return end


def _make_point(series: Series, row: int) -> Point:
    return Point(int(series.step[row]), float(series.wall_time[row]), float(series.value[row]))
