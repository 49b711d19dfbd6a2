"""`tracklight.hparams.search`, and Optuna studies shown as runs."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.experiments.helpers import open_board
from tracklight import hparams as hp
from tracklight.dashboards.hparams.schemas import SessionsRequest, TrialsRequest
from tracklight.errors import LogError, MissingDependencyError, UsageError
from tracklight.hparams.optuna_studies import SearchTrial, StudyMirror, follow_studies

optuna = pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def silence_optuna() -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def objective(trial: SearchTrial) -> float:
    for epoch in range(3):
        trial.log({"accuracy": trial["units"] / 64 * epoch}, epoch)
    return float(trial["units"]) + float(trial["lr"])


def test_logs_every_trial_as_a_session(tmp_path: Path) -> None:
    space = {"lr": (1e-4, 1e-1, "log"), "units": [16, 32, 64], "layers": (1, 3)}
    study = hp.search(objective, space, 8, sampler="random", logdir=tmp_path, seed=3)
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert response.rows.names == [f"trial-{number:04}" for number in range(8)]
    assert set(response.rows.status.tolist()) == {1}
    columns = {column.name: column for column in response.hparams}
    assert columns["units"].values.tolist() == [t.params["units"] for t in study.trials]
    assert {column.declared for column in response.hparams} == {True}
    metrics = {metric.key: metric for metric in response.metrics}
    assert metrics["|objective"].values.tolist() == pytest.approx([t.value for t in study.trials])
    assert metrics["|objective"].goal == "max"
    assert metrics["|accuracy"].steps.tolist() == [2.0] * 8
    assert study.best_params["units"] == 64


def test_grid_search_tries_every_combination_once(tmp_path: Path) -> None:
    space = {hp.HParam("units", hp.Discrete([16, 32])): None, "lr": [0.1, 0.01], "n": (1, 2)}
    study = hp.search(objective, space, 20, sampler="grid", logdir=tmp_path)
    tried = {(t.params["units"], t.params["lr"], t.params["n"]) for t in study.trials}
    assert len(study.trials) == len(tried) == 8


def test_distinguishes_failed_and_pruned_trials(tmp_path: Path) -> None:
    def fail(trial: SearchTrial) -> float:
        trial.report(1.0, 0)
        if trial["mode"] == "break":
            raise ValueError
        if trial["mode"] == "prune":
            raise optuna.TrialPruned
        return 2.0

    space = {"mode": ["break", "prune", "end"]}
    hp.search(
        fail, space, 3, sampler="grid", logdir=tmp_path, direction="minimize", catch=ValueError
    )
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    words = response.hparams[0].categories
    modes = [words[int(index)] for index in response.hparams[0].values]
    status = dict(zip(modes, response.rows.status.tolist(), strict=True))
    assert status == {"break": 2, "prune": 4, "end": 1}
    (metric,) = response.metrics
    assert metric.goal == "min"
    values = dict(zip(modes, metric.values.tolist(), strict=True))
    assert values == {"break": 1.0, "prune": 1.0, "end": 2.0}


def test_uncaught_error_ends_the_search(tmp_path: Path) -> None:
    def fail(trial: SearchTrial) -> float:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        hp.search(fail, {"lr": [1.0]}, 5, logdir=tmp_path)
    assert open_board(tmp_path)[1].sessions(SessionsRequest()).rows.status.tolist() == [2]


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "is empty"),
        ({"lr": 0.1}, r'Invalid search space for "lr": 0\.1. Use a list'),
        ({"lr": (0.1, 0.01)}, 'Invalid search space for "lr"'),
        ({"lr": (0.1, 1.0, "cubic")}, 'Use "linear" or "log"'),
    ],
)
def test_invalid_space_raises(space: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        hp.search(objective, space, 1, logdir=tmp_path)


def test_invalid_sampler_raises(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='No sampler "best"'):
        hp.search(objective, {"lr": [1]}, 1, sampler="best", logdir=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="A grid search needs lists"):
        hp.search(objective, {"lr": (0.1, 1.0)}, 1, sampler="grid", logdir=tmp_path)


def test_missing_optuna_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[search\]'"):
        hp.search(objective, {"lr": [1]}, 1, logdir=tmp_path)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[search\]"):
        StudyMirror("sqlite:///x.db", tmp_path)


def create_study(directory: Path) -> tuple[str, Any]:
    url = f"sqlite:///{directory / 'study.db'}"
    return url, optuna.create_study(storage=url, study_name="my study", direction="minimize")


def tune(trial: Any) -> float:
    x = trial.suggest_float("x", -1, 1)
    trial.suggest_categorical("kind", ["a", None])
    trial.report(9.0, 4)
    return float(x**2)


def test_follows_a_study(tmp_path: Path) -> None:
    url, study = create_study(tmp_path)
    study.optimize(tune, n_trials=2)
    logs = tmp_path / "logs"
    with follow_studies(url, logs, poll_interval_s=0.02):
        catalog, board = open_board(logs)
        first = board.sessions(SessionsRequest())
        assert first.rows.names == ["my_study/trial-0000", "my_study/trial-0001"]
        study.optimize(tune, n_trials=1)
        third = logs / "my_study" / "trial-0002"
        pause = threading.Event()
        while not any(b"session_end_info" in it.read_bytes() for it in third.glob("*")):
            pause.wait(0.01)
    catalog.refresh()
    response = board.sessions(SessionsRequest(since=first.revision))
    assert response.rows.names[-1] == "my_study/trial-0002"
    (metric,) = response.metrics
    assert (metric.goal, metric.steps[-1]) == ("min", 5.0)
    assert metric.values[-1] == pytest.approx(study.trials[2].value)


def test_values_of_a_running_trial_appear_one_by_one(tmp_path: Path) -> None:
    url, study = create_study(tmp_path)
    mirror = StudyMirror(url, tmp_path / "logs")
    running = study.ask()
    seen = []
    for name in ("x", "y", ""):
        if name:
            running.suggest_float(name, 0, 1)
            running.report(1.0, len(seen))
        mirror.refresh()
        response = open_board(tmp_path / "logs")[1].sessions(SessionsRequest())
        steps = response.metrics[0].steps.tolist()
        seen.append(([it.name for it in response.hparams], response.rows.status.tolist(), steps))
    assert seen == [(["x"], [0], [0.0]), (["x", "y"], [0], [1.0]), (["x", "y"], [0], [1.0])]
    study.tell(running, 0.5)
    mirror.refresh()
    response = open_board(tmp_path / "logs")[1].sessions(SessionsRequest())
    assert (response.rows.status.tolist(), response.metrics[0].values.tolist()) == ([1], [0.5])


def test_invalid_storage_raises_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="No file"):
        StudyMirror(f"sqlite:///{tmp_path / 'none.db'}", tmp_path)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("not a database, and longer than its header would be" * 9)
    with pytest.raises(LogError, match=r"Cannot open .* as an Optuna storage"):
        StudyMirror(f"sqlite:///{tmp_path / 'text.db'}", tmp_path)


def test_searches_with_the_same_trial_ids_stay_apart(tmp_path: Path) -> None:
    space = {"x": (0.0, 1.0)}
    own = optuna.create_study(direction="minimize")
    hp.search(lambda trial: float(trial["x"]), space, 4, logdir=tmp_path / "a", study=own)
    hp.search(lambda trial: float(trial["x"]), space, 4, logdir=tmp_path / "b")
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest(aggregation="mean"))
    assert (len(response.rows.names), response.repeats) == (8, 0)
    # The direction is that of the given study, not the default of the argument.
    goals = [board.sessions(SessionsRequest(study=it)).metrics[0].goal for it in ("a", "b")]
    assert goals == ["min", "max"]


def test_infeasible_trials_and_results_without_a_number_are_no_success(tmp_path: Path) -> None:
    def is_low(trial: optuna.trial.FrozenTrial) -> list[float]:
        return [0.5 - trial.params["x"]]

    def run(trial: SearchTrial) -> float:
        return float("nan") if trial.number == 3 else float(trial["x"])

    with warnings.catch_warnings():
        # Experimental before Optuna 5, deprecated since.
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.NSGAIISampler(seed=1, constraints_func=is_low)
    study = hp.search(run, {"x": (0.0, 1.0)}, 12, sampler, tmp_path / "a", direction="minimize")
    expected = [
        2 if trial.number == 3 else 5 if trial.params["x"] < 0.5 else 1 for trial in study.trials
    ]
    assert {*expected} == {1, 2, 5}
    board = open_board(tmp_path)[1]
    assert board.sessions(SessionsRequest()).rows.status.tolist() == expected
    assert board.trials(TrialsRequest(study="a")).best == study.best_trial.number


def test_a_followed_study_has_the_status_and_values_of_its_trials(tmp_path: Path) -> None:
    def run(trial: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.report(x, 0)
        if trial.number == 1:
            raise optuna.TrialPruned
        trial.set_constraint("low", 0.5 - x)
        return float(x)

    url, study = create_study(tmp_path)
    study.optimize(run, n_trials=8)
    StudyMirror(url, tmp_path / "logs").refresh()
    response = open_board(tmp_path / "logs")[1].sessions(SessionsRequest())
    assert response.rows.status.tolist() == [
        4 if it.number == 1 else 5 if it.params["x"] < 0.5 else 1 for it in study.trials
    ]
    # The result was reported already.
    assert response.metrics[0].steps.tolist() == [0.0] * 8
