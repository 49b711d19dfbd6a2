"""The Projector dashboard: vectors, their labels and pictures, laid out to be walked through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.embeddings.loading import choose_match_column, decode_row_bits, match_rows
from tracklight.analysis.embeddings.search import LabelSearcher
from tracklight.analysis.embeddings.sprites import SpriteCutter
from tracklight.dashboards.projector.edits import LabelEdit
from tracklight.dashboards.projector.jobs import ClusterJobs, ProjectorJobs
from tracklight.dashboards.projector.layouts import LayoutJobs as Layouts
from tracklight.dashboards.projector.library import EmbeddingLibrary
from tracklight.dashboards.projector.responses import (
    make_column_response,
    make_embedding_info,
    make_file_stream,
    make_neighbors_response,
    make_point_response,
)
from tracklight.dashboards.projector.schemas import (
    BookmarkRequest,
    BookmarksResponse,
    ClusterRequest,
    ClustersResponse,
    ColumnRequest,
    ColumnResponse,
    EditRequest,
    EditResponse,
    EmbeddingFileRequest,
    EmbeddingInfo,
    EmbeddingRequest,
    EmbeddingRow,
    EmbeddingsResponse,
    JobRequest,
    JobStatus,
    LayoutRequest,
    LayoutResponse,
    MatchRequest,
    MatchResponse,
    NeighborsRequest,
    NeighborsResponse,
    PointRequest,
    PointResponse,
    ProjectionRequest,
    QualityRequest,
    QualityResponse,
    SearchRequest,
    SearchResponse,
    SpriteTileRequest,
    UploadRequest,
)
from tracklight.dashboards.projector.static_export import StaticExportSource, iter_static_responses
from tracklight.plugin import Blob, Context, Dashboard, Empty, Route, Stream

_MAX_UPLOADED_BYTES = 1 << 30


def _has_mark(ask: EmbeddingRequest) -> bool:
    return ask.mark is not None


class Projector(Dashboard):
    """Reads vectors wherever frameworks leave them, and computes layouts of them as jobs."""

    name = "projector"
    title = "Projector"
    plugins = ("projector",)
    files = ("tensor_files",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = EmbeddingLibrary(context)
        self._jobs = ProjectorJobs(context)
        self._searcher = LabelSearcher()
        self._layouts = Layouts(self._library, self._jobs, self._searcher)
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
            Route("neighbours", NeighborsRequest, self.neighbors),
            Route("search", SearchRequest, self.search),
            Route("match", MatchRequest, self.match),
            Route("cluster", ClusterRequest, self.cluster),
            Route("clusters", JobRequest, self.clusters, "GET"),
            Route("edit", EditRequest, self.edit, mutates=True),
            Route("bookmarks", EmbeddingRequest, self.bookmarks, "GET"),
            Route("bookmark", BookmarkRequest, self.bookmark, mutates=True),
            Route("file", EmbeddingFileRequest, self.file, "GET"),
            Route("upload", UploadRequest, self.upload, upload_bytes=_MAX_UPLOADED_BYTES),
        ]

    def close(self) -> None:
        self._jobs.close()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(StaticExportSource(self._library, self._sprites), runs)

    def embeddings(self, ask: Empty) -> EmbeddingsResponse:
        """All embeddings of the log, and those that were brought along since the server started."""
        return self._library.list_rows()

    def about(self, ask: EmbeddingRequest) -> EmbeddingInfo:
        """An embedding at a glance: how large it is, its columns, what does not fit."""
        found = self._library.resolve(ask)
        return make_embedding_info(found, self._library.load(found))

    def column(self, ask: ColumnRequest) -> ColumnResponse:
        """A column of labels."""
        return make_column_response(
            self._library.load(self._library.resolve(ask)).get_column(ask.name)
        )

    def sprite(self, ask: SpriteTileRequest) -> Blob:
        """Pictures of many points."""
        found = self._library.resolve(ask)
        return self._sprites.cut_tile(found.mark, self._library.load(found), ask.tile)

    def picture(self, ask: PointRequest) -> Blob:
        """The picture of a point."""
        found = self._library.resolve(ask)
        return self._sprites.cut_cell(found.mark, self._library.load(found), ask.row)

    def point(self, ask: PointRequest) -> PointResponse:
        """All labels of a point, and its vector."""
        return make_point_response(self._library.load(self._library.resolve(ask)), ask.row)

    def project(self, ask: ProjectionRequest) -> JobStatus:
        """Start a layout, or find the one that was started like this before."""
        return self._layouts.start(ask)

    def cancel(self, ask: JobRequest) -> JobStatus:
        """Stop a job; the layout that it has come to stays."""
        return self._jobs.cancel(ask.job)

    def layout(self, ask: LayoutRequest) -> LayoutResponse:
        """How far a layout is, and where its points are by now."""
        return self._layouts.get_response(ask)

    def quality(self, ask: QualityRequest) -> QualityResponse:
        """How far the neighbours that a layout shows can be trusted."""
        return self._layouts.get_quality(ask)

    def neighbors(self, ask: NeighborsRequest) -> NeighborsResponse:
        """The nearest of a point, or of the middle of some, by their vectors; always exact."""
        return make_neighbors_response(self._library.load(self._library.resolve(ask)), ask)

    def search(self, ask: SearchRequest) -> SearchResponse:
        """Points by a text in their labels, or by an expression."""
        opened = self._library.load(self._library.resolve(ask))
        found = self._searcher.search(opened, ask.query, ask.regex, ask.column)
        rows = np.flatnonzero(found).astype(np.int32)
        return SearchResponse(len(rows), rows)

    def match(self, ask: MatchRequest) -> MatchResponse:
        """Which points of two embeddings are the same."""
        mine, other = (self._library.load(self._library.resolve(it)) for it in (ask, ask.other))
        rows = match_rows(mine, other, choose_match_column(mine, other, ask.column))
        return MatchResponse(rows, int(np.count_nonzero(rows >= 0)))

    def cluster(self, ask: ClusterRequest) -> JobStatus:
        """Look for groups of points: as many as are asked for, or those that are dense."""
        return self._clusters.start(ask)

    def clusters(self, ask: JobRequest) -> ClustersResponse:
        """The groups that were found, named by words in the labels of their points."""
        return self._clusters.get_response(ask.job)

    def edit(self, ask: EditRequest) -> EditResponse:
        """Give some points another label. It is kept beside the notes on the log."""
        found = self._library.resolve(ask)
        chosen = decode_row_bits(ask.rows, self._library.load(found).row_count)
        revision = self._library.edits.add_edit(found.id, LabelEdit(ask.column, ask.text, ask.rows))
        return EditResponse(revision, int(np.count_nonzero(chosen)))

    def bookmarks(self, ask: EmbeddingRequest) -> BookmarksResponse:
        """Views that were saved: beside the vectors by TensorBoard, or here under a name."""
        found = self._library.resolve(ask)
        saved = self._library.edits.get(found.id).views
        return BookmarksResponse(self._library.read_bookmarks(found), saved)

    def bookmark(self, ask: BookmarkRequest) -> BookmarksResponse:
        """Keep a view under a name, or forget it."""
        return BookmarksResponse([], self._library.edits.save_view(ask.id, ask.name, ask.state))

    def file(self, ask: EmbeddingFileRequest) -> Stream:
        """Labels as they were edited, vectors, or a layout with the labels beside it."""
        found = self._library.resolve(ask)
        return make_file_stream(
            self._library.load(found), self._jobs, ask, self._library.get_name(found)
        )

    def upload(self, ask: UploadRequest) -> EmbeddingRow:
        """Look at a file with vectors, or give one that was brought along labels or pictures. It
        is kept in memory until the server ends or others have come."""
        if ask.labels_of is not None:
            return self._library.add_labels(ask.labels_of, ask.body)
        if ask.sprite_of is not None:
            return self._library.add_sprite(ask.sprite_of, ask.body)
        return self._library.add(ask.name, ask.body)
