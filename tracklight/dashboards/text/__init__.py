"""The Text dashboard: Markdown and arrays of strings at every step, with search and diff.

This module reads, renders and searches logged texts; `diff` compares two of them. Start reading at
`TextDashboard`, the last class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.media import (
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    compute_fingerprints,
    export_values,
    has_fingerprint,
    list_steps,
    render_markdown,
    start_deadline,
    value_path,
)
from tracklight.analysis.media.regex_worker import LineMatch, match_lines_of_text
from tracklight.analysis.media.time_limits import Deadline, DeadlineExceededError, RegexProcess
from tracklight.analysis.source import Sentence
from tracklight.dashboards.text.diff import TextDiffResponse, diff_texts
from tracklight.errors import Message, TracklightError, UsageError
from tracklight.formats.values import Text, decode_value
from tracklight.plugin import Blob, Context, Dashboard, Route
from tracklight.types import Int32, Int64, ValueLocations

# ---- requests and responses

TextForm = Literal["markdown", "raw"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class TextRequest(ValueRequest):
    """A text, rendered or raw.

    Of an array, a part of a table is returned: from ``row`` and ``column`` on, at the index
    ``fixed`` (numbers separated by commas) of the dimensions before the last two.
    """

    form: TextForm = "markdown"
    fixed: str = ""
    row: Count = 0
    column: Count = 0


class TextCell(msgspec.Struct):
    """A string: safe HTML, or ``html`` null and the raw text."""

    html: str | None
    text: str | None
    notes: list[Sentence]
    """Why it is not rendered, or truncated."""


class TextResponse(msgspec.Struct):
    """A text, or a part of an array of texts as a table, row by row."""

    shape: list[int]
    characters: int
    """Of the whole value."""
    fixed: list[int]
    """The index of the table in the dimensions before the last two."""
    row: int
    column: int
    columns: int
    """The number of columns in ``cells``."""
    cells: list[TextCell]


class RawTextRequest(ValueRequest):
    """A text as a file."""

    download: bool = False


class TextSearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Words, or with ``regex`` a regular expression, to find in the texts of tags and runs."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    tags: Annotated[list[str], msgspec.Meta(max_length=1000)]
    runs: list[str] | None = None
    regex: bool = False
    case_sensitive: bool = False
    skip: Count = 0
    """How many texts, newest first, were searched by previous requests."""


class TextHit(msgspec.Struct):
    """A line that matches, with some text around the match."""

    run: str
    tag: str
    index: int
    mark: int
    step: int
    wall_time: float
    position: list[int]
    """The index of the string in an array; empty for a plain text."""
    line: int
    """Counted from 1."""
    before: str
    match: str
    after: str


class TextSearchResponse(msgspec.Struct):
    """Hits, newest first.

    If ``searched`` is less than ``texts``, repeat the request with ``skip`` set to ``searched``.
    """

    hits: list[TextHit]
    searched: int
    texts: int
    unreadable: int
    """Texts that were removed from the log or are damaged."""


class TextDiffRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Two texts to compare; with ``context`` only that many lines around changes are returned."""

    before: ValueRequest
    after: ValueRequest
    context: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = 3


# ---- reading

#: The size of the part of a table that is sent at once.
MAX_ROWS = 50
MAX_COLUMNS = 20
#: Characters of a string that is sent as it was logged.
_MAX_RAW_CHARS = 400_000
#: Characters of all cells of a table together.
_MAX_TABLE_CHARS = 1_000_000
_MIN_CELL_CHARS = 200
_CACHE_BYTES = 16 << 20

_MAX_SEARCH_S = 2.0
_MAX_HITS = 200
_MAX_LINES_PER_TEXT = 20
#: Characters on either side of a match.
_CONTEXT_CHARS = 60
_MAX_MATCH_CHARS = 200
#: Texts that are read at once.
_MAX_BATCH_TEXTS = 64
_MAX_BATCH_BYTES = 8 << 20

#: An array of `str`; it has no dimensions if it is a plain text.
TextArray = NDArray[np.object_]


