"""At which steps a tag was logged: all that a slider needs, and nothing of the values."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.source import Context
from tracklight.errors import LogError
from tracklight.types import Float64, Int32, Int64, ValueLocations
from tracklight.util.lru_cache import LruCache

if TYPE_CHECKING:
    from tracklight.formats.values import DecodedValue

#: Odd constants that spread the bits of a product over its upper half.
_MIX_A = np.uint64(0x9E3779B97F4A7C15)

_MIX_B = np.uint64(0xBF58476D1CE4E5B9)


class StepsRequest(msgspec.Struct):
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


class StepsResponse(msgspec.Struct):
    cursor: str
    series: list[SeriesSteps]


def list_steps(context: Context, ask: StepsRequest) -> StepsResponse:
    """When the values of some tags were logged, run by run."""
    cursor = context.cursor()
    return StepsResponse(
        cursor, [steps for tag in ask.tags for steps in _iter_steps(context, tag, ask)]
    )


def compute_fingerprints(located: ValueLocations, at: slice = slice(None)) -> Int32:
    """A number for each value, or for some, by which an address can name it for good.

    Where a value stands and when it was logged tell it from all that could take its place, and
    neither has to be read from the file.
    """
    file = located.file[at]
    mixed = _hash_paths(located.paths)[file]
    for column in (located.record, located.start, located.size, located.step):
        mixed = _mix(mixed ^ column[at].view(np.uint64))
    mixed = _mix(mixed ^ located.wall_time[at].view(np.uint64))
    marks: Int32 = (mixed >> np.uint64(33)).astype(np.int32)
    return marks


@lru_cache(maxsize=64)
def _hash_paths(paths: tuple[str, ...]) -> NDArray[np.uint64]:
    hashes = [zlib.crc32(path.encode("utf-8", "surrogateescape")) for path in paths]
    return np.array(hashes, np.uint64)


def _mix(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX_A
    stirred: NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(29))) * _MIX_B
    return stirred


def _iter_steps(context: Context, tag: str, ask: StepsRequest) -> Iterator[SeriesSteps]:
    having = context.log.plugin_data(tag)
    for run in having if ask.runs is None else [run for run in ask.runs if run in having]:
        located = context.log.locate(run, tag)
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
                compute_fingerprints(located)[kept],
            )


# Reads values and keeps the last ones decoded, within a bound.

_Key = tuple[str, str, int, int]

_KEPT_BYTES = 64 << 20

#: A value that is larger than all that is kept is asked for several times in a row, and then not.
_LARGE_BYTES = 256 << 20

_LARGE_IDLE_S = 20.0


class ValueRequest(msgspec.Struct):
    """One value of a tag of a run, as `SeriesSteps` tells of it."""

    run: str
    tag: str
    index: Annotated[int, msgspec.Meta(ge=0)]
    mark: int | None = None
    """With it, the answer can never be another one."""


def has_fingerprint(ask: ValueRequest) -> bool:
    """Whether the ask names its value for good: what `Route.immutable` wants to know."""
    return ask.mark is not None


class ValueReader:
    """The values of a log for a dashboard; may be asked from any thread."""

    def __init__(self, context: Context, kept_bytes: int = _KEPT_BYTES) -> None:
        self._log = context.log
        self._kept_bytes = kept_bytes
        self._cache: LruCache[_Key, DecodedValue] = LruCache(max_bytes=kept_bytes)
        self._large_cache: LruCache[_Key, DecodedValue] = LruCache(
            max_bytes=_LARGE_BYTES, idle_s=_LARGE_IDLE_S
        )

    def read(self, ask: ValueRequest) -> DecodedValue:
        """The value, decoded as its kind says."""
        located = self._log.locate(ask.run, ask.tag)
        mark = _find_fingerprint(located, ask.index)
        if mark is None or ask.mark not in (None, mark):
            raise LogError(f'the log no longer has this value of "{ask.tag}"; load the page again')
        key = (ask.run, ask.tag, ask.index, mark)
        found = self._cache.find(key) or self._large_cache.find(key)
        if found is None:
            # Decoding brings protobuf in, which a board of scalars never needs.
            from tracklight.formats.values import decode_value

            data = self._log.read(located, ask.index)
            found = decode_value(data, located.kind)
            cache = self._cache if len(data) <= self._kept_bytes else self._large_cache
            cache.put(key, found, len(data))
        return found


def _find_fingerprint(located: ValueLocations, index: int) -> int | None:
    return (
        int(compute_fingerprints(located, slice(index, index + 1))[0])
        if index < len(located)
        else None
    )
