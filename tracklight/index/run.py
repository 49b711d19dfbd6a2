"""The index of one run: assembles series from the event files of its directory.

Points are in the order written: file by file, and within a file session by session. A point is
overwritten by a later point at the same or an earlier step, and by a restart from such a step
(`mark_overwritten`). Files that were written at the same time belong to several workers, not to a
restart, so they do not overwrite each other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tracklight.errors import FormatError, TagNotFoundError
from tracklight.formats.batch import META_GRAPH_TAG, Content, Points, ScalarType
from tracklight.formats.summary import TagMetadata, parse_metadata
from tracklight.index import REFERENCE_COLUMNS, Block, FileSession, SegmentOrigin
from tracklight.index.event_file import EventFile
from tracklight.logdir import natural_key
from tracklight.types import Bool, Float64, Int64, Kind, RunInfo, Series, ValueLocations

try:
    from tracklight.formats._scan import split_metadata as split_metadata
except ImportError:

    def split_metadata(data: bytes) -> tuple[bytes, bytes] | None:
        """Do without the compiled function, which tells metadata from the content of plugins."""
        return None


#: The plugins of values in the old format, which has no metadata.
_PLUGIN_OF_CONTENT: dict[int, str] = {
    Content.SIMPLE_VALUE: "scalars",
    Content.OLD_HISTOGRAM: "histograms",
    Content.IMAGE: "images",
    Content.HISTOGRAM: "histograms",
    Content.AUDIO: "audio",
    Content.GRAPH: "graphs",
    Content.META_GRAPH: "graphs",
    Content.RUN_METADATA: "graph_tagged_run_metadata",
}

_KIND_OF_PLUGIN = {
    "scalars": Kind.SCALAR,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
    "histograms": Kind.HISTOGRAM,
    "graphs": Kind.GRAPH,
    "graph_run_metadata": Kind.GRAPH,
    "graph_run_metadata_graph": Kind.GRAPH,
    "graph_tagged_run_metadata": Kind.GRAPH,
    "graph_keras_model": Kind.GRAPH,
}

_NEVER = np.iinfo(np.int64).max

#: Where a tag occurs: the index of a file of the run, and the number of the series in that file.
TagSource = tuple[int, int]


class _Piece(NamedTuple):
    """The rows of one series in one block."""

    file: int
    rows: Any
    row_range: slice
    scalar_type: ScalarType


class RunIndex:
    """The files of one run, in the order in which they were created.

    Not thread-safe: the shard's lock protects it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: list[EventFile] = []
        self._sources: dict[str, tuple[TagSource, ...]] = {}
        self._sources_key: list[tuple[EventFile, int]] = []
        self._info: RunInfo | None = None
        self._info_key: list[SegmentOrigin] = []

    def sources(self) -> dict[str, tuple[TagSource, ...]]:
        """Return where each tag occurs, in natural order of the tags."""
        key = [(file, len(file.tags)) for file in self.files]
        if key != self._sources_key:
            self._sources = _collect_sources(tuple(file.tags for file in self.files))
            self._sources_key = key
        return self._sources

    def get_version(self) -> tuple[tuple[EventFile, int], ...]:
        """Return a value that differs once anything was read from the files of the run."""
        return tuple((file, file.records) for file in self.files)

    def get_sources(self, tag: str) -> tuple[TagSource, ...]:
        """Return where a tag occurs; raises TagNotFoundError."""
        try:
            return self.sources()[tag]
        except KeyError:
            raise TagNotFoundError(self.name, tag, self.sources()) from None

    def describe(self, sources: Sequence[TagSource]) -> tuple[TagMetadata, str]:
        """Return the metadata and plugin of a tag, from the first file with a plugin.

        The content of a value in the old format determines the plugin, whatever its metadata says.
        """
        without_plugin = None
        for file, series in sources:
            data = self.files[file].metadata.get(series)
            metadata = decode_metadata(data or b"")
            plugin = get_content_plugin(self.files[file].contents[series]) or metadata.plugin
            if plugin:
                return metadata, plugin
            if data is not None:
                without_plugin = without_plugin or metadata
        return without_plugin or decode_metadata(b""), ""

    def scalar(self, tag: str) -> Series:
        """Return all points of a tag in the order written; raises TagNotFoundError."""
        return self._assemble_series(tag, self.get_sources(tag))

    def scalar_or_empty(self, tag: str) -> Series:
        """Return all points of a tag; none if the run does not have the tag."""
        return self._assemble_series(tag, self.sources().get(tag, ()))

    def locate(self, tag: str) -> ValueLocations:
        """Return the locations of all non-scalar values of a tag, in the order written."""
        sources = self.get_sources(tag)
        pieces, overwritten = self._collect(sources, "references")
        columns = {
            name: _concatenate(
                [getattr(piece.rows, name)[piece.row_range] for piece in pieces],
                np.float64 if name == "wall" else np.uint8 if name == "content" else np.int64,
            )
            for name in REFERENCE_COLUMNS
        }
        lengths = [piece.row_range.stop - piece.row_range.start for piece in pieces]
        file = np.repeat(np.array([piece.file for piece in pieces], np.int32), lengths)
        columns["wall_time"] = columns.pop("wall")
        return ValueLocations(
            run=self.name,
            tag=tag,
            kind=get_kind(self.describe(sources)[1], has_points=False),
            paths=tuple(file.path for file in self.files),
            file=file,
            overwritten=overwritten,
            **columns,
        )

    def info(self) -> RunInfo:
        """Return the run with its counts; the same object until one of its files is read."""
        # Every read replaces the origin of a file.
        key = [file.origin for file in self.files]
        if self._info is None or not _are_same(key, self._info_key):
            self._info, self._info_key = self._make_info(), key
        return self._info

    def _make_info(self) -> RunInfo:
        files = [file.info() for file in self.files]
        first = min((file.first_wall for file in self.files), default=math.inf)
        last = max((file.last_wall for file in self.files), default=-math.inf)
        return RunInfo(
            name=self.name,
            start_wall=first if math.isfinite(first) else None,
            last_wall=last if math.isfinite(last) else None,
            files=len(files),
            bytes=sum(file.bytes for file in files),
            tags=self._count_tags(),
            points=sum(file.count_points() for file in self.files),
            damaged=sum(file.damaged for file in files),
        )

    def _count_tags(self) -> int:
        # Avoids building the table of sources, because a log may have a million series.
        if len(self.files) != 1:
            return len(self.sources())
        tags = self.files[0].tags
        return len(tags) - (META_GRAPH_TAG in tags)

    def _assemble_series(self, tag: str, sources: Sequence[TagSource]) -> Series:
        if len(sources) == 1 and (series := self._find_only_piece(tag, *sources[0])) is not None:
            return series
        pieces, overwritten = self._collect(sources, "points")
        step = _concatenate([piece.rows.step[piece.row_range] for piece in pieces], np.int64)
        wall = _concatenate([piece.rows.wall[piece.row_range] for piece in pieces], np.float64)
        return Series(self.name, tag, step, wall, _concatenate_values(pieces), overwritten)

    def _find_only_piece(self, tag: str, file: int, number: int) -> Series | None:
        """Return a series that is in one block of one file, as of most runs; None for others."""
        sessions = self.files[file].sessions
        if len(self.files) != 1 or len(sessions) != 1 or sessions[0].start is not None:
            return None
        blocks = sessions[0].points.blocks
        index = blocks[0].header.find(number) if len(blocks) == 1 else None
        if index is None or not blocks[0].header.is_increasing[index]:
            return None
        rows, own = blocks[0].get_series_rows(index)
        value = rows.value[own].view(ScalarType(rows.scalar_type[index]).dtype)
        step = rows.step[own]
        return Series(self.name, tag, step, rows.wall[own], value, np.zeros(len(step), np.bool_))

    def _collect(self, sources: Sequence[TagSource], column: str) -> tuple[list[_Piece], Bool]:
        """Return the rows of a tag in the order written, and which of them were overwritten.

        Args:
            sources: Where the tag occurs.
            column: ``points`` or ``references``.
        """
        series_of_file = dict(sources)
        pieces: list[_Piece] = []
        parts: list[SeriesPart] = []
        for number, file in enumerate(self.files):
            first_part = len(parts)
            for count, session in enumerate(file.sessions):
                series = series_of_file.get(number, -1)
                found = list(_iter_pieces(session, column, number, series))
                pieces += [piece for piece, _ in found]
                if session.start is not None:
                    # The first START belongs to the beginning of its file, even if other threads
                    # wrote something before it.
                    position = first_part if count == 1 else len(parts)
                    parts.insert(position, _make_restart(number, session.start, file.first_wall))
                parts += [_make_part(*item, file.first_wall) for item in found]
        return pieces, mark_overwritten(parts)


