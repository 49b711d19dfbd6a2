"""The frozen values that the index hands out and everything above it passes on.

What is listed by the hundred thousand is a msgspec struct: made and encoded in a fraction of the
time a dataclass takes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import import_optional

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

#: The years 1 to 9999, which is what Python's datetime can hold.
_FIRST_S, _LAST_S = -62_135_596_800.0, 253_402_300_800.0
_MAX_DRAWN = 300


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
    reason: str


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
    version: str
    """Another one whenever the file was written."""


class TensorFileEntry(msgspec.Struct, frozen=True):
    """A file that holds tensors, or one that says where some are; fields as of `SettingsFile`."""

    run: str
    path: str
    version: str


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
    version: str
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


class Point(msgspec.Struct, frozen=True, gc=False):
    """One point of a series."""

    step: int
    wall_time: float
    value: float


@dataclass(frozen=True, slots=True, repr=False)
class Series:
    """All points of one tag of one run, in the order written.

    A series is a sequence of points: it has a length, can be iterated over and sliced.

    Example:
        >>> loss = log.scalar("train", "loss")
        >>> loss[-1].value, len(loss)
        (0.25, 1000)
        >>> loss[-100:].value.mean()
        0.26
    """

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

    def __iter__(self) -> Iterator[Point]:
        columns = (self.step.tolist(), self.wall_time.tolist(), self.value.tolist())
        return (Point(*row) for row in zip(*columns, strict=True))

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice | Bool | Int64) -> Series: ...
    def __getitem__(self, index: int | slice | Bool | Int64) -> Point | Series:
        """Return one point, or the series of those that a slice, mask or index array chooses."""
        if isinstance(index, (slice, np.ndarray)):
            return Series(
                self.run,
                self.tag,
                self.step[index],
                self.wall_time[index],
                self.value[index],
                self.overwritten[index],
            )
        at = operator.index(index)
        return Point(int(self.step[at]), float(self.wall_time[at]), self.value[at].item())

    def __repr__(self) -> str:
        return f'<Series "{self.tag}" of run "{self.run}": {self._describe()}>'

    def _repr_html_(self) -> str:
        from tracklight.util import html

        points = self.without_overwritten()
        drawn = points[_pick_evenly(len(points), _MAX_DRAWN)]
        shown = get_preview_indexes(len(points))
        rows = [
            (point.step, html.format_time(point.wall_time), point.value)
            if point is not None
            else ("…", "", "")
            for point in (None if at is None else points[at] for at in shown)
        ]
        return html.render_block(
            f"{self.tag} ({self.run})",
            html.render_note(self._describe()),
            html.render_sparkline(drawn.step.tolist(), drawn.value.astype(np.float64).tolist()),
            html.render_table(("step", "wall time", "value"), rows),
        )

    def _describe(self) -> str:
        if not len(self):
            return "no points"
        from tracklight.util import html

        count = html.format_count(len(self), "point")
        overwritten = int(self.overwritten.sum())
        parts = [count, f"steps {self.step.min()} to {self.step.max()}"]
        parts += [f"{overwritten:,} overwritten"] if overwritten else []
        return ", ".join([*parts, f"last value {self.value[-1]:.6g}"])

    def without_overwritten(self) -> Series:
        """Return the points that were not overwritten: their steps rise."""
        return self[~self.overwritten] if self.overwritten.any() else self

    def to_pandas(self) -> pandas.DataFrame:
        """Convert to a pandas data frame with the steps as its index.

        Returns:
            A frame with the columns ``wall_time`` (in UTC), ``value`` and ``overwritten``.

        Raises:
            MissingExtra: pandas is not installed.

        Example:
            >>> log.scalar("train", "loss").to_pandas()["value"].rolling(10).mean().plot()
        """
        pd = import_optional("pandas", "a pandas table", "pandas")
        columns = {
            "wall_time": pd.Series(to_datetimes(self.wall_time)).dt.tz_localize("UTC").array,
            "value": self.value,
            "overwritten": self.overwritten,
        }
        return pd.DataFrame(columns, index=pd.Index(self.step, name="step"))


def to_datetimes(wall_time: Float64) -> NDArray[np.datetime64]:
    """Convert seconds since 1970 to UTC times in microseconds, about what a double can tell apart.

    NaN and times outside of the years 1 to 9999, which some logs hold, become NaT.
    """
    known = (wall_time >= _FIRST_S) & (wall_time < _LAST_S)
    microseconds = np.rint(np.where(known, wall_time, 0.0) * 1e6).astype(np.int64)
    return np.where(known, microseconds.view("M8[us]"), np.datetime64("NaT", "us"))


def _pick_evenly(length: int, limit: int) -> Int64:
    if length <= limit:
        return np.arange(length)
    return np.linspace(0, length - 1, limit).astype(np.int64)


def get_preview_indexes(length: int, max_each_end: int = 5) -> list[int | None]:
    """Return the first and last indexes of a sequence; None stands for those between."""
    if length <= 2 * max_each_end + 1:
        return list(range(length))
    return [*range(max_each_end), None, *range(length - max_each_end, length)]


class SeriesSummary(msgspec.Struct, frozen=True, gc=False):
    """A series in a few numbers, without the points that were overwritten."""

    count: int
    last: Point | None
    min: Point | None
    """Lowest and highest are those of the finite values."""
    max: Point | None


@dataclass(frozen=True, slots=True)
class ValueLocations:
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
