"""Rows grouped by series: finding one series' rows, and joining blocks that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import numpy as np

from tracklight.formats.batch import Damage, Points, References, ScalarType
from tracklight.logdir.file_changes import Fingerprint
from tracklight.logdir.filesystem import FileStat
from tracklight.types import Bool, Float64, Int32, Int64

POINT_COLUMNS = ("step", "wall", "value")

REFERENCE_COLUMNS = ("step", "wall", "record", "start", "size", "content")

RowsT = TypeVar("RowsT", Points, References)


@dataclass(frozen=True, slots=True)
class BlockHeader:
    """What a listing needs of each series of a block, so that no row has to be touched."""

    series: Int32
    starts: Int64
    first_step: Int64
    last_step: Int64
    first_wall: Float64
    last_wall: Float64
    rises: Bool
    """Whether every step of the series is greater than the one before it."""

    def find(self, series: int) -> int | None:
        """The place of a series among those of the block."""
        at = int(np.searchsorted(self.series, series))
        return at if at < len(self.series) and self.series[at] == series else None

    def get_rows(self, at: int) -> slice:
        return slice(int(self.starts[at]), int(self.starts[at + 1]))


def make_header(rows: Points | References) -> BlockHeader:
    first, last = rows.starts[:-1], rows.starts[1:] - 1
    falls = np.flatnonzero(rows.step[1:] <= rows.step[:-1]) + 1
    owner = np.searchsorted(rows.starts, falls, side="right") - 1
    rises = np.ones(len(rows.series), np.bool_)
    rises[owner[falls != rows.starts[owner]]] = False  # a first row may well fall
    return BlockHeader(
        rows.series, rows.starts, rows.step[first], rows.step[last],
        rows.wall[first], rows.wall[last], rises,
    )  # fmt: skip


class Block(Generic[RowsT]):
    """Some rows of one session of one file; they never change."""

    __slots__ = ("_head", "_rows")

    def __init__(self, rows: RowsT) -> None:
        self._rows: RowsT = rows
        self._head: BlockHeader | None = None

    def __len__(self) -> int:
        return len(self._rows.step)

    @property
    def header(self) -> BlockHeader:
        if self._head is None:
            self._head = make_header(self._rows)
        return self._head

    @property
    def rows(self) -> RowsT:
        """All rows; `series_rows` is what to ask for when one series is wanted."""
        return self._rows

    def get_rows_of(self, indexes: Sequence[int]) -> RowsT:
        """All rows, of which those of some series are wanted."""
        return self._rows

    def get_series_rows(self, at: int) -> tuple[RowsT, slice]:
        """The rows of one series: those of the block, and which of them are its own."""
        return self._rows, self.header.get_rows(at)


def join_blocks(
    blocks: Sequence[Block[RowsT]], merge: Callable[[Sequence[RowsT]], RowsT]
) -> Block[RowsT] | None:
    """One block in the place of several; None for none."""
    if len(blocks) > 1:
        return Block(merge([block.rows for block in blocks]))
    return blocks[0] if blocks else None


def merge_points(blocks: Sequence[Points]) -> Points:
    """Join blocks; the rows of a series stay in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    joints = _plan_merge(blocks)
    number = np.concatenate([block.scalar_type for block in blocks])[joints.order]
    first = joints.first_of_series
    settled = np.maximum.reduceat(number, first)
    mixed = settled != np.minimum.reduceat(number, first)
    settled[mixed] = ScalarType.FLOAT
    step, wall, value = _gather(blocks, POINT_COLUMNS, joints)
    _convert_mixed_to_float(value, number, settled, joints)
    return Points(joints.series, joints.starts, settled, step, wall, value)


