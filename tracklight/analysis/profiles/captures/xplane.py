"""Turns an XSpace of TensorFlow or JAX into a trace."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import StringInterner, unique_inverse
from tracklight.analysis.profiles.captures.metadata import parse_versions, parse_xplane_device
from tracklight.analysis.profiles.captures.timestamps import (
    iter_implausible_warnings,
    mask_plausible_events,
)
from tracklight.analysis.profiles.trace import FLOAT, INT, TEXT, ArgTable, Device, Trace, Track
from tracklight.formats.profiles import xplane
from tracklight.formats.profiles.xplane import XLine, XPlane, XSpace, scan_xstat
from tracklight.formats.wire_format import decode_text
from tracklight.types import Float64, Int32, Int64

_ENVIRONMENT_PLANE = "Task Environment"
_CUDA_GRAPH_SUFFIX = " (CudaGraph:"
_METADATA_PLANE = "/host:metadata"
_PS_PER_NS = 1_000
#: Some hundred days; no profiler runs as long.
_MIN_EPOCH_NS = 1 << 53
_MAX_PS = 1 << 62
Number = TypeVar("Number", np.int64, np.int32, np.uint8, np.float64)
#: No text is longer than this, however well it was packed.
_MAX_TEXT_BYTES = 1 << 24


def parse_xplane(data: bytes) -> Trace:
    """Read a file; what is wrong with it stands in the trace's ``problems``."""
    space = xplane.parse_xspace(data)
    names, keys, texts = StringInterner(), StringInterner(), _TextTable(space)
    parts = list(_iter_lines(space, names, keys, texts))
    tracks = tuple(part.track for part in parts)
    counts = [len(part.start_ps) for part in parts]
    track = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    start, duration = (
        _concat((p.start_ps for p in parts), np.int64),
        _concat((p.duration_ps for p in parts), np.int64),
    )
    possible = mask_plausible_events(
        _concat((p.approx_start_ps for p in parts), np.float64), duration
    )
    order = _sort_events(track, start, duration)
    order = order[possible[order]]
    return Trace(
        tracks=tracks,
        names=tuple(names.interned),
        categories=("",),
        track=track[order],
        name=_concat((p.name for p in parts), np.int32)[order],
        category=np.zeros(len(order), np.int32),
        start_ps=start[order],
        duration_ps=duration[order],
        arg_keys=tuple(keys.interned),
        args=_concat_args(parts, order),
        get_text=texts.get,
        start_time_ns=_get_start_time_ns(space),
        problems=tuple(
            filter(None, [space.problem, *iter_implausible_warnings(possible), *space.messages])
        ),
        iter_hlo_protos=partial(xplane.iter_hlo_protos, data),
        devices=tuple(_iter_devices(space, texts)),
        environment=_parse_environment(space, texts),
    )


def _sort_events(track: Int32, start: Int64, duration: Int64) -> Int64:
    """By track, then by start, the longer first, which is how profilers mostly write."""
    tied = (start[1:] == start[:-1]) & (duration[1:] <= duration[:-1])
    if (tied | (start[1:] > start[:-1]) | (track[1:] != track[:-1])).all():
        return np.arange(len(start))
    return np.lexsort((-duration, start, track))


class _LineEvents(NamedTuple):
    """One line."""

    track: Track
    name: Int32
    start_ps: Int64
    approx_start_ps: Float64
    """The same less exactly, and right as well where it does not fit 64 bits."""
    duration_ps: Int64
    args: ArgTable


