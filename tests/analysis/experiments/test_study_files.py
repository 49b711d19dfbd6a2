"""Files of Keras Tuner and Ray Tune: optional, missing and damaged parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tracklight.analysis.experiments import study_files
from tracklight.analysis.experiments.study_files import (
    make_keras_experiment,
    read_keras_trial,
    read_ray_state,
    read_ray_trial,
)
from tracklight.dashboards.hparams.schemas import SessionsRequest, SessionsResponse
from tracklight.errors import FormatError
from tracklight.formats.hparams import Interval, Status
from tracklight.server.responses import encode_columns


def write_json(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def write_results(folder: Path, *reports: Any, end: str = "\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "result.json"
    path.write_text("\n".join(map(json.dumps, reports)) + end)
    return path


def load_sessions(logdir: Path) -> SessionsResponse:
    return open_board(logdir)[1].sessions(SessionsRequest())


# ---- Keras Tuner


def test_keras_metrics_are_means_over_executions(tmp_path: Path) -> None:
    observations = [
        {"value": [1.0, 2.0], "step": 0},
        {"value": [3.0, None], "step": 1},
        {"value": [None], "step": 2},
        {"value": "high", "step": 3},
        {"value": [4.0]},
    ]
    metrics = {
        "loss": {"direction": "min", "observations": observations},
        "empty": {"direction": "max", "observations": []},
        "damaged": 7,
    }
    content = {"metrics": {"metrics": metrics}, "score": 3.0, "best_step": 1, "status": "IDLE"}
    path = write_json(tmp_path / "trial.json", content)
    trial, directions, objectives = read_keras_trial("trial_0", path)
    assert trial.curves == {"loss": ((0, 1.5), (1, 3.0))}
    assert trial.status is Status.RUNNING
    assert (directions, objectives) == ({"loss": "min"}, ["loss"])


def test_keras_search_space(tmp_path: Path) -> None:
    space = [
        {"class_name": "Float", "config": {"name": "lr", "min_value": 0.1, "max_value": 1}},
        {"class_name": "Boolean", "config": {"name": "bias", "default": False}},
        {"class_name": "Int", "config": {"name": 7}},
        {"class_name": "Int"},
        "units",
    ]
    path = write_json(tmp_path / "oracle.json", {"hyperparameters": {"space": space}})
    experiment = make_keras_experiment(path, {}, [])
    assert [(it.name, it.domain) for it in experiment.hparams] == [
        ("lr", Interval(0.1, 1.0)),
        ("bias", None),
    ]
    assert experiment.metrics == ()


def test_damaged_oracle_does_not_hide_the_trials(tmp_path: Path) -> None:
    metric = {"direction": "max", "observations": [{"value": [0.5], "step": 0}]}
    content = {"metrics": {"metrics": {"accuracy": metric}}, "score": 0.5, "best_step": 0}
    write_json(tmp_path / "tuning/trial_0/trial.json", content)
    (tmp_path / "tuning/oracle.json").write_text("[]")
    response = load_sessions(tmp_path)
    assert response.rows.names == ["tuning/trial_0"]
    assert [(metric.tag, metric.goal) for metric in response.metrics] == [("accuracy", "max")]
    assert [str(note) for note in response.notes] == [
        'Problem in the study file "tuning/oracle.json": '
        "the file is not a mapping of names to values."
    ]


# ---- Ray Tune


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"checkpoints": [{"trial_id": "a", "status": "PAUSED"}]}, {"a": Status.RUNNING}),
        ({"checkpoints": ['{"trial_id": "a", "status": "ERROR"}']}, {"a": Status.FAILURE}),
        ({"trial_data": [['{"trial_id": "a", "status": "NEW"}', "{}"]]}, {"a": Status.UNKNOWN}),
        ({"trial_data": [["{broken"], [], ["[" * 100_000], {"status": "ERROR"}, 7]}, {}),
        ({"trial_data": "none"}, {}),
        ({}, {}),
    ],
)
def test_states_of_ray_trials(tmp_path: Path, content: Any, expected: Any) -> None:
    statuses, experiment = read_ray_state(write_json(tmp_path / "state.json", content))
    assert statuses == expected
    assert experiment.metrics == ()


@pytest.mark.parametrize(("metric", "tags"), [("loss", ["loss"]), ("", []), (None, []), (7, [])])
def test_metric_of_a_ray_experiment(tmp_path: Path, metric: Any, tags: list[str]) -> None:
    content = {"runner_data": {"_metric": metric}}
    _, experiment = read_ray_state(write_json(tmp_path / "state.json", content))
    assert [it.tag for it in experiment.metrics] == tags


def test_ray_trial_without_parameters_has_those_of_its_reports(tmp_path: Path) -> None:
    reports = [
        {"loss": 0.5, "timestamp": 100, "time_total_s": 10, "config": {"lr": 0.1, "net": None}},
        {"loss": 0.25, "timestamp": 110, "done": True, "config": {"lr": 0.1, "net": {"depth": 2}}},
    ]
    trial, damaged = read_ray_trial("t", None, write_results(tmp_path, *reports), {})
    assert damaged == 0
    assert trial.hparams == {"lr": 0.1, "net/depth": 2.0}
    assert trial.curves == {"loss": ((1, 0.5), (2, 0.25)), "time_total_s": ((1, 10.0),)}
    assert (trial.status, trial.start_time, trial.end_time) == (Status.SUCCESS, 90.0, 110.0)


def test_state_of_a_ray_trial_is_unknown_until_it_is_done(tmp_path: Path) -> None:
    for reports in ([{"loss": 1.0, "trial_id": "a"}], [{"loss": 1.0, "timestamp": 5}], []):
        trial, _ = read_ray_trial("t", None, write_results(tmp_path, *reports), {})
        assert trial.status is Status.UNKNOWN
        assert trial.end_time is None


def test_damaged_reports_are_counted_but_not_an_incomplete_last_one(tmp_path: Path) -> None:
    folder = tmp_path / "exp/trial_1"
    write_results(folder, {"loss": 0.5}, [1], "text", end='\n{"loss": ')
    write_json(folder / "params.json", {})
    response = load_sessions(tmp_path)
    assert response.rows.names == ["exp/trial_1"]
    assert [str(note) for note in response.notes] == [
        'Problem in the study file "exp/trial_1/result.json": 2 damaged lines are skipped.'
    ]


def test_numbers_of_metrics_and_reports_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_files, "_MAX_METRICS", 2)
    monkeypatch.setattr(study_files, "_MAX_REPORTS", 3)
    results = write_results(tmp_path, *({"a": n, "b": n, "c": n} for n in range(9)))
    trial, _ = read_ray_trial("t", None, results, {})
    assert {tag: len(points) for tag, points in trial.curves.items()} == {"a": 4, "b": 4}


def test_damaged_files_of_ray_are_reported_beside_good_ones(tmp_path: Path) -> None:
    for name in ("trial_1", "trial_2"):
        write_results(tmp_path / "exp" / name, {"loss": 0.5, "trial_id": name})
    (tmp_path / "exp/trial_2/params.json").write_text("{")
    (tmp_path / "exp/experiment_state-2026.json").write_text("{}[")
    response = load_sessions(tmp_path)
    assert response.rows.names == ["exp/trial_1"]
    notes = [str(note) for note in response.notes]
    assert [note.partition(": ")[0] for note in notes] == [
        'Problem in the study file "exp/experiment_state-2026.json"',
        'Problem in the study file "exp/trial_2/result.json"',
    ]
    assert all(": invalid JSON: " in note for note in notes)


@pytest.mark.parametrize("name", ["trial.json", "result.json"])
def test_files_that_are_too_large_are_rejected(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)  # without data on disk
    with pytest.raises(FormatError, match="the file is larger than 64 MB"):
        if name == "trial.json":
            read_keras_trial("trial_0", path)
        else:
            read_ray_trial("trial_0", None, path, {})


# ---- Text that is not Unicode


def test_text_that_is_not_unicode_can_be_shown(tmp_path: Path) -> None:
    """Python writes parts of paths that are not UTF-8 as lone surrogates."""
    bad = "data\udcff"
    logs.write(tmp_path, "run", logs.point(1, 0.5))
    write_json(tmp_path / "run/config.json", {bad: 1, "path": bad, "list": [bad]})
    metrics = {bad: {"direction": "min", "observations": [{"value": [1], "step": 0}]}}
    values = {"hyperparameters": {"values": {bad: bad}}, "metrics": {"metrics": metrics}}
    write_json(tmp_path / "keras/trial_0/trial.json", values)
    write_json(tmp_path / "keras/oracle.json", {})
    write_results(tmp_path / "ray/trial_0", {bad: 0.5, "config": {"path": [bad]}})
    write_results(tmp_path / "ray/trial_1", {bad: 0.5})
    write_json(tmp_path / "ray/trial_1/params.json", {bad: [bad]})
    operations = [
        {"op_code": 0, "study_name": bad, "directions": [1]},
        {"op_code": 4, "study_id": 0, "state": 1, "value": 0.5},
    ]
    (tmp_path / "journal.log").write_text("".join(json.dumps(it) + "\n" for it in operations))
    response = load_sessions(tmp_path)
    assert encode_columns(response)
    assert "data�" in {column.name for column in response.hparams}
    assert response.rows.names == [
        "journal.log/data�/trial-0000",
        "keras/trial_0",
        "ray/trial_0",
        "ray/trial_1",
        "run",
    ]
