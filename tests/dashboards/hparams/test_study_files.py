"""Studies in files of other programs: Optuna storages, Keras Tuner and Ray Tune folders."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tracklight.dashboards.hparams.schemas import (
    ImportanceRequest,
    SessionsRequest,
    SparklinesRequest,
    TrialsRequest,
)

optuna = pytest.importorskip("optuna")


@pytest.fixture(autouse=True)
def silence_optuna() -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)


def open_database(path: Path) -> Any:
    return optuna.storages.RDBStorage(f"sqlite:///{path}")


def open_journal(path: Path) -> Any:
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    return optuna.storages.JournalStorage(backend)


OpenStorage = Callable[[Path], Any]
STORAGES = pytest.mark.parametrize(
    ("open_storage", "file"), [(open_database, "optuna.db"), (open_journal, "journal.log")]
)


def objective(trial: Any) -> float:
    """Use every kind of distribution; report, prune, fail."""
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    units = trial.suggest_int("units", 16, 64, step=16)
    trial.suggest_categorical("optimizer", ["adam", "sgd", None])
    if units > 32:
        trial.suggest_categorical("nesterov", [True, False])
    trial.set_user_attr("params", units * 10)
    trial.set_user_attr("comment", "text")
    for step in range(4):
        trial.report(units * lr + step, step)
        if trial.number % 5 == 3 and step == 1:
            raise optuna.TrialPruned
    if trial.number % 7 == 6:
        raise ValueError("out of memory")
    return float(units * lr)


def run_study(storage: Any, name: str, count: int = 25, direction: str = "minimize") -> Any:
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(
        storage=storage, study_name=name, sampler=sampler, direction=direction
    )
    study.optimize(objective, n_trials=count, catch=(ValueError,))
    return study


@STORAGES
def test_shows_what_optuna_has(tmp_path: Path, open_storage: OpenStorage, file: str) -> None:
    study = run_study(open_storage(tmp_path / file), "search")
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert [(it.name, it.label, it.sessions) for it in response.studies] == [
        (f"{file}/search", "search", 25)
    ]
    assert response.notes == []
    trials = study.trials
    rows = response.rows
    assert rows.names == [f"{file}/search/trial-{trial.number:04}" for trial in trials]
    statuses = {"COMPLETE": 1, "FAIL": 2, "PRUNED": 4}
    assert rows.status.tolist() == [statuses[trial.state.name] for trial in trials]
    assert {1, 2, 4} == set(rows.status.tolist())
    assert rows.start.tolist() == [trial.datetime_start.timestamp() for trial in trials]
    assert rows.end.tolist() == [trial.datetime_complete.timestamp() for trial in trials]
    columns = {column.name: column for column in response.hparams}
    assert columns["lr"].values.tolist() == [trial.params["lr"] for trial in trials]
    assert columns["units"].values.tolist() == [trial.params["units"] for trial in trials]
    optimizer = columns["optimizer"]
    assert [optimizer.categories[int(code)] for code in optimizer.values] == [
        str(trial.params["optimizer"]) for trial in trials
    ]
    nesterov = columns["nesterov"]
    assert nesterov.states is not None
    assert [None if state == 1 else bool(value) for value, state in
            zip(nesterov.values, nesterov.states, strict=True)] == [
        trial.params.get("nesterov") for trial in trials
    ]  # fmt: skip
    metrics = {metric.key: metric for metric in response.metrics}
    assert metrics["|objective"].goal == "min"
    assert metrics["|params"].values.tolist() == [trial.user_attrs["params"] for trial in trials]
    for trial, value in zip(trials, metrics["|objective"].values, strict=True):
        # A failed trial has no value; what it reported last is shown.
        expected = trial.value if trial.value is not None else trial.intermediate_values[3]
        assert value == expected


@STORAGES
def test_shows_intermediate_values(tmp_path: Path, open_storage: OpenStorage, file: str) -> None:
    study = run_study(open_storage(tmp_path / file), "search")
    board = open_board(tmp_path)[1]
    lines = board.sparklines(SparklinesRequest("|objective")).lines
    for trial, line in zip(study.trials, lines, strict=True):
        expected = [*trial.intermediate_values.values()]
        if trial.state.name == "COMPLETE":
            expected.append(trial.value)
        assert line.y.tolist() == pytest.approx(expected, rel=1e-6)
        assert line.x.tolist() == [*range(len(expected))]


@STORAGES
def test_only_completed_trials_are_ranked(
    tmp_path: Path, open_storage: OpenStorage, file: str
) -> None:
    """Trials that end early report low values, which depend on ``early`` only."""

    def rank(trial: Any) -> float:
        lr, early = trial.suggest_float("lr", 0, 1), trial.suggest_float("early", 0, 1)
        trial.report(-early, 0)
        if trial.number % 3 == 0:
            raise optuna.TrialPruned
        if trial.number % 10 == 1:
            raise ValueError("out of memory")
        return float(lr)

    study = optuna.create_study(
        storage=open_storage(tmp_path / file), sampler=optuna.samplers.RandomSampler(seed=2)
    )
    study.optimize(rank, n_trials=60, catch=(ValueError,))
    study.ask()  # a running trial
    board = open_board(tmp_path)[1]
    names = board.sessions(SessionsRequest()).rows.names
    response = board.trials(TrialsRequest())
    assert response.best == response.page[0] == study.best_trial.number
    completed = [it.number for it in study.trials if it.state.name == "COMPLETE"]
    assert sorted(response.page[: len(completed)].tolist()) == completed
    assert len(response.page) == len(names) == 61
    importance = board.importance(ImportanceRequest(metric="|objective"))
    assert importance.trust.sessions == len(completed)
    assert importance.bars[0].name == max(optuna.importance.get_param_importances(study)) == "lr"
    assert importance.bars[0].importance > 0.9


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("is_of_sampler", [True, False])
@STORAGES
def test_infeasible_trials_are_not_the_best(
    tmp_path: Path, open_storage: OpenStorage, file: str, is_of_sampler: bool
) -> None:
    """Samplers of Optuna 4 store a list of constraints; `Trial.set_constraint` one by name."""

    def rank(trial: Any) -> float:
        x = trial.suggest_float("x", -5, 5)
        if not is_of_sampler:
            trial.set_constraint("near zero", 1.5 - abs(x))
            trial.set_constraint("always met", -1.0)
        return float(x**2)

    study = optuna.create_study(
        storage=open_storage(tmp_path / file), sampler=optuna.samplers.RandomSampler(seed=2)
    )
    if is_of_sampler:
        plain = optuna.create_study()
        plain.optimize(rank, n_trials=30)
        trials = plain.trials
        for it in trials:
            it.system_attrs["constraints"] = [-1.0, 1.5 - abs(it.params["x"])]
        study.add_trials(trials)
    else:
        study.optimize(rank, n_trials=30)
    board = open_board(tmp_path)[1]
    response = board.trials(TrialsRequest())
    trials = study.trials
    assert response.best == response.page[0] == study.best_trial.number
    assert trials[response.best].value > 2 > min(it.value for it in trials)
    infeasible = [max(it.constraints.values(), default=-1) > 0 for it in trials]
    rows = board.sessions(SessionsRequest()).rows
    assert [it == 5 for it in rows.status.tolist()] == infeasible
    assert board.importance(ImportanceRequest(metric="|objective")).trust.sessions == len(trials)


def test_noise_has_no_interactions(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def draw(trial: Any) -> float:
        for name in "abcd":
            trial.suggest_float(name, 0, 1)
        return float(rng.normal())

    study = optuna.create_study(
        storage=open_journal(tmp_path / "journal.log"),
        sampler=optuna.samplers.RandomSampler(seed=3),
    )
    study.optimize(draw, n_trials=30)
    found = open_board(tmp_path)[1].importance(ImportanceRequest(metric="|objective"))
    assert (found.trust.level, found.summary.code) == ("poor", "hparams.no_effect")
    assert found.interactions == []


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@STORAGES
def test_several_objectives_have_their_names_and_directions(
    tmp_path: Path, open_storage: OpenStorage, file: str
) -> None:
    study = optuna.create_study(
        storage=open_storage(tmp_path / file),
        study_name="pareto",
        directions=["minimize", "maximize"],
    )
    study.set_metric_names(["latency", "score"])
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 2.0), n_trials=3)
    metrics = open_board(tmp_path)[1].sessions(SessionsRequest()).metrics
    assert [(metric.tag, metric.goal, metric.goal_declared) for metric in metrics] == [
        ("latency", "min", True),
        ("score", "max", True),
    ]
    assert metrics[0].values.tolist() == [trial.values[0] for trial in study.trials]


@STORAGES
def test_infinite_values_and_enqueued_trials(
    tmp_path: Path, open_storage: OpenStorage, file: str
) -> None:
    study = optuna.create_study(storage=open_storage(tmp_path / file), study_name="s")
    study.enqueue_trial({"x": 0.5})
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    study.add_trial(optuna.trial.create_trial(params={"x": 0.25}, distributions=space, value=3.0))
    study.optimize(lambda trial: math.inf * trial.suggest_float("x", 0, 1), n_trials=1)
    study.enqueue_trial({"x": 0.75})
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert response.hparams[0].values.tolist() == [0.5, 0.25]
    assert response.metrics[0].values.tolist() == [math.inf, 3.0]


def test_studies_are_kept_apart(tmp_path: Path) -> None:
    database = open_database(tmp_path / "optuna.db")
    (tmp_path / "nested").mkdir()
    run_study(database, "first", 3)
    run_study(database, "second", 4, "maximize")
    run_study(open_journal(tmp_path / "nested/optuna.jsonl"), "first", 5)
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest())
    assert [(it.name, it.label, it.sessions) for it in response.studies] == [
        ("nested/optuna.jsonl/first", "nested/optuna.jsonl/first", 5),
        ("optuna.db/first", "optuna.db/first", 3),
        ("optuna.db/second", "second", 4),
    ]
    second = board.sessions(SessionsRequest(study="optuna.db/second"))
    assert second.rows.labels[0] == "trial-0000"
    assert second.metrics[0].goal == "max"


@STORAGES
def test_follows_a_growing_study(tmp_path: Path, open_storage: OpenStorage, file: str) -> None:
    study = run_study(open_storage(tmp_path / file), "search", 3)
    catalog, board = open_board(tmp_path)
    revision = board.sessions(SessionsRequest()).revision
    study.optimize(objective, n_trials=1)
    catalog.refresh()
    changed = board.sessions(SessionsRequest(since=revision))
    assert changed.since == revision
    assert changed.rows.names == [f"{file}/search/trial-0003"]


def test_a_running_trial_shows_new_values(tmp_path: Path) -> None:
    study = optuna.create_study(storage=open_database(tmp_path / "study.db"), study_name="s")
    trial = study.ask()
    trial.report(1.0, 0)
    catalog, board = open_board(tmp_path)
    before = board.sessions(SessionsRequest())
    assert before.rows.status.tolist() == [3]
    trial.report(2.0, 1)
    catalog.refresh()
    after = board.sessions(SessionsRequest(since=before.revision))
    assert after.metrics[0].values.tolist() == [2.0]


def test_nothing_is_written_beside_a_database(tmp_path: Path) -> None:
    run_study(open_database(tmp_path / "optuna.db"), "search", 2)
    with sqlite3.connect(tmp_path / "optuna.db") as database:
        database.execute("PRAGMA journal_mode = WAL")
    database.close()
    before = sorted(os.listdir(tmp_path))
    assert open_board(tmp_path)[1].sessions(SessionsRequest()).studies[0].sessions == 2
    assert sorted(os.listdir(tmp_path)) == before


@STORAGES
def test_a_value_that_was_reported_last_is_not_repeated(
    tmp_path: Path, open_storage: OpenStorage, file: str
) -> None:
    def train(trial: Any) -> float:
        for step in (5, 10):
            trial.report(trial.suggest_float("x", 1, 2) / step, step)
        final = float(trial.params["x"]) / 10
        return final if trial.number == 0 else final / 2

    optuna.create_study(storage=open_storage(tmp_path / file)).optimize(train, n_trials=2)
    lines = open_board(tmp_path)[1].sparklines(SparklinesRequest("|objective")).lines
    assert sorted(line.x.tolist() for line in lines) == [[5, 10], [5, 10, 11]]


def test_damaged_files_are_reported_beside_good_ones(tmp_path: Path) -> None:
    run_study(open_database(tmp_path / "good.db"), "search", 2)
    data = bytearray((tmp_path / "good.db").read_bytes())
    data[4096 : len(data)] = b"\x55" * (len(data) - 4096)
    (tmp_path / "bad.db").write_bytes(data)
    (tmp_path / "optuna.db").write_bytes(b"no database")
    (tmp_path / "thumbs.db").write_bytes(b"another program's file")
    (tmp_path / "optuna-empty.db").write_bytes(b"")
    with sqlite3.connect(tmp_path / "mlflow.db") as other:
        other.execute("CREATE TABLE experiments (id INTEGER)")
    other.close()
    run_study(open_journal(tmp_path / "journal.log"), "other", 2)
    lines = (tmp_path / "journal.log").read_bytes().splitlines(keepends=True)
    damaged = [*lines[:3], b"{broken\n", b'{"op_code": 99}\n', *lines[3:], b'{"op_code": 6, "tr']
    (tmp_path / "journal.log").write_bytes(b"".join(damaged))
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert [(it.label, it.sessions) for it in response.studies] == [("search", 2), ("other", 2)]
    notes = [str(note) for note in response.notes]
    assert len(notes) == 3
    assert notes[0].startswith('Problem in the study file "bad.db": the database cannot be read: ')
    assert notes[1:] == [
        'Problem in the study file "journal.log": 2 damaged lines are skipped.',
        'Problem in the study file "optuna.db": it is no storage of Optuna.',
    ]


def test_a_hostile_database_does_not_hang(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with sqlite3.connect(tmp_path / "study.db") as database:
        for table in ("trials", "trial_params", "trial_values"):
            database.execute(f"CREATE TABLE {table} (trial_id INTEGER)")
        database.execute(f"CREATE VIEW studies AS {endless}")
    database.close()
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert response.studies == []


def test_links_out_of_the_log_are_not_followed(tmp_path: Path) -> None:
    run_study(open_database(tmp_path / "secret.db"), "search", 2)
    logdir = tmp_path / "logs"
    logdir.mkdir()
    (logdir / "optuna.db").symlink_to(tmp_path / "secret.db")
    response = open_board(logdir)[1].sessions(SessionsRequest())
    assert response.studies == []


# ---- Other tuners


def write_keras_tuner(project: Path) -> None:
    """Write what Keras Tuner 1.4 writes for a search over ``units`` by ``val_accuracy``."""
    project.mkdir(parents=True)
    (project / "oracle.json").write_text(
        json.dumps({"ongoing_trials": {}, "hyperparameters": {"space": [], "values": {}}})
    )
    for number, units in enumerate([32, 64, 96]):
        observations = [
            {"value": [units / 100 - 0.1], "step": 0},
            {"value": [units / 100], "step": 1},
        ]
        trial = {
            "trial_id": str(number),
            "hyperparameters": {
                "space": [{"class_name": "Int", "config": {"name": "units"}}],
                "values": {"units": units, "activation": "relu"},
            },
            "metrics": {
                "metrics": {
                    "loss": {"direction": "min", "observations": observations[:1]},
                    "val_accuracy": {"direction": "max", "observations": observations},
                }
            },
            "score": units / 100,
            "best_step": 1,
            "status": "COMPLETED" if number else "FAILED",
            "message": None,
        }
        folder = project / f"trial_{number}"
        folder.mkdir()
        (folder / "trial.json").write_text(json.dumps(trial))


def test_keras_tuner_folder(tmp_path: Path) -> None:
    write_keras_tuner(tmp_path / "tuning")
    (tmp_path / "tuning/trial_2/trial.json").write_text("{")
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert [(it.name, it.sessions) for it in response.studies] == [("tuning", 2)]
    assert response.rows.names == ["tuning/trial_0", "tuning/trial_1"]
    assert response.rows.status.tolist() == [2, 1]
    metrics = {metric.tag: metric for metric in response.metrics}
    assert metrics["val_accuracy"].values.tolist() == [0.32, 0.64]
    assert metrics["val_accuracy"].declared
    assert metrics["val_accuracy"].goal == "max"
    (note,) = response.notes
    assert str(note).startswith(
        'Problem in the study file "tuning/trial_2/trial.json": invalid JSON'
    )


def write_ray_trial(folder: Path, trial_id: str, lr: float) -> None:
    folder.mkdir(parents=True)
    (folder / "params.json").write_text(json.dumps({"lr": lr, "model": {"depth": 2}}))
    reports = [
        {
            "loss": lr * step,
            "eval": {"accuracy": 0.5 + lr},
            "training_iteration": step,
            "trial_id": trial_id,
            "timestamp": 1_700_000_000 + 10 * step,
            "time_total_s": 10.0 * step,
            "done": step == 3,
            "pid": 7,
            "config": {"lr": lr},
        }
        for step in (1, 2, 3)
    ]
    (folder / "result.json").write_text("".join(json.dumps(report) + "\n" for report in reports))


def test_ray_tune_folder(tmp_path: Path) -> None:
    experiment = tmp_path / "train_2026"
    write_ray_trial(experiment / "train_a1_lr=0.1", "a1", 0.1)
    write_ray_trial(experiment / "train_b2_lr=0.2", "b2", 0.2)
    states = [[json.dumps({"trial_id": "b2", "status": "ERROR"}), "{}"]]
    (experiment / "experiment_state-2026.json").write_text(json.dumps({"trial_data": states}))
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert [(it.name, it.sessions) for it in response.studies] == [("train_2026", 2)]
    assert response.rows.status.tolist() == [1, 2]
    assert response.rows.start.tolist() == [1_700_000_000.0] * 2
    columns = {column.name: column.values.tolist() for column in response.hparams}
    assert columns == {"lr": [0.1, 0.2], "model/depth": [2.0, 2.0]}
    assert not any(metric.goal_declared for metric in response.metrics)
    metrics = {metric.tag: metric.values.tolist() for metric in response.metrics}
    assert metrics == {
        "eval/accuracy": [0.6, 0.7],
        "loss": pytest.approx([0.3, 0.6]),
        "time_total_s": [30.0, 30.0],
    }


def test_a_ray_trial_with_event_files_is_one_trial(tmp_path: Path) -> None:
    write_ray_trial(tmp_path / "exp/trial_1", "a1", 0.1)
    logs.write(tmp_path, "exp/trial_1", logs.point(1, 0.5, tag="ray/tune/loss"))
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert response.rows.names == ["exp/trial_1"]
    assert response.rows.source.tolist() == [1]


RECORDED = Path(__file__).parents[2] / "data/study_folders"
KERAS_STATUS = {"COMPLETED": 1, "FAILED": 2}


@pytest.mark.parametrize("name", ["hyperband", "square"])
def test_real_keras_tuner_folder(name: str) -> None:
    expected = json.loads((RECORDED / "keras_tuner.json").read_text())[name]
    objective, direction = expected["objective"]
    response = open_board(RECORDED / "keras_tuner")[1].sessions(SessionsRequest())
    assert [study.name for study in response.studies] == ["hyperband", "square"]
    assert response.notes == []
    rows = {
        group.rpartition("_")[2]: row
        for row, group in enumerate(response.rows.names)
        if group.startswith(f"{name}/")
    }
    assert rows.keys() == expected["trials"].keys()
    (metric,) = (it for it in response.metrics if it.tag == objective)
    assert (metric.declared, metric.goal) == (True, direction)
    columns = {column.name: column for column in response.hparams}
    for trial, (values, status, score) in expected["trials"].items():
        row = rows[trial]
        assert response.rows.status[row] == KERAS_STATUS[status]
        assert {key: read_cell(columns[key], row) for key in values} == values
        # Hyperband scores the best epoch, the column has the last one.
        best = max if direction == "max" else min
        assert math.isnan(metric.values[row]) == (score is None)
        assert score is None or best(score, metric.values[row]) == score


def test_real_ray_tune_folder() -> None:
    """A search with early stopping, and a grid whose trials fail when they are saved."""
    expected = json.loads((RECORDED / "ray_tune.json").read_text())
    response = open_board(RECORDED / "ray_tune")[1].sessions(SessionsRequest())
    assert [(study.name, study.sessions) for study in response.studies] == [
        ("asha", 10),
        ("grid", 3),
    ]
    assert response.notes == []
    columns = {column.name: column for column in response.hparams}
    metrics = {metric.tag: metric for metric in response.metrics}
    for study, tag in (("asha", "loss"), ("grid", "score")):
        for trial, (config, failed, value, steps) in expected[study]["trials"].items():
            row = response.rows.names.index(f"{study}/{trial}")
            assert response.rows.status[row] == (2 if failed else 1)
            model = config.pop("model", {})
            config |= {f"model/{key}": it for key, it in model.items()}
            if "layers" in config:
                config["layers"] = json.dumps(config["layers"], separators=(",", ":"))
            assert {key: read_cell(columns[key], row) for key in config} == config
            assert (metrics[tag].values[row], metrics[tag].steps[row]) == (value, steps)
    # Each study has its own metric; whether a higher score is better is inferred from its name.
    assert {tag for tag, metric in metrics.items() if metric.declared} == {"loss", "score"}
    assert (metrics["loss"].goal, metrics["score"].goal) == ("min", "max")


def read_cell(column: Any, row: int) -> Any:
    value = column.values[row]
    if column.categories:
        return column.categories[int(value)]
    return bool(value) if column.type == "bool" else value
