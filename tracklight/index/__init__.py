"""The index of a log: runs, tags and series read from event files, cached on disk.

May import `tracklight.formats`, `tracklight.logdir`, `tracklight.types`, `tracklight.errors` and
`tracklight.util`.

Storage, from the top down:

- `catalog`: the index of a whole log; start reading here.
- `shard`: the runs of a log that one lock protects; reads files and answers queries.
- `run` and `tags`: assemble series and list tags from the event files of a run.
- `event_file`: what was read from one event file, and reading on when it grows.
- `pack` and `cache`: the on-disk cache of the columns that are defined here.

Queries:

- `series_query`: choose an axis, smoothing and a baseline for a series, giving a `Curve`.
- `downsampling`: sample a curve, or reduce it to pixels.

This module has the columns of rows read from event files, and the inner loops over them. A *block*
holds the rows (scalar points, or references to other values) of many series, grouped by series. A
file consists of *sessions*, each with a list of blocks in the order written. A *segment* is
everything read from a byte range of one file; the cache stores segments.

`loops` is the compiled module `_loops`, or `NumpyLoops` where that could not be built; tests
compare the two. Non-finite values are never averaged, ranked or drawn: smoothing leaves them in
place and otherwise ignores them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec
import numpy as np

from tracklight.formats.batch import Damage, Points, References, ScalarType
from tracklight.logdir.filesystem import FileStat
from tracklight.logdir.tail import Fingerprint
from tracklight.types import Bool, Float64, Int32, Int64

#: Windows are processed in chunks of this many values.
_CHUNK_VALUES = 1 << 20


class Loops(Protocol):
    """The interface of both. Columns have the same length; ``out`` is filled."""

    def locate_extremes(self, value: Float64, nonfinite: Int64) -> tuple[int, int, int]:
        """Find the lowest, highest and non-finite values.

        Args:
            value: The column.
            nonfinite: Filled with the rows of the first non-finite values.

        Returns:
            The rows of the lowest and highest finite value (-1 if there are none), and the number
            of non-finite values.
        """

    def summarize_rows(self, value: Float64, starts: Int64, out: Float64) -> None:
        """Compute last, lowest finite and highest finite value of consecutive ranges of rows.

        Args:
            value: The column.
            starts: The first row of each range, none of them empty, and the end of the last one.
            out: Three rows, one per result; NaN for ranges without a finite value.
        """

    def is_sorted(self, column: Float64 | Int64) -> bool:
        """Return whether a column never decreases and, if longer than one, has no NaN."""

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        """Compute the exponential moving average with bias correction, as TensorBoard does."""

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        """Compute an average in which the weight of a point halves every ``half_life`` steps."""

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the mean over a window of ``before`` and ``after`` points around each point."""

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the median over the same window as `mean`."""

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        """Compute last smoothed, last, lowest and highest value between consecutive edges.

        Args:
            x: Sorted, and between the first and the last edge.
            value: The column.
            smooth: The smoothed column.
            edges: The edges of the bins.
            out: Four rows, one per result; NaN for bins without a finite value.
        """


class NumpyLoops:
    """The loops in NumPy."""

    def locate_extremes(self, value: Float64, nonfinite: Int64) -> tuple[int, int, int]:
        is_finite = np.isfinite(value)
        rows = np.flatnonzero(~is_finite)
        nonfinite[: len(rows)] = rows[: len(nonfinite)]
        if len(rows) == len(value):
            return -1, -1, len(rows)
        lowest = np.argmin(np.where(is_finite, value, np.inf))
        highest = np.argmax(np.where(is_finite, value, -np.inf))
        return int(lowest), int(highest), len(rows)

    def summarize_rows(self, value: Float64, starts: Int64, out: Float64) -> None:
        finite = np.where(np.isfinite(value), value, np.nan)
        out[0] = value[starts[1:] - 1]
        out[1] = np.fmin.reduceat(finite, starts[:-1])
        out[2] = np.fmax.reduceat(finite, starts[:-1])

    def is_sorted(self, column: Float64 | Int64) -> bool:
        return bool(np.all(column[1:] >= column[:-1]))

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        average, bias = 0.0, 1.0
        for row, v in enumerate(value.tolist()):
            if math.isfinite(v):
                average = weight * average + (1 - weight) * v
                bias = bias * weight if bias > 1e-17 else 0.0
                v = average / (1 - bias) if bias else average
            out[row] = v

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        total, weight, last_step = 0.0, 0.0, 0
        for row, (v, now) in enumerate(zip(value.tolist(), step.tolist(), strict=True)):
            if math.isfinite(v):
                decay = 2.0 ** ((float(last_step) - float(now)) / half_life) if weight else 0.0
                total, weight, last_step = total * decay + v, weight * decay + 1, now
                v = total / weight
            out[row] = v

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        finite = np.isfinite(value)
        totals = _window_sums(np.where(finite, value, 0.0), before, after)
        counts = _window_sums(finite.astype(np.float64), before, after)
        out[:] = value
        np.divide(totals, counts, out=out, where=finite)

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        if not len(value):
            return
        finite = np.isfinite(value)
        padded = np.concatenate(
            [np.full(before, np.nan), np.where(finite, value, np.nan), np.full(after, np.nan)]
        )
        windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
        out[:] = value
        rows = np.flatnonzero(finite)
        for chunk in np.array_split(rows, len(rows) * windows.shape[1] // _CHUNK_VALUES + 1):
            if len(chunk):
                out[chunk] = np.nanmedian(windows[chunk], axis=1)

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        out[:] = np.nan
        finite = np.isfinite(value)
        x, value, smooth = x[finite], value[finite], smooth[finite]
        if not len(x):
            return
        bounds = np.append(np.searchsorted(x, edges[:-1], side="left"), len(x))
        bounds[0] = 0
        filled = np.flatnonzero(np.diff(bounds))
        first, last = bounds[filled], bounds[filled + 1] - 1
        out[0, filled], out[1, filled] = smooth[last], value[last]
        out[2, filled] = np.minimum.reduceat(value, first)
        out[3, filled] = np.maximum.reduceat(value, first)


def _window_sums(value: Float64, before: int, after: int) -> Float64:
    """Return the sum of each window, from the suffix of one block and the prefix of the next.

    Nothing is subtracted from a running sum, so that a large value leaves no rounding error behind
    once it has left the window.
    """
    size = before + after + 1
    blocks = -(-(len(value) + size - 1) // size)
    table = np.zeros(blocks * size)
    table[before : before + len(value)] = value
    rows = table.reshape(blocks, size)
    from_left = np.cumsum(rows, axis=1).ravel()
    to_right = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    first = np.arange(len(value))
    sums: Float64 = to_right[first]
    spans_two = first % size != 0  # a window that is exactly one block is complete already
    sums[spans_two] += from_left[first[spans_two] + size - 1]
    return sums


def _load() -> Loops:
    try:
        from tracklight.index import _loops
    except ImportError:
        return NumpyLoops()
    return _loops


loops = _load()


# ---- blocks and segments

POINT_COLUMNS = ("step", "wall", "value")
REFERENCE_COLUMNS = ("step", "wall", "record", "start", "size", "content")

#: Up to this many blocks, searching all of them costs less than merging them.
MAX_UNMERGED_BLOCKS = 8

#: Pieces with this many rows on average are copied one by one when blocks are merged.
_MIN_PIECE_ROWS = 64

#: Damaged ranges that are remembered for a file; further ones are only counted.
MAX_DAMAGE_ENTRIES = 100

RowsT = TypeVar("RowsT", Points, References)


class BlockHeader(msgspec.Struct, frozen=True):
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


class _MergePlan(msgspec.Struct, frozen=True):
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
    if len(plan.length) * _MIN_PIECE_ROWS <= plan.starts[-1]:
        return _concatenate_pieces(blocks, columns, plan)
    target = np.cumsum(plan.length) - plan.length
    rows = np.repeat(plan.source - target, plan.length)
    rows += np.arange(len(rows))
    return [
        np.concatenate([getattr(block, column) for block in blocks]).take(rows)
        for column in columns
    ]


def _concatenate_pieces(
    blocks: Sequence[Points] | Sequence[References], columns: Sequence[str], plan: _MergePlan
) -> list[np.ndarray]:
    number = np.repeat(np.arange(len(blocks)), [len(block.series) for block in blocks])[plan.order]
    start = np.concatenate([block.starts[:-1] for block in blocks])[plan.order]
    stop = start + plan.length
    pieces = [*zip(number.tolist(), map(slice, start.tolist(), stop.tolist()), strict=True)]
    return [
        np.concatenate([parts[number][rows] for number, rows in pieces])
        for parts in ([getattr(block, column) for block in blocks] for column in columns)
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


class SessionRows(msgspec.Struct, frozen=True):
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


class Segment(msgspec.Struct, frozen=True):
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
