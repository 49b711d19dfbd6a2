"""List the steps at which values were logged, and read single values.

A value is identified by run, tag and index. Its fingerprint distinguishes it from other values
that may later be at the same index, so that responses for it can be cached forever.
"""

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

_CACHE_BYTES = 64 << 20
#: Values larger than the cache are requested several times in a row and then no more, so they are
#: kept for a short time in a cache of their own.
_LARGE_CACHE_BYTES = 256 << 20
_LARGE_CACHE_IDLE_S = 20.0

#: Odd constants for multiplicative hashing.
_MIX_A = np.uint64(0x9E3779B97F4A7C15)
_MIX_B = np.uint64(0xBF58476D1CE4E5B9)

#: Run, tag, index and fingerprint.
_Key = tuple[str, str, int, int]


class StepsRequest(msgspec.Struct):
    """The steps of some tags; without ``runs``, of all runs that have them."""

    tags: list[str]
    runs: list[str] | None = None
    overwritten: bool = False
    """Include values that were overwritten after a restart."""


class SeriesSteps(msgspec.Struct):
    """The values of one tag of one run, in the order written."""

    run: str
    tag: str
    index: Int32
    """Identifies the value in requests."""
    step: Int64
    wall_time: Float64
    fingerprint: Int32
    """The fingerprint of the value."""


class StepsResponse(msgspec.Struct):
    cursor: str
    series: list[SeriesSteps]


class ValueRequest(msgspec.Struct):
    """One value of a tag of a run, as listed in `SeriesSteps`."""

    run: str
    tag: str
    index: Annotated[int, msgspec.Meta(ge=0)]
    fingerprint: int | None = None
    """The fingerprint; with it the response never changes."""


def has_fingerprint(request: ValueRequest) -> bool:
    """Return whether the response never changes; for `Route.immutable`."""
    return request.fingerprint is not None


def list_steps(context: Context, request: StepsRequest) -> StepsResponse:
    """Return the steps at which some tags were logged, by tag and run."""
    cursor = context.cursor()
    series = [steps for tag in request.tags for steps in _iter_steps(context, tag, request)]
    return StepsResponse(cursor, series)


def _iter_steps(context: Context, tag: str, request: StepsRequest) -> Iterator[SeriesSteps]:
    available = context.log.plugin_data(tag)
    runs = available if request.runs is None else request.runs
    for run in (run for run in runs if run in available):
        locations = context.log.locate(run, tag)
        index = np.arange(len(locations), dtype=np.int32)
        if not request.overwritten:
            index = index[~locations.overwritten]
        if len(index):
            yield SeriesSteps(
                run,
                tag,
                index,
                locations.step[index],
                locations.wall_time[index],
                compute_fingerprints(locations)[index],
            )


def compute_fingerprints(locations: ValueLocations, rows: slice = slice(None)) -> Int32:
    """Return a fingerprint for each value, or for some rows.

    It is a hash of file, position, step and wall time, so that the value need not be read.
    """
    file = locations.file[rows]
    mixed = _hash_paths(locations.paths)[file]
    for column in (locations.record, locations.start, locations.size, locations.step):
        mixed = _mix(mixed ^ column[rows].view(np.uint64))
    mixed = _mix(mixed ^ locations.wall_time[rows].view(np.uint64))
    fingerprints: Int32 = (mixed >> np.uint64(33)).astype(np.int32)
    return fingerprints


@lru_cache(maxsize=64)
def _hash_paths(paths: tuple[str, ...]) -> NDArray[np.uint64]:
    hashes = [zlib.crc32(path.encode("utf-8", "surrogateescape")) for path in paths]
    return np.array(hashes, np.uint64)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * _MIX_A
    mixed: NDArray[np.uint64] = (values ^ (values >> np.uint64(29))) * _MIX_B
    return mixed


class ValueReader:
    """Read and decode values, with a cache. Thread-safe.

    Args:
        context: The context of the dashboard.
        cache_bytes: Size limit of the cache, measured in bytes of the log.
    """

    def __init__(self, context: Context, cache_bytes: int = _CACHE_BYTES) -> None:
        self._log = context.log
        self._cache_bytes = cache_bytes
        self._cache: LruCache[_Key, DecodedValue] = LruCache(max_bytes=cache_bytes)
        self._large_cache: LruCache[_Key, DecodedValue] = LruCache(
            max_bytes=_LARGE_CACHE_BYTES, idle_s=_LARGE_CACHE_IDLE_S
        )

    def read(self, request: ValueRequest) -> DecodedValue:
        """Return one value, decoded according to the kind of its tag.

        Raises:
            LogError: The log does not have the value any more.
            FormatError: The value cannot be decoded.
        """
        locations = self._log.locate(request.run, request.tag)
        fingerprint = _find_fingerprint(locations, request.index)
        if fingerprint is None or request.fingerprint not in (None, fingerprint):
            raise LogError(
                "log.value_gone",
                'the log no longer has this value of "{tag}"; reload the page',
                tag=request.tag,
            )
        key = (request.run, request.tag, request.index, fingerprint)
        value = self._cache.find(key) or self._large_cache.find(key)
        if value is None:
            # Imports protobuf, which a log with scalars only does not need.
            from tracklight.formats.values import decode_value

            data = self._log.read(locations, request.index)
            value = decode_value(data, locations.kind)
            cache = self._cache if len(data) <= self._cache_bytes else self._large_cache
            cache.put(key, value, len(data))
        return value


def _find_fingerprint(locations: ValueLocations, index: int) -> int | None:
    if index >= len(locations):
        return None
    return int(compute_fingerprints(locations, slice(index, index + 1))[0])
