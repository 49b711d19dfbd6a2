"""Write a result as a file: CSV, JSON, or a section of a model card."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.analysis.evaluation.encoding import StoredEvaluation
from tracklight.analysis.evaluation.report import format_report
from tracklight.dashboards.fairness.schemas import FairnessExportFormat
from tracklight.plugin import Blob, to_json_number

_HEADER = (
    *("slice", "metric", "threshold", "output", "value", "lower", "upper", "count"),
    *("baseline", "difference", "difference_lower", "difference_upper", "adjusted_p_value"),
)


def write_result(stored: StoredEvaluation, format_: FairnessExportFormat, baseline: str) -> Blob:
    """Return a result as a file.

    Raises:
        UsageError: There is no such baseline slice.
    """
    name = re.sub(r"[^\w.-]+", "_", f"fairness_{stored.model}".rstrip("_"))
    if format_ == "markdown":
        text = format_report(stored, baseline)
        return Blob(text.encode("utf-8", "backslashreplace"), "text/markdown", f"{name}.md")
    rows = list(_iter_rows(stored, baseline))
    if format_ == "json":
        records = [
            {
                key: to_json_number(value) if isinstance(value, float) else value
                for key, value in zip(_HEADER, row, strict=True)
            }
            for row in rows
        ]
        return Blob(msgspec.json.encode(records), "application/json", f"{name}.json")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_HEADER)
    for row in rows:
        writer.writerow([_format_cell(value) for value in row])
    content = buffer.getvalue().encode("utf-8", "backslashreplace")
    return Blob(content, "text/csv", f"{name}.csv")


def _iter_rows(stored: StoredEvaluation, baseline: str) -> Iterator[tuple[object, ...]]:
    result = stored.result
    difference = result.difference(baseline)
    base = result.value[difference.baseline]
    for row, name in enumerate(result.slice_names):
        for at, column in enumerate(result.columns):
            yield (
                name,
                column.metric,
                column.threshold,
                column.output,
                float(result.value[row, at]),
                float(result.lower[row, at]),
                float(result.upper[row, at]),
                int(result.counts[row]),
                float(base[at]),
                float(difference.absolute[row, at]),
                float(difference.lower[row, at]),
                float(difference.upper[row, at]),
                float(difference.adjusted_p_value[row, at]),
            )


def _format_cell(value: object) -> object:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"  # Spreadsheets would run it as a formula.
    return value