def merge_references(blocks: Sequence[References]) -> References:
    """Join blocks; the rows of a series stay in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    joints = _plan_merge(blocks)
    return References(joints.series, joints.starts, *_gather(blocks, REFERENCE_COLUMNS, joints))


@dataclass(frozen=True, slots=True)
class _MergePlan:
    """How the pieces of several blocks (a piece: one block's rows of one series) are laid out."""

    order: Int64  # the pieces by series, and by block within a series
    source: Int64  # first row of each piece in the concatenated columns, in that order
    length: Int64
    first_of_series: Int64  # the first piece of each series
    series: Int32
    starts: Int64  # first row of each series in the joined columns, and the end


def _plan_merge(blocks: Sequence[Points] | Sequence[References]) -> _MergePlan:
    owner = np.concatenate([block.series for block in blocks])
    length = np.concatenate([np.diff(block.starts) for block in blocks])
    source = np.cumsum(length) - length  # pieces follow each other without gaps
    order = np.argsort(owner, kind="stable")
    owner, length, source = owner[order], length[order], source[order]
    first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    starts = np.r_[0, np.cumsum(np.add.reduceat(length, first))]
    return _MergePlan(order, source, length, first, owner[first], starts)


def _gather(
    blocks: Sequence[Points] | Sequence[References], columns: Sequence[str], joints: _MergePlan
) -> list[np.ndarray]:
    target = np.cumsum(joints.length) - joints.length
    rows = np.repeat(joints.source - target, joints.length)
    rows += np.arange(len(rows))
    return [
        np.concatenate([getattr(block, column) for block in blocks]).take(rows)
        for column in columns
    ]


def _convert_mixed_to_float(
    value: Float64, number: np.ndarray, settled: np.ndarray, joints: _MergePlan
) -> None:
    """Make floats of the integers in series that turned out to hold both."""
    pieces_of_series = np.diff(np.r_[joints.first_of_series, len(joints.length)])
    wanted = np.repeat(settled, pieces_of_series)
    end = np.cumsum(joints.length)
    for piece in np.flatnonzero(number != wanted):
        rows = slice(end[piece] - joints.length[piece], end[piece])
        value[rows] = value[rows].view(ScalarType(number[piece]).dtype).astype(np.float64)


# The rows of one session of a file: blocks in the order written, few of them at any time.

#: As long as there are no more blocks than this, looking into each costs less than joining them.
MAX_UNMERGED_BLOCKS = 8


class BlockList(Generic[RowsT]):
    """Blocks in the order written; the first ``stored`` of them stand in the cache."""

    __slots__ = ("_merge", "blocks", "stored_count")

    def __init__(self, merge: Callable[[Sequence[RowsT]], RowsT]) -> None:
        self._merge: Callable[[Sequence[RowsT]], RowsT] = merge
        self.blocks: list[Block[RowsT]] = []
        self.stored_count = 0

    def append(self, rows: RowsT) -> None:
        if len(rows.step):
            self.blocks.append(Block(rows))

    def compact(self) -> None:
        """Join the latest blocks in memory when there are many.

        A block is joined with those after it once they are half its size together, so that there
        are about log(rows) blocks and each row is moved about that often in all.
        """
        if len(self.blocks) - self.stored_count <= MAX_UNMERGED_BLOCKS:
            return
        first = len(self.blocks) - 2
        rows = len(self.blocks[-1]) + len(self.blocks[-2])
        while first > self.stored_count and 2 * rows >= len(self.blocks[first - 1]):
            first -= 1
            rows += len(self.blocks[first])
        joined = Block(self._merge([block.rows for block in self.blocks[first:]]))
        self.blocks[first:] = [joined]

    def merge_unstored(self) -> Block[RowsT] | None:
        """All rows that are not in the cache, as one block."""
        return join_blocks(self.blocks[self.stored_count :], self._merge)

    def replace_unstored(self, block: Block[RowsT] | None) -> None:
        """Put a block that stands in the cache in the place of the rows in memory."""
        self.blocks[self.stored_count :] = [block] if block is not None else []
        self.stored_count = len(self.blocks)

    def count_unstored_rows(self) -> int:
        return sum(len(block) for block in self.blocks[self.stored_count :])


class FileSession:
    """What was written from one SessionLog.START, or the file's beginning, to the next."""

    __slots__ = ("points", "references", "start")

    def __init__(self, start: int | None = None) -> None:
        self.start = start
        self.points: BlockList[Points] = BlockList(merge_points)
        self.references: BlockList[References] = BlockList(merge_references)


# A stretch of one event file, as read: what the cache stores and gives back.

#: Places of damage that are remembered for a file; more are only counted.
MAX_DAMAGE_ENTRIES = 100


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows a segment adds to one session of its file."""

    session: int
    start: int | None
    points: Block[Points] | None
    references: Block[References] | None


class SegmentOrigin(msgspec.Struct, frozen=True, array_like=True):
    """Which bytes a segment was read from, so that it is never taken for those of another file."""

    path: str
    begin: int
    end: int
    stat: FileStat
    fingerprint: Fingerprint | None


class FileState(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a file as a whole once a segment has been read."""

    records: int
    damaged: int
    damage: tuple[Damage, ...]
    first_wall: float
    last_wall: float
    writer: bytes | None


@dataclass(frozen=True, slots=True)
class Segment:
    """New knowledge of one file; its tags and sessions go on from those before it."""

    origin: SegmentOrigin
    state: FileState
    tags: tuple[bytes, ...]
    contents: tuple[int, ...]
    metadata: tuple[tuple[int, bytes], ...]
    sessions: tuple[SessionRows, ...]


def join_segments(chain: Sequence[Segment]) -> Segment:
    """One segment in the place of several that follow each other in one file."""
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
            pieces[0].start,
            join_blocks([p.points for p in pieces if p.points], merge_points),
            join_blocks([p.references for p in pieces if p.references], merge_references),
        )
        for number, pieces in by_number.items()
    )
