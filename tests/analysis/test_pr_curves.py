"""Parsed curves are meaningful, and metrics match scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tests.dashboards.pr_curves.curve_logs import count
from tracklight.analysis.pr_curves import PRCurve, compute_metrics, parse_pr_curve
from tracklight.errors import FormatError
from tracklight.formats.values import Tensor, Text

#: Eleven thresholds at intervals of 0.1, like the scores.
TENTHS = [0.1, 0.4, 0.3, 0.8]


def make_curve(rows: ArrayLike) -> PRCurve:
    return parse_pr_curve(Tensor(np.asarray(rows)))


def make_curve_without_counts(precision: ArrayLike, recall: ArrayLike) -> PRCurve:
    """Return a curve without counts."""
    return make_curve([*np.zeros((4, len(np.asarray(precision)))), precision, recall])


@pytest.mark.parametrize(
    ("labels", "scores", "average_precision", "area", "roc_area"),
    [
        # Computed with scikit-learn 1.9.
        ([0, 0, 1, 1], TENTHS, 5 / 6, 19 / 24, 3 / 4),
        ([0, 1, 1, 0, 1, 0], [0.2, 0.9, 0.6, 0.6, 0.5, 0.1], 29 / 36, 61 / 72, 5 / 6),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], 1.0, 1.0, 1.0),
        ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9], 5 / 12, 7 / 24, 0.0),
        ([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5], 0.5, 0.75, 0.5),
    ],
)
def test_areas_of_known_curves(
    labels: list[bool],
    scores: list[float],
    average_precision: float,
    area: float,
    roc_area: float,
) -> None:
    told = compute_metrics(make_curve(count(labels, scores, 11)))
    assert told.average_precision == pytest.approx(average_precision)
    assert told.pr_auc == pytest.approx(area)
    assert told.roc_auc == pytest.approx(roc_area)
    assert told.prevalence == pytest.approx(np.mean(labels))


def test_best_f1_and_threshold() -> None:
    told = compute_metrics(make_curve(count([0, 0, 1, 1], TENTHS, 11)))
    assert told.best_f1 == pytest.approx(0.8)
    assert told.best_threshold == pytest.approx(0.2)


def test_precision_without_predictions_is_nan() -> None:
    curve = make_curve(count([0, 1], [0.3, 0.5], 11))
    assert np.isnan(curve.precision[6:]).all()
    assert curve.recall[6:].tolist() == [0.0] * 5
    assert curve.f1[6:].tolist() == [0.0] * 5
    assert np.isfinite(curve.precision[:6]).all()


def test_weights_below_one() -> None:
    """TensorBoard truncates counts to integers, which loses the rest of this curve."""
    curve = make_curve(count([0, 1], [0.3, 0.5], 11, weights=[0.25, 0.125]))
    assert curve.true_positives[5] == 0.125
    assert curve.precision[5] == 1.0
    assert compute_metrics(curve).average_precision == 1.0


def test_logged_precision_without_predictions_is_kept() -> None:
    rows = count([0, 1], [0.3, 0.5], 11)
    rows[4, 6:] = 1.0
    assert make_curve(rows).precision[6:].tolist() == [1.0] * 5


def test_counts_replace_nan() -> None:
    rows = count([0, 0, 1, 1], TENTHS, 11)
    spoiled = rows.copy()
    spoiled[4:] = np.nan
    known = rows[0] + rows[1] > 0
    curve = make_curve(spoiled)
    np.testing.assert_array_equal(curve.precision[known], rows[4][known])
    np.testing.assert_array_equal(curve.recall, rows[5])


def test_curve_without_counts() -> None:
    curve = make_curve_without_counts([0.5, 0.75, 1.0, 0.0], [1.0, 0.5, 0.25, 0.0])
    told = compute_metrics(curve)
    assert not curve.has_counts
    assert np.isnan(curve.precision[3])
    assert told.average_precision == pytest.approx(0.5 * 0.5 + 0.25 * 0.75 + 0.25)
    assert (told.roc_auc, told.prevalence) == (None, None)


def test_area_does_not_depend_on_order() -> None:
    precision, recall = [0.5, 0.75, 1.0], [1.0, 0.5, 0.25]
    upright = compute_metrics(make_curve_without_counts(precision, recall))
    turned = compute_metrics(make_curve_without_counts(precision[::-1], recall[::-1]))
    assert (upright.average_precision, upright.pr_auc) == (turned.average_precision, turned.pr_auc)


def test_without_positive_examples() -> None:
    curve = make_curve(count([0, 0], [0.3, 0.5], 11))
    told = compute_metrics(curve)
    assert np.isnan(curve.recall).all()
    assert (told.average_precision, told.pr_auc, told.roc_auc, told.best_f1) == (None,) * 4
    assert told.prevalence == 0


def test_without_negative_examples() -> None:
    told = compute_metrics(make_curve(count([1, 1], [0.3, 0.5], 11)))
    assert (told.average_precision, told.roc_auc, told.prevalence) == (1.0, None, 1.0)


@pytest.mark.parametrize("thresholds", [1, 2, 201, 1000])
def test_number_of_thresholds(thresholds: int) -> None:
    curve = make_curve(count([0, 1, 1], [0.3, 0.5, 0.9], thresholds))
    assert curve.threshold[0] == 0
    assert len(curve.threshold) == thresholds
    assert compute_metrics(curve).prevalence == pytest.approx(2 / 3)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u1", "?"])
def test_numeric_dtypes(dtype: str) -> None:
    rows = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [1, 1], [1, 1]]).astype(dtype)
    told = compute_metrics(make_curve(rows))
    assert (told.roc_auc, told.prevalence) == (1.0, 0.5)


@pytest.mark.parametrize("shape", [(), (6,), (5, 10), (10, 6), (6, 0), (6, 2, 1)])
def test_wrong_shape_raises(shape: tuple[int, ...]) -> None:
    with pytest.raises(FormatError, match=r"six rows .* the shape is \["):
        parse_pr_curve(Tensor(np.zeros(shape)))


@pytest.mark.parametrize(
    "value",
    [
        Text(np.array(["a"], object)),
        Tensor(np.zeros((6, 2), np.complex64)),
        Tensor(np.full((6, 2), b"x", object)),
    ],
)
def test_non_numeric_value_raises(value: Tensor | Text) -> None:
    with pytest.raises(FormatError, match="not numeric"):
        parse_pr_curve(value)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 20), st.floats(0.01, 9)), min_size=1, max_size=40
    )
)
def test_areas_match_scikit_learn(examples: list[tuple[bool, int, float]]) -> None:
    """Compute the areas from the examples, whose scores are equal to thresholds."""
    labels, scores, weights = (np.array(column) for column in zip(*examples, strict=True))
    told = compute_metrics(make_curve(count(list(labels), list(scores / 20), 21, weights)))
    total = weights[labels].sum()
    if not labels.any():
        assert told.average_precision is None
        return
    expected = sum(
        weight * weights[labels & (scores >= score)].sum() / weights[scores >= score].sum()
        for label, score, weight in examples
        if label
    )
    assert told.average_precision == pytest.approx(expected / total)
    if labels.all():
        assert told.roc_auc is None
        return
    pairs = sum(
        one * other * (1.0 if high > low else 0.5 if high == low else 0.0)
        for high, one in zip(scores[labels], weights[labels], strict=True)
        for low, other in zip(scores[~labels], weights[~labels], strict=True)
    )
    assert told.roc_auc == pytest.approx(pairs / total / weights[~labels].sum())


numbers = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0, 3e38])


@given(st.lists(st.tuples(*[numbers] * 6), min_size=1, max_size=12))
def test_invalid_numbers_give_no_metrics(cells: list[tuple[float, ...]]) -> None:
    curve = make_curve(np.array(cells).T)
    told = compute_metrics(curve)
    for number in (told.average_precision, told.pr_auc, told.roc_auc, told.best_f1):
        assert number is None or np.isfinite(number)
    assert told.prevalence is None or 0 <= told.prevalence <= 1
    assert len(curve.f1) == len(cells)