class TextReader:
    """Read logged texts as arrays of strings."""

    def __init__(self, context: Context) -> None:
        self._reader = ValueReader(context, _CACHE_BYTES)

    def read(self, request: ValueRequest) -> TextArray:
        """Read a text.

        Raises:
            UsageError: The value is not a text.
        """
        value = self._reader.read(request)
        if not isinstance(value, Text):
            raise UsageError(
                "text.not_text", 'the values of "{tag}" are not texts', tag=request.tag
            )
        return value.array


def iter_strings(texts: TextArray) -> Iterator[tuple[list[int], str]]:
    """Yield all strings with their index in the array, which is empty for a plain text."""
    for position, text in np.ndenumerate(texts):
        yield list(position), text


def split_lines(texts: TextArray) -> list[str]:
    """Return the lines of a text; in an array, each string follows a line with its index."""
    if not texts.ndim:
        return str(texts[()]).splitlines()
    strings = iter_strings(texts)
    return [line for position, text in strings for line in (str(position), *text.splitlines())]


def create_text_file(texts: TextArray, request: RawTextRequest) -> Blob:
    """Return a plain text as it was logged, or an array as JSON."""
    content = msgspec.json.encode(texts.tolist()) if texts.ndim else str(texts[()]).encode()
    media_type = "application/json" if texts.ndim else "text/plain; charset=utf-8"
    suffix = "json" if texts.ndim else "md"
    name = f"{request.run}_{request.tag}_{request.index}.{suffix}".replace("/", "_")
    is_immutable = request.fingerprint is not None
    return Blob(content, media_type, name if request.download else None, is_immutable)


# ---- rendering


def render_texts(texts: TextArray, request: TextRequest) -> TextResponse:
    """Render a text, or the requested part of an array.

    Raises:
        UsageError: The array has no such table.
    """
    fixed = _parse_fixed(request.fixed, texts.shape[:-2])
    table = _as_table(texts[tuple(fixed)])
    rows = slice(request.row, request.row + MAX_ROWS)
    columns = slice(request.column, request.column + MAX_COLUMNS)
    part = table[rows, columns]
    return TextResponse(
        shape=list(texts.shape),
        characters=sum(map(len, texts.flat)),
        fixed=fixed,
        row=request.row,
        column=request.column,
        columns=part.shape[1],
        cells=_make_cells(part, is_raw=request.form == "raw"),
    )


def _as_table(texts: Any) -> TextArray:
    """Return an array of up to two dimensions as a table; a list is one column."""
    table = np.asarray(texts, object)
    return table.reshape(len(table), 1) if table.ndim == 1 else np.atleast_2d(table)


def _parse_fixed(fixed: str, shape: tuple[int, ...]) -> list[int]:
    """Parse an index into the leading dimensions; by default it is the first."""
    if fixed:
        parts = fixed.split(",")
        position = [int(part) if part.isdecimal() and len(part) < 10 else -1 for part in parts]
    else:
        position = [0] * len(shape)
    is_inside = all(0 <= i < size for i, size in zip(position, shape, strict=False))
    if len(position) != len(shape) or not is_inside:
        raise UsageError(
            "text.no_table",
            'there is no table "{fixed}" in an array of {shape} tables',
            fixed=fixed,
            shape=list(shape),
        )
    return position


