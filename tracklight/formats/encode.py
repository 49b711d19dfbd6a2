"""The door to the encoder: values become framed records in a buffer that a thread empties.

The compiled buffer is used where it was built; otherwise a plain-Python one does the same work
slowly. Both follow the protocol below and are held against each other by tests.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol


class Answer(IntEnum):
    """What a buffer says to a record that it is given."""

    TAKEN = 0
    """It is in the buffer."""

    WAKE = 1
    """It is in the buffer, and whoever empties the buffer should be told that there is work."""

    FULL = 2
    """It is not in the buffer: there is no room for it now."""


class Buffer(Protocol):
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
    def records(self) -> int:
        """How many records wait."""

    def __len__(self) -> int:
        """How many bytes wait."""

    def scalar(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """A float32 tensor without dimensions, the only form that TensorBoard shows by default.

        The wall time is now if it is None, for this and the other forms of a scalar.
        Raises TypeError for anything but a float, an int or an array without dimensions, which is
        for the caller to convert, and ValueError for a tag that is empty, too long, or no UTF-8.
        """

    def simple(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """The old form of a scalar, which PyTorch writes: never with metadata."""

    def double(self, tag: str, step: int, wall: float | None, value: float) -> int:
        """A float64 tensor without dimensions."""

    def record(self, payload: bytes) -> int:
        """A record of any kind: the bytes of an Event."""

    def describe(self, tag: str, metadata: bytes) -> bool:
        """Whether a value of ``tag`` is the first one, and so has to carry ``metadata``."""

    def take(self) -> bytes:
        """Empty the buffer and return what was in it."""

    def descriptions(self) -> dict[bytes, bytes]:
        """The metadata of all tags so far."""

    def forget(self) -> None:
        """Describe every tag anew at its next value, as for a new file."""


#: Longer names help nobody.
MAX_TAG_CHARACTERS = 10_000

#: What says of a tag that it holds scalars: the bytes of a SummaryMetadata.
SCALAR_METADATA = b"\x0a\x09\x0a\x07scalars"


def create_buffer(max_bytes: int, wake_bytes: int, wake_records: int) -> Buffer:
    """Make the fastest buffer that this installation has."""
    try:
        from tracklight.formats import _encode
    except ImportError:
        from tracklight.formats import encode_python

        return encode_python.Buffer(max_bytes, wake_bytes, wake_records)
    return _encode.Buffer(max_bytes, wake_bytes, wake_records)
