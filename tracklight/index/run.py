"""Which plugin a series belongs to, and what kind of thing it holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tracklight.errors import FormatError, TagNotFoundError
from tracklight.formats.batch import META_GRAPH_TAG, Content, Points, ScalarType
from tracklight.formats.event import TagMetadata, parse_metadata
from tracklight.index.blocks import REFERENCE_COLUMNS, Block, FileSession
from tracklight.index.event_file import EventFile
from tracklight.logdir.names import natural_key
from tracklight.types import Bool, Float64, Int64, Kind, RunInfo, Series, ValueLocations

#: Values from before there was metadata name no plugin: what they are says it.
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


def get_content_plugin(content: int) -> str:
    """The plugin of a series without metadata, by the content of its first value."""
    return _PLUGIN_OF_CONTENT.get(content, "")


def is_known_plugin(plugin: str) -> bool:
    """Whether the plugin alone tells what kind of thing its series hold."""
    return plugin in _KIND_OF_PLUGIN


def get_kind(plugin: str, has_points: bool) -> Kind:
    """A number logged for an unknown plugin, or for none, is still a scalar."""
    return _KIND_OF_PLUGIN.get(plugin) or (Kind.SCALAR if has_points else Kind.TENSOR)


# Which points were overwritten: by a later point at the same or an earlier step, or by a restart.
#
# Points are kept in the order written: file by file, and within a file session by session. Files of
# one run that were written at the same time are several workers, not a restart, so they never
# overwrite each other.

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SeriesPart:
    """One series' rows of one session of one file."""

    file: int
    session_start: int | None
    """Step of the SessionLog.START that opened the session."""
    step: Int64
    wall: Float64
    is_increasing: bool
    file_start_wall: float
    """When the file's first row of any series was written."""


@dataclass(slots=True)
class _RestartFloor:
    """The lowest step that was written, or restarted from, after some moment of one file."""

    step: int
    since: float


def mark_overwritten(parts: Sequence[SeriesPart]) -> Bool:
    """One mark for each point of the parts, which stand in the order written."""
    if len(parts) == 1 and parts[0].is_increasing:
        return np.zeros(len(parts[0].step), np.bool_)
    marks = [np.zeros(0, np.bool_)]
    floors: dict[int, _RestartFloor] = {}
    ends: dict[int, float] = {}
    several = len({part.file for part in parts}) > 1
    for part in parts if several else ():  # times are only read where files have to be compared
        ends[part.file] = max(ends.get(part.file, -np.inf), _latest(part.wall))
    for part in reversed(parts):
        marks.append(_mark(part, _get_floor(part.file, ends.get(part.file, -np.inf), floors)))
        _lower_floor(floors, part, _get_start_wall(part) if several else part.file_start_wall)
    return np.concatenate(marks[:0:-1]) if len(marks) > 1 else marks[0]


def _mark(part: SeriesPart, floor: int) -> Bool:
    if part.is_increasing:
        return part.step >= floor
    lowest_after = np.empty_like(part.step)
    lowest_after[-1:] = floor
    np.minimum.accumulate(part.step[:0:-1], out=lowest_after[-2::-1])
    np.minimum(lowest_after, floor, out=lowest_after)
    return part.step >= lowest_after


def _get_floor(file: int, end: float, floors: dict[int, _RestartFloor]) -> int:
    """The lowest step that came later: in the rest of the file, or in files begun after its end."""
    return min(
        (floor.step for other, floor in floors.items() if other == file or not floor.since < end),
        default=_NEVER,
    )


def _get_start_wall(part: SeriesPart) -> float:
    return _earliest(part.wall) if len(part.wall) else part.file_start_wall


def _lower_floor(floors: dict[int, _RestartFloor], part: SeriesPart, since: float) -> None:
    step = int(part.step.min()) if len(part.step) else _NEVER
    if part.session_start is not None:
        step = min(step, part.session_start)
    known = floors.get(part.file)
    if known is not None:
        step, since = min(step, known.step), min(since, known.since)
    floors[part.file] = _RestartFloor(step, since)


def _earliest(wall: Float64) -> float:
    return float(np.fmin.reduce(wall, initial=np.inf))


def _latest(wall: Float64) -> float:
    return float(np.fmax.reduce(wall, initial=-np.inf))


# What is known of one run: the event files of its directory, put together into series.

#: Where a tag is found: in which file of the run, and under which number there.
TagSource = tuple[int, int]


class _Piece(NamedTuple):
    """The rows of one series that stand in one block."""

    file: int
    rows: Any
    at: slice
    number: ScalarType


