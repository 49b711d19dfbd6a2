from __future__ import annotations

import math
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource
from tracklight.errors import UsageError
from tracklight.formats.hparams import SESSION_START_TAG, build_session_start
from tracklight.plugin import Empty
from tracklight.server.api import ColumnsRequest, RunTableApi, describe_hparam
from tracklight.server.source import LogOverview


def give(source: MemorySource, run: str, **hparams: float | str | bool) -> None:
    content = build_session_start(hparams).metadata.plugin_data.content
    source.metadata.setdefault(SESSION_START_TAG, {})[run] = content


@pytest.fixture
def columns(source: MemorySource) -> RunTableApi:
    source.refresh()
    return RunTableApi(source, LogOverview(source))


def test_columns_tell_what_can_be_asked_for(source: MemorySource, columns: RunTableApi) -> None:
    give(source, "conv", lr=0.1, flip=True, name="a10")
    give(source, "vit", lr=0.001, flip=True, name="a9", extra=1.0)
    there = columns.list_columns(Empty())
    assert there.metrics == ["acc", "loss"]
    rows = {c.name: (c.type, c.distinct, c.low, c.high, c.values) for c in there.hparams}
    assert rows == {
        "extra": ("number", 1, 1.0, 1.0, [1.0]),
        "flip": ("bool", 1, None, None, [True]),
        "lr": ("number", 2, 0.001, 0.1, [0.001, 0.1]),
        "name": ("string", 2, None, None, ["a9", "a10"]),
    }


def test_values_stand_in_the_order_of_the_runs(source: MemorySource, columns: RunTableApi) -> None:
    give(source, "vit", lr=0.001, name="big")
    asked = ["hparam:lr", "hparam:name", "hparam:gone", "last:loss", "min:loss", "max:loss"]
    answer = columns.read_columns(ColumnsRequest([*asked, "last:acc"]))
    assert answer.runs == ["conv", "vit"]
    assert answer.columns == {
        "hparam:lr": [None, 0.001],
        "hparam:name": [None, "big"],
        "hparam:gone": [None, None],
        "last:loss": ["NaN", 7.0],
        "min:loss": [2.0, 7.0],
        "max:loss": [3.0, 9.0],
        "last:acc": [0.5, None],
    }


def test_files_of_settings_count_where_there_is_no_record(
    source: MemorySource, columns: RunTableApi
) -> None:
    give(source, "vit", lr=0.001)
    source.beside = {
        "conv": {"config.json": b'{"lr": 0.5, "depth": 3}'},
        "vit": {"args.yaml": b"lr: 9"},
    }
    answer = columns.read_columns(ColumnsRequest(["hparam:lr", "hparam:depth"]))
    assert answer.columns == {"hparam:lr": [0.5, 0.001], "hparam:depth": [3.0, None]}
    assert {column.name for column in columns.list_columns(Empty()).hparams} == {"lr", "depth"}


def test_only_runs_that_grew_are_worked_out_again(
    source: MemorySource, columns: RunTableApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    digests = source.summaries
    monkeypatch.setattr(source, "digests", lambda keys: asked.extend(keys) or digests(keys))
    columns.read_columns(ColumnsRequest(["last:loss", "min:loss"]))
    source.logged["vit"]["loss"].append(1.0)
    source.refresh()
    answer = columns.read_columns(ColumnsRequest(["last:loss"]))
    assert answer.columns["last:loss"] == ["NaN", 1.0]
    assert asked == [("conv", "loss"), ("vit", "loss"), ("vit", "loss")]


def test_a_run_that_went_away_has_no_row(source: MemorySource, columns: RunTableApi) -> None:
    columns.read_columns(ColumnsRequest(["last:loss"]))
    del source.logged["conv"]
    source.refresh()
    answer = columns.read_columns(ColumnsRequest(["last:loss"]))
    assert (answer.runs, answer.columns) == (["vit"], {"last:loss": [7.0]})


def test_what_is_no_column_is_said(columns: RunTableApi) -> None:
    with pytest.raises(UsageError, match='"mean:loss" is no column'):
        columns.read_columns(ColumnsRequest(["mean:loss"]))


def test_numbers_that_are_not_finite_are_no_extent() -> None:
    column = describe_hparam("lr", [math.inf, 1.0, 0.5])
    assert (column.low, column.high, column.values) == (0.5, 1.0, [0.5, 1.0, "Infinity"])
    assert describe_hparam("mixed", [True, 2.0, "x"]).type == "string"


def test_columns_over_http(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/api/v1/runs/columns").json()["metrics"] == ["acc", "loss"]
    answer = client.post("/api/v1/runs/columns", json={"columns": ["min:loss"]}).json()
    assert answer == {"runs": ["conv", "vit"], "columns": {"min:loss": [2.0, 7.0]}}
