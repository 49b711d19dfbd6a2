"""Metrics and intervals against results that TensorFlow Model Analysis computed.

The folders in ``data/computed`` were written by TFMA 0.52 and Fairness Indicators 0.52 on Apache
Beam 2.77, from the cross-validated predictions beside them, for data sets of scikit-learn: breast
cancer (binary), digits (multi-class) and diabetes (regression). TFMA's metrics, evaluators and
writers ran unchanged; its input readers, which need ``tfx_bsl``, were not used.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import tracklight
from tracklight.analysis.evaluation.metrics import get_standard_name
from tracklight.analysis.evaluation.results import EvaluationResult, MetricColumn
from tracklight.analysis.fairness.tfma_folder import read_tfma_folder
from tracklight.logdir.access import ConfinedFiles

DATA = Path(__file__).parent / "data" / "computed"
THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
METRICS = (
    *("accuracy", "auc", "average_loss", "calibration", "label_mean", "prediction_mean"),
    *("example_count", "weighted_example_count", "positive_rate", "negative_rate"),
    *("true_positive_rate", "true_negative_rate", "false_positive_rate", "false_negative_rate"),
    *("false_discovery_rate", "false_omission_rate", "precision", "recall"),
)


def read_tfma(name: str) -> EvaluationResult:
    (model,) = read_tfma_folder(ConfinedFiles([str(DATA)]), str(DATA / name))
    assert not model.problems
    return model.stored.result


def evaluate(**options) -> EvaluationResult:
    with (DATA / "breast_cancer.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    for name in ("label", "score", "weight"):
        columns[name] = columns[name].astype(float)
    result = tracklight.fairness.evaluate(
        columns,
        label="label",
        prediction="score",
        slices=["area", "texture", ["area", "texture"]],
        thresholds=THRESHOLDS,
        metrics=METRICS,
        **options,
    )
    return result.stored.result


def find_column(result: EvaluationResult, column: MetricColumn) -> int | None:
    """Return the column of the same metric; TFMA computes accuracy at 0.5 only."""
    name = get_standard_name(column.metric)
    if name not in METRICS:
        return None
    return result.get_column(name, 0.5 if name == "accuracy" else column.threshold)


@pytest.mark.parametrize(
    ("folder", "options"), [("binary", {}), ("weighted", {"weight": "weight"})]
)
def test_metrics_are_those_of_tfma(folder: str, options: dict[str, str]) -> None:
    expected, result = read_tfma(folder), evaluate(intervals="none", **options)
    assert sorted(expected.slices) == sorted(result.slices)
    rows = [result.get_slice(key) for key in expected.slices]
    compared = 0
    for at, column in enumerate(expected.columns):
        position = find_column(result, column)
        # TFMA calls the sum of weights the number of examples.
        if position is None or (folder == "weighted" and column.metric == "example_count"):
            continue
        # TFMA integrates the ROC curve over 10,000 thresholds.
        tolerance = 1e-3 if column.metric == "auc" else 1e-12
        np.testing.assert_allclose(
            result.value[rows, position],
            expected.value[:, at],
            rtol=tolerance,
            atol=tolerance,
            err_msg=column.label,
        )
        compared += len(rows)
    assert compared >= 800


def test_jackknife_intervals_are_as_wide_as_those_of_tfma() -> None:
    expected, result = read_tfma("jackknife"), evaluate(intervals="jackknife")
    assert expected.resampling.method == "jackknife"
    ratios = []
    for at, column in enumerate(expected.columns):
        position = find_column(result, column)
        if position is None:
            continue
        rows = [result.get_slice(key) for key in expected.slices]
        width = expected.upper[:, at] - expected.lower[:, at]
        ours = (result.upper - result.lower)[rows, position]
        ratios += (ours[width > 0] / width[width > 0]).tolist()
    # The groups are random, so that the width of a single interval varies by about 20 %.
    assert len(ratios) > 200
    assert np.nanmedian(ratios) == pytest.approx(1, abs=0.1)


def test_multiclass_metrics_are_those_of_tfma() -> None:
    data = np.load(DATA / "digits.npz")
    result = tracklight.fairness.evaluate(
        {"ink": data["ink"]},
        label=data["label"],
        prediction=data["score"],
        slices=["ink"],
        thresholds=[0.5],
        metrics=["accuracy", "precision", "recall", "auc", "example_count"],
        intervals="none",
    )
    table = read_tfma("multiclass")
    compared = 0
    for at, column in enumerate(table.columns):
        name = get_standard_name(column.metric)
        threshold = 0.5 if name in ("precision", "recall") else None
        for row, slice_ in enumerate(table.slice_names):
            value = result.get(name, slice_, threshold=threshold, output=column.output)
            # TFMA adds accuracies in float32 and integrates the ROC curve over 10,000 thresholds.
            tolerance = {"accuracy": 1e-7, "auc": 1e-4}.get(name, 1e-12)
            assert value == pytest.approx(table.value[row, at], abs=tolerance)
            compared += 1
    assert compared == 42


def test_regression_metrics_are_those_of_tfma() -> None:
    data = np.load(DATA / "diabetes.npz")
    result = tracklight.fairness.evaluate(
        {"sex": data["sex"]},
        label=data["label"],
        prediction=data["score"],
        slices=["sex"],
        task="regression",
        intervals="none",
    )
    table = read_tfma("regression")
    for at, column in enumerate(table.columns):
        for row, slice_ in enumerate(table.slice_names):
            value = result.get(get_standard_name(column.metric), slice_)
            assert value == pytest.approx(table.value[row, at], rel=1e-12)
