from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource
from tracklight.errors import UsageError
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_START_TAG,
    HParam,
    Metric,
    build_experiment,
    build_session_start,
)
from tracklight.plugin import Empty
from tracklight.server.run_table.run_columns import (
    ColumnsRequest,
    RunColumnsApi,
    describe_hparam,
)
from tracklight.server.source import LogOverview


def add_hparams(source: MemorySource, run: str, **hparams: float | str | bool) -> None:
    content = build_session_start(hparams).metadata.plugin_data.content
    source.metadata.setdefault(SESSION_START_TAG, {})[run] = content


@pytest.fixture
def table(source: MemorySource) -> RunColumnsApi:
    source.refresh()
    return RunColumnsApi(source, LogOverview(source))


def test_lists_available_columns(source: MemorySource, table: RunColumnsApi) -> None:
    add_hparams(source, "conv", lr=0.1, flip=True, name="a10")
    add_hparams(source, "vit", lr=0.001, flip=True, name="a9", extra=1.0)
    available = table.list_columns(Empty())
    assert available.metrics == ["acc", "loss"]
    rows = {c.name: (c.type, c.distinct, c.low, c.high, c.values) for c in available.hparams}
    assert rows == {
        "extra": ("number", 1, 1.0, 1.0, [1.0]),
        "flip": ("bool", 1, None, None, [True]),
        "lr": ("number", 2, 0.001, 0.1, [0.001, 0.1]),
        "name": ("string", 2, None, None, ["a9", "a10"]),
    }


def test_display_names_are_those_of_experiments_and_tags(
    source: MemorySource, table: RunColumnsApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_hparams(source, "conv", lr=0.1, depth=3)
    hparams = [HParam("lr", display_name="Learning rate"), HParam("depth")]
    metrics = [
        Metric("acc", "validation", "Validation accuracy"),
        Metric("acc", display_name="Accuracy"),
    ]
    content = build_experiment(hparams, metrics).metadata.plugin_data.content
    source.metadata[EXPERIMENT_TAG] = {"conv": content}
    named = [msgspec.structs.replace(info, display_name="Loss") for info in source.tags("vit")]
    monkeypatch.setattr(source, "tags", lambda run: named)
    source.logged["vit"]["loss"].append(1.0)
    source.refresh()
    metric_names = {"acc": "Accuracy", "loss": "Loss"}
    assert table.list_columns(Empty()).display_names == {
        "hparam:lr": "Learning rate",
        **{
            f"{field}:{tag}": name
            for field in ("last", "min", "max", "step")
            for tag, name in metric_names.items()
        },
    }


@pytest.mark.parametrize(("group", "is_used"), [("validation", False), ("vit", True)])
def test_a_display_name_of_a_group_is_for_its_runs_only(
    source: MemorySource, group: str, is_used: bool
) -> None:
    metrics = [Metric("acc", group, "Accuracy (val.)")]
    content = build_experiment([], metrics).metadata.plugin_data.content
    source.metadata[EXPERIMENT_TAG] = {"vit": content}
    source.logged = {"vit": {"acc": [1.0]}}
    source.refresh()
    names = RunColumnsApi(source, LogOverview(source)).list_columns(Empty()).display_names
    assert names.get("last:acc") == ("Accuracy (val.)" if is_used else None)


def test_values_are_in_the_order_of_the_runs(source: MemorySource, table: RunColumnsApi) -> None:
    add_hparams(source, "vit", lr=0.001, name="big")
    keys = ["hparam:lr", "hparam:name", "hparam:gone", "last:loss", "min:loss", "max:loss"]
    response = table.read_columns(ColumnsRequest([*keys, "last:acc"]))
    assert response.runs == ["conv", "vit"]
    assert response.columns == {
        "hparam:lr": [None, 0.001],
        "hparam:name": [None, "big"],
        "hparam:gone": [None, None],
        "last:loss": ["NaN", 7.0],
        "min:loss": [2.0, 7.0],
        "max:loss": [3.0, 9.0],
        "last:acc": [0.5, None],
    }


def test_hparams_are_read_from_settings_files(source: MemorySource, table: RunColumnsApi) -> None:
    add_hparams(source, "vit", lr=0.001)
    source.beside = {
        "conv": {"config.json": b'{"lr": 0.5, "depth": 3}'},
        "vit": {"args.yaml": b"lr: 9"},
    }
    response = table.read_columns(ColumnsRequest(["hparam:lr", "hparam:depth"]))
    assert response.columns == {"hparam:lr": [0.5, 0.001], "hparam:depth": [3.0, None]}
    assert {column.name for column in table.list_columns(Empty()).hparams} == {"lr", "depth"}


def test_only_grown_runs_are_summarized_again(
    source: MemorySource, table: RunColumnsApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[object] = []
    summaries = source.summaries
    monkeypatch.setattr(source, "summaries", lambda keys: requested.extend(keys) or summaries(keys))
    table.read_columns(ColumnsRequest(["last:loss", "min:loss"]))
    source.logged["vit"]["loss"].append(1.0)
    source.refresh()
    response = table.read_columns(ColumnsRequest(["last:loss"]))
    assert response.columns["last:loss"] == ["NaN", 1.0]
    assert requested == [("conv", "loss"), ("vit", "loss"), ("vit", "loss")]


def test_removed_run_has_no_row(source: MemorySource, table: RunColumnsApi) -> None:
    table.read_columns(ColumnsRequest(["last:loss"]))
    del source.logged["conv"]
    source.refresh()
    response = table.read_columns(ColumnsRequest(["last:loss"]))
    assert (response.runs, response.columns) == (["vit"], {"last:loss": [7.0]})


def test_unknown_column_raises_usage_error(table: RunColumnsApi) -> None:
    with pytest.raises(UsageError, match='no column "mean:loss"'):
        table.read_columns(ColumnsRequest(["mean:loss"]))


def test_extent_ignores_non_finite_numbers() -> None:
    column = describe_hparam("lr", [math.inf, 1.0, 0.5])
    assert (column.low, column.high, column.values) == (0.5, 1.0, [0.5, 1.0, "Infinity"])
    assert describe_hparam("mixed", [True, 2.0, "x"]).type == "string"


def test_columns_over_http(client: TestClient, tmp_path: Path) -> None:
    assert client.get("/api/v1/runs/columns").json()["metrics"] == ["acc", "loss"]
    response = client.post("/api/v1/runs/columns", json={"columns": ["min:loss"]}).json()
    assert response == {"runs": ["conv", "vit"], "columns": {"min:loss": [2.0, 7.0]}}
