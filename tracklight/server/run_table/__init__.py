"""The table of runs: which columns there are, and queries over all of its rows.

`run_columns` reads hyperparameters, metrics and which runs are running, `table` puts all columns of
a run together, `filter_expression` and `queries` select, sort and group rows, and `run_details`
reads one run. Rows are encoded as columns of numbers, which NumPy filters and sorts at once; a
response contains one page of rows only.

This module has the routes ``runs/table``, ``runs/export`` and ``runs/list``. `RunTableApi` returns
pages of rows, and the whole table as a file. `RunListApi` is the runs panel of a log whose runs the
page does not have: a `RunQuery` describes which runs match the filter, in which order and groups
they are listed, and which of them are selected. The response has one page of the list, or the first
selected runs.

Imports nothing from the rest of the server except the log, its notes and export formats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from tracklight.analysis.source import Empty, GroupQuery, RunQuery
from tracklight.plugin import Blob, Route
from tracklight.server.notes import NotesDocument, RunNote
from tracklight.server.run_table.run_columns import Cell, RunColumnsApi, make_cell
from tracklight.server.source import LogOverview, LogSource, RunRow, RunTotals
from tracklight.types import Int64
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    from tracklight.server.run_table.queries import Groups, PageRow, QueryResult
    from tracklight.server.run_table.table import ColumnKind, RunTable, RunTableStore, TableColumn


MAX_PAGE_ROWS = 1000
_PREPARED_HPARAMS, _PREPARED_METRICS = 12, 8


_Keys = Annotated[list[str], msgspec.Meta(max_length=300)]
_SortKeys = Annotated[list[str], msgspec.Meta(max_length=8)]
_GroupKeys = Annotated[list[str], msgspec.Meta(max_length=3)]


class RunFilterRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Which runs, and in which order.

    ``filter`` is an expression such as ``state = running and lr < 0.1``. ``sort`` are keys of
    columns, the most important first, with a minus for descending order.
    """

    filter: str = ""
    show_hidden: bool = False
    sort: _SortKeys = []


class RunTableRequest(RunFilterRequest):
    """A page of the table of runs.

    ``columns`` are keys: ``name``, ``state``, ``start``, ``updated``, ``duration``, ``labels``,
    ``note``, ``host``, ``user``, ``commit``, ``command``, ``error``, ``alias``, ``points``,
    ``tags``, ``bytes``, ``hparam:NAME``, ``last:TAG``, ``min:TAG``, ``max:TAG``, ``step:TAG`` (of
    the last value) or ``at:STEP:TAG`` (the last value up to a step). With ``group_by``, rows are
    groups of runs with the same values, and the runs of the groups in ``expanded``. ``aggregate``
    tells how numbers of a group are combined.
    """

    columns: _Keys = []
    group_by: _GroupKeys = []
    expanded: Annotated[list[str], msgspec.Meta(max_length=1000)] = []
    aggregate: Literal["mean", "median", "min", "max", "sum"] = "mean"
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_ROWS)] = 200


class RunExportRequest(RunFilterRequest, kw_only=True):
    """The table as a file, with these columns; without any, with all that have values."""

    format: Literal["csv", "json", "parquet"]
    columns: _Keys = []


class RunTableColumn(msgspec.Struct):
    """A column of the response. Times are in seconds since 1970, durations in seconds."""

    key: str
    kind: Literal["text", "number", "bool", "mixed", "labels", "time", "duration", "bytes", "state"]


class GroupValue(msgspec.Struct):
    """The value of a group in a column that the rows are grouped by."""

    key: str
    value: Cell


class RunTableGroup(msgspec.Struct):
    """A group of runs. ``distinct`` is, for each column, the number of different values."""

    id: str
    values: list[GroupValue]
    runs: int
    expanded: bool
    distinct: list[int]


class RunTableRow(msgspec.Struct):
    """A run, or a group, which has no ``name``. ``cells`` are in the order of the columns.

    In a group, the cell of a column of numbers is their aggregate, and that of other columns the
    value that all runs of the group have, or null.
    """

    name: str | None
    note: RunNote | None
    group: RunTableGroup | None
    cells: list[Cell]


class RunTableResponse(msgspec.Struct):
    """One page of rows.

    ``total`` counts the rows of all pages, ``matched`` the runs that match the filter, ``runs`` all
    runs. ``states`` counts the matching runs by state. ``updating`` means that the log has changed
    since, and that another request will get the change.
    """

    total: int
    matched: int
    runs: int
    hidden: int
    states: dict[str, int]
    columns: list[RunTableColumn]
    rows: list[RunTableRow]
    updating: bool


