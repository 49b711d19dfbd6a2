"""The compiled scanner of debug events, compared with the one in Python."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracklight.formats import proto
from tracklight.formats.debug_events import (
    EXECUTION_FIELD,
    TRACE_FIELD,
    UNKNOWN_COUNT,
    ColumnStore,
    EventScanner,
    FileFollower,
    Health,
    PayloadScanner,
    ScansEvents,
    Stop,
    create_event_scanner,
    decode_execution_name,
    decode_trace_name,
)
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tfrecord import encode_record


def make_trace(
    tensor: Any = b"", mode: int = 4, op: bytes = b"op", slot: int = 0, wall_time: float = 1.0
) -> bytes:
    message = proto.GraphExecutionTrace(
        tfdbg_context_id=b"graph",
        op_name=op,
        output_slot=slot,
        tensor_debug_mode=mode,
        tensor_proto=tensor,
        device_name=b"/device:CPU:0",
    )
    event = proto.DebugEvent(wall_time=wall_time, graph_execution_trace=message)
    return encode_record(event.SerializeToString())


def make_execution(tensors: list[bytes], mode: int = 4, inputs: list[int] | None = None) -> bytes:
    message = proto.DebugExecution(
        op_type=b"MatMul",
        num_outputs=len(tensors),
        input_tensor_ids=inputs or [],
        output_tensor_ids=[7, 1 << 40],
        tensor_debug_mode=mode,
        tensor_protos=tensors,
    )
    return encode_record(proto.DebugEvent(execution=message).SerializeToString())


def encode(value: Any) -> bytes:
    data: bytes = encode_tensor(value).SerializeToString()
    return data


def scan_both(data: bytes, field: int) -> dict[str, Any]:
    """Scan with both implementations, require the same result and return it."""
    fast, slow = create_event_scanner(field), EventScanner(field)
    assert type(fast) is not EventScanner
    assert fast.scan(data, 100) == slow.scan(data, 100)
    found, expected = fast.take(), slow.take()
    assert found.keys() == expected.keys()
    for column, values in expected.items():
        if column == "names":
            assert found[column] == values
        else:
            np.testing.assert_array_equal(found[column], values, err_msg=column)
            assert found[column].dtype == values.dtype
    return found


CAPPED = [UNKNOWN_COUNT - 1, 0, 0, UNKNOWN_COUNT - 1]
HALF_BITS = np.array([0x7C00, 0xFC00, 0x7E00, 0x3C00], np.uint16)


@pytest.mark.parametrize(
    ("mode", "tensor", "health", "counts"),
    [
        (2, encode(np.array([3.0, 1.0])), Health.NON_FINITE, [UNKNOWN_COUNT] * 4),
        (2, encode(np.array([3.0, 0.0])), Health.FINITE, None),
        (3, encode(np.array([3.0, 10.0, 1.0, 0.0, 2.0])), Health.NON_FINITE, [10, 1, 0, 2]),
        (3, encode(np.array([3.0, 10.0, 0.0, 0.0, 0.0])), Health.FINITE, None),
        (4, encode(np.array([3.0, 0, 1, 2, 6, 0, 1, 0, 2, 2, 1])), Health.NON_FINITE, [6, 0, 1, 0]),
        (4, encode(np.array([3.0, 0, 1, 2, 1e10, 0, 0, 5e9, 0, 0, 0])), Health.NON_FINITE, CAPPED),
        (4, encode(np.array([3.0, 0, 1, 2, 6, 0, 0, 0, 2, 2, 2])), Health.FINITE, None),
        (4, encode(np.array([3.0, 0, 1])), Health.UNKNOWN, None),
        (4, encode(np.array([np.nan] * 11)), Health.NON_FINITE, [UNKNOWN_COUNT] * 4),
        (5, encode(np.array([3.0, 1, 2, 6, 2, 3, 0, 0, 0, 0])), Health.UNKNOWN, None),
        (7, encode(np.array([1, np.nan, np.inf, -np.inf], "f4")), Health.NON_FINITE, [4, 1, 1, 1]),
        (7, encode(np.array([1, -np.inf], np.float64)), Health.NON_FINITE, [2, 1, 0, 0]),
        (7, encode(HALF_BITS.view(np.float16)), Health.NON_FINITE, [4, 1, 1, 1]),
        (7, encode(np.array([1, 2], np.int32)), Health.UNKNOWN, None),
        (7, encode("text"), Health.UNKNOWN, None),
        (7, encode(np.zeros((2, 3, 1, 1, 1, 4, 1), np.float32)), Health.FINITE, None),
        (1, encode(np.zeros(0, np.float32)), Health.UNKNOWN, None),
        (4, b"", Health.UNKNOWN, None),
        (4, b"\xff\xff", Health.UNKNOWN, None),
    ],
)  # fmt: skip
def test_summarizes_tensors(
    mode: int, tensor: bytes, health: Health, counts: list[int] | None
) -> None:
    found = scan_both(make_trace(tensor, mode), TRACE_FIELD)
    assert found["health"].tolist() == [health]
    assert found["bad_counts"].tolist() == ([counts] if counts else [])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_counts_repeated_values(count: int) -> None:
    values = [1.0, float("-inf"), float("nan")][:count]
    shape = proto.TensorShapeProto(dim=[proto.Dim(size=2), proto.Dim(size=4)])
    tensor = proto.TensorProto(dtype=1, tensor_shape=shape, float_val=values).SerializeToString()
    found = scan_both(make_trace(tensor, 7), TRACE_FIELD)
    assert found["bad_counts"].tolist() == ([[8, 1, 0, 6]] if count == 3 else [])
    half = proto.TensorProto(dtype=19, tensor_shape=shape, half_val=[0x7C00]).SerializeToString()
    assert scan_both(make_trace(half, 7), TRACE_FIELD)["bad_counts"].tolist() == [[8, 0, 8, 0]]


def test_numbers_names_and_shapes() -> None:
    health = encode(np.array([3.0, 0, 1, 2, 6, 0, 0, 0, 2, 2, 2]))
    other = encode(np.array([3.0, 0, 1, 2, 8, 0, 0, 0, 2, 2, 2]))
    data = make_trace(health) + make_trace(health, slot=1) + make_trace(other, wall_time=2.0)
    found = scan_both(data, TRACE_FIELD)
    assert found["name"].tolist() == [0, 1, 0]
    assert found["shape"].tolist() == [0, 0, 1]
    assert found["wall_time"].tolist() == [1.0, 1.0, 2.0]
    assert found["offset"][0] == 100


def test_reads_executions() -> None:
    bad = encode(np.array([-1.0, 6, 0, 0, 1]))
    good = encode(np.array([-1.0, 6, 0, 0, 0]))
    data = make_execution([good, bad, b""], 3, [5, -1]) + make_execution([], 3)
    found = scan_both(data, EXECUTION_FIELD)
    assert found["tensor_end"].tolist() == [3, 3]
    assert found["input_end"].tolist() == [2, 2]
    assert found["input_id"].tolist() == [5, -1]
    assert found["output_id"].tolist() == [7, 1 << 40] * 2
    assert found["health"].tolist() == [1, 2, 0]


def test_skips_other_events() -> None:
    event = proto.DebugEvent(wall_time=1.0, debugged_device=proto.DebuggedDevice(device_id=1))
    data = encode_record(event.SerializeToString()) + make_execution([], 3)
    assert len(scan_both(data, TRACE_FIELD)["offset"]) == 0


@pytest.mark.parametrize("create", [create_event_scanner, EventScanner])
def test_stops_at_damage(create: Callable[[int], ScansEvents]) -> None:
    record = make_trace(encode(np.array([3.0, 1.0])), 2)
    for at, stop in ((2, Stop.HEADER), (14, Stop.DATA)):
        damaged = bytearray(record)
        damaged[at] ^= 1
        scanner = create(TRACE_FIELD)
        assert scanner.scan(record + damaged, 0) == (len(record), stop)
    assert create(TRACE_FIELD).scan(encode_record(b"\xff"), 0) == (0, Stop.PROTO)
    assert create(TRACE_FIELD).scan(record[:-1], 0) == (0, Stop.END)


def test_scans_without_the_compiled_scanner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tracklight.formats._debug_events", None)
    monkeypatch.delattr("tracklight.formats._debug_events", raising=False)
    scanner = create_event_scanner(TRACE_FIELD)
    assert isinstance(scanner, EventScanner)
    scanner.scan(make_trace(encode(np.array([3.0, 1.0])), 2), 0)
    assert scanner.take()["health"].tolist() == [Health.NON_FINITE]


#: Health in mode CONCISE_HEALTH with a NaN, written value by value.
UNPACKED = proto.TensorProto(dtype=2, double_val=[3.0, 10, 0, 0, 2]).SerializeToString()
TOO_LONG = proto.TensorProto(dtype=2, double_val=[1.0] * 12).SerializeToString()
ODD_BYTES = proto.TensorProto(dtype=2, tensor_content=bytes(41)).SerializeToString()
TOO_FEW_BYTES = proto.TensorProto(
    dtype=1,
    tensor_shape=proto.TensorShapeProto(dim=[proto.Dim(size=3)]),
    tensor_content=np.float32([np.nan]).tobytes(),
).SerializeToString()


@pytest.mark.parametrize(
    ("mode", "tensor", "health"),
    [
        (3, UNPACKED, Health.NON_FINITE),
        (3, TOO_LONG, Health.UNKNOWN),
        (3, ODD_BYTES, Health.UNKNOWN),
        (3, encode(np.ones(12)), Health.UNKNOWN),
        (7, TOO_FEW_BYTES, Health.UNKNOWN),
    ],
)
def test_summarizes_unusual_tensors(mode: int, tensor: bytes, health: Health) -> None:
    found = scan_both(make_trace(tensor, mode), TRACE_FIELD)
    assert found["health"].tolist() == [health]


@pytest.mark.parametrize(
    ("field", "ids"),
    [
        (b"\x20\x05\x20\x07", [5, 7]),  # not packed
        (b"\x22\x02\x05\x07", [5, 7]),
        (b"\x22\x02\x05\x87", [5]),  # the last one is incomplete
    ],
)
def test_reads_ids_of_inputs(field: bytes, ids: list[int]) -> None:
    execution = proto.DebugExecution(op_type=b"Abs").SerializeToString() + field
    event = bytes([EXECUTION_FIELD << 3 | 2, len(execution)]) + execution
    found = scan_both(encode_record(event), EXECUTION_FIELD)
    assert found["input_id"].tolist() == ids


def test_names_that_cannot_be_decoded_are_empty() -> None:
    bad_location = b"\x52\x01\xff"
    assert decode_execution_name(bad_location).op_type == ""
    assert decode_trace_name(b"\xff").op == ""


@pytest.mark.parametrize("seed", range(20))
def test_agrees_on_damaged_messages(seed: int) -> None:
    random = np.random.default_rng(seed)
    tensors = [
        encode(random.choice([1.0, np.nan, np.inf], (2, 3)).astype(np.float32)),
        encode(random.integers(0, 4, 11).astype(np.float64)),
    ]
    data = b""
    for _ in range(50):
        mode = int(random.integers(0, 9))
        record = bytearray(
            make_trace(tensors[mode != 7], mode) if seed % 2 else make_execution(tensors, mode)
        )
        for _ in range(int(random.integers(0, 3))):
            record[int(random.integers(12, len(record) - 4))] = int(random.integers(256))
        data += encode_record(bytes(record[12:-4]))
    field = TRACE_FIELD if seed % 2 else EXECUTION_FIELD
    # Protobuf rejects some messages that the scanner can still read, so only safety is compared.
    scanner, at = create_event_scanner(field), 0
    while at < len(data):
        used, stop = scanner.scan(data[at:], at)
        at += used
        if stop == Stop.END:
            break
        assert stop == Stop.PROTO
        at += 16 + struct.unpack_from("<Q", data, at)[0]
    assert at == len(data)


def test_follows_a_file_and_recovers() -> None:
    records = [make_trace(encode(np.array([3.0, 1.0])), 2, wall_time=i + 1.0) for i in range(20)]
    damaged = bytearray(records[5])
    damaged[1] ^= 1
    data = b"".join([*records[:5], bytes(damaged), *records[6:]])
    for step in (1, 50, 1000):
        store = ColumnStore(TRACE_FIELD)
        follower = FileFollower(store.scanner, store.collect)
        for size in [*range(0, len(data), step), len(data)]:
            follower.update(_reader(data[:size]), size)
        assert store.get().wall_time.tolist() == [i + 1 for i in range(20) if i != 5]
        assert [it.offset for it in follower.damage] == [5 * len(records[0])]
        assert follower.incomplete_bytes == 0


def follow(data: bytes) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return the payloads of a file, and the offset and size of each damaged part."""
    scanner = PayloadScanner()
    follower = FileFollower(scanner)
    follower.update(_reader(data), len(data))
    damage = [(it.offset, it.size) for it in follower.damage]
    return [payload for _, payload in scanner.take()], damage


