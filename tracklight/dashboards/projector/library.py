"""The embeddings of a log as rows: under which id they go, and when they were written anew."""

from __future__ import annotations

import io
import posixpath
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from tracklight.analysis.embeddings.discovery import discover_embeddings
from tracklight.analysis.embeddings.loading import (
    Embedding,
    EmbeddingVersion,
    LoadedEmbedding,
    from_vectors,
    load_embedding,
    read_tensor_vectors,
    with_labels,
    with_sprite,
)
from tracklight.analysis.embeddings.projections.gpu import list_devices
from tracklight.analysis.embeddings.projector_files import Bookmark, read_bookmarks
from tracklight.dashboards.projector.edits import EditStore, apply_edits
from tracklight.dashboards.projector.schemas import (
    EmbeddingRequest,
    EmbeddingRow,
    EmbeddingsResponse,
    VersionRow,
)
from tracklight.errors import FormatError, LogError, RunNotFoundError
from tracklight.formats.checkpoints.registry import open_tensor_bytes
from tracklight.formats.checkpoints.tensor_file import TensorFile
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.discover import iter_ancestors
from tracklight.plugin import Context
from tracklight.types import TensorFileEntry
from tracklight.util.hashing import hash_key
from tracklight.util.lru_cache import LruCache


def assign_ids(embeddings: Iterable[Embedding]) -> Mapping[str, Embedding]:
    """Ids that stay the same for as long as runs and tensors keep their names."""
    seen: Counter[tuple[str, str]] = Counter()
    named = {}
    for item in embeddings:
        name = item.run, item.name
        # User edits are stored under these ids, so the hash must not change.
        named[hash_key(*name, str(seen[name]), size_bytes=9)] = item
        seen[name] += 1
    return named


def make_embedding_row(files: ConfinedFiles, key: str, item: Embedding) -> EmbeddingRow:
    last = item.versions[-1] if item.versions else None
    return EmbeddingRow(
        id=key,
        run=item.run,
        name=item.name,
        source="log",
        file=posixpath.basename(last.path) if last else "",
        has_labels=bool(last and last.metadata_path),
        has_sprite=bool(last and last.sprite_path),
        has_bookmarks=bool(item.bookmarks_path),
        problem=item.problem,
        versions=[
            VersionRow(
                index, version.step, compute_mark(files, version), *_flatten_shape(version.shape)
            )
            for index, version in enumerate(item.versions)
        ],
    )


def compute_mark(files: ConfinedFiles, version: EmbeddingVersion) -> str:
    """Another one whenever a file of a version was written anew."""
    path = f"{version.path}.index" if version.kind == "checkpoint" else version.path
    paths = path, version.metadata_path, version.sprite_path
    states = (f"{path} {_get_file_state(files, path)}" for path in paths)
    return hash_key(version.key, *states, size_bytes=9)


def _get_file_state(place: ConfinedFiles, path: str) -> str:
    try:
        return place.get_fingerprint(path) if path else ""
    except LogError:  # it leads out of the log, and will be refused when it is opened
        return ""


def _flatten_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    rows = shape[0] if shape else 0
    dimensions = 1 if len(shape) > 1 else 0
    for size in shape[1:]:
        dimensions *= size
    return rows, dimensions


# The embeddings of a log and those that were brought along, ready for the next ask.

_IDLE_S = 900.0

_MAX_CACHE_BYTES = 3 << 30

_MAX_EDITED = 4

_MAX_UPLOADS = 16

_NOT_FOUND_MESSAGE = (
    "the log no longer has this embedding, or it was written anew; load the page again"
)


@dataclass(frozen=True)
class EmbeddingRef:
    """An embedding at one of its steps, and the mark it has now."""

    id: str
    index: int
    step: int | None
    mark: str


