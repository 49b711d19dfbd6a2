"""The embeddings that a copy of a board takes along, as they are at their last step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from tracklight.dashboards.projector.answers import (
    About,
    ColumnAnswer,
    EmbeddingRow,
    EmbeddingsAnswer,
)
from tracklight.dashboards.projector.asks import EmbeddingAsk, Method, Pca, Umap
from tracklight.dashboards.projector.library import Library
from tracklight.dashboards.projector.opened import Opened
from tracklight.dashboards.projector.sprites import Sprites
from tracklight.dashboards.projector.telling import tell_about, tell_column
from tracklight.errors import TracklightError
from tracklight.projections import umap
from tracklight.projections.pca import find_components
from tracklight.types import Float32, Int32

_MOST_ROWS = 50_000
#: In all embeddings together.
_ALL_ROWS = 200_000
#: So many are laid out by UMAP for the copy, which takes a second or two.
_FEW_ROWS = 1000
#: With so many numbers, vectors come along, and neighbours can be found without a server.
_MOST_NUMBERS = 1_000_000
_MOST_TILES = 4


class CopiedLayout(msgspec.Struct):
    """A layout as the answer to `layout` has it, and how it was made."""

    method: Method
    rows: Int32 | None
    places: list[Float32]
    explained: list[float]


class Copy(msgspec.Struct):
    """An embedding without a server; ``vectors`` one after another, none where they are many."""

    about: About
    columns: list[ColumnAnswer]
    layouts: list[CopiedLayout]
    vectors: Float32 | None


class Source(NamedTuple):
    """Where copies come from."""

    library: Library
    sprites: Sprites


def iter_copies(source: Source, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
    """Embedding by embedding what is seen of it, and a list of those that could be read."""
    listed = source.library.list_rows()
    carried, left = [], _ALL_ROWS
    for row in listed.embeddings:
        if not row.versions or row.source == "upload":
            continue
        if not source.library.belongs_to(row.run, runs):
            continue
        try:
            copy, parts = _copy(source, row, min(left, _MOST_ROWS))
        except TracklightError:
            continue
        if copy is None:
            continue
        yield f"copy/{row.id}", copy
        yield from parts
        left -= copy.about.rows
        row.versions, row.has_bookmarks = row.versions[-1:], False
        carried.append(row)
    if carried:
        yield "embeddings", EmbeddingsAnswer(listed.cursor, carried, ["cpu"])


def _copy(
    source: Source, row: EmbeddingRow, most: int
) -> tuple[Copy | None, list[tuple[str, object]]]:
    found = source.library.find(EmbeddingAsk(row.id))
    opened = source.library.open(found)
    if opened.rows > most:
        return None, []
    about = tell_about(found, opened)
    columns = [tell_column(column) for column in opened.columns]
    values = opened.vectors.values
    vectors = values.ravel() if values.size <= _MOST_NUMBERS else None
    layouts = list(_iter_layouts(opened, about.spherize))
    parts = list(_iter_tiles(source.sprites, about, opened))
    return Copy(about, columns, layouts, vectors), parts


def _iter_layouts(opened: Opened, spherize: bool) -> Iterator[CopiedLayout]:
    rows = opened.choose(None)
    vectors = opened.take(rows, spherize)
    method = Pca()
    found = find_components(vectors, method.components)
    yield CopiedLayout(method, rows, [*found.project(vectors).T], found.explained.tolist())
    if 3 <= len(vectors) <= _FEW_ROWS:
        yield CopiedLayout(Umap(), rows, [*umap.make_layout(vectors).T], [])


def _iter_tiles(sprites: Sprites, about: About, opened: Opened) -> Iterator[tuple[str, object]]:
    if about.sprite is None or about.sprite.tiles > _MOST_TILES:
        about.sprite = None
        return
    for tile in range(about.sprite.tiles):
        address = f"id={quote(about.id, safe='')}&index={about.index}&mark={about.mark}"
        yield f"sprite?{address}&tile={tile}", sprites.cut_tile(about.mark, opened, tile)
