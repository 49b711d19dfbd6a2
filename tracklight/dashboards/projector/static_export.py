"""The embeddings that a static export contains, at their last step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from tracklight.analysis.embeddings.loading import LoadedEmbedding
from tracklight.analysis.embeddings.projections.pca import compute_pca
from tracklight.analysis.embeddings.projections.umap import compute_umap
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
#: Embeddings up to this size get a UMAP layout, which takes a second or two.
_MAX_UMAP_ROWS = 1000
#: Vectors up to this size are exported, so that the page can find neighbors without a server.
_MAX_VECTOR_VALUES = 1_000_000
_MAX_TILES = 4


class StaticLayout(msgspec.Struct):
    """A layout as in the response of `layout`, and the method that computed it."""

    method: ProjectionMethod
    rows: Int32 | None
    coordinates: list[Float32]
    explained_ratio: list[float]


class StaticEmbedding(msgspec.Struct):
    """An embedding without a server. ``vectors`` are flattened; null if there are too many."""

    info: EmbeddingInfo
    columns: list[ColumnResponse]
    layouts: list[StaticLayout]
    vectors: Float32 | None


class StaticExportSource(NamedTuple):
    """What a static export is made from."""

    library: EmbeddingLibrary
    sprites: SpriteCutter


def iter_static_responses(
    source: StaticExportSource, runs: Sequence[str]
) -> Iterator[tuple[str, object]]:
    """Yield URLs and responses: each readable embedding of the runs, and a list of them."""
    listed = source.library.list_rows()
    exported, remaining_rows = [], _MAX_TOTAL_ROWS
    for row in listed.embeddings:
        if not row.versions or row.source == "upload":
            continue
        if not source.library.belongs_to(row.run, runs):
            continue
        try:
            embedding, tiles = _export_embedding(source, row, min(remaining_rows, _MAX_ROWS))
        except TracklightError:
            continue
        if embedding is None:
            continue
        yield f"copy/{row.id}", embedding
        yield from tiles
        remaining_rows -= embedding.info.rows
        row.versions, row.has_bookmarks = row.versions[-1:], False
        exported.append(row)
    if exported:
        yield "embeddings", EmbeddingsResponse(listed.cursor, exported, ["cpu"])


def _export_embedding(
    source: StaticExportSource, row: EmbeddingRow, max_rows: int
) -> tuple[StaticEmbedding | None, list[tuple[str, object]]]:
    """Return an embedding at its last step and its sprite tiles; None if it is too large."""
    ref = source.library.resolve(EmbeddingRequest(row.id))
    embedding = source.library.load(ref)
    if embedding.row_count > max_rows:
        return None, []
    info = make_embedding_info(ref, embedding)
    columns = [make_column_response(column) for column in embedding.columns]
    values = embedding.vectors.values
    vectors = values.ravel() if values.size <= _MAX_VECTOR_VALUES else None
    layouts = list(_iter_layouts(embedding, info.spherize))
    tiles = list(_iter_tiles(source.sprites, info, embedding))
    return StaticEmbedding(info, columns, layouts, vectors), tiles


def _iter_layouts(embedding: LoadedEmbedding, spherize: bool) -> Iterator[StaticLayout]:
    rows = embedding.select_rows(None)
    vectors = embedding.get_vectors(rows, spherize)
    method = PcaMethod()
    components = compute_pca(vectors, method.components)
    coordinates = [*components.project(vectors).T]
    yield StaticLayout(method, rows, coordinates, components.explained_ratio.tolist())
    if 3 <= len(vectors) <= _MAX_UMAP_ROWS:
        yield StaticLayout(UmapMethod(), rows, [*compute_umap(vectors).T], [])


def _iter_tiles(
    sprites: SpriteCutter, info: EmbeddingInfo, embedding: LoadedEmbedding
) -> Iterator[tuple[str, object]]:
    """Yield the sprite tiles; if there are too many, the embedding loses its images."""
    if info.sprite is None or info.sprite.tiles > _MAX_TILES:
        info.sprite = None
        return
    for tile in range(info.sprite.tiles):
        query = f"id={quote(info.id, safe='')}&index={info.index}&mark={info.mark}"
        yield f"sprite?{query}&tile={tile}", sprites.cut_tile(info.mark, embedding, tile)
