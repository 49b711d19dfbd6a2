"""Buffer the records of an event file between the program that logs and the thread that writes.

This is the fast path for scalars: they are encoded without building protobuf messages.
`create_buffer` returns the compiled buffer (``_encode.pyx``) if it was built, and otherwise a
`PythonRecordBuffer`, which does the same more slowly. Tests compare the two.

Importing this module must not import numpy, which programs that only log scalars may not need. The
Python buffer imports `tfrecord` when it is used.
"""

from __future__ import annotations

import functools
import math
import struct
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

MAX_TAG_CHARACTERS = 10_000

#: The SummaryMetadata of a scalar tag: ``plugin_data { plugin_name: "scalars" }``.
SCALAR_METADATA = b"\x0a\x09\x0a\x07scalars"

_INT64 = range(-(1 << 63), 1 << 63)
#: ``Value.tensor`` with dtype, an empty shape and the key of ``tensor_content``.
_FLOAT32_TENSOR = b"\x42\x0a\x08\x01\x12\x00\x22\x04"
_FLOAT64_TENSOR = b"\x42\x0e\x08\x02\x12\x00\x22\x08"


class AppendResult(IntEnum):
    """The outcome of adding a record to a buffer."""

    APPENDED = 0
    """The record was added."""

    WAKE = 1
    """The record was added, and the thread that drains the buffer should be woken."""

    FULL = 2
    """The record was not added, because the buffer is full."""


