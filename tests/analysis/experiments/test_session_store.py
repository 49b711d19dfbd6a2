"""The sessions table of a log on disk and its incremental updates."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tracklight.dashboards.hparams.schemas import MetricCells, SessionsRequest, SessionsResponse
from tracklight.errors import UsageError
from tracklight.formats.hparams import HParamValue


def write_session(
    logdir: Path,
    run: str,
    hparams: dict[str, HParamValue] | None,
    *values: float,
    tag: str = "loss",
) -> Path:
    data = b"" if hparams is None else logs.hparams(hparams)
    data += b"".join(logs.point(step, value, tag=tag) for step, value in enumerate(values))
    return logs.write(logdir, run, data)


def get_metric(response: SessionsResponse, key: str) -> MetricCells:
    return next(metric for metric in response.metrics if metric.key == key)


@pytest.mark.parametrize(
    ("query", "value", "step"),
    [
        (SessionsRequest(), 4.0, 3),
        (SessionsRequest(reduction="min"), 1.0, 2),
        (SessionsRequest(reduction="max"), 8.0, 1),
        (SessionsRequest(reduction="mean", count=2), 2.5, 3),
        (SessionsRequest(reduction="mean", count=100), 4.0, 3),
        (SessionsRequest(reduction="step", step=1), 8.0, 1),
        (SessionsRequest(reduction="step", step=99), 4.0, 3),
    ],
)
def test_curves_are_reduced_to_numbers(
    query: SessionsRequest, value: float, step: float, tmp_path: Path
) -> None:
    write_session(tmp_path, "a", {"lr": 0.1}, 3.0, 8.0, 1.0, 4.0)
    found = get_metric(open_board(tmp_path)[1].sessions(query), "|loss")
    assert (found.values.tolist(), found.steps.tolist()) == ([value], [step])


def test_step_before_the_first_point_has_no_value(tmp_path: Path) -> None:
    write_session(tmp_path, "a", {"lr": 0.1}, 3.0)
    found = get_metric(
        open_board(tmp_path)[1].sessions(SessionsRequest(reduction="step", step=-1)), "|loss"
    )
    assert np.isnan(found.steps[0])


def test_nan_is_a_value_but_a_missing_metric_is_not(tmp_path: Path) -> None:
    write_session(tmp_path, "a", {"lr": 0.1}, 3.0, np.nan)
    write_session(tmp_path, "b", {"lr": 0.2}, 1.0, tag="other")
    write_session(tmp_path, "c", {"lr": 0.3}, np.nan)
    board = open_board(tmp_path)[1]
    found = get_metric(board.sessions(SessionsRequest()), "|loss")
    assert np.isnan(found.values).all()
    assert np.isnan(found.steps).tolist() == [False, True, False]
    lowest = get_metric(board.sessions(SessionsRequest(reduction="min")), "|loss")
    assert lowest.values[0] == 3.0
    assert not np.isnan(lowest.steps[2])


def test_metrics_come_from_runs_below_and_from_the_parent(tmp_path: Path) -> None:
    write_session(tmp_path, "keras", {"lr": 0.1})
    write_session(tmp_path, "keras/train", None, 2.0)
    write_session(tmp_path, "keras/validation/deep", None, 3.0)
    write_session(tmp_path, "torch/1700", {"lr": 0.2}, 0.5, tag="hparam/accuracy")
    write_session(tmp_path, "torch", None, 4.0)
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    found = {it.key: it.values.tolist() for it in response.metrics}
    missing = pytest.approx(np.nan, nan_ok=True)
    assert found == {
        "|hparam/accuracy": [missing, 0.5],
        "..|loss": [missing, 4.0],
        "train|loss": [2.0, missing],
        "validation/deep|loss": [3.0, missing],
    }
    assert response.rows.labels == ["keras", "torch/1700"]


def test_log_directory_is_a_session(tmp_path: Path) -> None:
    write_session(tmp_path, ".", {"lr": 0.1}, 1.0)
    write_session(tmp_path, "train", None, 2.0)
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert response.rows.names == ["."]
    assert {it.key: it.values.tolist() for it in response.metrics} == {
        "|loss": [1.0],
        "train|loss": [2.0],
    }


def test_goals_are_guessed_and_bookkeeping_metrics_come_last(tmp_path: Path) -> None:
    for tag in ("epoch", "val_loss", "accuracy", "learning_rate", "reward"):
        write_session(tmp_path, f"a/{tag}", None, 1.0, tag=tag)
    write_session(tmp_path, "a", {"lr": 0.1})
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    assert [(it.tag, it.goal) for it in response.metrics] == [
        ("accuracy", "max"),
        ("reward", "max"),
        ("val_loss", "min"),
        ("epoch", "max"),
        ("learning_rate", "max"),
    ]


def test_only_changed_rows_are_sent(tmp_path: Path) -> None:
    paths = [write_session(tmp_path, f"t{n}", {"lr": n / 10}, 1.0) for n in range(3)]
    catalog, board = open_board(tmp_path)
    first = board.sessions(SessionsRequest())
    again = board.sessions(SessionsRequest(since=first.revision))
    assert (again.since, again.rows.indices.tolist()) == (first.revision, [])
    logs.append(paths[1], logs.point(7, 5.0))
    write_session(tmp_path, "t9", {"lr": 0.9}, 2.0)
    catalog.refresh()
    update = board.sessions(SessionsRequest(since=first.revision))
    assert update.since == first.revision
    assert (update.rows.indices.tolist(), update.rows.names) == ([1, 3], ["t1", "t9"])
    assert update.hparams[0].values.tolist() == [0.1, 0.9]
    assert get_metric(update, "|loss").values.tolist() == [5.0, 2.0]
    assert get_metric(board.sessions(SessionsRequest()), "|loss").values.tolist() == [
        1.0,
        5.0,
        1.0,
        2.0,
    ]


def test_everything_is_sent_when_rows_disappear_or_columns_appear(tmp_path: Path) -> None:
    for n in range(3):
        write_session(tmp_path, f"t{n}", {"lr": n / 10}, 1.0)
    catalog, board = open_board(tmp_path)
    first = board.sessions(SessionsRequest())
    shutil.rmtree(tmp_path / "t1")
    catalog.refresh()
    second = board.sessions(SessionsRequest(since=first.revision))
    assert (second.since, second.rows.names) == (None, ["t0", "t2"])
    write_session(tmp_path, "t3", {"lr": 0.3, "new": 1.0}, 1.0)
    catalog.refresh()
    third = board.sessions(SessionsRequest(since=second.revision))
    assert (third.since, len(third.rows.names)) == (None, 3)
    for revision in ("", "x", "1.2.3", f"{third.revision}.x", "another.1.1"):
        assert board.sessions(SessionsRequest(since=revision)).since is None


def test_groups_are_sent_when_a_member_changes(tmp_path: Path) -> None:
    for n in range(4):
        data = logs.hparams({"lr": 0.1}, group=f"g{n % 2}") + logs.point(0, n)
        path = logs.write(tmp_path, f"t{n}", data)
    catalog, board = open_board(tmp_path)
    first = board.sessions(SessionsRequest(aggregation="mean"))
    assert (first.rows.names, first.rows.counts.tolist(), first.repeats) == (
        ["g0", "g1"],
        [2, 2],
        2,
    )
    assert first.rows.sessions == [["t0", "t2"], ["t1", "t3"]]
    assert get_metric(first, "|loss").values.tolist() == [1.0, 2.0]
    logs.append(path, logs.point(1, 9.0))
    catalog.refresh()
    update = board.sessions(SessionsRequest(aggregation="mean", since=first.revision))
    assert (update.rows.indices.tolist(), get_metric(update, "|loss").values.tolist()) == (
        [1],
        [5.0],
    )


def test_settings_file_that_is_added_later(tmp_path: Path) -> None:
    write_session(tmp_path, "a/version_0", None, 1.0)
    write_session(tmp_path, "a/version_1", None, 1.0)
    catalog, board = open_board(tmp_path)
    assert board.sessions(SessionsRequest()).rows.names == []
    (tmp_path / "a/version_1/hparams.yaml").write_text("lr: 0.5\n")
    assert catalog.refresh().changed == ("a/version_1",)
    response = board.sessions(SessionsRequest())
    assert (response.rows.names, response.rows.source.tolist()) == (["a/version_1"], [1])
    (tmp_path / "a/version_1/hparams.yaml").write_text("lr: 0.25\n")
    catalog.refresh()
    assert board.sessions(SessionsRequest()).hparams[0].values.tolist() == [0.25]


def test_more_metrics_can_be_requested(tmp_path: Path) -> None:
    data = logs.hparams({"lr": 0.1})
    data += b"".join(logs.point(0, n, tag=f"m{n:03}") for n in range(105))
    logs.write(tmp_path, "a", data)
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest())
    assert len(response.metrics) == 100
    assert [str(note) for note in response.notes] == ["Showing 100 metrics; 5 more are hidden."]
    more = board.sessions(SessionsRequest(metrics=["|m104"]))
    assert [it.key for it in more.metrics[100:]] == ["|m104"]
    with pytest.raises(UsageError, match="no session has the metric"):
        board.sessions(SessionsRequest(metrics=["|gone"]))
