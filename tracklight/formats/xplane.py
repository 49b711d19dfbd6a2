"""Reads an XSpace, the file that TensorFlow's and JAX's profilers write, without either of them.

Only what names things is turned into objects; events stay columns and what is said of them stays
where it stands in the file, to be decoded when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, Field, iter_fields, read_varint
from tracklight.formats.wire_columns import scan_fields
from tracklight.formats.xplane_lines import scan_line, scan_names, scan_stat
from tracklight.types import Int64

_SPACE_PLANES, _SPACE_ERRORS, _SPACE_WARNINGS, _SPACE_HOSTS = 1, 2, 3, 4
_PLANE_NAME, _PLANE_LINES, _PLANE_STATS = 2, 3, 6
#: The tables of a plane: what events, and what is said of them, are called.
_NAMES = (4, 5)
_METADATA_STATS = 5
_SHORTEST_PROGRAM = 100
_THREADS = 4
#: Makes a start and an end of a start and a size.
_SPAN = np.array([[1, 1], [0, 1]])
#: Which field a stat's value is.
DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE, PACKED_TEXT = range(2, 9)


class Line(NamedTuple):
    """A thread, a stream or a queue; `scan_line` says what the columns are."""

    id: int
    name: str
    begins_ns: int
    events: Int64
    stats: Int64


@dataclass
class Plane:
    """A host or a device."""

    name: str = ""
    lines: list[Line] = field(default_factory=list)
    event_names: dict[int, str] = field(default_factory=dict)
    display_names: dict[int, str] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: Int64 = field(default_factory=lambda: np.empty((0, 2), np.int64))
    """Where what is said of the plane itself begins and ends, for `scan_stat`."""


@dataclass
class Space:
    data: bytes
    planes: list[Plane] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """What the profiler reports went wrong while it ran."""
    hosts: list[str] = field(default_factory=list)
    problem: str = ""
    """Why there is no more than this."""


def read_space(data: bytes) -> Space:
    """Decode a file; one that breaks off gives what stands before that."""
    space = Space(data)
    # Those of the host and of a device are read side by side: scanning needs no interpreter.
    with ThreadPoolExecutor(_THREADS) as pool:
        planes: list[Future[Plane]] = []
        try:
            for part in _iter_parts(data):
                if part.number == _SPACE_PLANES:
                    planes.append(pool.submit(_read_plane, data, part))
                elif part.number in (_SPACE_ERRORS, _SPACE_WARNINGS):
                    space.said.append(_text(data, part))
                elif part.number == _SPACE_HOSTS:
                    space.hosts.append(_text(data, part))
        except FormatError as error:
            space.problem = f"only a part of it can be read: {error}"
        _collect(space, planes)
    return space


def _collect(space: Space, planes: Iterable[Future[Plane]]) -> None:
    """Take planes up to the first that cannot be read, which comes before any other break."""
    try:
        for plane in planes:
            space.planes.append(plane.result())
    except FormatError as error:
        space.problem = f"only a part of it can be read: {error}"


def iter_programs(data: bytes) -> Iterator[bytes]:
    """Yield the XLA programs that a file carries, each as an HloProto."""
    for part in _iter_parts(data):
        if part.number == _SPACE_PLANES:
            rows, _ = scan_fields(data, part.start, part.end)
            is_long = (rows[:, 0] == _NAMES[0]) & (rows[:, 3] >= _SHORTEST_PROGRAM)
            for number, wire, start, size in rows[is_long].tolist():
                if wire == DELIMITED:
                    yield from _iter_program(data, Field(number, wire, 0, start, start + size))


def _iter_program(data: bytes, entry: Field) -> Iterator[bytes]:
    """What is said of all events of a name and is a program: nothing else is as long."""
    for metadata in iter_fields(data, entry.start, entry.end):
        if metadata.number == 2 and metadata.wire == DELIMITED:
            for stat in iter_fields(data, metadata.start, metadata.end):
                if stat.number == _METADATA_STATS and stat.wire == DELIMITED:
                    _, kind, start, size = scan_stat(data, stat.start, stat.end)
                    if kind == BYTES and size >= _SHORTEST_PROGRAM:
                        yield data[start : start + size]


def _iter_parts(data: bytes) -> Iterator[Field]:
    """Yield the fields of the file; the last may end where the file does, before its own end."""
    at, size = 0, len(data)
    while at < size:
        key, start = read_varint(data, at, size)
        if key & 7 != DELIMITED:
            raise FormatError(f"no profile goes on as it does at byte {at}")
        length, start = read_varint(data, start, size)
        at = start + length
        yield Field(key >> 3, DELIMITED, 0, start, min(at, size))
    if at > size:
        raise FormatError(f"it breaks off at byte {size}, {at - size} bytes too early")


def _read_plane(data: bytes, span: Field) -> Plane:
    rows, is_whole = scan_fields(data, span.start, span.end)
    # The lines before a break are whole; who reads on is told that the file breaks off.
    if not is_whole and span.end != len(data):
        raise FormatError(f"what stands between bytes {span.start} and {span.end} is no plane")
    plane = Plane()
    rows = rows[rows[:, 1] == DELIMITED]
    for number, wire, start, size in rows[rows[:, 0] <= _PLANE_LINES].tolist():
        _fill_plane(plane, data, Field(number, wire, 0, start, start + size))
    plane.stats = rows[rows[:, 0] == _PLANE_STATS, 2:] @ _SPAN
    for number, known in zip(_NAMES, (plane.event_names, plane.stat_names), strict=True):
        mine = rows[rows[:, 0] == number, 2:]
        _read_names(data, np.ascontiguousarray(mine), known, plane.display_names)
    return plane


def _fill_plane(plane: Plane, data: bytes, part: Field) -> None:
    if part.number == _PLANE_NAME:
        plane.name = _text(data, part)
    elif part.number == _PLANE_LINES:
        plane.lines.append(_read_line(data, part))


def _read_names(data: bytes, spans: Int64, known: dict[int, str], shown: dict[int, str]) -> None:
    for key, start, size, shown_start, shown_size in scan_names(data, spans).tolist():
        known[key] = decode_text(data[start : start + size])
        if shown_size:
            shown[key] = decode_text(data[shown_start : shown_start + shown_size])


def _read_line(data: bytes, span: Field) -> Line:
    events, stats, rest = scan_line(data, span.start, span.end)
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, wire, value, size in rest.tolist():
        if wire == DELIMITED:
            texts[number] = decode_text(data[value : value + size])
        else:
            numbers[number] = value
    # What is shown goes before what it is called by.
    name = texts.get(11) or texts.get(2, "")
    return Line(numbers.get(10) or numbers.get(1, 0), name, numbers.get(3, 0), events, stats)


def _text(data: bytes, span: Field) -> str:
    return decode_text(data[span.start : span.end])
