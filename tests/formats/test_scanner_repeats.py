"""Records that differ from earlier ones in time, step and value only are read without parsing."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np
import pytest

from tests import builders as b
from tests.scanning import SCANNERS, assert_agree, needs_kernel, read_file
from tracklight.formats.proto import encode_varint
from tracklight.formats.scanner import Scanner

BOTH = [parameter.values[0] for parameter in SCANNERS]


def _field(number: int, content: bytes) -> bytes:
    return encode_varint(number << 3 | 2) + encode_varint(len(content)) + content


def _event(step: int, value: bytes, wall_s: float = 1.5e9, after: bytes = b"") -> bytes:
    start = b"\x09" + struct.pack("<d", wall_s) + b"\x10" + encode_varint(step & (1 << 64) - 1)
    return b.record(start + _field(5, _field(1, value)) + after)


def _simple(number: float) -> bytes:
    return b"\x15" + struct.pack("<f", number)


def _float32_content(number: float) -> bytes:
    return _field(8, b"\x08\x01\x12\x00" + _field(4, struct.pack("<f", number)))


def _float64_content(number: float) -> bytes:
    return _field(8, b"\x08\x02\x12\x00" + _field(4, struct.pack("<d", number)))


def _float32_list(number: float) -> bytes:
    return _field(8, b"\x08\x01\x12\x00" + _field(5, struct.pack("<f", number)))


def _float32_item(number: float) -> bytes:
    return _field(8, b"\x08\x01\x12\x00\x2d" + struct.pack("<f", number))


def _float64_list(number: float) -> bytes:
    return _field(8, b"\x08\x02" + _field(6, struct.pack("<d", number)))


def _int64_content(number: float) -> bytes:
    return _field(8, b"\x08\x09" + _field(4, struct.pack("<q", int(number))))


def _two_numbers(number: float) -> bytes:
    return _simple(-1.0) + _simple(number)


def _half(number: float) -> bytes:
    return _field(8, b"\x08\x13" + _field(4, np.float16(number).tobytes()))


def _vector(number: float) -> bytes:
    content = struct.pack("<2f", number, number)
    return _field(8, b"\x08\x01\x12\x04\x12\x02\x08\x02" + _field(4, content))


ENCODINGS: list[Callable[[float], bytes]] = [
    _simple,
    _float32_content,
    _float64_content,
    _float32_list,
    _float32_item,
    _float64_list,
    _int64_content,
    _two_numbers,
    _half,
    _vector,
]
METADATA = _field(9, _field(1, _field(1, b"scalars")))


def _write_random(seed: int) -> bytes:
    rng = random.Random(seed)
    tags = [(f"tag/{i}" * rng.randint(0, 4)).encode() for i in range(rng.randint(1, 6))]
    encode = [rng.choice(ENCODINGS) for _ in tags]
    records = []
    for step in range(rng.choice([0, 120, -5, 1 << 40]), 1 << 62):
        if len(records) > 120:
            break
        if rng.random() < 0.1:
            rng.shuffle(tags)
        for tag, form in zip(tags, encode, strict=True):
            if rng.random() < 0.1:
                continue
            if rng.random() < 0.02:
                form = rng.choice(ENCODINGS)
            number = rng.choice([0.0, 1.5, float(step % 1000), rng.uniform(-1e30, 1e30) % 60_000])
            value = _field(1, tag) + form(number) + (METADATA if rng.random() < 0.1 else b"")
            after = b"\x10\x07" if rng.random() < 0.03 else b""  # another step at the end
            record = bytearray(_event(step, value, rng.uniform(0, 2e9), after))
            if rng.random() < 0.03:
                record[rng.randrange(len(record))] ^= 1 << rng.randrange(8)
            records.append(bytes(record))
            if rng.random() < 0.02:
                records.append(b.record(b"\x09" + struct.pack("<d", 1.0) + _field(7, b"\x08\x01")))
    return b"".join(records)


@needs_kernel
class TestBothScannersAgree:
    @pytest.mark.parametrize("seed", range(60))
    def test_on_repeated_records(self, seed: int) -> None:
        data = _write_random(seed)
        rng = random.Random(seed)
        cuts = sorted(rng.randrange(len(data)) for _ in range(rng.randint(0, 5)))
        assert_agree(BOTH, data, cuts)


@pytest.mark.parametrize("create", SCANNERS)
class TestNumbers:
    @pytest.mark.parametrize("encode", ENCODINGS[:9])
    def test_are_those_that_were_written(
        self, create: Callable[[], Scanner], encode: Callable[[float], bytes]
    ) -> None:
        steps = [0, 1, 2, 127, 128, 300, 1 << 40, -1, -2]
        data = b"".join(
            _event(step, _field(1, tag) + encode(float(index)), 1e9 + index)
            for index, step in enumerate(steps)
            for tag in (b"loss", b"accuracy")
        )
        (batch,) = read_file(create(), data, len(data))
        points = batch.points
        assert points.step.tolist() == steps * 2
        assert points.wall.tolist() == [1e9 + index for index in range(len(steps))] * 2
        dtype = "<i8" if encode is _int64_content else "<f8"
        assert points.value.view(dtype).tolist() == list(range(len(steps))) * 2

    def test_of_a_file_that_was_replaced_below_the_scanner(
        self, create: Callable[[], Scanner]
    ) -> None:
        """A record is read again once it is complete, maybe with other bytes."""
        scanner = create()
        first = [_event(step, _field(1, b"loss") + _simple(step)) for step in range(1, 6)]
        second = [_event(step, _field(1, b"cost") + _simple(step)) for step in range(1, 6)]
        data = b"".join(first)
        torn = data[:-7]
        scanner.scan(torn, len(torn))
        scanner.scan(torn[scanner.position :], len(torn))
        data = data[: scanner.position] + b"".join(second)
        scanner.rewind(len(data))
        batch = scanner.scan(data[scanner.position :], len(data))
        assert batch.tags == [b"cost"]
        assert batch.points.value.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]
