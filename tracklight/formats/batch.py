"""The result of scanning a part of an event file: scalar columns, value locations and damage.

The compiled scanner and the Python scanner (`tracklight.formats.scanner`) both return a `Batch`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64, Int32, Int64

UInt8 = NDArray[np.uint8]

#: The scanner does not wait for a complete record of this size or more, but reports a
#: `LargeRecord`. See `tracklight.formats.scanner.scan_large_record`.
LARGE_RECORD_BYTES = 256 * 1024

#: Tags for the fields of an event that have none.
GRAPH_TAG = b"__run_graph__"
META_GRAPH_TAG = b"__meta_graph__"


class ScalarType(IntEnum):
    """How to interpret the eight bytes of a scalar."""

    FLOAT = 0
    INT = 1
    UINT = 2

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(("<f8", "<i8", "<u8")[self])


class Content(IntEnum):
    """The field that contains a value.

    Members below 32 are fields of ``Summary.Value``; the others are fields of ``Event``, plus 32.
    """

    NONE = 0  # a summary value with metadata only, as written for hyperparameters
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
    """Why bytes could not be read."""

    HEADER = 1  # no record starts here: the checksum of the length is wrong
    DATA = 2  # the checksum of the payload is wrong
    PROTO = 3  # the checksums are right, but the payload is not an event
    TORN = 4  # an incomplete record that is followed by complete ones


class Damage(NamedTuple):
    """A part of a file that was skipped."""

    offset: int
    size: int
    kind: DamageKind


class LargeRecord(NamedTuple):
    """A complete record that was not read; ``offset`` is the start of its header."""

    offset: int
    payload_bytes: int


class ScannedValue(NamedTuple):
    """One value of an event. See `References` for ``record``, ``start`` and ``size``."""

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
    """Scalars, grouped by series and in the order of the file within a series.

    The points of ``series[i]`` are the rows ``starts[i]:starts[i + 1]``.
    """

    series: Int32
    starts: Int64
    scalar_type: UInt8
    """A `ScalarType` for each of ``series``."""
    step: Int64
    wall: Float64
    value: Float64
    """Eight bytes per value; ``view(ScalarType(scalar_type[i]).dtype)`` returns the numbers."""


@dataclass(frozen=True, slots=True)
class References:
    """The location of each value that is not a scalar, grouped like `Points`.

    The message of a value begins ``start`` bytes into the payload of the record whose header is at
    the file offset ``record``, and has ``size`` bytes. It is a ``Summary.Value`` if ``content`` is
    below 32, otherwise the content of the field ``content - 32`` of ``Event``.
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
    """The values between two positions of one file."""

    points: Points
    references: References
    records: int = 0
    #: Tags that are new in this batch. Series are numbered consecutively across batches.
    tags: list[bytes] = field(default_factory=list)
    #: For each of ``tags``, the `Content` of its first value.
    contents: list[int] = field(default_factory=list)
    #: Pairs of a series and its encoded SummaryMetadata, for series whose metadata is new.
    metadata: list[tuple[int, bytes]] = field(default_factory=list)
    #: The step of a SessionLog.START that precedes everything in this batch.
    session_start: int | None = None
    damage: list[Damage] = field(default_factory=list)
    large: LargeRecord | None = None
    #: ``Event.file_version`` and ``Event.source_metadata.writer``, if present.
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
