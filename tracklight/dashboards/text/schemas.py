"""What the page asks of the Text dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.media.values import ValueRequest

TextForm = Literal["markdown", "raw"]

Count = Annotated[int, msgspec.Meta(ge=0)]


class TextRequest(ValueRequest):
    """One text, laid out or as it was logged.

    Of an array, a part of a table: from ``row`` and ``column`` on, at the place ``fixed`` (numbers
    with commas in between) of the dimensions before the last two.
    """

    form: TextForm = "markdown"
    fixed: str = ""
    row: Count = 0
    column: Count = 0


class RawTextRequest(ValueRequest):
    """One text as a file."""

    download: bool = False


class TextSearchRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Words, or with ``regex`` an expression, to be found in all texts of some tags and runs."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    tags: Annotated[list[str], msgspec.Meta(max_length=1000)]
    runs: list[str] | None = None
    regex: bool = False
    case: bool = False
    skip: Count = 0
    """Of the texts, newest first, so many were searched before."""


class TextDiffRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Two texts to be compared; with ``context`` only so many lines around what differs."""

    before: ValueRequest
    after: ValueRequest
    context: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = 3


# What the Text dashboard answers with.


class TextCell(msgspec.Struct):
    """One string: safe HTML, or ``html`` null and the text as it was logged."""

    html: str | None
    text: str | None
    note: str | None
    """Why it is not laid out, or not all of it is here."""


class TextResponse(msgspec.Struct):
    """A text, or a part of an array of them as a table, row by row."""

    shape: list[int]
    characters: int
    """Of the whole value."""
    fixed: list[int]
    """Where the table stands in the dimensions before the last two."""
    row: int
    column: int
    columns: int
    """How many of them are in ``cells``."""
    cells: list[TextCell]


class TextHit(msgspec.Struct):
    """A line in which something was found, and as much around it as fits on one line."""

    run: str
    tag: str
    index: int
    mark: int
    step: int
    wall_time: float
    place: list[int]
    """Which string of an array; empty for a plain text."""
    line: int
    """Counted from 1."""
    before: str
    match: str
    after: str


class TextSearchResponse(msgspec.Struct):
    """Newest first. Ask again with ``skip`` of ``searched`` to go on, unless that was all."""

    hits: list[TextHit]
    searched: int
    texts: int
    unreadable: int
    """Texts that the log no longer has, or that are damaged."""


class TextDiffLine(msgspec.Struct):
    """A line of either text or of both; numbers count from 1.

    In ``parts`` the words that differ have odd places. A ``gap`` stands for ``lines`` lines that
    both texts have.
    """

    kind: Literal["same", "removed", "added", "gap"]
    before: int | None
    after: int | None
    parts: list[str]
    lines: int = 1


class TextDiffResponse(msgspec.Struct):
    lines: list[TextDiffLine]
    added: int
    removed: int
    note: str | None
    """What was left out, if the texts are too long."""