class _TextTable:
    """Texts by number: those of a plane's table, and those that stand in the file."""

    def __init__(self, space: XSpace) -> None:
        self._data = space.data
        self._known = StringInterner()
        self._spans: list[Int64] = []
        self._firsts = [0]

    def add_text(self, text: str) -> int:
        return 2 * self._known.intern(text)

    def add_spans(self, rows: Int64) -> Int64:
        """Number the texts that rows of stats point to."""
        first, end = self._firsts[-1], self._firsts[-1] + len(rows)
        self._spans.append(rows[:, 1:].copy())
        self._firsts.append(end)
        return 2 * np.arange(first, end, dtype=np.int64) + 1

    def get(self, number: int) -> str:
        if number % 2 == 0:
            return self._known.interned[number // 2]
        chunk = bisect_right(self._firsts, number // 2) - 1
        kind, at, size = self._spans[chunk][number // 2 - self._firsts[chunk]].tolist()
        data = self._data[at : at + size]
        if kind == xplane.BYTES:
            return f"{size} bytes"
        return decode_text(_decompress(data) if kind == xplane.PACKED_TEXT else data)


def _decompress(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MAX_TEXT_BYTES)
    except zlib.error:
        return b"(packed text that cannot be unpacked)"


def _iter_lines(
    space: XSpace, names: StringInterner, keys: StringInterner, texts: _TextTable
) -> Iterator[_LineEvents]:
    base_ns = _get_base_ns(space)
    for plane in space.planes:
        while plane.lines:  # what was read of one is not kept for the others
            yield _read_line(plane, plane.lines.pop(0), base_ns, names, keys, texts)


def _get_base_ns(space: XSpace) -> int:
    """From when times count: mostly from when the profiler began, but from 1970 in some files."""
    first = min((line.timestamp_ns for plane in space.planes for line in plane.lines), default=0)
    return first if first > _MIN_EPOCH_NS else 0


def _read_line(
    plane: XPlane,
    line: XLine,
    base_ns: int,
    names: StringInterner,
    keys: StringInterner,
    texts: _TextTable,
) -> _LineEvents:
    events = line.events[:-1]
    track = Track(plane.name, line.name, line.id, plane.name.startswith("/device:"))
    name = _intern_names(events[:, 0], plane.event_names, names)
    event = np.repeat(np.arange(len(events)), np.diff(line.events[:, 4]))
    begins_ps = (line.timestamp_ns - base_ns) * _PS_PER_NS
    start = events[:, 1] + max(min(begins_ps, _MAX_PS), -_MAX_PS)
    moment = events[:, 1].astype(np.float64) + float(begins_ps)
    said = _read_stats(plane, line.stats, event, keys, texts)
    return _LineEvents(track, name, start, moment, np.maximum(events[:, 2], 0), said)


def _read_stats(
    plane: XPlane, stats: Int64, event: Int64, keys: StringInterner, texts: _TextTable
) -> ArgTable:
    key = _intern_names(stats[:, 0], plane.stat_names, keys)
    field, bits = stats[:, 1], stats[:, 2].copy()
    kind = np.full(len(stats), INT, np.uint8)
    kind[field == xplane.DOUBLE] = FLOAT
    refers = np.flatnonzero(field == xplane.REFERENCE)
    unlike, which = unique_inverse(bits[refers])
    known = [texts.add_text(plane.stat_names.get(each, "")) for each in unlike.tolist()]
    bits[refers] = np.array(known, np.int64)[which]
    is_text = (field == xplane.TEXT) | (field == xplane.BYTES) | (field == xplane.PACKED_TEXT)
    points = np.flatnonzero(is_text)
    bits[points] = texts.add_spans(stats[points])
    kind[refers] = kind[points] = TEXT
    return ArgTable(event, key, kind, bits)


def _intern_names(numbers: Int64, known: dict[int, str], words: StringInterner) -> Int32:
    """Number names; calls that only name another graph each time are calls of one name."""
    unlike, which = unique_inverse(numbers)
    places = [
        words[known.get(each, "?").partition(_CUDA_GRAPH_SUFFIX)[0]] for each in unlike.tolist()
    ]
    return np.array(places, np.int32)[which]


def _concat(columns: Iterable[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    """As `np.concatenate`, of no columns as well."""
    return np.concatenate([np.empty(0, dtype), *columns])


def _concat_args(parts: list[_LineEvents], order: Int64) -> ArgTable:
    """All that is said, of the events as they are ordered."""
    firsts = np.cumsum([0, *(len(part.start_ps) for part in parts)]).tolist()
    event = _concat(
        (part.args.event + first for part, first in zip(parts, firsts, strict=False)), np.int64
    )
    said = ArgTable(
        event,
        _concat((part.args.key for part in parts), np.int32),
        _concat((part.args.kind for part in parts), np.uint8),
        _concat((part.args.bits for part in parts), np.int64),
    )
    return said.reorder(order, firsts[-1])


def _iter_devices(space: XSpace, texts: _TextTable) -> Iterator[Device]:
    for plane in space.planes:
        if plane.name.startswith("/device:"):
            yield parse_xplane_device(dict(_iter_plane_stats(plane, space.data, texts)))


def _parse_environment(space: XSpace, texts: _TextTable) -> tuple[tuple[str, str], ...]:
    about = (plane for plane in space.planes if plane.name == _METADATA_PLANE)
    said = (pair for plane in about for pair in _iter_plane_stats(plane, space.data, texts))
    return parse_versions(dict(said))


def _iter_plane_stats(
    plane: XPlane, data: bytes, texts: _TextTable
) -> Iterator[tuple[str, float | str]]:
    """What is said of a plane itself."""
    for span in plane.stats.tolist():
        key, field, bits, size = scan_xstat(data, *span)
        name = plane.stat_names.get(key, "")
        if field == xplane.REFERENCE:
            yield name, plane.stat_names.get(bits, "")
        elif field == xplane.DOUBLE:
            yield name, float(np.int64(bits).view(np.float64))
        elif field in (xplane.TEXT, xplane.BYTES, xplane.PACKED_TEXT):
            row = np.array([[key, field, bits, size]], np.int64)
            yield name, texts.get(int(texts.add_spans(row)[0]))
        else:
            yield name, bits


def _get_start_time_ns(space: XSpace) -> int:
    for plane in space.planes:
        if plane.name == _ENVIRONMENT_PLANE:
            for key, _, bits, _ in (scan_xstat(space.data, *span) for span in plane.stats.tolist()):
                if plane.stat_names.get(key) == "profile_start_time":
                    return bits
    return 0
