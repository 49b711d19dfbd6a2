"""What one scan of some bytes of an event file gives: columns, references and damage.

Both scanners, the compiled one and the plain-Python one, return these values, so this module
says what every number in them means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
UInt8 = NDArray[np.uint8]

#: A record at least this long is not read through: only its fields are walked.
LARGE_RECORD_BYTES = 256 * 1024

#: Tags given to what an event holds outside of a summary.
GRAPH_TAG = b"__run_graph__"
META_GRAPH_TAG = b"__meta_graph__"


class ScalarType(IntEnum):
    """How the eight bytes of a point's value are to be read."""

    FLOAT = 0
    INT = 1
    UINT = 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(("<f8", "<i8", "<u8")[self])


class Content(IntEnum):
    """Which field of its event or summary value a series' data stands in."""

    NONE = 0  # a summary value with no value at all, as hparams write
    SIMPLE_VALUE = 2
    OLD_HISTOGRAM = 3
    IMAGE = 4
    HISTOGRAM = 5
    AUDIO = 6
    TENSOR = 8
    GRAPH = 32 + 4
    RUN_METADATA = 32 + 8
    META_GRAPH = 32 + 9


class DamageKind(IntEnum):
    """What is wrong with damaged bytes."""

    HEADER = 1  # no record starts here: the checksum of the length is wrong
    DATA = 2  # the checksum of the payload is wrong
    PROTO = 3  # checksums are right, but the payload is no event
    TORN = 4  # a record that was never finished, with good records after it


class Damage(NamedTuple):
    """Bytes of a file that were passed over."""

    offset: int
    size: int
    kind: DamageKind


class LargeRecord(NamedTuple):
    """A complete record too large to read through; ``offset`` is that of its length field."""

    offset: int
    payload_bytes: int


class ScannedValue(NamedTuple):
    """One value met by walking a large record instead of scanning it."""

    tag: bytes
    content: int
    step: int
    wall: float
    record: int
    start: int
    size: int
    metadata: bytes | None = None
    scalar: tuple[ScalarType, float | int] | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """Scalar values of many series, grouped by series, each in the order written.

    The points of ``series[i]`` are rows ``starts[i]:starts[i + 1]``.
    """

    series: Int32
    starts: Int64
    scalar_type: UInt8  # a Number for each of ``series``
    step: Int64
    wall: Float64
    value: Float64  # eight bytes a value; ``view(Number(number[i]).dtype)`` gives the numbers


@dataclass(frozen=True, slots=True)
class References:
    """Where everything that is not a scalar stands; grouped as `Points` are.

    A value's message is ``size`` bytes long and starts ``start`` bytes into the payload of the
    record whose length field is at ``record`` in the file. ``content`` says what message it is: a
    ``Summary.Value`` below 32, else the bytes of that field of ``Event`` (``content - 32``).
    """

    series: Int32
    starts: Int64
    step: Int64
    wall: Float64
    record: Int64
    start: Int64
    size: Int64
    content: UInt8


@dataclass(frozen=True, slots=True)
class Batch:
    """All that was found between two positions of one file."""

    points: Points
    references: References
    records: int = 0
    #: Tags met for the first time; their ids go on from the tags before.
    tags: list[bytes] = field(default_factory=list)
    #: For each of ``tags``, the Content of its first value.
    contents: list[int] = field(default_factory=list)
    #: The first SummaryMetadata of a series, as bytes, when it has just been met: (series, bytes).
    metadata: list[tuple[int, bytes]] = field(default_factory=list)
    #: Step of the SessionLog.START that stands right before everything in this batch.
    session_start: int | None = None
    damage: list[Damage] = field(default_factory=list)
    large: LargeRecord | None = None
    #: ``file_version`` and ``source_metadata.writer``, when met.
    file_version: bytes | None = None
    writer: bytes | None = None


def empty_points() -> Points:
    return Points(
        series=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        scalar_type=np.empty(0, np.uint8),
        step=np.empty(0, np.int64),
        wall=np.empty(0, np.float64),
        value=np.empty(0, np.float64),
    )


def empty_references() -> References:
    return References(
        series=np.empty(0, np.int32),
        starts=np.zeros(1, np.int64),
        step=np.empty(0, np.int64),
        wall=np.empty(0, np.float64),
        record=np.empty(0, np.int64),
        start=np.empty(0, np.int64),
        size=np.empty(0, np.int64),
        content=np.empty(0, np.uint8),
    )
