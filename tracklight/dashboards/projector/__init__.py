"""The Projector dashboard: layouts of embeddings, with the labels and images of their points.

`Projector` declares the routes and the static export. `schemas` has the requests and responses.
`library` finds and loads embeddings and stores what users change, `layouts` computes layouts and
clusterings in the background, and `responses` builds everything else, with tiles and regions of
layouts of many points. The mathematics is in `tracklight.analysis.embeddings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

import msgspec
import numpy as np

from tracklight.analysis.embeddings import (
    LoadedEmbedding,
    choose_match_column,
    decode_row_bits,
    match_rows,
)
from tracklight.analysis.embeddings.metadata import LabelSearcher
from tracklight.analysis.embeddings.projections import compute_pca
from tracklight.analysis.embeddings.projections.manifold import compute_umap
from tracklight.analysis.embeddings.sprites import SpriteCutter
from tracklight.analysis.source import Sentence
from tracklight.dashboards.projector.layouts import ClusterJobs, LayoutJobs, ProjectorJobs
from tracklight.dashboards.projector.library import EmbeddingLibrary, LabelEdit
from tracklight.dashboards.projector.responses import (
    LayoutDensity,
    make_column_response,
    make_embedding_info,
    make_file_stream,
    make_histograms_response,
    make_neighbors_response,
    make_point_response,
    make_rows_response,
    make_similar_response,
)
from tracklight.dashboards.projector.schemas import (
    BookmarkRequest,
    BookmarksResponse,
    ClusterRequest,
    ClustersResponse,
    ColumnHistogramsRequest,
    ColumnHistogramsResponse,
    ColumnRequest,
    ColumnResponse,
    DensityResponse,
    EditRequest,
    EditResponse,
    EmbeddingFileRequest,
    EmbeddingInfo,
    EmbeddingRequest,
    EmbeddingRow,
    EmbeddingsResponse,
    JobRequest,
    JobStatus,
    LayoutPlaneRequest,
    LayoutRequest,
    LayoutResponse,
    MatchRequest,
    MatchResponse,
    NearestRequest,
    NearestResponse,
    NeighborsRequest,
    NeighborsResponse,
    OutlineRequest,
    PcaMethod,
    PointRequest,
    PointResponse,
    PointRowsRequest,
    PointRowsResponse,
    PositionsRequest,
    PositionsResponse,
    ProjectionMethod,
    ProjectionRequest,
    QualityRequest,
    QualityResponse,
    RegionsRequest,
    RegionsResponse,
    SearchRequest,
    SearchResponse,
    SimilarRequest,
    SimilarResponse,
    SpriteTileRequest,
    TileRequest,
    TileResponse,
    UmapMethod,
    UploadRequest,
)
from tracklight.errors import TracklightError
from tracklight.plugin import Blob, Context, Dashboard, Empty, Route, Stream
from tracklight.types import Float32, Int32

# ---- static export

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


# ---- the dashboard

_MAX_UPLOADED_BYTES = 1 << 30


def _has_mark(request: EmbeddingRequest) -> bool:
    return request.mark is not None


class Projector(Dashboard):
    """Serves the embeddings of a log and uploaded ones, and computes layouts of them as jobs."""

    name = "projector"
    title = "Projector"
    plugins = ("projector",)
    files = ("tensor_files",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = EmbeddingLibrary(context)
        self._jobs = ProjectorJobs(context)
        self._searcher = LabelSearcher()
        self._layouts = LayoutJobs(self._library, self._jobs, self._searcher)
        self._density = LayoutDensity(self._library, self._jobs)
        self._clusters = ClusterJobs(self._library, self._jobs)
        self._sprites = SpriteCutter()

    def routes(self) -> Sequence[Route]:
        return [
            Route("embeddings", Empty, self.embeddings, "GET"),
            Route("about", EmbeddingRequest, self.about, "GET"),
            Route("column", ColumnRequest, self.column, "GET", immutable=_has_mark),
            Route("sprite", SpriteTileRequest, self.sprite, "GET", immutable=_has_mark),
            Route("picture", PointRequest, self.picture, "GET", immutable=_has_mark),
            Route("point", PointRequest, self.point, "GET"),
            Route("project", ProjectionRequest, self.project),
            Route("project", JobRequest, self.cancel, "DELETE"),
            Route("layout", LayoutRequest, self.layout, "GET"),
            Route("quality", QualityRequest, self.quality, "GET"),
            Route("density", LayoutPlaneRequest, self.density, "GET"),
            Route("tile", TileRequest, self.tile, "GET"),
            Route("nearest", NearestRequest, self.nearest, "GET"),
            Route("inside", OutlineRequest, self.inside),
            Route("positions", PositionsRequest, self.positions),
            Route("regions", RegionsRequest, self.regions, "GET"),
            Route("neighbors", NeighborsRequest, self.neighbors),
            Route("similar", SimilarRequest, self.similar),
            Route("search", SearchRequest, self.search),
            Route("rows", PointRowsRequest, self.rows),
            Route("histograms", ColumnHistogramsRequest, self.histograms),
            Route("match", MatchRequest, self.match),
            Route("cluster", ClusterRequest, self.cluster),
            Route("clusters", JobRequest, self.clusters, "GET"),
            Route("edit", EditRequest, self.edit, mutates=True),
            Route("bookmarks", EmbeddingRequest, self.bookmarks, "GET"),
            Route("bookmark", BookmarkRequest, self.bookmark, mutates=True),
            Route("file", EmbeddingFileRequest, self.file, "GET"),
            Route(
                "upload",
                UploadRequest,
                self.upload,
                mutates=True,
                upload_bytes=_MAX_UPLOADED_BYTES,
            ),
        ]

    def close(self) -> None:
        self._jobs.close()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(StaticExportSource(self._library, self._sprites), runs)

    def embeddings(self, request: Empty) -> EmbeddingsResponse:
        """Return all embeddings of the log, and those that were uploaded."""
        return self._library.list_rows()

    def about(self, request: EmbeddingRequest) -> EmbeddingInfo:
        """Return the size, the columns and the problems of an embedding."""
        ref = self._library.resolve(request)
        return make_embedding_info(ref, self._library.load(ref))

    def column(self, request: ColumnRequest) -> ColumnResponse:
        """Return a column of labels."""
        return make_column_response(self._load(request).get_column(request.name))

    def sprite(self, request: SpriteTileRequest) -> Blob:
        """Return a tile with the images of many points."""
        ref = self._library.resolve(request)
        return self._sprites.cut_tile(ref.mark, self._library.load(ref), request.tile)

    def picture(self, request: PointRequest) -> Blob:
        """Return the image of one point."""
        ref = self._library.resolve(request)
        return self._sprites.cut_cell(ref.mark, self._library.load(ref), request.row)

    def point(self, request: PointRequest) -> PointResponse:
        """Return the labels and the vector of one point."""
        return make_point_response(self._load(request), request.row)

    def project(self, request: ProjectionRequest) -> JobStatus:
        """Start a layout, or return the job of an equal request."""
        return self._layouts.start(request)

    def cancel(self, request: JobRequest) -> JobStatus:
        """Cancel a job; its last intermediate result stays."""
        return self._jobs.cancel(request.job)

    def layout(self, request: LayoutRequest) -> LayoutResponse:
        """Return the state of a layout and its current coordinates."""
        return self._layouts.get_response(request)

    def quality(self, request: QualityRequest) -> QualityResponse:
        """Return the trustworthiness of a layout."""
        return self._layouts.get_quality(request)

    def density(self, request: LayoutPlaneRequest) -> DensityResponse:
        """Return the bounds of a layout, and prepare its tiles."""
        return self._density.get_bounds(request)

    def tile(self, request: TileRequest) -> TileResponse:
        """Return a tile of the density of a layout."""
        return self._density.get_tile(request)

    def nearest(self, request: NearestRequest) -> NearestResponse:
        """Return the point of a layout that is nearest to a position."""
        return self._density.read_nearest(request)

    def inside(self, request: OutlineRequest) -> SearchResponse:
        """Return the points of a layout inside a polygon."""
        return self._density.list_inside(request)

    def positions(self, request: PositionsRequest) -> PositionsResponse:
        """Return the positions of some points of a layout."""
        return self._density.get_positions(request)

    def regions(self, request: RegionsRequest) -> RegionsResponse:
        """Return the dense regions of a layout, named by typical words of their labels."""
        return self._density.get_regions(request)

    def neighbors(self, request: NeighborsRequest) -> NeighborsResponse:
        """Return the exact nearest neighbors of a point, or of the mean of some points."""
        return make_neighbors_response(self._load(request), request)

    def similar(self, request: SimilarRequest) -> SimilarResponse:
        """Return the points nearest to a text or an image that another embedding has."""
        source_ref = self._library.resolve(request.source)
        source = self._library.load(source_ref)
        if request.image is not None:
            row = self._sprites.search_similar(source_ref.mark, source, request.image)
            rows = np.array([row], np.int32)
        else:
            rows = self._searcher.search_text(source, request.text)
        return make_similar_response(self._load(request), source, rows, request)

    def search(self, request: SearchRequest) -> SearchResponse:
        """Return the points whose labels contain a text or match a regular expression."""
        mask = self._searcher.search(
            self._load(request), request.query, request.regex, request.column
        )
        rows = np.flatnonzero(mask).astype(np.int32)
        return SearchResponse(len(rows), rows)

    def rows(self, request: PointRowsRequest) -> PointRowsResponse:
        """Return the labels of some points, sorted by a column and page by page."""
        return make_rows_response(self._load(request), request)

    def histograms(self, request: ColumnHistogramsRequest) -> ColumnHistogramsResponse:
        """Return histograms of columns, each of the points that pass the filters of all others."""
        return make_histograms_response(self._load(request), request)

    def match(self, request: MatchRequest) -> MatchResponse:
        """Return which points of two embeddings are the same."""
        first, second = self._load(request), self._load(request.other)
        rows = match_rows(first, second, choose_match_column(first, second, request.column))
        return MatchResponse(rows, int(np.count_nonzero(rows >= 0)))

    def cluster(self, request: ClusterRequest) -> JobStatus:
        """Start a clustering with k-means or HDBSCAN, or return the job of an equal request."""
        return self._clusters.start(request)

    def clusters(self, request: JobRequest) -> ClustersResponse:
        """Return the cluster of each point; clusters are named by typical words of their labels."""
        return self._clusters.get_response(request.job)

    def edit(self, request: EditRequest) -> EditResponse:
        """Change a label of some points. Edits are stored beside the notes on the log."""
        ref = self._library.resolve(request)
        rows = decode_row_bits(request.rows, self._library.load(ref).row_count)
        edit = LabelEdit(request.column, request.text, request.rows)
        revision = self._library.edits.add_edit(ref.id, edit)
        return EditResponse(revision, int(np.count_nonzero(rows)))

    def bookmarks(self, request: EmbeddingRequest) -> BookmarksResponse:
        """Return the bookmarks of TensorBoard and the views saved here."""
        ref = self._library.resolve(request)
        saved = self._library.edits.get(ref.id).views
        bookmarks, notes = self._library.read_bookmarks(ref)
        return BookmarksResponse(bookmarks, saved, [Sentence.make(note) for note in notes])

    def bookmark(self, request: BookmarkRequest) -> BookmarksResponse:
        """Save a view under a name, or delete it."""
        views = self._library.edits.save_view(request.id, request.name, request.state)
        return BookmarksResponse([], views, [])

    def file(self, request: EmbeddingFileRequest) -> Stream:
        """Return labels with edits, vectors, or a layout with labels as a file."""
        ref = self._library.resolve(request)
        embedding, name = self._library.load(ref), self._library.get_name(ref)
        return make_file_stream(embedding, self._jobs, request, name)

    def upload(self, request: UploadRequest) -> EmbeddingRow:
        """Add a file with vectors, or labels or a sprite image for an uploaded embedding.

        Uploads are kept in memory until the server stops or there are too many of them.
        """
        if request.labels_of is not None:
            return self._library.add_labels(request.labels_of, request.body)
        if request.sprite_of is not None:
            return self._library.add_sprite(request.sprite_of, request.body)
        return self._library.add(request.name, request.body)

    def _load(self, request: EmbeddingRequest) -> LoadedEmbedding:
        return self._library.load(self._library.resolve(request))
