"""Scores of models that name their classes in another order than the user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracklight.analysis.predictors import Predictor
from tracklight.analysis.predictors.server_models import order_classes
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace

SHARE = np.array([0.9, 0.2, 0.7, 0.4])
TRUTH = ["yes", "no", "no", "no"]


class Classifier(Predictor):
    """Returns the classes of each row by name, as Classify of TensorFlow Serving."""

    def __init__(self, labels: tuple[str, str] = ("yes", "no")) -> None:
        super().__init__("m", "classification")
        self._labels = labels

    def call(self, table: DataTable) -> Any:
        first, second = self._labels
        shares = table.get_column("x").to_float64().tolist()
        return order_classes([[(first, p), (second, 1 - p)] for p in shares], self)


def make_workspace(names: list[str] | None, model: Classifier | None = None) -> Workspace:
    table = to_table({"x": SHARE, "label": TRUTH})
    return Workspace(table, [model or Classifier()], label="label", class_names=names)


@pytest.mark.parametrize("names", [["yes", "no"], ["no", "yes"]])
def test_scores_have_the_order_of_the_given_names(names: list[str]) -> None:
    workspace = make_workspace(names)
    by_name = {"yes": SHARE, "no": 1 - SHARE}
    scores = workspace.predict().scores
    assert workspace.get_class_names() == names
    assert np.allclose(scores, np.stack([by_name[name] for name in names], axis=1))
    assert [names[code] for code in workspace.get_labels()] == TRUTH
    assert [names[code] for code in workspace.get_decisions()] == ["yes", "no", "yes", "no"]
    # Edited rows are predicted alone.
    workspace.edit(1, {"x": 0.75})
    assert workspace.predict().scores[1].tolist() == [
        0.75 if name == "yes" else 0.25 for name in names
    ]


def test_other_names_replace_those_of_the_model() -> None:
    workspace = make_workspace(["bad", "good"], Classifier(("no", "yes")))
    assert np.allclose(workspace.predict().scores[:, 0], SHARE)  # "no" is sorted first
    assert workspace.get_class_names() == ["bad", "good"]


def test_scores_follow_when_names_are_given_later() -> None:
    workspace = make_workspace(None)
    assert np.allclose(workspace.predict().scores[:, 1], SHARE)
    workspace.edit(0, {"x": 0.6})
    workspace.predict()
    snapshot = workspace.snapshot()
    workspace.configure(label="label", class_names=["yes", "no"])
    assert workspace.get_class_names() == ["yes", "no"]
    assert np.allclose(workspace.predict().scores[:, 0], [0.6, *SHARE[1:]])
    assert np.allclose(workspace.get_history(0), [[0.9, 0.1], [0.6, 0.4]])
    assert np.allclose(snapshot.get_history(0), [[0.1, 0.9], [0.4, 0.6]])
    workspace.configure(label="label", class_names=["low", "high"])
    assert np.allclose(workspace.predict().scores[:, 1], [0.6, *SHARE[1:]])
    workspace.configure(label="label", class_names=[])
    assert workspace.get_class_names() == ["no", "yes"]
    assert np.allclose(workspace.get_history(0), [[0.1, 0.9], [0.4, 0.6]])
