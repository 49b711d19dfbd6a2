"""The encoder in plain Python, for installations without the compiled one."""

from __future__ import annotations

import math
import struct
import threading
import time

from tracklight.formats.encode import MAX_TAG_CHARACTERS, SCALAR_METADATA, Answer
from tracklight.formats.tfrecord import frame
from tracklight.formats.wire import encode_varint

_INT64 = range(-(1 << 63), 1 << 63)
_FLOAT32_TENSOR = b"\x42\x0a\x08\x01\x12\x00\x22\x04"
_FLOAT64_TENSOR = b"\x42\x0e\x08\x02\x12\x00\x22\x08"


class Buffer:
    """`tracklight.formats.encode.Buffer` says what it promises."""

    def __init__(self, max_bytes: int, wake_bytes: int, wake_records: int) -> None:
        self._max_bytes = max_bytes
        self._wake_bytes = wake_bytes
        self._wake_records = wake_records
        self._pieces: list[bytes] = []
        self._size = 0
        self._has_called = False
        self._metadata: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def records(self) -> int:
        return len(self._pieces)

    def __len__(self) -> int:
        return self._size

    def scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        return self._tensor(tag, step, wall, _FLOAT32_TENSOR + _float32(_number(value)))

    def simple(self, tag: str, step: int, wall: float | None, value: float) -> int:
        data = b"\x15" + _float32(_number(value))
        return self.record(_event(step, wall, _tag(tag) + data))

    def double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        return self._tensor(tag, step, wall, _FLOAT64_TENSOR + struct.pack("<d", _number(value)))

    def record(self, payload: bytes) -> int:
        framed = frame(payload)
        with self._lock:
            return self._add(framed)

    def describe(self, tag: str, metadata: bytes) -> bool:
        with self._lock:
            return self._metadata.setdefault(tag, metadata) is metadata

    def take(self) -> bytes:
        with self._lock:
            taken = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._has_called = False
        return taken

    def descriptions(self) -> dict[bytes, bytes]:
        with self._lock:
            return {tag.encode(): metadata for tag, metadata in self._metadata.items()}

    def forget(self) -> None:
        with self._lock:
            self._metadata.clear()

    def _tensor(self, tag: str, step: int, wall: float | None, tensor: bytes) -> int:
        value = _tag(tag) + tensor
        with self._lock:
            if tag in self._metadata:
                return self._add(frame(_event(step, wall, value)))
            answer = self._add(frame(_event(step, wall, value + _field(0x4A, SCALAR_METADATA))))
            if answer != Answer.FULL:
                self._metadata[tag] = SCALAR_METADATA
            return answer

    def _add(self, framed: bytes) -> int:
        if self._size and self._size + len(framed) > self._max_bytes:
            return Answer.FULL
        was_empty = not self._pieces
        self._pieces.append(framed)
        self._size += len(framed)
        if was_empty:
            return Answer.WAKE
        if self._has_called:
            return Answer.TAKEN
        many = len(self._pieces) >= self._wake_records or self._size >= self._wake_bytes
        self._has_called = many
        return Answer.WAKE if many else Answer.TAKEN


def _event(step: int, wall: float | None, value: bytes) -> bytes:
    if type(step) is not int:
        raise TypeError(f"a step must be an int, not a {type(step).__name__}")
    if step not in _INT64:
        raise OverflowError(f"the step {step} does not fit 64 bits")
    at = b"\x10" + encode_varint(step & (1 << 64) - 1) if step else b""
    seconds = struct.pack("<d", time.time() if wall is None else wall)
    return b"\x09" + seconds + at + _field(0x2A, _field(0x0A, value))


def _tag(tag: str) -> bytes:
    if not isinstance(tag, str):
        raise TypeError(f"a tag must be a str, not a {type(tag).__name__}")
    if not 0 < len(tag) <= MAX_TAG_CHARACTERS:
        raise ValueError(f"a tag of {len(tag)} characters")
    return _field(0x0A, tag.encode())


def _number(value: object) -> float:
    # Arrays of one element and texts have a float as well, but not one to take without asking.
    if isinstance(value, (float, int)):
        return float(value)
    if getattr(value, "ndim", None) == 0:
        # PyTorch warns of `float` where a loss still holds its gradient, but not of `item`.
        return float(value.item() if hasattr(value, "item") else value)  # type: ignore[arg-type]
    raise TypeError(f"a scalar must be a number, not a {type(value).__name__}")


def _float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _field(key: int, content: bytes) -> bytes:
    return bytes((key,)) + encode_varint(len(content)) + content
