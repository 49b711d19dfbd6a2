from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats.tfrecord import (
    Compression,
    encode_record,
    find_records,
    iter_records,
    masked_crc32c,
    scan_records_in_python,
    write_records,
)

COMPRESSIONS = [None, "gzip", "zlib"]


def claim(length: int) -> bytes:
    """Return a valid header that claims ``length`` bytes."""
    size = struct.pack("<Q", length)
    return size + struct.pack("<I", masked_crc32c(size))


def test_known_record() -> None:
    record = encode_record(b"\x09\x00\x00\x80\x38\x99\xd6\xd7\x41\x1a\x0dbrain.Event:2")

    assert record[:12] == struct.pack("<QI", 24, 0x224B7FA3)
    assert record[-4:] == struct.pack("<I", 0xAB364B12)


@given(st.lists(st.binary(max_size=50)), st.sampled_from(COMPRESSIONS))
def test_round_trip_with_offsets(payloads: list[bytes], compression: Compression | None) -> None:
    stream = io.BytesIO()
    write_records(stream, payloads, compression=compression)
    stream.seek(0)

    records = list(iter_records(stream, compression=compression))

    assert [payload for _, payload in records] == payloads
    assert [offset for offset, _ in records] == [
        sum(16 + len(payload) for payload in payloads[:i]) for i in range(len(payloads))
    ]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_large_record(compression: Compression | None) -> None:
    payload = bytes(range(256)) * 20_000
    stream = io.BytesIO()
    write_records(stream, [payload, b"next"], compression=compression)

    records = list(iter_records(stream.getvalue(), compression=compression))

    assert [data for _, data in records] == [payload, b"next"]


def test_gzip_with_several_members() -> None:
    stream = io.BytesIO()
    write_records(stream, [b"one", b"two"], compression="gzip")
    write_records(stream, [b"three"], compression="gzip")

    records = list(iter_records(stream.getvalue(), compression="gzip"))

    assert records == [(0, b"one"), (19, b"two"), (38, b"three")]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-1], "at byte 21 is truncated: it has 18 of 19"),
        (lambda data: data[:25], "at byte 21 is truncated within its header"),
        (lambda data: data[:22] + b"\x01" + data[23:], "no record starts at byte 21"),
        (lambda data: data[:-6] + b"!" + data[-5:], "checksum of the record at byte 21 is wrong"),
        (
            lambda data: data[:-1] + bytes([data[-1] ^ 1]),
            "checksum of the record at byte 21 is wrong",
        ),
    ],
)
def test_error_contains_offset(damage: Callable[[bytes], bytes], message: str) -> None:
    records = iter_records(damage(encode_record(b"first") + encode_record(b"abc")))

    assert next(records) == (0, b"first")
    with pytest.raises(FormatError, match=message):
        next(records)


def test_claimed_length_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="it has 17 of"):
            list(iter_records(claim(2**30) + b"short"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_too_long_record_raises() -> None:
    with pytest.raises(FormatError, match="max_record_bytes"):
        list(iter_records(claim(2**40)))
    with pytest.raises(FormatError, match="more than 4;"):
        list(iter_records(encode_record(b"hello"), max_record_bytes=4))


@pytest.mark.parametrize("compression", ["gzip", "zlib"])
def test_damaged_compression_raises(compression: Compression) -> None:
    stream = io.BytesIO()
    write_records(stream, [b"one" * 1000], compression=compression)
    data = stream.getvalue()

    with pytest.raises(FormatError, match="truncated"):
        list(iter_records(data[:-9], compression=compression))
    with pytest.raises(FormatError, match=f"invalid {compression} data"):
        list(iter_records(encode_record(b"plain"), compression=compression))


def test_wrong_compression_raises() -> None:
    with pytest.raises(FormatError, match="invalid gzip data"):
        list(iter_records(zlib.compress(encode_record(b"x")), compression="gzip"))


@given(st.binary(max_size=200), st.sampled_from(COMPRESSIONS))
def test_random_bytes_raise_only_format_error(data: bytes, compression: Compression | None) -> None:
    try:
        list(iter_records(data, compression=compression))
    except FormatError:
        pass


@given(
    st.lists(st.binary(max_size=200), max_size=8),
    st.integers(0, 2000),
    st.sampled_from(["cut", "flip", "whole"]),
)
def test_both_ways_to_find_records_agree(payloads: list[bytes], position: int, damage: str) -> None:
    data = bytearray(b"".join(encode_record(payload) for payload in payloads))
    if damage == "cut":
        del data[position:]
    elif damage == "flip" and position < len(data):
        data[position] ^= 1
    spans, end = find_records(data, 150)
    expected_spans, expected_end = scan_records_in_python(data, 150)
    assert spans.tolist() == expected_spans.tolist()
    assert end == expected_end
    found = [bytes(data[start : start + size]) for start, size in spans.tolist()]
    assert found == payloads[: len(found)]


def test_many_records_are_found() -> None:
    data = encode_record(b"abc") * 5000
    spans, end = find_records(data, 100)
    assert end == len(data)
    assert spans[:, 0].tolist() == list(range(12, len(data), 19))
    assert set(spans[:, 1].tolist()) == {3}
