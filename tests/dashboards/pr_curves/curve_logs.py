"""Curves for tests: counted example by example, and written as event files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.index import logs
from tracklight.dashboards.pr_curves.dashboard import PrCurves
from tracklight.formats import event, proto, summary, tfrecord
from tracklight.plugin import Context


def count(
    labels: Sequence[bool], scores: Sequence[float], thresholds: int, weights: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """The six rows, example by example and threshold by threshold."""
    truth = np.asarray(labels, bool)
    weight = np.broadcast_to(np.asarray(weights, np.float64), truth.shape)
    rows = []
    for threshold in np.arange(thresholds) / max(thresholds - 1, 1):
        called = np.asarray(scores) >= threshold
        cells = (called & truth, called & ~truth, ~called & ~truth, ~called & truth)
        tp, fp, tn, fn = (float(weight[cell].sum()) for cell in cells)
        rows.append((tp, fp, tn, fn, tp / max(1e-7, tp + fp), tp / max(1e-7, tp + fn)))
    return np.array(rows).T


def write(
    logdir: Path, run: str, values: Iterable[tuple[int, ArrayLike]], *, tag: str = "pr"
) -> None:
    """One curve a step, each an array of any type and shape."""
    data = b""
    for step, rows in values:
        about = summary.make_metadata("pr_curves", proto.PrCurvePluginData())
        value = summary.tensor(tag, np.asarray(rows), about)
        data += tfrecord.encode_record(event.encode_event(1.7e9 + step, step, [value]))
    logs.write(logdir, run, data)


def ask(context: Context, route: str, method: str = "POST", /, **fields: object) -> Any:
    found = {(one.path, one.method): one for one in PrCurves(context).routes()}[route, method]
    return found.handler(msgspec.convert(fields, found.request_type))