class RecordBuffer(Protocol):
    """Records that are not written yet, oldest first.

    All methods are atomic, so that threads may share a buffer. The methods that add something
    return an `AppendResult`. The first value of a tag carries the metadata of the tag.
    """

    def __init__(self, max_bytes: int, wake_bytes: int, wake_records: int) -> None:
        """Create an empty buffer.

        Args:
            max_bytes: The capacity. A single record may be larger if the buffer is empty.
            wake_bytes: Return `AppendResult.WAKE` once the buffer holds this many bytes.
            wake_records: The same for the number of records. The first record in an empty buffer
                always returns WAKE.
        """

    @property
    def record_count(self) -> int:
        """The number of records in the buffer."""

    def __len__(self) -> int:
        """The number of bytes in the buffer."""

    def add_scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """Add a float32 tensor of shape [], the only form that TensorBoard shows by default.

        Args:
            tag: The tag.
            step: The step.
            wall: The wall time in seconds; None for now.
            value: A float, an int or an array of shape [].

        Raises:
            TypeError: The step or the value has another type.
            ValueError: The tag is empty, too long or cannot be encoded as UTF-8.
            OverflowError: The step does not fit 64 bits.
        """

    def add_simple_value(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """Add a scalar in the legacy encoding that PyTorch uses, which has no metadata."""

    def add_double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """Add a float64 tensor of shape []."""

    def add_record(self, payload: bytes) -> int:
        """Add an encoded Event."""

    def register_metadata(self, tag: str, metadata: bytes) -> bool:
        """Return whether this is the first value of ``tag``, which has to carry ``metadata``."""

    def drain(self) -> bytes:
        """Empty the buffer and return its content."""

    def get_metadata(self) -> dict[bytes, bytes]:
        """Return the metadata of all tags so far."""

    def clear_metadata(self) -> None:
        """Write metadata again with the next value of each tag, as a new file requires."""


def create_buffer(max_bytes: int, wake_bytes: int, wake_records: int) -> RecordBuffer:
    """Create the fastest buffer that is installed; see `RecordBuffer` for the arguments."""
    try:
        from tracklight.formats import _encode
    except ImportError:
        return PythonRecordBuffer(max_bytes, wake_bytes, wake_records)
    return _encode.RecordBuffer(max_bytes, wake_bytes, wake_records)


class PythonRecordBuffer:
    """The reference implementation of `RecordBuffer`."""

    def __init__(self, max_bytes: int, wake_bytes: int, wake_records: int) -> None:
        self._max_bytes = max_bytes
        self._wake_bytes = wake_bytes
        self._wake_records = wake_records
        self._records: list[bytes] = []
        self._size = 0
        self._has_woken = False
        self._metadata: dict[str, bytes] = {}
        self._lock = threading.Lock()

    @property
    def record_count(self) -> int:
        return len(self._records)

    def __len__(self) -> int:
        return self._size

    def add_scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        tensor = _FLOAT32_TENSOR + _encode_float32(_to_float(value))
        return self._add_tensor(tag, step, wall, tensor)

    def add_simple_value(self, tag: str, step: int, wall: float | None, value: float) -> int:
        data = b"\x15" + _encode_float32(_to_float(value))
        return self.add_record(_encode_event(step, wall, _encode_tag(tag) + data))

    def add_double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        tensor = _FLOAT64_TENSOR + struct.pack("<d", _to_float(value))
        return self._add_tensor(tag, step, wall, tensor)

    def add_record(self, payload: bytes) -> int:
        record = _encode_record(payload)
        with self._lock:
            return self._append(record)

    def register_metadata(self, tag: str, metadata: bytes) -> bool:
        with self._lock:
            return self._metadata.setdefault(tag, metadata) is metadata

    def drain(self) -> bytes:
        with self._lock:
            content = b"".join(self._records)
            self._records.clear()
            self._size = 0
            self._has_woken = False
        return content

    def get_metadata(self) -> dict[bytes, bytes]:
        with self._lock:
            return {tag.encode(): metadata for tag, metadata in self._metadata.items()}

    def clear_metadata(self) -> None:
        with self._lock:
            self._metadata.clear()

    def _add_tensor(self, tag: str, step: int, wall: float | None, tensor: bytes) -> int:
        value = _encode_tag(tag) + tensor
        with self._lock:
            if tag in self._metadata:
                return self._append(_encode_record(_encode_event(step, wall, value)))
            value += _encode_field(0x4A, SCALAR_METADATA)
            result = self._append(_encode_record(_encode_event(step, wall, value)))
            if result != AppendResult.FULL:
                self._metadata[tag] = SCALAR_METADATA
            return result

    def _append(self, record: bytes) -> int:
        if self._size and self._size + len(record) > self._max_bytes:
            return AppendResult.FULL
        was_empty = not self._records
        self._records.append(record)
        self._size += len(record)
        if was_empty:
            return AppendResult.WAKE
        if self._has_woken:
            return AppendResult.APPENDED
        self._has_woken = len(self._records) >= self._wake_records or self._size >= self._wake_bytes
        return AppendResult.WAKE if self._has_woken else AppendResult.APPENDED


def _encode_event(step: int, wall: float | None, value: bytes) -> bytes:
    if type(step) is not int:
        raise TypeError(f"a step must be an int, not a {type(step).__name__}")
    if step not in _INT64:
        raise OverflowError(f"the step {step} does not fit 64 bits")
    step_field = b"\x10" + _encode_varint(step & (1 << 64) - 1) if step else b""
    wall_time = struct.pack("<d", time.time() if wall is None else wall)
    return b"\x09" + wall_time + step_field + _encode_field(0x2A, _encode_field(0x0A, value))


def _encode_tag(tag: str) -> bytes:
    if not isinstance(tag, str):
        raise TypeError(f"a tag must be a str, not a {type(tag).__name__}")
    if not 0 < len(tag) <= MAX_TAG_CHARACTERS:
        raise ValueError(f"a tag has 1 to {MAX_TAG_CHARACTERS} characters, not {len(tag)}")
    return _encode_field(0x0A, tag.encode())


def _to_float(value: object) -> float:
    # Strings and arrays of shape [1] can be converted to float too, but callers must do so.
    if isinstance(value, (float, int)):
        return float(value)
    if getattr(value, "ndim", None) == 0:
        # For a tensor that requires grad, PyTorch warns about `float()`, but not about `item()`.
        return float(value.item() if hasattr(value, "item") else value)  # type: ignore[arg-type]
    raise TypeError(f"a scalar must be a number, not a {type(value).__name__}")


def _encode_float32(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _encode_field(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _encode_varint(len(content)) + content


def _encode_varint(value: int) -> bytes:
    if value < 0x80:  # the common case
        return bytes((value,))
    return _load_encoders()[0](value)


def _encode_record(payload: bytes) -> bytes:
    return _load_encoders()[1](payload)


@functools.cache
def _load_encoders() -> tuple[Callable[[int], bytes], Callable[[bytes], bytes]]:
    """Import on first use; an import statement for each scalar would take most of the time."""
    from tracklight.formats.proto import encode_varint
    from tracklight.formats.tfrecord import encode_record

    return encode_varint, encode_record
