"""``api/blobs``: the values of a log that are files, each at an address that never changes."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from tracklight.errors import LogError
from tracklight.formats.batch import Content
from tracklight.formats.media_type import TEXT, UNKNOWN, sniff
from tracklight.index.payload import fingerprint
from tracklight.plugin_base import Blob, Route, Source
from tracklight.types import Bool, Float64, Int64, Kind, Located

_FILE_KINDS = frozenset({Kind.IMAGE, Kind.AUDIO, Kind.TEXT})
_AtLeastZero = Annotated[int, msgspec.Meta(ge=0)]


class BlobsAsk(msgspec.Struct):
    """``limit`` values of a tag of a run, from number ``start`` on."""

    run: str
    tag: str
    start: _AtLeastZero = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class BlobsAnswer(msgspec.Struct):
    """``total`` counts all values; the columns tell of those that were asked for."""

    kind: str
    total: int
    step: Int64
    wall_time: Float64
    overwritten: Bool
    bytes: Int64
    fingerprint: list[str]


class BlobAsk(msgspec.Struct):
    """Part ``part`` of value ``index``: a value may hold several pictures or clips."""

    fingerprint: str
    run: str
    tag: str
    index: _AtLeastZero
    part: _AtLeastZero = 0


class Blobs:
    """Lists values that are not scalars, and reads one of them from the log."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def routes(self) -> list[Route]:
        return [
            Route("blobs", BlobsAsk, self.list, "GET"),
            Route("blobs/{fingerprint}", BlobAsk, self.read, "GET"),
        ]

    def list(self, ask: BlobsAsk) -> BlobsAnswer:
        """Where the values of a tag that are no scalars are found: the addresses of the files."""
        located = self._source.located(ask.run, ask.tag)
        at = slice(ask.start, ask.start + ask.limit)
        numbers = range(len(located))[at]
        return BlobsAnswer(
            kind=str(located.kind),
            total=len(located),
            step=located.step[at],
            wall_time=located.wall_time[at],
            overwritten=located.overwritten[at],
            bytes=located.size[at],
            fingerprint=[fingerprint(located, number) for number in numbers],
        )

    def read(self, ask: BlobAsk) -> Blob:
        """One picture, clip or text as a file; of other kinds, the bytes that were logged."""
        located = self._source.located(ask.run, ask.tag)
        if ask.index >= len(located) or fingerprint(located, ask.index) != ask.fingerprint:
            raise LogError(f'the log no longer has this value of "{ask.tag}"; load the page again')
        data = self._source.read(located, ask.index)
        parts = _take_apart(data, located, ask.index)
        if ask.part >= len(parts):
            raise LogError(f"this value has {len(parts)} parts, so there is no part {ask.part}")
        content, media_type = parts[ask.part]
        return Blob(content, media_type, immutable=True)


def _take_apart(data: bytes, located: Located, index: int) -> list[tuple[bytes, str]]:
    """The files in a value, each with its type."""
    if located.kind not in _FILE_KINDS or located.content[index] >= Content.GRAPH:
        return [(data, UNKNOWN)]
    # Decoding brings protobuf in, which a board of scalars never needs.
    from tracklight.formats.values import Audio, Images, Text, decode_value

    value = decode_value(data, located.kind)
    if isinstance(value, Text):
        return [(str(text).encode(), TEXT) for text in np.ravel(value.array)]
    files = value.encoded if isinstance(value, Images) else ()
    files = value.clips if isinstance(value, Audio) else files
    return [(file, sniff(file)) for file in files]
