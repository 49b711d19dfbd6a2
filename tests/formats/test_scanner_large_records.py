"""`scan_large_record` finds the same values as a scan of the whole record."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tests.eventfiles import events
from tests.scanning import SCANNERS, ScannerType, assert_same_batch, gather, get_state, read_file
from tracklight.formats.batch import (
    LARGE_RECORD_BYTES,
    Batch,
    Content,
    Damage,
    DamageKind,
    LargeRecord,
)
from tracklight.formats.scanner import scan_large_record

pytestmark = pytest.mark.parametrize("create", SCANNERS)

PIXELS = b"p" * LARGE_RECORD_BYTES
NEXT = b.scalar("loss", 8, 0.5)


class File:
    """A file that counts the bytes that are read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reads: list[tuple[int, int]] = []

    def read(self, offset: int, count: int) -> bytes:
        self.reads.append((offset, count))
        return self.data[offset : offset + count]

    @property
    def bytes_read(self) -> int:
        return sum(count for _, count in self.reads)

    def scan_large(self, create: ScannerType, offset: int = 0) -> tuple[Batch | None, tuple]:
        """Scan the large record at ``offset``; return the batch and the position after it."""
        scanner = create(position=offset)
        large = scanner.scan(self.data[offset : offset + 100], len(self.data)).large
        assert large is not None
        batch = scan_large_record(scanner, large, self.read, len(self.data))
        return batch, get_state(scanner)


def of_values(*values: bytes) -> bytes:
    return b.record(b.event(b.summary(*values), step=7, wall=1.5))


VALUES = {
    "image": [b.value("img", b.image(PIXELS), b.metadata("images"))],
    "image tensor": [b.value("img", b.image_tensor(PIXELS), b.metadata("images"))],
    "audio": [b.value("clip", b.blob(6, PIXELS))],
    "histogram": [b.value("weights", b.blob(5, PIXELS))],
    "content": [b.value("raw", b.tensor(b.FLOAT, b.shape(256, 256), b.content(PIXELS)))],
    "packed": [b.value("raw", b.tensor(b.FLOAT, b.shape(256, 256), b.blob(5, PIXELS)))],
    "scalars around": [
        b.value("before", b.simple(1.5), b.metadata("scalars")),
        b.value("img", b.image_tensor(PIXELS)),
        b.value("count", b.tensor(b.INT64, b.integer(10, -3))),
        b.value("img", b.image(PIXELS), b.metadata(extra=b.blob(2, b"name"))),
    ],
    "long metadata": [b.value("i", b.metadata("images", b.blob(3, b"d" * 9000)), b.image(PIXELS))],
    "old field order": [b.blob(1, b.metadata("images"), b.image(PIXELS), b.blob(7, b"node"))],
}


class TestSeek:
    @pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
    def test_matches_scan(self, create: ScannerType, values: list[bytes]) -> None:
        data = NEXT + of_values(*values) + NEXT
        walked = gather(read_file(create(), data, window=1000, whole=False))
        assert walked == gather(read_file(create(), data))
        assert (walked.records, walked.damage) == (3, [])

    @pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
    def test_reads_little(self, create: ScannerType, values: list[bytes]) -> None:
        file = File(of_values(*values) + NEXT)
        batch, state = file.scan_large(create)
        assert batch is not None
        assert state == (len(file.data) - len(NEXT), -1, -1)
        assert file.bytes_read <= 32 * 1024
        assert len(file.reads) <= 8

    @pytest.mark.parametrize(
        ("field", "content"),
        [
            (b.blob(4, PIXELS), Content.GRAPH),
            (b.blob(9, PIXELS), Content.META_GRAPH),
            (b.blob(8, b.blob(1, b"step"), b.blob(2, PIXELS)), Content.RUN_METADATA),
        ],
    )
    def test_finds_graphs(self, create: ScannerType, field: bytes, content: Content) -> None:
        file = File(b.record(b.event(field, step=7)))
        batch, _ = file.scan_large(create)
        assert batch is not None
        assert batch.contents == [content]
        assert batch.references.step.tolist() == [7]

    def test_session_starts_are_ignored(self, create: ScannerType) -> None:
        image = b.summary(b.value("img", b.image(PIXELS)))
        batch, _ = File(b.record(b.event(b.session(1), image))).scan_large(create)
        assert batch is not None
        assert (batch.records, batch.session_start) == (1, None)

    def test_payload_checksum_is_not_verified(self, create: ScannerType) -> None:
        batch, _ = File(b.flip(of_values(*VALUES["image"]), LARGE_RECORD_BYTES)).scan_large(create)
        assert batch is not None
        assert batch.tags == [b"img"]

    def test_record_in_the_middle_of_file(self, create: ScannerType) -> None:
        file = File(NEXT * 3 + of_values(*VALUES["image"]) + NEXT)
        batch, _ = file.scan_large(create, offset=3 * len(NEXT))
        assert batch is not None
        record, start, size = (
            int(getattr(batch.references, name)[0]) for name in ("record", "start", "size")
        )
        assert record == 3 * len(NEXT)
        value = file.data[record + 12 + start :][:size]
        assert b.blob(1, value) == VALUES["image"][0]

    @given(payload=st.one_of(events(), st.binary(max_size=60)))
    @settings(max_examples=300, deadline=None)
    def test_matches_scan_for_any_payload(self, create: ScannerType, payload: bytes) -> None:
        file = File(b.record(payload))
        scanned = create().scan(file.data, len(file.data))
        walked = scan_large_record(
            create(), LargeRecord(0, len(payload)), file.read, len(file.data)
        )
        assert walked is not None
        outside = {"session_start": None, "file_version": None, "writer": None}
        assert_same_batch(walked, dataclasses.replace(scanned, **outside))


