"""The embeddings of a log and those that were brought along, ready for the next ask."""

from __future__ import annotations

import io
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from tracklight.dashboards.projector.answers import EmbeddingRow, EmbeddingsAnswer, VersionRow
from tracklight.dashboards.projector.asks import EmbeddingAsk
from tracklight.dashboards.projector.drawer import Drawer, apply_edits
from tracklight.dashboards.projector.listing import find_mark, make_row, name_embeddings
from tracklight.dashboards.projector.opened import (
    Opened,
    open_version,
    with_labels,
    with_sprite,
    with_vectors,
)
from tracklight.embeddings.bookmarks import Bookmark, read_bookmarks
from tracklight.embeddings.find import find_embeddings
from tracklight.embeddings.model import Embedding
from tracklight.embeddings.vectors import take_vectors
from tracklight.errors import FormatError, LogError, UnknownRun
from tracklight.logdir.discover import iter_upwards
from tracklight.plugin import Context
from tracklight.projections.devices import list_devices
from tracklight.tensorfiles.model import TensorFile
from tracklight.tensorfiles.opening import read_dropped
from tracklight.tensorfiles.place import Place
from tracklight.types import SavedFile
from tracklight.util.lru_cache import LruCache

_IDLE_S = 900.0
_KEPT_BYTES = 3 << 30
_MOST_EDITED = 4
_MOST_UPLOADS = 16
_GONE = "the log no longer has this embedding, or it was written anew; load the page again"


@dataclass(frozen=True)
class Found:
    """An embedding at one of its steps, and the mark it has now."""

    id: str
    index: int
    step: int | None
    mark: str


class Library:
    """May be asked from any thread; an embedding is read by one of them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.place = Place([root.path for root in context.log.roots])
        self._opened: LruCache[str, Opened] = LruCache(
            max_bytes=_KEPT_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._edited: LruCache[str, Opened] = LruCache(max_items=_MOST_EDITED, idle_s=_IDLE_S)
        self.drawer = Drawer(root.path for root in context.log.roots)
        self._uploads: OrderedDict[str, tuple[EmbeddingRow, Opened]] = OrderedDict()
        self._listed: tuple[Sequence[SavedFile], Mapping[str, Embedding]] | None = None
        self._lock = threading.Lock()

    def list_rows(self) -> EmbeddingsAnswer:
        cursor = self._context.cursor()
        with self._lock:
            uploads = [row for row, _ in self._uploads.values()]
        logged = [make_row(self.place, key, item) for key, item in self.list_logged().items()]
        return EmbeddingsAnswer(cursor, [*uploads, *logged], list_devices())

    def list_logged(self) -> Mapping[str, Embedding]:
        """Those of the log by their ids; looked for again only when files with tensors changed."""
        files = self._context.log.tensor_files()
        listed = self._listed
        if listed is None or listed[0] != files:
            found = name_embeddings(find_embeddings(self.place, self._context.log.roots))
            self._listed = listed = (files, found)
        return listed[1]

    def belongs_to(self, folder: str, runs: Container[str]) -> bool:
        """Whether a folder with embeddings is one of these runs, or part of one of them.

        Many programs write embeddings into a folder without an event file. If no folder above it
        is a run either, the embeddings belong to the log as a whole.
        """
        for name in iter_upwards(folder):
            if self._is_run(name):
                return name in runs
        return True

    def _is_run(self, name: str) -> bool:
        try:
            self._context.log.tags(name)
        except UnknownRun:
            return False
        return True

    def find(self, ask: EmbeddingAsk) -> Found:
        """What an ask means now; raises LogError where that is no longer there."""
        with self._lock:
            upload = self._uploads.get(ask.id)
        if upload is not None:
            return Found(ask.id, 0, None, upload[0].versions[0].mark)
        item = self._get_logged(ask.id)
        index = len(item.versions) - 1 if ask.index is None else ask.index
        if not 0 <= index < len(item.versions):
            raise LogError(item.problem or _GONE)
        mark = find_mark(self.place, item.versions[index])
        if ask.mark not in (None, mark):
            raise LogError(_GONE)
        return Found(ask.id, index, item.versions[index].step, mark)

    def open(self, found: Found) -> Opened:
        """Return the vectors of an embedding and its labels with the user's edits."""
        kept = self.drawer.get(found.id)
        opened = self._open(found)
        if kept.edits:
            before, key = opened, f"{found.mark} {kept.revision}"
            opened = self._edited.get_or_build(key, lambda: apply_edits(before, kept))
        if self.drawer.problem:
            opened = replace(opened, problems=[*opened.problems, self.drawer.problem])
        return opened

    def _open(self, found: Found) -> Opened:
        """The same as it was written, read if it is not at hand."""
        with self._lock:
            upload = self._uploads.get(found.id)
        if upload is not None:
            return upload[1]
        version = self._get_logged(found.id).versions[found.index]
        return self._opened.get_or_build(
            found.mark, lambda: open_version(self.place, version), lambda it: it.size_bytes
        )

    def get_name(self, found: Found) -> str:
        with self._lock:
            upload = self._uploads.get(found.id)
        if upload is not None:
            return upload[0].name
        item = self._get_logged(found.id)
        return item.name if item.run in ("", ".") else f"{item.run}-{item.name}"

    def read_bookmarks(self, found: Found) -> list[Bookmark]:
        """The views that were saved beside an embedding."""
        item = self.list_logged().get(found.id)  # none for what was brought along
        path = item.bookmarks_path if item else ""
        if not path:
            return []
        rows, dimensions = self.open(found).vectors.values.shape
        with self.place.open(path) as file:
            return read_bookmarks(file, (rows, dimensions))

    def add(self, name: str, data: bytes) -> EmbeddingRow:
        """Keep what somebody brings along, until others have come; the largest is given."""
        tensors = read_dropped(data, name)
        tables = [info for info in tensors.tensors() if not info.is_state and len(info.shape) > 1]
        if not tables:
            raise FormatError(f'"{name}" holds no table of numbers, the rows of which are vectors')
        tables.sort(key=lambda info: info.shape[0])
        return [self._add_table(name, tensors, info.key, info.name) for info in tables][-1]

    def add_labels(self, embedding: str, data: bytes) -> EmbeddingRow:
        """Labels for an embedding that was brought along, in the place of those it has."""
        return self._change(embedding, lambda it: with_labels(it, lambda: io.BytesIO(data)))

    def add_sprite(self, embedding: str, data: bytes) -> EmbeddingRow:
        return self._change(embedding, lambda it: with_sprite(it, lambda: io.BytesIO(data)))

    def _add_table(self, file: str, tensors: TensorFile, key: str, name: str) -> EmbeddingRow:
        opened = with_vectors(take_vectors(tensors, key))
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
        return self._put(row, opened)

    def _change(self, embedding: str, change: Callable[[Opened], Opened]) -> EmbeddingRow:
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
        return self._put(row, opened)

    def _put(self, row: EmbeddingRow, opened: Opened) -> EmbeddingRow:
        rows, dimensions = opened.vectors.values.shape
        row = msgspec.structs.replace(
            row,
            has_labels=bool(opened.columns),
            has_sprite=opened.sprite is not None,
            versions=[VersionRow(0, None, secrets.token_hex(8), rows, dimensions)],
        )
        with self._lock:
            self._uploads[row.id] = (row, opened)
            while len(self._uploads) > _MOST_UPLOADS:
                self._uploads.popitem(last=False)
        return row

    def _get_logged(self, embedding: str) -> Embedding:
        item = self.list_logged().get(embedding)
        if item is None:
            raise LogError(_GONE)
        return item
