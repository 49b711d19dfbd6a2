"""User edits of embeddings: labels and saved views.

They are stored in a file beside the notes on the log, never in the log directory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec
import numpy as np

from tracklight.dashboards.projector.answers import SavedView
from tracklight.dashboards.projector.opened import Opened, read_bits
from tracklight.embeddings.columns import make_column
from tracklight.notes.json_file import JsonFile
from tracklight.notes.place import find_book


class Edit(msgspec.Struct):
    """A label for some rows of a column."""

    column: str
    text: str
    rows: bytes


class Kept(msgspec.Struct):
    """The edits of one embedding; ``revision`` grows with every edit."""

    revision: int = 0
    edits: list[Edit] = []
    views: list[SavedView] = []


Contents = dict[str, Kept]


class Drawer:
    """Edits and saved views of all embeddings of a log, shared by all servers of the log."""

    def __init__(self, roots: Iterable[str]) -> None:
        path = find_book(roots).with_suffix(".projector.json")
        self._file: JsonFile[Contents] = JsonFile(path, Contents, dict)

    @property
    def problem(self) -> str:
        """A sentence about a damaged file that was renamed, or empty."""
        return self._file.problem

    def get(self, embedding: str) -> Kept:
        return self._file.read().get(embedding) or Kept()

    def edit(self, embedding: str, edit: Edit) -> int:
        """Save an edit and return the new revision.

        Raises:
            NotKept: The file cannot be read or written.
        """

        def change(kept: Kept) -> Kept:
            edits = [it for it in map(lambda old: _without(old, edit), kept.edits) if any(it.rows)]
            return msgspec.structs.replace(kept, revision=kept.revision + 1, edits=[*edits, edit])

        return self._change(embedding, change).revision

    def save(self, embedding: str, name: str, state: str | None) -> list[SavedView]:
        """Save a view under a name, or delete it if ``state`` is None; return all views.

        Raises:
            NotKept: The file cannot be read or written.
        """

        def change(kept: Kept) -> Kept:
            views = [view for view in kept.views if view.name != name]
            if state is not None:
                views.append(SavedView(name, state))
            return msgspec.structs.replace(kept, views=views)

        return self._change(embedding, change).views

    def _change(self, embedding: str, change: Callable[[Kept], Kept]) -> Kept:
        def change_one(before: Contents) -> Contents:
            # After a damaged file, revisions must not repeat: caches have them in their keys.
            first = Kept(revision=int(time.time()) if self.problem else 0)
            return {**before, embedding: change(before.get(embedding) or first)}

        return self._file.change(change_one)[embedding]


def _without(old: Edit, new: Edit) -> Edit:
    """Return an edit without the rows that a newer edit of the same column covers."""
    if old.column != new.column:
        return old
    mask = new.rows.ljust(len(old.rows), b"\0")
    rows = bytes(mine & ~theirs & 0xFF for mine, theirs in zip(old.rows, mask, strict=False))
    return Edit(old.column, old.text, rows)


def apply_edits(opened: Opened, kept: Kept) -> Opened:
    """Return an embedding with edited labels; other rows of a new column are empty."""
    columns = {column.name: column for column in opened.columns}
    for name in dict.fromkeys(edit.column for edit in kept.edits):
        known = columns.get(name)
        cells = np.array(known.iter_texts() if known else [""] * opened.rows, object)
        for edit in kept.edits:
            if edit.column == name:
                cells[read_bits(edit.rows[: (opened.rows + 7) // 8], opened.rows)] = edit.text
        columns[name] = make_column(name, cells.tolist())
    return replace(opened, columns=list(columns.values()), revision=kept.revision)