class EmbeddingLibrary:
    """May be asked from any thread; an embedding is read by one of them."""

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
        self._uploads: OrderedDict[str, tuple[EmbeddingRow, LoadedEmbedding]] = OrderedDict()
        self._listed: tuple[Sequence[TensorFileEntry], Mapping[str, Embedding]] | None = None
        self._lock = threading.Lock()

    def list_rows(self) -> EmbeddingsResponse:
        cursor = self._context.cursor()
        with self._lock:
            uploads = [row for row, _ in self._uploads.values()]
        logged = [
            make_embedding_row(self.files, key, item) for key, item in self.list_logged().items()
        ]
        return EmbeddingsResponse(cursor, [*uploads, *logged], list_devices())

    def list_logged(self) -> Mapping[str, Embedding]:
        """Those of the log by their ids; looked for again only when files with tensors changed."""
        files = self._context.log.tensor_files()
        listed = self._listed
        if listed is None or listed[0] != files:
            found = assign_ids(discover_embeddings(self.files, self._context.log.roots))
            self._listed = listed = (files, found)
        return listed[1]

    def belongs_to(self, folder: str, runs: Container[str]) -> bool:
        """Whether a folder with embeddings is one of these runs, or part of one of them.

        Many programs write embeddings into a folder without an event file. If no folder above it
        is a run either, the embeddings belong to the log as a whole.
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

    def resolve(self, ask: EmbeddingRequest) -> EmbeddingRef:
        """What an ask means now; raises LogError where that is no longer there."""
        with self._lock:
            upload = self._uploads.get(ask.id)
        if upload is not None:
            return EmbeddingRef(ask.id, 0, None, upload[0].versions[0].mark)
        item = self._get_logged(ask.id)
        index = len(item.versions) - 1 if ask.index is None else ask.index
        if not 0 <= index < len(item.versions):
            raise LogError(item.problem or _NOT_FOUND_MESSAGE)
        mark = compute_mark(self.files, item.versions[index])
        if ask.mark not in (None, mark):
            raise LogError(_NOT_FOUND_MESSAGE)
        return EmbeddingRef(ask.id, index, item.versions[index].step, mark)

    def load(self, ref: EmbeddingRef) -> LoadedEmbedding:
        """Return the vectors of an embedding and its labels with the user's edits."""
        kept = self.edits.get(ref.id)
        opened = self._load_unedited(ref)
        if kept.edits:
            before, key = opened, f"{ref.mark} {kept.revision}"
            opened = self._edited.get_or_build(key, lambda: apply_edits(before, kept))
        if self.edits.problem:
            opened = replace(opened, problems=[*opened.problems, self.edits.problem])
        return opened

    def _load_unedited(self, ref: EmbeddingRef) -> LoadedEmbedding:
        """The same as it was written, read if it is not at hand."""
        with self._lock:
            upload = self._uploads.get(ref.id)
        if upload is not None:
            return upload[1]
        version = self._get_logged(ref.id).versions[ref.index]
        return self._loaded.get_or_build(
            ref.mark, lambda: load_embedding(self.files, version), lambda it: it.size_bytes
        )

    def get_name(self, ref: EmbeddingRef) -> str:
        with self._lock:
            upload = self._uploads.get(ref.id)
        if upload is not None:
            return upload[0].name
        item = self._get_logged(ref.id)
        return item.name if item.run in ("", ".") else f"{item.run}-{item.name}"

    def read_bookmarks(self, ref: EmbeddingRef) -> list[Bookmark]:
        """The views that were saved beside an embedding."""
        item = self.list_logged().get(ref.id)  # none for what was brought along
        path = item.bookmarks_path if item else ""
        if not path:
            return []
        rows, dimensions = self.load(ref).vectors.values.shape
        with self.files.open(path) as file:
            return read_bookmarks(file, (rows, dimensions))

    def add(self, name: str, data: bytes) -> EmbeddingRow:
        """Keep what somebody brings along, until others have come; the largest is given."""
        tensors = open_tensor_bytes(data, name)
        tables = [
            info
            for info in tensors.list_tensors()
            if not info.is_optimizer_state and len(info.shape) > 1
        ]
        if not tables:
            raise FormatError(f'"{name}" holds no table of numbers, the rows of which are vectors')
        tables.sort(key=lambda info: info.shape[0])
        return [self._add_table(name, tensors, info.key, info.name) for info in tables][-1]

    def add_labels(self, embedding: str, data: bytes) -> EmbeddingRow:
        """Labels for an embedding that was brought along, in the place of those it has."""
        return self._replace_upload(embedding, lambda it: with_labels(it, lambda: io.BytesIO(data)))

    def add_sprite(self, embedding: str, data: bytes) -> EmbeddingRow:
        return self._replace_upload(embedding, lambda it: with_sprite(it, lambda: io.BytesIO(data)))

    def _add_table(self, file: str, tensors: TensorFile, key: str, name: str) -> EmbeddingRow:
        opened = from_vectors(read_tensor_vectors(tensors, key))
        row = EmbeddingRow(
            id=f"upload-{secrets.token_hex(8)}",
            run="",
            name=name,
            source="upload",
            file=file,
            has_labels=False,
            has_sprite=False,
            has_bookmarks=False,
            problem="",
            versions=[],
        )
        return self._store_upload(row, opened)

    def _replace_upload(
        self, embedding: str, change: Callable[[LoadedEmbedding], LoadedEmbedding]
    ) -> EmbeddingRow:
        with self._lock:
            upload = self._uploads.get(embedding)
        if upload is None:
            raise LogError("only what was brought along can be given other labels or pictures")
        row, before = upload
        # What did not fit about earlier labels is no longer so.
        before = replace(before, problems=before.vectors.problems)
        opened = change(before)
        if len(opened.problems) > len(before.problems) and opened.columns is before.columns:
            raise FormatError(opened.problems[-1])
        return self._store_upload(row, opened)

    def _store_upload(self, row: EmbeddingRow, opened: LoadedEmbedding) -> EmbeddingRow:
        rows, dimensions = opened.vectors.values.shape
        row = msgspec.structs.replace(
            row,
            has_labels=bool(opened.columns),
            has_sprite=opened.sprite is not None,
            versions=[VersionRow(0, None, secrets.token_hex(8), rows, dimensions)],
        )
        with self._lock:
            self._uploads[row.id] = (row, opened)
            while len(self._uploads) > _MAX_UPLOADS:
                self._uploads.popitem(last=False)
        return row

    def _get_logged(self, embedding: str) -> Embedding:
        item = self.list_logged().get(embedding)
        if item is None:
            raise LogError(_NOT_FOUND_MESSAGE)
        return item