class RunNamesResponse(msgspec.Struct):
    """The names of all matching runs, in order."""

    names: list[str]


class RunTableApi:
    """The routes below ``runs`` that query the table. Their code is loaded on the first request.

    Args:
        source: The log.
        overview: The runs and tags of the log.
        columns: The columns that are read from the log.
        read_notes: Returns the current notes.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        columns: RunColumnsApi,
        read_notes: Callable[[], NotesDocument],
    ) -> None:
        self._source = source
        self._overview = overview
        self._columns = columns
        self._read_notes = read_notes
        self._store: RunTableStore | None = None

    def routes(self) -> Sequence[Route]:
        return [
            Route("runs/table", RunTableRequest, self.read_page),
            Route("runs/names", RunFilterRequest, self.list_names),
            Route("runs/export", RunExportRequest, self.export),
        ]

    def prepare(self) -> None:
        """Read what every request needs, so that the first ones are fast in a large log."""
        table = self.get_table()
        available = self._columns.list_columns(Empty())
        hparams = [f"hparam:{column.name}" for column in available.hparams]
        metrics = [f"last:{tag}" for tag in available.metrics]
        # The columns that the page shows if none were chosen, and those by which runs are found.
        keys = [*hparams[:_PREPARED_HPARAMS], *metrics[:_PREPARED_METRICS]]
        for key in [*keys, "host", "user", "commit", "command"]:
            table.find_column(key)

    def read_page(self, request: RunTableRequest) -> RunTableResponse:
        """Return a page of the table of runs, filtered, sorted and grouped."""
        from tracklight.server.run_table import queries

        table = self.get_table()
        rows = _select(table, request)
        sort = [queries.SortKey.parse(text) for text in request.sort]
        ordered = queries.sort_rows(table, rows, sort)
        if request.group_by:
            columns = [table.get_column(key) for key in request.columns]
            kinds = [column.kind for column in columns]
            groups = queries.group_rows(table, ordered, request.group_by, sort, request.aggregate)
            expanded = frozenset(request.expanded)
            page, total = queries.take_page(groups, expanded, request.offset, request.limit)
            page_rows = _make_grouped_rows(table, columns, groups, page, request)
        else:
            total = len(ordered)
            taken = ordered[request.offset : request.offset + request.limit]
            page_rows, kinds = _make_rows(table, request.columns, taken)
        return RunTableResponse(
            total=total,
            matched=len(rows),
            runs=len(table),
            hidden=int(table.get_column("hidden").values.sum()),
            states=_count_states(table, rows),
            columns=[
                RunTableColumn(key, kind) for key, kind in zip(request.columns, kinds, strict=True)
            ],
            rows=page_rows,
            updating=not table.is_current,
        )

    def list_names(self, request: RunFilterRequest) -> RunNamesResponse:
        """Return the names of all runs that match a filter, in order."""
        table = self.get_table()
        return RunNamesResponse([table.names[row] for row in _order(table, request).tolist()])

    def export(self, request: RunExportRequest) -> Blob:
        """Return the matching runs as a file."""
        from tracklight.server.run_table.queries import export_table

        table = self.get_table()
        return export_table(table, _order(table, request), request.columns, request.format)

    def get_table(self, must_have: Iterable[str] = ()) -> RunTable:
        """Return the table of runs, which has these runs if they exist."""
        if self._store is None:
            from tracklight.server.run_table.table import RunTableStore

            columns = self._columns
            self._store = RunTableStore(
                self._source, self._overview, columns.hparams, columns.metrics, self._read_notes
            )
        return self._store.get_table(must_have)


def _select(table: RunTable, request: RunFilterRequest) -> Int64:
    from tracklight.server.run_table.queries import select_rows

    return select_rows(table, request.filter, request.show_hidden)


def _order(table: RunTable, request: RunFilterRequest) -> Int64:
    from tracklight.server.run_table.queries import SortKey, sort_rows

    sort = [SortKey.parse(text) for text in request.sort]
    return sort_rows(table, _select(table, request), sort)


def _count_states(table: RunTable, rows: Int64) -> dict[str, int]:
    import numpy as np

    column = table.get_column("state")
    counts = np.bincount(column.values[rows].astype(np.int64), minlength=len(column.categories))
    return {
        state: count
        for state, count in zip(column.categories, counts.tolist(), strict=True)
        if count
    }


def _make_rows(
    table: RunTable, keys: Sequence[str], rows: Int64
) -> tuple[list[RunTableRow], list[ColumnKind]]:
    """Return rows and the kinds of their columns."""
    columns = [table.read_cells(key, rows) for key in keys]
    cells = [[make_cell(value) for value in values] for _, values in columns]
    page_rows = [
        RunTableRow(table.names[row], table.get_note(row), None, [column[at] for column in cells])
        for at, row in enumerate(rows.tolist())
    ]
    return page_rows, [kind for kind, _ in columns]


def _make_grouped_rows(
    table: RunTable,
    columns: Sequence[TableColumn],
    groups: Groups,
    page: Sequence[PageRow],
    request: RunTableRequest,
) -> list[RunTableRow]:
    import numpy as np

    runs = np.array([row.run for row in page if row.run is not None], np.int64)
    run_rows = iter(_make_rows(table, request.columns, runs)[0])
    numbers = [row.group for row in page if row.run is None and row.group is not None]
    group_rows = iter(_make_group_rows(columns, groups, numbers, request))
    return [next(group_rows if row.run is None else run_rows) for row in page]


def _make_group_rows(
    columns: Sequence[TableColumn],
    groups: Groups,
    numbers: Sequence[int],
    request: RunTableRequest,
) -> list[RunTableRow]:
    from tracklight.server.run_table.queries import aggregate_column, summarize_texts

    members = [groups.members[number] for number in numbers]
    cells: list[list[Cell]] = []
    distinct: list[list[int]] = []
    for column in columns:
        summaries = [summarize_texts(column, rows) for rows in members]
        distinct.append([count for _, count in summaries])
        if column.kind in ("number", "time", "duration", "bytes"):
            values = aggregate_column(column, members, request.aggregate).tolist()
            cells.append([None if math.isnan(value) else value for value in values])
        else:
            cells.append([make_cell(value) for value, _ in summaries])
    return [
        RunTableRow(
            None,
            None,
            RunTableGroup(
                groups.ids[number],
                [
                    GroupValue(key, make_cell(value))
                    for key, value in zip(request.group_by, groups.labels[number], strict=True)
                ],
                len(members[at]),
                groups.ids[number] in request.expanded,
                [counts[at] for counts in distinct],
            ),
            [column[at] for column in cells],
        )
        for at, number in enumerate(numbers)
    ]


# ---- the list of runs

#: Groups that are listed beside the selected runs; more bands in a chart are not readable.
_MAX_GROUPS = 200

_ExpandedKeys = Annotated[list[str], msgspec.Meta(max_length=1000)]


class RunListRequest(RunQuery, kw_only=True):
    """A page of the list of runs, with the cells of some columns.

    With ``group_by``, rows are groups, and the runs of the groups in ``expanded``. With
    ``selected_only``, rows are the selected runs. Those of a page are in the order of their groups,
    but a page has the first runs of all groups.
    """

    columns: _Keys = msgspec.field(default_factory=list)
    expanded: _ExpandedKeys = msgspec.field(default_factory=list)
    selected_only: bool = False
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_PAGE_ROWS)] = 200


class RunListGroup(msgspec.Struct):
    """A group of matching runs.

    ``key`` is empty for runs without a value. ``position`` is that among all groups in natural
    order, which determines the color. ``splits`` are the kinds of data that the names of its
    selected runs tell. ``mean`` and ``std`` are those of the ``count`` finite numbers of the column
    that the list is sorted by.
    """

    key: str
    value: Cell
    runs: int
    selected: int
    position: int
    splits: list[str]
    count: int
    mean: float | None
    std: float | None


class RunListRow(msgspec.Struct):
    """A run with the key of its group, or a group, whose ``run`` is null.

    ``selected`` tells whether the rule of the selection and the groups in it select the run,
    whether or not the run itself is selected or deselected.
    """

    run: RunRow | None
    group: RunListGroup | None
    key: str | None
    selected: bool
    cells: list[Cell]


class RunListResponse(msgspec.Struct):
    """One page of rows.

    ``total`` counts the rows of all pages, ``matched`` the runs that match the filter, ``selected``
    those of them that are selected, ``hidden`` all hidden runs. ``common_folder`` is the folder
    that all runs are in, and ``totals`` are those of all runs. ``groups`` are those with selected
    runs, if only these were requested; if runs are not grouped, it is one of all of them.
    ``updating`` means that the log has changed since, and that another request will get the change.
    """

    total: int
    matched: int
    selected: int
    hidden: int
    common_folder: str
    totals: RunTotals
    columns: list[str]
    rows: list[RunListRow]
    groups: list[RunListGroup]
    updating: bool


class RunListApi:
    """The route of the list, and what dashboards use to resolve queries.

    Its code is loaded on the first request.

    Args:
        get_table: Returns the table of runs.
    """

    def __init__(self, get_table: Callable[[], RunTable]) -> None:
        self._get_table = get_table
        # A page sends the same query for its rows, the selected runs and every band.
        self._results: LruCache[Hashable, QueryResult] = LruCache(max_items=4, idle_s=60)

    def routes(self) -> Sequence[Route]:
        return [Route("runs/list", RunListRequest, self.read_page)]

    def select_runs(self, query: GroupQuery) -> list[str]:
        """Return the names of the runs that a query describes, in natural order."""
        result = self._run_query(query)
        rows = result.select(query.group, query.split)
        return [result.table.names[row] for row in rows.tolist()]

    def read_page(self, request: RunListRequest) -> RunListResponse:
        """Return a page of the list of runs, filtered, sorted and grouped, or the selected runs."""
        result = self._run_query(request)
        table = result.table
        groups: list[RunListGroup] = []
        if request.selected_only:
            rows, total = _take_page(result, result.selected, request)
            groups = [_make_group(result, at) for at in result.list_selected_groups()[:_MAX_GROUPS]]
            groups = groups or [_make_group_of_all(result)]
        elif result.groups is None:
            rows, total = _take_page(result, result.ordered, request)
        else:
            rows, total = _take_grouped_page(result, request)
        return RunListResponse(
            total=total,
            matched=len(result.ordered),
            selected=int(result.is_selected[result.ordered].sum()),
            hidden=int(table.get_column("hidden").values.sum()),
            common_folder=table.common_folder,
            totals=table.totals,
            columns=request.columns,
            rows=rows,
            groups=groups,
            updating=not table.is_current,
        )

    def _run_query(self, request: RunQuery) -> QueryResult:
        from tracklight.server.run_table.queries import QueryResult

        query = RunQuery(
            request.filter, request.show_hidden, request.sort, request.group_by, request.selection
        )
        table = self._get_table()
        key = table.cache_key, msgspec.json.encode(query)
        return self._results.get_or_build(key, lambda: QueryResult.compute(table, query))


def _take_page(
    result: QueryResult, rows: Int64, request: RunListRequest
) -> tuple[list[RunListRow], int]:
    taken = result.arrange(rows[request.offset : request.offset + request.limit])
    return _make_run_rows(result, taken, request.columns), len(rows)


def _take_grouped_page(
    result: QueryResult, request: RunListRequest
) -> tuple[list[RunListRow], int]:
    import numpy as np

    from tracklight.server.run_table.queries import take_page

    assert result.groups is not None
    ids = zip(result.groups.ids, result.keys, strict=True)
    expanded = frozenset(id for id, key in ids if key in request.expanded)
    page, total = take_page(result.groups, expanded, request.offset, request.limit)
    runs = np.array([row.run for row in page if row.run is not None], np.int64)
    run_rows = iter(_make_run_rows(result, runs, request.columns))
    rows = [
        RunListRow(None, _make_group(result, row.group), None, False, [])
        if row.run is None and row.group is not None
        else next(run_rows)
        for row in page
    ]
    return rows, total


def _make_run_rows(result: QueryResult, rows: Int64, columns: Sequence[str]) -> list[RunListRow]:
    cells = [[*map(make_cell, result.table.read_cells(key, rows)[1])] for key in columns]
    numbers = result.group_of[rows].tolist()
    selected = result.is_selected_by_rule[rows].tolist()
    return [
        RunListRow(
            result.table.get_run(row),
            None,
            result.keys[numbers[at]] if result.keys else None,
            selected[at],
            [column[at] for column in cells],
        )
        for at, row in enumerate(rows.tolist())
    ]


def _make_group(result: QueryResult, number: int) -> RunListGroup:
    assert result.groups is not None
    rows = result.groups.members[number]
    (label,) = result.groups.labels[number]
    key = result.keys[number]
    selected = rows[result.is_selected[rows]]
    count, mean, std = result.compute_stats(rows)
    return RunListGroup(
        key=key,
        value=make_cell(label),
        runs=len(rows),
        selected=len(selected),
        position=result.positions[key],
        splits=result.list_splits(selected),
        count=count,
        mean=mean,
        std=std,
    )


def _make_group_of_all(result: QueryResult) -> RunListGroup:
    selected = result.ordered[result.is_selected[result.ordered]]
    splits = result.list_splits(selected)
    return RunListGroup("", None, len(result.ordered), len(selected), 0, splits, 0, None, None)
