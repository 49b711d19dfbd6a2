"""What the page asks of the Text dashboard."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.media.reader import ValueAsk

Form = Literal["markdown", "raw"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class TextAsk(ValueAsk):
    """One text, laid out or as it was logged.

    Of an array, a part of a table: from ``row`` and ``column`` on, at the place ``fixed`` (numbers
    with commas in between) of the dimensions before the last two.
    """

    form: Form = "markdown"
    fixed: str = ""
    row: Count = 0
    column: Count = 0


class RawTextAsk(ValueAsk):
    """One text as a file."""

    download: bool = False


class TextSearchAsk(msgspec.Struct, forbid_unknown_fields=True):
    """Words, or with ``regex`` an expression, to be found in all texts of some tags and runs."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    tags: Annotated[list[str], msgspec.Meta(max_length=1000)]
    runs: list[str] | None = None
    regex: bool = False
    case: bool = False
    skip: Count = 0
    """Of the texts, newest first, so many were searched before."""


class TextDiffAsk(msgspec.Struct, forbid_unknown_fields=True):
    """Two texts to be compared; with ``context`` only so many lines around what differs."""

    before: ValueAsk
    after: ValueAsk
    context: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = 3
