"""Importance on functions of which it is known what matters, and how much."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.analysis.experiments.hparam_columns import build_hparam_columns
from tracklight.analysis.experiments.importance import ImportanceResult, compute_importance
from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import HParamValue


def ask(
    settings: list[dict[str, HParamValue]], values: list[float], sign: int = 1, seed: int = 0
) -> ImportanceResult:
    sessions = [Session(str(n), given, str(n)) for n, given in enumerate(settings)]
    columns = build_hparam_columns(sessions, [])
    return compute_importance(columns, np.arange(len(settings)), np.array(values), sign, seed)


def search(count: int, seed: int = 0) -> list[dict[str, HParamValue]]:
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
def test_a_sum_is_explained_by_its_terms_in_their_order(count: int) -> None:
    given = search(count)
    noise = np.random.default_rng(1).normal(0, 0.05, count)
    # Their parts of the variance are 0.75, 0.19, 0.05 and none.
    values = [
        2.0 * np.log10(one["lr"]) / 3 + 1.0 * one["dropout"] / 0.5 + 0.5 * one["units"] / 496 + n
        for one, n in zip(given, noise, strict=True)
    ]
    found = ask(given, values)
    assert [share.name for share in found.shares[:3]] == ["lr", "dropout", "units"]
    assert [share.direction for share in found.shares[:3]] == [1, 1, 1]
    assert found.r2 > 0.5
    assert sum(share.share for share in found.shares) == pytest.approx(1)
    assert "run_id" not in {share.name for share in found.shares if share.share > 0.05}
    assert "fixed" not in {share.name for share in found.shares}


def test_words_and_bools_matter_as_numbers_do() -> None:
    given = search(300, seed=2)
    steps = {"adam": 2.0, "rms": 1.0, "sgd": 0.0}
    values = [steps[str(it["optimizer"])] + 0.8 * bool(it["flip"]) + it["dropout"] for it in given]
    found = ask(given, values, sign=-1)
    assert [share.name for share in found.shares[:3]] == ["optimizer", "flip", "dropout"]
    assert found.shares[0].best == "sgd"
    assert found.shares[1].direction == -1
    assert found.shares[1].best == "false"


def test_what_only_matters_together_is_found_as_a_pair() -> None:
    given = search(500, seed=3)
    values = [
        (np.log10(one["lr"]) + 2.5) * (one["dropout"] - 0.25) * 4 + 0.1 * one["units"] / 496
        for one in given
    ]
    found = ask(given, values)
    assert {share.name for share in found.shares[:2]} == {"lr", "dropout"}
    assert set(found.pairs[0][:2]) == {"lr", "dropout"}
    assert found.shares[0].direction == 0


def test_noise_is_not_trusted() -> None:
    given = search(100, seed=4)
    found = ask(given, np.random.default_rng(5).normal(size=100).tolist())
    assert found.r2 < 0.2


def test_sessions_that_diverged_count_as_the_worst() -> None:
    given = search(200, seed=6)
    values = [np.nan if one["lr"] > 0.01 else 1.0 + one["dropout"] for one in given]
    found = ask(given, values, sign=-1)
    assert found.shares[0].name == "lr"
    assert found.shares[0].direction == -1


@pytest.mark.parametrize("values", [[1.0] * 40, [np.nan] * 40, [np.inf, -np.inf] * 20])
def test_nothing_is_made_of_nothing(values: list[float]) -> None:
    assert ask(search(40), values).shares == []
    assert ask(search(4), [1.0, 2.0, 3.0, 4.0]).shares == []


def test_the_same_seed_says_the_same() -> None:
    given = search(50)
    values = [float(one["dropout"]) for one in given]
    assert ask(given, values, seed=3) == ask(given, values, seed=3)


def test_a_conditional_hyperparameter_does_not_take_the_importance_of_its_condition() -> None:
    rng = np.random.default_rng(7)
    given: list[dict[str, HParamValue]] = []
    values = []
    for _ in range(300):
        lr, momentum = float(rng.uniform()), float(rng.uniform())
        if rng.integers(2):
            given.append({"optimizer": "sgd", "lr": lr, "momentum": momentum})
            values.append(lr)
        else:
            given.append({"optimizer": "adam", "lr": lr})
            values.append(lr + 2)
    found = {share.name: share.share for share in ask(given, values).shares}
    # The variances are 1 and 1/12; momentum has no effect.
    assert found["optimizer"] == pytest.approx(12 / 13, abs=0.05)
    assert found["momentum"] < 0.01


def test_a_hyperparameter_that_is_missing_for_no_known_reason_explains_the_difference() -> None:
    rng = np.random.default_rng(8)
    strengths = [float(rng.uniform()) if rng.integers(2) else None for _ in range(200)]
    given: list[dict[str, HParamValue]] = [
        {"lr": float(rng.uniform()), **({} if it is None else {"augment": it})} for it in strengths
    ]
    found = ask(given, [0.0 if it is None else 1.0 for it in strengths])
    assert found.shares[0].name == "augment"
    assert found.r2 > 0.8