def test_record_that_lost_a_byte_costs_only_itself() -> None:
    records = [encode_record(bytes([i]) * 100) for i in range(5)]
    shorter = records[1][:50] + records[1][51:]
    payloads, damage = follow(b"".join([records[0], shorter, *records[2:]]))
    assert [it[0] for it in payloads] == [0, 2, 3, 4]
    assert damage == [(len(records[0]), len(shorter))]


def test_search_for_the_next_record_passes_damaged_records() -> None:
    records = [bytearray(encode_record(bytes([i]) * 100)) for i in range(5)]
    records[1][1] ^= 1  # its length
    records[2][60] ^= 1  # its payload
    payloads, damage = follow(b"".join(records))
    assert [it[0] for it in payloads] == [0, 3, 4]
    assert damage == [(len(records[0]), 2 * len(records[0]))]


def test_search_finds_a_record_that_ends_behind_the_window() -> None:
    records = [bytearray(encode_record(bytes([i]) * 1_500_000)) for i in range(4)]
    records[0][1] ^= 1
    payloads, damage = follow(b"".join(records))
    assert [(it[0], len(it)) for it in payloads] == [(i, 1_500_000) for i in (1, 2, 3)]
    assert damage == [(0, len(records[0]))]


def test_reports_damage_at_the_end() -> None:
    record = make_trace()
    store = ColumnStore(TRACE_FIELD)
    follower = FileFollower(store.scanner, store.collect)
    data = record + bytes(100)
    follower.update(_reader(data), len(data))
    assert [(it.offset, it.size) for it in follower.damage] == [(len(record), 100)]


