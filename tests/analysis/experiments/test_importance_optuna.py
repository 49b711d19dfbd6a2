"""Importances agree with Optuna's own on functions of its documentation and benchmarks.

Optuna's two evaluators of the whole space (fANOVA and mean decrease impurity) differ from each
other. Ours are between them, give or take what each of them varies from one set of trials to the
next. PED-ANOVA measures something else: what matters among the best trials.
"""

from __future__ import annotations

from math import cos, pi

import numpy as np
import pytest

from tests.analysis.experiments.importance_problems import (
    Choice,
    Evaluator,
    Float,
    Problem,
    create_optuna_evaluator,
    evaluate_with_tracklight,
)
from tracklight.types import Float64

pytest.importorskip("optuna")
pytestmark = pytest.mark.slow

TRIALS = 100
SEEDS = range(3)
#: A forest of finite size has errors of its own.
TOLERANCE = 0.06

PROBLEMS = [
    Problem(
        "documentation of FanovaImportanceEvaluator",
        {"x": Choice((0, 1, 2)), "y": Float(-1, 1), "z": Float(0, 1.5)},
        lambda it: it["x"] ** 2 + it["y"] ** 3 - it["z"] ** 4,
        {},
    ),
    Problem(
        "quadratic",
        {"x": Float(-10, 10), "y": Choice((-1, 0, 1))},
        lambda it: it["x"] ** 2 + it["y"],
        {},
    ),
    Problem(
        "Branin",
        {"x": Float(-5, 10), "y": Float(0, 15)},
        lambda it: (
            (it["y"] - 5.1 / (4 * pi**2) * it["x"] ** 2 + 5 / pi * it["x"] - 6) ** 2
            + 10 * (1 - 1 / (8 * pi)) * cos(it["x"])
        ),
        {},
    ),
    Problem(
        "six-hump camel",
        {"x": Float(-3, 3), "y": Float(-2, 2)},
        lambda it: (
            (4 - 2.1 * it["x"] ** 2 + it["x"] ** 4 / 3) * it["x"] ** 2
            + it["x"] * it["y"]
            + (-4 + 4 * it["y"] ** 2) * it["y"] ** 2
        ),
        {},
    ),
]


def evaluate(evaluator: Evaluator, problem: Problem) -> Float64:
    """Return the importance of each parameter, by set of trials."""
    rows = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        trials = [problem.sample(rng) for _ in range(TRIALS)]
        found = evaluator(problem, trials, [problem.evaluate(trial) for trial in trials])
        rows.append([found.get(name, 0.0) for name in problem.space])
    return np.array(rows)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_importance_is_that_of_optuna_within_noise(problem: Problem) -> None:
    own = evaluate(evaluate_with_tracklight, problem).mean(axis=0)
    others = [
        evaluate(create_optuna_evaluator(name), problem)
        for name in ("Fanova", "MeanDecreaseImpurity")
    ]
    means = [values.mean(axis=0) for values in others]
    noise = 2 * np.max([values.std(axis=0) for values in others], axis=0) + TOLERANCE
    assert np.all(own >= np.min(means, axis=0) - noise)
    assert np.all(own <= np.max(means, axis=0) + noise)
