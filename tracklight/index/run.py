"""What is known of one run: the event files of its directory, put together into series."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tracklight.errors import FormatError, UnknownTag
from tracklight.formats.batch import META_GRAPH_TAG, Number, Points
from tracklight.formats.event import Metadata, parse_metadata
from tracklight.index.block import REFERENCE_COLUMNS, Block
from tracklight.index.file import EventFile
from tracklight.index.kinds import kind_of, plugin_of
from tracklight.index.restarts import Part, overwritten
from tracklight.index.stack import Session
from tracklight.logdir.natural import natural_key
from tracklight.types import Bool, Located, RunInfo, Series

#: Where a tag is found: in which file of the run, and under which number there.
Source = tuple[int, int]


class _Piece(NamedTuple):
    """The rows of one series that stand in one block."""

    file: int
    rows: Any
    at: slice
    number: Number


class RunIndex:
    """The files of one run, in the order they were started."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: list[EventFile] = []
        self._sources: dict[str, tuple[Source, ...]] = {}
        self._known: list[tuple[EventFile, int]] = []

    def sources(self) -> dict[str, tuple[Source, ...]]:
        """For every tag, the files it is found in."""
        known = [(file, len(file.tags)) for file in self.files]
        if known != self._known:
            self._sources = _find_sources(tuple(file.tags for file in self.files))
            self._known = known
        return self._sources

    def get_sources(self, tag: str) -> tuple[Source, ...]:
        try:
            return self.sources()[tag]
        except KeyError:
            raise UnknownTag(self.name, tag, self.sources()) from None

    def describe(self, sources: Sequence[Source]) -> tuple[Metadata, str]:
        """A tag's metadata and plugin: those of the first file that tells a plugin.

        A value of the old form tells it by what it is, whatever its metadata says.
        """
        chosen = None
        for file, series in sources:
            data = self.files[file].metadata.get(series)
            metadata = read_metadata(data or b"")
            plugin = plugin_of(self.files[file].contents[series]) or metadata.plugin
            if plugin:
                return metadata, plugin
            if data is not None:
                chosen = chosen or metadata
        return chosen or read_metadata(b""), ""

    def scalar(self, tag: str) -> Series:
        """All points of a tag, in the order written."""
        return self._scalar(tag, self.get_sources(tag))

    def find_scalar(self, tag: str) -> Series:
        """All points of a tag that the run may not have: then there are none."""
        return self._scalar(tag, self.sources().get(tag, ()))

    def _scalar(self, tag: str, sources: Sequence[Source]) -> Series:
        pieces, marks = self._collect(sources, "points")
        value = _join_values(pieces)
        step = _join([piece.rows.step[piece.at] for piece in pieces], np.int64)
        wall = _join([piece.rows.wall[piece.at] for piece in pieces], np.float64)
        return Series(self.name, tag, step, wall, value, marks)

    def located(self, tag: str) -> Located:
        """Where all values of a tag stand that are no points, in the order written."""
        sources = self.get_sources(tag)
        pieces, marks = self._collect(sources, "references")
        columns = {
            name: _join(
                [getattr(piece.rows, name)[piece.at] for piece in pieces],
                np.float64 if name == "wall" else np.uint8 if name == "content" else np.int64,
            )
            for name in REFERENCE_COLUMNS
        }
        lengths = [piece.at.stop - piece.at.start for piece in pieces]
        file = np.repeat(np.array([piece.file for piece in pieces], np.int32), lengths)
        columns["wall_time"] = columns.pop("wall")
        return Located(
            run=self.name,
            tag=tag,
            kind=kind_of(self.describe(sources)[1], has_points=False),
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
            points=sum(file.point_count() for file in self.files),
            damaged=sum(file.damaged for file in files),
        )

    def _count_tags(self) -> int:
        """Without a table of sources where there is no need: a log may have a million series."""
        if len(self.files) != 1:
            return len(self.sources())
        tags = self.files[0].tags
        return len(tags) - (META_GRAPH_TAG in tags)

    def _collect(self, sources: Sequence[Source], stack: str) -> tuple[list[_Piece], Bool]:
        """The rows of a tag in the order written, and which of them were overwritten."""
        series = dict(sources)
        pieces: list[_Piece] = []
        parts: list[Part] = []
        for number, file in enumerate(self.files):
            begin = len(parts)
            for count, session in enumerate(file.sessions):
                found = list(_iter_pieces(session, stack, number, series.get(number, -1)))
                pieces += [piece for piece, _ in found]
                if session.start is not None:
                    # The first START opens its file, even if other threads were quicker to write.
                    at = begin if count == 1 else len(parts)
                    parts.insert(at, _restart(number, session.start, file.first_wall))
                parts += [_part(piece, rises, file.first_wall) for piece, rises in found]
        return pieces, overwritten(parts)


@lru_cache(maxsize=256)
def _find_sources(tables: tuple[tuple[bytes, ...], ...]) -> dict[str, tuple[Source, ...]]:
    """Tags in natural order; one table serves all runs with the same tags, as most have.

    Tuples, which the garbage collector soon leaves alone, as there may be a million.
    """
    sources: dict[str, tuple[Source, ...]] = {}
    for number, tags in enumerate(tables):
        for series, tag in enumerate(tags):
            if tag != META_GRAPH_TAG:
                name = decode_tag(tag)
                sources[name] = (*sources.get(name, ()), (number, series))
    return dict(sorted(sources.items(), key=lambda item: natural_key(item[0])))


def decode_tag(tag: bytes) -> str:
    return tag.decode("utf-8", "backslashreplace")


@lru_cache(maxsize=16_384)
def read_metadata(data: bytes) -> Metadata:
    """Metadata is the same bytes for thousands of tags; bytes that are none say nothing.

    Of sessions in a search each has its own, and all of them are asked for again and again.
    """
    try:
        return parse_metadata(data)
    except FormatError:
        return parse_metadata(b"")


def _iter_pieces(
    session: Session, stack: str, file: int, series: int
) -> Iterator[tuple[_Piece, bool]]:
    blocks: list[Block[Any]] = getattr(session, stack).blocks
    for block in blocks:
        at = block.head.find(series)
        if at is not None:
            rows, where = block.series_rows(at)
            number = Number(rows.number[at]) if isinstance(rows, Points) else Number.FLOAT
            yield _Piece(file, rows, where, number), bool(block.head.rises[at])


def _part(piece: _Piece, rises: bool, file_since: float) -> Part:
    step, wall = piece.rows.step[piece.at], piece.rows.wall[piece.at]
    return Part(piece.file, None, step, wall, rises, file_since)


def _restart(file: int, start: int, file_since: float) -> Part:
    """A restart counts even where it added nothing to a tag."""
    return Part(file, start, np.empty(0, np.int64), np.empty(0, np.float64), True, file_since)


def _join(columns: Sequence[np.ndarray], kind: type[np.generic]) -> np.ndarray:
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns) if columns else np.empty(0, kind)


def _join_values(pieces: Sequence[_Piece]) -> np.ndarray:
    numbers = {piece.number for piece in pieces}
    values = [piece.rows.value[piece.at].view(piece.number.dtype) for piece in pieces]
    if len(numbers) > 1:
        values = [value.astype(np.float64) for value in values]
    return _join(values, np.float64)
