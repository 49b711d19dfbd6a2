"""The Projector dashboard: vectors, their labels and pictures, laid out to be walked through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.dashboards.projector.answers import (
    About,
    BookmarksAnswer,
    ClustersAnswer,
    ColumnAnswer,
    EditAnswer,
    EmbeddingRow,
    EmbeddingsAnswer,
    JobRow,
    LayoutAnswer,
    MatchAnswer,
    NeighboursAnswer,
    PointAnswer,
    QualityAnswer,
    SearchAnswer,
)
from tracklight.dashboards.projector.asks import (
    BookmarkAsk,
    ClusterAsk,
    ColumnAsk,
    EditAsk,
    EmbeddingAsk,
    FileAsk,
    JobAsk,
    LayoutAsk,
    MatchAsk,
    NeighboursAsk,
    ProjectAsk,
    QualityAsk,
    RowAsk,
    SearchAsk,
    TileAsk,
    UploadAsk,
)
from tracklight.dashboards.projector.clustering import Clusters
from tracklight.dashboards.projector.copies import Source, iter_copies
from tracklight.dashboards.projector.desk import Desk
from tracklight.dashboards.projector.drawer import Edit
from tracklight.dashboards.projector.files import make_file
from tracklight.dashboards.projector.library import Library
from tracklight.dashboards.projector.matching import choose_column, match_rows
from tracklight.dashboards.projector.nearest import find_neighbours
from tracklight.dashboards.projector.opened import read_bits
from tracklight.dashboards.projector.projecting import Projector as Layouts
from tracklight.dashboards.projector.searching import Searcher
from tracklight.dashboards.projector.sprites import Sprites
from tracklight.dashboards.projector.telling import tell_about, tell_column, tell_point
from tracklight.plugin import Blob, Context, Dashboard, Nothing, Route, Stream

_MOST_UPLOADED_BYTES = 1 << 30


def _has_mark(ask: EmbeddingAsk) -> bool:
    return ask.mark is not None


class Projector(Dashboard):
    """Reads vectors wherever frameworks leave them, and computes layouts of them as jobs."""

    name = "projector"
    title = "Projector"
    plugins = ("projector",)
    files = ("tensor_files",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = Library(context)
        self._desk = Desk(context)
        self._searcher = Searcher()
        self._layouts = Layouts(self._library, self._desk, self._searcher)
        self._clusters = Clusters(self._library, self._desk)
        self._sprites = Sprites()

    def routes(self) -> Sequence[Route]:
        return [
            Route("embeddings", Nothing, self.embeddings, "GET"),
            Route("about", EmbeddingAsk, self.about, "GET"),
            Route("column", ColumnAsk, self.column, "GET", immutable=_has_mark),
            Route("sprite", TileAsk, self.sprite, "GET", immutable=_has_mark),
            Route("picture", RowAsk, self.picture, "GET", immutable=_has_mark),
            Route("point", RowAsk, self.point, "GET"),
            Route("project", ProjectAsk, self.project),
            Route("project", JobAsk, self.cancel, "DELETE"),
            Route("layout", LayoutAsk, self.layout, "GET"),
            Route("quality", QualityAsk, self.quality, "GET"),
            Route("neighbours", NeighboursAsk, self.neighbours),
            Route("search", SearchAsk, self.search),
            Route("match", MatchAsk, self.match),
            Route("cluster", ClusterAsk, self.cluster),
            Route("clusters", JobAsk, self.clusters, "GET"),
            Route("edit", EditAsk, self.edit, mutates=True),
            Route("bookmarks", EmbeddingAsk, self.bookmarks, "GET"),
            Route("bookmark", BookmarkAsk, self.bookmark, mutates=True),
            Route("file", FileAsk, self.file, "GET"),
            Route("upload", UploadAsk, self.upload, upload_bytes=_MOST_UPLOADED_BYTES),
        ]

    def close(self) -> None:
        self._desk.close()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(Source(self._library, self._sprites), runs)

    def embeddings(self, ask: Nothing) -> EmbeddingsAnswer:
        """All embeddings of the log, and those that were brought along since the server started."""
        return self._library.list_rows()

    def about(self, ask: EmbeddingAsk) -> About:
        """An embedding at a glance: how large it is, its columns, what does not fit."""
        found = self._library.find(ask)
        return tell_about(found, self._library.open(found))

    def column(self, ask: ColumnAsk) -> ColumnAnswer:
        """A column of labels."""
        return tell_column(self._library.open(self._library.find(ask)).get_column(ask.name))

    def sprite(self, ask: TileAsk) -> Blob:
        """Pictures of many points."""
        found = self._library.find(ask)
        return self._sprites.cut_tile(found.mark, self._library.open(found), ask.tile)

    def picture(self, ask: RowAsk) -> Blob:
        """The picture of a point."""
        found = self._library.find(ask)
        return self._sprites.cut_one(found.mark, self._library.open(found), ask.row)

    def point(self, ask: RowAsk) -> PointAnswer:
        """All labels of a point, and its vector."""
        return tell_point(self._library.open(self._library.find(ask)), ask.row)

    def project(self, ask: ProjectAsk) -> JobRow:
        """Start a layout, or find the one that was started like this before."""
        return self._layouts.start(ask)

    def cancel(self, ask: JobAsk) -> JobRow:
        """Stop a job; the layout that it has come to stays."""
        return self._desk.cancel(ask.job)

    def layout(self, ask: LayoutAsk) -> LayoutAnswer:
        """How far a layout is, and where its points are by now."""
        return self._layouts.tell(ask)

    def quality(self, ask: QualityAsk) -> QualityAnswer:
        """How far the neighbours that a layout shows can be trusted."""
        return self._layouts.judge(ask)

    def neighbours(self, ask: NeighboursAsk) -> NeighboursAnswer:
        """The nearest of a point, or of the middle of some, by their vectors; always exact."""
        return find_neighbours(self._library.open(self._library.find(ask)), ask)

    def search(self, ask: SearchAsk) -> SearchAnswer:
        """Points by a text in their labels, or by an expression."""
        opened = self._library.open(self._library.find(ask))
        found = self._searcher.find(opened, ask.query, ask.regex, ask.column)
        rows = np.flatnonzero(found).astype(np.int32)
        return SearchAnswer(len(rows), rows)

    def match(self, ask: MatchAsk) -> MatchAnswer:
        """Which points of two embeddings are the same."""
        mine, other = (self._library.open(self._library.find(it)) for it in (ask, ask.other))
        rows = match_rows(mine, other, choose_column(mine, other, ask.column))
        return MatchAnswer(rows, int(np.count_nonzero(rows >= 0)))

    def cluster(self, ask: ClusterAsk) -> JobRow:
        """Look for groups of points: as many as are asked for, or those that are dense."""
        return self._clusters.start(ask)

    def clusters(self, ask: JobAsk) -> ClustersAnswer:
        """The groups that were found, named by words in the labels of their points."""
        return self._clusters.tell(ask.job)

    def edit(self, ask: EditAsk) -> EditAnswer:
        """Give some points another label. It is kept beside the notes on the log."""
        found = self._library.find(ask)
        chosen = read_bits(ask.rows, self._library.open(found).rows)
        revision = self._library.drawer.edit(found.id, Edit(ask.column, ask.text, ask.rows))
        return EditAnswer(revision, int(np.count_nonzero(chosen)))

    def bookmarks(self, ask: EmbeddingAsk) -> BookmarksAnswer:
        """Views that were saved: beside the vectors by TensorBoard, or here under a name."""
        found = self._library.find(ask)
        saved = self._library.drawer.get(found.id).views
        return BookmarksAnswer(self._library.read_bookmarks(found), saved)

    def bookmark(self, ask: BookmarkAsk) -> BookmarksAnswer:
        """Keep a view under a name, or forget it."""
        return BookmarksAnswer([], self._library.drawer.save(ask.id, ask.name, ask.state))

    def file(self, ask: FileAsk) -> Stream:
        """Labels as they were edited, vectors, or a layout with the labels beside it."""
        found = self._library.find(ask)
        return make_file(self._library.open(found), self._desk, ask, self._library.get_name(found))

    def upload(self, ask: UploadAsk) -> EmbeddingRow:
        """Look at a file with vectors, or give one that was brought along labels or pictures. It
        is kept in memory until the server ends or others have come."""
        if ask.labels_of is not None:
            return self._library.add_labels(ask.labels_of, ask.body)
        if ask.sprite_of is not None:
            return self._library.add_sprite(ask.sprite_of, ask.body)
        return self._library.add(ask.name, ask.body)
