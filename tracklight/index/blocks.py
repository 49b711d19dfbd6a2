"""Columns of rows read from event files: blocks, the sessions of a file, and segments.

A block holds the rows (scalar points, or references to other values) of many series, grouped by
series. A file consists of sessions, each with a list of blocks in the order written. A segment is
everything read from a byte range of one file; the cache (`tracklight.index.pack`) stores segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import numpy as np

from tracklight.formats.batch import Damage, Points, References, ScalarType
from tracklight.index.loops import loops
from tracklight.logdir.filesystem import FileStat
from tracklight.logdir.tail import Fingerprint
from tracklight.types import Bool, Float64, Int32, Int64

POINT_COLUMNS = ("step", "wall", "value")
REFERENCE_COLUMNS = ("step", "wall", "record", "start", "size", "content")

#: Up to this many blocks, searching all of them costs less than merging them.
MAX_UNMERGED_BLOCKS = 8

#: Damaged ranges that are remembered for a file; further ones are only counted.
MAX_DAMAGE_ENTRIES = 100

RowsT = TypeVar("RowsT", Points, References)


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """Summary of each series of a block, so that listings do not have to read any rows."""

    series: Int32
    """The numbers of the series, in ascending order."""
    starts: Int64
    """The first row of each series, and the total number of rows."""
    first_step: Int64
    last_step: Int64
    first_wall: Float64
    last_wall: Float64
    is_increasing: Bool
    """Whether every step of the series is greater than the one before it."""
    last_value: Float64
    """The last value of a series of points; NaN for references, as the next two."""
    low: Float64
    """The lowest finite value."""
    high: Float64

    def find(self, series: int) -> int | None:
        """Return the position of a series in the block."""
        index = int(self.series.searchsorted(series))
        is_found = index < len(self.series) and self.series[index] == series
        return index if is_found else None

    def get_rows(self, index: int) -> slice:
        """Return the rows of the series at a position."""
        return slice(int(self.starts[index]), int(self.starts[index + 1]))


def make_header(rows: Points | References) -> BlockHeader:
    """Compute the header of a block."""
    first, last = rows.starts[:-1], rows.starts[1:] - 1
    decreases = np.flatnonzero(rows.step[1:] <= rows.step[:-1]) + 1
    owner = np.searchsorted(rows.starts, decreases, side="right") - 1
    is_increasing = np.ones(len(rows.series), np.bool_)
    # The first row of a series has no previous step to compare with.
    is_increasing[owner[decreases != rows.starts[owner]]] = False
    return BlockHeader(
        rows.series, rows.starts, rows.step[first], rows.step[last],
        rows.wall[first], rows.wall[last], is_increasing, *_summarize_values(rows),
    )  # fmt: skip


def _summarize_values(rows: Points | References) -> Float64:
    """Return last, lowest and highest value of each series, as three rows."""
    summary = np.full((3, len(rows.series)), np.nan)
    if isinstance(rows, Points) and len(rows.series):
        values = np.ascontiguousarray(rows.value)
        if rows.scalar_type.any():  # not all are ScalarType.FLOAT
            values = _convert_to_float(values, rows)
        loops.summarize_rows(values, np.ascontiguousarray(rows.starts, np.int64), summary)
    return summary


def _convert_to_float(values: Float64, points: Points) -> Float64:
    converted: Float64 = values.copy()
    for index in np.flatnonzero(points.scalar_type).tolist():
        part = slice(int(points.starts[index]), int(points.starts[index + 1]))
        dtype = ScalarType(points.scalar_type[index]).dtype
        converted[part] = values[part].view(dtype).astype(np.float64)
    return converted


class Block(Generic[RowsT]):
    """Immutable rows of one session of one file."""

    __slots__ = ("_header", "_rows")

    def __init__(self, rows: RowsT) -> None:
        self._rows: RowsT = rows
        self._header: BlockHeader | None = None

    def __len__(self) -> int:
        return len(self._rows.step)

    @property
    def header(self) -> BlockHeader:
        if self._header is None:
            self._header = make_header(self._rows)
        return self._header

    @property
    def rows(self) -> RowsT:
        """All rows. Use `get_series_rows` for those of one series, which verifies only these."""
        return self._rows

    def get_rows_of(self, indexes: Sequence[int]) -> RowsT:
        """Return all rows, of which only those of the series at some positions may be used."""
        return self._rows

    def get_series_rows(self, index: int) -> tuple[RowsT, slice]:
        """Return all rows, and which of them belong to the series at a position."""
        return self._rows, self.header.get_rows(index)


def join_blocks(
    blocks: Sequence[Block[RowsT]], merge: Callable[[Sequence[RowsT]], RowsT]
) -> Block[RowsT] | None:
    """Merge blocks into one; None if there are none."""
    if len(blocks) > 1:
        return Block(merge([block.rows for block in blocks]))
    return blocks[0] if blocks else None


def merge_points(blocks: Sequence[Points]) -> Points:
    """Merge points; the rows of a series stay in the order of the blocks.

    A series with integers in one block and floats in another one becomes floats.
    """
    if len(blocks) == 1:
        return blocks[0]
    plan = _plan_merge(blocks)
    old_types = np.concatenate([block.scalar_type for block in blocks])[plan.order]
    new_types = np.maximum.reduceat(old_types, plan.first_of_series)
    is_mixed = new_types != np.minimum.reduceat(old_types, plan.first_of_series)
    new_types[is_mixed] = ScalarType.FLOAT
    step, wall, value = _gather(blocks, POINT_COLUMNS, plan)
    _convert_mixed_to_float(value, old_types, new_types, plan)
    return Points(plan.series, plan.starts, new_types, step, wall, value)


def merge_references(blocks: Sequence[References]) -> References:
    """Merge references; the rows of a series stay in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    plan = _plan_merge(blocks)
    return References(plan.series, plan.starts, *_gather(blocks, REFERENCE_COLUMNS, plan))


