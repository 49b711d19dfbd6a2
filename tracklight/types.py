"""Immutable value types shared by all packages: runs, tags, series, points and files.

The index creates them; readers, dashboards and the server pass them on. Types that are listed by
the hundred thousand are msgspec structs, which are much faster to create and encode than
dataclasses. This module may import only `tracklight.errors` and `tracklight.util`.
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

Int8 = NDArray[np.int8]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Bool = NDArray[np.bool_]

#: Years 1 to 9999, the range of Python's datetime, in seconds since 1970.
_MIN_DATETIME_S, _MAX_DATETIME_S = -62_135_596_800.0, 253_402_300_800.0
_MAX_SPARKLINE_POINTS = 300


class Kind(str, Enum):
    """The type of the values of a series, independent of the plugin that owns it."""

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
    """The step and wall time at which a value was logged."""

    step: int
    wall_time: float


class DamageInfo(msgspec.Struct, frozen=True):
    """A byte range of an event file that could not be read and was skipped."""

    offset: int
    size: int
    reason: str
    code: str = ""
    """The message code of the reason, by which the page translates it."""


class FileInfo(msgspec.Struct, frozen=True):
    """One event file of a run."""

    path: str
    bytes: int
    records: int
    damaged: int
    damage: tuple[DamageInfo, ...]
    """The first hundred damaged ranges; ``damaged`` counts all of them."""


class SettingsFile(msgspec.Struct, frozen=True):
    """A file with hyperparameters in or above the directory of a run, such as ``hparams.yaml``."""

    run: str
    """The run name of its directory, whether or not that directory is a run."""
    path: str
    version: str
    """Changes whenever the file is written."""


class TensorFileEntry(msgspec.Struct, frozen=True):
    """A checkpoint or other file with tensors, or a projector configuration.

    The fields have the same meaning as those of `SettingsFile`.
    """

    run: str
    path: str
    version: str


class EvaluationFile(msgspec.Struct, frozen=True):
    """A file of an evaluation folder of TensorFlow Model Analysis.

    The fields have the same meaning as those of `SettingsFile`.
    """

    run: str
    path: str
    version: str


class StudyFile(msgspec.Struct, frozen=True):
    """A storage of Optuna, or a file in a result folder of Keras Tuner or Ray Tune.

    The fields have the same meaning as those of `SettingsFile`.
    """

    run: str
    path: str
    version: str


#: A "snapshot" is that of PyTorch's CUDA allocator.
CaptureKind = Literal["xplane", "chrome", "pprof", "snapshot"]
#: Kinds of captures of memory, which have no trace.
MEMORY_KINDS: frozenset[CaptureKind] = frozenset({"pprof", "snapshot"})


class CaptureFile(msgspec.Struct, frozen=True):
    """A file written by a profiler for one host."""

    run: str
    session: str
    """Files of the same session were captured together, usually one per host."""
    host: str
    kind: CaptureKind
    path: str
    bytes: int
    mtime_s: float
    version: str
    """Changes whenever the file is written."""


class DebugEventFile(msgspec.Struct, frozen=True):
    """A file of a dump of TensorFlow's debugger (``enable_dump_debug_info``)."""

    run: str
    prefix: str
    """Path without the suffix; a host writes one file of each kind with the same prefix."""
    kind: str
    """Suffix: ``metadata``, ``execution`` and so on."""
    path: str
    bytes: int
    version: str
    """Changes whenever the file is written."""


