"""The embeddings of a log as rows: under which id they go, and when they were written anew."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping

from tracklight.dashboards.projector.answers import EmbeddingRow, VersionRow
from tracklight.embeddings.model import Embedding, Version
from tracklight.errors import LogError
from tracklight.tensorfiles.place import Place
from tracklight.util.hashing import hash_key


def name_embeddings(found: Iterable[Embedding]) -> Mapping[str, Embedding]:
    """Ids that stay the same for as long as runs and tensors keep their names."""
    seen: Counter[tuple[str, str]] = Counter()
    named = {}
    for item in found:
        name = item.run, item.name
        # User edits are stored under these ids, so the hash must not change.
        named[hash_key(*name, str(seen[name]), size_bytes=9)] = item
        seen[name] += 1
    return named


def make_row(place: Place, key: str, item: Embedding) -> EmbeddingRow:
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
            VersionRow(index, version.step, find_mark(place, version), *_find_shape(version.shape))
            for index, version in enumerate(item.versions)
        ],
    )


def find_mark(place: Place, version: Version) -> str:
    """Another one whenever a file of a version was written anew."""
    path = f"{version.path}.index" if version.kind == "checkpoint" else version.path
    paths = path, version.metadata_path, version.sprite_path
    states = (f"{path} {_find_state(place, path)}" for path in paths)
    return hash_key(version.key, *states, size_bytes=9)


def _find_state(place: Place, path: str) -> str:
    try:
        return place.find_state(path) if path else ""
    except LogError:  # it leads out of the log, and will be refused when it is opened
        return ""


def _find_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    rows = shape[0] if shape else 0
    dimensions = 1 if len(shape) > 1 else 0
    for size in shape[1:]:
        dimensions *= size
    return rows, dimensions
