"""A look over all series of a file at once, from block heads alone: what a listing shows."""

from __future__ import annotations

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

    def to_rows(self) -> list[tuple[int, int, float, int, float, bool]]:
        columns = (
            self.count, self.first_step, self.first_wall,
            self.last_step, self.last_wall, self.is_increasing,
        )  # fmt: skip
        return list(zip(*(column.tolist() for column in columns), strict=True))


def tabulate_points(file: EventFile) -> SeriesTable:
    return _tabulate(file, [b for session in file.sessions for b in session.points.blocks])


def tabulate_references(file: EventFile) -> SeriesTable:
    return _tabulate(file, [b for session in file.sessions for b in session.references.blocks])


def _tabulate(file: EventFile, blocks: Iterable[Block[Any]]) -> SeriesTable:
    """Blocks come in the order written, so the first to have a series has its first value."""
    tags = len(file.tags)
    found = SeriesTable(
        count=np.zeros(tags, np.int64),
        first_step=np.zeros(tags, np.int64),
        first_wall=np.zeros(tags, np.float64),
        last_step=np.zeros(tags, np.int64),
        last_wall=np.zeros(tags, np.float64),
        is_increasing=np.ones(tags, np.bool_),
    )
    for block in blocks:
        head, at = block.header, block.header.series
        new = found.count[at] == 0
        found.first_step[at[new]] = head.first_step[new]
        found.first_wall[at[new]] = head.first_wall[new]
        found.is_increasing[at] &= head.rises & (new | (head.first_step > found.last_step[at]))
        found.last_step[at] = head.last_step
        found.last_wall[at] = head.last_wall
        found.count[at] += np.diff(head.starts)
    return found


# Lists the tags of a run: thousands of them from a few tables, none of their rows touched.

#: One file's share of one tag, either of its points or of its other values: how many, first step
#: and time, last step and time, and whether the steps keep rising. A plain tuple, as there is
#: one for every tag of every run.
_SeriesRow = tuple[int, int, float, int, float, bool]


def list_tags(run: RunIndex) -> tuple[TagInfo, ...]:
    """Every tag of a run, in natural order."""
    lister = _TagLister(run)
    return tuple([lister.tag_info(tag, sources) for tag, sources in run.sources().items()])


