"""Parse XSpace files, the profiles that TensorFlow and JAX write, without either of them.

Profiles contain millions of events. Events and their stats are returned as arrays, and the values
of stats stay in the file, to be decoded on demand; only names are converted to Python objects.
`scan_xline` and `scan_metadata_names` use a compiled kernel if it was built; their Python
equivalents end in ``_in_python``.

Format: https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import numpy as np

from tracklight.errors import FormatError, Message
from tracklight.formats.proto import (
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

#: The fields of XStat that may contain its value.
DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE, PACKED_TEXT = range(2, 9)

_SPACE_PLANES, _SPACE_ERRORS, _SPACE_WARNINGS, _SPACE_HOSTS = 1, 2, 3, 4
_PLANE_NAME, _PLANE_LINES, _PLANE_EVENT_METADATA, _PLANE_STAT_METADATA, _PLANE_STATS = 2, 3, 4, 5, 6
_LINE_ID, _LINE_NAME, _LINE_TIMESTAMP_NS, _LINE_EVENTS = 1, 2, 3, 4
_LINE_DISPLAY_ID, _LINE_DISPLAY_NAME = 10, 11
_EVENT_STATS = 4
#: The column of an event row for each field of XEvent.
_EVENT_COLUMNS = {1: 0, 2: 1, 3: 2}
_STAT_VALUES = range(DOUBLE, PACKED_TEXT + 1)
_METADATA_STATS = 5

_ENVIRONMENT_PLANE = b"Task Environment"
_PLANE_HEADER_BYTES = 64
_FIELD_HEADER_BYTES = 20
_MAX_ENVIRONMENT_BYTES = 1 << 20
_TPU_PLANE_PREFIX = "/device:TPU:"
#: Only XLA programs have stats that are as long.
_MIN_PROGRAM_BYTES = 100
_THREADS = 4


class XLine(NamedTuple):
    """A thread, a stream or a queue. See `scan_xline` for ``events`` and ``stats``."""

    id: int
    name: str
    timestamp_ns: int
    events: Int64
    stats: Int64


@dataclass
class XPlane:
    """A host or a device."""

    name: str = ""
    lines: list[XLine] = dataclasses.field(default_factory=list)
    event_names: dict[int, str] = dataclasses.field(default_factory=dict)
    display_names: dict[int, str] = dataclasses.field(default_factory=dict)
    stat_names: dict[int, str] = dataclasses.field(default_factory=dict)
    stats: Int64 = dataclasses.field(default_factory=lambda: np.empty((0, 2), np.int64))
    """The start and the end of each stat of the plane itself, for `scan_xstat`."""
    event_stats: dict[int, list[list[int]]] = dataclasses.field(default_factory=dict)
    """Stats that all events of a metadata id share, as rows like those of `scan_xstat`. Only read
    of TPU planes, which describe their ops there."""


@dataclass
class XSpace:
    """A profile."""

    data: bytes
    planes: list[XPlane] = dataclasses.field(default_factory=list)
    messages: list[str] = dataclasses.field(default_factory=list)
    """Errors and warnings that the profiler reported."""
    hosts: list[str] = dataclasses.field(default_factory=list)
    problem: Message | None = None
    """Why the file could be read only in part."""


def parse_xspace(data: bytes) -> XSpace:
    """Parse a file. If it is damaged, the planes before the damage are returned."""
    space = XSpace(data)
    # The kernel releases the GIL, so that planes are parsed in parallel.
    with ThreadPoolExecutor(_THREADS) as pool:
        planes: list[Future[XPlane]] = []
        try:
            for part in _iter_space_fields(data):
                if part.number == _SPACE_PLANES:
                    planes.append(pool.submit(_parse_plane, data, part))
                elif part.number in (_SPACE_ERRORS, _SPACE_WARNINGS):
                    space.messages.append(_decode_field(data, part))
                elif part.number == _SPACE_HOSTS:
                    space.hosts.append(_decode_field(data, part))
        except FormatError as error:
            space.problem = _describe_damage(error)
        _collect_planes(space, planes)
    return space


def _collect_planes(space: XSpace, planes: Iterable[Future[XPlane]]) -> None:
    """Add planes up to the first that is damaged, which precedes any other damage."""
    try:
        for plane in planes:
            space.planes.append(plane.result())
    except FormatError as error:
        space.problem = _describe_damage(error)


def _describe_damage(error: FormatError) -> Message:
    return Message.format(
        "profile.partly_read", "only a part of the file can be read: {error}", error=error
    )


def read_start_time_ns(file: BinaryIO) -> int:
    """Return when the capture in a file began, in Unix time; 0 if the file does not tell.

    Only the beginning of each plane is read.
    """
    try:
        for start, end in _iter_plane_spans(file):
            file.seek(start)
            if _ENVIRONMENT_PLANE in file.read(min(_PLANE_HEADER_BYTES, end - start)):
                file.seek(start)
                data = file.read(min(end - start, _MAX_ENVIRONMENT_BYTES))
                plane = _parse_plane(data, Field(1, LENGTH_DELIMITED, 0, 0, len(data)))
                for span in plane.stats.tolist():
                    key, _, value, _ = scan_xstat(data, *span)
                    if plane.stat_names.get(key) == "profile_start_time":
                        return value
    except FormatError:
        pass  # truncated, or another kind of file
    return 0


def _iter_plane_spans(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each plane."""
    offset = 0
    while True:
        file.seek(offset)
        header = file.read(_FIELD_HEADER_BYTES)
        if not header:
            return
        key, at = read_varint(header, 0, len(header))
        if key & 7 != LENGTH_DELIMITED:
            return
        length, at = read_varint(header, at, len(header))
        start, offset = offset + at, offset + at + length
        if key >> 3 == _SPACE_PLANES:
            yield start, offset