def test_reads_records_longer_than_its_window() -> None:
    record = make_trace(encode(np.full(3_000_000, np.nan, np.float32)), 7)
    data = make_trace() + record + make_trace()
    store = ColumnStore(TRACE_FIELD)
    follower = FileFollower(store.scanner, store.collect)
    follower.update(_reader(data), len(data))
    assert store.get().bad_counts.tolist() == [[3_000_000, 0, 0, 3_000_000]]
    assert len(store.get().offset) == 3


@pytest.mark.parametrize("damaged", [(), (3_000_000,), (2_097_100, 4_500_000)])
def test_reads_all_windows_of_a_large_file(damaged: tuple[int, ...]) -> None:
    records = [encode_record(bytes([i % 251]) * (50 + i * 37 % 5000)) for i in range(4000)]
    data = bytearray(b"".join(records))
    for at in damaged:
        data[at] ^= 0xFF
    starts = np.cumsum([0, *map(len, records)]).tolist()
    intact = [
        (start, record[12:-4])
        for start, record in zip(starts, records, strict=False)
        if not any(start <= at < start + len(record) for at in damaged)
    ]

    scanner = PayloadScanner()
    follower = FileFollower(scanner)
    follower.update(_reader(bytes(data)), len(data))

    assert len(data) > 5 << 20
    assert scanner.take() == intact
    assert follower.position == len(data)
    assert len(follower.damage) == len(damaged)


def test_ends_at_a_file_that_became_shorter() -> None:
    data = b"".join(encode_record(bytes(1000)) for _ in range(5000))
    scanner = PayloadScanner()

    FileFollower(scanner).update(_reader(data[:3_000_000]), len(data))

    assert len(scanner.take()) == 3_000_000 // 1016


def _reader(data: bytes) -> Any:
    def read_into(buffer: memoryview, offset: int) -> int:
        part = data[offset : offset + len(buffer)]
        buffer[: len(part)] = part
        return len(part)

    return read_into
