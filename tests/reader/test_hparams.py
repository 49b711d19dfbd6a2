from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

import tracklight
from tests.small_log import write
from tracklight.errors import NoMatchWarning, RunNotFoundError, UsageError
from tracklight.formats import hparams, summary
from tracklight.formats.hparams import HParam, Metric, Status
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

STARTED = datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tracklight.Log]:
    """A log of two trials, with curves in the same run or in runs below."""

    def record(step: int, *values: object) -> bytes:
        return encode_record(encode_event(1.7e9 + step, step, values))  # type: ignore[arg-type]

    write(
        tmp_path / "sweep",
        record(0, hparams.build_experiment([HParam("lr")], [Metric("loss", "validation")])),
    )
    first = {"lr": 0.1, "opt": "adam", "flip": True}
    write(
        tmp_path / "sweep/1",
        record(0, hparams.build_session_start(first, group_name="g", wall_time=1.7e9)),
        record(0, summary.scalar("acc", 0.25)),
        record(1, summary.scalar("acc", 0.75)),
        record(2, summary.scalar("acc", 0.5)),
        record(3, hparams.build_session_end(Status.SUCCESS, wall_time=1.7e9 + 60)),
    )
    write(tmp_path / "sweep/1/validation", record(2, summary.scalar("loss", 2.0)))
    write(
        tmp_path / "sweep/2",
        record(0, hparams.build_session_start({"lr": "auto"}, group_name="g")),
        record(5, summary.scalar("acc", math.nan)),
    )
    with tracklight.open(tmp_path, cache=False) as log:
        yield log


def test_has_one_row_per_trial(log: tracklight.Log) -> None:
    table = log.hparams()
    first, second = table

    assert len(table) == 2 and table[0] == first
    assert (first.run, first.group, first.status) == ("sweep/1", "g", "success")
    assert first.hparams == {"lr": 0.1, "opt": "adam", "flip": True}
    assert first.metrics == {"validation/loss": 2.0, "acc": 0.5}
    assert first.start_time == STARTED
    assert first.end_time is not None and (first.end_time - STARTED).total_seconds() == 60
    assert (second.status, second.end_time) == ("unknown", None)
    assert second.start_time == STARTED  # of its first event
    assert list(second.metrics) == ["acc"] and math.isnan(second.metrics["acc"])


def test_columns(log: tracklight.Log) -> None:
    table = log.hparams()

    assert table.columns[:6] == (
        "run",
        "study",
        "group",
        "status",
        "start_time",
        "end_time",
    )
    assert sorted(table.hparams) == ["flip", "lr", "opt"]
    assert table.metrics == ("validation/loss", "acc")
    assert table["hparams.lr"].tolist() == [0.1, "auto"]
    assert table["hparams.flip"].tolist() == [True, None]
    assert table["start_time"].tolist() == [1.7e9, 1.7e9]
    assert repr(table).startswith("<HParamsTable of 2 trials: run, study, group, ")


def test_selects_and_reduces_metrics(log: tracklight.Log) -> None:
    assert log.hparams("acc").metrics == ("acc",)
    assert log.hparams(["validation/*"]).metrics == ("validation/loss",)
    assert log.hparams("acc", reduce="max")[0].metrics == {"acc": 0.75}
    assert log.hparams("acc", reduce="min")[0].metrics == {"acc": 0.25}
    with pytest.raises(UsageError, match='No trial has the metric "ac"'):
        log.hparams("ac")
    with pytest.raises(UsageError, match='reduce="mean" is not one of "last", "min", "max"'):
        log.hparams(reduce="mean")  # type: ignore[arg-type]
    with pytest.warns(NoMatchWarning, match='No metric matches "z\\*"'):
        assert log.hparams("z*").metrics == ()


def test_returns_hyperparameters_of_a_run(log: tracklight.Log) -> None:
    assert log["sweep/1/validation"].hparams() == {"lr": 0.1, "opt": "adam", "flip": True}
    assert log["sweep"].hparams() == {}
    with pytest.raises(RunNotFoundError):
        log.run_hparams("sweep/3")


def test_sees_new_trials_after_refresh(log: tracklight.Log, tmp_path: Path) -> None:
    assert len(log.hparams()) == 2
    start = hparams.build_session_start({"lr": 3.0})
    write(tmp_path / "sweep/3", encode_record(encode_event(1.7e9, 0, [start])))
    log.refresh()

    assert log.hparams()["hparams.lr"].tolist() == [0.1, "auto", 3.0]


def test_converts_to_other_libraries(log: tracklight.Log) -> None:
    pytest.importorskip("pandas")
    frame = log.hparams().to_pandas()

    assert frame["hparams.lr"].tolist() == [0.1, "auto"]
    assert frame["hparams.flip"].isna().tolist() == [False, True]
    assert frame["start_time"].tolist() == [STARTED, STARTED]
    assert log.hparams().to_polars()["hparams.lr"].to_list() == ["0.1", "auto"]
    assert log.hparams().to_arrow()["hparams.flip"].to_pylist() == [True, None]


def test_is_empty_without_hyperparameters(small_logdir: Path) -> None:
    with tracklight.open(small_logdir, cache=False) as log:
        table = log.hparams()

        assert (len(table), list(table)) == (0, [])
        assert "0 trials" in table._repr_html_()
