"""The embeddings that the dashboard can show: those of the log, and uploads.

`EmbeddingLibrary` lists them, resolves requests to a version of an embedding, and loads embeddings
through a cache, with the labels edited by the user. Edited labels and saved views are stored in a
file beside the notes on the log, never in the log directory.
"""

from __future__ import annotations

import io
import math
import posixpath
import secrets
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from tracklight.analysis.embeddings import (
    Embedding,
    EmbeddingVersion,
    LoadedEmbedding,
    decode_row_bits,
    from_vectors,
    load_embedding,
    read_tensor_vectors,
    with_labels,
    with_sprite,
)
from tracklight.analysis.embeddings.discovery import Bookmark, discover_embeddings, read_bookmarks
from tracklight.analysis.embeddings.metadata import make_label_column
from tracklight.analysis.embeddings.projections.gpu import list_devices
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.schemas import (
    EmbeddingRequest,
    EmbeddingRow,
    EmbeddingsResponse,
    SavedView,
    VersionRow,
)
from tracklight.errors import FormatError, LogError, Message, RunNotFoundError
from tracklight.formats.checkpoints import open_tensor_bytes
from tracklight.formats.checkpoints.tensor_file import TensorFile
from tracklight.logdir.access import ConfinedFiles
from tracklight.logdir.discover import iter_ancestors
from tracklight.plugin import Context
from tracklight.types import TensorFileEntry
from tracklight.util.files import JsonFile, get_notes_path, hash_key
from tracklight.util.memory import LruCache, UploadStore, make_upload_id

# ---- edits by users


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


# ---- the library

_IDLE_S = 900.0
_MAX_CACHE_BYTES = 3 << 30
_MAX_EDITED = 4
_MAX_UPLOADS = 16
_NOT_FOUND_MESSAGE = Message(
    "projector.not_found",
    "the log no longer has this embedding, or it has changed; reload the page",
)


@dataclass(frozen=True)
class EmbeddingRef:
    """A version of an embedding, with its current mark."""

    id: str
    index: int
    step: int | None
    mark: str


