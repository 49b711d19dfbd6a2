"""The last points of series, without putting whole series together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats.batch import Number, Points
from tracklight.index.block import Block
from tracklight.index.file import EventFile
from tracklight.index.run import RunIndex
from tracklight.types import Point


def find_last_points(run: RunIndex, tags: Sequence[str]) -> list[Point | None]:
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
            for series, point in _iter_last(block, [*wanted]):
                found[wanted.pop(series)] = point
            if not wanted:
                break
        left = [place for place in left if found[place] is None]
    return found


def _iter_last(block: Block[Points], wanted: list[int]) -> Iterator[tuple[int, Point]]:
    """The last points of those series that the block has."""
    head = block.head
    at = np.minimum(np.searchsorted(head.series, wanted), len(head.series) - 1)
    there = np.flatnonzero(head.series[at] == wanted) if len(head.series) else at[:0]
    places = at[there]
    rows = block.rows_with(places.tolist())
    last = head.starts[places + 1] - 1
    values = _read(rows.value[last], rows.number[places])
    columns = rows.step[last].tolist(), rows.wall[last].tolist(), values
    for place, *point in zip(there.tolist(), *columns, strict=True):
        yield wanted[place], Point(*point)


def _read(raw: NDArray[Any], numbers: NDArray[Any]) -> list[float]:
    if not numbers.any():  # all of them floating point, as most are
        floats: list[float] = raw.view(Number.FLOAT.dtype).tolist()
        return floats
    pairs = zip(raw, numbers.tolist(), strict=True)
    return [float(value.view(Number(number).dtype)) for value, number in pairs]


def _iter_backwards(file: EventFile) -> Iterator[Block[Points]]:
    for session in reversed(file.sessions):
        yield from reversed(session.points.blocks)
