"""The search for record headers in damaged files."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import builders as b
from tests.eventfiles import damaged_files
from tracklight.formats import scanner
from tracklight.formats.batch import LARGE_RECORD_BYTES
from tracklight.formats.scanner import iter_record_headers


def search_exhaustively(data: bytes, start: int, most: int) -> list[tuple[int, int]]:
    found = []
    for at in range(start, len(data) - 11):
        (length,) = struct.unpack_from("<Q", data, at)
        fits = at - start + 16 + length <= most or length < LARGE_RECORD_BYTES
        if fits and data[at : at + 12] == b.header(length):
            found.append((at, length))
    return found


@given(data=damaged_files(), start=st.integers(0, 50), more=st.sampled_from([0, 100, 8 << 30]))
def test_matches_exhaustive_search(data: bytes, start: int, more: int) -> None:
    most = len(data) - start + more
    assert list(iter_record_headers(memoryview(data), start, most)) == search_exhaustively(
        data, start, most
    )


@pytest.mark.parametrize("before", [*range(50, 80), 127, 128, 129])
def test_finds_headers_across_blocks(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanner, "SEARCH_BLOCK_OFFSETS", 64)
    data = b"g" * before + b.header(5) + b.header(LARGE_RECORD_BYTES)
    assert list(iter_record_headers(memoryview(data), 0, len(data))) == [(before, 5)]
    found = list(iter_record_headers(memoryview(data), 0, 2 * LARGE_RECORD_BYTES))
    assert found == [(before, 5), (before + 12, LARGE_RECORD_BYTES)]
