"""Which points of two embeddings are the same."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.projector.opened import Opened
from tracklight.types import Int32

#: Stands for the column by which rows of two embeddings are best matched.
WHAT_SUITS = ""


def match_rows(mine: Opened, others: Opened, column: str | None) -> Int32:
    """For each of my rows the one of the others, -1 for none.

    Rows are the same where a column of both has the same text, of which the first counts; without
    a column, where they have the same number.
    """
    if column is None:
        rows = np.arange(mine.rows, dtype=np.int32)
        return np.where(rows < others.rows, rows, -1).astype(np.int32)
    here, there = mine.get_column(column), others.get_column(column)
    firsts: dict[str, int] = {}
    for row, text in enumerate(there.iter_texts()):
        firsts.setdefault(text, row)
    found = np.array([firsts.get(text, -1) if text else -1 for text in here.values], np.int32)
    return found[here.get_codes()]


def choose_column(mine: Opened, others: Opened, wanted: str | None) -> str | None:
    """The column that is wanted. If that is left open, none where both have as many rows, else
    the first that both have."""
    if wanted != WHAT_SUITS or mine.rows == others.rows:
        return wanted or None
    names = {column.name for column in others.columns}
    return next((column.name for column in mine.columns if column.name in names), None)
