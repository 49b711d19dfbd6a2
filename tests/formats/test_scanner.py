"""The contract of `Scanner`, for both implementations."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests import builders as b
from tests.scanning import SCANNERS, ScannerType, gather, get_state, get_values, read_file
from tracklight.formats.batch import (
    GRAPH_TAG,
    LARGE_RECORD_BYTES,
    META_GRAPH_TAG,
    Content,
    Damage,
    DamageKind,
    LargeRecord,
    ScalarType,
    ScannedValue,
)

pytestmark = pytest.mark.parametrize("create", SCANNERS)

GOOD = [b.scalar("loss", step, step / 2) for step in range(5)]
STEPS = list(range(5))


def read_steps(create: ScannerType, data: bytes, window: int = 8 << 20) -> list[int]:
    return [row[0] for row in gather(read_file(create(), data, window)).points[b"loss"]]


def scan_payload(create: ScannerType, *payloads: bytes):
    """Scan a file that contains these events."""
    data = b"".join(map(b.record, payloads))
    return create().scan(data, len(data))


class TestFraming:
    def test_reads_every_record(self, create: ScannerType) -> None:
        data = b"".join(GOOD)
        scanner = create()
        batch = scanner.scan(data, len(data))
        assert batch.records == 5
        assert batch.tags == [b"loss"]
        assert batch.contents == [Content.SIMPLE_VALUE]
        assert batch.points.step.tolist() == STEPS
        assert batch.points.wall.tolist() == [1.7e9 + step for step in STEPS]
        assert get_values(batch) == [0.0, 0.5, 1.0, 1.5, 2.0]
        assert (batch.damage, batch.large) == ([], None)
        assert get_state(scanner) == (len(data), -1, -1)

    def test_damaged_event_does_not_change_the_type_of_a_series(self, create: ScannerType) -> None:
        def integer(step: int) -> bytes:
            number = b.value("count", b.tensor(b.INT64, b.integer(10, 2**60 + step)))
            return b.event(b.summary(number), step=step)

        real = b.value("count", b.tensor(b.DOUBLE, b.double(6, 0.5)))
        damaged = b.event(b.summary(real, b.blob(1, b"\x80")), step=1)
        batch = scan_payload(create, integer(0), damaged, integer(2))
        assert [damage.kind for damage in batch.damage] == [DamageKind.PROTO]
        assert batch.points.scalar_type.tolist() == [ScalarType.INT]
        assert get_values(batch) == [2**60, 2**60 + 2]

    def test_empty_file(self, create: ScannerType) -> None:
        batch = create().scan(b"", 0)
        assert (batch.records, batch.points.starts.tolist()) == (0, [0])

    def test_empty_payload_is_an_empty_event(self, create: ScannerType) -> None:
        batch = scan_payload(create, b"")
        assert (batch.records, batch.tags, batch.damage) == (1, [], [])

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_accepts_any_buffer(self, create: ScannerType, kind: Callable) -> None:
        assert create().scan(kind(GOOD[0]), len(GOOD[0])).records == 1

    @pytest.mark.parametrize("window", [12, 17, 64, 100])
    def test_result_does_not_depend_on_window(self, create: ScannerType, window: int) -> None:
        assert read_steps(create, b"".join(GOOD), window) == STEPS

    @pytest.mark.parametrize("held", [0, 3, 11, 12, 20])
    def test_waits_for_remaining_bytes(self, create: ScannerType, held: int) -> None:
        data = b"".join(GOOD)
        scanner = create()
        scanner.scan(data[: len(GOOD[0]) + held], len(data))
        assert get_state(scanner) == (len(GOOD[0]), -1, -1)

    def test_continues_at_position(self, create: ScannerType) -> None:
        data = b"".join(GOOD)
        scanner = create(position=len(GOOD[0]))
        assert scanner.scan(data[len(GOOD[0]) :], len(data)).records == 4


class TestTornTail:
    @pytest.mark.parametrize("cut", range(1, len(GOOD[-1])))
    def test_completes_later_without_damage(self, create: ScannerType, cut: int) -> None:
        data = b"".join(GOOD)
        scanner = create()
        batches = read_file(scanner, data[:-cut])
        assert gather(batches).records == 4
        scanner.rewind(len(data))
        batches += read_file(scanner, data)
        assert [row[0] for row in gather(batches).points[b"loss"]] == STEPS
        assert gather(batches).damage == []

    def test_reports_expected_end(self, create: ScannerType) -> None:
        data = b"".join(GOOD)
        scanner = create()
        read_file(scanner, data[:-1])
        start = len(data) - len(GOOD[-1])
        assert (scanner.lost_at, scanner.torn_end) == (start, len(data))
        assert start < scanner.position <= len(data) - 12

    def test_is_not_read_again_before_it_can_be_complete(self, create: ScannerType) -> None:
        data = b"".join(GOOD)
        scanner = create()
        read_file(scanner, data[:-5])
        before = get_state(scanner)
        scanner.rewind(len(data) - 1)
        assert get_state(scanner) == before

    @pytest.mark.parametrize("kept", [12, 13, 30, len(GOOD[1]) - 1])
    def test_followed_by_valid_records_is_damage(self, create: ScannerType, kept: int) -> None:
        # The record claims to be longer than the rest of the file.
        torn = (b.header(1000) + GOOD[1])[:kept]
        reading = gather(read_file(create(), GOOD[0] + torn + b"".join(GOOD[2:])))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 2, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), kept, DamageKind.TORN)]

    def test_ending_inside_later_records_is_damage(self, create: ScannerType) -> None:
        torn = GOOD[1][:-9]
        reading = gather(read_file(create(), GOOD[0] + torn + b"".join(GOOD[2:])))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 2, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), len(torn), DamageKind.DATA)]

    def test_does_not_hide_later_records(self, create: ScannerType) -> None:
        start = GOOD[0] + b.header(5000) + b"half a payload"
        scanner = create()
        batches = read_file(scanner, start)
        assert scanner.lost_at == len(GOOD[0])
        for end in range(len(start), len(start) + len(GOOD[1]) + 1, 7):
            data = (start + GOOD[1] + GOOD[2])[:end]
            scanner.rewind(len(data))
            batches += read_file(scanner, data)
        data = start + GOOD[1] + GOOD[2]
        scanner.rewind(len(data))
        batches += read_file(scanner, data)
        steps = [row[0] for row in gather(batches).points[b"loss"]]
        assert steps == [0, 1, 2]


class TestDamage:
    @pytest.mark.parametrize("at", range(12))
    def test_wrong_header(self, create: ScannerType, at: int) -> None:
        data = GOOD[0] + b.flip(GOOD[1], at) + b"".join(GOOD[2:])
        reading = gather(read_file(create(), data))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 2, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), len(GOOD[1]), DamageKind.HEADER)]

    @pytest.mark.parametrize("at", range(12, len(GOOD[1])))
    def test_wrong_payload(self, create: ScannerType, at: int) -> None:
        data = GOOD[0] + b.flip(GOOD[1], at) + b"".join(GOOD[2:])
        reading = gather(read_file(create(), data))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 2, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), len(GOOD[1]), DamageKind.DATA)]

    @pytest.mark.parametrize("after", [b"", b"\0" * 11])
    def test_wrong_payload_of_the_last_record(self, create: ScannerType, after: bytes) -> None:
        scanner = create()
        data = GOOD[0] + b.flip(GOOD[1], 20) + after
        (batch,) = read_file(scanner, data)
        assert batch.damage == [Damage(len(GOOD[0]), len(GOOD[1]), DamageKind.DATA)]
        assert get_state(scanner) == (len(data) - len(after), -1, -1)

    def test_wrong_payload_before_missing_header(self, create: ScannerType) -> None:
        data = b.flip(GOOD[1], 20) + b"x" * 100
        scanner = create()
        batch = scanner.scan(data[: len(GOOD[1]) + 11], len(data))
        assert batch.damage == [Damage(0, len(GOOD[1]), DamageKind.DATA)]
        assert get_state(scanner) == (len(GOOD[1]), -1, -1)

    def test_wrong_payload_and_wrong_header_are_one_damage(self, create: ScannerType) -> None:
        bad = b.flip(GOOD[1], 20) + b.flip(GOOD[2], 3)
        reading = gather(read_file(create(), GOOD[0] + bad + b"".join(GOOD[3:])))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), len(bad), DamageKind.DATA)]

    @pytest.mark.parametrize(
        "garbage",
        [b"x", b"\0" * 16, b"\xff" * 100, bytes(range(256)) * 40, GOOD[1][5:], b"\0" * 200_000],
        ids=["byte", "zeros", "ones", "bytes", "tail", "many zeros"],
    )
    @pytest.mark.parametrize("window", [64, 1000, 8 << 20])
    def test_garbage_between_records(
        self, create: ScannerType, garbage: bytes, window: int
    ) -> None:
        data = GOOD[0] + garbage + b"".join(GOOD[1:])
        reading = gather(read_file(create(), data, window))
        assert [row[0] for row in reading.points[b"loss"]] == STEPS
        assert reading.damage == [Damage(len(GOOD[0]), len(garbage), DamageKind.HEADER)]

    @pytest.mark.parametrize("length", [1000, 4 << 30, 1 << 62, 1 << 63, (1 << 64) - 1])
    def test_absurd_length(self, create: ScannerType, length: int) -> None:
        scanner = create()
        data = GOOD[0] + b.header(length) + b"".join(GOOD[1:])
        reading = gather(read_file(scanner, data))
        assert [row[0] for row in reading.points[b"loss"]] == STEPS
        assert reading.damage == [Damage(len(GOOD[0]), 12, DamageKind.TORN)]

    @pytest.mark.parametrize("length", [4 << 30, (1 << 63) - 1, (1 << 64) - 1])
    def test_absurd_length_at_the_end(self, create: ScannerType, length: int) -> None:
        scanner = create()
        read_file(scanner, GOOD[0] + b.header(length) + b"abc")
        assert scanner.lost_at == len(GOOD[0])
        assert scanner.torn_end >= 4 << 30

    def test_header_in_garbage_needs_valid_payload(self, create: ScannerType) -> None:
        garbage = b"junk" + b.flip(GOOD[1], 20) + b"more"
        reading = gather(read_file(create(), GOOD[0] + garbage + b"".join(GOOD[2:])))
        assert [row[0] for row in reading.points[b"loss"]] == [0, 2, 3, 4]
        assert reading.damage == [Damage(len(GOOD[0]), len(garbage), DamageKind.HEADER)]

    def test_damage_at_both_ends(self, create: ScannerType) -> None:
        scanner = create()
        reading = gather(read_file(scanner, b"first" + b"".join(GOOD) + b"at last, garbage"))
        assert reading.damage == [Damage(0, 5, DamageKind.HEADER)]
        assert scanner.lost_at == 5 + sum(map(len, GOOD))


class TestSearch:
    def test_waits_for_incomplete_candidate(self, create: ScannerType) -> None:
        data = b"garbage!" + b"".join(GOOD)
        scanner = create()
        batch = scanner.scan(data[: 8 + len(GOOD[0]) - 1], len(data))
        assert (batch.records, batch.damage) == (0, [])
        assert (scanner.position, scanner.lost_at) == (8, 0)
        batch = scanner.scan(data[8:], len(data))
        assert (batch.records, batch.damage) == (5, [Damage(0, 8, DamageKind.HEADER)])

    def test_keeps_bytes_of_partial_header(self, create: ScannerType) -> None:
        data = b"g" * 1000 + b"".join(GOOD)
        scanner = create()
        scanner.scan(data[:100], len(data))
        assert (scanner.position, scanner.lost_at) == (100 - 11, 0)

    def test_keeps_header_at_end_of_file(self, create: ScannerType) -> None:
        start, empty = b"g" * 100, b.record(b"")
        scanner = create()
        read_file(scanner, start + empty[:12])
        scanner.rewind(len(start + empty))
        assert gather(read_file(scanner, start + empty)).records == 1

    def test_large_candidate_is_accepted_by_its_header(self, create: ScannerType) -> None:
        data = b"garbage" + b.header(LARGE_RECORD_BYTES) + b"p" * (LARGE_RECORD_BYTES + 4)
        scanner = create()
        batch = scanner.scan(data[:1000], len(data))
        assert batch.damage == [Damage(0, 7, DamageKind.HEADER)]
        assert batch.large == LargeRecord(7, LARGE_RECORD_BYTES)
        assert get_state(scanner) == (7, -1, -1)

    def test_candidate_must_fit_in_file(self, create: ScannerType) -> None:
        data = b"garbage" + b.header(LARGE_RECORD_BYTES) + b"p" * (LARGE_RECORD_BYTES + 3)
        scanner = create()
        assert scanner.scan(data[:1000], len(data)).damage == []
        assert scanner.lost_at == 0

    def test_overlapping_payloads_do_not_hide_short_record(self, create: ScannerType) -> None:
        data = b"g" + b.header(200_000) * 40_000 + GOOD[0]
        assert read_steps(create, data) == [0]


class TestZeroTail:
    def test_is_not_damage_if_filled_in_later(self, create: ScannerType) -> None:
        scanner = create()
        batches = read_file(scanner, GOOD[0] + bytes(5000))
        assert scanner.lost_at == len(GOOD[0])
        scanner.rewind(5000)
        assert (scanner.position, scanner.lost_at) == (len(GOOD[0]), -1)
        batches += read_file(scanner, b"".join(GOOD))
        assert gather(batches).records == 5
        assert gather(batches).damage == []

    def test_long_tail_is_searched_once(self, create: ScannerType) -> None:
        scanner = create()
        data = bytes((16 << 20) + 100)
        read_file(scanner, data)
        before = get_state(scanner)
        scanner.rewind(len(data) + 1)
        assert get_state(scanner) == before

    def test_other_garbage_is_searched_once(self, create: ScannerType) -> None:
        scanner = create()
        read_file(scanner, b"\1" * 100)
        before = get_state(scanner)
        scanner.rewind(200)
        assert get_state(scanner) == before

    def test_rewind_without_damage_does_nothing(self, create: ScannerType) -> None:
        scanner = create()
        read_file(scanner, GOOD[0])
        scanner.rewind(10_000)
        assert get_state(scanner) == (len(GOOD[0]), -1, -1)


class TestLargeRecords:
    payload = b.event(b.summary(b.value("big", b.image(b"i" * LARGE_RECORD_BYTES))), step=7)

    def test_incomplete_in_data_are_reported(self, create: ScannerType) -> None:
        data = GOOD[0] + b.record(self.payload)
        scanner = create()
        batch = scanner.scan(data[:-1], len(data))
        assert batch.records == 1
        assert batch.large == LargeRecord(len(GOOD[0]), len(self.payload))
        assert scanner.position == len(GOOD[0])

    def test_complete_in_data_are_scanned(self, create: ScannerType) -> None:
        data = GOOD[0] + b.record(self.payload)
        (batch,) = read_file(create(), data)
        assert batch.large is None
        assert batch.references.step.tolist() == [7]

    def test_shorter_records_are_waited_for(self, create: ScannerType) -> None:
        data = b.record(b.event(make_unknown_field(LARGE_RECORD_BYTES - 1)))
        scanner = create()
        batch = scanner.scan(data[:-1], len(data))
        assert batch.large is None
        assert scanner.position == 0

    def test_accept_adds_values(self, create: ScannerType) -> None:
        scanner = create(tags=[b"a"], described=[0], position=100)
        found = [
            ScannedValue(b"img", Content.IMAGE, -3, 1.5, 100, 9, 99, b"\x0a\x03\x0a\x01x"),
            ScannedValue(b"a", Content.TENSOR, -3, 1.5, 100, 120, 9, None, (ScalarType.INT, -4)),
            ScannedValue(
                b"a",
                Content.TENSOR,
                -3,
                1.5,
                100,
                120,
                9,
                b"\x0a\x03\x0a\x01x",
                (ScalarType.INT, 5),
            ),
        ]
        batch = scanner.accept(found, 1000)
        assert scanner.position == 1000
        assert (batch.records, batch.tags, batch.contents) == (1, [b"img"], [Content.IMAGE])
        assert batch.metadata == [(1, b"\x0a\x03\x0a\x01x")]
        assert get_values(batch, 0) == [-4, 5]
        references = batch.references
        assert (references.series.tolist(), references.record.tolist()) == ([1], [100])
        assert (references.start.tolist(), references.size.tolist()) == ([9], [99])
        assert references.content.tolist() == [Content.IMAGE]

    def test_reject_reports_damage(self, create: ScannerType) -> None:
        scanner = create(position=100)
        batch = scanner.reject(1000)
        assert (batch.records, batch.damage) == (0, [Damage(100, 900, DamageKind.PROTO)])
        assert scanner.position == 1000


def make_unknown_field(size: int) -> bytes:
    """Return an unknown field of ``size`` bytes in total."""
    return b.blob(100, bytes(size - 5 if size > 127 + 3 else size - 3))


class TestUndecodable:
    @pytest.mark.parametrize(
        "payload",
        [
            b"\x80",
            b"\xff" * 10 + b"\x01",
            b"\x10" + b"\x80" * 10 + b"\x01",
            b"\x00\x01",
            b"\x02\x00",
            b"\x09\x00\x00",
            b"\x15\x00\x00",
            b"\x2a\x05abcd",
            b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0b\x0c",
            b"\x0c",
            b"\x0e",
            b"\x0f",
            b.blob(5, b"\x0a\x7f"),
            b.summary(b.blob(1, b"\x0a\x7f")),
            b.summary(b.value("t", b.blob(8, b"\x08"))),
            b.summary(b.value("t", b.tensor(b.FLOAT, b.blob(2, b"\x12\x05")))),
            b.summary(b.value("t", b.tensor(b.FLOAT, b.blob(2, b.blob(2, b"\x08"))))),
            b.summary(b.value("t", b.tensor(b.FLOAT, b.blob(5, b"123456")))),
            b.summary(b.value("t", b.tensor(b.DOUBLE, b.blob(6, b"123456")))),
            b.summary(b.value("t", b.tensor(b.INT64, b.blob(10, b"\x80")))),
            b.blob(7, b"\x08"),
            b.blob(8, b"\x0a\x01"),
            b.blob(10, b"\x0a\x01"),
        ],
        ids=bytes.hex,
    )
    def test_is_damage_and_adds_nothing(self, create: ScannerType, payload: bytes) -> None:
        before = b.summary(b.value("new", b.simple(1), b.metadata("scalars")))
        version = b.blob(3, b"brain.Event:9") + b.blob(10, b.blob(1, b"writer"))
        bad = b.record(b.event(before, version) + payload)
        reading = gather(read_file(create(), GOOD[0] + bad + GOOD[1]))
        assert reading.damage == [Damage(len(GOOD[0]), len(bad), DamageKind.PROTO)]
        assert (reading.tags, reading.records, reading.metadata) == ([b"loss"], 2, [])
        assert (reading.file_version, reading.writer) == (None, None)

    def test_tags_of_invalid_events_are_not_numbered(self, create: ScannerType) -> None:
        new = b.summary(b.value("new", b.simple(1), b.metadata("scalars")))
        other = b.summary(b.value("other", b.simple(2)))
        batch = scan_payload(create, b.event(new) + b"\x80", b.event(other), b.event(new))
        assert batch.tags == [b"other", b"new"]
        assert [series for series, _ in batch.metadata] == [1]

    @pytest.mark.parametrize(
        "body", [b.blob(4, b"\xff"), b.blob(5, b"\x08"), b.blob(6, b"\x0f"), b.blob(3, b"\x80")]
    )
    def test_other_messages_are_not_parsed(self, create: ScannerType, body: bytes) -> None:
        batch = scan_payload(create, b.event(b.summary(b.value("t", body))))
        assert (batch.records, batch.damage) == (1, [])
        assert len(batch.references.step) == 1

    def test_overwritten_tensor_is_not_parsed(self, create: ScannerType) -> None:
        batch = scan_payload(
            create, b.event(b.summary(b.value("t", b.blob(8, b"\x08"), b.simple(3))))
        )
        assert get_values(batch) == [3.0]


SCALARS = [
    (
        "float32",
        b.FLOAT,
        struct.pack("<f", 0.1),
        b.single(5, 0.1),
        ScalarType.FLOAT,
        0.10000000149011612,
    ),
    ("float64", b.DOUBLE, struct.pack("<d", 0.1), b.double(6, 0.1), ScalarType.FLOAT, 0.1),
    ("half", b.HALF, struct.pack("<e", -1.5), b.integer(13, 0xBE00), ScalarType.FLOAT, -1.5),
    ("half, tiny", b.HALF, b"\x01\x00", b.integer(13, 1), ScalarType.FLOAT, 2.0**-24),
    ("half, infinite", b.HALF, b"\x00\xfc", b.integer(13, 0xFC00), ScalarType.FLOAT, -math.inf),
    ("bfloat16", b.BFLOAT16, b"\x80\x3f", b.integer(13, 0x3F80), ScalarType.FLOAT, 1.0),
    ("int32", b.INT32, b"\xfe\xff\xff\xff", b.integer(7, -2), ScalarType.INT, -2),
    ("int16", b.INT16, b"\xfe\xff", b.integer(7, -2), ScalarType.INT, -2),
    ("int8", b.INT8, b"\xfe", b.integer(7, -2), ScalarType.INT, -2),
    ("uint8", b.UINT8, b"\xfe", b.integer(7, 254), ScalarType.INT, 254),
    ("uint16", b.UINT16, b"\xfe\xff", b.integer(7, 65534), ScalarType.INT, 65534),
    (
        "int64",
        b.INT64,
        b"\x00" * 7 + b"\x80",
        b.integer(10, -(1 << 63)),
        ScalarType.INT,
        -(1 << 63),
    ),
    ("uint32", b.UINT32, b"\xff" * 4, b.integer(16, (1 << 32) - 1), ScalarType.INT, (1 << 32) - 1),
    ("uint64", b.UINT64, b"\x05" + bytes(7), b.integer(17, 5), ScalarType.INT, 5),
    ("uint64, high", b.UINT64, b"\xff" * 8, b.integer(17, -1), ScalarType.UINT, (1 << 64) - 1),
    ("bool", b.BOOL, b"\x01", b.integer(11, 1), ScalarType.INT, 1),
    ("bool, odd", b.BOOL, b"\x02", b.integer(11, 256), ScalarType.INT, 1),
    ("float8_e5m2", b.FLOAT8_E5M2, b"\xc0", b.blob(18, b"\xc0"), ScalarType.FLOAT, -2.0),
    ("float8_e4m3fn", b.FLOAT8_E4M3FN, b"\x7e", b.blob(18, b"\x7e"), ScalarType.FLOAT, 448.0),
    (
        "float8_e4m3fn, tiny",
        b.FLOAT8_E4M3FN,
        b"\x01",
        b.blob(18, b"\x01"),
        ScalarType.FLOAT,
        2.0**-9,
    ),
]


class TestScalars:
    @pytest.mark.parametrize("case", SCALARS, ids=lambda case: case[0])
    @pytest.mark.parametrize("shape", [b"", b.shape(), b.shape(1)], ids=["none", "[]", "[1]"])
    @pytest.mark.parametrize("way", ["content", "typed"])
    def test_every_dtype(self, create: ScannerType, case: tuple, shape: bytes, way: str) -> None:
        _, dtype, raw, typed, number, expected = case
        body = b.tensor(dtype, shape, b.content(raw) if way == "content" else typed)
        batch = scan_payload(create, b.event(b.summary(b.value("t", body)), step=3))
        assert (batch.tags, batch.contents) == ([b"t"], [Content.TENSOR])
        assert batch.points.scalar_type.tolist() == [number]
        assert get_values(batch) == [expected]

    @pytest.mark.parametrize("case", SCALARS, ids=lambda case: case[0])
    def test_missing_value_is_zero(self, create: ScannerType, case: tuple) -> None:
        batch = scan_payload(create, b.event(b.summary(b.value("t", b.tensor(case[1])))))
        expected = ScalarType.FLOAT if isinstance(case[5], float) else ScalarType.INT
        assert (get_values(batch), batch.points.scalar_type.tolist()) == ([0], [expected])

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (b.tensor(b.FLOAT, b.blob(5, struct.pack("<ff", 1.5, 2.5))), 1.5),
            (b.tensor(b.FLOAT, b.single(5, 1.5), b.single(5, 2.5)), 1.5),
            (b.tensor(b.DOUBLE, b.blob(6), b.blob(6, struct.pack("<d", 1.5))), 1.5),
            (b.tensor(b.INT64, b.blob(10, b.varint(-7), b.varint(9))), -7),
            (b.tensor(b.INT32, b.blob(7, b.varint(300))), 300),
            (b.tensor(b.INT8, b.integer(7, 300)), 44),
            (b.tensor(b.INT32, b.single(7, 4.0), b.integer(7, 2)), 2),
            (b.tensor(b.FLOAT8_E5M2, b.blob(18, b"\x3c\x40")), 1.0),
            (b.tensor(b.FLOAT8_E5M2, b.blob(18, b"\x40"), b.blob(18, b"\x3c")), 1.0),
            (b.tensor(b.FLOAT8_E5M2, b.blob(18, b"\x40"), b.blob(18, b"")), 0.0),
            (b.tensor(b.FLOAT, b.integer(7, 3), b.single(5, 4.0)), 4.0),
            (b.tensor(b.FLOAT, b.single(5, 4.0), b.content(struct.pack("<f", 2.0))), 2.0),
            (b.tensor(b.FLOAT, b.single(5, 4.0), b.content(b"")), 4.0),
            (b.tensor(b.FLOAT, b.single(5, 4.0), b.blob(99, b"?"), b.integer(3, 1)), 4.0),
        ],
    )
    def test_precedence_of_several_values(
        self, create: ScannerType, body: bytes, expected: float
    ) -> None:
        assert get_values(scan_payload(create, b.event(b.summary(b.value("t", body))))) == [
            expected
        ]

    @pytest.mark.parametrize("case", ["half", "bfloat16", "float8_e5m2", "float8_e4m3fn", "simple"])
    def test_non_scalar_tensors(self, create: ScannerType, case: str) -> None:
        body = {
            "half": b.tensor(b.HALF, b.content(b"\x01\x7c")),
            "bfloat16": b.tensor(b.BFLOAT16, b.content(b"\xc0\x7f")),
            "float8_e5m2": b.tensor(b.FLOAT8_E5M2, b.content(b"\x7d")),
            "float8_e4m3fn": b.tensor(b.FLOAT8_E4M3FN, b.content(b"\xff")),
            "simple": b.simple(math.nan),
        }[case]
        (number,) = get_values(scan_payload(create, b.event(b.summary(b.value("t", body)))))
        assert math.isnan(number)

    @pytest.mark.parametrize(
        "body",
        [
            b.tensor(b.FLOAT, b.shape(2), b.single(5, 1.0)),
            b.tensor(b.FLOAT, b.shape(0)),
            b.tensor(b.FLOAT, b.shape(1, 1), b.single(5, 1.0)),
            b.tensor(b.FLOAT, b.shape(-1), b.single(5, 1.0)),
            b.tensor(b.FLOAT, b.blob(2, b.integer(3, 1)), b.single(5, 1.0)),
            b.tensor(b.FLOAT, b.content(b"12345")),
            b.tensor(b.FLOAT, b.content(b"12345678")),
            b.tensor(b.STRING, b.blob(8, b"text")),
            b.tensor(b.COMPLEX64, b.single(9, 1.0)),
            b.tensor(b.RESOURCE),
            b.tensor(b.VARIANT),
            b.tensor(0, b.single(5, 1.0)),
            b.tensor(99, b.single(5, 1.0)),
            b.tensor((1 << 32) + 1, b.single(5, 1.0)),
        ],
        ids=bytes.hex,
    )
    def test_other_values_are_references(self, create: ScannerType, body: bytes) -> None:
        batch = scan_payload(create, b.event(b.summary(b.value("t", body))))
        assert len(batch.points.step) == 0
        assert batch.references.content.tolist() == [Content.TENSOR]
        assert batch.damage == []

    def test_mixed_types_become_floats(self, create: ScannerType) -> None:
        def of(tag: str, body: bytes) -> bytes:
            return b.event(b.summary(b.value(tag, body)))

        batch = scan_payload(
            create,
            of("mixed", b.tensor(b.INT64, b.integer(10, -3))),
            of("same", b.tensor(b.INT64, b.integer(10, (1 << 62) + 1))),
            of("mixed", b.simple(0.5)),
            of("mixed", b.tensor(b.UINT64, b.integer(17, -1))),
            of("unsigned", b.tensor(b.UINT64, b.integer(17, 1))),
            of("unsigned", b.tensor(b.UINT64, b.integer(17, -1))),
        )
        assert batch.points.scalar_type.tolist() == [
            ScalarType.FLOAT,
            ScalarType.INT,
            ScalarType.FLOAT,
        ]
        assert get_values(batch, 0) == [-3.0, 0.5, 2.0**64]
        assert get_values(batch, 1) == [(1 << 62) + 1]
        assert get_values(batch, 2) == [1.0, 2.0**64]


class TestValues:
    @pytest.mark.parametrize(
        ("body", "content"),
        [
            (b.blob(3, b"old"), Content.OLD_HISTOGRAM),
            (b.image(b"png"), Content.IMAGE),
            (b.blob(5, b"histogram"), Content.HISTOGRAM),
            (b.blob(6, b"audio"), Content.AUDIO),
            (b.image_tensor(b"png"), Content.TENSOR),
            (b"", Content.NONE),
            (b.integer(8, 1), Content.NONE),
            (b.simple(1) + b.image(b"png"), Content.IMAGE),
            (b.image_tensor(b"png") + b.blob(5, b"histogram"), Content.HISTOGRAM),
        ],
    )
    def test_references_locate_their_value(
        self, create: ScannerType, body: bytes, content: Content
    ) -> None:
        message = b.value("t", body, b.metadata("any"))
        payload = b.event(b.summary(b.value("first", b.simple(1)), message), step=9, wall=2.5)
        data = GOOD[0] + b.record(payload)
        (batch,) = read_file(create(), data)
        references = batch.references
        assert (references.series.tolist(), references.starts.tolist()) == ([2], [0, 1])
        assert (references.step.tolist(), references.wall.tolist()) == ([9], [2.5])
        assert references.content.tolist() == [content]
        assert batch.contents[2] == content
        record, start, size = (
            int(c[0]) for c in (references.record, references.start, references.size)
        )
        assert record == len(GOOD[0])
        assert b.blob(1, data[record + 12 + start :][:size]) == message

    @pytest.mark.parametrize(
        ("field", "tag", "content"),
        [
            (b.blob(4, b"a graph"), GRAPH_TAG, Content.GRAPH),
            (b.blob(9, b"meta graph"), META_GRAPH_TAG, Content.META_GRAPH),
            (b.blob(8, b.blob(1, b"step1"), b.blob(2, b"x")), b"step1", Content.RUN_METADATA),
            (b.blob(8, b.blob(2, b"x")), b"", Content.RUN_METADATA),
        ],
    )
    def test_fields_of_event(
        self, create: ScannerType, field: bytes, tag: bytes, content: Content
    ) -> None:
        payload = b.event(field, step=1)
        batch = scan_payload(create, payload)
        assert (batch.tags, batch.contents) == ([tag], [content])
        assert batch.references.content.tolist() == [content]
        start, size = int(batch.references.start[0]), int(batch.references.size[0])
        assert payload[start : start + size] == field[2:]

    def test_series_are_numbered_in_order(self, create: ScannerType) -> None:
        batch = scan_payload(
            create,
            b.event(b.summary(b.value("b", b.simple(1)), b.value("a", b.image(b"")))),
            b.event(b.summary(b.value("c", b.simple(2)), b.value("b", b.simple(3)))),
        )
        assert batch.tags == [b"b", b"a", b"c"]
        assert batch.contents == [Content.SIMPLE_VALUE, Content.IMAGE, Content.SIMPLE_VALUE]
        assert batch.points.series.tolist() == [0, 2]
        assert batch.points.starts.tolist() == [0, 2, 3]
        assert get_values(batch, 0) == [1.0, 3.0]

    def test_known_tags_keep_their_ids(self, create: ScannerType) -> None:
        data = b"".join(GOOD)
        batch = create(tags=[b"a", b"loss"]).scan(data, len(data))
        assert (batch.tags, batch.contents) == ([], [])
        assert batch.points.series.tolist() == [1]

    def test_many_series(self, create: ScannerType) -> None:
        names = [f"layer_{i}/weight" for i in range(3000)]
        values = b"".join(b.value(name, b.simple(i)) for i, name in enumerate(names))
        batch = scan_payload(create, b.event(b.summary(values)), b.event(b.summary(values)))
        assert batch.tags == [name.encode() for name in names]
        assert np.diff(batch.points.starts).tolist() == [2] * 3000

    @pytest.mark.parametrize(
        ("fields", "tag"),
        [
            (b.blob(7, b"node"), b"node"),
            (b.blob(1, b"") + b.blob(7, b"node"), b"node"),
            (b.blob(1, b"tag") + b.blob(7, b"node"), b"tag"),
            (b.blob(1, b"one") + b.blob(1, b"two"), b"two"),
            (b.blob(1, b"\xff\x00\xfe"), b"\xff\x00\xfe"),
            (b"", b""),
        ],
    )
    def test_node_name_replaces_missing_tag(
        self, create: ScannerType, fields: bytes, tag: bytes
    ) -> None:
        batch = scan_payload(create, b.event(b.summary(b.blob(1, fields, b.simple(1)))))
        assert batch.tags == [tag]

    @pytest.mark.parametrize("wall", [math.nan, math.inf, -math.inf, -1.0, 1e300])
    def test_wall_times_are_unchanged(self, create: ScannerType, wall: float) -> None:
        batch = scan_payload(create, b.event(b.summary(b.value("t", b.simple(1))), wall=wall))
        assert repr(batch.points.wall.tolist()) == repr([wall])

    @pytest.mark.parametrize("step", [0, -1, (1 << 63) - 1, -(1 << 63)])
    def test_steps_are_signed(self, create: ScannerType, step: int) -> None:
        batch = scan_payload(create, b.event(b.summary(b.value("t", b.simple(1))), step=step))
        assert batch.points.step.tolist() == [step]

    def test_last_step_and_time_win(self, create: ScannerType) -> None:
        payload = b.event(step=1, wall=1.0) + b.summary(b.value("t", b.simple(1)))
        batch = scan_payload(create, payload + b.event(step=5, wall=2.5))
        assert (batch.points.step.tolist(), batch.points.wall.tolist()) == ([5], [2.5])

    def test_unknown_fields_are_skipped(self, create: ScannerType) -> None:
        odd = b.integer(50, 1) + b.double(51, 1) + b.single(52, 1) + b.blob(53, b"?")
        wrong_type = b.double(5, 1.0) + b.integer(3, 7) + b.blob(2, b"?") + b.integer(1, 1)
        payload = b.event(odd, wrong_type, b.blob(5, odd, b.value("t", odd, b.simple(2)), odd))
        batch = scan_payload(create, payload)
        assert (get_values(batch), batch.points.step.tolist()) == ([2.0], [0])

    def test_file_version_and_writer(self, create: ScannerType) -> None:
        writer = b.blob(10, b.blob(1, b"some.writer"))
        batch = scan_payload(create, b.event(b.blob(3, b"brain.Event:2"), writer, wall=1.0))
        assert (batch.file_version, batch.writer) == (b"brain.Event:2", b"some.writer")
        assert batch.records == 1

    def test_log_messages_add_no_values(self, create: ScannerType) -> None:
        batch = scan_payload(create, b.event(b.blob(6, b.integer(1, 20), b.blob(2, b"hello"))))
        assert (batch.records, batch.tags) == (1, [])


class TestSessions:
    def test_start_begins_next_batch(self, create: ScannerType) -> None:
        start = b.record(b.event(b.session(1), step=3))
        data = GOOD[0] + GOOD[1] + start + GOOD[2] + start + start
        scanner = create()
        batches = read_file(scanner, data)
        assert [batch.records for batch in batches if batch.records] == [2, 2, 1, 1]
        assert [batch.session_start for batch in batches[:4]] == [None, 3, 3, 3]
        assert scanner.position == len(data)

    def test_start_in_first_record(self, create: ScannerType) -> None:
        data = b.record(b.event(b.session(1), step=-5)) + GOOD[0]
        batch = create().scan(data, len(data))
        assert (batch.records, batch.session_start) == (2, -5)

    def test_start_after_damage(self, create: ScannerType) -> None:
        data = b"garbage" + b.record(b.event(b.session(1))) + GOOD[0]
        (batch, *_) = read_file(create(), data)
        assert (batch.records, batch.session_start) == (2, 0)

    @pytest.mark.parametrize("status", [0, 2, 3, 4])
    def test_other_states_are_ignored(self, create: ScannerType, status: int) -> None:
        data = GOOD[0] + b.record(b.event(b.session(status))) + GOOD[1]
        (batch,) = read_file(create(), data)
        assert (batch.records, batch.session_start) == (3, None)


NAMED = b.metadata("scalars")[2:]
OTHER = b.metadata("images")[2:]
NAMELESS = b.metadata(extra=b.blob(2, b"display name"))[2:]
EMPTY_NAME = b.metadata(extra=b.blob(1, b.blob(2, b"content")))[2:]
BROKEN = b"\x0a\x7f"
BROKEN_LATE = NAMED + b"\x0a\x7f"


class TestMetadata:
    @pytest.mark.parametrize(
        ("given", "reported"),
        [
            ([NAMED, OTHER], [NAMED]),
            ([None, NAMED], [NAMED]),
            ([b"", NAMED], [NAMED]),
            ([b"", b""], []),
            ([NAMELESS, OTHER], [NAMELESS, OTHER]),
            ([NAMELESS, EMPTY_NAME, NAMED, NAMELESS], [NAMELESS, NAMED]),
            ([NAMED, NAMELESS], [NAMED]),
            ([BROKEN, NAMED], [BROKEN, NAMED]),
            ([BROKEN_LATE, OTHER], [BROKEN_LATE]),
        ],
    )
    @pytest.mark.parametrize("how", ["one record", "many records", "many pieces"])
    def test_reports_first_metadata_and_first_with_plugin(
        self, create: ScannerType, given: list, reported: list, how: str
    ) -> None:
        values = [
            b.value("t", b.simple(1), b"" if each is None else b.blob(9, each)) for each in given
        ]
        records = [b.record(b.event(b.summary(value))) for value in values]
        if how == "one record":
            records = [b.record(b.event(b.summary(*values)))]
        window = 16 if how == "many pieces" else 8 << 20
        reading = gather(read_file(create(), b"".join(records), window))
        assert reading.metadata == [(0, each) for each in reported]
        assert reading.damage == []

    def test_each_series_has_its_own_metadata(self, create: ScannerType) -> None:
        values = [b.value(tag, b.simple(1), b.blob(9, NAMED)) for tag in "abab"]
        batch = scan_payload(create, b.event(b.summary(*values)))
        assert batch.metadata == [(0, NAMED), (1, NAMED)]

    def test_described_series_are_not_reported_again(self, create: ScannerType) -> None:
        data = b.record(b.event(b.summary(b.value("t", b.simple(1), b.blob(9, NAMED)))))
        batch = create(tags=[b"s", b"t"], described=[1]).scan(data, len(data))
        assert batch.metadata == []
