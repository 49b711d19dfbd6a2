"""Named slices of data files, which survive a restart of the server.

They are stored in a file beside the notes on the log, never in the log directory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import msgspec
import numpy as np

from tracklight.analysis.embeddings.loading import decode_row_bits
from tracklight.analysis.tables.table import DataTable
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import Message, UsageError
from tracklight.types import Bool
from tracklight.util.hashing import hash_key
from tracklight.util.json_file import JsonFile
from tracklight.util.user_dirs import get_notes_path

_MAX_SLICES = 100
#: Rows by which data are recognized, besides their number and the names of the columns.
_SAMPLE_ROWS = 20
_MAX_VALUE_LENGTH = 1000


class SavedSlice(msgspec.Struct, frozen=True):
    """The rows of a slice as a compressed bit set, and what the data were."""

    rows: bytes
    fingerprint: str


SlicesByName = dict[str, SavedSlice]
SlicesByPath = dict[str, SlicesByName]


class SliceStore:
    """The slices of all data files that were opened with a log, shared by its servers."""

    def __init__(self, roots: Iterable[str]) -> None:
        path = get_notes_path(roots).with_suffix(".what_if.json")
        self._file: JsonFile[SlicesByPath] = JsonFile(path, SlicesByPath, dict)

    def restore(self, path: str, workspace: Workspace) -> Message | None:
        """Add the slices of a file to a workspace that was just loaded from it.

        Slices of other rows are left out: the file has changed, or another part of it was read.

        Returns:
            A message about slices that were left out.
        """
        saved = self._file.read().get(path)
        if not saved:
            return None
        fingerprint = compute_fingerprint(workspace.original)
        count = len(workspace.original)
        left_out = []
        for name, found in saved.items():
            if found.fingerprint == fingerprint:
                bits = decode_row_bits(zlib.decompress(found.rows), count)
                workspace.save_slice(name, np.flatnonzero(bits).tolist())
            else:
                left_out.append(name)
        if not left_out:
            return None
        return Message.format(
            "what_if.slices_left_out",
            "saved slices of other rows of this file are not shown: {slices}",
            slices=", ".join(left_out),
        )

    def save(self, path: str, name: str, workspace: Workspace) -> None:
        """Save a slice of a workspace; one of the same name is replaced.

        Raises:
            SaveError: The file cannot be written.
            UsageError: There are too many slices.
        """
        # Rows that a user added are lost with the server.
        inside: Bool = workspace.table.get_column(name).values[: len(workspace.original)]
        bits = np.packbits(inside, bitorder="little").tobytes()
        saved = SavedSlice(zlib.compress(bits), compute_fingerprint(workspace.original))

        def add(before: SlicesByPath) -> SlicesByPath:
            slices = {**before.get(path, {}), name: saved}
            if len(slices) > _MAX_SLICES:
                raise UsageError(
                    "what_if.too_many_slices",
                    "there are already {limit} slices of this file; remove one first",
                    limit=_MAX_SLICES,
                )
            return {**before, path: slices}

        self._file.update(add)

    def remove(self, path: str, name: str) -> None:
        """Remove a slice.

        Raises:
            SaveError: The file cannot be written.
        """

        def leave_out(before: SlicesByPath) -> SlicesByPath:
            slices = {key: each for key, each in before.get(path, {}).items() if key != name}
            others = {key: each for key, each in before.items() if key != path}
            return {**others, path: slices} if slices else others

        self._file.update(leave_out)


def compute_fingerprint(table: DataTable) -> str:
    """Return a text that is the same for the same rows, however they are stored."""
    count = min(_SAMPLE_ROWS, len(table))
    rows = np.linspace(0, len(table) - 1, count).astype(np.int64).tolist()
    parts = [str(len(table))]
    for name, column in table.columns.items():
        values = (repr(column.get_value(row))[:_MAX_VALUE_LENGTH] for row in rows)
        parts += [name, column.type, *values]
    return hash_key(*parts)
