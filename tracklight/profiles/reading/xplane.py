"""Turns an XSpace of TensorFlow or JAX into a trace."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import xplane
from tracklight.formats.event import decode_text
from tracklight.formats.xplane import Line, Plane, Space
from tracklight.formats.xplane_lines import scan_stat
from tracklight.profiles.columns.numbering import number
from tracklight.profiles.devices import Device, read_plane_device
from tracklight.profiles.reading.moments import find_possible, tell_impossible
from tracklight.profiles.reading.versions import read_versions
from tracklight.profiles.reading.words import Words
from tracklight.profiles.trace import REAL, TEXT, WHOLE, Said, Trace, Track
from tracklight.types import Float64, Int32, Int64

_ENVIRONMENT = "Task Environment"
_GRAPH = " (CudaGraph:"
_ABOUT = "/host:metadata"
_NS = 1_000
#: Some hundred days; no profiler runs as long.
_LONG_AGO_NS = 1 << 53
_MOST_PS = 1 << 62
Number = TypeVar("Number", np.int64, np.int32, np.uint8, np.float64)
#: No text is longer than this, however well it was packed.
_MOST_UNPACKED = 1 << 24


def read_xplane(data: bytes) -> Trace:
    """Read a file; what is wrong with it stands in the trace's ``problems``."""
    space = xplane.read_space(data)
    names, keys, texts = Words(), Words(), _Texts(space)
    parts = list(_iter_parts(space, names, keys, texts))
    tracks = tuple(part.track for part in parts)
    counts = [len(part.start_ps) for part in parts]
    track = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    start, duration = (
        _join((p.start_ps for p in parts), np.int64),
        _join((p.duration_ps for p in parts), np.int64),
    )
    possible = find_possible(_join((p.moment_ps for p in parts), np.float64), duration)
    order = _find_order(track, start, duration)
    order = order[possible[order]]
    return Trace(
        tracks=tracks,
        names=tuple(names.all),
        categories=("",),
        track=track[order],
        name=_join((p.name for p in parts), np.int32)[order],
        category=np.zeros(len(order), np.int32),
        start_ps=start[order],
        duration_ps=duration[order],
        keys=tuple(keys.all),
        said=_join_said(parts, order),
        read_text=texts.read,
        began_ns=_find_beginning(space),
        problems=tuple(filter(None, [space.problem, *tell_impossible(possible), *space.said])),
        iter_programs=partial(xplane.iter_programs, data),
        devices=tuple(_iter_devices(space, texts)),
        environment=_find_environment(space, texts),
    )


def _find_order(track: Int32, start: Int64, duration: Int64) -> Int64:
    """By track, then by start, the longer first, which is how profilers mostly write."""
    tied = (start[1:] == start[:-1]) & (duration[1:] <= duration[:-1])
    if (tied | (start[1:] > start[:-1]) | (track[1:] != track[:-1])).all():
        return np.arange(len(start))
    return np.lexsort((-duration, start, track))


class _Part(NamedTuple):
    """One line."""

    track: Track
    name: Int32
    start_ps: Int64
    moment_ps: Float64
    """The same less exactly, and right as well where it does not fit 64 bits."""
    duration_ps: Int64
    said: Said