def _are_same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


# ---- tags and metadata


@lru_cache(maxsize=256)
def _collect_sources(tables: tuple[tuple[bytes, ...], ...]) -> dict[str, tuple[TagSource, ...]]:
    """Return where each tag occurs, in natural order of the tags.

    Cached because most runs of a log have the same tags. The values are tuples, which the garbage
    collector stops tracking, because there may be a million of them.
    """
    sources: dict[str, tuple[TagSource, ...]] = {}
    for number, tags in enumerate(tables):
        for series, tag in enumerate(tags):
            if tag != META_GRAPH_TAG:
                name = decode_tag(tag)
                sources[name] = (*sources.get(name, ()), (number, series))
    return dict(sorted(sources.items(), key=lambda item: natural_key(item[0])))


def find_series(tags: tuple[bytes, ...], tag: str) -> int | None:
    """Return the number of a tag in the only file of a run; -1 if it has several numbers."""
    sources = _collect_sources((tags,)).get(tag)
    if sources is None:
        return None
    return sources[0][1] if len(sources) == 1 else -1


def list_plugin_data(runs: Iterable[RunIndex], tag: str) -> dict[str, bytes]:
    """Return the plugin data in the metadata of a tag, by run."""
    contents: dict[str, bytes] = {}
    series_of: dict[tuple[bytes, ...], int | None] = {}
    for run in runs:
        if len(run.files) == 1:  # the usual case; avoids the table of sources
            file = run.files[0]
            if file.tags not in series_of:
                series_of[file.tags] = find_series(file.tags, tag)
            series = series_of[file.tags]
            if series is None:
                continue
            parts = split_metadata(file.metadata.get(series, b"")) if series >= 0 else None
            if parts is not None:
                contents[run.name] = parts[1]
                continue
        sources = run.sources().get(tag)
        if sources:
            contents[run.name] = run.describe(sources)[0].content
    return contents


