"""A logged text as the page shows it: one string, or a part of an array as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.dashboards.text.answers import TextAnswer, TextCell
from tracklight.dashboards.text.asks import TextAsk
from tracklight.errors import UsageError
from tracklight.media.markdown import render_markdown, start_clock
from tracklight.media.markdown.deadline import Deadline

#: A table comes in parts of so many rows and columns.
MOST_ROWS = 50
MOST_COLUMNS = 20
#: Of a string that is shown as it was logged, a browser gets so much.
_MOST_RAW = 400_000
#: All cells of a table together.
_MOST_TABLE = 1_000_000

Texts = NDArray[np.object_]


def lay_out(texts: Texts, ask: TextAsk) -> TextAnswer:
    """What was asked for of an array of any rank; of more than two dimensions one table."""
    fixed = _parse_fixed(ask.fixed, texts.shape[:-2])
    table = _as_table(texts[tuple(fixed)])
    part = table[ask.row : ask.row + MOST_ROWS, ask.column : ask.column + MOST_COLUMNS]
    return TextAnswer(
        shape=list(texts.shape),
        characters=sum(map(len, texts.flat)),
        fixed=fixed,
        row=ask.row,
        column=ask.column,
        columns=part.shape[1],
        cells=_make_cells(part, ask),
    )


def _as_table(texts: Any) -> Texts:
    """At most two dimensions as two: a list is one column, as everybody shows it."""
    table = np.asarray(texts, object)
    return table.reshape(len(table), 1) if table.ndim == 1 else np.atleast_2d(table)


def _parse_fixed(fixed: str, dimensions: tuple[int, ...]) -> list[int]:
    """A place in some dimensions; the first where none is named."""
    if not fixed:
        return [0] * len(dimensions) if all(dimensions) else _refuse(dimensions)
    place = [int(part) if part.isdecimal() and len(part) < 10 else -1 for part in fixed.split(",")]
    inside = [0 <= at < size for at, size in zip(place, dimensions, strict=False)]
    return place if len(place) == len(dimensions) and all(inside) else _refuse(dimensions)


def _refuse(dimensions: tuple[int, ...]) -> list[int]:
    raise UsageError(f"there is no such table in an array of {list(dimensions)} tables")


def _make_cells(part: Texts, ask: TextAsk) -> list[TextCell]:
    deadline = start_clock()
    most = min(_MOST_RAW, max(200, _MOST_TABLE // max(part.size, 1)))
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
