"""Thresholds of slices decide predicted classes: columns, exports, counterfactuals and edits."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.what_if.board import Board, start_board, wait_for_job
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace

ROWS = 200
BY_GROUP = {"slice_by": ["group"], "thresholds": {"m": {"group:a": 0.2, "group:c": 0.9}}}


def make_data() -> dict[str, Any]:
    random = np.random.default_rng(3)
    x = random.uniform(size=ROWS)
    group = random.choice(["a", "b", "c"], ROWS)
    return {"x": x, "group": group, "label": (x > 0.4).astype(int)}


def decide(data: dict[str, Any], default: float) -> Any:
    limits = np.select([data["group"] == "a", data["group"] == "c"], [0.2, 0.9], default)
    return (data["x"] >= limits).astype(int)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    model = wrap_model(lambda columns: np.asarray(columns["x"], float), "m")
    workspace = Workspace(to_table(make_data()), [model], label="label", features=["x", "group"])
    workspace.predict("m")
    with start_board(tmp_path, DataAccess(workspaces={"data": workspace})) as started:
        yield started


def read_classes(board: Board, **fields: Any) -> list[str]:
    (column,) = board.post("columns", session="data", names=["predicted"], **fields)["columns"]
    return [column["categories"][code] for code in column["codes"]]


def test_predicted_classes_follow_the_thresholds_of_slices(board: Board) -> None:
    data = make_data()
    found = read_classes(board, threshold=0.6, slice_thresholds=BY_GROUP)
    assert found == [str(each) for each in decide(data, 0.6)]
    # Another model, and slices that do not exist, change nothing.
    for thresholds in ({"other": {"group:a": 0.1}}, {"m": {"sex:f": 0.1}}):
        found = read_classes(board, slice_thresholds={**BY_GROUP, "thresholds": thresholds})
        assert found == [str(int(x >= 0.5)) for x in data["x"]]


def test_thresholds_of_bins_and_of_slices_by_predictions(board: Board) -> None:
    data = make_data()
    bins = {"slice_by": ["x"], "buckets": {"x": [0.7]}, "thresholds": {"m": {"x:>= 0.7": 0.8}}}
    expected = data["x"] >= np.where(data["x"] >= 0.7, 0.8, 0.5)
    found = read_classes(board, slice_thresholds=bins)
    assert found == [str(int(each)) for each in expected]
    computed = {
        "slice_by": ["predicted"],
        "model_thresholds": {"m": 0.3},
        "thresholds": {"m": {"predicted:1": 0.6}},
    }
    expected = data["x"] >= np.where(data["x"] >= 0.3, 0.6, 0.5)
    found = read_classes(board, slice_thresholds=computed)
    assert found == [str(int(each)) for each in expected]


def test_exports_follow_the_thresholds_of_slices(board: Board) -> None:
    request = {
        "session": "data",
        "models": ["m"],
        "thresholds": [0.6],
        "slice_thresholds": BY_GROUP,
    }
    response = board.request("GET", "export", request=json.dumps(request))
    assert response.status_code == 200, response.text
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["predicted"] for row in rows] == [str(each) for each in decide(make_data(), 0.6)]


def test_counterfactuals_have_another_class_at_the_thresholds_of_slices(board: Board) -> None:
    data = make_data()
    decisions = decide(data, 0.5)
    # Positive only because of the threshold of its slice.
    row = int(np.flatnonzero((data["group"] == "a") & (data["x"] > 0.25) & (data["x"] < 0.4))[0])
    assert decisions[row] == 1
    fields = {"session": "data", "row": row, "count": 1000, "slice_thresholds": BY_GROUP}
    found = board.post("counterfactuals", **fields)
    rows = sorted(each["row"] for each in found["rows"])
    assert rows == np.flatnonzero(decisions == 0).tolist()
    plain = board.post("counterfactuals", **{**fields, "slice_thresholds": None})
    rows = sorted(each["row"] for each in plain["rows"])
    assert rows == np.flatnonzero(data["x"] >= 0.5).tolist()


def test_edits_are_judged_at_the_threshold_of_the_slice_they_lead_to(board: Board) -> None:
    data = make_data()
    # Negative in slice b and c, positive in slice a: changing the group is enough.
    row = int(np.flatnonzero((data["group"] == "b") & (data["x"] > 0.25) & (data["x"] < 0.4))[0])
    found = board.post(
        "counterfactuals",
        session="data",
        row=row,
        locked=["x"],
        slice_thresholds=BY_GROUP,
    )
    assert found["rows"] == []
    found = board.post(
        "counterfactuals",
        session="data",
        row=row,
        count=5,
        search_edits=True,
        max_changes=1,
        slice_thresholds=BY_GROUP,
    )
    for edit in found["edits"]:
        changed = {name: values[[row]].copy() for name, values in data.items()}
        for name, value in edit["changes"].items():
            changed[name][0] = value
        assert decide(changed, 0.5)[0] == 1
    assert {"group": "a"} in [edit["changes"] for edit in found["edits"]]


def test_varied_copies_have_the_thresholds_of_the_slices_they_lead_to(board: Board) -> None:
    data = make_data()
    row = int(np.flatnonzero(data["group"] == "c")[0])
    fields: dict[str, Any] = {"session": "data", "row": row, "threshold": 0.6}

    def get_thresholds(**changes: Any) -> dict[str, dict[Any, float]]:
        status = board.post("dependence", **{**fields, **changes})
        curves = wait_for_job(board, status)["dependence"]
        assert all(len(curve["values"][0]) > 1 for curve in curves)
        return {
            curve["features"][0]: dict(zip(curve["values"][0], curve["thresholds"], strict=False))
            for curve in curves
        }

    by_group = get_thresholds(slice_thresholds=BY_GROUP)
    assert by_group["group"] == {"a": 0.2, "b": 0.6, "c": 0.9}
    assert len(by_group["x"]) == 10
    assert set(by_group["x"].values()) == {0.9}
    bins = {"slice_by": ["x"], "buckets": {"x": [0.7]}, "thresholds": {"m": {"x:>= 0.7": 0.8}}}
    by_bin = get_thresholds(slice_thresholds=bins)["x"]
    assert by_bin == {x: 0.8 if x >= 0.7 else 0.6 for x in by_bin}
    for changes in ({}, {"row": None, "slice_thresholds": BY_GROUP}):
        assert not any(get_thresholds(**changes).values())
