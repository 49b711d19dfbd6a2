"""Storages of Optuna that its current version does not write: old, damaged and hostile ones."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tracklight.analysis.experiments import (
    StoredStudy,
    StoredTrial,
    StudyContents,
    optuna_storage,
)
from tracklight.analysis.experiments.optuna_storage import (
    read_optuna_database,
    read_optuna_journal,
)
from tracklight.errors import FormatError
from tracklight.formats.hparams import Interval, Status

UNIFORM = json.dumps({"name": "FloatDistribution", "attributes": {"low": 0.0, "high": 1.0}})
CHOICES = json.dumps(
    {"name": "CategoricalDistribution", "attributes": {"choices": ["adam", None, "\udcff"]}}
)


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC+7")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# ---- Journal

#: Operations of a journal, by their numbers.
CREATE_STUDY, DELETE_STUDY, SET_STUDY_USER_ATTR, SET_STUDY_SYSTEM_ATTR = range(4)
CREATE_TRIAL, SET_PARAM, SET_STATE, SET_INTERMEDIATE, SET_USER_ATTR = range(4, 9)
RUNNING, COMPLETE, PRUNED, FAIL, WAITING = range(5)


def read_journal(folder: Path, *operations: Any) -> StudyContents:
    """Read a journal of operations: a code and fields, or the text of a line."""
    lines = [
        it if isinstance(it, str) else json.dumps({"op_code": it[0], "worker_id": "w", **it[1]})
        for it in operations
    ]
    path = folder / "journal.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    contents = read_optuna_journal(path)
    assert contents is not None
    return contents


def create_study(name: str, *directions: int) -> tuple[int, dict[str, Any]]:
    return CREATE_STUDY, {"study_name": name, "directions": directions or [1]}


def create_trial(study: int = 0, **fields: Any) -> tuple[int, dict[str, Any]]:
    return CREATE_TRIAL, {"study_id": study, **fields}


def set_param(trial: int, name: str, value: Any, text: str) -> tuple[int, dict[str, Any]]:
    fields = {"param_name": name, "param_value_internal": value, "distribution": text}
    return SET_PARAM, {"trial_id": trial, **fields}


def set_state(trial: int, state: int, *values: float) -> tuple[int, dict[str, Any]]:
    return SET_STATE, {"trial_id": trial, "state": state, "values": values or None}


def get_trials(contents: StudyContents) -> tuple[StoredTrial, ...]:
    (study,) = contents.studies
    return study.trials


def test_deleted_studies_are_left_out(tmp_path: Path) -> None:
    contents = read_journal(
        tmp_path,
        create_study("old"),
        create_trial(0),
        (DELETE_STUDY, {"study_id": 0}),
        create_study("new"),
        create_study("new"),  # by another worker, at the same time
        create_trial(0),  # by a worker that did not notice the deletion
        create_trial(1),
        (DELETE_STUDY, {"study_id": 7}),
    )
    assert [(study.name, len(study.trials)) for study in contents.studies] == [("new", 1)]
    assert contents.problems == ()


def test_trial_that_was_added_as_a_whole(tmp_path: Path) -> None:
    contents = read_journal(
        tmp_path,
        create_study("s"),
        create_trial(
            state=COMPLETE,
            datetime_start="2026-01-02T03:04:05",
            datetime_complete="2026-01-02T03:05:05",
            value=0.25,
            values=None,
            intermediate_values={"1": 0.5, "10": 0.25, "2": 1, "x": 4, "3": "low"},
            params={"x": 0.5},
            distributions={"x": UNIFORM},
            user_attrs={"size": 7, "note": "text"},
        ),
    )
    (trial,) = get_trials(contents)
    assert trial.status is Status.SUCCESS
    assert trial.start_time == datetime(2026, 1, 2, 3, 4, 5).timestamp()
    assert trial.end_time == trial.start_time + 60
    assert trial.hparams == {"x": 0.5}
    assert trial.curves["objective"] == ((1, 0.5), (2, 1.0), (10, 0.25))
    assert trial.curves["size"] == ((0, 7.0),)
    assert "note" not in trial.curves
    assert contents.studies[0].experiment.hparams[0].domain == Interval(0.0, 1.0)


def test_trials_that_ended_do_not_change(tmp_path: Path) -> None:
    contents = read_journal(
        tmp_path,
        create_study("s"),
        create_trial(),
        set_state(0, COMPLETE, 0.5),
        set_state(0, FAIL),
        set_param(0, "late", 0.5, UNIFORM),
        (SET_INTERMEDIATE, {"trial_id": 0, "step": 3, "intermediate_value": 1.0}),
        (SET_USER_ATTR, {"trial_id": 0, "user_attr": {"size": 1}}),
        set_state(9, COMPLETE, 0.5),  # there is no such trial
        create_trial(state=WAITING),
        set_state(1, RUNNING),
        set_state(1, RUNNING),  # by a worker that lost the race for it
    )
    done, running = get_trials(contents)
    assert (done.status, done.hparams) == (Status.SUCCESS, {})
    assert done.curves == {"objective": ((0, 0.5),)}
    assert running.status is Status.RUNNING
    assert contents.problems == ()


def test_parameters_that_cannot_be_decoded_are_left_out(tmp_path: Path) -> None:
    contents = read_journal(
        tmp_path,
        create_study("s"),
        create_trial(),
        set_param(0, "good", 0, CHOICES),
        set_param(0, "none", 1, CHOICES),
        set_param(0, "negative", -1, CHOICES),
        set_param(0, "beyond", 3, CHOICES),
        set_param(0, "text", "0.5", UNIFORM),
        set_param(0, "no choices", 0, '{"name": "CategoricalDistribution", "attributes": []}'),
        set_param(0, "no distribution", 0.5, "[]"),
    )
    (trial,) = get_trials(contents)
    assert trial.hparams == {"good": "adam", "none": "None", "no distribution": 0.5}
    domains = {it.name: it.domain for it in contents.studies[0].experiment.hparams}
    assert domains == {"good": ("adam", "�"), "none": ("adam", "�"), "no distribution": None}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["latency", "score"], ["latency", "score"]),
        (["latency"], ["objective_0", "objective_1"]),
        (["same", "same"], ["objective_0", "objective_1"]),
        ("latency", ["objective_0", "objective_1"]),
        (None, ["objective_0", "objective_1"]),
    ],
)
def test_names_of_objectives(tmp_path: Path, names: Any, expected: list[str]) -> None:
    attribute = {"study_id": 0, "system_attr": {"study:metric_names": names}}
    contents = read_journal(
        tmp_path,
        create_study("s", 1, 2),
        (SET_STUDY_USER_ATTR, {"study_id": 0, "user_attr": {"team": "vision"}}),
        (SET_STUDY_SYSTEM_ATTR, attribute),
        create_trial(state=COMPLETE, values=[1.0, 2.0]),
    )
    (trial,) = get_trials(contents)
    assert trial.curves == {expected[0]: ((0, 1.0),), expected[1]: ((0, 2.0),)}
    assert [metric.tag for metric in contents.studies[0].experiment.metrics] == expected


@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        "[]",
        "null",
        "[" * 100_000,
        '{"op_code": true}',
        '{"op_code": -1}',
        '{"op_code": 11}',
        '{"op_code": 4}',
        '{"op_code": 5, "trial_id": "0"}',
        '{"op_code": 6, "trial_id": 0, "state": 17}',
        '{"op_code": 8, "trial_id": 0, "user_attr": [1]}',
    ],
)
def test_damaged_lines_are_counted(tmp_path: Path, line: str) -> None:
    contents = read_journal(tmp_path, create_study("s"), create_trial(), line, line)
    assert [str(problem) for problem in contents.problems] == ["2 damaged lines are skipped"]
    assert len(get_trials(contents)) == 1


def test_file_that_does_not_start_with_an_operation_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    for text in ("step 1: loss 0.5\n", '{"level": "info"}\n', '{"op_code": 0'):
        path.write_text(text)
        assert read_optuna_journal(path) is None


def test_number_of_trials_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optuna_storage, "MAX_TRIALS", 2)
    journal = read_journal(tmp_path, create_study("s"), *[create_trial()] * 3)
    write_database(tmp_path / "optuna.db", trials=3)
    database = read_optuna_database(tmp_path / "optuna.db")
    assert database is not None
    for contents in (journal, database):
        assert len(get_trials(contents)) == 2
        assert [str(it) for it in contents.problems] == ["only the first 2 trials are read"]


def test_number_of_studies_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optuna_storage, "_MAX_STUDIES", 1)
    contents = read_journal(tmp_path, create_study("a"), create_study("b"), create_trial(1))
    assert [study.name for study in contents.studies] == ["a"]


def test_journal_that_is_too_large_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    with path.open("wb") as file:
        file.truncate((1 << 30) + 1)  # without data on disk
    with pytest.raises(FormatError, match="the file is larger than 1 GB"):
        read_optuna_journal(path)


# ---- SQLite

#: The tables of Optuna 2.0, without those that only later versions have.
OLD_TABLES = """
CREATE TABLE studies (study_id INTEGER, study_name TEXT, direction TEXT);
CREATE TABLE trials (
    trial_id INTEGER, study_id INTEGER, number, state TEXT, datetime_start, datetime_complete
);
CREATE TABLE trial_params (
    param_id INTEGER, trial_id INTEGER, param_name TEXT, param_value, distribution_json TEXT
);
CREATE TABLE trial_values (trial_id INTEGER, objective, value);
INSERT INTO studies VALUES (1, 'search', 'MAXIMIZE');
"""
INTERMEDIATE_VALUES = """
CREATE TABLE trial_intermediate_values (trial_id INTEGER, step, intermediate_value);
"""


def write_database(path: Path, *statements: str, trials: int = 0) -> None:
    database = sqlite3.connect(path)
    database.executescript(OLD_TABLES)
    for number in range(trials):
        row = number, 1, number, "COMPLETE", "2026-01-02 03:04:05", None
        database.execute("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?)", row)
    database.executescript(";".join(statements))
    database.commit()
    database.close()


def read_study(path: Path) -> StoredStudy:
    contents = read_optuna_database(path)
    assert contents is not None
    assert contents.problems == ()
    (study,) = contents.studies
    return study


def test_database_of_an_old_version(tmp_path: Path) -> None:
    write_database(
        tmp_path / "study.db",
        "INSERT INTO trial_values VALUES (0, 0, 0.5), (1, 0, NULL), (2, 0, 'low')",
        f"INSERT INTO trial_params VALUES (0, 0, 'x', 0.25, '{UNIFORM}')",
        trials=3,
    )
    study = read_study(tmp_path / "study.db")
    (metric,) = study.experiment.metrics
    assert metric.tag == "objective"
    assert "maximize" in metric.description
    first, second, third = study.trials
    assert first.curves == {"objective": ((0, 0.5),)}
    assert first.hparams == {"x": 0.25}
    assert first.start_time == datetime(2026, 1, 2, 3, 4, 5).timestamp()
    ((_, value),) = second.curves["objective"]
    assert math.isnan(value)
    assert third.curves == {}


def test_rows_that_belong_to_nothing_are_left_out(tmp_path: Path) -> None:
    write_database(
        tmp_path / "study.db",
        "CREATE TABLE study_directions (study_id INTEGER, direction TEXT, objective INTEGER)",
        "INSERT INTO study_directions VALUES (1, 'MINIMIZE', 0), (7, 'MAXIMIZE', 0)",
        "CREATE TABLE study_system_attributes (study_id INTEGER, key TEXT, value_json)",
        """INSERT INTO study_system_attributes VALUES
            (1, 'study:metric_names', '["loss"]'), (7, 'study:metric_names', '["x"]')""",
        "INSERT INTO trials VALUES (9, 7, 0, 'COMPLETE', NULL, NULL)",
        "INSERT INTO trials VALUES (10, 1, 'x', 'COMPLETE', 5, 'yesterday')",
        "INSERT INTO trials VALUES (11, 1, 2, 'UNKNOWN', NULL, NULL)",
        "INSERT INTO trial_values VALUES (9, 0, 1.0), (10, 'x', 1.0)",
        f"INSERT INTO trial_params VALUES (0, 9, 'x', 0.25, '{UNIFORM}')",
        INTERMEDIATE_VALUES,
        "INSERT INTO trial_intermediate_values VALUES (9, 0, 1.0), (10, 'x', 1), (10, 4, 2.5)",
        "CREATE TABLE trial_user_attributes (trial_id INTEGER, key TEXT, value_json)",
        "INSERT INTO trial_user_attributes VALUES (9, 'a', '1'), (10, 'b', 'x'), (10, 'c', 7)",
    )
    study = read_study(tmp_path / "study.db")
    assert [metric.tag for metric in study.experiment.metrics] == ["loss"]
    (trial,) = study.trials
    assert trial.name == "trial-0000"
    assert (trial.start_time, trial.end_time, trial.hparams) == (None, None, {})
    assert trial.curves == {"loss": ((4, 2.5),)}


@pytest.mark.parametrize(
    ("version", "is_utc"),
    [("'4.1.0'", False), ("'5.0.0'", True), ("'unknown'", False), ("NULL", False), (None, False)],
)
@pytest.mark.usefixtures("far_from_utc")
def test_times_are_utc_since_optuna_5(tmp_path: Path, version: str | None, is_utc: bool) -> None:
    table = "CREATE TABLE version_info (version_info_id INTEGER, library_version TEXT)"
    rows = [] if version is None else [f"INSERT INTO version_info VALUES (1, {version})"]
    write_database(tmp_path / "study.db", table, *rows, trials=1)
    (trial,) = read_study(tmp_path / "study.db").trials
    date = "2026-01-02T03:04:05" + ("+00:00" if is_utc else "")
    assert trial.start_time == datetime.fromisoformat(date).timestamp()