class RunIndex:
    """The files of one run, in the order they were started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: list[EventFile] = []
        self._sources: dict[str, tuple[TagSource, ...]] = {}
        self._known: list[tuple[EventFile, int]] = []

    def sources(self) -> dict[str, tuple[TagSource, ...]]:
        """For every tag, the files it is found in."""
        known = [(file, len(file.tags)) for file in self.files]
        if known != self._known:
            self._sources = _collect_sources(tuple(file.tags for file in self.files))
            self._known = known
        return self._sources

    def get_sources(self, tag: str) -> tuple[TagSource, ...]:
        try:
            return self.sources()[tag]
        except KeyError:
            raise TagNotFoundError(self.name, tag, self.sources()) from None

    def describe(self, sources: Sequence[TagSource]) -> tuple[TagMetadata, str]:
        """A tag's metadata and plugin: those of the first file that tells a plugin.

        A value of the old form tells it by what it is, whatever its metadata says.
        """
        chosen = None
        for file, series in sources:
            data = self.files[file].metadata.get(series)
            metadata = decode_metadata(data or b"")
            plugin = get_content_plugin(self.files[file].contents[series]) or metadata.plugin
            if plugin:
                return metadata, plugin
            if data is not None:
                chosen = chosen or metadata
        return chosen or decode_metadata(b""), ""

    def scalar(self, tag: str) -> Series:
        """All points of a tag, in the order written."""
        return self._scalar(tag, self.get_sources(tag))

    def scalar_or_empty(self, tag: str) -> Series:
        """All points of a tag that the run may not have: then there are none."""
        return self._scalar(tag, self.sources().get(tag, ()))

    def _scalar(self, tag: str, sources: Sequence[TagSource]) -> Series:
        pieces, marks = self._collect(sources, "points")
        value = _concatenate_values(pieces)
        step = _concatenate([piece.rows.step[piece.at] for piece in pieces], np.int64)
        wall = _concatenate([piece.rows.wall[piece.at] for piece in pieces], np.float64)
        return Series(self.name, tag, step, wall, value, marks)

    def locate(self, tag: str) -> ValueLocations:
        """Where all values of a tag stand that are no points, in the order written."""
        sources = self.get_sources(tag)
        pieces, marks = self._collect(sources, "references")
        columns = {
            name: _concatenate(
                [getattr(piece.rows, name)[piece.at] for piece in pieces],
                np.float64 if name == "wall" else np.uint8 if name == "content" else np.int64,
            )
            for name in REFERENCE_COLUMNS
        }
        lengths = [piece.at.stop - piece.at.start for piece in pieces]
        file = np.repeat(np.array([piece.file for piece in pieces], np.int32), lengths)
        columns["wall_time"] = columns.pop("wall")
        return ValueLocations(
            run=self.name,
            tag=tag,
            kind=get_kind(self.describe(sources)[1], has_points=False),
            paths=tuple(file.path for file in self.files),
            file=file,
            overwritten=marks,
            **columns,
        )

    def info(self) -> RunInfo:
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
        """Without a table of sources where there is no need: a log may have a million series."""
        if len(self.files) != 1:
            return len(self.sources())
        tags = self.files[0].tags
        return len(tags) - (META_GRAPH_TAG in tags)

    def _collect(self, sources: Sequence[TagSource], stack: str) -> tuple[list[_Piece], Bool]:
        """The rows of a tag in the order written, and which of them were overwritten."""
        series = dict(sources)
        pieces: list[_Piece] = []
        parts: list[SeriesPart] = []
        for number, file in enumerate(self.files):
            begin = len(parts)
            for count, session in enumerate(file.sessions):
                found = list(_iter_pieces(session, stack, number, series.get(number, -1)))
                pieces += [piece for piece, _ in found]
                if session.start is not None:
                    # The first START opens its file, even if other threads were quicker to write.
                    at = begin if count == 1 else len(parts)
                    parts.insert(at, _make_restart(number, session.start, file.first_wall))
                parts += [_make_part(piece, rises, file.first_wall) for piece, rises in found]
        return pieces, mark_overwritten(parts)


@lru_cache(maxsize=256)
def _collect_sources(tables: tuple[tuple[bytes, ...], ...]) -> dict[str, tuple[TagSource, ...]]:
    """Tags in natural order; one table serves all runs with the same tags, as most have.

    Tuples, which the garbage collector soon leaves alone, as there may be a million.
    """
    sources: dict[str, tuple[TagSource, ...]] = {}
    for number, tags in enumerate(tables):
        for series, tag in enumerate(tags):
            if tag != META_GRAPH_TAG:
                name = decode_tag(tag)
                sources[name] = (*sources.get(name, ()), (number, series))
    return dict(sorted(sources.items(), key=lambda item: natural_key(item[0])))


def decode_tag(tag: bytes) -> str:
    return tag.decode("utf-8", "backslashreplace")


@lru_cache(maxsize=16_384)
def decode_metadata(data: bytes) -> TagMetadata:
    """Metadata is the same bytes for thousands of tags; bytes that are none say nothing.

    Of sessions in a search each has its own, and all of them are asked for again and again.
    """
    try:
        return parse_metadata(data)
    except FormatError:
        return parse_metadata(b"")


def _iter_pieces(
    session: FileSession, stack: str, file: int, series: int
) -> Iterator[tuple[_Piece, bool]]:
    blocks: list[Block[Any]] = getattr(session, stack).blocks
    for block in blocks:
        at = block.header.find(series)
        if at is not None:
            rows, where = block.get_series_rows(at)
            number = (
                ScalarType(rows.scalar_type[at]) if isinstance(rows, Points) else ScalarType.FLOAT
            )
            yield _Piece(file, rows, where, number), bool(block.header.rises[at])


def _make_part(piece: _Piece, rises: bool, file_since: float) -> SeriesPart:
    step, wall = piece.rows.step[piece.at], piece.rows.wall[piece.at]
    return SeriesPart(piece.file, None, step, wall, rises, file_since)


def _make_restart(file: int, start: int, file_since: float) -> SeriesPart:
    """A restart counts even where it added nothing to a tag."""
    return SeriesPart(file, start, np.empty(0, np.int64), np.empty(0, np.float64), True, file_since)


def _concatenate(columns: Sequence[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns) if columns else np.empty(0, kind)


def _concatenate_values(pieces: Sequence[_Piece]) -> np.ndarray:
    numbers = {piece.number for piece in pieces}
    values = [piece.rows.value[piece.at].view(piece.number.dtype) for piece in pieces]
    if len(numbers) > 1:
        values = [value.astype(np.float64) for value in values]
    return _concatenate(values, np.float64)
