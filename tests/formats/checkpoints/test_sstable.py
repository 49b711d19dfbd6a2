from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats.checkpoints.sstable_writer import (
    PLAIN,
    SNAPPY,
    block,
    finish,
    table,
    trailed,
    varint,
)
from tracklight.errors import FormatError
from tracklight.formats.checkpoints import tf_checkpoint as tables
from tracklight.formats.checkpoints.tf_checkpoint import IncompleteTableError, parse_table

ENTRIES = {f"network/layer{place:03}/kernel".encode(): bytes([place]) * 9 for place in range(40)}


@pytest.mark.parametrize("kind", [PLAIN, SNAPPY])
def test_round_trip(kind: int) -> None:
    assert parse_table(table(ENTRIES, kind)) == ENTRIES


@given(st.dictionaries(st.binary(max_size=40), st.binary(max_size=40)), st.integers(1, 5))
def test_round_trip_of_any_entries(entries: dict[bytes, bytes], per_block: int) -> None:
    assert parse_table(table(entries, SNAPPY, per_block)) == entries


@pytest.mark.parametrize("size", [0, 10, 47, 100, 400])
def test_truncated_table_is_incomplete(size: int) -> None:
    with pytest.raises(IncompleteTableError):
        parse_table(table(ENTRIES)[:size])


def test_wrong_checksum_raises() -> None:
    data = bytearray(table(ENTRIES))
    data[30] ^= 1
    with pytest.raises(FormatError, match="the checksum of the block at 0 is wrong"):
        parse_table(bytes(data))


@pytest.mark.parametrize(
    ("blocks", "index", "message"),
    [
        (trailed(b"abcd\x00", 7), [(b"k", varint(0) + varint(5))], "unknown compression 7"),
        (trailed(block([])), [(b"k", varint(0) + varint(99))], "ends beyond the table"),
        (trailed(block([])), [(b"k", varint(0) + varint(8))] * 2, "overlap"),
        (trailed(b"\x00"), [(b"k", varint(0) + varint(1))], "is empty"),
        (trailed(b"\xff\xff\xff\xff"), [(b"k", varint(0) + varint(4))], "restarts"),
        (trailed(b"\x05\x01\x01ab" + b"\x00" * 4), [(b"k", varint(0) + varint(9))], "not fit"),
    ],
)
def test_damaged_block_raises(
    blocks: bytes, index: list[tuple[bytes, bytes]], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        parse_table(finish(blocks, block(index)))


def test_limits_total_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 2000)
    entries = {b"k" * 100 + bytes([place]): b"" for place in range(30)}
    with pytest.raises(FormatError, match="larger than 2000 bytes"):
        parse_table(table(entries, per_block=100))


@given(st.binary(max_size=200), st.binary(max_size=60))
def test_random_bytes_raise_only_format_error(blocks: bytes, index: bytes) -> None:
    for data in (blocks, finish(trailed(blocks), index)):
        with contextlib.suppress(FormatError):
            parse_table(data)
