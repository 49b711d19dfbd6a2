from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.checkpoints.sstable_writer import compress
from tracklight.errors import FormatError
from tracklight.formats.checkpoints.tf_checkpoint import decompress_snappy

PIECES = st.lists(st.binary(max_size=90) | st.sampled_from([b"ab" * 50, b"x" * 300]), max_size=9)


@given(PIECES)
def test_decompresses_output_of_arrow(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    assert decompress_snappy(compress(data), len(data)) == data


def test_long_literals_and_distant_copies() -> None:
    data = bytes(range(256)) * 300 + b"\x07" * 70_000
    assert decompress_snappy(compress(data), len(data)) == data
    # Arrow never writes a literal with four length bytes or a copy with a 32-bit distance.
    assert decompress_snappy(b"\x06\xfc\x01\x00\x00\x00ab\x0f\x02\x00\x00\x00", 6) == b"ababab"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x65\x00a", "has 101 bytes, more than 100"),
        (b"\x05\x00a", "has 1 bytes instead of 5"),
        (b"\x01\x04ab", "has 2 bytes instead of 1"),
        (b"\x05\x10a", "is truncated"),
        (b"\x05\x00a\x01", "is truncated"),
        (b"\x05\x00a\x01\x02", "copies from 2 bytes before"),
        (b"\x05\x00a\x01\x00", "copies from 0 bytes before"),
    ],
)
def test_damaged_data_raises(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decompress_snappy(data, 100)


@given(st.binary(max_size=100))
def test_random_bytes_raise_only_format_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        assert len(decompress_snappy(data, 1000)) <= 1000