class EmbeddingLibrary:
    """The embeddings of a log and uploaded ones. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.files = ConfinedFiles([root.path for root in context.log.roots])
        self._loaded: LruCache[str, LoadedEmbedding] = LruCache(
            max_bytes=_MAX_CACHE_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._edited: LruCache[str, LoadedEmbedding] = LruCache(
            max_items=_MAX_EDITED, idle_s=_IDLE_S
        )
        self.edits = EditStore(root.path for root in context.log.roots)
        self._uploads: UploadStore[tuple[EmbeddingRow, LoadedEmbedding]] = UploadStore(
            max_items=_MAX_UPLOADS
        )
        self._listed: tuple[Sequence[TensorFileEntry], Mapping[str, Embedding]] | None = None

    # ---- Listing

    def list_rows(self) -> EmbeddingsResponse:
        """Return all embeddings, uploads first."""
        cursor = self._context.cursor()
        uploads = [row for row, _ in self._uploads.list_values()]
        logged = [
            make_embedding_row(self.files, key, embedding)
            for key, embedding in self.list_logged().items()
        ]
        return EmbeddingsResponse(cursor, [*uploads, *logged], list_devices())

    def list_logged(self) -> Mapping[str, Embedding]:
        """Return the embeddings of the log by id; rescans only if tensor files have changed."""
        entries = self._context.log.tensor_files()
        listed = self._listed
        if listed is None or listed[0] != entries:
            found = assign_ids(discover_embeddings(self.files, self._context.log.roots))
            self._listed = listed = (entries, found)
        return listed[1]

    def belongs_to(self, folder: str, runs: Container[str]) -> bool:
        """Return whether a directory with embeddings is, or is part of, one of these runs.

        Many programs write embeddings to a directory without an event file. If no directory above
        it is a run either, the embeddings belong to the log as a whole.
        """
        for name in iter_ancestors(folder):
            if self._is_run(name):
                return name in runs
        return True

    def _is_run(self, name: str) -> bool:
        try:
            self._context.log.tags(name)
        except RunNotFoundError:
            return False
        return True

    # ---- Loading

    def resolve(self, request: EmbeddingRequest) -> EmbeddingRef:
        """Return the version of an embedding that a request refers to.

        Raises:
            LogError: The embedding does not exist any more, or its files have changed.
        """
        upload = self._uploads.find(request.id)
        if upload is not None:
            return EmbeddingRef(request.id, 0, None, upload[0].versions[0].mark)
        embedding = self._get_logged(request.id)
        index = len(embedding.versions) - 1 if request.index is None else request.index
        if not 0 <= index < len(embedding.versions):
            raise LogError(embedding.problem or _NOT_FOUND_MESSAGE)
        mark = compute_mark(self.files, embedding.versions[index])
        if request.mark not in (None, mark):
            raise LogError(_NOT_FOUND_MESSAGE)
        return EmbeddingRef(request.id, index, embedding.versions[index].step, mark)

    def load(self, ref: EmbeddingRef) -> LoadedEmbedding:
        """Return the vectors of an embedding, and its labels with the user's edits."""
        edits = self.edits.get(ref.id)
        unedited = embedding = self._load_unedited(ref)
        if edits.edits:
            key = f"{ref.mark} {edits.revision}"
            embedding = self._edited.get_or_build(key, lambda: apply_edits(unedited, edits))
        if self.edits.problem:
            embedding = replace(embedding, problems=[*embedding.problems, self.edits.problem])
        return embedding

    def _load_unedited(self, ref: EmbeddingRef) -> LoadedEmbedding:
        upload = self._uploads.find(ref.id)
        if upload is not None:
            return upload[1]
        version = self._get_logged(ref.id).versions[ref.index]
        return self._loaded.get_or_build(
            ref.mark,
            lambda: load_embedding(self.files, version),
            lambda embedding: embedding.size_bytes,
        )

    def get_name(self, ref: EmbeddingRef) -> str:
        """Return the name of an embedding with its run, for file names."""
        upload = self._uploads.find(ref.id)
        if upload is not None:
            return upload[0].name
        embedding = self._get_logged(ref.id)
        has_run = embedding.run not in ("", ".")
        return f"{embedding.run}-{embedding.name}" if has_run else embedding.name

    def read_bookmarks(self, ref: EmbeddingRef) -> tuple[list[Bookmark], list[Message]]:
        """Return the bookmarks that TensorBoard saved beside an embedding, and notes on them."""
        embedding = self.list_logged().get(ref.id)  # None for uploads
        path = embedding.bookmarks_path if embedding else ""
        if not path:
            return [], []
        rows, dimensions = self.load(ref).vectors.values.shape
        with self.files.open(path) as file:
            return read_bookmarks(file, (rows, dimensions))

    def _get_logged(self, embedding_id: str) -> Embedding:
        embedding = self.list_logged().get(embedding_id)
        if embedding is None:
            raise LogError(_NOT_FOUND_MESSAGE)
        return embedding

    # ---- Uploads

    def add(self, name: str, data: bytes) -> EmbeddingRow:
        """Add all matrices of a tensor file, and return the one with the most rows.

        Uploads are kept in memory; the oldest are dropped when there are too many.

        Raises:
            FormatError: The file cannot be read, or has no matrix.
        """
        tensors = open_tensor_bytes(data, name)
        matrices = [
            info
            for info in tensors.list_tensors()
            if not info.is_optimizer_state and len(info.shape) > 1
        ]
        if not matrices:
            raise FormatError(
                "projector.no_matrix",
                '"{name}" has no matrix whose rows could be vectors',
                name=name,
            )
        matrices.sort(key=lambda info: info.shape[0])
        return [self._add_matrix(name, tensors, info.key, info.name) for info in matrices][-1]

    def add_labels(self, embedding_id: str, data: bytes) -> EmbeddingRow:
        """Replace the labels of an uploaded embedding."""
        return self._replace_upload(
            embedding_id, lambda embedding: with_labels(embedding, lambda: io.BytesIO(data))
        )

    def add_sprite(self, embedding_id: str, data: bytes) -> EmbeddingRow:
        """Replace the sprite image of an uploaded embedding."""
        return self._replace_upload(
            embedding_id, lambda embedding: with_sprite(embedding, lambda: io.BytesIO(data))
        )

    def _add_matrix(self, file: str, tensors: TensorFile, key: str, name: str) -> EmbeddingRow:
        embedding = from_vectors(read_tensor_vectors(tensors, key))
        row = EmbeddingRow(
            id=make_upload_id(),
            run="",
            name=name,
            source="upload",
            file=file,
            has_labels=False,
            has_sprite=False,
            has_bookmarks=False,
            problem=None,
            versions=[],
        )
        return self._store_upload(row, embedding)

    def _replace_upload(
        self, embedding_id: str, change: Callable[[LoadedEmbedding], LoadedEmbedding]
    ) -> EmbeddingRow:
        upload = self._uploads.find(embedding_id)
        if upload is None:
            raise LogError(
                "projector.not_uploaded",
                "only uploaded embeddings can be given other labels or images",
            )
        row, before = upload
        # Problems of earlier labels do not apply any more.
        before = replace(before, problems=before.vectors.problems)
        after = change(before)
        if len(after.problems) > len(before.problems) and after.columns is before.columns:
            raise FormatError(after.problems[-1])
        return self._store_upload(row, after)

    def _store_upload(self, row: EmbeddingRow, embedding: LoadedEmbedding) -> EmbeddingRow:
        rows, dimensions = embedding.vectors.values.shape
        row = msgspec.structs.replace(
            row,
            has_labels=bool(embedding.columns),
            has_sprite=embedding.sprite is not None,
            versions=[VersionRow(0, None, secrets.token_hex(8), rows, dimensions)],
        )
        self._uploads.put(row.id, (row, embedding))
        return row