class RunInfo(msgspec.Struct, frozen=True, gc=False):
    """One run: a directory with event files, profiler captures or a debugger dump."""

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
    """One tag and all the runs that have it; counts are sums over these runs."""

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
    """All points of one scalar tag of one run, in the order written.

    A series is a sequence of `Point`: it has a length and can be iterated, indexed and sliced.

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
    """float64, or int64/uint64 if the log holds integers."""
    overwritten: Bool
    """True for points replaced by a point written later at the same step, or by a restart."""

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
        """Return one point, or a series of the points selected by a slice, mask or index array."""
        if isinstance(index, (slice, np.ndarray)):
            return Series(
                self.run,
                self.tag,
                self.step[index],
                self.wall_time[index],
                self.value[index],
                self.overwritten[index],
            )
        row = operator.index(index)
        return Point(int(self.step[row]), float(self.wall_time[row]), self.value[row].item())

    def __repr__(self) -> str:
        return f'<Series "{self.tag}" of run "{self.run}": {self._describe()}>'

    def _repr_html_(self) -> str:
        from tracklight.util import html

        points = self.without_overwritten()
        sparkline = points[_pick_evenly(len(points), _MAX_SPARKLINE_POINTS)]
        rows: list[tuple[object, ...]] = []
        for row in get_preview_indexes(len(points)):
            if row is None:
                rows.append(("…", "", ""))
            else:
                point = points[row]
                rows.append((point.step, html.format_time(point.wall_time), point.value))
        return html.render_block(
            f"{self.tag} ({self.run})",
            html.render_note(self._describe()),
            html.render_sparkline(
                sparkline.step.tolist(), sparkline.value.astype(np.float64).tolist()
            ),
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
        """Return the points that were not overwritten.

        Their steps increase, unless several processes wrote to the run at the same time.
        """
        return self[~self.overwritten] if self.overwritten.any() else self

    def to_pandas(self) -> pandas.DataFrame:
        """Convert to a pandas data frame with the steps as its index.

        Returns:
            A frame with the columns ``wall_time`` (in UTC), ``value`` and ``overwritten``.

        Raises:
            MissingDependencyError: pandas is not installed.

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
    """Convert seconds since 1970 to UTC times in microseconds, the precision of a double today.

    NaN and times outside the years 1 to 9999, which occur in some logs, become NaT.
    """
    is_valid = (wall_time >= _MIN_DATETIME_S) & (wall_time < _MAX_DATETIME_S)
    microseconds = np.rint(np.where(is_valid, wall_time, 0.0) * 1e6).astype(np.int64)
    return np.where(is_valid, microseconds.view("M8[us]"), np.datetime64("NaT", "us"))


def _pick_evenly(length: int, limit: int) -> Int64:
    if length <= limit:
        return np.arange(length)
    return np.linspace(0, length - 1, limit).astype(np.int64)


def get_preview_indexes(length: int, max_each_end: int = 5) -> list[int | None]:
    """Return the first and last indexes of a sequence, with None in place of those in between."""
    if length <= 2 * max_each_end + 1:
        return list(range(length))
    return [*range(max_each_end), None, *range(length - max_each_end, length)]


class SeriesSummary(msgspec.Struct, frozen=True, gc=False):
    """Point count, last point and extremes of a series, without overwritten points."""

    count: int
    last: Point | None
    min: Point | None
    """The point with the lowest finite value."""
    max: Point | None
    """The point with the highest finite value."""


@dataclass(frozen=True, slots=True)
class SummaryColumns:
    """The numbers of one scalar tag in many runs, as columns, without overwritten points."""

    is_present: Bool
    """Whether a run has a point."""
    last: Float64
    low: Float64
    """The lowest finite value; NaN if there is none."""
    high: Float64
    step: Float64
    """The step of the last point."""


@dataclass(frozen=True, slots=True)
class ValueLocations:
    """Steps, wall times and file positions of the non-scalar values of one tag of one run.

    One row for each value, in the order written. The value itself stays in the event file.
    """

    run: str
    tag: str
    kind: Kind
    paths: tuple[str, ...]
    file: Int32
    """For each value, the index of its file in ``paths``."""
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
    """Progress of the current refresh."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


class Delta(msgspec.Struct, frozen=True):
    """The names of the runs that one refresh added, removed or changed, in natural order."""

    version: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class LayoutMargin(msgspec.Struct, frozen=True):
    """The tags of a line and of the lower and upper edge of the band around it."""

    value: str
    lower: str
    upper: str


class LayoutChart(msgspec.Struct, frozen=True):
    """One chart of a custom layout: ``margins`` if there are any, else lines of ``tags``."""

    title: Annotated[str, msgspec.Meta(max_length=1000)]
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=200)] = ()
    """Regular expressions, matched at the start of tags."""
    margins: Annotated[tuple[LayoutMargin, ...], msgspec.Meta(max_length=200)] = ()


class LayoutCategory(msgspec.Struct, frozen=True):
    """A section of a custom layout; ``closed`` sections are collapsed at first."""

    title: Annotated[str, msgspec.Meta(max_length=1000)]
    closed: bool = False
    charts: Annotated[tuple[LayoutChart, ...], msgspec.Meta(max_length=1000)] = ()
