"""What a static export contains: responses, each under the URL at which the page requests it."""

from __future__ import annotations

import base64
import logging
import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, cast

import msgspec

import tracklight
from tracklight.analysis.derived_metrics.derived_log import DerivedLog
from tracklight.analysis.source import NO_ACCESS, DataAccess, Empty
from tracklight.errors import LogError
from tracklight.server.alerts.monitor import AlertsResponse
from tracklight.server.api import (
    DashboardRow,
    FilesResponse,
    RootRow,
    RunsResponse,
    StatusResponse,
    TagsResponse,
)
from tracklight.server.events import LoadStatus
from tracklight.server.notes import NotesResponse, NotesStore, RunNote
from tracklight.server.plugins import DashboardEntry, DashboardRegistry, create_static_context
from tracklight.server.routing import API_PREFIX
from tracklight.server.run_table.run_columns import (
    ColumnListResponse,
    ColumnsRequest,
    ColumnsResponse,
    RunColumnsApi,
)
from tracklight.server.source import (
    FileRow,
    LogOverview,
    LogSource,
    make_file_row,
    make_progress_row,
    make_tag_row,
    to_valid_unicode,
)
from tracklight.server.static_export.run_colors import assign_run_colors
from tracklight.server.static_export.view import PageView
from tracklight.types import CaptureFile, DebugEventFile, RunInfo, SharedTag, TagInfo
from tracklight.util.user_dirs import get_notes_path

log = logging.getLogger(__name__)

_CURSOR = "static"
#: Limits the size of exports of logs with thousands of tags.
_MAX_TABLE_COLUMNS = 1000
_EMPTY_ALERTS = AlertsResponse([], [], False)


class TagRuns(msgspec.Struct):
    """Which runs have a tag: an index into ``sets``, as many tags have the same runs."""

    sets: list[list[str]]
    tags: dict[str, int]


class ExportHead(msgspec.Struct):
    """What the page of an export loads first: the view, and responses that every view needs."""

    created: float
    view: str
    responses: dict[str, object]
    columns: ColumnsResponse
    """All columns of the run table."""
    run_colors: dict[str, str]
    """Colors of exported runs that depend on the other runs of the log."""
    tag_runs: TagRuns


class ExportContents:
    """The contents of the export of one view.

    Args:
        source: The log.
        view: The view to export.
        runs: Runs that may be exported.
        tags: Tags that may be exported.
        access: What dashboards may read besides the log.

    Raises:
        LogError: The view shows no runs.
    """

    def __init__(
        self,
        source: LogSource,
        view: PageView,
        runs: Container[str],
        tags: Container[str],
        access: DataAccess = NO_ACCESS,
    ) -> None:
        notes = NotesStore(get_notes_path(root.path for root in source.roots)).read()
        source = cast(LogSource, DerivedLog(source, lambda: notes.metrics))
        all_rows = list(LogOverview(source).runs().values())
        rows = [row for row in all_rows if row.name in runs]
        self.runs = view.select_runs(rows, notes.runs)
        has_files = (
            source.tensor_files()
            or source.evaluation_files()
            or source.study_files()
            or access.data_dirs
        )
        if not self.runs and (rows or not has_files):
            raise LogError(
                "export.no_runs", "this view shows no runs, so there is nothing to export"
            )
        self._view = view
        colors = assign_run_colors(all_rows)
        self._run_colors = {run: colors[run] for run in self.runs if run in colors}
        listed = {row.name for row in rows} if view.compares_runs else set(self.runs)
        self._table_source = cast(LogSource, FilteredSource(source, listed, tags))
        self._source = cast(LogSource, FilteredSource(source, frozenset(self.runs), tags))
        self._overview = LogOverview(self._source)
        self._registry = DashboardRegistry(
            create_static_context(self._source, self._overview, _CURSOR, access, view.params)
        )
        self._notes = NotesResponse(
            revision=notes.revision,
            runs=_select_notes(notes.runs, self.runs, listed),
            annotations=notes.annotations,
            layouts=notes.layouts,
            metrics=notes.metrics,
            alerts=_EMPTY_ALERTS,
        )

    def build_head(self, exported: Iterable[str]) -> ExportHead:
        """Build the head; ``exported`` are the names of the dashboards that have contents."""
        overview = LogOverview(self._table_source)
        table = RunColumnsApi(self._table_source, overview)
        columns = table.list_columns(Empty())
        responses: dict[str, object] = {
            "status": self._build_status(),
            "runs": RunsResponse(_CURSOR, list(overview.runs().values())),
            "tags": TagsResponse(_CURSOR, None, [*map(make_tag_row, self._overview.tags())]),
            "files?damaged=1": FilesResponse(self._list_damaged_files()),
            "dashboards": self._list_dashboards(frozenset(exported)),
            "notes": self._notes,
            "runs/columns": columns,
        }
        return ExportHead(
            created=time.time(),
            view=self._view.search,
            responses={f"{API_PREFIX}/{path}": response for path, response in responses.items()},
            columns=_read_all_columns(table, columns),
            run_colors=self._run_colors,
            tag_runs=_group_runs_by_tag(self._overview.tags()),
        )

    def iter_parts(self) -> Iterator[tuple[str, str, object]]:
        """Yield what dashboards export: the name of the dashboard, the URL and the response."""
        for name, entry in self._registry.entries.items():
            if entry.web_dir is None:
                parts = entry.get_dashboard().export_static(self.runs)
            else:
                parts = _export_plugin(entry, self.runs)
            for path, response in parts:
                yield name, f"{API_PREFIX}/{name}/{path}", response

    def _build_status(self) -> StatusResponse:
        # Only the last part of paths: where the log is on this machine is private.
        roots = [
            RootRow(root.name, to_valid_unicode(PurePath(root.path).name))
            for root in self._source.roots
        ]
        status = LoadStatus(False, make_progress_row(self._source.progress), [], 0)
        return StatusResponse(tracklight.__version__, _CURSOR, roots, status, [], read_only=True)

    def _list_dashboards(self, exported: frozenset[str]) -> list[DashboardRow]:
        return [
            DashboardRow(
                name=name,
                title=entry.title,
                plugins=list(entry.plugins),
                active=name in exported,
                module_url=embed_module(entry.web_dir) if name in exported else None,
            )
            for name, entry in self._registry.entries.items()
        ]

    def _list_damaged_files(self) -> list[FileRow]:
        rows = (make_file_row(run, info) for run in self.runs for info in self._source.files(run))
        return [
            msgspec.structs.replace(row, path=PurePath(row.path).name)
            for row in rows
            if row.damaged
        ]


