"""Read profiles in the format of pprof, such as device memory profiles of JAX.

The format is described in https://github.com/google/pprof/blob/main/proto/profile.proto.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.wire_format import decode_text

_GZIP_MAGIC = b"\x1f\x8b"
#: Far more than the profile of a large program; protects against decompression bombs.
_MAX_BYTES = 256 << 20


class PprofFrame(NamedTuple):
    function: str
    file: str
    line: int


class PprofSample(NamedTuple):
    """One measurement: a value for each type of the profile, and its stack, innermost first."""

    stack: tuple[PprofFrame, ...]
    values: tuple[int, ...]
    labels: dict[str, str]


class PprofProfile(NamedTuple):
    types: tuple[str, ...]
    samples: tuple[PprofSample, ...]


def parse_pprof(data: bytes) -> PprofProfile:
    """Decode a profile, compressed or not.

    Raises:
        FormatError: The bytes are not a pprof profile.
    """
    content = _decompress(data) if data.startswith(_GZIP_MAGIC) else data
    profile = proto.parse("PprofProfile", content)
    if not profile.string_table:
        raise FormatError("profile.not_pprof", "not a pprof profile: it has no string table")
    return _Converter(profile).convert()


def _decompress(data: bytes) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        content = decompressor.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise FormatError(
            "profile.cannot_decompress", "the profile cannot be decompressed: {error}", error=error
        ) from error
    if decompressor.unconsumed_tail:
        raise FormatError(
            "profile.decompressed_too_large",
            "the decompressed profile is larger than {limit_mb} MB",
            limit_mb=_MAX_BYTES >> 20,
        )
    return content


class _Converter:
    """Replaces the indexes and ids of a profile with what they refer to."""

    def __init__(self, profile: Message) -> None:
        self._profile = profile
        self._strings = [decode_text(each) for each in profile.string_table]
        functions = {
            each.id: (self._get_text(each.name), self._get_text(each.filename))
            for each in profile.function
        }
        # A location has several frames where calls were inlined.
        self._frames = {
            location.id: tuple(
                PprofFrame(*functions.get(line.function_id, ("", "")), line.line)
                for line in location.line
            )
            for location in profile.location
        }

    def convert(self) -> PprofProfile:
        types = (self._get_text(each.type) for each in self._profile.sample_type)
        return PprofProfile(tuple(types), tuple(map(self._convert_sample, self._profile.sample)))

    def _convert_sample(self, data: bytes) -> PprofSample:
        sample = proto.parse("PprofSample", data)
        stack = (frame for id in sample.location_id for frame in self._frames.get(id, ()))
        labels = {
            self._get_text(each.key): self._get_text(each.str) or str(each.num or "")
            for each in sample.label
        }
        return PprofSample(tuple(stack), tuple(sample.value), labels)

    def _get_text(self, index: int) -> str:
        return self._strings[index] if 0 <= index < len(self._strings) else ""
