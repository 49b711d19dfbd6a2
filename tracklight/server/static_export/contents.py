"""A log with only some of its runs and tags."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, cast

import msgspec

import tracklight
from tracklight.analysis.source import Empty
from tracklight.errors import LogError
from tracklight.server.alerts.monitor import AlertsResponse
from tracklight.server.api import (
    ColumnListResponse,
    ColumnsRequest,
    ColumnsResponse,
    DashboardRow,
    FilesResponse,
    NotesResponse,
    RootRow,
    RunsResponse,
    RunTableApi,
    StatusResponse,
    TagsResponse,
)
from tracklight.server.events import LoadStatus
from tracklight.server.notes import NotesStore, RunNote
from tracklight.server.plugins import DashboardEntry, DashboardRegistry, create_static_context
from tracklight.server.source import (
    FileRow,
    LogOverview,
    LogSource,
    make_file_row,
    make_progress_row,
    make_tag_row,
    to_valid_unicode,
)
from tracklight.server.static_export.view import PageView
from tracklight.types import CaptureFile, RunInfo, SharedTag, TagInfo
from tracklight.util.user_dirs import get_notes_path


class FilteredSource:
    """Lists only the chosen runs and tags; whatever else is asked for comes from the whole log.

    So hyperparameters that a run has from one above it are found, whether that one is chosen
    or not.
    """

    def __init__(self, source: LogSource, runs: Container[str], tags: Container[str]) -> None:
        self._source = source
        self._runs = runs
        self._tags = tags

    def runs(self) -> tuple[RunInfo, ...]:
        return tuple(run for run in self._source.runs() if run.name in self._runs)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return tuple(info for info in self._source.tags(run) if info.tag in self._tags)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        shared = self._source.shared_tags(runs)
        return tuple(tag for tag in shared if tag.tag in self._tags)

    def captures(self) -> tuple[CaptureFile, ...]:
        return tuple(it for it in self._source.captures() if it.run in self._runs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


# What a copy of a board is made of: answers, each under the address a page asks for it.

log = logging.getLogger(__name__)

_CURSOR = "copy"

#: A table has no room for more; a log of ten thousand tags would make a copy heavy with them.
_MAX_TABLE_COLUMNS = 1000

_EMPTY_ALERTS = AlertsResponse([], [], False)


class TagRuns(msgspec.Struct):
    """Which runs have a tag: the place in ``sets``, as many tags are had by the same runs."""

    sets: list[list[str]]
    tags: dict[str, int]


class ExportHead(msgspec.Struct):
    """What every copy begins with: the view, and the answers that any page asks for at first."""

    made: float
    view: str
    answers: dict[str, object]
    columns: ColumnsResponse
    """Every column of the table of runs."""
    tag_runs: TagRuns


class ExportContents:
    """The copy of one view of a log, with no other runs and tags than these."""

    def __init__(
        self, source: LogSource, view: PageView, runs: Container[str], tags: Container[str]
    ) -> None:
        book = NotesStore(get_notes_path(root.path for root in source.roots)).read()
        rows = [row for row in LogOverview(source).runs().values() if row.name in runs]
        self.runs = view.select_runs(rows, book.runs)
        if not self.runs and (rows or not source.tensor_files()):
            raise LogError("this view shows no run, so there is nothing to copy")
        self._view = view
        listed = {row.name for row in rows} if view.compares_runs else set(self.runs)
        self._table = cast(LogSource, FilteredSource(source, listed, tags))
        self._source = cast(LogSource, FilteredSource(source, frozenset(self.runs), tags))
        self._overview = LogOverview(self._source)
        self._registry = DashboardRegistry(
            create_static_context(self._source, self._overview, _CURSOR)
        )
        self._notes = NotesResponse(
            revision=book.revision,
            runs=_select_notes(book.runs, self.runs, listed),
            annotations=book.annotations,
            layouts=book.layouts,
            alerts=_EMPTY_ALERTS,
        )

    def build_head(self, copied: Iterable[str]) -> ExportHead:
        """``copied`` names the dashboards that have something in the copy."""
        table = LogOverview(self._table)
        columns = RunTableApi(self._table, table)
        there = columns.list_columns(Empty())
        answers: dict[str, object] = {
            "api/status": self._build_status(),
            "api/runs": RunsResponse(_CURSOR, list(table.runs().values())),
            "api/tags": TagsResponse(_CURSOR, None, [*map(make_tag_row, self._overview.tags())]),
            "api/files?damaged=1": FilesResponse(self._list_damaged_files()),
            "api/dashboards": self._list_dashboards(frozenset(copied)),
            "api/notes": self._notes,
            "api/runs/columns": there,
        }
        return ExportHead(
            made=time.time(),
            view=self._view.search,
            answers=answers,
            columns=_read_all_columns(columns, there),
            tag_runs=_group_runs_by_tag(self._overview.tags()),
        )

    def iter_parts(self) -> Iterator[tuple[str, str, object]]:
        """Yield what dashboards export: the name of the dashboard, the URL and the response."""
        for name, found in self._registry.entries.items():
            if found.web_dir is None:
                parts = found.get_dashboard().export_static(self.runs)
            else:
                parts = _export_plugin(found, self.runs)
            for path, response in parts:
                yield name, f"api/{name}/{path}", response

    def _build_status(self) -> StatusResponse:
        """Where the log lies on this machine is nobody else's business."""
        roots = [
            RootRow(root.name, to_valid_unicode(PurePath(root.path).name))
            for root in self._source.roots
        ]
        status = LoadStatus(False, make_progress_row(self._source.progress), [], 0)
        return StatusResponse(tracklight.__version__, _CURSOR, roots, status, [])

    def _list_dashboards(self, copied: frozenset[str]) -> list[DashboardRow]:
        return [
            DashboardRow(
                name=name,
                title=found.title,
                plugins=list(found.plugins),
                active=name in copied,
                module_url=embed_module(found.web_dir) if name in copied else None,
            )
            for name, found in self._registry.entries.items()
        ]

    def _list_damaged_files(self) -> list[FileRow]:
        rows = (make_file_row(run, info) for run in self.runs for info in self._source.files(run))
        return [msgspec.structs.replace(r, path=PurePath(r.path).name) for r in rows if r.damaged]