class _TagLister:
    """Puts the shares of a run's files together, tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        self._run = run
        self._points = [tabulate_points(file).to_rows() for file in run.files]
        sessions = [session for file in run.files for session in file.sessions]
        self._has_others = any(session.references.blocks for session in sessions)
        self._others: list[list[_SeriesRow]] = []
        if self._has_others:
            self._others = [tabulate_references(file).to_rows() for file in run.files]
        self._restarted = any(session.start is not None for session in sessions)

    def tag_info(self, tag: str, sources: Sequence[TagSource]) -> TagInfo:
        points = [s for file, series in sources if (s := self._points[file][series])[0]]
        others: list[_SeriesRow] = []
        if self._has_others:
            others = [s for file, series in sources if (s := self._others[file][series])[0]]
        shares = points or others
        first, last = self._mixed_ends(sources) if points and others else (shares[0], shares[-1])
        metadata, plugin = self._run.describe(sources)
        return TagInfo(
            tag,
            plugin,
            get_kind(plugin, bool(points)),
            sum([share[0] for share in points + others]),
            self._count_overwritten(tag, points, others),
            Stamp(first[1], first[2]),
            Stamp(last[3], last[4]),
            metadata.display_name,
            metadata.description,
        )

    def _mixed_ends(self, sources: Sequence[TagSource]) -> tuple[_SeriesRow, _SeriesRow]:
        """The shares with the first and the last value of a tag that has points and others.

        Within a file, only the clock says which of the two came first.
        """
        shares = [
            [
                share
                for share in (self._points[file][series], self._others[file][series])
                if share[0]
            ]
            for file, series in sources
        ]
        shares = [found for found in shares if found]
        return min(shares[0], key=lambda s: s[2]), max(shares[-1], key=lambda s: s[4])

    def _count_overwritten(
        self, tag: str, points: Sequence[_SeriesRow], others: Sequence[_SeriesRow]
    ) -> int:
        """Mostly none, which the shares alone tell."""
        count = 0
        if points and (self._restarted or not _is_increasing(points)):
            count += int(self._run.scalar(tag).overwritten.sum())
        if others and (self._restarted or not _is_increasing(others)):
            count += int(self._run.locate(tag).overwritten.sum())
        return count


def _is_increasing(shares: Sequence[_SeriesRow]) -> bool:
    if len(shares) == 1:
        return shares[0][5]
    return all(share[5] for share in shares) and all(
        before[3] < after[1] for before, after in pairwise(shares)
    )


# The tags of all runs together: what a page with ten thousand runs asks for first.
#
# Most runs of a log have the same tags with the same metadata: one form, described once. A run in one
# file whose steps only rise then adds a few columns to its form; the others are listed tag by tag.

_TagGroupKey = tuple[tuple[bytes, ...], tuple[int, ...], tuple[tuple[int, bytes], ...]]


def list_shared_tags(runs: Sequence[RunIndex]) -> tuple[SharedTag, ...]:
    """The tags of some runs, each with the runs that have it, in the order of the runs."""
    forms: dict[_TagGroupKey, _TagGroup] = {}
    others = [run for run in runs if not _add_to_group(run, forms)]
    shares = [share for form in forms.values() for share in form.iter_shares()]
    shares += [make_shared_tag(run.name, info) for run in others for info in list_tags(run)]
    return merge_shared_tags(shares, [run.name for run in runs])


def make_shared_tag(run: str, info: TagInfo) -> SharedTag:
    """One tag of one run, in the form of a tag of many."""
    return SharedTag(
        info.tag, info.plugin, info.kind, (run,), info.count, info.overwritten,
        info.first, info.last, info.display_name, info.description,
    )  # fmt: skip


def merge_shared_tags(tags: Iterable[SharedTag], runs: Sequence[str]) -> tuple[SharedTag, ...]:
    """One row for each tag and kind, with its runs in the order of ``runs``."""
    place = {run: at for at, run in enumerate(runs)}
    groups: dict[tuple[str, Kind], list[SharedTag]] = {}
    for share in tags:
        groups.setdefault((share.tag, share.kind), []).append(share)
    return tuple(_merge(group, place) if group[1:] else group[0] for group in groups.values())


def _merge(group: list[SharedTag], place: dict[str, int]) -> SharedTag:
    names = (run for share in group for run in share.runs)
    return SharedTag(
        tag=group[0].tag,
        plugin=next((share.plugin for share in group if share.plugin), ""),
        kind=group[0].kind,
        runs=tuple(sorted(names, key=place.__getitem__)),
        count=sum(share.count for share in group),
        overwritten=sum(share.overwritten for share in group),
        first=min((s.first for s in group if s.first), key=lambda at: at.step, default=None),
        last=max((s.last for s in group if s.last), key=lambda at: at.step, default=None),
        display_name=next((share.display_name for share in group if share.display_name), ""),
        description=next((share.description for share in group if share.description), ""),
    )


def _add_to_group(run: RunIndex, forms: dict[_TagGroupKey, _TagGroup]) -> bool:
    """False for a run that has to be listed by itself."""
    if len(run.files) != 1:
        return False
    (file,) = run.files
    heads = [block.header for block in _iter_blocks(file)]
    if len(file.sessions) > 1 or not _are_increasing(heads):
        return False
    key = file.tags, file.contents, tuple(file.metadata.items())
    form = forms.get(key)
    if form is None:
        form = forms[key] = _TagGroup(run)
    return form.add(run.name, heads)


def _iter_blocks(file: EventFile) -> Iterator[Block[Any]]:
    for session in file.sessions:
        yield from session.points.blocks
        yield from session.references.blocks


def _are_increasing(heads: list[BlockHeader]) -> bool:
    """Within blocks; and blocks that share no series cannot disagree."""
    if not all(head.rises.all() for head in heads):
        return False
    if len(heads) < 2:
        return True
    # Series are numbered without gaps. (`np.unique` would bring along NumPy's masked arrays, 1 MB.)
    shares = np.bincount(np.concatenate([head.series for head in heads]))
    return bool((shares < 2).all())


class _TagGroup:
    """Runs with the same tags, summed up tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        size = len(run.files[0].tags)
        self._tags = run.files[0].tags
        self._told = [run.describe([(0, series)]) for series in range(size)]
        self._is_clear = all(is_known_plugin(plugin) for _, plugin in self._told)
        self._runs: list[str] = []
        self._count = np.zeros(size, np.int64)
        self._first_step = np.full(size, np.iinfo(np.int64).max)
        self._first_wall = np.zeros(size)
        self._last_step = np.full(size, np.iinfo(np.int64).min)
        self._last_wall = np.zeros(size)

    def add(self, run: str, heads: Iterable[BlockHeader]) -> bool:
        """False where only the values of a run tell what kind of thing a tag holds."""
        if not self._is_clear:
            return False
        self._runs.append(run)
        for head in heads:
            self._add_head(head)
        return True

    def _add_head(self, head: BlockHeader) -> None:
        at = head.series
        self._count[at] += np.diff(head.starts)
        earlier = head.first_step < self._first_step[at]
        if earlier.any():
            self._first_step[at[earlier]] = head.first_step[earlier]
            self._first_wall[at[earlier]] = head.first_wall[earlier]
        later = head.last_step > self._last_step[at]
        if later.any():
            self._last_step[at[later]] = head.last_step[later]
            self._last_wall[at[later]] = head.last_wall[later]

    def iter_shares(self) -> Iterator[SharedTag]:
        runs = tuple(self._runs)
        for series, tag in enumerate(self._tags if runs else ()):
            if tag == META_GRAPH_TAG or not self._count[series]:
                continue
            metadata, plugin = self._told[series]
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


