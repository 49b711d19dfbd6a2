"""Write small logs with histograms and call the Histograms dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tests.index import logs
from tracklight.dashboards.histograms import Histograms
from tracklight.formats.values import HistogramBatch
from tracklight.plugin import Context

Rows = Sequence[Sequence[float]]


def make_columns(*tables: Rows) -> HistogramBatch:
    """Return histograms, each given as rows of left edge, right edge and count."""
    arrays = [np.array(table, np.float64).reshape(-1, 3) for table in tables]
    starts = np.cumsum([0, *map(len, arrays)])
    left, right, counts = np.concatenate([np.zeros((0, 3)), *arrays]).T
    return HistogramBatch(starts, left, right, counts, np.full((len(arrays), 8), np.nan))


def write(folder: Path, run: str, *records: bytes) -> Path:
    return logs.write(folder, run, b"".join(records))


def request(context: Context, path: str, /, **fields: object) -> Any:
    """Call a route and return the response struct."""
    route = next(route for route in Histograms(context).routes() if route.path == path)
    return route.handler(msgspec.convert(fields, route.request_type))


def query(context: Context, tag: str = "w", **fields: object) -> Any:
    """Return the chart of a tag."""
    names = ("start", "stop", "low", "high", "offset")
    ranges = {name: fields.pop(name) for name in names if name in fields}
    chart = {"id": "one", "tag": tag, **ranges}
    return request(context, "query", charts=[chart], **fields).charts[0]
