"""The Projector dashboard: layouts of embeddings, with the labels and images of their points.

`Projector` declares the routes. `schemas` has the requests and responses. `library` finds and loads
embeddings, `edits` stores what users change, `jobs` runs computations in the background, `layouts`
computes projections, `density` serves tiles and regions of them, `responses` builds everything
else, and `static_export` lists the responses that a static export contains. The mathematics is in
`tracklight.analysis.embeddings`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.embeddings.loading import (
    LoadedEmbedding,
    choose_match_column,
    decode_row_bits,
    match_rows,
)
from tracklight.analysis.embeddings.search import LabelSearcher
from tracklight.analysis.embeddings.sprites import SpriteCutter
from tracklight.dashboards.projector.density import LayoutDensity
from tracklight.dashboards.projector.edits import LabelEdit
from tracklight.dashboards.projector.jobs import ClusterJobs, ProjectorJobs
from tracklight.dashboards.projector.layouts import LayoutJobs
from tracklight.dashboards.projector.library import EmbeddingLibrary
from tracklight.dashboards.projector.responses import (
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
    PointRequest,
    PointResponse,
    PointRowsRequest,
    PointRowsResponse,
    PositionsRequest,
    PositionsResponse,
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
    UploadRequest,
)
from tracklight.dashboards.projector.static_export import StaticExportSource, iter_static_responses
from tracklight.plugin import Blob, Context, Dashboard, Empty, Route, Stream

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
        return self._density.find_nearest(request)

    def inside(self, request: OutlineRequest) -> SearchResponse:
        """Return the points of a layout inside a polygon."""
        return self._density.find_inside(request)

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
            row = self._sprites.find_similar(source_ref.mark, source, request.image)
            rows = np.array([row], np.int32)
        else:
            rows = self._searcher.find_text(source, request.text)
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
        return BookmarksResponse(self._library.read_bookmarks(ref), saved)

    def bookmark(self, request: BookmarkRequest) -> BookmarksResponse:
        """Save a view under a name, or delete it."""
        views = self._library.edits.save_view(request.id, request.name, request.state)
        return BookmarksResponse([], views)

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
