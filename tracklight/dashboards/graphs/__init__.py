"""The Graphs dashboard: what a model computes, opened scope by scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracklight.dashboards.graphs.about import tell_about
from tracklight.dashboards.graphs.answers import (
    About,
    ChangesAnswer,
    GraphRow,
    GraphsAnswer,
    Group,
    GroupsAnswer,
    Node,
    Paint,
    PathAnswer,
    SearchAnswer,
    Statistics,
    TraceAnswer,
)
from tracklight.dashboards.graphs.asks import (
    ChangesAsk,
    FileAsk,
    GraphAsk,
    GroupAsk,
    GroupsAsk,
    NodeAsk,
    PaintAsk,
    PathAsk,
    SearchAsk,
    StatisticsAsk,
    TraceAsk,
    UploadAsk,
)
from tracklight.dashboards.graphs.copies import iter_copies
from tracklight.dashboards.graphs.differences import list_changes
from tracklight.dashboards.graphs.files import make_file
from tracklight.dashboards.graphs.finding import find_path, search, trace
from tracklight.dashboards.graphs.groups import show_group
from tracklight.dashboards.graphs.library import Library
from tracklight.dashboards.graphs.nodes import show_node
from tracklight.dashboards.graphs.painting import paint_group, sum_up
from tracklight.graphs.dropped import read_dropped
from tracklight.graphs.logged import READERS
from tracklight.media.reader import has_mark
from tracklight.plugin import Context, Dashboard, Nothing, Route, Stream

_MOST_UPLOADED_BYTES = 256 << 20


class Graphs(Dashboard):
    """Keeps the whole graph, and gives only what is open of it."""

    name = "graphs"
    title = "Graphs"
    plugins = tuple(READERS)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._library = Library(context)

    def routes(self) -> Sequence[Route]:
        return [
            Route("graphs", Nothing, self.graphs, "GET"),
            Route("about", GraphAsk, self.about, "GET", immutable=has_mark),
            Route("group", GroupAsk, self.group, "GET", immutable=has_mark),
            Route("groups", GroupsAsk, self.groups),
            Route("statistics", StatisticsAsk, self.statistics, "GET", immutable=has_mark),
            Route("paint", PaintAsk, self.paint, "GET", immutable=has_mark),
            Route("node", NodeAsk, self.node, "GET", immutable=has_mark),
            Route("changes", ChangesAsk, self.changes, "GET", immutable=has_mark),
            Route("search", SearchAsk, self.search, "GET", immutable=has_mark),
            Route("trace", TraceAsk, self.trace, "GET", immutable=has_mark),
            Route("path", PathAsk, self.path, "GET", immutable=has_mark),
            Route("file", FileAsk, self.file, "GET"),
            Route("upload", UploadAsk, self.upload, upload_bytes=_MOST_UPLOADED_BYTES),
        ]

    def prepare(self) -> None:
        self._library.prepare()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_copies(self.context, self._library, runs)

    def graphs(self, ask: Nothing) -> GraphsAnswer:
        """All graphs of the log, and those that were brought along since the server started."""
        return self._library.listing()

    def about(self, ask: GraphAsk) -> About:
        """A graph at a glance."""
        return tell_about(self._library.open(ask))

    def group(self, ask: GroupAsk) -> Group:
        """The children of an open group with the edges between and around them."""
        return show_group(self._library.open(ask), ask)

    def groups(self, ask: GroupsAsk) -> GroupsAnswer:
        """The same of several groups."""
        atlas = self._library.open(ask)
        asks = (GroupAsk(ask.id, group=group, fold=ask.fold, most=ask.most) for group in ask.groups)
        return GroupsAnswer([show_group(atlas, one) for one in asks])

    def statistics(self, ask: StatisticsAsk) -> Statistics:
        """What the graph can be coloured by, and which of its nodes are the largest."""
        return sum_up(self._library.open(ask), self._library.profile(ask, ask.profile))

    def paint(self, ask: PaintAsk) -> Paint:
        """How the children of a group are coloured."""
        atlas = self._library.open(ask)
        return paint_group(atlas, ask, self._library.profile(ask, ask.profile))

    def node(self, ask: NodeAsk) -> Node:
        """All that is known of a node or a group."""
        return show_node(self._library.open(ask), ask, self._library.profile(ask, ask.profile))

    def changes(self, ask: ChangesAsk) -> ChangesAnswer:
        """The nodes and edges in which two compared graphs differ."""
        return list_changes(self._library.open(ask), ask)

    def search(self, ask: SearchAsk) -> SearchAnswer:
        """Nodes and scopes in which all words of a query are found, bodies of functions included.

        A word may be in names, operations, shapes, types, devices or attributes; ``name:``,
        ``op:``, ``shape:``, ``dtype:``, ``device:`` or ``attr:`` before it says in which, and an
        asterisk in it stands for anything.
        """
        return search(self._library.open(ask), ask)

    def trace(self, ask: TraceAsk) -> TraceAnswer:
        """All that a node or group depends on, or all that depends on it."""
        return trace(self._library.open(ask), ask)

    def path(self, ask: PathAsk) -> PathAnswer:
        """The shortest way between two nodes or groups."""
        return find_path(self._library.open(ask), ask)

    def file(self, ask: FileAsk) -> Stream:
        """A graph, or a group of it, with all of its nodes: as JSON, or for Graphviz."""
        row = self._library.find_row(ask.id)
        title = "graph" if row is None else f"{row.run}-{row.title}"
        return make_file(self._library.open(ask), ask, title)

    def upload(self, ask: UploadAsk) -> GraphRow:
        """Look at a file: GraphDef (binary or text), SavedModel, ONNX or Keras. It is kept in
        memory until the server ends or eight others have come."""
        return self._library.add(ask.name, read_dropped(ask.name, ask.body), len(ask.body))
