"""The last point of a series, without putting the whole series together."""

from __future__ import annotations

from collections.abc import Iterator

from tracklight.formats.batch import Number, Points
from tracklight.index.block import Block
from tracklight.index.file import EventFile
from tracklight.index.run import RunIndex
from tracklight.types import Point


def find_last_point(run: RunIndex, tag: str) -> Point | None:
    """The point of a tag that was written last; None where the run has none."""
    for number, series in reversed(run.sources().get(tag, ())):
        for block in _iter_backwards(run.files[number]):
            at = block.head.find(series)
            if at is not None:
                return _last_of(block, at)
    return None


def _iter_backwards(file: EventFile) -> Iterator[Block[Points]]:
    for session in reversed(file.sessions):
        yield from reversed(session.points.blocks)


def _last_of(block: Block[Points], at: int) -> Point:
    rows, where = block.series_rows(at)
    row = where.stop - 1
    value = rows.value[row : where.stop].view(Number(rows.number[at]).dtype)[0]
    return Point(int(rows.step[row]), float(rows.wall[row]), float(value))