class FilteredSource:
    """A log that lists only some of its runs and tags.

    Everything else comes from the whole log, so that runs inherit hyperparameters also from runs
    that are not exported.
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
        return tuple(file for file in self._source.captures() if file.run in self._runs)

    def debug_files(self) -> tuple[DebugEventFile, ...]:
        return tuple(file for file in self._source.debug_files() if file.run in self._runs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def embed_module(web_dir: Path | None) -> str | None:
    """Return the ``index.js`` of a plugin as a data URL; None for built-in dashboards.

    Pages opened from a file must not import other files.
    """
    if web_dir is None:
        return None
    module = base64.b64encode((web_dir / "index.js").read_bytes()).decode("ascii")
    return f"data:text/javascript;base64,{module}"


def _export_plugin(entry: DashboardEntry, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
    """Return the export of a third-party dashboard; nothing, and a warning, if it fails."""
    try:
        return list(entry.get_dashboard().export_static(runs))
    except Exception as error:
        reason = f"{error} ({type(error).__name__})"
        log.warning("the dashboard %s is not exported: %s", entry.name, reason)
        return ()


def _group_runs_by_tag(tags: Iterable[SharedTag]) -> TagRuns:
    runs: dict[str, tuple[str, ...]] = {}
    for shared in tags:
        runs[shared.tag] = (*runs.get(shared.tag, ()), *shared.runs)
    index = {names: i for i, names in enumerate(dict.fromkeys(runs.values()))}
    return TagRuns(
        [[*names] for names in index], {tag: index[names] for tag, names in runs.items()}
    )


def _select_notes(
    notes: Mapping[str, RunNote], exported: Iterable[str], listed: Iterable[str]
) -> dict[str, RunNote]:
    """Return the notes on exported runs, and hide the runs that are listed only for colors."""
    selected = {run: notes[run] for run in exported if run in notes}
    hidden = dict.fromkeys(set(listed).difference(exported), RunNote(hidden=True))
    return selected | hidden


def _read_all_columns(table: RunColumnsApi, columns: ColumnListResponse) -> ColumnsResponse:
    keys = [f"hparam:{column.name}" for column in columns.hparams]
    keys += [f"{kind}:{tag}" for tag in columns.metrics for kind in ("last", "min", "max")]
    return table.read_columns(ColumnsRequest(keys[:_MAX_TABLE_COLUMNS]))
