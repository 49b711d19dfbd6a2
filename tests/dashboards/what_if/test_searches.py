"""Searches for counterfactuals: answered at once, or jobs with progress that can be cancelled."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.what_if.board import Board, start_board, wait_for_job
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.distances import DistanceSpace
from tracklight.analysis.what_if.workspace import Workspace

JOBS = "tracklight.dashboards.what_if.jobs."


class StubbornModel:
    """Predicts from ``a``, and for changed rows always the same class. It can be made to wait."""

    def __init__(self) -> None:
        self.is_blocking = False
        self.started, self.release = threading.Event(), threading.Event()

    def __call__(self, columns: Any) -> Any:
        if not self.is_blocking:
            return (columns["a"] > 20).astype(float)
        self.started.set()
        assert self.release.wait(60)
        return np.zeros(len(columns["a"]))


@pytest.fixture
def model() -> StubbornModel:
    return StubbornModel()


@pytest.fixture
def board(tmp_path: Path, model: StubbornModel) -> Any:
    columns = {"a": np.arange(40), "b": np.arange(40) % 7, "c": np.arange(40) % 5}
    workspace = Workspace(to_table(columns), [wrap_model(model, "m")])
    with start_board(tmp_path, DataAccess(workspaces={"x": workspace})) as started:
        wait_for_job(started, started.post("predict", session="x"))
        yield started


def test_fast_searches_are_answered_at_once(board: Board) -> None:
    response = board.post("counterfactuals", session="x", row=3)
    assert response["status"] is None and len(response["rows"]) == 1


def test_long_searches_are_jobs_with_the_same_result(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = board.post("counterfactuals", session="x", row=4, count=3, locked=["b"])
    board.post("edit", session="x", kind="edit", row=0, values={"b": 1})
    monkeypatch.setattr(JOBS + "_FAST_SEARCH_S", 0)
    compute, stages = DistanceSpace.compute, []

    def compute_slowly(self: Any, *args: Any, report: Any, **options: Any) -> Any:
        for done in range(10):
            time.sleep(0.02)
            report(done, 10)
        return compute(self, *args, report=report, **options)

    monkeypatch.setattr(DistanceSpace, "compute", compute_slowly)
    response = board.post("counterfactuals", session="x", row=4, count=3, locked=["b"])
    status = response["status"]
    assert response["rows"] == [] and status["state"] in ("waiting", "running")
    while status["state"] in ("waiting", "running"):
        result = board.get("job", job=status["job"])
        status = result["status"]
        stages.append((status["stage"]["text"], status["total"]))
        time.sleep(0.01)
    assert ("comparing datapoints", 10) in stages
    assert result["counterfactuals"]["rows"] == expected["rows"]


def test_long_distances_report_their_progress(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"session": "x", "row": 4, "metric": "l2"}
    expected = board.post("distances", **request)
    assert expected["status"] is None and len(expected["distances"]) == 40
    monkeypatch.setattr(JOBS + "_FAST_SEARCH_S", 0)
    compute = DistanceSpace.compute

    def compute_slowly(self: Any, *args: Any, report: Any, **options: Any) -> Any:
        for done in range(10):
            time.sleep(0.02)
            report(done, 10)
        return compute(self, *args, report=report, **options)

    monkeypatch.setattr(DistanceSpace, "compute", compute_slowly)
    stages = []
    response = board.post("distances", **request)
    while response["status"] is not None:
        assert response["distances"] == []
        stages.append((response["status"]["stage"]["text"], response["status"]["total"]))
        time.sleep(0.01)
        response = board.post("distances", **request)
    assert ("comparing datapoints", 10) in stages
    assert response == expected


def test_searches_are_cancelled_and_can_be_repeated(board: Board, model: StubbornModel) -> None:
    model.is_blocking = True
    request = {"session": "x", "row": 5, "search_edits": True}
    try:
        status = board.post("counterfactuals", **request)["status"]
        assert model.started.wait(60) and status["state"] == "running"
        board.delete("job", job=status["job"])
    finally:
        model.release.set()
    assert wait_for_job(board, status)["status"]["state"] == "cancelled"
    again = board.post("counterfactuals", **request)
    assert again["status"] is None and again["edits"] == [] and len(again["rows"]) == 1


def test_abandoned_searches_end(
    board: Board, model: StubbornModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.is_blocking = True
    status = board.post("counterfactuals", session="x", row=6, search_edits=True)["status"]
    assert model.started.wait(60)
    # Requests for the state count as well, so any time since the last one has to be too long.
    monkeypatch.setattr(JOBS + "_ABANDONED_S", 0.0)
    model.release.set()
    assert wait_for_job(board, status)["status"]["state"] == "cancelled"


def test_mistakes_are_reported_at_once(board: Board) -> None:
    message = board.fail("counterfactuals", session="x", row=3, weights={"nothing": 2})
    assert message.startswith('"nothing" is not a feature that rows are compared by')
    assert "no row 400" in board.fail("counterfactuals", session="x", row=400)


def test_a_model_that_replaces_another_has_results_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.mkdir()
    lines = "".join(f"{n},{n / 9},{1 - n / 9}\n" for n in range(10))
    (path / "t.csv").write_text("a,up,down\n" + lines)
    with start_board(tmp_path, DataAccess(data_dirs=(str(path),))) as board:
        session = board.post("open", path="t.csv")["session"]
        found = []
        for column, row in [("up", 1), ("down", 1)]:
            spec = {"type": "columns", "name": "m", "columns": [column]}
            board.post("models", session=session, spec=spec)
            wait_for_job(board, board.post("predict", session=session))
            board.post("columns", session=session, names=["predicted"])
            response = board.post("counterfactuals", session=session, row=row, threshold=0.75)
            found.append(response["rows"][0]["row"])
            board.delete("models", session=session, model="m")
        assert found == [7, 3]
