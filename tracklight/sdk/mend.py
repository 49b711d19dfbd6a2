"""Describes tags again in records that were encoded for another file."""

from __future__ import annotations

from collections.abc import Mapping

from tracklight.formats.event import decode_event
from tracklight.formats.tfrecord import frame, iter_records


def describe_again(records: bytes, metadata: Mapping[bytes, bytes]) -> bytes:
    """The same records, with the first value of every tag saying what the tag holds."""
    described: set[bytes] = set()
    return b"".join(
        frame(_describe(payload, metadata, described)) for _, payload in iter_records(records)
    )


def _describe(payload: bytes, metadata: Mapping[bytes, bytes], described: set[bytes]) -> bytes:
    event = decode_event(payload)
    for value in event.summary.value:
        if value.tag in metadata and value.tag not in described:
            value.metadata.ParseFromString(metadata[value.tag])
            described.add(value.tag)
    data: bytes = event.SerializeToString()
    return data
