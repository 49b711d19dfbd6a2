"""Confidence intervals, differences and corrections, compared with SciPy and direct computation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from scipy import special

import tracklight
from tests.analysis.evaluation.helpers import Example, make_groups
from tracklight.analysis.evaluation import Chunk, EvaluationConfig, Evaluator
from tracklight.analysis.evaluation.metrics import EXACT_BINS
from tracklight.analysis.evaluation.resampling import (
    Resampling,
    adjust_p_values,
    binomial_interval,
    incomplete_beta,
    student_t_p_value,
    student_t_quantile,
)
from tracklight.analysis.evaluation.results import EvaluationResult, MetricColumn
from tracklight.analysis.evaluation.slices import SliceSpec
from tracklight.errors import UsageError


def evaluate(data: Example, resampling: Resampling, **config):
    evaluator = Evaluator(
        EvaluationConfig(
            slices=[SliceSpec("group")], resampling=resampling, max_bins=EXACT_BINS, **config
        )
    )
    evaluator.update(Chunk(data.labels, data.scores, data.columns))
    return evaluator.result()


def test_incomplete_beta_equals_scipy():
    rng = np.random.default_rng(0)
    a, b, x = rng.uniform(0.5, 500, 1000), rng.uniform(0.5, 500, 1000), rng.random(1000)
    np.testing.assert_allclose(incomplete_beta(a, b, x), special.betainc(a, b, x), atol=1e-12)


@pytest.mark.parametrize(("confidence", "degrees"), [(0.95, 19), (0.99, 4), (0.5, 199)])
def test_student_t_equals_scipy(confidence, degrees):
    expected = scipy.stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_t_quantile(confidence, degrees) == pytest.approx(expected, rel=1e-10)
    values = np.array([0.0, 0.5, -2.0, 10.0, np.nan])
    np.testing.assert_allclose(
        student_t_p_value(values, degrees),
        2 * scipy.stats.t.sf(np.abs(values), degrees),
        atol=1e-12,
    )


def test_binomial_interval_equals_scipy():
    for k, n in [(0, 10), (10, 10), (3, 10), (1, 100_000), (70_000, 100_000), (0, 1)]:
        expected = scipy.stats.binomtest(k, n).proportion_ci(0.95, "exact")
        np.testing.assert_allclose(
            binomial_interval(k, n), (expected.low, expected.high), atol=1e-9
        )
    assert np.isnan(binomial_interval(0, 0)).all()


def test_corrections():
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.5])
    bh = scipy.stats.false_discovery_control([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(adjust_p_values(p, "benjamini-hochberg")[[0, 1, 3, 4]], bh)
    np.testing.assert_allclose(adjust_p_values(p, "bonferroni"), [0.04, 0.16, np.nan, 0.12, 1])
    np.testing.assert_allclose(adjust_p_values(p, "holm"), [0.04, 0.09, np.nan, 0.09, 0.5])
    np.testing.assert_array_equal(adjust_p_values(p, "none"), p)
    with pytest.raises(UsageError, match="unknown correction"):
        adjust_p_values(p, "tukey")  # type: ignore[arg-type]


def test_exact_intervals():
    data = make_groups()
    result = evaluate(data, Resampling("exact"), thresholds=(0.5,))
    mask = (data.columns["group"] == "b") & (data.labels == 1)
    hits = int((data.scores[mask] > 0.5).sum())
    expected = scipy.stats.binomtest(hits, int(mask.sum())).proportion_ci(0.95, "exact")
    row, column = result.get_slice("group:b"), result.get_column("recall")
    assert result.lower[row, column] == pytest.approx(expected.low)
    assert result.upper[row, column] == pytest.approx(expected.high)
    assert np.isnan(result.lower[row, result.get_column("auc")])


def test_exact_intervals_need_unweighted_rows():
    evaluator = Evaluator(EvaluationConfig(resampling=Resampling("exact")))
    with pytest.raises(UsageError, match="exact intervals need rows without weights"):
        evaluator.update(Chunk(np.array([0, 1]), np.array([0.1, 0.9]), weights=np.ones(2)))


def test_jackknife_equals_direct_computation():
    data = make_groups()
    resampling = Resampling("jackknife", seed=4)
    result = evaluate(data, resampling, thresholds=(0.5,))
    groups = resampling.draw_groups(0, len(data.labels))

    def recall(mask):
        return (data.scores[mask & (data.labels == 1)] > 0.5).mean()

    mask = data.columns["group"] == "b"
    full = recall(mask)
    pseudo = [20 * full - 19 * recall(mask & (groups != g)) for g in range(20)]
    margin = scipy.stats.t.ppf(0.975, 19) * np.std(pseudo, ddof=1) / np.sqrt(20)
    row, column = result.get_slice("group:b"), result.get_column("recall")
    assert result.lower[row, column] == pytest.approx(full - margin)
    assert result.upper[row, column] == pytest.approx(full + margin)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["jackknife", "bootstrap"])
@pytest.mark.parametrize("metric", ["recall", "auc", "precision"])
def test_interval_width_agrees_with_an_independent_bootstrap(method, metric):
    """Many samples on our side and on the other, so that both standard errors are precise."""
    import sklearn.metrics as sk

    data = make_groups()
    result = evaluate(data, Resampling(method, samples=200), thresholds=(0.5,))
    row, column = result.get_slice("group:b"), result.get_column(metric)
    width = result.upper[row, column] - result.lower[row, column]
    mask = data.columns["group"] == "b"
    y, score = data.labels[mask], data.scores[mask]
    rng = np.random.default_rng(9)
    compute = {
        "recall": lambda i: sk.recall_score(y[i], score[i] > 0.5),
        "precision": lambda i: sk.precision_score(y[i], score[i] > 0.5),
        "auc": lambda i: sk.roc_auc_score(y[i], score[i]),
    }[metric]
    values = [compute(rng.integers(0, len(y), len(y))) for _ in range(300)]
    expected = 2 * scipy.stats.t.ppf(0.975, 199) * np.std(values, ddof=1)
    # The relative error of a standard deviation of n samples is about 1 / sqrt(2 n): 5 and 4 %.
    assert width == pytest.approx(expected, rel=0.2)


def test_bootstrap_draws_are_poisson():
    repeats = Resampling("bootstrap").draw_repeats(0, 100_000)
    counts = np.bincount(repeats.ravel(), minlength=9)[:7] / repeats.size
    np.testing.assert_allclose(counts, scipy.stats.poisson.pmf(np.arange(7), 1), atol=1e-3)


def test_difference_takes_shared_rows_into_account():
    data = make_groups()
    result = evaluate(data, Resampling("jackknife", samples=100), thresholds=(0.5,))
    difference = result.difference()
    row, column = result.get_slice("group:a"), result.get_column("recall")
    value = result.get_value("recall", "group:a") - result.get_value("recall")
    assert difference.absolute[row, column] == pytest.approx(value)
    assert difference.relative[row, column] == pytest.approx(
        result.get_value("recall", "group:a") / result.get_value("recall") - 1
    )
    # Group a has most rows of the overall slice, so the difference varies less than either.
    width = difference.upper[row, column] - difference.lower[row, column]
    assert width < result.upper[row, column] - result.lower[row, column]
    base = result.get_slice("Overall")
    assert difference.absolute[base, column] == difference.lower[base, column] == 0
    assert np.isnan(difference.p_value[base]).all()


def test_real_gap_is_significant_and_noise_is_not():
    rng = np.random.default_rng(1)
    rows = 6000
    group = rng.choice(["bad", "fine", "good"], rows)
    labels = rng.integers(0, 2, rows)
    quality = np.where(group == "bad", 0.1, 0.3)
    scores = np.clip(rng.normal(0.5 + quality * (labels - 0.5), 0.2), 0, 1)
    data = Example(labels, scores, {"group": group})
    result = evaluate(data, Resampling(), thresholds=(0.5,), metrics=["accuracy", "auc"])
    significant = result.difference("group:good", "holm").is_significant
    assert significant[result.get_slice("group:bad")].all()
    assert not significant[result.get_slice("group:fine")].any()


def test_difference_without_replicates_combines_intervals():
    data = make_groups()
    result = evaluate(data, Resampling("exact"), thresholds=(0.5,))
    difference = result.difference("group:a", "none")
    row, base = result.get_slice("group:b"), result.get_slice("group:a")
    column = result.get_column("recall")
    expected = np.hypot(
        result.value[row, column] - result.lower[row, column],
        result.upper[base, column] - result.value[base, column],
    )
    assert difference.absolute[row, column] - difference.lower[row, column] == pytest.approx(
        expected
    )


def test_unknown_baseline():
    result = evaluate(make_groups(), Resampling("none"))
    with pytest.raises(UsageError, match='no slice "group:z"; did you mean "group:'):
        result.difference("group:z")


def test_invalid_resampling():
    for change, message in (
        ({"method": "delta"}, "unknown interval method"),
        ({"samples": 1}, "samples must be 2 to 200"),
        ({"confidence": 1.0}, "confidence must be between 0 and 1"),
    ):
        with pytest.raises(UsageError, match=message):
            Resampling(**change)


def test_relative_interval_of_a_negative_baseline_contains_the_value():
    result = EvaluationResult(
        slices=[(), (("sex", "F"),)],
        columns=[MetricColumn("mean_error")],
        counts=np.array([10, 5]),
        value=np.array([[-0.5], [-0.25]]),
        lower=np.array([[-0.6], [-0.35]]),
        upper=np.array([[-0.4], [-0.15]]),
        resampling=Resampling("jackknife"),
    )
    difference = result.difference("Overall")
    margin = np.hypot(0.1, 0.1) / 0.5
    assert difference.relative[1, 0] == -0.5
    assert difference.relative_lower[1, 0] == pytest.approx(-0.5 - margin)
    assert difference.relative_upper[1, 0] == pytest.approx(-0.5 + margin)


def test_constant_values_of_small_slices_are_not_significant():
    """All replicates of a rate of 1 are 1, which would look like certainty."""
    rng = np.random.default_rng(0)
    rows = 2000
    result = tracklight.fairness.evaluate(
        {"user": np.arange(rows) % 400},
        label=np.ones(rows, int),
        prediction=rng.random(rows),
        slices=["user"],
        thresholds=[0.5],
        metrics=["recall"],
    ).evaluation
    difference = result.difference("Overall", "none")
    constant = (result.value == 0) | (result.value == 1)
    assert constant.sum() > 10
    assert (result.lower == result.upper)[constant].all()
    assert np.isnan(difference.p_value[constant]).all()
    assert np.isnan(difference.lower[constant]).all()
    assert np.isfinite(difference.p_value[~constant]).sum() > 300
