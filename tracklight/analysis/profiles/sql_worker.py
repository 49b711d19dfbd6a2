"""Run one SQL query on tables in Arrow files; the script of `SqlDatabase`.

DuckDB counts only a part of its memory towards ``memory_limit`` and checks for interrupts between
vectors: ``SELECT repeat('x', 3000000000)`` took 6 GB and 25 s with limits of 256 MB and 3 s. So
queries run in a process whose memory is limited by the system and which can be killed.

The arguments are the folder of the tables. Standard input is a query as JSON; standard output is a
line when the tables are open, then the result or an error as JSON.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]

_MEMORY_BYTES = 1 << 29
#: What DuckDB does not count, and its threads.
_UNCOUNTED_BYTES = 1 << 29
_MAX_TEXT_LENGTH = 10_000
_MAX_EXACT_INT = 2**53
_MAX_REASON_LENGTH = 500

#: Statements that read tables. DESCRIBE, SHOW and SUMMARIZE count as SELECT.
_READING_STATEMENTS = frozenset({"SELECT", "EXPLAIN"})


def open_tables(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection that can read the tables in a folder, and nothing else."""
    connection = duckdb.connect(":memory:")
    for path in sorted(folder.glob("*.arrow")):
        with pa.memory_map(str(path)) as source:
            connection.register(path.stem, pa.ipc.open_file(source).read_all())
    for setting in (
        f"memory_limit = '{_MEMORY_BYTES}B'",
        "temp_directory = ''",
        "threads = 2",
        "allow_community_extensions = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def limit_memory() -> None:
    """Limit the memory of this process to what it has now and what a query may take."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + _MEMORY_BYTES + _UNCOUNTED_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ImportError, OSError, ValueError):
        pass  # other systems have only the limit of DuckDB


def run_query(connection: duckdb.DuckDBPyConnection, sql: str, max_rows: int) -> dict[str, Any]:
    """Return the columns of the result, or what is wrong as ``error`` and ``reason``."""
    try:
        statements = connection.extract_statements(sql)
        if len(statements) != 1:
            return {"error": "several" if statements else "empty"}
        if statements[0].type.name.removesuffix("_STATEMENT") not in _READING_STATEMENTS:
            return {"error": "not_select"}
        cursor = connection.execute(statements[0])
        rows = cursor.fetchmany(max_rows + 1)
        description = cursor.description or []
    except (duckdb.OutOfMemoryException, MemoryError):
        return {"error": "memory"}
    except duckdb.PermissionException:
        return {"error": "forbidden"}
    except (duckdb.Error, RuntimeError, ValueError) as error:
        if "bad_alloc" in str(error):
            return {"error": "memory"}
        return {"error": "failed", "reason": _shorten_reason(str(error))}
    return {
        "names": [column[0] for column in description],
        "types": [str(column[1]) for column in description],
        "columns": [
            [_to_json(row[at]) for row in rows[:max_rows]] for at in range(len(description))
        ],
        "has_more": len(rows) > max_rows,
    }


def _to_json(value: Any) -> Any:
    """Return a value that JSON and JavaScript represent exactly; others as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MAX_EXACT_INT else str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)
    return str(value)[:_MAX_TEXT_LENGTH]


def _shorten_reason(text: str) -> str:
    """Return the first sentences of an error, without the kind and the quoted query."""
    text = text.partition("\n\nLINE ")[0]
    reason = " ".join(text.partition("Error: ")[2].split() or text.split())
    return reason[:_MAX_REASON_LENGTH].rstrip(".!")


def main() -> None:
    request = json.load(sys.stdin)
    connection = open_tables(Path(sys.argv[1]))
    limit_memory()
    print("ready", flush=True)
    print(json.dumps(run_query(connection, request["sql"], request["max_rows"])), flush=True)


if __name__ == "__main__":
    main()
