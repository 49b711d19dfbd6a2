"""Models that return NaN or the wrong shape, are slow, or stop: a sentence, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.what_if.board import start_board, wait_for_job
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace

ROWS = 60


def make_workspace(function: Callable[[Any], Any], **options: Any) -> Workspace:
    random = np.random.default_rng(0)
    x = random.normal(size=ROWS)
    data = {"x": x, "z": random.normal(size=ROWS), "group": np.where(x > 0.5, "a", "b").tolist(),
            "label": (x > 0).astype(int)}  # fmt: skip
    model = wrap_model(function, "m", **options)
    return Workspace(to_table(data), [model], label="label", features=["x", "z"])


class BlockingModel:
    """The logistic function of ``x``, which waits in each call until it may end."""

    def __init__(self) -> None:
        self.is_called, self.may_end = threading.Event(), threading.Event()
        self.calls: list[tuple[list[str], int]] = []
        """The columns and the number of rows of each call."""

    def __call__(self, columns: Any) -> Any:
        self.calls.append((sorted(columns), len(columns["z"])))
        self.is_called.set()
        assert self.may_end.wait(60)
        x = np.asarray(columns.get("x", columns["z"]), np.float64)
        return 1 / (1 + np.exp(-x))


def get_access(workspace: Workspace) -> DataAccess:
    return DataAccess(workspaces={"data": workspace})


@pytest.mark.parametrize("share", ["some", "all"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_nan_is_reported_in_every_view(tmp_path: Path, task: str, share: str) -> None:
    def predict(columns: Any) -> Any:
        x = np.asarray(columns["x"], np.float64)
        score = np.where((x < -0.8) | (share == "all"), np.nan, 1 / (1 + np.exp(-x)))
        if task == "multiclass":
            return np.stack([score / 2, score / 2, 1 - score], axis=1)
        return score

    workspace = make_workspace(predict, task="regression" if task == "regression" else None)
    rows = int(np.isnan(predict({"x": workspace.table.get_column("x").values})
                        .reshape(ROWS, -1)).any(axis=1).sum())  # fmt: skip
    with start_board(tmp_path, get_access(workspace)) as board:
        predicted = wait_for_job(board, board.post("predict", session="data"))
        assert predicted["status"]["state"] == "done"
        (info,) = board.get("sessions")["sessions"]
        (problem,) = info["problems"]
        assert problem["text"].startswith(f'the model "m" returned NaN for {rows} of {ROWS} rows')
        response = board.request("POST", "performance", session="data", slice_by=["group"])
        if share == "some":
            assert response.status_code == 200
            assert response.json()["counts"][0] == ROWS - rows
        else:
            assert response.status_code < 500
        good = int(np.argmax(workspace.table.get_column("x").values))
        found = board.request("POST", "counterfactuals", session="data", row=good, count=3,
                              search_edits=True)  # fmt: skip
        assert found.status_code == (200 if share == "some" else 400), found.text
        if share == "some":
            nearest = [each["row"] for each in found.json()["rows"]]
            assert not np.isnan(workspace.predict().scores[nearest]).any()
        for route in ("dependence", "importance"):
            result = wait_for_job(board, board.post(route, session="data"))
            assert result["status"]["state"] in ("done", "failed")
            assert "internal" not in str(result["status"]["problem"]).lower()
        shapley = wait_for_job(board, board.post("shapley", session="data", rows=[good]))
        assert "internal" not in str(shapley["status"]["problem"]).lower()
        board.post("statistics", session="data")
        names = [each["name"] for each in info["columns"]]
        board.post("columns", session="data", names=names)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda n: np.zeros((n, 2, 2)), "returned predictions of shape 60 x 2 x 2"),
        (lambda n: np.zeros(n - 1), "returned predictions of shape 59 for 60 rows"),
        (lambda n: ["high"] * n, "did not return an array of numbers"),
        (lambda n: None, "did not return an array of numbers"),
        (lambda n: 0.5, "returned predictions of shape a single number for 60 rows"),
        (lambda n: np.full(n, 3.5), "returned scores outside 0 to 1"),
        (lambda n: {"scores": [0] * n}, 'a dictionary without "predictions"'),
        (lambda n: 1 / 0, "failed with ZeroDivisionError"),
    ],
)
def test_wrong_answers_are_one_sentence(tmp_path: Path, returned: Any, message: str) -> None:
    workspace = make_workspace(lambda columns: returned(len(columns["x"])))
    with start_board(tmp_path, get_access(workspace)) as board:
        result = wait_for_job(board, board.post("predict", session="data"))
        assert result["status"]["state"] == "failed"
        assert message in result["status"]["problem"]["text"]
        row = board.get("row", session="data", row=3)
        assert row["scores"] == [] and len(row["values"]) == 4


def test_a_model_that_breaks_later_loses_nothing(tmp_path: Path) -> None:
    state = {"classes": 2, "raises": False}

    def predict(columns: Any) -> Any:
        if state["raises"]:
            raise ConnectionError("the model is down")
        return np.full((len(columns["x"]), state["classes"]), 1 / state["classes"])

    workspace = make_workspace(predict)
    with start_board(tmp_path, get_access(workspace)) as board:
        wait_for_job(board, board.post("predict", session="data"))
        for change in ({"classes": 3}, {"raises": True}):
            state.update(change)
            edited = board.post("edit", session="data", row=2, values={"x": 5.0})
            values = {each["name"]: each["value"] for each in edited["row"]["values"]}
            assert values["x"] == 5.0
            (info,) = board.get("sessions")["sessions"]
            assert info["row_count"] == ROWS
            other = board.get("row", session="data", row=3)
            assert other["scores"][0]["history"] == [[0.5, 0.5]]
            state.update(classes=2, raises=False)
            board.post("edit", session="data", kind="predict", row=2)
            restored = board.get("row", session="data", row=2)
            assert restored["scores"][0]["history"][-1] == [0.5, 0.5]


def test_a_slow_model_does_not_block_other_requests(tmp_path: Path) -> None:
    model = BlockingModel()
    workspace = make_workspace(model)
    with start_board(tmp_path, get_access(workspace)) as board:
        status = board.post("predict", session="data")
        try:
            assert model.is_called.wait(30)
            assert len(board.post("columns", session="data", names=["x"])["rows"]) == ROWS
            assert board.get("sessions")["sessions"][0]["row_count"] == ROWS
            # Rows that change meanwhile are predicted again.
            edited = board.post("edit", session="data", row=1, values={"x": 3.0})
            copied = board.post("edit", session="data", kind="duplicate", row=1)
            assert edited["row"]["scores"] == copied["row"]["scores"] == []
            assert board.get("job", job=status["job"])["status"]["state"] == "running"
        finally:
            model.may_end.set()
        assert wait_for_job(board, status)["status"]["state"] == "done"
        assert [rows for _, rows in model.calls] == [ROWS, 2]
        scores = [board.get("row", session="data", row=row)["scores"][0]["history"][-1][1]
                  for row in (0, 1, ROWS)]  # fmt: skip
    x = workspace.table.get_column("x").values[[0, 1, ROWS]]
    assert x[1] == x[2] == 3 and scores == pytest.approx((1 / (1 + np.exp(-x))).tolist())


def test_inputs_that_change_while_a_model_works_are_predicted_again(tmp_path: Path) -> None:
    model = BlockingModel()
    workspace = make_workspace(model)
    with start_board(tmp_path, get_access(workspace)) as board:
        status = board.post("predict", session="data")
        assert model.is_called.wait(30)
        board.post("configure", session="data", label="label", features=["z"])
        model.may_end.set()
        assert wait_for_job(board, status)["status"]["state"] == "done"
    assert [columns for columns, _ in model.calls] == [["x", "z"], ["z"]]


def test_an_edit_with_a_slow_model_does_not_block_other_requests(tmp_path: Path) -> None:
    model = BlockingModel()
    model.may_end.set()
    workspace = make_workspace(model)
    workspace.predict()
    with start_board(tmp_path, get_access(workspace)) as board, ThreadPoolExecutor(2) as pool:
        model.is_called.clear()
        model.may_end.clear()
        try:
            edit = pool.submit(board.post, "edit", session="data", row=1, values={"x": 3.0})
            assert model.is_called.wait(30)
            other = pool.submit(board.post, "edit", session="data", row=2, values={"x": -3.0})
            # Others see the data as they were, with all predictions.
            response = board.post("columns", session="data", names=["x", "score"])
            assert response["version"] == 0 and len(response["rows"]) == ROWS
            assert board.get("row", session="data", row=1)["scores"][0]["history"]
            # What changes meanwhile is kept, and the model gets the row again.
            board.post("slice", session="data", name="mine", rows=[4])
            assert not edit.done() and not other.done()
        finally:
            model.may_end.set()
        for future, row, x in ((edit, 1, 3.0), (other, 2, -3.0)):
            assert future.result()["row"]["row"] == row
            found = board.get("row", session="data", row=row)
            values = {each["name"]: each["value"] for each in found["values"]}
            assert values["x"] == x and values["mine"] is False
            score = found["scores"][0]["history"][-1][1]
            assert score == pytest.approx(1 / (1 + np.exp(-x)))
        assert board.get("about", session="data")["edit_count"] == 2
        assert [rows for _, rows in model.calls] == [ROWS, 1, 1, 1]
