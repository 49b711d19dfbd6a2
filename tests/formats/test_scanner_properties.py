"""Properties that hold for any event file, however it is damaged or split."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tests.eventfiles import CUTS, GARBAGE, damaged_files, events, good_records
from tests.scanning import (
    SCANNERS,
    ScannerType,
    assert_agree,
    assert_same_batch,
    gather,
    get_state,
    needs_kernel,
    read_file,
)
from tracklight.formats import scanner
from tracklight.formats.tfrecord import masked_crc32c

BOTH = [parameter.values[0] for parameter in SCANNERS]

both = pytest.mark.parametrize("create", SCANNERS)
often = settings(max_examples=300, deadline=None)


@needs_kernel
class TestBothScannersAgree:
    @given(data=damaged_files(), sizes=CUTS)
    @often
    def test_on_growing_damaged_files(self, data: bytes, sizes: list[int]) -> None:
        assert_agree(BOTH, data, sizes)

    @given(data=damaged_files(), window=st.integers(1, 200))
    @often
    def test_on_parts(self, data: bytes, window: int) -> None:
        scanners = [create() for create in BOTH]
        readings = [read_file(scanner, data, window) for scanner in scanners]
        for mine, theirs in zip(*readings, strict=True):
            assert_same_batch(mine, theirs)
        assert len({get_state(scanner) for scanner in scanners}) == 1

    @given(payloads=st.lists(st.one_of(st.binary(max_size=60), events()), max_size=4))
    @often
    def test_on_random_payloads(self, payloads: list[bytes]) -> None:
        assert_agree(BOTH, b"".join(map(b.record, payloads)), [])


@both
class TestAnyBytes:
    @given(data=st.binary(max_size=2000), window=st.integers(1, 3000))
    @settings(deadline=None)
    def test_are_read_to_their_end(self, create: ScannerType, data: bytes, window: int) -> None:
        scanner = create()
        read_file(scanner, data, window)
        assert 0 <= len(data) - scanner.position < 16

    @given(data=damaged_files())
    @settings(deadline=None)
    def test_damage_and_records_do_not_overlap(self, create: ScannerType, data: bytes) -> None:
        scanner = create()
        reading = gather(read_file(scanner, data))
        spans = [(at, at + size) for at, size, _ in reading.damage]
        assert spans == sorted(spans)
        assert all(start < end for start, end in spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        starts = {row[2] for rows in reading.references.values() for row in rows}
        assert not any(start <= at < end for start, end in spans for at in starts)

    def test_claimed_lengths_take_no_memory(self, create: ScannerType) -> None:
        absurd = [1 << 20, 4 << 30, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
        data = b"".join(b.header(length) + bytes(9) for length in absurd) * 50
        tracemalloc.start()
        try:
            read_file(create(), data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 16 << 20


def test_checks_of_overlapping_payloads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def count(data: memoryview) -> int:
        sizes.append(len(data))
        return masked_crc32c(data)

    monkeypatch.setattr(scanner, "masked_crc32c", count)
    data = b"g" + b.header(200_000) * 40_000
    read_file(scanner.PythonScanner(), data)
    assert sum(sizes) < (64 << 20) + 20 * len(data)


@both
class TestUndamagedRecords:
    @given(records=good_records(), data=st.data())
    @settings(max_examples=200, deadline=None)
    def test_between_garbage_are_found(
        self, create: ScannerType, records: list[bytes], data: st.DataObject
    ) -> None:
        pieces = [data.draw(GARBAGE) + record for record in records]
        reading = gather(read_file(create(), b"".join(pieces)))
        assert [row[0] for row in reading.points[b"t"]] == list(range(len(records)))

    @given(records=good_records(), data=st.data())
    @settings(max_examples=200, deadline=None)
    def test_around_a_damaged_record_are_found(
        self, create: ScannerType, records: list[bytes], data: st.DataObject
    ) -> None:
        damaged = data.draw(st.integers(0, len(records) - 1))
        at = data.draw(st.integers(0, len(records[damaged]) - 1))
        window = data.draw(st.integers(12, 500))
        broken = [*records]
        broken[damaged] = b.flip(records[damaged], at)
        reading = gather(read_file(create(), b"".join(broken), window))
        steps = [row[0] for row in reading.points.get(b"t", [])]
        assert steps == [step for step in range(len(records)) if step != damaged]

    @given(records=good_records(), sizes=CUTS)
    @settings(max_examples=200, deadline=None)
    def test_do_not_depend_on_how_the_file_grows(
        self, create: ScannerType, records: list[bytes], sizes: list[int]
    ) -> None:
        data = b"".join(records)
        scanner = create()
        batches = []
        for size in sorted({*(size % (len(data) + 1) for size in sizes), len(data)}):
            scanner.rewind(size)
            batches += read_file(scanner, data[:size])
        assert gather(batches) == gather(read_file(create(), data))
        assert gather(batches).damage == []
