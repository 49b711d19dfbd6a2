"""Encode small XSpace files."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

PS_PER_US = 1_000_000

StatValue = int | float | str


def encode_field(number: int, value: float | bytes | str) -> bytes:
    """Encode a field of a protobuf message: a varint, a double, bytes or a text."""
    if isinstance(value, float):
        return _encode_varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return _encode_varint(number << 3) + _encode_varint(value)
    content = value.encode() if isinstance(value, str) else value
    return _encode_varint(number << 3 | 2) + _encode_varint(len(content)) + content


def _encode_varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


class LineEvent(NamedTuple):
    name: str
    start_us: float
    end_us: float
    stats: Mapping[str, StatValue] = {}


class PlaneBuilder:
    """Encode one plane. Stats of metadata apply to all events of a name."""

    def __init__(self, name: str, metadata_stats: Mapping[str, Mapping[str, StatValue]]) -> None:
        self._name = name
        self._metadata_stats = metadata_stats
        self._events: dict[str, int] = {}
        self._stats: dict[str, int] = {}
        self._lines: list[bytes] = []

    def add_line(self, id: int, name: str, events: list[LineEvent]) -> None:
        line = encode_field(1, id) + encode_field(2, name) + encode_field(3, 0)
        for event in events:
            start_ps = round(event.start_us * PS_PER_US)
            duration_ps = round(event.end_us * PS_PER_US) - start_ps
            encoded = encode_field(1, self._events.setdefault(event.name, len(self._events) + 1))
            encoded += encode_field(2, start_ps) + encode_field(3, duration_ps)
            encoded += self._encode_stats(4, event.stats)
            line += encode_field(4, encoded)
        self._lines.append(line)

    def build(self, stats: Mapping[str, StatValue] = {}) -> bytes:
        plane = encode_field(2, self._name)
        plane += b"".join(encode_field(3, line) for line in self._lines)
        for name, id in self._events.items():
            metadata = encode_field(1, id) + encode_field(2, name)
            metadata += self._encode_stats(5, self._metadata_stats.get(name, {}))
            plane += encode_field(4, encode_field(1, id) + encode_field(2, metadata))
        plane += self._encode_stats(6, stats)
        for name, id in self._stats.items():
            metadata = encode_field(1, id) + encode_field(2, name)
            plane += encode_field(5, encode_field(1, id) + encode_field(2, metadata))
        return encode_field(1, plane)

    def _encode_stats(self, number: int, stats: Mapping[str, StatValue]) -> bytes:
        encoded = b""
        for key, value in stats.items():
            id = encode_field(1, self._stats.setdefault(key, len(self._stats) + 1))
            number_of_type = {str: 5, int: 4, float: 2}
            field = encode_field(number_of_type[type(value)], value)
            encoded += encode_field(number, id + field)
        return encoded


def make_tpu_space(steps: int = 10) -> bytes:
    """Encode steps of 10 ms on one TPU core, of which each is busy for 6 ms.

    A loop of 4 ms contains two ops of 1.5 ms; an all-reduce takes 1 ms and a product 1 ms.
    """
    names = {
        "while": "%while.1 = (f32[8]) while(%a)",
        "body": "%fusion.2 = f32[8] fusion(%b)",
        "reduce": "%all-reduce.3 = f32[8] all-reduce(%c)",
        "dot": "%convolution.4 = f32[8,8] convolution(%d, %e)",
    }
    categories = {"while": "while", "body": "loop fusion", "reduce": "all-reduce"}
    metadata = {
        names[key]: {
            "hlo_category": categories.get(key, "convolution"),
            "program_id": 7,
            "flops": 1000,
            "bytes_accessed": 64,
        }
        for key in names
    }
    plane = PlaneBuilder("/device:TPU:0", metadata)
    starts = [number * 10_000.0 for number in range(steps)]
    plane.add_line(
        1,
        "Steps",
        [
            LineEvent(str(number), start, start + 10_000, {"group_id": number})
            for number, start in enumerate(starts)
        ],
    )
    plane.add_line(
        2, "XLA Modules", [LineEvent("jit_step(7)", start, start + 6_000) for start in starts]
    )
    ops = []
    for start in starts:
        ops += [
            LineEvent(names["while"], start, start + 4_000),
            LineEvent(names["body"], start + 100, start + 1_600),
            LineEvent(names["body"], start + 2_000, start + 3_500),
            LineEvent(names["reduce"], start + 4_000, start + 5_000),
            LineEvent(names["dot"], start + 5_000, start + 6_000),
        ]
    plane.add_line(3, "XLA Ops", ops)
    plane.add_line(4, "Framework Ops", [LineEvent("scope", 0, steps * 10_000.0)])
    device = {"device_type_string": "TPU v4", "peak_teraflops_per_second": 275}
    host = PlaneBuilder("/host:CPU", {})
    host.add_line(
        1, "python", [LineEvent("PjitFunction(step)", start, start + 100) for start in starts]
    )
    return plane.build(device) + host.build()
