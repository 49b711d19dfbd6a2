"""Writes small logs of histograms, and asks the dashboard about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tests.index import logs
from tracklight.dashboards.histograms.dashboard import Histograms
from tracklight.formats.values import HistogramBatch as Columns
from tracklight.plugin import Context

Rows = Sequence[Sequence[float]]


def make_columns(*tables: Rows) -> Columns:
    """Histograms in memory, each rows of left edge, right edge and count."""
    arrays = [np.array(table, np.float64).reshape(-1, 3) for table in tables]
    begin = np.cumsum([0, *map(len, arrays)])
    left, right, counts = np.concatenate([np.zeros((0, 3)), *arrays]).T
    return Columns(begin, left, right, counts, np.full((len(arrays), 8), np.nan))


def write(folder: Path, run: str, *records: bytes) -> Path:
    return logs.write(folder, run, b"".join(records))


def ask(context: Context, path: str, /, **fields: object) -> Any:
    """The answer as it comes: structs with arrays in them."""
    found = next(one for one in Histograms(context).routes() if one.path == path)
    return found.handler(msgspec.convert(fields, found.request_type))


def query(context: Context, tag: str = "w", **fields: object) -> Any:
    """The chart of a tag."""
    names = ("start", "stop", "low", "high", "skip")
    place = {name: fields.pop(name) for name in names if name in fields}
    chart = {"id": "one", "tag": tag, **place}
    return ask(context, "query", charts=[chart], **fields).charts[0]