def iter_hlo_protos(data: bytes) -> Iterator[bytes]:
    """Yield the XLA programs in a file, each an encoded HloProto.

    Raises:
        FormatError: The file is damaged.
    """
    for part in _iter_space_fields(data):
        if part.number == _SPACE_PLANES:
            rows, _ = scan_fields(data, part.start, part.end)
            is_long = (rows[:, 0] == _PLANE_EVENT_METADATA) & (rows[:, 3] >= _MIN_PROGRAM_BYTES)
            for number, wire_type, start, size in rows[is_long].tolist():
                if wire_type == LENGTH_DELIMITED:
                    entry = Field(number, wire_type, 0, start, start + size)
                    yield from _iter_entry_hlo_protos(data, entry)


def _iter_entry_hlo_protos(data: bytes, entry: Field) -> Iterator[bytes]:
    """Yield the programs in the stats of an entry of ``XPlane.event_metadata``."""
    for metadata in iter_fields(data, entry.start, entry.end):
        if metadata.number == 2 and metadata.wire_type == LENGTH_DELIMITED:
            for stat in iter_fields(data, metadata.start, metadata.end):
                if stat.number == _METADATA_STATS and stat.wire_type == LENGTH_DELIMITED:
                    _, kind, start, size = scan_xstat(data, stat.start, stat.end)
                    if kind == BYTES and size >= _MIN_PROGRAM_BYTES:
                        yield data[start : start + size]


