"""The route ``runs/list``: the runs panel of a log whose runs the page does not have.

A `RunQuery` describes which runs match the filter, in which order and groups they are listed, and
which of them are selected. The response has one page of the list, or the first selected runs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

from tracklight.analysis.source import GroupQuery, RunQuery
from tracklight.plugin import Route
from tracklight.server.run_table.run_columns import Cell, make_cell
from tracklight.server.source import RunRow, RunTotals
from tracklight.types import Int64
from tracklight.util.memory import LruCache

if TYPE_CHECKING:
    from tracklight.server.run_table.queries import QueryResult
    from tracklight.server.run_table.table import RunTable

MAX_PAGE_ROWS = 1000
#: Groups that are listed beside the selected runs; more bands in a chart are not readable.
_MAX_GROUPS = 200

_Columns = Annotated[list[str], msgspec.Meta(max_length=300)]
_GroupKeys = Annotated[list[str], msgspec.Meta(max_length=1000)]


class RunListRequest(RunQuery, kw_only=True):
    """A page of the list of runs, with the cells of some columns.

    With ``group_by``, rows are groups, and the runs of the groups in ``expanded``. With
    ``selected_only``, rows are the selected runs. Those of a page are in the order of their groups,
    but a page has the first runs of all groups.
    """

    columns: _Columns = msgspec.field(default_factory=list)
    expanded: _GroupKeys = msgspec.field(default_factory=list)
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
    whatever the selection says of the run itself.
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
