"""Compare the ranking of hyperparameters with the true one, and with Optuna's evaluators."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.experiments.importance_problems import (
    PROBLEMS,
    Evaluator,
    Problem,
    correlate_ranks,
    create_optuna_evaluator,
    evaluate_with_tracklight,
    rate,
)

#: Few enough that Optuna's fANOVA takes seconds and not minutes.
TRIALS = 30
SEEDS = range(2)


def compute_mean_rating(evaluator: Evaluator) -> float:
    return float(np.mean([rate(evaluator, problem, TRIALS, SEEDS) for problem in PROBLEMS]))


@pytest.fixture(scope="module")
def own_rating() -> float:
    return compute_mean_rating(evaluate_with_tracklight)


def test_rank_correlation_averages_the_ranks_of_ties() -> None:
    assert correlate_ranks([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert correlate_ranks([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # scipy.stats.spearmanr gives the same.
    assert correlate_ranks([0, 0, 1, 2], [0, 1, 2, 2]) == pytest.approx(8 / 9)


def test_true_importance_of_a_sum_is_its_share_of_the_variance() -> None:
    (problem,) = (each for each in PROBLEMS if each.name == "additive")
    true = problem.get_true_importance()
    # A uniform distribution of width w has the variance w² / 12.
    variances = {"lr": 2.0**2, "dropout": 1.2**2, "units": 0.7**2, "depth": 0.35**2}
    total = sum(variances.values())
    for name, variance in variances.items():
        assert true[name] == pytest.approx(variance / total, abs=0.06)
    assert true["warmup"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_importance_follows_the_true_ranks(problem: Problem) -> None:
    assert np.mean(rate(evaluate_with_tracklight, problem, 300, SEEDS)) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PedAnova", "Fanova", "MeanDecreaseImpurity"])
def test_importance_ranks_better_than_optunas_evaluators(name: str, own_rating: float) -> None:
    assert own_rating > compute_mean_rating(create_optuna_evaluator(name))
