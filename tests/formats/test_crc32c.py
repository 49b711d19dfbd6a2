from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.formats.tfrecord import crc32c, crc32c_in_python, masked_crc32c


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"123456789", 0xE3069283),
    ],
)
def test_known_checksums(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc
    assert crc32c_in_python(data) == crc


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"\x1a\x11CRC test, one two", 0x5794D08A),
        ((24).to_bytes(8, "little"), 0x224B7FA3),
        (b"\x09\x00\x00\x80\x38\x99\xd6\xd7\x41\x1a\x0dbrain.Event:2", 0xAB364B12),
    ],
)
def test_known_masked_checksums(data: bytes, crc: int) -> None:
    assert masked_crc32c(data) == crc


@given(st.binary(max_size=300))
def test_kernel_matches_python(data: bytes) -> None:
    assert crc32c(data) == crc32c_in_python(data)
    assert crc32c(bytearray(data)) == crc32c(memoryview(data)) == crc32c(data)
