"""Studies of a log: which sessions belong together, and what is computed within each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tracklight.dashboards.hparams.schemas import ImportanceRequest, SessionsRequest
from tracklight.formats import hparams as hp
from tracklight.formats.hparams import HParamValue
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record


def write_trial(
    logdir: Path, run: str, hparams: dict[str, HParamValue], loss: float, group: str = ""
) -> None:
    start = hp.build_session_start(hparams, group_name=group)
    data = encode_record(encode_event(1.0, 0, [start])) + logs.point(0, loss, tag="loss")
    logs.write(logdir, run, data)


def declare(logdir: Path, run: str, direction: str, name: str = "") -> None:
    metric = hp.Metric("loss", description=f"The objective of the search ({direction}).")
    experiment = hp.build_experiment([], [metric], name=name)
    logs.write(logdir, run, encode_record(encode_event(1.0, 0, [experiment])))


def write_two_sweeps(logdir: Path, *, layout: str = "{sweep}/{trial}") -> None:
    """Write two sweeps on different scales; within each, only ``lr`` has an effect."""
    rng = np.random.default_rng(5)
    for sweep, base in (("cnn", 1.0), ("lstm", 50.0)):
        for trial in range(30):
            lr = float(rng.uniform(0, 1))
            own = {"kernel": float(rng.integers(1, 8))} if sweep == "cnn" else {"hidden": 1.0}
            run = layout.format(sweep=sweep, trial=trial)
            write_trial(logdir, run, {"lr": lr, **own}, base + lr + rng.normal(0, 0.02))


def test_importance_is_computed_within_a_study(tmp_path: Path) -> None:
    write_two_sweeps(tmp_path)
    board = open_board(tmp_path)[1]
    all_trials = board.importance(ImportanceRequest(metric="|loss"))
    assert all_trials.bars == []
    assert all_trials.problem is not None
    assert all_trials.problem.message == (
        "These trials are of 2 studies. Importance is computed within one study."
    )
    cnn = board.importance(ImportanceRequest(metric="|loss", study="cnn"))
    assert [bar.name for bar in cnn.bars] == ["lr", "kernel"]
    assert cnn.bars[0].importance > 0.9
    assert cnn.trust.sessions == 30
    assert cnn.summary.text.startswith("In 30 trials of cnn, loss depends most clearly on lr (")
    lstm = board.importance(ImportanceRequest(metric="|loss", study="lstm"))
    assert [bar.name for bar in lstm.bars] == ["lr"]


def test_trials_of_one_study_need_no_choice(tmp_path: Path) -> None:
    write_two_sweeps(tmp_path)
    board = open_board(tmp_path)[1]
    names = [name for name in board.sessions(SessionsRequest()).rows.names if "cnn" in name]
    found = board.importance(ImportanceRequest(metric="|loss", sessions=names))
    assert [bar.name for bar in found.bars] == ["lr", "kernel"]


def test_missing_hyperparameters_are_not_important(tmp_path: Path) -> None:
    write_two_sweeps(tmp_path, layout="{sweep}-{trial}")  # one directory: one study
    found = open_board(tmp_path)[1].importance(ImportanceRequest(metric="|loss"))
    shares = {bar.name: bar.importance for bar in found.bars}
    # Whether kernel exists tells the sweep and thereby the loss; its values tell nothing.
    assert shares["kernel"] < 2 * shares["lr"]
    assert found.trust.level == "poor"
    assert "hidden" not in shares


def test_a_study_has_its_own_columns_and_rows(tmp_path: Path) -> None:
    write_two_sweeps(tmp_path)
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest(study="lstm"))
    assert [(study.name, study.label, study.sessions) for study in response.studies] == [
        ("cnn", "cnn", 30),
        ("lstm", "lstm", 30),
    ]
    assert response.rows.labels[:2] == ["0", "1"]
    assert response.rows.studies.tolist() == [1] * 30
    assert [column.name for column in response.hparams] == ["lr", "hidden"]
    assert [column.varies for column in response.hparams] == [True, False]
    assert len(board.sessions(SessionsRequest()).rows.names) == 60
    assert board.sessions(SessionsRequest(study="gone")).rows.names == []


def test_direction_belongs_to_the_study(tmp_path: Path) -> None:
    for study, direction in (("a", "minimize"), ("b", "maximize")):
        declare(tmp_path, study, direction)
        for trial in range(3):
            write_trial(tmp_path, f"{study}/t{trial}", {"x": float(trial)}, float(trial))
    board = open_board(tmp_path)[1]
    goals = {
        study: board.sessions(SessionsRequest(study=study)).metrics[0].goal
        for study in ("a", "b", None)
    }
    assert goals == {"a": "min", "b": "max", None: None}


def test_equal_trial_ids_of_two_studies_are_two_trials(tmp_path: Path) -> None:
    for study in ("a", "b"):
        declare(tmp_path, study, "minimize")
        for trial in range(3):
            hparams: dict[str, HParamValue] = {"x": float(trial)}
            write_trial(tmp_path, f"{study}/{trial}", hparams, float(trial), f"trial-{trial}")
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest(aggregation="mean"))
    assert response.repeats == 0
    assert response.rows.names[:2] == ["a/trial-0", "a/trial-1"]
    assert len(response.rows.names) == 6
    own = board.sessions(SessionsRequest(aggregation="mean", study="b"))
    assert own.rows.names == ["trial-0", "trial-1", "trial-2"]


def test_updates_of_a_study_have_rows_of_the_study(tmp_path: Path) -> None:
    write_trial(tmp_path, "a/0", {"x": 1.0}, 1.0)
    write_trial(tmp_path, "a/1", {"x": 2.0}, 1.0)
    write_trial(tmp_path, "b/0", {"x": 1.0}, 1.0)
    write_trial(tmp_path, "b/1", {"x": 1.5}, 1.0)
    catalog, board = open_board(tmp_path)
    before = board.sessions(SessionsRequest(study="b"))
    write_trial(tmp_path, "a/2", {"x": 3.0}, 1.0)
    write_trial(tmp_path, "b/2", {"x": 3.0}, 7.0)
    catalog.refresh()
    update = board.sessions(SessionsRequest(study="b", since=before.revision))
    assert update.since == before.revision
    assert update.rows.indices.tolist() == [2]
    assert update.rows.names == ["b/2"]
    assert update.metrics[0].values.tolist() == [7.0]


def test_experiment_names_are_labels(tmp_path: Path) -> None:
    declare(tmp_path, "a", "minimize", name="Learning rates")
    declare(tmp_path, "b", "minimize")
    for study in ("a", "b"):
        write_trial(tmp_path, f"{study}/0", {"x": 1.0}, 1.0)
    studies = open_board(tmp_path)[1].sessions(SessionsRequest()).studies
    assert [(it.name, it.label) for it in studies] == [("a", "Learning rates"), ("b", "b")]