class _Texts:
    """Texts by number: those of a plane's table, and those that stand in the file."""

    def __init__(self, space: Space) -> None:
        self._data = space.data
        self._known = Words()
        self._spans: list[Int64] = []
        self._firsts = [0]

    def refer(self, text: str) -> int:
        return 2 * self._known.place(text)

    def point(self, rows: Int64) -> Int64:
        """Number the texts that rows of stats point to."""
        first, end = self._firsts[-1], self._firsts[-1] + len(rows)
        self._spans.append(rows[:, 1:].copy())
        self._firsts.append(end)
        return 2 * np.arange(first, end, dtype=np.int64) + 1

    def read(self, number: int) -> str:
        if number % 2 == 0:
            return self._known.all[number // 2]
        chunk = bisect_right(self._firsts, number // 2) - 1
        kind, at, size = self._spans[chunk][number // 2 - self._firsts[chunk]].tolist()
        data = self._data[at : at + size]
        if kind == xplane.BYTES:
            return f"{size} bytes"
        return decode_text(_unpack(data) if kind == xplane.PACKED_TEXT else data)


def _unpack(data: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, _MOST_UNPACKED)
    except zlib.error:
        return b"(packed text that cannot be unpacked)"


def _iter_parts(space: Space, names: Words, keys: Words, texts: _Texts) -> Iterator[_Part]:
    base_ns = _find_base_ns(space)
    for plane in space.planes:
        while plane.lines:  # what was read of one is not kept for the others
            yield _read_line(plane, plane.lines.pop(0), base_ns, names, keys, texts)


def _find_base_ns(space: Space) -> int:
    """From when times count: mostly from when the profiler began, but from 1970 in some files."""
    first = min((line.begins_ns for plane in space.planes for line in plane.lines), default=0)
    return first if first > _LONG_AGO_NS else 0


def _read_line(
    plane: Plane, line: Line, base_ns: int, names: Words, keys: Words, texts: _Texts
) -> _Part:
    events = line.events[:-1]
    track = Track(plane.name, line.name, line.id, plane.name.startswith("/device:"))
    name = _look_up(events[:, 0], plane.event_names, names)
    event = np.repeat(np.arange(len(events)), np.diff(line.events[:, 4]))
    begins_ps = (line.begins_ns - base_ns) * _NS
    start = events[:, 1] + max(min(begins_ps, _MOST_PS), -_MOST_PS)
    moment = events[:, 1].astype(np.float64) + float(begins_ps)
    said = _read_stats(plane, line.stats, event, keys, texts)
    return _Part(track, name, start, moment, np.maximum(events[:, 2], 0), said)


def _read_stats(plane: Plane, stats: Int64, event: Int64, keys: Words, texts: _Texts) -> Said:
    key = _look_up(stats[:, 0], plane.stat_names, keys)
    field, bits = stats[:, 1], stats[:, 2].copy()
    kind = np.full(len(stats), WHOLE, np.uint8)
    kind[field == xplane.DOUBLE] = REAL
    refers = np.flatnonzero(field == xplane.REFERENCE)
    unlike, which = number(bits[refers])
    known = [texts.refer(plane.stat_names.get(each, "")) for each in unlike.tolist()]
    bits[refers] = np.array(known, np.int64)[which]
    is_text = (field == xplane.TEXT) | (field == xplane.BYTES) | (field == xplane.PACKED_TEXT)
    points = np.flatnonzero(is_text)
    bits[points] = texts.point(stats[points])
    kind[refers] = kind[points] = TEXT
    return Said(event, key, kind, bits)


def _look_up(numbers: Int64, known: dict[int, str], words: Words) -> Int32:
    """Number names; calls that only name another graph each time are calls of one name."""
    unlike, which = number(numbers)
    places = [words[known.get(each, "?").partition(_GRAPH)[0]] for each in unlike.tolist()]
    return np.array(places, np.int32)[which]


def _join(columns: Iterable[NDArray[Number]], dtype: type[Number]) -> NDArray[Number]:
    """As `np.concatenate`, of no columns as well."""
    return np.concatenate([np.empty(0, dtype), *columns])


def _join_said(parts: list[_Part], order: Int64) -> Said:
    """All that is said, of the events as they are ordered."""
    firsts = np.cumsum([0, *(len(part.start_ps) for part in parts)]).tolist()
    event = _join(
        (part.said.event + first for part, first in zip(parts, firsts, strict=False)), np.int64
    )
    said = Said(
        event,
        _join((part.said.key for part in parts), np.int32),
        _join((part.said.kind for part in parts), np.uint8),
        _join((part.said.bits for part in parts), np.int64),
    )
    return said.move(order, firsts[-1])


def _iter_devices(space: Space, texts: _Texts) -> Iterator[Device]:
    for plane in space.planes:
        if plane.name.startswith("/device:"):
            yield read_plane_device(dict(_iter_said_of(plane, space.data, texts)))


def _find_environment(space: Space, texts: _Texts) -> tuple[tuple[str, str], ...]:
    about = (plane for plane in space.planes if plane.name == _ABOUT)
    said = (pair for plane in about for pair in _iter_said_of(plane, space.data, texts))
    return read_versions(dict(said))


def _iter_said_of(plane: Plane, data: bytes, texts: _Texts) -> Iterator[tuple[str, float | str]]:
    """What is said of a plane itself."""
    for span in plane.stats.tolist():
        key, field, bits, size = scan_stat(data, *span)
        name = plane.stat_names.get(key, "")
        if field == xplane.REFERENCE:
            yield name, plane.stat_names.get(bits, "")
        elif field == xplane.DOUBLE:
            yield name, float(np.int64(bits).view(np.float64))
        elif field in (xplane.TEXT, xplane.BYTES, xplane.PACKED_TEXT):
            row = np.array([[key, field, bits, size]], np.int64)
            yield name, texts.read(int(texts.point(row)[0]))
        else:
            yield name, bits


def _find_beginning(space: Space) -> int:
    for plane in space.planes:
        if plane.name == _ENVIRONMENT:
            for key, _, bits, _ in (scan_stat(space.data, *span) for span in plane.stats.tolist()):
                if plane.stat_names.get(key) == "profile_start_time":
                    return bits
    return 0
