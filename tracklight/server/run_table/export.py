"""Write rows of the table of runs to files."""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from tracklight.dashboards.hparams.export import (
    ExportCell,
    ExportTable,
    format_time,
    write_table,
)
from tracklight.errors import import_optional
from tracklight.plugin import Blob
from tracklight.server.run_table.table import PLAIN_KEYS, RunTable, TableColumn
from tracklight.types import Int64, to_datetimes

_FILE_NAME = "runs"


def export_table(
    table: RunTable,
    rows: Int64,
    keys: Sequence[str],
    file_format: Literal["csv", "json", "parquet"],
) -> Blob:
    """Return some rows as a file.

    Args:
        table: The table.
        rows: The rows, in their order.
        keys: Keys of columns; empty for all columns that have values.
        file_format: Parquet keeps the types of columns.

    Raises:
        MissingDependencyError: The format is Parquet, and pyarrow is not installed.
    """
    columns = [table.get_column(key) for key in keys or _list_keys(table, rows)]
    if file_format == "parquet":
        return _write_parquet(columns, rows)
    cells = [_list_cells(column, rows) for column in columns]
    lines = [list(line) for line in zip(*cells, strict=True)]
    return write_table(ExportTable([it.key for it in columns], lines), file_format, _FILE_NAME)


def _list_keys(table: RunTable, rows: Int64) -> list[str]:
    keys = [*PLAIN_KEYS, *(f"hparam:{name}" for name in table.list_hparams())]
    keys += [f"last:{tag}" for tag in table.list_metrics()]
    return [
        key for key in keys if key == "name" or not table.get_column(key).is_missing()[rows].all()
    ]


def _list_cells(column: TableColumn, rows: Int64) -> list[ExportCell]:
    cells = column.take_cells(rows)
    if column.kind != "time":
        return cells
    return [None if cell is None else format_time(float(cell)) for cell in cells]


def _write_parquet(columns: Sequence[TableColumn], rows: Int64) -> Blob:
    parquet = import_optional("pyarrow.parquet", "export to Parquet", "parquet")
    pa = importlib.import_module("pyarrow")
    table = pa.table({column.key: _make_array(pa, column, rows) for column in columns})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return Blob(file.getvalue(), "application/vnd.apache.parquet", f"{_FILE_NAME}.parquet")


def _make_array(pa: Any, column: TableColumn, rows: Int64) -> Any:
    values = column.values[rows]
    is_missing = column.is_missing()[rows]
    if column.kind == "time":
        return pa.array(to_datetimes(values), pa.timestamp("us", "UTC"), mask=is_missing)
    if column.kind == "bool":
        return pa.array(values == 1, mask=is_missing)
    if column.kind == "labels":
        items = column.list_items()
        codes = np.where(is_missing, 0, values).astype(np.int64).tolist()
        lists = [
            [] if missing else list(items[code])
            for code, missing in zip(codes, is_missing.tolist(), strict=True)
        ]
        return pa.array(lists, pa.list_(pa.string()))
    if column.kind in ("number", "duration", "bytes"):
        return pa.array(values, mask=is_missing)
    texts = [None if cell is None else str(cell) for cell in column.take_cells(rows)]
    return pa.array(texts, pa.string())
