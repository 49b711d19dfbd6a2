"""What the Text dashboard answers with."""

from __future__ import annotations

from typing import Literal

import msgspec


class TextCell(msgspec.Struct):
    """One string: safe HTML, or ``html`` null and the text as it was logged."""

    html: str | None
    text: str | None
    note: str | None
    """Why it is not laid out, or not all of it is here."""


class TextAnswer(msgspec.Struct):
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


class TextSearchAnswer(msgspec.Struct):
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


class TextDiffAnswer(msgspec.Struct):
    lines: list[TextDiffLine]
    added: int
    removed: int
    note: str | None
    """What was left out, if the texts are too long."""
