"""Parts of a profile as columns: a line with its events, and names.

The compiled kernel is used where it was built; what ends in ``_in_python`` does the same slowly,
and a test holds the two against each other.
"""

from __future__ import annotations

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.wire import DELIMITED, VARINT, Field, iter_fields, to_int64
from tracklight.formats.wire_columns import to_rows, value_of
from tracklight.types import Int64

_LINE_EVENTS = 4
_EVENT_STATS = 4
#: Which column of an event's row a field fills.
_EVENT_COLUMNS = {1: 0, 2: 1, 3: 2, 5: 3}
_STAT_VALUES = range(2, 9)


def scan_line(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    """Read the XLine between two offsets of a file.

    One row an event (metadata id, offset in ps, duration in ps, occurrences, the row of its first
    stat) and a last one that only says where the stats end; one row a stat (metadata id, which
    field its value is, the value's 64 bits or where it starts in the file, and its size); one row
    for each other field (its number, its wire type, its value or where it starts, and its size).
    """
    try:
        from tracklight.formats._xplane import scan_line as scan
    except ImportError:
        return scan_line_in_python(data, start, end)
    return scan(data, start, end)


def scan_names(data: bytes, spans: Int64) -> Int64:
    """Read map entries, each between a start and so many bytes on.

    One row an entry: its key, where the name stands and its size, and the same of the name to show.
    """
    try:
        from tracklight.formats._xplane import scan_names as scan
    except ImportError:
        return scan_names_in_python(data, spans)
    return scan(data, spans)


def scan_line_in_python(data: bytes, start: int, end: int) -> tuple[Int64, Int64, Int64]:
    events: list[list[int]] = []
    stats: list[list[int]] = []
    rest: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            if field.number == _LINE_EVENTS and field.wire == DELIMITED:
                events.append(_scan_event(data, field, stats))
            else:
                rest.append([field.number, field.wire, *value_of(data, field)])
    except FormatError:
        what = f"the events between bytes {start} and {end} cannot be decoded"
        raise FormatError(what) from None
    events.append([0, 0, 0, 0, len(stats)])
    return np.array(events, np.int64), to_rows(stats), to_rows(rest)


def scan_names_in_python(data: bytes, spans: Int64) -> Int64:
    try:
        rows = [_scan_name(data, start, size) for start, size in spans.tolist()]
    except FormatError:
        raise FormatError("a name in it cannot be decoded") from None
    return np.array(rows, np.int64).reshape(-1, 5)


def _scan_name(data: bytes, start: int, size: int) -> list[int]:
    row = [0] * 5
    for field in iter_fields(data, start, start + size):
        if field.number == 1 and field.wire == VARINT:
            row[0] = to_int64(field.value)
        elif field.number == 2 and field.wire == DELIMITED:
            for inner in iter_fields(data, field.start, field.end):
                if inner.number in (2, 4) and inner.wire == DELIMITED:
                    row[inner.number - 1 : inner.number + 1] = value_of(data, inner)
    return row


def scan_stat(data: bytes, start: int, end: int) -> list[int]:
    """Read one XStat as the row that `scan_line` makes of it."""
    row = [0, 0, 0, 0]
    for field in iter_fields(data, start, end):
        if field.number == 1 and field.wire == VARINT:
            row[0] = to_int64(field.value)
        elif field.number in _STAT_VALUES:
            row[1:] = [field.number, *value_of(data, field)]
    return row


def _scan_event(data: bytes, span: Field, stats: list[list[int]]) -> list[int]:
    row = [0, 0, 0, 0, len(stats)]
    for field in iter_fields(data, span.start, span.end):
        if field.number == _EVENT_STATS and field.wire == DELIMITED:
            stats.append(scan_stat(data, field.start, field.end))
        elif field.wire == VARINT and field.number in _EVENT_COLUMNS:
            row[_EVENT_COLUMNS[field.number]] = to_int64(field.value)
    return row