def _make_cells(part: TextArray, *, is_raw: bool) -> list[TextCell]:
    deadline = start_deadline()
    cell_chars = max(_MIN_CELL_CHARS, _MAX_TABLE_CHARS // max(part.size, 1))
    max_chars = min(_MAX_RAW_CHARS, cell_chars)
    return [_make_cell(text, is_raw, max_chars, deadline) for text in part.flat]


def _make_cell(text: str, is_raw: bool, max_chars: int, deadline: Deadline) -> TextCell:
    rendered = None if is_raw else render_markdown(text, deadline)
    if rendered is not None and rendered.html is not None:
        return TextCell(rendered.html, None, [])
    notes = [rendered.note] if rendered and rendered.note else []
    if len(text) > max_chars:
        notes.append(
            Message.format(
                "text.truncated",
                "The first {shown:,} of {total:,} characters are shown. "
                "Download the text to see all.",
                shown=max_chars,
                total=len(text),
            )
        )
    return TextCell(None, text[:max_chars], [Sentence.make(note) for note in notes])


# ---- search


def search_texts(context: Context, request: TextSearchRequest) -> TextSearchResponse:
    """Search texts, newest first, until enough hits are found or the time is up.

    Raises:
        UsageError: The expression is invalid, or takes too long on a single text.
    """
    texts = SearchedTexts(context, request.tags, request.runs)
    response = TextSearchResponse([], request.skip, len(texts), 0)
    with closing(create_matcher(request, _MAX_SEARCH_S)) as matcher:
        for location, text in texts.iter_texts(request.skip):
            try:
                hits = _iter_hits(text.array, location, matcher) if text else ()
                response.hits += islice(hits, _MAX_HITS)
            except DeadlineExceededError:
                if response.searched == request.skip:
                    # The next request would get stuck at the same text.
                    raise UsageError(
                        "text.regex_too_slow",
                        'this expression takes too long on the text of "{tag}" at step '
                        "{step}; simplify it",
                        tag=location.series.tag,
                        step=location.step,
                    ) from None
                break
            response.unreadable += text is None
            response.searched += 1
            if len(response.hits) >= _MAX_HITS:
                break
    return response


def _iter_hits(texts: TextArray, location: TextLocation, matcher: Matcher) -> Iterator[TextHit]:
    series, index = location.series, location.index
    for position, text in iter_strings(texts):
        lines = None
        for number, start, stop in matcher.match(text):
            lines = lines or text.split("\n")
            line, stop = lines[number], min(stop, start + _MAX_MATCH_CHARS)
            yield TextHit(
                run=series.run,
                tag=series.tag,
                index=index,
                mark=location.mark,
                step=location.step,
                wall_time=float(np.nan_to_num(series.wall_time[index])),
                position=position,
                line=number + 1,
                before=line[max(0, start - _CONTEXT_CHARS) : start],
                match=line[start:stop],
                after=line[stop : stop + _CONTEXT_CHARS],
            )


class Matcher(Protocol):
    """Find matching lines in texts, within a limit on the total time."""

    def match(self, text: str) -> list[LineMatch]: ...

    def close(self) -> None: ...


def create_matcher(request: TextSearchRequest, limit_s: float) -> Matcher:
    flags = 0 if request.case_sensitive else re.IGNORECASE
    if request.regex:
        return RegexProcess(request.query, flags, limit_s, _MAX_LINES_PER_TEXT)
    return SubstringMatcher(request.query, flags, limit_s)


class SubstringMatcher:
    """Find a literal text. Unlike a regular expression, it needs no process of its own."""

    def __init__(self, query: str, flags: int, limit_s: float) -> None:
        self._pattern = re.compile(re.escape(query), flags)
        self._deadline = Deadline(limit_s)

    def match(self, text: str) -> list[LineMatch]:
        self._deadline.check()
        return match_lines_of_text(self._pattern, text, _MAX_LINES_PER_TEXT)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class TextLocation:
    """The location of a text in its series."""

    series: ValueLocations
    index: int

    @property
    def mark(self) -> int:
        return int(compute_fingerprints(self.series)[self.index])

    @property
    def step(self) -> int:
        return int(self.series.step[self.index])

    @property
    def size_bytes(self) -> int:
        return int(self.series.size[self.index])


class SearchedTexts:
    """All texts of some tags and runs, newest first, read in batches."""

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
        """Yield texts with their locations; None for those that cannot be read."""
        for batch in self._iter_batches(skip):
            yield from zip(batch, self._read_batch(batch), strict=True)

    def _iter_batches(self, skip: int) -> Iterator[list[TextLocation]]:
        batch: list[TextLocation] = []
        size_bytes = 0
        for number, index in zip(self._series_number[skip:], self._value_index[skip:], strict=True):
            location = TextLocation(self._series[number], int(index))
            batch.append(location)
            size_bytes += location.size_bytes
            if len(batch) == _MAX_BATCH_TEXTS or size_bytes > _MAX_BATCH_BYTES:
                yield batch
                batch, size_bytes = [], 0
        if batch:
            yield batch

    def _read_batch(self, batch: list[TextLocation]) -> list[Text | None]:
        """Read texts series by series, as values in the same file are read together."""
        texts: dict[int, Text | None] = {}
        for series in {id(location.series): location.series for location in batch}.values():
            numbers = [n for n, location in enumerate(batch) if location.series is series]
            values = self._read_series(series, [batch[n].index for n in numbers])
            texts.update(zip(numbers, values, strict=True))
        return [texts[n] for n in range(len(batch))]

    def _read_series(self, series: ValueLocations, indexes: list[int]) -> list[Text | None]:
        try:
            values = self._log.read_many(series, indexes)
        except TracklightError:
            if len(indexes) == 1:
                return [None]
            # One of them is damaged; read each to find out which one.
            return [text for index in indexes for text in self._read_series(series, [index])]
        return [_find_text(data, series) for data in values]


def _sort_newest_first(series: Sequence[ValueLocations]) -> tuple[Int32, Int64]:
    """Return the number of the series and the index of the value of each text."""
    kept = [np.flatnonzero(~item.overwritten) for item in series]
    if not kept:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    number = np.repeat(np.arange(len(series), dtype=np.int32), [len(rows) for rows in kept])
    step = np.concatenate([item.step[rows] for item, rows in zip(series, kept, strict=True)])
    wall = np.concatenate([item.wall_time[rows] for item, rows in zip(series, kept, strict=True)])
    order = np.lexsort((step, np.nan_to_num(wall)))[::-1]
    return number[order], np.concatenate(kept)[order]


def _find_text(data: bytes, series: ValueLocations) -> Text | None:
    """Decode a value; None if it is damaged or not a text."""
    try:
        value = decode_value(data, series.kind)
    except TracklightError:
        return None
    return value if isinstance(value, Text) else None


# ---- the dashboard


class TextDashboard(Dashboard):
    """Renders texts on the server, so that the page only gets safe HTML."""

    name = "text"
    title = "Text"
    plugins = ("text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._reader = TextReader(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("steps", StepsRequest, self.steps),
            Route("render", TextRequest, self.render, "GET", immutable=has_fingerprint),
            Route("raw", RawTextRequest, self.raw, "GET"),
            Route("search", TextSearchRequest, self.search),
            Route("diff", TextDiffRequest, self.diff),
        ]

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return export_values(self.context, self.plugins, runs, self._export_value)

    def steps(self, request: StepsRequest) -> StepsResponse:
        """Return the steps and times at which texts were logged."""
        return list_steps(self.context, request)

    def render(self, request: TextRequest) -> TextResponse:
        """Return a text as safe HTML or raw, or a part of an array as a table."""
        return render_texts(self._reader.read(request), request)

    def raw(self, request: RawTextRequest) -> Blob:
        """Return a raw text as a file; an array as JSON."""
        return create_text_file(self._reader.read(request), request)

    def search(self, request: TextSearchRequest) -> TextSearchResponse:
        """Search the texts of some tags and runs and return matching lines."""
        return search_texts(self.context, request)

    def diff(self, request: TextDiffRequest) -> TextDiffResponse:
        """Compare two texts line by line and mark the words that differ."""
        before = split_lines(self._reader.read(request.before))
        after = split_lines(self._reader.read(request.after))
        return diff_texts(before, after, request.context)

    def _export_value(self, request: ValueRequest) -> Iterator[tuple[str, object]]:
        """Yield the responses with which the page shows a text in both forms."""
        texts = self._reader.read(request)
        fields = request.run, request.tag, request.index, request.fingerprint
        for form in ("markdown", "raw"):
            response = render_texts(texts, TextRequest(*fields, form))
            yield value_path("render", request, form=form), response
        yield value_path("raw", request), create_text_file(texts, RawTextRequest(*fields))
