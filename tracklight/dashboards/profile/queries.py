"""SQL queries over the tables of a capture, and queries that users saved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from tracklight.analysis.profiles.profile_data import ProfileData
from tracklight.analysis.profiles.sql import MAX_QUERY_LENGTH, ColumnType, QueryResult
from tracklight.dashboards.profile.schemas import CaptureRequest, has_version
from tracklight.dashboards.profile.store import CaptureStore, LoadedCapture, Tool, explain_empty
from tracklight.errors import UsageError
from tracklight.plugin import Empty, Route
from tracklight.util.files import JsonFile

_MAX_QUERIES = 200

QueryName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
QueryText = Annotated[str, msgspec.Meta(max_length=MAX_QUERY_LENGTH)]


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


class SavedQuery(msgspec.Struct):
    """A SQL query that was saved under a name, for all captures."""

    name: str
    sql: str


class SavedQueriesResponse(msgspec.Struct):
    """All saved queries, by name."""

    queries: list[SavedQuery]


class SaveQueryRequest(msgspec.Struct):
    """A query to save under a name; null deletes it."""

    name: QueryName
    sql: QueryText | None = None


class SavedQueryStore:
    """Saved queries, in a file beside the notes on the log.

    All servers of the log share it. Changes raise `SaveError` if it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._file: JsonFile[list[SavedQuery]] = JsonFile(path, list[SavedQuery], list)

    def get(self) -> SavedQueriesResponse:
        return SavedQueriesResponse(self._file.read())

    def save(self, name: str, sql: str | None) -> SavedQueriesResponse:
        """Save a query under a name, or delete it if it is None."""

        def save(before: list[SavedQuery]) -> list[SavedQuery]:
            queries = [query for query in before if query.name != name]
            if sql is not None:
                queries.append(SavedQuery(name, sql))
            if len(queries) > _MAX_QUERIES:
                raise UsageError(
                    "profile.too_many_queries",
                    "At most {max_queries} queries can be saved. Delete one first",
                    max_queries=_MAX_QUERIES,
                )
            return sorted(queries, key=lambda query: query.name)

        return SavedQueriesResponse(self._file.update(save))


def _make_data(capture: LoadedCapture) -> ProfileData:
    file = capture.file
    return ProfileData(file.run, file.session, file.host, capture)


def _make_query_routes(store: CaptureStore) -> Sequence[Route]:
    saved_queries = SavedQueryStore(store.notes_path.with_suffix(".queries.json"))

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
        return saved_queries.get()

    def save(request: SaveQueryRequest) -> SavedQueriesResponse:
        """Save a query under a name, or delete it."""
        return saved_queries.save(request.name, request.sql)

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
