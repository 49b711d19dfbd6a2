"""What the server itself answers under ``api/``; dashboards answer for themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

import tracklight
from tracklight.errors import UnknownRun
from tracklight.plugin_base import Nothing, Route
from tracklight.server.live import Live, Status
from tracklight.server.overview import Overview
from tracklight.server.plugins import Plugins
from tracklight.server.source import Source
from tracklight.server.surroundings import Surroundings, look_around
from tracklight.server.wire import FileRow, RunRow, TagRow, file_row, readable, tag_row


class RootRow(msgspec.Struct):
    """A log directory that is watched."""

    name: str
    path: str


class StatusAnswer(msgspec.Struct):
    """``found`` is what lies in the log directories, said only while there is no run."""

    version: str
    cursor: str
    roots: list[RootRow]
    status: Status
    found: list[Surroundings]


class RunsAnswer(msgspec.Struct):
    """All runs, as of ``cursor``."""

    cursor: str
    runs: list[RunRow]


class TagsAsk(msgspec.Struct):
    """Tags of this run, or of all."""

    run: str | None = None


class TagsAnswer(msgspec.Struct):
    """The tags of ``run``, or of all runs when that is null, as of ``cursor``."""

    cursor: str
    run: str | None
    tags: list[TagRow]


class NamesAsk(msgspec.Struct):
    """The tags that any of these runs has."""

    runs: list[str]


class NamesAnswer(msgspec.Struct):
    """Names of tags, of whatever kind, in the order in which tags are listed."""

    tags: list[str]


class FilesAsk(msgspec.Struct):
    """Files of this run, or of all; with ``damaged`` only those in which something is broken."""

    run: str | None = None
    damaged: bool = False


class FilesAnswer(msgspec.Struct):
    """Event files, run by run."""

    files: list[FileRow]


class DashboardRow(msgspec.Struct):
    """One tab; ``active`` when the log holds something for it to show.

    ``module_url`` is where its web half lies, relative to the page; null for tracklight's own.
    """

    name: str
    title: str
    plugins: list[str]
    active: bool
    module_url: str | None


class Api:
    """Answers that share the index, what is merged from it, and the live state.

    A cursor is always taken before the index is asked: what changes between the two is then told
    twice, never missed.
    """

    def __init__(self, source: Source, overview: Overview, live: Live, plugins: Plugins) -> None:
        self.source = source
        self.overview = overview
        self.live = live
        self.plugins = plugins

    def routes(self) -> list[Route]:
        return [
            Route("status", Nothing, self.status, "GET"),
            Route("dashboards", Nothing, self.dashboards, "GET"),
            Route("runs", Nothing, self.runs, "GET", self.live.state),
            Route("tags", TagsAsk, self.tags, "GET", self.live.state),
            Route("tags", NamesAsk, self.name_tags),
            Route("files", FilesAsk, self.files, "GET", self.live.state),
        ]

    def status(self, _: Nothing) -> StatusAnswer:
        """How the server stands: what it watches and how far it has read."""
        roots = self.source.roots
        return StatusAnswer(
            version=tracklight.__version__,
            cursor=self.live.history.cursor(),
            roots=[RootRow(root.name, readable(root.path)) for root in roots],
            status=self.live.status(),
            found=[] if self.overview.runs() else [look_around(root.path) for root in roots],
        )

    def dashboards(self, _: Nothing) -> list[DashboardRow]:
        """All dashboards, in the order of their tabs."""
        active = self.plugins.list_active(self.source, self.overview.tags())
        return [
            DashboardRow(
                name=name,
                title=found.title,
                plugins=list(found.plugins),
                active=found in active,
                module_url=f"plugins/{name}/index.js" if found.web_dir else None,
            )
            for name, found in self.plugins.found.items()
        ]

    def runs(self, _: Nothing) -> RunsAnswer:
        """All runs with their counts, in natural order."""
        cursor = self.live.history.cursor()
        return RunsAnswer(cursor, list(self.overview.runs().values()))

    def tags(self, ask: TagsAsk) -> TagsAnswer:
        """The tags of one run, or of all runs together."""
        cursor = self.live.history.cursor()
        if ask.run is None:
            rows = [tag_row(shared) for shared in self.overview.tags()]
        else:
            rows = self.overview.tags_of(ask.run)
        return TagsAnswer(cursor, ask.run, rows)

    def name_tags(self, ask: NamesAsk) -> NamesAnswer:
        """The names of the tags that any of some runs has."""
        chosen = frozenset(ask.runs)
        found = (it.tag for it in self.overview.tags() if not chosen.isdisjoint(it.runs))
        return NamesAnswer([*dict.fromkeys(found)])

    def files(self, ask: FilesAsk) -> FilesAnswer:
        """Event files with their damage."""
        if ask.run is None:
            runs = self.overview.runs().values()
            names = [row.name for row in runs if row.damaged or not ask.damaged]
            rows = _iter_files(self.source, names)
        else:
            rows = (file_row(ask.run, info) for info in self.source.files(ask.run))
        return FilesAnswer([row for row in rows if row.damaged or not ask.damaged])


def _iter_files(source: Source, runs: Iterable[str]) -> Iterator[FileRow]:
    """The files of some runs; runs that vanish meanwhile are passed over."""
    for name in runs:
        try:
            files = source.files(name)
        except UnknownRun:
            continue
        yield from (file_row(name, info) for info in files)
