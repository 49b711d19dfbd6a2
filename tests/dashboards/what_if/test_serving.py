"""The scenario of the What-If Tool's documents: TensorFlow Serving, TFRecord data, two models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.dashboards.what_if.board import start_board, wait_for_job
from tests.serving_process import compute_expected, start_serving
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.examples import encode_examples
from tracklight.analysis.tables.objects import to_table
from tracklight.formats.tfrecord import write_records

pytestmark = pytest.mark.slow


def test_compare_two_served_models_edit_and_find_a_counterfactual(tmp_path: Path) -> None:
    pytest.importorskip("tensorflow_serving")
    pytest.importorskip("grpc")
    random = np.random.default_rng(0)
    a, b = random.normal(size=200).astype(np.float32), random.normal(size=200).astype(np.float32)
    label = (compute_expected("one", a, b) > 0.5).astype(int)
    table = to_table({"a": a, "b": b, "label": label})
    (tmp_path / "logs").mkdir()
    with (tmp_path / "logs/test.tfrecord").open("wb") as stream:
        write_records(stream, encode_examples(table), compression="gzip")
    with start_serving() as address, start_board(tmp_path / "logs", DataAccess()) as board:
        session = board.post("open", path="test.tfrecord", label="label")["session"]
        for name in ("one", "two"):
            spec = {"type": "grpc", "name": name, "address": address, "model": name}
            board.post("models", session=session, spec=spec)
            wait_for_job(board, board.post("predict", session=session, model=name))
        names = ["score (one)", "score (two)"]
        columns = board.post("columns", session=session, names=names)["columns"]
        for name, column in zip(("one", "two"), columns, strict=True):
            expected = compute_expected(name, a, b)
            assert np.allclose(column["numbers"], expected, atol=1e-5)
        edited = board.post("edit", session=session, row=0, values={"a": 3.5})
        scores = {each["model"]: each["history"] for each in edited["row"]["scores"]}
        assert scores["one"][-1][1] == pytest.approx(compute_expected("one", 3.5, b[0]), abs=1e-5)
        assert len(scores["two"]) == 2
        found = board.post("counterfactuals", session=session, row=5, model="one")["rows"][0]
        decisions = compute_expected("one", a, b) >= 0.5
        assert decisions[found["row"]] != decisions[5]
        performance = board.post("performance", session=session, model="one", intervals="none")
        metrics = {m["metric"]: m["value"][0] for m in performance["metrics"]}
        assert metrics["accuracy"] > 0.99
