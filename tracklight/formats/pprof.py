"""Reads profiles in pprof's form, such as those of JAX's memory."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.event import decode_text
from tracklight.formats.wire import DELIMITED, VARINT, Field, iter_fields, read_varint, to_int64

_TYPES, _SAMPLES, _LOCATIONS, _FUNCTIONS, _STRINGS = 1, 2, 4, 5, 6
_GZIP = b"\x1f\x8b"
#: A profile of every line of a large program unpacks to less.
_MOST_BYTES = 256 << 20


class Frame(NamedTuple):
    function: str
    file: str
    line: int


class Sample(NamedTuple):
    """``values`` are one for each type of the profile; the innermost frame is the first."""

    stack: tuple[Frame, ...]
    values: tuple[int, ...]
    labels: dict[str, str]


class Profile(NamedTuple):
    types: tuple[str, ...]
    samples: tuple[Sample, ...]


def read_profile(data: bytes) -> Profile:
    """Decode a file; FormatError says what is wrong with one that is none."""
    content = _unpack(data) if data.startswith(_GZIP) else data
    parts: dict[int, list[Field]] = {}
    for part in iter_fields(content, 0, len(content)):
        if part.wire == DELIMITED:
            parts.setdefault(part.number, []).append(part)
    strings = [decode_text(content[each.start : each.end]) for each in parts.get(_STRINGS, ())]
    if not strings:
        raise FormatError("this is no profile in pprof's form: it has no names")
    return _Reader(content, strings).read(parts)


def _unpack(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise FormatError(f"the profile cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise FormatError(f"the profile unpacks to more than {_MOST_BYTES >> 20} MB")
    return content


class _Reader:
    def __init__(self, data: bytes, strings: list[str]) -> None:
        self._data = data
        self._strings = strings

    def read(self, parts: dict[int, list[Field]]) -> Profile:
        functions = dict(map(self._read_function, parts.get(_FUNCTIONS, ())))
        frames = dict(self._read_location(each, functions) for each in parts.get(_LOCATIONS, ()))
        types = (self._text(self._numbers(each).get(1, [0])[0]) for each in parts.get(_TYPES, ()))
        samples = (self._read_sample(each, frames) for each in parts.get(_SAMPLES, ()))
        return Profile(tuple(types), tuple(samples))

    def _read_function(self, span: Field) -> tuple[int, tuple[str, str]]:
        said = self._numbers(span)
        names = (self._text(said.get(number, [0])[0]) for number in (2, 4))
        name, file = names
        return said.get(1, [0])[0], (name, file)

    def _read_location(
        self, span: Field, functions: dict[int, tuple[str, str]]
    ) -> tuple[int, tuple[Frame, ...]]:
        """Several frames stand at one place where calls were put inline."""
        number, frames = self._numbers(span).get(1, [0])[0], []
        for part in self._iter(span, 4):
            line = self._numbers(part)
            name, file = functions.get(line.get(1, [0])[0], ("", ""))
            frames.append(Frame(name, file, line.get(2, [0])[0]))
        return number, tuple(frames)

    def _read_sample(self, span: Field, frames: dict[int, tuple[Frame, ...]]) -> Sample:
        said = self._numbers(span)
        stack = [frame for place in said.get(1, ()) for frame in frames.get(place, ())]
        labels = {}
        for part in self._iter(span, 3):
            label = self._numbers(part)
            text = self._text(label.get(2, [0])[0]) or str(label.get(3, [""])[0])
            labels[self._text(label.get(1, [0])[0])] = text
        return Sample(tuple(stack), tuple(said.get(2, ())), labels)

    def _iter(self, span: Field, number: int) -> list[Field]:
        fields = iter_fields(self._data, span.start, span.end)
        return [part for part in fields if part.number == number and part.wire == DELIMITED]

    def _numbers(self, span: Field) -> dict[int, list[int]]:
        """The numbers of a message by field, whether or not they are packed."""
        found: dict[int, list[int]] = {}
        for part in iter_fields(self._data, span.start, span.end):
            if part.wire == VARINT:
                found.setdefault(part.number, []).append(to_int64(part.value))
            elif part.wire == DELIMITED and part.number in (1, 2):
                found.setdefault(part.number, []).extend(self._unpack(part))
        return found

    def _unpack(self, part: Field) -> list[int]:
        numbers, at = [], part.start
        while at < part.end:
            number, at = read_varint(self._data, at, part.end)
            numbers.append(to_int64(number))
        return numbers

    def _text(self, number: int) -> str:
        return self._strings[number] if 0 <= number < len(self._strings) else ""