@dataclass(frozen=True, slots=True)
class _MergePlan:
    """How to reorder the pieces of several blocks; a piece is the rows of a series in a block."""

    order: Int64  # the pieces by series, and by block within a series
    source: Int64  # first row of each piece in the concatenated columns, in that order
    length: Int64
    first_of_series: Int64  # the first piece of each series
    series: Int32
    starts: Int64  # first row of each series in the merged columns, and the end


def _plan_merge(blocks: Sequence[Points] | Sequence[References]) -> _MergePlan:
    series = np.concatenate([block.series for block in blocks])
    length = np.concatenate([np.diff(block.starts) for block in blocks])
    source = np.cumsum(length) - length  # pieces are contiguous
    order = np.argsort(series, kind="stable")
    series, length, source = series[order], length[order], source[order]
    first = np.flatnonzero(np.r_[True, series[1:] != series[:-1]])
    starts = np.r_[0, np.cumsum(np.add.reduceat(length, first))]
    return _MergePlan(order, source, length, first, series[first], starts)


def _gather(
    blocks: Sequence[Points] | Sequence[References], columns: Sequence[str], plan: _MergePlan
) -> list[np.ndarray]:
    target = np.cumsum(plan.length) - plan.length
    rows = np.repeat(plan.source - target, plan.length)
    rows += np.arange(len(rows))
    return [
        np.concatenate([getattr(block, column) for block in blocks]).take(rows)
        for column in columns
    ]


def _convert_mixed_to_float(
    value: Float64, old_types: np.ndarray, new_types: np.ndarray, plan: _MergePlan
) -> None:
    """Convert the integers of series that became floats."""
    pieces_of_series = np.diff(np.r_[plan.first_of_series, len(plan.length)])
    type_of_piece = np.repeat(new_types, pieces_of_series)
    end = np.cumsum(plan.length)
    for piece in np.flatnonzero(old_types != type_of_piece):
        rows = slice(end[piece] - plan.length[piece], end[piece])
        value[rows] = value[rows].view(ScalarType(old_types[piece]).dtype).astype(np.float64)


