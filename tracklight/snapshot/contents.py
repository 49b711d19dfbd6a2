"""What a copy of a board is made of: answers, each under the address a page asks for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import cast

import msgspec

import tracklight
from tracklight.errors import LogError
from tracklight.notes.book import RunNote
from tracklight.notes.place import find_book
from tracklight.notes.store import Store
from tracklight.plugin_base import Nothing
from tracklight.server.alerts import AlertsAnswer
from tracklight.server.api import (
    DashboardRow,
    FilesAnswer,
    RootRow,
    RunsAnswer,
    StatusAnswer,
    TagsAnswer,
)
from tracklight.server.context import make_context
from tracklight.server.live import Status
from tracklight.server.notes import NotesAnswer
from tracklight.server.overview import Overview
from tracklight.server.plugins import Found, Plugins
from tracklight.server.run_columns import ColumnsAnswer, ColumnsAsk, ColumnsThere, RunColumns
from tracklight.server.source import Source
from tracklight.server.wire import FileRow, file_row, progress_row, readable, tag_row
from tracklight.snapshot.excerpt import Excerpt
from tracklight.snapshot.page import embed_module
from tracklight.snapshot.view import View
from tracklight.types import SharedTag

log = logging.getLogger(__name__)

_CURSOR = "copy"
#: A table has no room for more; a log of ten thousand tags would make a copy heavy with them.
_MOST_COLUMNS = 1000
_NO_ALERTS = AlertsAnswer([], [], False)


class TagRuns(msgspec.Struct):
    """Which runs have a tag: the place in ``sets``, as many tags are had by the same runs."""

    sets: list[list[str]]
    tags: dict[str, int]


class Head(msgspec.Struct):
    """What every copy begins with: the view, and the answers that any page asks for at first."""

    made: float
    view: str
    answers: dict[str, object]
    columns: ColumnsAnswer
    """Every column of the table of runs."""
    tag_runs: TagRuns


class Contents:
    """The copy of one view of a log, with no other runs and tags than these."""

    def __init__(
        self, source: Source, view: View, runs: Container[str], tags: Container[str]
    ) -> None:
        book = Store(find_book(root.path for root in source.roots)).read()
        rows = [row for row in Overview(source).runs().values() if row.name in runs]
        self.runs = view.choose(rows, book.runs)
        if not self.runs and (rows or not source.tensor_files()):
            raise LogError("this view shows no run, so there is nothing to copy")
        self._view = view
        listed = {row.name for row in rows} if view.compares_runs else set(self.runs)
        self._table = cast(Source, Excerpt(source, listed, tags))
        self._source = cast(Source, Excerpt(source, frozenset(self.runs), tags))
        self._overview = Overview(self._source)
        self._plugins = Plugins(make_context(self._source, self._overview, _CURSOR))
        self._notes = NotesAnswer(
            revision=book.revision,
            runs=_pick_notes(book.runs, self.runs, listed),
            annotations=book.annotations,
            layouts=book.layouts,
            alerts=_NO_ALERTS,
        )

    def head(self, copied: Iterable[str]) -> Head:
        """``copied`` names the dashboards that have something in the copy."""
        table = Overview(self._table)
        columns = RunColumns(self._table, table)
        there = columns.list_columns(Nothing())
        answers: dict[str, object] = {
            "api/status": self._status(),
            "api/runs": RunsAnswer(_CURSOR, list(table.runs().values())),
            "api/tags": TagsAnswer(_CURSOR, None, [*map(tag_row, self._overview.tags())]),
            "api/files?damaged=1": FilesAnswer(self._damaged()),
            "api/dashboards": self._dashboards(frozenset(copied)),
            "api/notes": self._notes,
            "api/runs/columns": there,
        }
        return Head(
            made=time.time(),
            view=self._view.search,
            answers=answers,
            columns=_read_all(columns, there),
            tag_runs=_collect_runs(self._overview.tags()),
        )

    def iter_parts(self) -> Iterator[tuple[str, str, object]]:
        """Yield what dashboards export: the name of the dashboard, the URL and the response."""
        for name, found in self._plugins.found.items():
            if found.web_dir is None:
                parts = found.get_dashboard().export_static(self.runs)
            else:
                parts = _export_plugin(found, self.runs)
            for path, response in parts:
                yield name, f"api/{name}/{path}", response

    def _status(self) -> StatusAnswer:
        """Where the log lies on this machine is nobody else's business."""
        roots = [
            RootRow(root.name, readable(PurePath(root.path).name)) for root in self._source.roots
        ]
        status = Status(False, progress_row(self._source.progress), [], 0)
        return StatusAnswer(tracklight.__version__, _CURSOR, roots, status, [])

    def _dashboards(self, copied: frozenset[str]) -> list[DashboardRow]:
        return [
            DashboardRow(
                name=name,
                title=found.title,
                plugins=list(found.plugins),
                active=name in copied,
                module_url=embed_module(found.web_dir) if name in copied else None,
            )
            for name, found in self._plugins.found.items()
        ]

    def _damaged(self) -> list[FileRow]:
        rows = (file_row(run, info) for run in self.runs for info in self._source.files(run))
        return [msgspec.structs.replace(r, path=PurePath(r.path).name) for r in rows if r.damaged]


def _export_plugin(found: Found, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
    """Return the export of a third-party dashboard; nothing, and a warning, if it fails."""
    try:
        return list(found.get_dashboard().export_static(runs))
    except Exception as error:
        log.warning(
            "the dashboard %s is left out: %s (%s)", found.name, error, type(error).__name__
        )
        return ()


def _collect_runs(tags: Iterable[SharedTag]) -> TagRuns:
    runs: dict[str, tuple[str, ...]] = {}
    for shared in tags:
        runs[shared.tag] = (*runs.get(shared.tag, ()), *shared.runs)
    places = {names: place for place, names in enumerate(dict.fromkeys(runs.values()))}
    return TagRuns([[*names] for names in places], {tag: places[it] for tag, it in runs.items()})


def _pick_notes(
    notes: Mapping[str, RunNote], copied: Iterable[str], listed: Iterable[str]
) -> dict[str, RunNote]:
    """Those on runs that are copied. Others, on which colours depend, are listed but not seen."""
    picked = {run: notes[run] for run in copied if run in notes}
    hidden = dict.fromkeys(set(listed).difference(copied), RunNote(hidden=True))
    return picked | hidden


def _read_all(columns: RunColumns, there: ColumnsThere) -> ColumnsAnswer:
    keys = [f"hparam:{column.name}" for column in there.hparams]
    keys += [f"{kind}:{tag}" for tag in there.metrics for kind in ("last", "min", "max")]
    return columns.read_columns(ColumnsAsk(keys[:_MOST_COLUMNS]))
