"""Strict parsing of the protobuf wire format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders as b
from tracklight.errors import FormatError
from tracklight.formats.proto import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Field,
    iter_fields,
    read_varint,
    to_int64,
)


def read(data: bytes) -> list[Field]:
    return list(iter_fields(data, 0, len(data)))


class TestVarint:
    @given(st.integers(0, (1 << 64) - 1), st.binary(max_size=3))
    def test_reads_value_and_end(self, value: int, after: bytes) -> None:
        data = b.varint(value)
        assert read_varint(data + after, 0, len(data + after)) == (value, len(data))

    def test_accepts_overlong_encoding(self) -> None:
        assert read_varint(b"\x81\x80\x00", 0, 3) == (1, 3)

    def test_drops_bits_beyond_64(self) -> None:
        assert read_varint(b"\xff" * 9 + b"\x7f", 0, 10) == ((1 << 64) - 1, 10)

    @pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 9, b"\x80" * 10 + b"\x01"])
    def test_unterminated_raises(self, data: bytes) -> None:
        with pytest.raises(FormatError):
            read_varint(data, 0, len(data))

    def test_beyond_end_of_message_raises(self) -> None:
        with pytest.raises(FormatError):
            read_varint(b"\x80\x01", 0, 1)

    @pytest.mark.parametrize("value", [0, 1, -1, (1 << 63) - 1, -(1 << 63)])
    def test_converts_to_signed(self, value: int) -> None:
        assert to_int64(read_varint(b.varint(value), 0, 10)[0]) == value


class TestFields:
    def test_every_wire_type(self) -> None:
        data = b.integer(1, 300) + b.double(2, 1.0) + b.blob(3, b"abc") + b.single(1000, 1.0)
        assert read(data) == [
            Field(1, VARINT, 300, 1, 3),
            Field(2, FIXED64, 0, 4, 12),
            Field(3, LENGTH_DELIMITED, 0, 14, 17),
            Field(1000, FIXED32, 0, 19, 23),
        ]

    def test_nested_message(self) -> None:
        data = b"before" + b.integer(1, 5) + b"after"
        assert list(iter_fields(data, 6, 8)) == [Field(1, VARINT, 5, 7, 8)]

    def test_empty_message(self) -> None:
        assert read(b"") == []

    def test_is_lazy(self) -> None:
        fields = iter_fields(b.integer(1, 5) + b"\x80", 0, 3)
        assert next(fields).value == 5
        with pytest.raises(FormatError):
            next(fields)

    @pytest.mark.parametrize(
        "data",
        [
            b"\x00\x01",  # field number 0
            b"\x02\x00",
            b"\x08",  # no value
            b"\x09" + bytes(7),
            b"\x0d" + bytes(3),
            b"\x0a",
            b"\x0a\x01",
            b"\x0a" + b.varint((1 << 64) - 1),
            b"\x0b\x0c",  # groups
            b"\x0c",
            b"\x0e",  # unknown wire types
            b"\x0f",
        ],
        ids=bytes.hex,
    )
    def test_invalid_fields_raise(self, data: bytes) -> None:
        with pytest.raises(FormatError):
            read(data)

    @given(st.binary(max_size=60))
    def test_random_bytes_raise_or_give_consecutive_fields(self, data: bytes) -> None:
        try:
            fields = read(data)
        except FormatError:
            return
        ends = [0, *(field.end for field in fields)]
        assert ends[-1] == len(data)
        assert all(end < field.end for end, field in zip(ends, fields, strict=False))