def decode_tag(tag: bytes) -> str:
    return tag.decode("utf-8", "backslashreplace")


@lru_cache(maxsize=16_384)
def decode_metadata(data: bytes) -> TagMetadata:
    """Decode the metadata of a tag; invalid metadata is treated as empty.

    Cached because thousands of tags have the same metadata, and the metadata of hyperparameter
    sessions, which is different in every run, is decoded again and again.
    """
    try:
        return parse_metadata(data)
    except FormatError:
        return parse_metadata(b"")


def get_content_plugin(content: int) -> str:
    """Return the plugin of a value in the old format, or an empty string."""
    return _PLUGIN_OF_CONTENT.get(content, "")


def is_known_plugin(plugin: str) -> bool:
    """Return whether the plugin alone determines the kind of a series."""
    return plugin in _KIND_OF_PLUGIN


def get_kind(plugin: str, has_points: bool) -> Kind:
    """Return the kind of a series; numbers of an unknown plugin are scalars, too."""
    return _KIND_OF_PLUGIN.get(plugin) or (Kind.SCALAR if has_points else Kind.TENSOR)


# ---- rows


def _iter_pieces(
    session: FileSession, column: str, file: int, series: int
) -> Iterator[tuple[_Piece, bool]]:
    """Yield the rows of a series in each block, and whether their steps increase."""
    blocks: list[Block[Any]] = getattr(session, column).blocks
    for block in blocks:
        index = block.header.find(series)
        if index is not None:
            rows, row_range = block.get_series_rows(index)
            is_points = isinstance(rows, Points)
            scalar_type = ScalarType(rows.scalar_type[index]) if is_points else ScalarType.FLOAT
            is_increasing = bool(block.header.is_increasing[index])
            yield _Piece(file, rows, row_range, scalar_type), is_increasing