# The last points of series, without putting whole series together.


def get_last_points(run: RunIndex, tags: Sequence[str]) -> list[Point | None]:
    """The point of each tag that was written last; None where the run has none."""
    found: list[Point | None] = [None] * len(tags)
    sources = run.sources()
    left = [place for place, tag in enumerate(tags) if tag in sources]
    for number in reversed(range(len(run.files))):
        wanted = {
            series: place
            for place in left
            for file, series in sources[tags[place]]
            if file == number
        }
        for block in _iter_backwards(run.files[number]) if wanted else ():
            for series, point in _iter_last_points(block, [*wanted]):
                found[wanted.pop(series)] = point
            if not wanted:
                break
        left = [place for place in left if found[place] is None]
    return found


def _iter_last_points(block: Block[Points], wanted: list[int]) -> Iterator[tuple[int, Point]]:
    """The last points of those series that the block has."""
    head = block.header
    at = np.minimum(np.searchsorted(head.series, wanted), len(head.series) - 1)
    there = np.flatnonzero(head.series[at] == wanted) if len(head.series) else at[:0]
    places = at[there]
    rows = block.get_rows_of(places.tolist())
    last = head.starts[places + 1] - 1
    values = _to_floats(rows.value[last], rows.scalar_type[places])
    columns = rows.step[last].tolist(), rows.wall[last].tolist(), values
    for place, *point in zip(there.tolist(), *columns, strict=True):
        yield wanted[place], Point(*point)


def _to_floats(raw: NDArray[Any], numbers: NDArray[Any]) -> list[float]:
    if not numbers.any():  # all of them floating point, as most are
        floats: list[float] = raw.view(ScalarType.FLOAT.dtype).tolist()
        return floats
    pairs = zip(raw, numbers.tolist(), strict=True)
    return [float(value.view(ScalarType(number).dtype)) for value, number in pairs]


def _iter_backwards(file: EventFile) -> Iterator[Block[Points]]:
    for session in reversed(file.sessions):
        yield from reversed(session.points.blocks)


# A series in a few numbers: what a table of runs and an alert need to know of it.


def summarize(series: Series) -> SeriesSummary:
    """Last, lowest and highest of the points that were not overwritten."""
    one = series.without_overwritten()
    if not len(one):
        return SeriesSummary(0, None, None, None)
    finite = np.flatnonzero(np.isfinite(one.value))
    if not len(finite):
        return SeriesSummary(len(one), _make_point(one, _get_last_row(one)), None, None)
    values = one.value[finite]
    low, high = int(finite[np.argmin(values)]), int(finite[np.argmax(values)])
    return SeriesSummary(
        len(one),
        _make_point(one, _get_last_row(one)),
        _make_point(one, low),
        _make_point(one, high),
    )


def _get_last_row(one: Series) -> int:
    """The row of the highest step; workers that write side by side may end with a lower one."""
    end = len(one) - 1
    return end - int(np.argmax(one.step[::-1])) if one.step[end] < one.step.max() else end


def _make_point(one: Series, at: int) -> Point:
    return Point(int(one.step[at]), float(one.wall_time[at]), float(one.value[at]))
