"""The fields of messages as columns, where there are too many to take them one by one.

The compiled kernel is used where it was built; what ends in ``_in_python`` does the same slowly,
and a test holds the two against each other.
"""

from __future__ import annotations

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, EIGHT_BYTES, VARINT, Field, iter_fields, to_int64
from tracklight.types import Int64


def scan_fields(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    """Read the fields of a message, and whether it is whole; else they are those before a break.

    One row a field: its number, its wire type, its value or where it starts, and its size.
    """
    try:
        from tracklight.formats._xplane import scan_fields as scan
    except ImportError:
        return scan_fields_in_python(data, start, end)
    return scan(data, start, end)


def scan_each(data: bytes, spans: Int64, wanted: int) -> Int64:
    """Read some fields of many messages, each between a start and so many bytes on.

    ``wanted`` has a bit for the number of each field that is. One row a field: which message it is
    of, its number, where it starts and its size.
    """
    try:
        from tracklight.formats._xplane import scan_each as scan
    except ImportError:
        return scan_each_in_python(data, spans, wanted)
    return scan(data, spans, wanted)


def take_texts(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    """Decode texts that stand in a file, as `decode_text` does one."""
    try:
        from tracklight.formats._xplane import take_texts as take
    except ImportError:
        return take_texts_in_python(data, starts, sizes)
    return take(data, starts, sizes)


def scan_fields_in_python(data: bytes, start: int, end: int) -> tuple[Int64, bool]:
    rows: list[list[int]] = []
    try:
        for field in iter_fields(data, start, end):
            rows.append([field.number, field.wire, *value_of(data, field)])
    except FormatError:
        return to_rows(rows), False
    return to_rows(rows), True


def scan_each_in_python(data: bytes, spans: Int64, wanted: int) -> Int64:
    try:
        rows = [
            [place, field.number, *value_of(data, field)]
            for place, (start, size) in enumerate(spans.tolist())
            for field in iter_fields(data, start, start + size)
            if field.wire == DELIMITED and field.number < 64 and wanted >> field.number & 1
        ]
    except FormatError:
        raise FormatError("a message in it cannot be decoded") from None
    return to_rows(rows)


def take_texts_in_python(data: bytes, starts: Int64, sizes: Int64) -> list[str]:
    spans = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    return [decode_text(data[start:end]) for start, end in spans]


def value_of(data: bytes, field: Field) -> tuple[int, int]:
    """Its 64 bits, or where it starts in the file; and its size."""
    if field.wire == DELIMITED:
        return field.start, field.end - field.start
    if field.wire == VARINT:
        return to_int64(field.value), 0
    bits = int.from_bytes(data[field.start : field.end], "little")
    return (to_int64(bits) if field.wire == EIGHT_BYTES else bits), 0


def to_rows(rows: list[list[int]]) -> Int64:
    """An array of four columns, of however many rows."""
    return np.array(rows, np.int64).reshape(-1, 4)
