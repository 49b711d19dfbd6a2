"""User edits of embeddings: labels and saved views.

They are stored in a file beside the notes on the log, never in the log directory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import msgspec
import numpy as np

from tracklight.analysis.embeddings.loading import LoadedEmbedding, decode_row_bits
from tracklight.analysis.embeddings.metadata import make_label_column
from tracklight.dashboards.projector.schemas import SavedView
from tracklight.errors import Message
from tracklight.util.json_file import JsonFile
from tracklight.util.user_dirs import get_notes_path


class LabelEdit(msgspec.Struct):
    """A label for some rows of a column. ``rows`` is a bit set."""

    column: str
    text: str
    rows: bytes


class EmbeddingEdits(msgspec.Struct):
    """The edits of one embedding; ``revision`` increases with every edit."""

    revision: int = 0
    edits: list[LabelEdit] = []
    views: list[SavedView] = []


EditsByEmbedding = dict[str, EmbeddingEdits]


class EditStore:
    """Edits and saved views of all embeddings of a log, shared by all servers of the log."""

    def __init__(self, roots: Iterable[str]) -> None:
        path = get_notes_path(roots).with_suffix(".projector.json")
        self._file: JsonFile[EditsByEmbedding] = JsonFile(path, EditsByEmbedding, dict)

    @property
    def problem(self) -> Message | None:
        """A message about a damaged file that was renamed."""
        return self._file.problem

    def get(self, embedding: str) -> EmbeddingEdits:
        """Return the edits of an embedding by its id."""
        return self._file.read().get(embedding) or EmbeddingEdits()

    def add_edit(self, embedding: str, edit: LabelEdit) -> int:
        """Save an edit and return the new revision.

        Raises:
            SaveError: The file cannot be read or written.
        """

        def add(before: EmbeddingEdits) -> EmbeddingEdits:
            older = (_subtract_rows(old, edit) for old in before.edits)
            edits = [*(old for old in older if any(old.rows)), edit]
            return msgspec.structs.replace(before, revision=before.revision + 1, edits=edits)

        return self._update(embedding, add).revision

    def save_view(self, embedding: str, name: str, state: str | None) -> list[SavedView]:
        """Save a view under a name, or delete it if ``state`` is None; return all views.

        Raises:
            SaveError: The file cannot be read or written.
        """

        def save(before: EmbeddingEdits) -> EmbeddingEdits:
            views = [view for view in before.views if view.name != name]
            if state is not None:
                views.append(SavedView(name, state))
            return msgspec.structs.replace(before, views=views)

        return self._update(embedding, save).views

    def _update(
        self, embedding: str, change: Callable[[EmbeddingEdits], EmbeddingEdits]
    ) -> EmbeddingEdits:
        def change_one(before: EditsByEmbedding) -> EditsByEmbedding:
            # After a damaged file, revisions must not repeat: caches have them in their keys.
            first = EmbeddingEdits(revision=int(time.time()) if self.problem else 0)
            return {**before, embedding: change(before.get(embedding) or first)}

        return self._file.update(change_one)[embedding]


def _subtract_rows(old: LabelEdit, new: LabelEdit) -> LabelEdit:
    """Return an edit without the rows that a newer edit of the same column covers."""
    if old.column != new.column:
        return old
    covered = new.rows.ljust(len(old.rows), b"\0")
    rows = bytes(
        old_bits & ~new_bits & 0xFF for old_bits, new_bits in zip(old.rows, covered, strict=False)
    )
    return LabelEdit(old.column, old.text, rows)


def apply_edits(embedding: LoadedEmbedding, edits: EmbeddingEdits) -> LoadedEmbedding:
    """Return the embedding with edited labels; other rows of a new column are empty."""
    count = embedding.row_count
    columns = {column.name: column for column in embedding.columns}
    for name in dict.fromkeys(edit.column for edit in edits.edits):
        column = columns.get(name)
        cells = np.array(column.get_texts() if column else [""] * count, object)
        for edit in edits.edits:
            if edit.column == name:
                # The embedding may have fewer rows than when it was edited.
                cells[decode_row_bits(edit.rows[: (count + 7) // 8], count)] = edit.text
        columns[name] = make_label_column(name, cells.tolist())
    return replace(embedding, columns=list(columns.values()), revision=edits.revision)