def assign_ids(embeddings: Iterable[Embedding]) -> Mapping[str, Embedding]:
    """Return embeddings by ids that do not change while runs and tensors keep their names."""
    seen: Counter[tuple[str, str]] = Counter()
    by_id = {}
    for embedding in embeddings:
        name = embedding.run, embedding.name
        # User edits are stored under these ids, so the hash must not change.
        by_id[hash_key(*name, str(seen[name]), size_bytes=9)] = embedding
        seen[name] += 1
    return by_id


def make_embedding_row(
    files: ConfinedFiles, embedding_id: str, embedding: Embedding
) -> EmbeddingRow:
    """Return an embedding of the log as an entry of the list."""
    last = embedding.versions[-1] if embedding.versions else None
    return EmbeddingRow(
        id=embedding_id,
        run=embedding.run,
        name=embedding.name,
        source="log",
        file=posixpath.basename(last.path) if last else "",
        has_labels=bool(last and last.metadata_path),
        has_sprite=bool(last and last.sprite_path),
        has_bookmarks=bool(embedding.bookmarks_path),
        problem=Sentence.make(embedding.problem) if embedding.problem else None,
        versions=[
            VersionRow(
                index, version.step, compute_mark(files, version), *_flatten_shape(version.shape)
            )
            for index, version in enumerate(embedding.versions)
        ],
    )


def compute_mark(files: ConfinedFiles, version: EmbeddingVersion) -> str:
    """Return a fingerprint of the files of a version, which changes when one is written."""
    path = f"{version.path}.index" if version.kind == "checkpoint" else version.path
    paths = path, version.metadata_path, version.sprite_path
    states = (f"{path} {_get_file_state(files, path)}" for path in paths)
    return hash_key(version.key, *states, size_bytes=9)


def _get_file_state(files: ConfinedFiles, path: str) -> str:
    try:
        return files.get_fingerprint(path) if path else ""
    except LogError:  # outside of the log directory; reading it is rejected later
        return ""


def _flatten_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the number of rows, and the product of all other dimensions; 0 if unknown."""
    rows = shape[0] if shape else 0
    dimensions = math.prod(shape[1:]) if len(shape) > 1 else 0
    return rows, dimensions
