"""A logged text as the page shows it: one string, or a part of an array as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media.markdown import render_markdown, start_deadline
from tracklight.analysis.media.regex_worker import LineMatch, match_lines_of_text
from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError, RegexProcess
from tracklight.analysis.media.values import ValueReader, ValueRequest, compute_fingerprints
from tracklight.dashboards.text.schemas import (
    RawTextRequest,
    TextCell,
    TextHit,
    TextRequest,
    TextResponse,
    TextSearchRequest,
    TextSearchResponse,
)
from tracklight.errors import TracklightError, UsageError
from tracklight.formats.values import Text, decode_value
from tracklight.plugin import Blob, Context
from tracklight.types import Int32, Int64, ValueLocations

#: A table comes in parts of so many rows and columns.
MAX_ROWS = 50

MAX_COLUMNS = 20

#: Of a string that is shown as it was logged, a browser gets so much.
_MAX_RAW_CHARS = 400_000

#: All cells of a table together.
_MAX_TABLE_CHARS = 1_000_000

TextArray = NDArray[np.object_]


def render_texts(texts: TextArray, ask: TextRequest) -> TextResponse:
    """What was asked for of an array of any rank; of more than two dimensions one table."""
    fixed = _parse_fixed(ask.fixed, texts.shape[:-2])
    table = _as_table(texts[tuple(fixed)])
    part = table[ask.row : ask.row + MAX_ROWS, ask.column : ask.column + MAX_COLUMNS]
    return TextResponse(
        shape=list(texts.shape),
        characters=sum(map(len, texts.flat)),
        fixed=fixed,
        row=ask.row,
        column=ask.column,
        columns=part.shape[1],
        cells=_make_cells(part, ask),
    )


def _as_table(texts: Any) -> TextArray:
    """At most two dimensions as two: a list is one column, as everybody shows it."""
    table = np.asarray(texts, object)
    return table.reshape(len(table), 1) if table.ndim == 1 else np.atleast_2d(table)


def _parse_fixed(fixed: str, dimensions: tuple[int, ...]) -> list[int]:
    """A place in some dimensions; the first where none is named."""
    if not fixed:
        return [0] * len(dimensions) if all(dimensions) else _raise_no_such_table(dimensions)
    place = [int(part) if part.isdecimal() and len(part) < 10 else -1 for part in fixed.split(",")]
    inside = [0 <= at < size for at, size in zip(place, dimensions, strict=False)]
    return (
        place if len(place) == len(dimensions) and all(inside) else _raise_no_such_table(dimensions)
    )


def _raise_no_such_table(dimensions: tuple[int, ...]) -> list[int]:
    raise UsageError(f"there is no such table in an array of {list(dimensions)} tables")


def _make_cells(part: TextArray, ask: TextRequest) -> list[TextCell]:
    deadline = start_deadline()
    most = min(_MAX_RAW_CHARS, max(200, _MAX_TABLE_CHARS // max(part.size, 1)))
    return [_make_cell(text, ask.form == "raw", most, deadline) for text in part.flat]


def _make_cell(text: str, raw: bool, most: int, deadline: Deadline) -> TextCell:
    rendered = None if raw else render_markdown(text, deadline)
    if rendered is not None and rendered.html is not None:
        return TextCell(rendered.html, None, None)
    note = rendered.note if rendered else None
    if len(text) > most:
        cut = f"The first {most:,} of {len(text):,} characters; a download has them all."
        note = f"{note} {cut}" if note else cut
    return TextCell(None, text[:most], note)


# Reads logged texts.

_CACHE_BYTES = 16 << 20


class TextReader:
    """The texts of a log as arrays of strings."""

    def __init__(self, context: Context) -> None:
        self._reader = ValueReader(context, _CACHE_BYTES)

    def read(self, ask: ValueRequest) -> TextArray:
        value = self._reader.read(ask)
        if not isinstance(value, Text):
            raise UsageError(f'"{ask.tag}" holds no text')
        return value.array


# A logged text as a file, and as lines that can be compared.


def create_text_file(texts: TextArray, ask: RawTextRequest) -> Blob:
    """A plain text as it was logged; an array as JSON."""
    content = msgspec.json.encode(texts.tolist()) if texts.ndim else str(texts[()]).encode()
    media_type = "application/json" if texts.ndim else "text/plain; charset=utf-8"
    suffix = "json" if texts.ndim else "md"
    name = f"{ask.run}_{ask.tag}_{ask.index}.{suffix}".replace("/", "_")
    return Blob(content, media_type, name if ask.download else None, ask.mark is not None)


def split_lines(texts: TextArray) -> list[str]:
    """The lines of a text; each string of an array under a line with its place."""
    if not texts.ndim:
        return str(texts[()]).splitlines()
    strings = iter_strings(texts)
    return [line for place, text in strings for line in (str(place), *text.splitlines())]


def iter_strings(texts: TextArray) -> Iterator[tuple[list[int], str]]:
    """Every string with its place in the array, which is empty for a plain text."""
    for place, text in np.ndenumerate(texts):
        yield list(place), text


# The texts that are searched, newest first, and how they are read without reading one by one.

#: What is read at once: many texts, unless they are long.
_MAX_BATCH_TEXTS = 64

_MAX_BATCH_BYTES = 8 << 20


@dataclass(frozen=True)
class TextLocation:
    """A text in one of the series."""

    series: ValueLocations
    index: int

    @property
    def mark(self) -> int:
        return int(compute_fingerprints(self.series)[self.index])

    @property
    def size_bytes(self) -> int:
        return int(self.series.size[self.index])


class SearchedTexts:
    """All texts of some tags and runs, in the order in which they were logged, the last first."""

    def __init__(self, context: Context, tags: Sequence[str], runs: Sequence[str] | None) -> None:
        self._log = context.log
        self._series = [
            context.log.locate(run, tag)
            for tag in tags
            for run in context.log.plugin_data(tag)
            if runs is None or run in runs
        ]
        self._series_number, self._value_index = _sort_newest_first(self._series)

    def __len__(self) -> int:
        return len(self._value_index)

    def iter_texts(self, skip: int) -> Iterator[tuple[TextLocation, Text | None]]:
        """Each with its place; None for one that cannot be read."""
        for part in self._iter_batches(skip):
            yield from zip(part, self._read(part), strict=True)

    def _iter_batches(self, skip: int) -> Iterator[list[TextLocation]]:
        part: list[TextLocation] = []
        for number, index in zip(self._series_number[skip:], self._value_index[skip:], strict=True):
            part.append(TextLocation(self._series[number], int(index)))
            if (
                len(part) == _MAX_BATCH_TEXTS
                or sum(at.size_bytes for at in part) > _MAX_BATCH_BYTES
            ):
                yield part
                part = []
        if part:
            yield part

    def _read(self, part: list[TextLocation]) -> list[Text | None]:
        """Series by series, as values that stand in one file are read together."""
        found: dict[int, Text | None] = {}
        for series in {id(place.series): place.series for place in part}.values():
            own = [at for at, place in enumerate(part) if place.series is series]
            found.update(
                zip(own, self._read_series(series, [part[at].index for at in own]), strict=True)
            )
        return [found[at] for at in range(len(part))]

    def _read_series(self, series: ValueLocations, indexes: list[int]) -> list[Text | None]:
        try:
            values = self._log.read_many(series, indexes)
        except TracklightError:
            if len(indexes) == 1:
                return [None]
            # One of them is damaged: which one is found out by reading each.
            return [text for index in indexes for text in self._read_series(series, [index])]
        return [_decode_text(data, series) for data in values]


def _sort_newest_first(series: Sequence[ValueLocations]) -> tuple[Int32, Int64]:
    """Which series, and which of its values, each text is."""
    kept = [np.flatnonzero(~one.overwritten) for one in series]
    if not kept:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    number = np.repeat(np.arange(len(series), dtype=np.int32), [len(rows) for rows in kept])
    step = np.concatenate([one.step[rows] for one, rows in zip(series, kept, strict=True)])
    wall = np.concatenate([one.wall_time[rows] for one, rows in zip(series, kept, strict=True)])
    order = np.lexsort((step, np.nan_to_num(wall)))[::-1]
    return number[order], np.concatenate(kept)[order]


def _decode_text(data: bytes, series: ValueLocations) -> Text | None:
    try:
        value = decode_value(data, series.kind)
    except TracklightError:
        return None
    return value if isinstance(value, Text) else None


# Ways to look for something in a text, none of which can take the server with it.


class Matcher(Protocol):
    """Finds lines of one text after the other, until the time is up."""

    def match(self, text: str) -> list[LineMatch]: ...

    def close(self) -> None: ...


_MAX_LINES_PER_TEXT = 20


def create_matcher(ask: TextSearchRequest, limit_s: float) -> Matcher:
    flags = 0 if ask.case else re.IGNORECASE
    if ask.regex:
        return RegexProcess(ask.query, flags, limit_s, _MAX_LINES_PER_TEXT)
    return SubstringMatcher(ask.query, flags, limit_s)


class SubstringMatcher:
    """Looks for the very words, which takes as long as the text is."""

    def __init__(self, words: str, flags: int, limit_s: float) -> None:
        self._pattern = re.compile(re.escape(words), flags)
        self._deadline = Deadline(limit_s)

    def match(self, text: str) -> list[LineMatch]:
        self._deadline.check()
        return match_lines_of_text(self._pattern, text, _MAX_LINES_PER_TEXT)

    def close(self) -> None:
        """There is nothing to leave behind."""


# Finds words in all texts of some tags and runs, newest first, for as long as somebody waits.

_MAX_SEARCH_S = 2.0

_MAX_HITS = 200

#: Characters that are shown on either side of a match, and of the match itself.
_CONTEXT_CHARS = 60

_MAX_MATCH_CHARS = 200


def search_texts(context: Context, ask: TextSearchRequest) -> TextSearchResponse:
    """Hits in the order in which texts were logged, the last first."""
    places = SearchedTexts(context, ask.tags, ask.runs)
    answer = TextSearchResponse([], ask.skip, len(places), 0)
    with closing(create_matcher(ask, _MAX_SEARCH_S)) as matcher:
        for place, text in places.iter_texts(ask.skip):
            try:
                hits = _iter_hits(text.array, place, matcher) if text else ()
                answer.hits += islice(hits, _MAX_HITS)
            except DeadlineExceededError:
                _raise_if_stuck(answer.searched == ask.skip, place)
                break
            answer.unreadable += text is None
            answer.searched += 1
            if len(answer.hits) >= _MAX_HITS:
                break
    return answer


def _raise_if_stuck(is_first: bool, place: TextLocation) -> None:
    """Who asks again would come to the same text again."""
    if is_first:
        step = place.series.step[place.index]
        where = f'the text of "{place.series.tag}" at step {step}'
        raise UsageError(f"this expression takes too long on {where}; make it simpler")


def _iter_hits(texts: TextArray, place: TextLocation, matcher: Matcher) -> Iterator[TextHit]:
    series, index = place.series, place.index
    for position, text in iter_strings(texts):
        lines = None
        for number, start, stop in matcher.match(text):
            lines = lines or text.split("\n")
            line, stop = lines[number], min(stop, start + _MAX_MATCH_CHARS)
            yield TextHit(
                run=series.run,
                tag=series.tag,
                index=index,
                mark=place.mark,
                step=int(series.step[index]),
                wall_time=float(np.nan_to_num(series.wall_time[index])),
                place=position,
                line=number + 1,
                before=line[max(0, start - _CONTEXT_CHARS) : start],
                match=line[start:stop],
                after=line[stop : stop + _CONTEXT_CHARS],
            )
