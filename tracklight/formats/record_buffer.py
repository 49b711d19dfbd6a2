"""The encoder in plain Python, for installations without the compiled one."""

from __future__ import annotations

import math
import struct
import threading
import time
from enum import IntEnum
from typing import Protocol

from tracklight.formats.tfrecord import encode_record
from tracklight.formats.wire_format import encode_varint

_INT64 = range(-(1 << 63), 1 << 63)

_FLOAT32_TENSOR = b"\x42\x0a\x08\x01\x12\x00\x22\x04"

_FLOAT64_TENSOR = b"\x42\x0e\x08\x02\x12\x00\x22\x08"


class PythonRecordBuffer:
    """`tracklight.formats.record_buffer.RecordBuffer` says what it promises."""

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
    def record_count(self) -> int:
        return len(self._pieces)

    def __len__(self) -> int:
        return self._size

    def add_scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        return self._tensor(tag, step, wall, _FLOAT32_TENSOR + _float32(_number(value)))

    def add_simple_value(self, tag: str, step: int, wall: float | None, value: float) -> int:
        data = b"\x15" + _float32(_number(value))
        return self.add_record(_event(step, wall, _tag(tag) + data))

    def add_double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        return self._tensor(tag, step, wall, _FLOAT64_TENSOR + struct.pack("<d", _number(value)))

    def add_record(self, payload: bytes) -> int:
        framed = encode_record(payload)
        with self._lock:
            return self._add(framed)

    def register_metadata(self, tag: str, metadata: bytes) -> bool:
        with self._lock:
            return self._metadata.setdefault(tag, metadata) is metadata

    def drain(self) -> bytes:
        with self._lock:
            taken = b"".join(self._pieces)
            self._pieces.clear()
            self._size = 0
            self._has_called = False
        return taken

    def get_metadata(self) -> dict[bytes, bytes]:
        with self._lock:
            return {tag.encode(): metadata for tag, metadata in self._metadata.items()}

    def clear_metadata(self) -> None:
        with self._lock:
            self._metadata.clear()

    def _tensor(self, tag: str, step: int, wall: float | None, tensor: bytes) -> int:
        value = _tag(tag) + tensor
        with self._lock:
            if tag in self._metadata:
                return self._add(encode_record(_event(step, wall, value)))
            answer = self._add(
                encode_record(_event(step, wall, value + _field(0x4A, SCALAR_METADATA)))
            )
            if answer != AppendResult.FULL:
                self._metadata[tag] = SCALAR_METADATA
            return answer

    def _add(self, framed: bytes) -> int:
        if self._size and self._size + len(framed) > self._max_bytes:
            return AppendResult.FULL
        was_empty = not self._pieces
        self._pieces.append(framed)
        self._size += len(framed)
        if was_empty:
            return AppendResult.WAKE
        if self._has_called:
            return AppendResult.APPENDED
        many = len(self._pieces) >= self._wake_records or self._size >= self._wake_bytes
        self._has_called = many
        return AppendResult.WAKE if many else AppendResult.APPENDED


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


# The door to the encoder: values become framed records in a buffer that a thread empties.
#
# The compiled buffer is used where it was built; otherwise a plain-Python one does the same work
# slowly. Both follow the protocol below and are held against each other by tests.


class AppendResult(IntEnum):
    """What a buffer says to a record that it is given."""

    APPENDED = 0
    """It is in the buffer."""

    WAKE = 1
    """It is in the buffer, and whoever empties the buffer should be told that there is work."""

    FULL = 2
    """It is not in the buffer: there is no room for it now."""


class RecordBuffer(Protocol):
    """Records of one event file that are not yet written, oldest first.

    Every method is atomic, so any number of threads may share a buffer. A tag's first value carries
    metadata that says what the tag holds, and the later ones do not, as readers expect.
    """

    def __init__(self, max_bytes: int, wake_bytes: int, wake_records: int) -> None:
        """Hold ``max_bytes`` at most, or one record if it alone is larger.

        A record that is the first since the buffer was empty, and the one that takes it past
        ``wake_bytes`` or to ``wake_records``, is answered with WAKE.
        """

    @property
    def record_count(self) -> int:
        """How many records wait."""

    def __len__(self) -> int:
        """How many bytes wait."""

    def add_scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """A float32 tensor without dimensions, the only form that TensorBoard shows by default.

        The wall time is now if it is None, for this and the other forms of a scalar.
        Raises TypeError for anything but a float, an int or an array without dimensions, which is
        for the caller to convert, and ValueError for a tag that is empty, too long, or no UTF-8.
        """

    def add_simple_value(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """The old form of a scalar, which PyTorch writes: never with metadata."""

    def add_double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """A float64 tensor without dimensions."""

    def add_record(self, payload: bytes) -> int:
        """A record of any kind: the bytes of an Event."""

    def register_metadata(self, tag: str, metadata: bytes) -> bool:
        """Whether a value of ``tag`` is the first one, and so has to carry ``metadata``."""

    def drain(self) -> bytes:
        """Empty the buffer and return what was in it."""

    def get_metadata(self) -> dict[bytes, bytes]:
        """The metadata of all tags so far."""

    def clear_metadata(self) -> None:
        """Describe every tag anew at its next value, as for a new file."""


#: Longer names help nobody.
MAX_TAG_CHARACTERS = 10_000

#: What says of a tag that it holds scalars: the bytes of a SummaryMetadata.
SCALAR_METADATA = b"\x0a\x09\x0a\x07scalars"


def create_buffer(max_bytes: int, wake_bytes: int, wake_records: int) -> RecordBuffer:
    """Make the fastest buffer that this installation has."""
    try:
        from tracklight.formats import _encode
    except ImportError:
        pass

        return PythonRecordBuffer(max_bytes, wake_bytes, wake_records)
    return _encode.Buffer(max_bytes, wake_bytes, wake_records)
