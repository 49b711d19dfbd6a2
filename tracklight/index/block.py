"""Rows grouped by series: finding one series' rows, and joining blocks that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from tracklight.formats.batch import Number, Points, References
from tracklight.types import Bool, Float64, Int32, Int64

POINT_COLUMNS = ("step", "wall", "value")
REFERENCE_COLUMNS = ("step", "wall", "record", "start", "size", "content")


RowsT = TypeVar("RowsT", Points, References)


@dataclass(frozen=True, slots=True)
class Head:
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

    def rows(self, at: int) -> slice:
        return slice(int(self.starts[at]), int(self.starts[at + 1]))


def make_head(rows: Points | References) -> Head:
    first, last = rows.starts[:-1], rows.starts[1:] - 1
    falls = np.flatnonzero(rows.step[1:] <= rows.step[:-1]) + 1
    owner = np.searchsorted(rows.starts, falls, side="right") - 1
    rises = np.ones(len(rows.series), np.bool_)
    rises[owner[falls != rows.starts[owner]]] = False  # a first row may well fall
    return Head(
        rows.series, rows.starts, rows.step[first], rows.step[last],
        rows.wall[first], rows.wall[last], rises,
    )  # fmt: skip


class Block(Generic[RowsT]):
    """Some rows of one session of one file; they never change."""

    __slots__ = ("_head", "_rows")

    def __init__(self, rows: RowsT) -> None:
        self._rows: RowsT = rows
        self._head: Head | None = None

    def __len__(self) -> int:
        return len(self._rows.step)

    @property
    def head(self) -> Head:
        if self._head is None:
            self._head = make_head(self._rows)
        return self._head

    @property
    def rows(self) -> RowsT:
        """All rows; `series_rows` is what to ask for when one series is wanted."""
        return self._rows

    def rows_with(self, places: Sequence[int]) -> RowsT:
        """All rows, of which those of some series are wanted."""
        return self._rows

    def series_rows(self, at: int) -> tuple[RowsT, slice]:
        """The rows of one series: those of the block, and which of them are its own."""
        return self._rows, self.head.rows(at)


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
    joints = _joints(blocks)
    number = np.concatenate([block.number for block in blocks])[joints.order]
    first = joints.first_of_series
    settled = np.maximum.reduceat(number, first)
    mixed = settled != np.minimum.reduceat(number, first)
    settled[mixed] = Number.FLOAT
    step, wall, value = _gather(blocks, POINT_COLUMNS, joints)
    _turn_to_float(value, number, settled, joints)
    return Points(joints.series, joints.starts, settled, step, wall, value)


def merge_references(blocks: Sequence[References]) -> References:
    """Join blocks; the rows of a series stay in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    joints = _joints(blocks)
    return References(joints.series, joints.starts, *_gather(blocks, REFERENCE_COLUMNS, joints))


@dataclass(frozen=True, slots=True)
class _Joints:
    """How the pieces of several blocks (a piece: one block's rows of one series) are laid out."""

    order: Int64  # the pieces by series, and by block within a series
    source: Int64  # first row of each piece in the concatenated columns, in that order
    length: Int64
    first_of_series: Int64  # the first piece of each series
    series: Int32
    starts: Int64  # first row of each series in the joined columns, and the end


def _joints(blocks: Sequence[Points] | Sequence[References]) -> _Joints:
    owner = np.concatenate([block.series for block in blocks])
    length = np.concatenate([np.diff(block.starts) for block in blocks])
    source = np.cumsum(length) - length  # pieces follow each other without gaps
    order = np.argsort(owner, kind="stable")
    owner, length, source = owner[order], length[order], source[order]
    first = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    starts = np.r_[0, np.cumsum(np.add.reduceat(length, first))]
    return _Joints(order, source, length, first, owner[first], starts)


def _gather(
    blocks: Sequence[Points] | Sequence[References], columns: Sequence[str], joints: _Joints
) -> list[np.ndarray]:
    target = np.cumsum(joints.length) - joints.length
    rows = np.repeat(joints.source - target, joints.length)
    rows += np.arange(len(rows))
    return [
        np.concatenate([getattr(block, column) for block in blocks]).take(rows)
        for column in columns
    ]


def _turn_to_float(
    value: Float64, number: np.ndarray, settled: np.ndarray, joints: _Joints
) -> None:
    """Make floats of the integers in series that turned out to hold both."""
    pieces_of_series = np.diff(np.r_[joints.first_of_series, len(joints.length)])
    wanted = np.repeat(settled, pieces_of_series)
    end = np.cumsum(joints.length)
    for piece in np.flatnonzero(number != wanted):
        rows = slice(end[piece] - joints.length[piece], end[piece])
        value[rows] = value[rows].view(Number(number[piece]).dtype).astype(np.float64)
