"""At which steps a tag was logged: all that a slider needs, and nothing of the values."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.plugin_base import Context
from tracklight.types import Float64, Int32, Int64, Located

#: Odd constants that spread the bits of a product over its upper half.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)


class StepsAsk(msgspec.Struct):
    """The steps of some tags; ``runs`` null stands for all runs that have them."""

    tags: list[str]
    runs: list[str] | None = None
    overwritten: bool = False
    """Also those whose place a later value took."""


class SeriesSteps(msgspec.Struct):
    """The values of one tag of one run, in the order written."""

    run: str
    tag: str
    index: Int32
    """What the value is asked for by."""
    step: Int64
    wall_time: Float64
    mark: Int32
    """Tells the value from any other that may come to stand at its index."""


class StepsAnswer(msgspec.Struct):
    cursor: str
    series: list[SeriesSteps]


def list_steps(context: Context, ask: StepsAsk) -> StepsAnswer:
    """When the values of some tags were logged, run by run."""
    cursor = context.cursor()
    return StepsAnswer(
        cursor, [steps for tag in ask.tags for steps in _iter_steps(context, tag, ask)]
    )


def make_marks(located: Located, at: slice = slice(None)) -> Int32:
    """A number for each value, or for some, by which an address can name it for good.

    Where a value stands and when it was logged tell it from all that could take its place, and
    neither has to be read from the file.
    """
    file = located.file[at]
    mixed = _hash_paths(located.paths)[file]
    for column in (located.record, located.start, located.size, located.step):
        mixed = _stir(mixed ^ column[at].view(np.uint64))
    mixed = _stir(mixed ^ located.wall_time[at].view(np.uint64))
    marks: Int32 = (mixed >> np.uint64(33)).astype(np.int32)
    return marks


@lru_cache(maxsize=64)
def _hash_paths(paths: tuple[str, ...]) -> NDArray[np.uint64]:
    hashes = [zlib.crc32(path.encode("utf-8", "surrogateescape")) for path in paths]
    return np.array(hashes, np.uint64)


def _stir(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _SPREAD
    stirred: NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(29))) * _STIR
    return stirred


def _iter_steps(context: Context, tag: str, ask: StepsAsk) -> Iterator[SeriesSteps]:
    having = context.log.plugin_data(tag)
    for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
        located = context.log.located(run, tag)
        kept = np.arange(len(located), dtype=np.int32)
        if not ask.overwritten:
            kept = kept[~located.overwritten]
        if len(kept):
            yield SeriesSteps(
                run,
                tag,
                kept,
                located.step[kept],
                located.wall_time[kept],
                make_marks(located)[kept],
            )
