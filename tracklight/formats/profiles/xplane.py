"""Parts of a profile as columns: a line with its events, and names.

The compiled kernel is used where it was built; what ends in ``_in_python`` does the same slowly,
and a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.wire_format import (
    LENGTH_DELIMITED,
    VARINT,
    Field,
    decode_text,
    get_field_value,
    iter_fields,
    read_varint,
    scan_fields,
    to_field_table,
    to_int64,
)
from tracklight.types import Int64

_LINE_EVENTS = 4

_EVENT_STATS = 4

#: Which column of an event's row a field fills.
_EVENT_COLUMNS = {1: 0, 2: 1, 3: 2, 5: 3}

_STAT_VALUES = range(2, 9)


def scan_xline(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    """Read the XLine between two offsets of a file.

    One row an event (metadata id, offset in ps, duration in ps, occurrences, the row of its first
    stat) and a last one that only says where the stats end; one row a stat (metadata id, which
    field its value is, the value's 64 bits or where it starts in the file, and its size); one row
    for each other field (its number, its wire type, its value or where it starts, and its size).
    """
    try:
        from tracklight.formats._xplane import scan_line as scan
    except ImportError:
        return scan_xline_in_python(data, start, end)
    return scan(data, start, end)


def scan_metadata_names(data: bytes, spans: Int64) -> Int64:
    """Read map entries, each between a start and so many bytes on.

    One row an entry: its key, where the name stands and its size, and the same of the name to show.
    """
    try:
        from tracklight.formats._xplane import scan_names as scan
    except ImportError:
        return scan_metadata_names_in_python(data, spans)
    return scan(data, spans)


def scan_xline_in_python(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    events: list[list[int]] = []
    stats: list[list[int]] = []
    rest: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            if field.number == _LINE_EVENTS and field.wire_type == LENGTH_DELIMITED:
                events.append(_scan_event(data, field, stats))
            else:
                rest.append([field.number, field.wire_type, *get_field_value(data, field)])
    except FormatError:
        what = f"the events between bytes {start} and {end} cannot be decoded"
        raise FormatError(what) from None
    events.append([0, 0, 0, 0, len(stats)])
    return np.array(events, np.int64), to_field_table(stats), to_field_table(rest)


def scan_metadata_names_in_python(data: bytes, spans: Int64) -> Int64:
    try:
        rows = [_scan_name(data, start, size) for start, size in spans.tolist()]
    except FormatError:
        raise FormatError("a name in it cannot be decoded") from None
    return np.array(rows, np.int64).reshape(-1, 5)


def _scan_name(data: bytes, start: int, size: int) -> list[int]:
    row = [0] * 5
    for field in iter_fields(data, start, start + size):
        if field.number == 1 and field.wire_type == VARINT:
            row[0] = to_int64(field.value)
        elif field.number == 2 and field.wire_type == LENGTH_DELIMITED:
            for inner in iter_fields(data, field.start, field.end):
                if inner.number in (2, 4) and inner.wire_type == LENGTH_DELIMITED:
                    row[inner.number - 1 : inner.number + 1] = get_field_value(data, inner)
    return row


def scan_xstat(data: bytes, start: int, end: int) -> list[int]:
    """Read one XStat as the row that `scan_line` makes of it."""
    row = [0, 0, 0, 0]
    for field in iter_fields(data, start, end):
        if field.number == 1 and field.wire_type == VARINT:
            row[0] = to_int64(field.value)
        elif field.number in _STAT_VALUES:
            row[1:] = [field.number, *get_field_value(data, field)]
    return row


def _scan_event(data: bytes, span: Field, stats: list[list[int]]) -> list[int]:
    row = [0, 0, 0, 0, len(stats)]
    for field in iter_fields(data, span.start, span.end):
        if field.number == _EVENT_STATS and field.wire_type == LENGTH_DELIMITED:
            stats.append(scan_xstat(data, field.start, field.end))
        elif field.wire_type == VARINT and field.number in _EVENT_COLUMNS:
            row[_EVENT_COLUMNS[field.number]] = to_int64(field.value)
    return row


# Reads an XSpace, the file that TensorFlow's and JAX's profilers write, without either of them.
#
# Only what names things is turned into objects; events stay columns and what is said of them stays
# where it stands in the file, to be decoded when somebody asks.

_SPACE_PLANES, _SPACE_ERRORS, _SPACE_WARNINGS, _SPACE_HOSTS = 1, 2, 3, 4

_PLANE_NAME, _PLANE_LINES, _PLANE_STATS = 2, 3, 6

#: The tables of a plane: what events, and what is said of them, are called.
_NAMES = (4, 5)

_METADATA_STATS = 5

_MIN_PROGRAM_BYTES = 100

_THREADS = 4

#: Makes a start and an end of a start and a size.
_SPAN = np.array([[1, 1], [0, 1]])

#: Which field a stat's value is.
DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE, PACKED_TEXT = range(2, 9)


class XLine(NamedTuple):
    """A thread, a stream or a queue; `scan_line` says what the columns are."""

    id: int
    name: str
    timestamp_ns: int
    events: Int64
    stats: Int64


@dataclass
class XPlane:
    """A host or a device."""

    name: str = ""
    lines: list[XLine] = field(default_factory=list)
    event_names: dict[int, str] = field(default_factory=dict)
    display_names: dict[int, str] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: Int64 = field(default_factory=lambda: np.empty((0, 2), np.int64))
    """Where what is said of the plane itself begins and ends, for `scan_stat`."""


@dataclass
class XSpace:
    data: bytes
    planes: list[XPlane] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    """What the profiler reports went wrong while it ran."""
    hosts: list[str] = field(default_factory=list)
    problem: str = ""
    """Why there is no more than this."""


def parse_xspace(data: bytes) -> XSpace:
    """Decode a file; one that breaks off gives what stands before that."""
    space = XSpace(data)
    # Those of the host and of a device are read side by side: scanning needs no interpreter.
    with ThreadPoolExecutor(_THREADS) as pool:
        planes: list[Future[XPlane]] = []
        try:
            for part in _iter_parts(data):
                if part.number == _SPACE_PLANES:
                    planes.append(pool.submit(_read_plane, data, part))
                elif part.number in (_SPACE_ERRORS, _SPACE_WARNINGS):
                    space.messages.append(_text(data, part))
                elif part.number == _SPACE_HOSTS:
                    space.hosts.append(_text(data, part))
        except FormatError as error:
            space.problem = f"only a part of it can be read: {error}"
        _collect(space, planes)
    return space


def _collect(space: XSpace, planes: Iterable[Future[XPlane]]) -> None:
    """Take planes up to the first that cannot be read, which comes before any other break."""
    try:
        for plane in planes:
            space.planes.append(plane.result())
    except FormatError as error:
        space.problem = f"only a part of it can be read: {error}"


def iter_hlo_protos(data: bytes) -> Iterator[bytes]:
    """Yield the XLA programs that a file carries, each as an HloProto."""
    for part in _iter_parts(data):
        if part.number == _SPACE_PLANES:
            rows, _ = scan_fields(data, part.start, part.end)
            is_long = (rows[:, 0] == _NAMES[0]) & (rows[:, 3] >= _MIN_PROGRAM_BYTES)
            for number, wire, start, size in rows[is_long].tolist():
                if wire == LENGTH_DELIMITED:
                    yield from _iter_entry_hlo_protos(
                        data, Field(number, wire, 0, start, start + size)
                    )


def _iter_entry_hlo_protos(data: bytes, entry: Field) -> Iterator[bytes]:
    """What is said of all events of a name and is a program: nothing else is as long."""
    for metadata in iter_fields(data, entry.start, entry.end):
        if metadata.number == 2 and metadata.wire_type == LENGTH_DELIMITED:
            for stat in iter_fields(data, metadata.start, metadata.end):
                if stat.number == _METADATA_STATS and stat.wire_type == LENGTH_DELIMITED:
                    _, kind, start, size = scan_xstat(data, stat.start, stat.end)
                    if kind == BYTES and size >= _MIN_PROGRAM_BYTES:
                        yield data[start : start + size]


def _iter_parts(data: bytes) -> Iterator[Field]:
    """Yield the fields of the file; the last may end where the file does, before its own end."""
    at, size = 0, len(data)
    while at < size:
        key, start = read_varint(data, at, size)
        if key & 7 != LENGTH_DELIMITED:
            raise FormatError(f"no profile goes on as it does at byte {at}")
        length, start = read_varint(data, start, size)
        at = start + length
        yield Field(key >> 3, LENGTH_DELIMITED, 0, start, min(at, size))
    if at > size:
        raise FormatError(f"it breaks off at byte {size}, {at - size} bytes too early")


def _read_plane(data: bytes, span: Field) -> XPlane:
    rows, is_whole = scan_fields(data, span.start, span.end)
    # The lines before a break are whole; who reads on is told that the file breaks off.
    if not is_whole and span.end != len(data):
        raise FormatError(f"what stands between bytes {span.start} and {span.end} is no plane")
    plane = XPlane()
    rows = rows[rows[:, 1] == LENGTH_DELIMITED]
    for number, wire, start, size in rows[rows[:, 0] <= _PLANE_LINES].tolist():
        _fill_plane(plane, data, Field(number, wire, 0, start, start + size))
    plane.stats = rows[rows[:, 0] == _PLANE_STATS, 2:] @ _SPAN
    for number, known in zip(_NAMES, (plane.event_names, plane.stat_names), strict=True):
        mine = rows[rows[:, 0] == number, 2:]
        _read_names(data, np.ascontiguousarray(mine), known, plane.display_names)
    return plane


def _fill_plane(plane: XPlane, data: bytes, part: Field) -> None:
    if part.number == _PLANE_NAME:
        plane.name = _text(data, part)
    elif part.number == _PLANE_LINES:
        plane.lines.append(_read_line(data, part))


def _read_names(data: bytes, spans: Int64, known: dict[int, str], shown: dict[int, str]) -> None:
    for key, start, size, shown_start, shown_size in scan_metadata_names(data, spans).tolist():
        known[key] = decode_text(data[start : start + size])
        if shown_size:
            shown[key] = decode_text(data[shown_start : shown_start + shown_size])


def _read_line(data: bytes, span: Field) -> XLine:
    events, stats, rest = scan_xline(data, span.start, span.end)
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, wire, value, size in rest.tolist():
        if wire == LENGTH_DELIMITED:
            texts[number] = decode_text(data[value : value + size])
        else:
            numbers[number] = value
    # What is shown goes before what it is called by.
    name = texts.get(11) or texts.get(2, "")
    return XLine(numbers.get(10) or numbers.get(1, 0), name, numbers.get(3, 0), events, stats)


def _text(data: bytes, span: Field) -> str:
    return decode_text(data[span.start : span.end])