class BlockList(Generic[RowsT]):
    """Blocks in the order written; the first ``stored_count`` of them are in the cache."""

    __slots__ = ("_merge", "blocks", "stored_count")

    def __init__(self, merge: Callable[[Sequence[RowsT]], RowsT]) -> None:
        self._merge: Callable[[Sequence[RowsT]], RowsT] = merge
        self.blocks: list[Block[RowsT]] = []
        self.stored_count = 0

    def append(self, rows: RowsT) -> None:
        if len(rows.step):
            self.blocks.append(Block(rows))

    def compact(self) -> None:
        """Merge the latest blocks in memory if there are many.

        A block is merged with those after it once they have half its size together, so that there
        are about log(rows) blocks and each row is copied about log(rows) times in total.
        """
        if len(self.blocks) - self.stored_count <= MAX_UNMERGED_BLOCKS:
            return
        first = len(self.blocks) - 2
        rows = len(self.blocks[-1]) + len(self.blocks[-2])
        while first > self.stored_count and 2 * rows >= len(self.blocks[first - 1]):
            first -= 1
            rows += len(self.blocks[first])
        merged = Block(self._merge([block.rows for block in self.blocks[first:]]))
        self.blocks[first:] = [merged]

    def merge_unstored(self) -> Block[RowsT] | None:
        """Return all rows that are not in the cache, as one block."""
        return join_blocks(self.blocks[self.stored_count :], self._merge)

    def replace_unstored(self, block: Block[RowsT] | None) -> None:
        """Replace the rows in memory by a block of the cache."""
        self.blocks[self.stored_count :] = [block] if block is not None else []
        self.stored_count = len(self.blocks)

    def count_unstored_rows(self) -> int:
        return sum(len(block) for block in self.blocks[self.stored_count :])


class FileSession:
    """The rows from one ``SessionLog.START``, or the beginning of the file, to the next.

    Args:
        start: The step of the ``SessionLog.START``; None for the first session of a file.
    """

    __slots__ = ("points", "references", "start")

    def __init__(self, start: int | None = None) -> None:
        self.start = start
        self.points: BlockList[Points] = BlockList(merge_points)
        self.references: BlockList[References] = BlockList(merge_references)


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows that a segment adds to one session of its file."""

    session: int
    start: int | None
    points: Block[Points] | None
    references: Block[References] | None


class SegmentOrigin(msgspec.Struct, frozen=True, array_like=True):
    """The byte range that a segment was read from, and the state of its file at that time."""

    path: str
    begin: int
    end: int
    stat: FileStat
    fingerprint: Fingerprint | None


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """Totals of a file from its start to the end of a segment."""

    records: int
    damaged: int
    damage: tuple[Damage, ...]
    first_wall: float
    last_wall: float
    writer: bytes | None


@dataclass(frozen=True, slots=True)
class Segment:
    """What was read from a byte range of one file; its tags and sessions continue earlier ones."""

    origin: SegmentOrigin
    state: FileState
    tags: tuple[bytes, ...]
    contents: tuple[int, ...]
    metadata: tuple[tuple[int, bytes], ...]
    sessions: tuple[SessionRows, ...]


def join_segments(chain: Sequence[Segment]) -> Segment:
    """Merge consecutive segments of one file."""
    first, last = chain[0], chain[-1]
    return Segment(
        origin=msgspec.structs.replace(last.origin, begin=first.origin.begin),
        state=last.state,
        tags=tuple(tag for segment in chain for tag in segment.tags),
        contents=tuple(content for segment in chain for content in segment.contents),
        metadata=tuple(dict(pair for segment in chain for pair in segment.metadata).items()),
        sessions=_join_sessions(chain),
    )


def _join_sessions(chain: Sequence[Segment]) -> tuple[SessionRows, ...]:
    by_number: dict[int, list[SessionRows]] = {}
    for segment in chain:
        for rows in segment.sessions:
            by_number.setdefault(rows.session, []).append(rows)
    return tuple(
        SessionRows(
            number,
            parts[0].start,
            join_blocks([part.points for part in parts if part.points], merge_points),
            join_blocks([part.references for part in parts if part.references], merge_references),
        )
        for number, parts in by_number.items()
    )
