"""`tracklight.hparams.search`, and studies of Optuna shown as runs."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.experiments.helpers import open_board
from tracklight import hparams as hp
from tracklight.dashboards.hparams.schemas import SessionsRequest
from tracklight.errors import LogError, MissingDependencyError, UsageError
from tracklight.hparams.optuna_search import SearchTrial
from tracklight.hparams.optuna_studies import StudyMirror, follow_studies

optuna = pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def objective(trial: SearchTrial) -> float:
    for epoch in range(3):
        trial.log({"accuracy": trial["units"] / 64 * epoch}, epoch)
    return float(trial["units"]) + float(trial["lr"])


def test_every_trial_is_a_session(tmp_path: Path) -> None:
    space = {"lr": (1e-4, 1e-1, "log"), "units": [16, 32, 64], "layers": (1, 3)}
    study = hp.search(objective, space, 8, sampler="random", logdir=tmp_path, seed=3)
    answer = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert answer.rows.names == [f"trial-{number:04}" for number in range(8)]
    assert set(answer.rows.status.tolist()) == {1}
    columns = {column.name: column for column in answer.hparams}
    assert columns["units"].values.tolist() == [t.params["units"] for t in study.trials]
    assert {column.declared for column in answer.hparams} == {True}
    metrics = {metric.key: metric for metric in answer.metrics}
    assert metrics["|objective"].values.tolist() == pytest.approx([t.value for t in study.trials])
    assert metrics["|objective"].goal == "max"
    assert metrics["|accuracy"].steps.tolist() == [2.0] * 8
    assert study.best_params["units"] == 64


def test_a_grid_tries_everything_once(tmp_path: Path) -> None:
    space = {hp.HParam("units", hp.Discrete([16, 32])): None, "lr": [0.1, 0.01], "n": (1, 2)}
    study = hp.search(objective, space, 20, sampler="grid", logdir=tmp_path)
    tried = {(t.params["units"], t.params["lr"], t.params["n"]) for t in study.trials}
    assert len(study.trials) == len(tried) == 8


def test_failures_and_ends_ahead_of_time_are_told_apart(tmp_path: Path) -> None:
    def fails(trial: SearchTrial) -> float:
        trial.report(1.0, 0)
        if trial["mode"] == "break":
            raise ValueError
        if trial["mode"] == "prune":
            raise optuna.TrialPruned
        return 2.0

    space = {"mode": ["break", "prune", "end"]}
    hp.search(
        fails, space, 3, sampler="grid", logdir=tmp_path, direction="minimize", catch=ValueError
    )
    answer = open_board(tmp_path)[1].sessions(SessionsRequest())
    words = answer.hparams[0].words
    modes = [words[int(place)] for place in answer.hparams[0].values]
    status = dict(zip(modes, answer.rows.status.tolist(), strict=True))
    assert status == {"break": 2, "prune": 1, "end": 1}
    (metric,) = answer.metrics
    assert metric.goal == "min"
    values = dict(zip(modes, metric.values.tolist(), strict=True))
    assert values == {"break": 1.0, "prune": 1.0, "end": 2.0}


def test_an_error_ends_the_search_unless_it_is_to_be_caught(tmp_path: Path) -> None:
    def fails(trial: SearchTrial) -> float:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        hp.search(fails, {"lr": [1.0]}, 5, logdir=tmp_path)
    assert open_board(tmp_path)[1].sessions(SessionsRequest()).rows.status.tolist() == [2]


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, "is empty"),
        ({"lr": 0.1}, r'"lr" is searched in 0\.1; give a list'),
        ({"lr": (0.1, 0.01)}, '"lr" cannot be searched'),
        ({"lr": (0.1, 1.0, "cubic")}, 'it is "linear" or "log"'),
    ],
)
def test_a_space_that_makes_no_sense_is_told(space: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        hp.search(objective, space, 1, logdir=tmp_path)


def test_samplers_are_known_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match='no sampler "best"'):
        hp.search(objective, {"lr": [1]}, 1, sampler="best", logdir=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a grid needs lists"):
        hp.search(objective, {"lr": (0.1, 1.0)}, 1, sampler="grid", logdir=tmp_path)


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[search\]'"):
        hp.search(objective, {"lr": [1]}, 1, logdir=tmp_path)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[search\]"):
        StudyMirror("sqlite:///x.db", tmp_path)


def make_study(folder: Path) -> tuple[str, Any]:
    url = f"sqlite:///{folder / 'study.db'}"
    return url, optuna.create_study(storage=url, study_name="my study", direction="minimize")


def tune(trial: Any) -> float:
    x = trial.suggest_float("x", -1, 1)
    trial.suggest_categorical("kind", ["a", None])
    trial.report(9.0, 4)
    return float(x**2)


def test_a_study_is_shown_and_followed(tmp_path: Path) -> None:
    url, study = make_study(tmp_path)
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
    answer = board.sessions(SessionsRequest(since=first.revision))
    assert answer.rows.names[-1] == "my_study/trial-0002"
    (metric,) = answer.metrics
    assert (metric.goal, metric.steps[-1]) == ("min", 5.0)
    assert metric.values[-1] == pytest.approx(study.trials[2].value)


def test_values_of_a_running_trial_are_told_as_they_are_given(tmp_path: Path) -> None:
    url, study = make_study(tmp_path)
    mirror = StudyMirror(url, tmp_path / "logs")
    running = study.ask()
    seen = []
    for name in ("x", "y", ""):
        if name:
            running.suggest_float(name, 0, 1)
            running.report(1.0, len(seen))
        mirror.refresh()
        answer = open_board(tmp_path / "logs")[1].sessions(SessionsRequest())
        steps = answer.metrics[0].steps.tolist()
        seen.append(([it.name for it in answer.hparams], answer.rows.status.tolist(), steps))
    assert seen == [(["x"], [0], [0.0]), (["x", "y"], [0], [1.0]), (["x", "y"], [0], [1.0])]
    study.tell(running, 0.5)
    mirror.refresh()
    answer = open_board(tmp_path / "logs")[1].sessions(SessionsRequest())
    assert (answer.rows.status.tolist(), answer.metrics[0].values.tolist()) == ([1], [0.5])


def test_a_storage_that_is_none_is_told_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="there is no file"):
        StudyMirror(f"sqlite:///{tmp_path / 'none.db'}", tmp_path)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("not a database, and longer than its header would be" * 9)
    with pytest.raises(LogError, match="cannot be opened as a storage"):
        StudyMirror(f"sqlite:///{tmp_path / 'text.db'}", tmp_path)
