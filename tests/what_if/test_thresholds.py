"""Slices with missing values and without rows, compared with pandas and a search of all costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from tests.dashboards.what_if.board import start_board
from tracklight.analysis.source import DataAccess
from tracklight.what_if import Session

ROWS = 400


def make_frame() -> pandas.DataFrame:
    random = np.random.default_rng(3)
    score = random.uniform(size=ROWS).round(3)
    group = random.choice(["a", "b", ""], ROWS, p=[0.3, 0.3, 0.4])
    label = (random.uniform(size=ROWS) < np.where(group == "", score**3, score)).astype(int)
    age = random.integers(18, 80, ROWS).astype(float)
    age[random.uniform(size=ROWS) < 0.25] = np.nan
    return pandas.DataFrame(
        {"score_in": score, "group": np.where(group == "", None, group), "age": age, "y": label}
    )


def predict(frame: Any) -> Any:
    return frame["score_in"].to_numpy()


def make_session(frame: pandas.DataFrame) -> Session:
    return Session(frame, predict, "y", features=["score_in"])


def get_lowest_cost(frame: pandas.DataFrame) -> int:
    return min(
        int(((frame["score_in"] >= limit) != frame["y"]).sum()) for limit in np.arange(101) / 100
    )


def test_rows_with_a_missing_value_have_a_slice() -> None:
    frame = make_frame()
    session = make_session(frame)
    found = session.performance("group", metrics=["accuracy"], intervals="none").to_pandas()
    hit = ((frame["score_in"] >= 0.5) == frame["y"]).groupby(frame["group"].fillna("missing"))
    assert dict(zip(found["slice"], found["value"], strict=True)) == pytest.approx(
        {
            "Overall": ((frame["score_in"] >= 0.5) == frame["y"]).mean(),
            **{f"group:{name}": value for name, value in hit.mean().items()},
        }
    )
    assert found["count"].tolist()[1:] == hit.size().tolist()


def test_missing_numbers_have_a_slice_beside_buckets() -> None:
    frame = make_frame()
    session = make_session(frame)
    found = session.performance(
        [("group", "age")], metrics=["accuracy"], buckets={"age": [40, 60]}, intervals="none"
    ).to_pandas()
    bins = pandas.cut(frame["age"], [-np.inf, 40, 60, np.inf], right=False,
                      labels=["< 40", "[40, 60)", ">= 60"])  # fmt: skip
    names = frame["group"].fillna("missing") + "_X_" + bins.astype(object).fillna("missing")
    expected = {f"group_X_age:{name}": count for name, count in names.value_counts().items()}
    counted = dict(zip(found["slice"], found["count"], strict=True))
    assert counted.pop("Overall") == ROWS
    assert counted == expected


@pytest.mark.parametrize("strategy", ["single", "group"])
def test_thresholds_are_chosen_for_all_rows(strategy: Any) -> None:
    frame = make_frame()
    chosen = make_session(frame).optimize(strategy, "group", intervals="none")
    groups = dict(list(frame.groupby(frame["group"].fillna("missing"))))
    assert chosen.to_pandas()["count"].sum() == ROWS
    assert chosen.single_cost == get_lowest_cost(frame)
    assert chosen.cost == (
        get_lowest_cost(frame)
        if strategy == "single"
        else sum(get_lowest_cost(group) for group in groups.values())
    )


def test_responses_have_the_slice_of_missing_values(tmp_path: Path) -> None:
    frame = make_frame()
    session = make_session(frame)
    session.predictions()
    access = DataAccess(workspaces={"data": session.workspace})
    fields: dict[str, Any] = {"session": "data", "slice_by": ["group"]}
    with start_board(tmp_path, access) as board:
        response = board.post("performance", intervals="none", **fields)
        optimized = board.post("optimize", strategy="single", **fields)
    assert response["slices"] == ["Overall", "group:a", "group:b", "group:missing"]
    counted = np.reshape([response[name] for name in ("tp", "fp", "tn", "fn")], (4, -1, 101))
    assert counted[..., 50].sum(axis=0).tolist() == response["counts"]
    assert sum(response["counts"][1:]) == ROWS
    assert optimized["single_cost"] == get_lowest_cost(frame)


def test_slices_without_rows_get_no_threshold(tmp_path: Path) -> None:
    frame = make_frame()
    frame.loc[frame["group"] == "b", "y"] = np.nan
    session = make_session(frame)
    session.predictions()
    for row in np.flatnonzero(frame["group"] == "a").tolist():
        session.delete(row)
    left = frame[frame["group"].isna()]
    table = session.optimize("group", "group", intervals="bootstrap")
    assert table.to_pandas()["slice"].tolist() == ["group:missing"]
    assert table.to_pandas()["count"].tolist() == [len(left)]
    assert table.cost == get_lowest_cost(left)
    assert table.cost_interval[0] <= table.cost <= table.cost_interval[1]
    access = DataAccess(workspaces={"data": session.workspace})
    with start_board(tmp_path, access) as board:
        fields: dict[str, Any] = {"session": "data", "slice_by": ["group"]}
        assert board.post("optimize", strategy="group", **fields)["slices"] == ["group:missing"]
        assert board.post("frontier", **fields)["slices"] == ["group:missing"]


def test_a_category_named_missing_has_a_slice_of_its_own() -> None:
    values = [None, "missing", "missing", '"missing"', "a", None]
    frame = pandas.DataFrame({"score_in": np.arange(6) / 6, "group": values, "y": [0, 1] * 3})
    session = make_session(frame)
    found = session.performance("group", metrics=["accuracy"], intervals="none").to_pandas()
    assert dict(zip(found["slice"], found["count"], strict=True)) == {
        "Overall": 6,
        "group:missing": 2,
        'group:"missing"': 2,
        'group:""missing""': 1,
        "group:a": 1,
    }
