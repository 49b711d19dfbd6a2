"""Importance of hyperparameters on functions with a known structure."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.experiments.columns import build_hparam_columns
from tracklight.analysis.experiments.importance import (
    ImportanceResult,
    build_features,
    compute_importance,
    estimate_directions,
)
from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import HParamValue


def compute(
    trials: list[dict[str, HParamValue]], values: list[float], sign: int = 1, seed: int = 0
) -> ImportanceResult:
    sessions = [Session(str(n), hparams, str(n)) for n, hparams in enumerate(trials)]
    columns = build_hparam_columns(sessions, [])
    return compute_importance(columns, np.arange(len(trials)), np.array(values), sign, seed)


def sample_trials(count: int, seed: int = 0) -> list[dict[str, HParamValue]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "lr": float(10 ** rng.uniform(-4, -1)),
            "dropout": float(rng.uniform(0, 0.5)),
            "units": float(rng.integers(16, 512)),
            "optimizer": str(rng.choice(["adam", "sgd", "rms"])),
            "flip": bool(rng.integers(2)),
            "fixed": 1.0,
            "run_id": f"{rng.integers(1 << 60):x}",
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [60, 400])
def test_terms_of_a_sum_are_ranked_by_their_variance(count: int) -> None:
    trials = sample_trials(count)
    noise = np.random.default_rng(1).normal(0, 0.05, count)
    # The shares of the variance are 0.75, 0.19, 0.05 and 0.
    values = [
        2.0 * np.log10(trial["lr"]) / 3
        + 1.0 * trial["dropout"] / 0.5
        + 0.5 * trial["units"] / 496
        + n
        for trial, n in zip(trials, noise, strict=True)
    ]
    found = compute(trials, values)
    assert [share.name for share in found.shares[:3]] == ["lr", "dropout", "units"]
    assert [share.direction for share in found.shares[:3]] == [1, 1, 1]
    assert found.r2 > 0.5
    assert sum(share.share for share in found.shares) == pytest.approx(1)
    assert "run_id" not in {share.name for share in found.shares if share.share > 0.05}
    assert "fixed" not in {share.name for share in found.shares}


def test_texts_and_bools_are_features() -> None:
    trials = sample_trials(300, seed=2)
    steps = {"adam": 2.0, "rms": 1.0, "sgd": 0.0}
    values = [steps[str(it["optimizer"])] + 0.8 * bool(it["flip"]) + it["dropout"] for it in trials]
    found = compute(trials, values, sign=-1)
    assert [share.name for share in found.shares[:3]] == ["optimizer", "flip", "dropout"]
    assert found.shares[1].direction == -1


def test_interaction_is_reported_as_a_pair() -> None:
    trials = sample_trials(500, seed=3)
    values = [
        (np.log10(trial["lr"]) + 2.5) * (trial["dropout"] - 0.25) * 4 + 0.1 * trial["units"] / 496
        for trial in trials
    ]
    found = compute(trials, values)
    assert {share.name for share in found.shares[:2]} == {"lr", "dropout"}
    assert set(found.pairs[0][:2]) == {"lr", "dropout"}
    assert found.shares[0].direction == 0


def test_noise_has_a_low_r2() -> None:
    trials = sample_trials(100, seed=4)
    found = compute(trials, np.random.default_rng(5).normal(size=100).tolist())
    assert found.r2 < 0.2


def test_noise_hardly_has_a_direction() -> None:
    rng = np.random.default_rng(9)
    columns = [{f"h{n}": float(rng.uniform()) for n in range(6)} for _ in range(40)]
    trials: list[dict[str, HParamValue]] = [{**it} for it in columns]
    sessions = [Session(str(n), hparams, str(n)) for n, hparams in enumerate(trials)]
    features = build_features(build_hparam_columns(sessions, []), np.arange(40))
    found = [any(estimate_directions(features, rng.normal(size=40))) for _ in range(400)]
    assert np.mean(found) < 0.08


def test_diverged_sessions_count_as_the_worst() -> None:
    trials = sample_trials(200, seed=6)
    values = [np.nan if trial["lr"] > 0.01 else 1.0 + trial["dropout"] for trial in trials]
    found = compute(trials, values, sign=-1)
    assert found.shares[0].name == "lr"
    assert found.shares[0].direction == -1


@pytest.mark.parametrize("values", [[1.0] * 40, [np.nan] * 40, [np.inf, -np.inf] * 20])
def test_no_shares_without_variance_or_with_too_few_sessions(values: list[float]) -> None:
    assert compute(sample_trials(40), values).shares == []
    assert compute(sample_trials(4), [1.0, 2.0, 3.0, 4.0]).shares == []


def test_equal_seeds_give_equal_results() -> None:
    trials = sample_trials(50)
    values = [float(trial["dropout"]) for trial in trials]
    assert compute(trials, values, seed=3) == compute(trials, values, seed=3)


def test_conditional_hyperparameter_takes_no_importance_from_its_condition() -> None:
    rng = np.random.default_rng(7)
    trials: list[dict[str, HParamValue]] = []
    values = []
    for _ in range(300):
        lr, momentum = float(rng.uniform()), float(rng.uniform())
        if rng.integers(2):
            trials.append({"optimizer": "sgd", "lr": lr, "momentum": momentum})
            values.append(lr)
        else:
            trials.append({"optimizer": "adam", "lr": lr})
            values.append(lr + 2)
    found = {share.name: share.share for share in compute(trials, values).shares}
    # The variances are 1 and 1/12; momentum has no effect.
    assert found["optimizer"] == pytest.approx(12 / 13, abs=0.05)
    assert found["momentum"] < 0.01


def test_missing_values_are_not_a_value() -> None:
    rng = np.random.default_rng(8)
    strengths = [float(rng.uniform()) if rng.integers(2) else None for _ in range(200)]
    trials: list[dict[str, HParamValue]] = [
        {"lr": float(rng.uniform()), **({} if it is None else {"augment": it})} for it in strengths
    ]
    found = compute(trials, [0.0 if it is None else 1.0 for it in strengths])
    # Whether `augment` is missing decides everything; its values decide nothing.
    assert found.r2 < 0.1