def _iter_space_fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of the file; the last one may be truncated."""
    offset, size = 0, len(data)
    while offset < size:
        key, start = read_varint(data, offset, size)
        if key & 7 != LENGTH_DELIMITED:
            raise FormatError(
                "profile.foreign_bytes",
                "the bytes at {offset} are not part of a profile",
                offset=offset,
            )
        length, start = read_varint(data, start, size)
        offset = start + length
        yield Field(key >> 3, LENGTH_DELIMITED, 0, start, min(offset, size))
    if offset > size:
        raise FormatError(
            "profile.truncated",
            "it is truncated at byte {size}; {missing} bytes are missing",
            size=size,
            missing=offset - size,
        )


def _parse_plane(data: bytes, span: Field) -> XPlane:
    rows, is_complete = scan_fields(data, span.start, span.end)
    # In a truncated file, the lines before the end of the last plane are used.
    if not is_complete and span.end != len(data):
        raise FormatError(
            "profile.invalid_plane",
            "the bytes {start} to {end} are not a valid plane",
            start=span.start,
            end=span.end,
        )
    plane = XPlane()
    rows = rows[rows[:, 1] == LENGTH_DELIMITED]
    for number, wire_type, start, size in rows[rows[:, 0] <= _PLANE_LINES].tolist():
        part = Field(number, wire_type, 0, start, start + size)
        if number == _PLANE_NAME:
            plane.name = _decode_field(data, part)
        elif number == _PLANE_LINES:
            plane.lines.append(_parse_line(data, part))
    starts, sizes = rows[rows[:, 0] == _PLANE_STATS, 2:].T
    plane.stats = np.stack([starts, starts + sizes], axis=1)
    for number, names in (
        (_PLANE_EVENT_METADATA, plane.event_names),
        (_PLANE_STAT_METADATA, plane.stat_names),
    ):
        spans = np.ascontiguousarray(rows[rows[:, 0] == number, 2:])
        _parse_names(data, spans, names, plane.display_names)
        if number == _PLANE_EVENT_METADATA and plane.name.startswith(_TPU_PLANE_PREFIX):
            plane.event_stats = dict(_iter_metadata_stats(data, spans))
    return plane


def _iter_metadata_stats(data: bytes, spans: Int64) -> Iterator[tuple[int, list[list[int]]]]:
    """Yield the keys and stats of entries of ``XPlane.event_metadata``."""
    for start, size in spans.tolist():
        key, stats = 0, []
        for field in iter_fields(data, start, start + size):
            if field.number == 1 and field.wire_type == VARINT:
                key = to_int64(field.value)
            elif field.number == 2 and field.wire_type == LENGTH_DELIMITED:
                stats = [
                    scan_xstat(data, inner.start, inner.end)
                    for inner in iter_fields(data, field.start, field.end)
                    if inner.number == _METADATA_STATS and inner.wire_type == LENGTH_DELIMITED
                ]
        if stats:
            yield key, stats


def _parse_names(
    data: bytes, spans: Int64, names: dict[int, str], display_names: dict[int, str]
) -> None:
    rows = scan_metadata_names(data, spans).tolist()
    for key, start, size, display_start, display_size in rows:
        names[key] = decode_text(data[start : start + size])
        if display_size:
            display_names[key] = decode_text(data[display_start : display_start + display_size])


def _parse_line(data: bytes, span: Field) -> XLine:
    events, stats, others = scan_xline(data, span.start, span.end)
    numbers: dict[int, int] = {}
    texts: dict[int, str] = {}
    for number, wire_type, value, size in others.tolist():
        if wire_type == LENGTH_DELIMITED:
            texts[number] = decode_text(data[value : value + size])
        else:
            numbers[number] = value
    return XLine(
        id=numbers.get(_LINE_DISPLAY_ID) or numbers.get(_LINE_ID, 0),
        name=texts.get(_LINE_DISPLAY_NAME) or texts.get(_LINE_NAME, ""),
        timestamp_ns=numbers.get(_LINE_TIMESTAMP_NS, 0),
        events=events,
        stats=stats,
    )


def _decode_field(data: bytes, span: Field) -> str:
    return decode_text(data[span.start : span.end])


def scan_xline(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    """Parse the XLine ``data[start:end]``.

    Returns:
        Three tables:

        * Events: metadata id, offset in ps, duration in ps and index of the first stat. A last row
          contains only the total number of stats.
        * Stats: metadata id, the field that contains the value, the value (the offset in the file
          if it is length-delimited) and its size.
        * Other fields of the line, as `scan_fields` returns them.

    Raises:
        FormatError: The line is damaged.
    """
    try:
        from tracklight.formats._xplane import scan_xline as scan
    except ImportError:
        return scan_xline_in_python(data, start, end)
    return scan(data, start, end)


def scan_metadata_names(data: bytes, spans: Int64) -> Int64:
    """Parse entries of ``XPlane.event_metadata`` or ``XPlane.stat_metadata``.

    Args:
        data: The bytes of the file.
        spans: The offset and the size of each entry.

    Returns:
        One row per entry: its key, the offset and the size of the name, and those of the display
        name.

    Raises:
        FormatError: An entry is damaged.
    """
    try:
        from tracklight.formats._xplane import scan_metadata_names as scan
    except ImportError:
        return scan_metadata_names_in_python(data, spans)
    return scan(data, spans)


def scan_xstat(data: bytes, start: int, end: int) -> list[int]:
    """Parse the XStat ``data[start:end]`` to a row like those of `scan_xline`."""
    row = [0, 0, 0, 0]
    for field in iter_fields(data, start, end):
        if field.number == 1 and field.wire_type == VARINT:
            row[0] = to_int64(field.value)
        elif field.number in _STAT_VALUES:
            row[1:] = [field.number, *get_field_value(data, field)]
    return row


def scan_xline_in_python(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    events: list[list[int]] = []
    stats: list[list[int]] = []
    others: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            if field.number == _LINE_EVENTS and field.wire_type == LENGTH_DELIMITED:
                events.append(_scan_event(data, field, stats))
            else:
                others.append([field.number, field.wire_type, *get_field_value(data, field)])
    except FormatError:
        raise FormatError(
            "profile.invalid_events",
            "the events between bytes {start} and {end} cannot be decoded",
            start=start,
            end=end,
        ) from None
    events.append([0, 0, 0, len(stats)])
    return np.array(events, np.int64), to_field_table(stats), to_field_table(others)


def _scan_event(data: bytes, span: Field, stats: list[list[int]]) -> list[int]:
    row = [0, 0, 0, len(stats)]
    for field in iter_fields(data, span.start, span.end):
        if field.number == _EVENT_STATS and field.wire_type == LENGTH_DELIMITED:
            stats.append(scan_xstat(data, field.start, field.end))
        elif field.wire_type == VARINT and field.number in _EVENT_COLUMNS:
            row[_EVENT_COLUMNS[field.number]] = to_int64(field.value)
    return row


def scan_metadata_names_in_python(data: bytes, spans: Int64) -> Int64:
    try:
        rows = [_scan_metadata_name(data, start, size) for start, size in spans.tolist()]
    except FormatError:
        raise FormatError(
            "profile.invalid_name", "it contains a name that cannot be decoded"
        ) from None
    return np.array(rows, np.int64).reshape(-1, 5)


def _scan_metadata_name(data: bytes, start: int, size: int) -> list[int]:
    row = [0] * 5
    for field in iter_fields(data, start, start + size):
        if field.number == 1 and field.wire_type == VARINT:
            row[0] = to_int64(field.value)
        elif field.number == 2 and field.wire_type == LENGTH_DELIMITED:
            for inner in iter_fields(data, field.start, field.end):
                if inner.number in (2, 4) and inner.wire_type == LENGTH_DELIMITED:
                    row[inner.number - 1 : inner.number + 1] = get_field_value(data, inner)
    return row
