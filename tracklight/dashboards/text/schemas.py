"""Requests and responses of the Text dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.media import ValueRequest
from tracklight.analysis.source import Sentence

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


class TextDiffLine(msgspec.Struct):
    """A line of one or both texts; line numbers count from 1.

    In ``parts`` the words at odd indexes differ. A ``gap`` represents ``lines`` lines that both
    texts have.
    """

    kind: Literal["same", "removed", "added", "gap"]
    before: int | None
    after: int | None
    parts: list[str]
    lines: int = 1


class TextDiffResponse(msgspec.Struct):
    """The lines of both texts, and how many were added and removed."""

    lines: list[TextDiffLine]
    added: int
    removed: int
    notes: list[Sentence]
    """What was left out, if the texts are too long."""
