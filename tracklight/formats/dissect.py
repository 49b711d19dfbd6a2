"""Takes an Event apart into its values, looking only at what says where and what they are."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.batch import GRAPH_TAG, META_GRAPH_TAG, Content, Found, Number
from tracklight.formats.scalar import Scalar, find_scalar
from tracklight.formats.wire import (
    DELIMITED,
    EIGHT_BYTES,
    FOUR_BYTES,
    VARINT,
    Field,
    Source,
    iter_fields,
    to_int64,
)

_WALL_TIME, _STEP, _FILE_VERSION, _GRAPH_DEF, _SUMMARY = 1, 2, 3, 4, 5
_SESSION_LOG, _RUN_METADATA, _META_GRAPH_DEF, _SOURCE_METADATA = 7, 8, 9, 10
_TAG, _NODE_NAME, _METADATA = 1, 7, 9
_SESSION_START = 1
_BODIES = {
    Content.OLD_HISTOGRAM,
    Content.IMAGE,
    Content.HISTOGRAM,
    Content.AUDIO,
    Content.TENSOR,
}


class Event(NamedTuple):
    """What one record says."""

    step: int
    values: list[Found]
    starts_session: bool
    file_version: bytes | None
    writer: bytes | None


class _Moment(NamedTuple):
    """What all values of an event share."""

    step: int
    wall: float
    record: int


def dissect(payload: Source, size: int, record: int) -> Event:
    """Take apart the Event of ``size`` bytes whose record starts at ``record`` of its file.

    Raises FormatError when it is none.
    """
    fields = list(iter_fields(payload, 0, size))
    moment = _Moment(*_read_time(payload, fields), record)
    values: list[Found] = []
    starts_session = False
    file_version = writer = None
    for field in fields:
        if field.wire != DELIMITED:
            continue
        if field.number == _SUMMARY:
            values += _iter_values(payload, field, moment)
        elif field.number in (_GRAPH_DEF, _META_GRAPH_DEF, _RUN_METADATA):
            values.append(_refer(payload, field, moment))
        elif field.number == _SESSION_LOG:
            for part in iter_fields(payload, field.start, field.end):
                if part.number == 1 and part.wire == VARINT:
                    starts_session = part.value == _SESSION_START
        elif field.number == _FILE_VERSION:
            file_version = bytes(payload[field.start : field.end])
        elif field.number == _SOURCE_METADATA:
            writer = _find_string(payload, field, writer)
    return Event(moment.step, values, starts_session, file_version, writer)


def names_plugin(metadata: bytes) -> bool:
    """Say whether a SummaryMetadata names a plugin, as far as it can be read."""
    whole = Field(0, DELIMITED, 0, 0, len(metadata))
    return any(
        name.end > name.start
        for plugin_data in _iter_readable(metadata, whole)
        for name in _iter_readable(metadata, plugin_data)
    )


def _iter_readable(source: Source, message: Field) -> Iterator[Field]:
    """Yield the fields that are number 1 and have a content, up to where the message is broken."""
    try:
        for field in iter_fields(source, message.start, message.end):
            if field.number == 1 and field.wire == DELIMITED:
                yield field
    except FormatError:
        return


def _read_time(payload: Source, fields: list[Field]) -> tuple[int, float]:
    step, wall = 0, 0.0
    for field in fields:
        if field.number == _STEP and field.wire == VARINT:
            step = to_int64(field.value)
        elif field.number == _WALL_TIME and field.wire == EIGHT_BYTES:
            (wall,) = struct.unpack("<d", payload[field.start : field.end])
    return step, wall


def _find_string(payload: Source, message: Field, found: bytes | None = None) -> bytes | None:
    """Give the string in field 1 of a message, else what was ``found`` before."""
    for field in iter_fields(payload, message.start, message.end):
        if field.number == 1 and field.wire == DELIMITED:
            found = bytes(payload[field.start : field.end])
    return found


def _refer(payload: Source, field: Field, moment: _Moment) -> Found:
    """Describe a field of the Event itself that is kept as a reference."""
    if field.number == _GRAPH_DEF:
        tag, content = GRAPH_TAG, Content.GRAPH
    elif field.number == _META_GRAPH_DEF:
        tag, content = META_GRAPH_TAG, Content.META_GRAPH
    else:
        tag, content = _find_string(payload, field) or b"", Content.RUN_METADATA
    return Found(tag, content, *moment, field.start, field.end - field.start)


def _iter_values(payload: Source, summary: Field, moment: _Moment) -> Iterator[Found]:
    for field in iter_fields(payload, summary.start, summary.end):
        if field.number == 1 and field.wire == DELIMITED:
            yield _read_value(payload, field, moment)


def _read_value(payload: Source, value: Field, moment: _Moment) -> Found:
    tag = node_name = metadata = b""
    body: Field | None = None
    for field in iter_fields(payload, value.start, value.end):
        if field.wire == DELIMITED:
            if field.number == _TAG:
                tag = bytes(payload[field.start : field.end])
            elif field.number == _NODE_NAME:
                node_name = bytes(payload[field.start : field.end])
            elif field.number == _METADATA:
                metadata = bytes(payload[field.start : field.end])
            elif field.number in _BODIES:
                body = field
        elif field.wire == FOUR_BYTES and field.number == Content.SIMPLE_VALUE:
            body = field
    return Found(
        tag or node_name,
        body.number if body else Content.NONE,
        *moment,
        value.start,
        value.end - value.start,
        metadata or None,
        _find_number(payload, body) if body else None,
    )


def _find_number(payload: Source, body: Field) -> Scalar | None:
    if body.number == Content.SIMPLE_VALUE:
        (value,) = struct.unpack("<f", payload[body.start : body.end])
        return Number.FLOAT, value
    return find_scalar(payload, body.start, body.end) if body.number == Content.TENSOR else None
