"""SQL queries over the tables of a capture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tracklight.analysis.profiles.profile_data import ProfileData
from tracklight.analysis.profiles.sql import ColumnType, QueryResult
from tracklight.dashboards.profile.notes import (
    QueryText,
    SavedQueriesResponse,
    SaveQueryRequest,
)
from tracklight.dashboards.profile.schemas import CaptureRequest, has_version
from tracklight.dashboards.profile.store import CaptureStore, LoadedCapture, Tool, explain_empty
from tracklight.plugin import Empty, Route


class SqlQueryRequest(CaptureRequest):
    """A SELECT statement in the dialect of DuckDB."""

    sql: QueryText = ""


class QueryTableColumn(msgspec.Struct):
    """A column that queries can use."""

    name: str
    type: ColumnType


class QueryTable(msgspec.Struct):
    """A table that queries can read."""

    name: str
    rows: int
    columns: list[QueryTableColumn]


class QueryTablesResponse(msgspec.Struct):
    """The tables of a capture."""

    tables: list[QueryTable]


def _make_data(capture: LoadedCapture) -> ProfileData:
    file = capture.file
    return ProfileData(file.run, file.session, file.host, capture)


def _make_query_routes(store: CaptureStore) -> Sequence[Route]:
    def query(request: SqlQueryRequest) -> QueryResult:
        """Run a SQL query over the events, steps, ops and kernels of a capture.

        It runs in a process without access to files and networks, within limits of time and memory.
        At most 10,000 rows are returned.
        """
        return _make_data(store.load(request)).run_query(request.sql)

    def tables(request: CaptureRequest) -> QueryTablesResponse:
        """Return the tables that queries can read, with their columns."""

        def compute(capture: LoadedCapture) -> QueryTablesResponse:
            return QueryTablesResponse([
                QueryTable(
                    name,
                    len(table),
                    [QueryTableColumn(*column) for column in table.get_column_types().items()],
                )
                for name, table in _make_data(capture).query_tables.items()
            ])  # fmt: skip

        return store.get_or_compute(request, "query_tables", QueryTablesResponse, compute)

    def saved(request: Empty) -> SavedQueriesResponse:
        """Return the saved queries."""
        return store.notes.get_queries()

    def save(request: SaveQueryRequest) -> SavedQueriesResponse:
        """Save a query under a name, or delete it."""
        return store.notes.save_query(request.name, request.sql)

    return [
        Route("query", SqlQueryRequest, query),
        Route("query/tables", CaptureRequest, tables, "GET", immutable=has_version),
        Route("query/saved", Empty, saved, "GET"),
        Route("query/save", SaveQueryRequest, save, mutates=True),
    ]


def _iter_query_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    """Yield nothing: queries need a server."""
    return iter(())


QUERY_TOOL = Tool("query", _make_query_routes, explain_empty, _iter_query_static)
