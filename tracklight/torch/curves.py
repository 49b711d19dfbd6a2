"""Precision and recall, counted as ``torch.utils.tensorboard`` counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.sdk.arrays import as_number, as_numbers
from tracklight.sdk.lenient import Misuse, complain
from tracklight.torch.values import build_float_tensor, describe

Floats = NDArray[np.float64]

#: More are not written, so that the same program gives the same curve.
MAX_THRESHOLDS = 127
#: What precision and recall divide by where nothing was found.
_LEAST_COUNT = 1e-7


def build_pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: Any, weights: Any
) -> Message:
    truth = as_numbers(labels, "labels").reshape(-1).astype(np.float64)
    scores = _as_scores(predictions)
    weight = np.ones(1) if weights is None else as_numbers(weights, "weights").reshape(-1)
    if truth.shape != scores.shape or weight.size not in (1, truth.size):
        sizes = f"{truth.size} labels, {scores.size} predictions, {weight.size} weights"
        raise Misuse("predictions", f"and the rest must be as many: {sizes}")
    count = _as_count(num_thresholds)
    # In the scores' own precision, as a score at an edge would otherwise change its bucket.
    bucket = np.floor(scores * (count - 1)).astype(np.int64)
    positives = _count_from(bucket, truth * weight, count)
    negatives = _count_from(bucket, (1.0 - truth) * weight, count)
    return _build(tag, _make_rows(positives, negatives), count)


def build_raw_pr_curve(tag: str, rows: dict[str, Any], num_thresholds: Any) -> Message:
    """From counts of true and false positives and negatives, precision and recall."""
    arrays = {name: as_numbers(row, name).reshape(-1) for name, row in rows.items()}
    if len({array.size for array in arrays.values()}) != 1:
        sizes = {name: array.size for name, array in arrays.items()}
        raise Misuse("true_positive_counts", f"and the rest must be as many: {sizes}")
    return _build(tag, np.stack(list(arrays.values())), _as_count(num_thresholds))


def _count_from(bucket: NDArray[np.int64], weight: Floats, count: int) -> Floats:
    """For every threshold, the weight of all scores that are not below it."""
    totals = np.bincount(bucket, weight, count)[::-1].cumsum()[::-1]
    return totals


def _make_rows(positives: Floats, negatives: Floats) -> Floats:
    missed = positives[0] - positives
    precision = positives / np.maximum(_LEAST_COUNT, positives + negatives)
    recall = positives / np.maximum(_LEAST_COUNT, positives + missed)
    return np.stack([positives, negatives, negatives[0] - negatives, missed, precision, recall])


def _build(tag: str, rows: NDArray[Any], count: int) -> Message:
    metadata = describe("pr_curves", proto.PrCurvePluginData(num_thresholds=count))
    return proto.Value(tag=tag.encode(), tensor=build_float_tensor(rows), metadata=metadata)


def _as_scores(predictions: Any) -> NDArray[Any]:
    scores = as_numbers(predictions, "predictions").reshape(-1)
    if not np.isfinite(scores).all():
        raise Misuse("predictions", "must be in [0, 1], but some are not finite")
    if scores.size and (scores.min() < 0 or scores.max() > 1):
        complain("predictions", "must be in [0, 1]; they were clipped")
        return np.clip(scores, 0, 1)
    return scores


def _as_count(num_thresholds: Any) -> int:
    count = as_number(num_thresholds, "num_thresholds")
    if count != int(count) or count < 2:
        raise Misuse("num_thresholds", f"must be an int of at least 2, not {count:g}")
    return min(int(count), MAX_THRESHOLDS)
