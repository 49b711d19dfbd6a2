"""The embeddings that a copy of a board takes along, as they are at their last step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from tracklight.analysis.embeddings.loading import LoadedEmbedding
from tracklight.analysis.embeddings.projections import umap
from tracklight.analysis.embeddings.projections.pca import compute_pca
from tracklight.analysis.embeddings.sprites import SpriteCutter
from tracklight.dashboards.projector.library import EmbeddingLibrary
from tracklight.dashboards.projector.responses import make_column_response, make_embedding_info
from tracklight.dashboards.projector.schemas import (
    ColumnResponse,
    EmbeddingInfo,
    EmbeddingRequest,
    EmbeddingRow,
    EmbeddingsResponse,
    PcaMethod,
    ProjectionMethod,
    UmapMethod,
)
from tracklight.errors import TracklightError
from tracklight.types import Float32, Int32

_MAX_ROWS = 50_000
#: In all embeddings together.
_MAX_TOTAL_ROWS = 200_000
#: So many are laid out by UMAP for the copy, which takes a second or two.
_MAX_UMAP_ROWS = 1000
#: With so many numbers, vectors come along, and neighbours can be found without a server.
_MAX_VECTOR_VALUES = 1_000_000
_MAX_TILES = 4


class StaticLayout(msgspec.Struct):
    """A layout as the answer to `layout` has it, and how it was made."""

    method: ProjectionMethod
    rows: Int32 | None
    places: list[Float32]
    explained: list[float]


class StaticEmbedding(msgspec.Struct):
    """An embedding without a server; ``vectors`` one after another, none where they are many."""

    about: EmbeddingInfo
    columns: list[ColumnResponse]
    layouts: list[StaticLayout]
    vectors: Float32 | None


class StaticExportSource(NamedTuple):
    """Where copies come from."""

    library: EmbeddingLibrary
    sprites: SpriteCutter


def iter_static_responses(
    source: StaticExportSource, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Embedding by embedding what is seen of it, and a list of those that could be read."""
    listed = source.library.list_rows()
    carried, left = [], _MAX_TOTAL_ROWS
    for row in listed.embeddings:
        if not row.versions or row.source == "upload":
            continue
        if not source.library.belongs_to(row.run, runs):
            continue
        try:
            copy, parts = _export_embedding(source, row, min(left, _MAX_ROWS))
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
        yield "embeddings", EmbeddingsResponse(listed.cursor, carried, ["cpu"])


def _export_embedding(
    source: StaticExportSource, row: EmbeddingRow, most: int
) -> tuple[StaticEmbedding | None, list[tuple[str, object]]]:
    found = source.library.resolve(EmbeddingRequest(row.id))
    opened = source.library.load(found)
    if opened.row_count > most:
        return None, []
    about = make_embedding_info(found, opened)
    columns = [make_column_response(column) for column in opened.columns]
    values = opened.vectors.values
    vectors = values.ravel() if values.size <= _MAX_VECTOR_VALUES else None
    layouts = list(_iter_layouts(opened, about.spherize))
    parts = list(_iter_tiles(source.sprites, about, opened))
    return StaticEmbedding(about, columns, layouts, vectors), parts


def _iter_layouts(opened: LoadedEmbedding, spherize: bool) -> Iterator[StaticLayout]:
    rows = opened.select_rows(None)
    vectors = opened.get_vectors(rows, spherize)
    method = PcaMethod()
    found = compute_pca(vectors, method.components)
    yield StaticLayout(method, rows, [*found.project(vectors).T], found.explained_ratio.tolist())
    if 3 <= len(vectors) <= _MAX_UMAP_ROWS:
        yield StaticLayout(UmapMethod(), rows, [*umap.compute_umap(vectors).T], [])


def _iter_tiles(
    sprites: SpriteCutter, about: EmbeddingInfo, opened: LoadedEmbedding
) -> Iterator[tuple[str, object]]:
    if about.sprite is None or about.sprite.tiles > _MAX_TILES:
        about.sprite = None
        return
    for tile in range(about.sprite.tiles):
        address = f"id={quote(about.id, safe='')}&index={about.index}&mark={about.mark}"
        yield f"sprite?{address}&tile={tile}", sprites.cut_tile(about.mark, opened, tile)
