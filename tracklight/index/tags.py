"""List the tags of runs, and summarize series, without assembling them where possible.

- `list_tags`: the tags of one run, from block headers alone unless points were overwritten.
- `list_shared_tags`: the tags of many runs together, the first request of a page with ten thousand
  runs. Most runs have the same tags with the same metadata; they are summed up as one group.
- `get_last_points`: the last point of some series, without reading the others.
- `summarize`: count, last point and extremes of one series.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.batch import META_GRAPH_TAG, Points, ScalarType
from tracklight.index.blocks import Block, BlockHeader
from tracklight.index.event_file import EventFile
from tracklight.index.run import RunIndex, TagSource, decode_tag, get_kind, is_known_plugin
from tracklight.logdir.names import natural_key
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
    TagInfo,
)

#: A row of a `SeriesTable`: count, first step and time, last step and time, is_increasing. A plain
#: tuple, because there is one for every tag of every run.
_SeriesRow = tuple[int, int, float, int, float, bool]

#: Tags, contents and metadata of a file.
_TagGroupKey = tuple[tuple[bytes, ...], tuple[int, ...], tuple[tuple[int, bytes], ...]]


# ---- tags of one run


def list_tags(run: RunIndex) -> tuple[TagInfo, ...]:
    """Return all tags of a run, in natural order."""
    lister = _TagLister(run)
    return tuple([lister.make_info(tag, sources) for tag, sources in run.sources().items()])


@dataclass(frozen=True, slots=True)
class SeriesTable:
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
        self._points = [tabulate_points(file).to_rows() for file in run.files]
        sessions = [session for file in run.files for session in file.sessions]
        self._has_references = any(session.references.blocks for session in sessions)
        self._references: list[list[_SeriesRow]] = []
        if self._has_references:
            self._references = [tabulate_references(file).to_rows() for file in run.files]
        self._was_restarted = any(session.start is not None for session in sessions)

    def make_info(self, tag: str, sources: Sequence[TagSource]) -> TagInfo:
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
    ungrouped = [run for run in runs if not _add_to_group(run, groups)]
    tags = [tag for group in groups.values() for tag in group.iter_tags()]
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


def _add_to_group(run: RunIndex, groups: dict[_TagGroupKey, _TagGroup]) -> bool:
    """Add a run to the group with the same tags; return False if it has to be listed by itself.

    Only runs with one file, one session and increasing steps can be grouped.
    """
    if len(run.files) != 1:
        return False
    (file,) = run.files
    headers = [block.header for block in _iter_blocks(file)]
    if len(file.sessions) > 1 or not _are_increasing(headers):
        return False
    key = file.tags, file.contents, tuple(file.metadata.items())
    group = groups.get(key)
    if group is None:
        group = groups[key] = _TagGroup(run)
    return group.add(run.name, headers)


def _iter_blocks(file: EventFile) -> Iterator[Block[Any]]:
    for session in file.sessions:
        yield from session.points.blocks
        yield from session.references.blocks


def _are_increasing(headers: list[BlockHeader]) -> bool:
    """Return whether all series increase within their block and no series is in two blocks."""
    if not all(header.is_increasing.all() for header in headers):
        return False
    if len(headers) < 2:
        return True
    # Series are numbered from 0. (`np.unique` would import NumPy's masked arrays, 1 MB.)
    blocks_of_series = np.bincount(np.concatenate([header.series for header in headers]))
    return bool((blocks_of_series < 2).all())


class _TagGroup:
    """Runs with the same tags, summed up tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        size = len(run.files[0].tags)
        self._tags = run.files[0].tags
        self._descriptions = [run.describe([(0, series)]) for series in range(size)]
        self._has_known_kinds = all(is_known_plugin(plugin) for _, plugin in self._descriptions)
        self._runs: list[str] = []
        self._count = np.zeros(size, np.int64)
        self._first_step = np.full(size, np.iinfo(np.int64).max)
        self._first_wall = np.full(size, np.nan)
        self._last_step = np.full(size, np.iinfo(np.int64).min)
        self._last_wall = np.full(size, np.nan)

    def add(self, run: str, headers: Iterable[BlockHeader]) -> bool:
        """Add a run; return False if the kind of a tag depends on the values of the run."""
        if not self._has_known_kinds:
            return False
        self._runs.append(run)
        for header in headers:
            self._add_header(header)
        return True

    def _add_header(self, header: BlockHeader) -> None:
        series = header.series
        self._count[series] += np.diff(header.starts)
        step, wall = self._first_step[series], self._first_wall[series]
        is_tie = header.first_step == step
        # NaN is replaced by any time, and never replaces one.
        is_sooner = (header.first_wall < wall) | np.isnan(wall)
        is_earlier = (header.first_step < step) | (is_tie & is_sooner)
        if is_earlier.any():
            self._first_step[series[is_earlier]] = header.first_step[is_earlier]
            self._first_wall[series[is_earlier]] = header.first_wall[is_earlier]
        step, wall = self._last_step[series], self._last_wall[series]
        is_tie = header.last_step == step
        is_later = (header.last_step > step) | (
            is_tie & ((header.last_wall > wall) | np.isnan(wall))
        )
        if is_later.any():
            self._last_step[series[is_later]] = header.last_step[is_later]
            self._last_wall[series[is_later]] = header.last_wall[is_later]

    def iter_tags(self) -> Iterator[SharedTag]:
        runs = tuple(self._runs)
        for series, tag in enumerate(self._tags if runs else ()):
            if tag == META_GRAPH_TAG or not self._count[series]:
                continue
            metadata, plugin = self._descriptions[series]
            yield SharedTag(
                tag=decode_tag(tag),
                plugin=plugin,
                kind=get_kind(plugin, has_points=False),
                runs=runs,
                count=int(self._count[series]),
                overwritten=0,
                first=Stamp(int(self._first_step[series]), float(self._first_wall[series])),
                last=Stamp(int(self._last_step[series]), float(self._last_wall[series])),
                display_name=metadata.display_name,
                description=metadata.description,
            )


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


def _get_last_row(series: Series) -> int:
    """Return the row with the highest step, which is not the last one if workers interleaved."""
    end = len(series) - 1
    if series.step[end] < series.step.max():
        return end - int(np.argmax(series.step[::-1]))
    return end


def _make_point(series: Series, row: int) -> Point:
    return Point(int(series.step[row]), float(series.wall_time[row]), float(series.value[row]))