class TestInvalidEvent:
    @pytest.mark.parametrize(
        "payload",
        [
            b.blob(5, b"\x0a\xff\xff\xff\x7f" + PIXELS),
            b.blob(5, b.value("t", b.blob(8, b"\x12\x7f"), b.blob(99, PIXELS))),
            b"\x0b" + PIXELS,
        ],
        ids=["length", "shape", "group"],
    )
    def test_is_rejected(self, create: ScannerType, payload: bytes) -> None:
        file = File(b.record(payload) + NEXT)
        batch, state = file.scan_large(create)
        size = len(payload) + 16
        assert batch is not None
        assert (batch.records, batch.damage) == (0, [Damage(0, size, DamageKind.PROTO)])
        assert state == (size, -1, -1)


class TestReadWhole:
    """The record should be read as a whole."""

    @pytest.mark.parametrize(
        "values",
        [
            [b.value(f"layer {i}", b.simple(i)) for i in range(20_000)],
            [b.value("img", b.image(b"p" * 8000)) for _ in range(100)],
            [b.value("text", b.tensor(b.STRING, b.shape(9), *[b.blob(8, b"word")] * 60_000))],
        ],
        ids=["scalars", "small images", "strings"],
    )
    def test_short_values(self, create: ScannerType, values: list[bytes]) -> None:
        file = File(of_values(*values))
        batch, state = file.scan_large(create)
        assert batch is None
        assert state == (0, -1, -1)
        assert len(file.reads) < 40

    def test_long_values_after_short_ones_are_skipped(self, create: ScannerType) -> None:
        short = [b.value(f"layer {i}", b.simple(i)) for i in range(500)]
        batch, _ = File(of_values(*short, *VALUES["image"])).scan_large(create)
        assert batch is not None
        assert len(batch.tags) == 501

    @pytest.mark.parametrize("after", [b"x" * 12, b.flip(NEXT, 3)])
    def test_no_valid_header_follows(self, create: ScannerType, after: bytes) -> None:
        batch, _ = File(of_values(*VALUES["image"]) + after).scan_large(create)
        assert batch is None

    @pytest.mark.parametrize("after", [b"", b"x" * 11])
    def test_too_few_bytes_follow(self, create: ScannerType, after: bytes) -> None:
        batch, _ = File(of_values(*VALUES["image"]) + after).scan_large(create)
        assert batch is not None

    def test_file_was_truncated(self, create: ScannerType) -> None:
        file = File(of_values(*VALUES["image"]))
        scanner = create()
        large = scanner.scan(file.data[:100], len(file.data)).large
        assert large is not None
        assert scan_large_record(scanner, large, File(b"").read, len(file.data)) is None
        assert get_state(scanner) == (0, -1, -1)


class SparseFile:
    """An image of several gigabytes of zeros, which are created when they are read."""

    def __init__(self, size: int) -> None:
        self.back = b.metadata("images")
        front = b.blob(1, b"img") + b.varint(4 << 3 | 2) + b.varint(size)
        for number in (1, 5):  # the Summary.Value, then the Summary
            length = len(front) + size + len(self.back)
            front = b.varint(number << 3 | 2) + b.varint(length) + front
        self.payload = len(front) + size + len(self.back)
        self.front = b.header(self.payload) + front
        self.back_start = len(self.front) + size

    def read(self, offset: int, count: int) -> bytes:
        assert count < 1 << 20
        if offset < self.back_start:
            return self.front[offset : offset + count].ljust(count, b"\0")
        return self.back[offset - self.back_start :][:count].ljust(count, b"\0")


def test_huge_records_are_never_read_whole(create: ScannerType) -> None:
    file = SparseFile(3 << 30)
    scanner = create()
    # No valid header follows, but the record is too long to be read as a whole.
    batch = scan_large_record(
        scanner, LargeRecord(0, file.payload), file.read, file.payload + 16 + 100
    )
    assert batch is not None
    assert (batch.tags, batch.contents) == ([b"img"], [Content.IMAGE])
    assert batch.metadata == [(0, file.back[2:])]
    assert scanner.position == file.payload + 16


def test_absurd_names_are_not_read(create: ScannerType) -> None:
    file = SparseFile(3 << 30)
    file.front = file.front.replace(b.varint(4 << 3 | 2), b.varint(1 << 3 | 2))
    batch = scan_large_record(create(), LargeRecord(0, file.payload), file.read, file.payload + 16)
    assert batch is not None
    assert batch.damage == [Damage(0, file.payload + 16, DamageKind.PROTO)]