def _concatenate(columns: Sequence[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns) if columns else np.empty(0, dtype)


def _concatenate_values(pieces: Sequence[_Piece]) -> np.ndarray:
    values = [piece.rows.value[piece.row_range].view(piece.scalar_type.dtype) for piece in pieces]
    if len({piece.scalar_type for piece in pieces}) > 1:
        values = [value.astype(np.float64) for value in values]
    return _concatenate(values, np.float64)


# ---- overwritten points


class SeriesPart(msgspec.Struct, frozen=True):
    """Rows of one series in one session of one file, or a restart without rows."""

    file: int
    session_start: int | None
    """The step of the ``SessionLog.START`` that opened the session."""
    step: Int64
    wall: Float64
    is_increasing: bool
    file_start_wall: float
    """When the first row of any series was written to the file."""


@dataclass(slots=True)
class _RestartFloor:
    """The lowest step that one file wrote or restarted from, and the earliest time of doing so."""

    step: int
    since: float


def mark_overwritten(parts: Sequence[SeriesPart]) -> Bool:
    """Return for each point of a series whether it was overwritten.

    Args:
        parts: The parts of the series in the order written.
    """
    if len(parts) == 1 and parts[0].is_increasing:
        return np.zeros(len(parts[0].step), np.bool_)
    marks = [np.zeros(0, np.bool_)]
    floors: dict[int, _RestartFloor] = {}
    ends: dict[int, float] = {}
    has_several_files = len({part.file for part in parts}) > 1
    if has_several_files:  # otherwise the wall times are not needed
        for part in parts:
            ends[part.file] = max(ends.get(part.file, -np.inf), _get_latest(part.wall))
    for part in reversed(parts):
        floor = _get_floor(part.file, ends.get(part.file, -np.inf), floors)
        marks.append(_mark_part(part, floor))
        since = _get_start_wall(part) if has_several_files else part.file_start_wall
        _lower_floor(floors, part, since)
    return np.concatenate(marks[:0:-1]) if len(marks) > 1 else marks[0]


def _mark_part(part: SeriesPart, floor: int) -> Bool:
    if part.is_increasing:
        is_before = not len(part.step) or part.step[-1] < floor
        return np.zeros(len(part.step), np.bool_) if is_before else part.step >= floor
    lowest_after = np.empty_like(part.step)
    lowest_after[-1:] = floor
    np.minimum.accumulate(part.step[:0:-1], out=lowest_after[-2::-1])
    np.minimum(lowest_after, floor, out=lowest_after)
    return part.step >= lowest_after


def _get_floor(file: int, end: float, floors: dict[int, _RestartFloor]) -> int:
    """Return the lowest step written later: in the same file, or in files begun after its end."""
    return min(
        (floor.step for other, floor in floors.items() if other == file or not floor.since < end),
        default=_NEVER,
    )


def _lower_floor(floors: dict[int, _RestartFloor], part: SeriesPart, since: float) -> None:
    step = _NEVER
    if len(part.step):
        step = int(part.step[0] if part.is_increasing else part.step.min())
    if part.session_start is not None:
        step = min(step, part.session_start)
    floor = floors.get(part.file)
    if floor is not None:
        step, since = min(step, floor.step), min(since, floor.since)
    floors[part.file] = _RestartFloor(step, since)


def _get_start_wall(part: SeriesPart) -> float:
    if not len(part.wall):
        return part.file_start_wall
    return float(np.fmin.reduce(part.wall, initial=np.inf))


def _get_latest(wall: Float64) -> float:
    return float(np.fmax.reduce(wall, initial=-np.inf))


def _make_part(piece: _Piece, is_increasing: bool, file_start_wall: float) -> SeriesPart:
    step, wall = piece.rows.step[piece.row_range], piece.rows.wall[piece.row_range]
    return SeriesPart(piece.file, None, step, wall, is_increasing, file_start_wall)


def _make_restart(file: int, start: int, file_start_wall: float) -> SeriesPart:
    """Return a part without rows, because a restart counts even if no points follow it."""
    no_step, no_wall = np.empty(0, np.int64), np.empty(0, np.float64)
    return SeriesPart(file, start, no_step, no_wall, True, file_start_wall)
