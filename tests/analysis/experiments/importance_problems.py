"""Functions whose true hyperparameter importance is known, and how well evaluators rank it.

The true importance of a parameter is its total Sobol index: the share of the variance that remains
when all other parameters are fixed. It is estimated by Monte Carlo, without noise. An evaluator is
rated by Spearman's rank correlation of its importances with the true ones. Every problem has three
parameters without any effect, and noise with a fifth of the standard deviation of the function.

`python -m tests.analysis.experiments.importance_problems` prints the comparison with Optuna's
evaluators that ARCHITECTURE.md quotes. It takes several minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, log10, pi, sin
from typing import Any

import numpy as np

from tracklight.analysis.experiments.columns import build_hparam_columns
from tracklight.analysis.experiments.importance import compute_importance
from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import HParamValue

Trial = dict[str, HParamValue]
#: Returns the importance of each parameter by name.
Evaluator = Callable[["Problem", Sequence[Trial], Sequence[float]], dict[str, float]]

NOISE = 0.2
_true_importances: dict[str, dict[str, float]] = {}
MONTE_CARLO_SAMPLES = 4000


@dataclass(frozen=True)
class Float:
    low: float
    high: float
    log: bool = False

    def sample(self, rng: np.random.Generator) -> HParamValue:
        if self.log:
            return exp(rng.uniform(log(self.low), log(self.high)))
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class Choice:
    values: tuple[HParamValue, ...]

    def sample(self, rng: np.random.Generator) -> HParamValue:
        return self.values[rng.integers(len(self.values))]


@dataclass(frozen=True)
class Problem:
    """A function of a trial's parameters.

    Attributes:
        conditions: For parameters that exist only sometimes, the parameter and the value that
            they depend on.
    """

    name: str
    space: dict[str, Float | Choice]
    function: Callable[[Any], float]
    conditions: dict[str, tuple[str, HParamValue]]

    def sample(self, rng: np.random.Generator) -> Trial:
        return {name: domain.sample(rng) for name, domain in self.space.items()}

    def drop_inactive(self, trial: Trial) -> Trial:
        return {
            name: value
            for name, value in trial.items()
            if name not in self.conditions
            or trial[self.conditions[name][0]] == self.conditions[name][1]
        }

    def evaluate(self, trial: Trial) -> float:
        return float(self.function(self.drop_inactive(trial)))

    def get_true_importance(self) -> dict[str, float]:
        """Return the total Sobol index of each parameter (Jansen's estimator)."""
        rng = np.random.default_rng(0)
        trials = [self.sample(rng) for _ in range(MONTE_CARLO_SAMPLES)]
        values = np.array([self.evaluate(trial) for trial in trials])
        indexes = {}
        for name, domain in self.space.items():
            resampled = [self.evaluate({**trial, name: domain.sample(rng)}) for trial in trials]
            indexes[name] = float(np.mean((values - resampled) ** 2) / (2 * values.var()))
        return indexes

    def run_trials(self, count: int, seed: int) -> tuple[list[Trial], list[float]]:
        """Return random trials and their values with noise."""
        rng = np.random.default_rng(seed)
        trials = [self.sample(rng) for _ in range(count)]
        values = np.array([self.evaluate(trial) for trial in trials])
        values += rng.normal(0, NOISE * values.std(), count)
        return [self.drop_inactive(trial) for trial in trials], values.tolist()


def create_problem(
    name: str,
    space: dict[str, Float | Choice],
    function: Callable[[Any], float],
    conditions: dict[str, tuple[str, HParamValue]] | None = None,
) -> Problem:
    irrelevant = {"warmup": Float(0, 1), "ema": Float(0, 1), "clip_norm": Float(0, 1)}
    return Problem(name, {**space, **irrelevant}, function, conditions or {})


LEARNING_RATE = Float(1e-4, 1e-1, log=True)
OPTIMIZERS = {"adam": 2.0, "sgd": 0.0, "rmsprop": 1.4, "lion": 0.3, "adagrad": 1.0}
ACTIVATIONS = {"relu": 0.9, "gelu": 0.0, "tanh": 0.5}

PROBLEMS = [
    create_problem(
        "additive",
        {
            "lr": LEARNING_RATE,
            "dropout": Float(0, 0.5),
            "units": Float(16, 512),
            "depth": Float(1, 8),
        },
        lambda it: (
            2 * log10(it["lr"]) / 3
            + 2.4 * it["dropout"]
            + 0.7 * it["units"] / 496
            + 0.05 * it["depth"]
        ),
    ),
    create_problem(
        "interaction",
        {
            "lr": LEARNING_RATE,
            "batch": Float(8, 512, log=True),
            "units": Float(16, 512),
            "dropout": Float(0, 0.5),
        },
        lambda it: (
            (log10(it["lr"]) + 2.5) * (log10(it["batch"]) - 1.8) / 1.35
            + 0.6 * it["units"] / 496
            + 0.5 * it["dropout"]
        ),
    ),
    create_problem(
        "categorical",
        {
            "optimizer": Choice(tuple(OPTIMIZERS)),
            "activation": Choice(tuple(ACTIVATIONS)),
            "flip": Choice((True, False)),
            "lr": LEARNING_RATE,
        },
        lambda it: (
            OPTIMIZERS[it["optimizer"]]
            + ACTIVATIONS[it["activation"]]
            + 0.45 * it["flip"]
            + 0.2 * log10(it["lr"])
        ),
    ),
    create_problem(
        "log scale",
        {
            "lr": Float(1e-5, 1, log=True),
            "decay": Float(1e-6, 1e-2, log=True),
            "clip": Float(0.01, 100, log=True),
            "momentum": Float(0.5, 0.99),
        },
        lambda it: (
            -((log10(it["lr"]) + 3) ** 2) / 2
            - 0.6 * (log10(it["decay"]) + 4) ** 2
            - 0.4 * log10(it["clip"]) ** 2
            + 0.8 * it["momentum"]
        ),
    ),
    create_problem(
        "conditional",
        {
            "optimizer": Choice(("sgd", "adam")),
            "momentum": Float(0, 0.99),
            "beta2": Float(0.9, 0.9999),
            "lr": LEARNING_RATE,
        },
        lambda it: (
            (0.9 * it["momentum"] if it["optimizer"] == "sgd" else 1.2 + 5 * (it["beta2"] - 0.9))
            + 0.3 * log10(it["lr"])
        ),
        {"momentum": ("optimizer", "sgd"), "beta2": ("optimizer", "adam")},
    ),
    create_problem(
        "not monotonic",
        {"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 1), "d": Float(0, 1)},
        lambda it: (
            sin(2 * pi * it["a"])
            + 0.8 * (2 * it["b"] - 1) ** 2
            + (0.35 * abs(4 * it["c"] - 2) if it["d"] > 0.5 else 0)
            + 0.2 * it["d"]
        ),
    ),
]


def evaluate_with_tracklight(
    problem: Problem, trials: Sequence[Trial], values: Sequence[float]
) -> dict[str, float]:
    sessions = [Session(str(n), trial, str(n)) for n, trial in enumerate(trials)]
    columns = build_hparam_columns(sessions, [])
    found = compute_importance(columns, np.arange(len(trials)), np.array(values), sign=1)
    return {share.name: share.share for share in found.shares}


def create_optuna_evaluator(name: str) -> Evaluator:
    """Return one of Optuna's evaluators: ``PedAnova``, ``Fanova`` or ``MeanDecreaseImpurity``."""
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    evaluator_class = getattr(optuna.importance, f"{name}ImportanceEvaluator")

    def evaluate(
        problem: Problem, trials: Sequence[Trial], values: Sequence[float]
    ) -> dict[str, float]:
        distributions = {
            name: CategoricalDistribution(domain.values)  # type: ignore[arg-type]
            if isinstance(domain, Choice)
            else FloatDistribution(domain.low, domain.high, log=domain.log)
            for name, domain in problem.space.items()
        }
        study = optuna.create_study(direction="maximize")
        for trial, value in zip(trials, values, strict=True):
            study.add_trial(
                optuna.trial.create_trial(
                    params=trial,
                    distributions={name: distributions[name] for name in trial},
                    value=value,
                )
            )
        options = {} if name == "PedAnova" else {"seed": 0}
        # Parameters that not every trial has are left out of the result by default.
        return optuna.importance.get_param_importances(study, evaluator=evaluator_class(**options))

    return evaluate


def rate(
    evaluator: Evaluator, problem: Problem, trial_count: int, seeds: Iterable[int]
) -> list[float]:
    """Return the rank correlation with the true importance for each seed."""
    if problem.name not in _true_importances:
        _true_importances[problem.name] = problem.get_true_importance()
    true = _true_importances[problem.name]
    ratings = []
    for seed in seeds:
        found = evaluator(problem, *problem.run_trials(trial_count, seed))
        # Parameters that are left out rank last.
        ratings.append(correlate_ranks([*true.values()], [found.get(name, 0.0) for name in true]))
    return ratings


def correlate_ranks(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation; equal values get the mean of their ranks."""

    def rank(values: Sequence[float]) -> Any:
        array = np.asarray(values)
        below = (array[:, None] > array).sum(axis=1)
        return below + (array[:, None] == array).sum(axis=1) / 2

    return float(np.corrcoef(rank(first), rank(second))[0, 1])


def main() -> None:
    evaluators = {
        "tracklight": evaluate_with_tracklight,
        **{
            name: create_optuna_evaluator(name)
            for name in ("PedAnova", "Fanova", "MeanDecreaseImpurity")
        },
    }
    for count in (40, 150, 500):
        for name, evaluator in evaluators.items():
            start = time.process_time()
            ratings = [rate(evaluator, problem, count, range(5)) for problem in PROBLEMS]
            seconds = (time.process_time() - start) / (5 * len(PROBLEMS))
            means = {
                problem.name: round(float(np.mean(one)), 2)
                for problem, one in zip(PROBLEMS, ratings, strict=True)
            }
            mean = float(np.mean(ratings))
            print(f"{count} trials, {name}: {mean:.2f} ({seconds:.2f} s)", means, flush=True)


if __name__ == "__main__":
    main()
