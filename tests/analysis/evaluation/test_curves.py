"""Curves from histograms, compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.calibration
import sklearn.metrics as sk

from tests.analysis.evaluation.helpers import load_breast_cancer, make_groups
from tracklight.analysis.evaluation.metrics import (
    CALIBRATION_BUCKETS,
    calibration_curve,
    calibration_sums,
    histogram_of,
    precision_recall_curve,
    roc_curve,
    score_distribution,
)
from tracklight.errors import UsageError


@pytest.fixture(params=["breast cancer", "groups"])
def data(request):
    return load_breast_cancer() if request.param == "breast cancer" else make_groups()


def test_roc_curve(data):
    histogram = histogram_of(data.labels, data.scores)
    curve = roc_curve(histogram.get(1)[0, 0], histogram.edges)
    fpr, tpr, _ = sk.roc_curve(data.labels, data.scores, drop_intermediate=False)
    np.testing.assert_allclose(curve.false_positive_rate, fpr)
    np.testing.assert_allclose(curve.true_positive_rate, tpr)
    for at in (0, len(fpr) // 2, len(fpr) - 1):
        positive = data.scores > curve.threshold[at]
        assert positive[data.labels == 1].mean() == pytest.approx(tpr[at])
        assert positive[data.labels == 0].mean() == pytest.approx(fpr[at])


def test_precision_recall_curve(data):
    histogram = histogram_of(data.labels, data.scores)
    curve = precision_recall_curve(histogram.get(1)[0, 0], histogram.edges)
    precision, recall, _ = sk.precision_recall_curve(data.labels, data.scores)
    np.testing.assert_allclose(curve.precision, precision[:-1][::-1])
    np.testing.assert_allclose(curve.recall, recall[:-1][::-1])
    at = len(curve.recall) // 2
    positive = data.scores > curve.threshold[at]
    assert data.labels[positive].mean() == pytest.approx(curve.precision[at])


@pytest.mark.parametrize("buckets", [5, 10, 20])
def test_calibration_curve(data, buckets):
    bucket, *factors = calibration_sums(data.labels, data.scores)
    sums = np.stack(
        [
            np.bincount(bucket, factor, minlength=CALIBRATION_BUCKETS)
            for factor in (np.ones(len(bucket)), *factors)
        ]
    )
    curve = calibration_curve(sums, buckets)
    share, mean = sklearn.calibration.calibration_curve(data.labels, data.scores, n_bins=buckets)
    used = curve.weight > 0
    np.testing.assert_allclose(curve.positive_share[used], share)
    np.testing.assert_allclose(curve.mean_score[used], mean)
    with pytest.raises(UsageError, match="must divide 20"):
        calibration_curve(sums, 7)


def test_score_distribution(data):
    histogram = histogram_of(data.labels, data.scores)
    distribution = score_distribution(histogram.get(1)[0, 0], histogram.edges, 10)
    positive = data.scores[data.labels == 1]
    expected = [
        ((positive > low) & (positive <= high)).sum()
        for low, high in zip(distribution.edges, distribution.edges[1:], strict=False)
    ]
    expected[0] += (positive == 0).sum()
    np.testing.assert_array_equal(distribution.positive, expected)
    assert distribution.negative.sum() == (data.labels == 0).sum()
