"""The routes ``runs/table`` and ``runs/export``: pages of rows, and the whole table as a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from tracklight.analysis.source import Empty
from tracklight.plugin import Blob, Route
from tracklight.server.notes import NotesDocument, RunNote
from tracklight.server.run_table.run_columns import Cell, RunColumnsApi, make_cell
from tracklight.server.source import LogOverview, LogSource
from tracklight.types import Int64

if TYPE_CHECKING:
    from tracklight.server.run_table.queries import Groups, PageRow
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
