"""Searches, and metrics of large tables: answered at once, or jobs that can be cancelled."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.what_if.board import Board, limit_fast_searches, start_board, wait_for_job
from tracklight.analysis import evaluation
from tracklight.analysis.jobs import JobProgress, LocalTasks
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if import performance
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


STAGE = ("comparing datapoints", 10)


class SlowComparison:
    """Compares datapoints only after the first stage has been reported."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._is_seen = threading.Event()
        self._compute = DistanceSpace.compute
        monkeypatch.setattr(
            DistanceSpace, "compute", lambda space, *args, **kw: self._run(space, *args, **kw)
        )

    def _run(self, space: DistanceSpace, *args: Any, report: Any, **options: Any) -> Any:
        report(0, STAGE[1])
        assert self._is_seen.wait(60)
        return self._compute(space, *args, report=report, **options)

    def see(self, status: Any) -> None:
        """Continue if the status is that of the first stage."""
        if (status["stage"]["text"], status["total"]) == STAGE:
            self._is_seen.set()


def test_long_searches_are_jobs_with_the_same_result(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = board.post("counterfactuals", session="x", row=4, count=3, locked=["b"])
    board.post("edit", session="x", kind="edit", row=0, values={"b": 1})
    comparison = SlowComparison(monkeypatch)
    with limit_fast_searches(0):
        response = board.post("counterfactuals", session="x", row=4, count=3, locked=["b"])
    status = response["status"]
    assert response["rows"] == [] and status["state"] in ("waiting", "running")
    while status["state"] in ("waiting", "running"):
        comparison.see(status)
        result = board.get("job", job=status["job"])
        status = result["status"]
        time.sleep(0.01)
    assert status["state"] == "done"
    assert result["counterfactuals"]["rows"] == expected["rows"]


def test_long_distances_report_their_progress(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"session": "x", "row": 4, "metric": "l2"}
    expected = board.post("distances", **request)
    assert expected["status"] is None and len(expected["distances"]) == 40
    comparison = SlowComparison(monkeypatch)
    with limit_fast_searches(0):
        response = board.post("distances", **request)
        assert response["status"] is not None
        while response["status"] is not None:
            assert response["distances"] == []
            comparison.see(response["status"])
            time.sleep(0.01)
            response = board.post("distances", **request)
    assert response == expected


def test_searches_are_cancelled_and_can_be_repeated(board: Board, model: StubbornModel) -> None:
    model.is_blocking = True
    request = {"session": "x", "row": 5, "search_edits": True}
    try:
        with limit_fast_searches(0):
            status = board.post("counterfactuals", **request)["status"]
        assert model.started.wait(60)
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
    with limit_fast_searches(0):
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


class WaitingTasks(LocalTasks):
    """Runs functions in this process, and waits after the first step of each."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def run(self, function: Any, *args: Any, progress: JobProgress, **options: Any) -> Any:
        def report(stage: Any, done: int, total: int) -> None:
            progress.report(stage, done, total)
            assert self.release.wait(60)

        waiting = JobProgress(report, progress.show, progress.is_cancelled)
        return function(*args, progress=waiting, **options)


@pytest.mark.parametrize("route", ["performance", "comparison"])
def test_metrics_of_large_tables_are_jobs_with_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    monkeypatch.setattr(evaluation, "_BLOCK_ROWS", 10)
    columns = {"a": np.arange(40), "label": (np.arange(40) % 3 == 0).astype(int)}
    models = [wrap_model(lambda c, x=x: (c["a"] % x) / x, f"m{x}") for x in (3, 5)]
    workspace = Workspace(to_table(columns), models, label="label")
    tasks = WaitingTasks()
    request = {"session": "x", "model": "m3", "intervals": "bootstrap"}
    if route == "comparison":
        request["other"] = "m5"
    with start_board(tmp_path, DataAccess(workspaces={"x": workspace}, tasks=tasks)) as board:
        for model in ("m3", "m5"):
            wait_for_job(board, board.post("predict", session="x", model=model))
        expected = board.post(route, **request)
        assert expected["status"] is None and expected["slices"] == ["Overall"]
        monkeypatch.setattr(performance, "MIN_TASK_ROWS", 40)

        def wait_for_step() -> Any:
            while True:
                response = board.post(route, **request)
                status = response["status"]
                assert response["slices"] == [] and status["state"] in ("waiting", "running")
                if status["stage"]["text"] == "computing metrics":
                    return status
                time.sleep(0.01)

        with limit_fast_searches(0):
            status = wait_for_step()
            assert (status["done"], status["total"]) == (10, 40)
            board.delete("job", job=status["job"])
            tasks.release.set()
            assert wait_for_job(board, status)["status"]["state"] == "cancelled"
        assert board.post(route, **request) == expected
