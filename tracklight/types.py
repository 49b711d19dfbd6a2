"""The frozen values that the index hands out and everything above it passes on.

What is listed by the hundred thousand is a msgspec struct: made and encoded in a fraction of the
time a dataclass takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


class Kind(str, Enum):
    """What a series is made of, whichever plugin owns it."""

    SCALAR = "scalar"
    IMAGE = "image"
    AUDIO = "audio"
    TEXT = "text"
    HISTOGRAM = "histogram"
    GRAPH = "graph"
    TENSOR = "tensor"

    def __str__(self) -> str:
        return self.value


class Stamp(msgspec.Struct, frozen=True, gc=False):
    """When a value was logged."""

    step: int
    wall_time: float


class DamageInfo(msgspec.Struct, frozen=True):
    """Bytes of a file that could not be read and were passed over."""

    offset: int
    size: int
    flaw: str


class FileInfo(msgspec.Struct, frozen=True):
    """One event file of a run."""

    path: str
    bytes: int
    records: int
    damaged: int
    damage: tuple[DamageInfo, ...]
    """At most the first hundred places; ``damaged`` counts all."""


class SettingsFile(msgspec.Struct, frozen=True):
    """A file beside event files in which a program keeps what its runs were given."""

    run: str
    """Its directory, as a run there is called or would be."""
    path: str
    state: str
    """Another one whenever the file was written."""


class SavedFile(msgspec.Struct, frozen=True):
    """A file that holds tensors, or one that says where some are; fields as of `SettingsFile`."""

    run: str
    path: str
    state: str


CaptureKind = Literal["xplane", "chrome", "pprof"]


class CaptureFile(msgspec.Struct, frozen=True):
    """What a profiler left of one host."""

    run: str
    session: str
    """Those of one session belong together."""
    host: str
    kind: CaptureKind
    path: str
    bytes: int
    mtime_s: float
    state: str
    """Another one whenever the file was written."""


class RunInfo(msgspec.Struct, frozen=True):
    """One run: a directory that holds event files, or what a profiler left."""

    name: str
    start_wall: float | None
    last_wall: float | None
    files: int
    bytes: int
    tags: int
    points: int
    damaged: int


class TagInfo(msgspec.Struct, frozen=True, gc=False):
    """One series of a run."""

    tag: str
    plugin: str
    kind: Kind
    count: int
    overwritten: int
    first: Stamp | None
    last: Stamp | None
    display_name: str
    description: str


class SharedTag(msgspec.Struct, frozen=True, gc=False):
    """One tag over all runs that have it."""

    tag: str
    plugin: str
    kind: Kind
    runs: tuple[str, ...]
    count: int
    overwritten: int
    first: Stamp | None
    last: Stamp | None
    display_name: str
    description: str


@dataclass(frozen=True, slots=True)
class Series:
    """All points of one tag of one run, in the order written."""

    run: str
    tag: str
    step: Int64
    wall_time: Float64
    value: NDArray[Any]
    """float64, or int64/uint64 where the log holds integers."""
    overwritten: Bool
    """True where a later-written point, or a restart, took this point's place."""

    def __len__(self) -> int:
        return len(self.step)

    def current(self) -> Series:
        """The points that were not overwritten: their steps rise."""
        if not self.overwritten.any():
            return self
        keep = ~self.overwritten
        return Series(
            self.run,
            self.tag,
            self.step[keep],
            self.wall_time[keep],
            self.value[keep],
            self.overwritten[keep],
        )


class Point(msgspec.Struct, frozen=True, gc=False):
    """One point of a series."""

    step: int
    wall_time: float
    value: float


class Digest(msgspec.Struct, frozen=True, gc=False):
    """A series in a few numbers, without the points that were overwritten."""

    count: int
    last: Point | None
    low: Point | None
    """Lowest and highest are those of the finite values."""
    high: Point | None


@dataclass(frozen=True, slots=True)
class Located:
    """Where all values of one tag of one run stand that are not scalars, in the order written."""

    run: str
    tag: str
    kind: Kind
    paths: tuple[str, ...]
    file: Int32
    """For each value, which of ``paths`` it stands in."""
    step: Int64
    wall_time: Float64
    overwritten: Bool
    record: Int64
    start: Int64
    size: Int64
    content: NDArray[np.uint8]
    """The last four columns are those of `tracklight.formats.batch.References`."""

    def __len__(self) -> int:
        return len(self.step)


class Progress(msgspec.Struct, frozen=True):
    """How far the reading under way has come."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


class Delta(msgspec.Struct, frozen=True):
    """What one refresh changed: names of runs, in natural order."""

    version: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class LayoutMargin(msgspec.Struct, frozen=True):
    """Three tags: a line, and the lower and upper edge of the band around it."""

    value: str
    lower: str
    upper: str


class LayoutChart(msgspec.Struct, frozen=True):
    """One chart that somebody laid out: lines with bands if there are any, else plain lines."""

    title: Annotated[str, msgspec.Meta(max_length=1000)]
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=200)] = ()
    """Regular expressions, each for the tags that begin with a match."""
    margins: Annotated[tuple[LayoutMargin, ...], msgspec.Meta(max_length=200)] = ()


class LayoutCategory(msgspec.Struct, frozen=True):
    """Charts under one heading; ``closed`` until somebody opens it."""

    title: Annotated[str, msgspec.Meta(max_length=1000)]
    closed: bool = False
    charts: Annotated[tuple[LayoutChart, ...], msgspec.Meta(max_length=1000)] = ()
