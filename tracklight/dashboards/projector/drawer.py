"""What somebody said of embeddings: labels that were edited, and views under a name.

It stands in a file beside the notes on the log and never in the log itself.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from tracklight.dashboards.projector.answers import SavedView
from tracklight.dashboards.projector.opened import Opened, read_bits
from tracklight.embeddings.columns import make_column
from tracklight.errors import LogError
from tracklight.notes.lock import hold
from tracklight.notes.place import find_book


class Edit(msgspec.Struct):
    """A text that some rows have in a column."""

    column: str
    text: str
    rows: bytes


class Kept(msgspec.Struct):
    """All that is kept of one embedding; ``revision`` grows with every edit."""

    revision: int = 0
    edits: list[Edit] = []
    views: list[SavedView] = []


Contents = dict[str, Kept]


class Drawer:
    """The file, which other servers may change as well."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._path = find_book(roots).with_suffix(".projector.json")
        self._read: tuple[int, Contents] | None = None
        self._lock = threading.Lock()

    def get(self, embedding: str) -> Kept:
        return self._load().get(embedding) or Kept()

    def edit(self, embedding: str, edit: Edit) -> int:
        """Keep an edit, and give the revision that it makes."""

        def change(kept: Kept) -> Kept:
            edits = [it for it in map(lambda old: _without(old, edit), kept.edits) if any(it.rows)]
            return msgspec.structs.replace(kept, revision=kept.revision + 1, edits=[*edits, edit])

        return self._change(embedding, change).revision

    def save(self, embedding: str, name: str, state: str | None) -> list[SavedView]:
        """Keep a view under a name, or forget it; gives all views that there are then."""

        def change(kept: Kept) -> Kept:
            views = [view for view in kept.views if view.name != name]
            if state is not None:
                views.append(SavedView(name, state))
            return msgspec.structs.replace(kept, views=views)

        return self._change(embedding, change).views

    def _change(self, embedding: str, change: Callable[[Kept], Kept]) -> Kept:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, hold(self._path.with_suffix(".lock")):
                contents = self._read_file()
                contents[embedding] = changed = change(contents.get(embedding) or Kept())
                _replace(self._path, msgspec.json.encode(contents))
                self._read = None
        except OSError as error:
            raise LogError(f"this cannot be kept: {error.strerror or error}") from None
        return changed

    def _load(self) -> Contents:
        """What the file says, read again only where it was written."""
        try:
            state = self._path.stat().st_mtime_ns
        except OSError:
            return {}
        read = self._read
        if read is None or read[0] != state:
            self._read = read = (state, self._read_file())
        return read[1]

    def _read_file(self) -> Contents:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(self._path.read_bytes(), type=Contents)
        return {}


def _replace(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)


def _without(old: Edit, new: Edit) -> Edit:
    """What is left of an edit after another one of the same column."""
    if old.column != new.column:
        return old
    mask = new.rows.ljust(len(old.rows), b"\0")
    rows = bytes(mine & ~theirs & 0xFF for mine, theirs in zip(old.rows, mask, strict=False))
    return Edit(old.column, old.text, rows)


def apply_edits(opened: Opened, kept: Kept) -> Opened:
    """An embedding with its labels as they were edited; a new column is empty elsewhere."""
    columns = {column.name: column for column in opened.columns}
    for name in dict.fromkeys(edit.column for edit in kept.edits):
        known = columns.get(name)
        cells = np.array(known.iter_texts() if known else [""] * opened.rows, object)
        for edit in kept.edits:
            if edit.column == name:
                cells[read_bits(edit.rows[: (opened.rows + 7) // 8], opened.rows)] = edit.text
        columns[name] = make_column(name, cells.tolist())
    return replace(opened, columns=list(columns.values()), revision=kept.revision)
