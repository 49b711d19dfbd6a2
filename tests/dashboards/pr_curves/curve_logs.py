"""Compute PR curves from examples, write them to logs and call the dashboard."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.index import logs
from tracklight.dashboards.pr_curves import PrCurves
from tracklight.formats import proto, summary, tfrecord
from tracklight.plugin import Context


def count(
    labels: Sequence[bool], scores: Sequence[float], thresholds: int, weights: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """Return the six rows of a curve, by a simple computation."""
    truth = np.asarray(labels, bool)
    weight = np.broadcast_to(np.asarray(weights, np.float64), truth.shape)
    rows = []
    for threshold in np.arange(thresholds) / max(thresholds - 1, 1):
        predicted = np.asarray(scores) >= threshold
        cells = (predicted & truth, predicted & ~truth, ~predicted & ~truth, ~predicted & truth)
        tp, fp, tn, fn = (float(weight[cell].sum()) for cell in cells)
        rows.append((tp, fp, tn, fn, tp / max(1e-7, tp + fp), tp / max(1e-7, tp + fn)))
    return np.array(rows).T


def write(
    logdir: Path, run: str, values: Iterable[tuple[int, ArrayLike]], *, tag: str = "pr"
) -> None:
    """Write one value per step, each an array of any type and shape."""
    data = b""
    for step, rows in values:
        metadata = summary.make_metadata("pr_curves", proto.PrCurvePluginData())
        value = summary.tensor(tag, np.asarray(rows), metadata)
        data += tfrecord.encode_record(summary.encode_event(1.7e9 + step, step, [value]))
    logs.write(logdir, run, data)


def request(context: Context, route: str, method: str = "POST", /, **fields: object) -> Any:
    routes = {(it.path, it.method): it for it in PrCurves(context).routes()}
    selected = routes[route, method]
    return selected.handler(msgspec.convert(fields, selected.request_type))
