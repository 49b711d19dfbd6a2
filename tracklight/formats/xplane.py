"""Reads an XSpace, the file that TensorFlow's and JAX's profilers write, without either of them.

Only what names things is turned into objects; events stay columns and what is said of them stays
where it stands in the file, to be decoded when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, VARINT, Field, iter_fields, read_varint, to_int64
from tracklight.formats.xplane_lines import scan_line, scan_stat
from tracklight.types import Int64

_SPACE_PLANES, _SPACE_ERRORS, _SPACE_WARNINGS, _SPACE_HOSTS = 1, 2, 3, 4
_PLANE_NAME, _PLANE_LINES, _PLANE_EVENT_NAMES, _PLANE_STAT_NAMES, _PLANE_STATS = 2, 3, 4, 5, 6
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
    stats: list[list[int]] = field(default_factory=list)
    """Of the plane itself, as rows of `scan_line`."""


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
    try:
        for part in _iter_parts(data):
            if part.number == _SPACE_PLANES:
                space.planes.append(_read_plane(data, part))
            elif part.number in (_SPACE_ERRORS, _SPACE_WARNINGS):
                space.said.append(_text(data, part))
            elif part.number == _SPACE_HOSTS:
                space.hosts.append(_text(data, part))
    except FormatError as error:
        space.problem = f"only a part of it can be read: {error}"
    return space


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
    plane = Plane()
    try:
        for part in iter_fields(data, span.start, span.end):
            if part.wire == DELIMITED:
                _fill_plane(plane, data, part)
    except FormatError:
        # The lines before the break are whole; who reads on is told that the file breaks off.
        if span.end != len(data):
            raise
    return plane


def _fill_plane(plane: Plane, data: bytes, part: Field) -> None:
    if part.number == _PLANE_NAME:
        plane.name = _text(data, part)
    elif part.number == _PLANE_LINES:
        plane.lines.append(_read_line(data, part))
    elif part.number == _PLANE_EVENT_NAMES:
        number, name, display = _read_name(data, part)
        plane.event_names[number] = name
        if display:
            plane.display_names[number] = display
    elif part.number == _PLANE_STAT_NAMES:
        number, name, _ = _read_name(data, part)
        plane.stat_names[number] = name
    elif part.number == _PLANE_STATS:
        plane.stats.append(scan_stat(data, part))


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


def _read_name(data: bytes, entry: Field) -> tuple[int, str, str]:
    """Give a map entry's key, and the name and the name to show of what stands there."""
    key, texts = 0, {2: "", 4: ""}
    for part in iter_fields(data, entry.start, entry.end):
        if part.number == 1 and part.wire == VARINT:
            key = to_int64(part.value)
        elif part.number == 2 and part.wire == DELIMITED:
            for inner in iter_fields(data, part.start, part.end):
                if inner.number in texts and inner.wire == DELIMITED:
                    texts[inner.number] = _text(data, inner)
    return key, texts[2], texts[4]


def _text(data: bytes, span: Field) -> str:
    return decode_text(data[span.start : span.end])