def _export_plugin(found: DashboardEntry, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
    """Return the export of a third-party dashboard; nothing, and a warning, if it fails."""
    try:
        return list(found.get_dashboard().export_static(runs))
    except Exception as error:
        log.warning(
            "the dashboard %s is left out: %s (%s)", found.name, error, type(error).__name__
        )
        return ()


def _group_runs_by_tag(tags: Iterable[SharedTag]) -> TagRuns:
    runs: dict[str, tuple[str, ...]] = {}
    for shared in tags:
        runs[shared.tag] = (*runs.get(shared.tag, ()), *shared.runs)
    places = {names: place for place, names in enumerate(dict.fromkeys(runs.values()))}
    return TagRuns([[*names] for names in places], {tag: places[it] for tag, it in runs.items()})


def _select_notes(
    notes: Mapping[str, RunNote], copied: Iterable[str], listed: Iterable[str]
) -> dict[str, RunNote]:
    """Those on runs that are copied. Others, on which colours depend, are listed but not seen."""
    picked = {run: notes[run] for run in copied if run in notes}
    hidden = dict.fromkeys(set(listed).difference(copied), RunNote(hidden=True))
    return picked | hidden


def _read_all_columns(columns: RunTableApi, there: ColumnListResponse) -> ColumnsResponse:
    keys = [f"hparam:{column.name}" for column in there.hparams]
    keys += [f"{kind}:{tag}" for tag in there.metrics for kind in ("last", "min", "max")]
    return columns.read_columns(ColumnsRequest(keys[:_MAX_TABLE_COLUMNS]))


def embed_module(web_dir: Path | None) -> str | None:
    """Return the ``index.js`` of a plugin as a data URL, as pages opened from a file may not import
    other files; None for dashboards that are part of the page."""
    if web_dir is None:
        return None
    program = base64.b64encode((web_dir / "index.js").read_bytes()).decode("ascii")
    return f"data:text/javascript;base64,{program}"
