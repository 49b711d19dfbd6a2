"""SQL queries over the tables of a capture, with DuckDB (extra ``sql``).

The tables are written to memory-mapped Arrow files once; every query runs in a process of its own,
`sql_worker`, which explains why.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from tracklight.errors import Message, MissingDependencyError, UsageError
from tracklight.util.frames import Column, Frame, ObjectColumn

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


#: More rows are left out.
MAX_ROWS = 10_000
MAX_QUERY_LENGTH = 20_000

_WORKER = Path(__file__).with_name("sql_worker.py")
_PACKAGES = ("duckdb", "pyarrow")
#: Time to start the process on a busy machine and to open the tables.
_MAX_START_S = 30.0
_MAX_QUERY_S = 10.0
_MAX_RESULT_BYTES = 1 << 25
_MAX_PROCESSES = 2

ColumnType = Literal["number", "text", "bool"]

_NUMBER_TYPES = ("INT", "FLOAT", "DOUBLE", "DECIMAL")

_ERRORS = {
    "empty": Message("profile.query_empty", "The query is empty"),
    "several": Message("profile.query_several", "Run one query at a time"),
    "not_select": Message(
        "profile.query_not_select",
        "Only SELECT is possible: a query reads the tables of a capture and changes nothing",
    ),
    "forbidden": Message(
        "profile.query_forbidden",
        "A query reads the tables of a capture only: files, URLs, extensions and other databases "
        "are disabled",
    ),
    "memory": Message(
        "profile.query_memory",
        "The query needs too much memory. Select fewer rows or columns, or aggregate them",
    ),
    "timeout": Message.format(
        "profile.query_timeout",
        "The query takes longer than {limit_s} s. Select fewer rows, or check its joins",
        limit_s=int(_MAX_QUERY_S),
    ),
    "large": Message(
        "profile.query_large",
        "The result is too large. Select fewer columns, or add LIMIT",
    ),
}


class QueryColumn(msgspec.Struct):
    """A column of a result. Integers beyond 2 ** 53, dates and nested values are texts."""

    name: str
    type: ColumnType
    values: list[bool | int | float | str | None]


class QueryResult(msgspec.Struct):
    """The result of a query."""

    columns: list[QueryColumn]
    has_more: bool
    """Whether rows were left out at the end."""

    def to_columns(self) -> dict[str, Column]:
        """Return the columns for a `Frame`; a name that occurs again gets a number."""
        columns: dict[str, Column] = {}
        for column in self.columns:
            name, number = column.name, 1
            while name in columns:
                number += 1
                name = f"{column.name}_{number}"
            columns[name] = _make_column(column)
        return columns


def get_column_type(column: Column) -> ColumnType:
    """Return the type that a column of a `Frame` has in queries."""
    if isinstance(column, np.ndarray):
        return "bool" if column.dtype.kind == "b" else "number"
    return "text"


def _make_column(column: QueryColumn) -> Column:
    values = column.values
    if column.type == "number" and not any(isinstance(value, str) for value in values):
        if all(isinstance(value, int) for value in values):
            return np.array(values, np.int64)
        return np.array([np.nan if value is None else value for value in values], np.float64)
    if column.type == "bool":
        return ObjectColumn(values, "bool")
    return ObjectColumn(values, "string" if column.type == "text" else "mixed")


class SqlDatabase:
    """Tables in files that queries can read. The files are deleted with the object.

    Args:
        tables: The tables by their names in SQL.

    Raises:
        MissingDependencyError: DuckDB or pyarrow is not installed.
    """

    _processes = threading.BoundedSemaphore(_MAX_PROCESSES)

    def __init__(self, tables: Mapping[str, Frame]) -> None:
        if any(importlib.util.find_spec(package) is None for package in _PACKAGES):
            raise MissingDependencyError("a SQL query", "sql")
        import pyarrow as pa

        self._folder = tempfile.mkdtemp(prefix="tracklight-sql-")
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        for name, frame in tables.items():
            table = _replace_nan(frame.to_arrow())
            with pa.ipc.new_file(str(Path(self._folder, f"{name}.arrow")), table.schema) as file:
                file.write_table(table)

    def run(self, sql: str, max_rows: int = MAX_ROWS) -> QueryResult:
        """Run a query.

        Args:
            sql: A SELECT statement in the dialect of DuckDB.
            max_rows: More rows are left out.

        Raises:
            UsageError: The query is wrong, forbidden, or takes too much time or memory.
        """
        with self._processes:
            response = _run_process(self._folder, json.dumps({"sql": sql, "max_rows": max_rows}))
        if "error" in response:
            raise _make_error(response["error"], response.get("reason", ""))
        columns = [
            QueryColumn(name, _get_type(type), values)
            for name, type, values in zip(
                response["names"], response["types"], response["columns"], strict=True
            )
        ]
        return QueryResult(columns, response["has_more"])


def _replace_nan(table: pyarrow.Table) -> pyarrow.Table:
    """Return a table with NULL for unknown numbers: DuckDB sorts NaN above all others."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            known = pc.if_else(pc.is_nan(column), None, column)
            table = table.set_column(at, table.schema.names[at], known)
    return table


def _get_type(duckdb_type: str) -> ColumnType:
    if duckdb_type == "BOOLEAN":
        return "bool"
    is_nested = duckdb_type.endswith("]") or duckdb_type.startswith(("STRUCT", "MAP", "INTERVAL"))
    return (
        "number"
        if not is_nested and any(number_type_ in duckdb_type for number_type_ in _NUMBER_TYPES)
        else "text"
    )


def _make_error(kind: str, reason: str) -> UsageError:
    if message := _ERRORS.get(kind):
        return UsageError(message)
    return UsageError("profile.query_failed", "The query failed: {reason}", reason=reason)


def _run_process(folder: str, request: str) -> dict[str, Any]:
    """Return the response of a worker, or an error if it was killed or has crashed."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, str(_WORKER), folder], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    )
    assert process.stdin and process.stdout
    is_late = threading.Event()

    def kill() -> None:
        is_late.set()
        process.kill()

    timer = threading.Timer(_MAX_START_S, kill)
    try:
        timer.start()
        process.stdin.write(request.encode())
        process.stdin.close()
        process.stdout.readline()
        timer.cancel()
        timer = threading.Timer(_MAX_QUERY_S, kill)
        timer.start()
        content = process.stdout.read(_MAX_RESULT_BYTES)
    except OSError:  # it was killed before it read the query
        content = b""
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()
    if len(content) == _MAX_RESULT_BYTES:
        return {"error": "large"}
    if not content.endswith(b"\n"):  # a failed allocation may end the process
        return {"error": "timeout" if is_late.is_set() else "memory"}
    response: dict[str, Any] = json.loads(content)
    return response
