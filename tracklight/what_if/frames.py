"""The workspace that all parts of a session share, and tables of its columns and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.predictors.base import Predictor
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.tables.table import DataTable
from tracklight.analysis.what_if.feature_effects import Dependence
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import UsageError
from tracklight.util.frames import CategoryColumn, Column, Frame, ObjectColumn


def make_frame(table: DataTable) -> Frame:
    return Frame({name: to_frame_column(column) for name, column in table.columns.items()})


def to_frame_column(column: DataColumn) -> Column:
    if column.is_list or column.type in ("image", "bytes"):
        return ObjectColumn([column.get_value(row) for row in range(len(column))], "mixed")
    if column.type == "string":
        if (column.values >= 0).all():
            return CategoryColumn(list(column.categories), column.values)
        return ObjectColumn(column.to_array().tolist(), "string")
    if column.type == "boolean" and column.missing is not None:
        return ObjectColumn([column.get_value(row) for row in range(len(column))], "bool")
    return column.to_array()


def take_rows(column: Column, rows: NDArray[Any]) -> Column:
    if isinstance(column, ObjectColumn):
        return ObjectColumn([column.values[row] for row in rows.tolist()], column.type)
    assert isinstance(column, np.ndarray)
    taken: NDArray[Any] = column[rows]
    return taken


def make_dependence_frame(results: Sequence[Dependence], classes: Sequence[str]) -> Frame:
    names: list[str] = []
    values: list[list[Any]] = [[], []]
    labels: list[str] = []
    means, errors = [], []
    for result in results:
        mean = result.mean.reshape(-1, result.mean.shape[-1])
        error = result.standard_error.reshape(mean.shape)
        points = [
            (first, second)
            for first in result.grids[0].values
            for second in (result.grids[1].values if len(result.grids) > 1 else (None,))
        ]
        for at, label in enumerate(classes or [""]):
            label_text = label
            names += [" x ".join(grid.label for grid in result.grids)] * len(points)
            values[0] += [first for first, _ in points]
            values[1] += [second for _, second in points]
            labels += [label_text] * len(points)
            means.append(mean[:, at])
            errors.append(error[:, at])
    frame: dict[str, Column] = {
        "feature": ObjectColumn(names, "string"),
        "value": _make_value_column(values[0]),
    }
    if any(len(result.grids) > 1 for result in results):
        frame["value_2"] = _make_value_column(values[1])
    if classes:
        frame["class"] = ObjectColumn(labels, "string")
    frame["mean"] = np.concatenate(means) if means else np.empty(0)
    frame["standard_error"] = np.concatenate(errors) if errors else np.empty(0)
    return Frame(frame)


def make_ice_frame(
    results: Sequence[Dependence], rows: NDArray[Any], classes: Sequence[str]
) -> Frame:
    if any(len(result.grids) > 1 for result in results):
        raise UsageError("individual curves need a single feature")
    names: list[str] = []
    values: list[Any] = []
    labels: list[str] = []
    numbers, predictions = [], []
    for result in results:
        points = list(result.grids[0].values)
        for at, label in enumerate(classes or [""]):
            count = len(rows) * len(points)
            names += [result.grids[0].label] * count
            values += points * len(rows)
            labels += [label] * count
            numbers.append(np.repeat(rows, len(points)))
            predictions.append(result.individual[:, :, at].reshape(-1))
    frame: dict[str, Column] = {
        "feature": ObjectColumn(names, "string"),
        "row": np.concatenate(numbers) if numbers else np.empty(0, np.int64),
        "value": _make_value_column(values),
    }
    if classes:
        frame["class"] = ObjectColumn(labels, "string")
    frame["prediction"] = np.concatenate(predictions) if predictions else np.empty(0)
    return Frame(frame)


def _make_value_column(values: Sequence[Any]) -> Column:
    if values and all(isinstance(value, (int, float)) for value in values):
        return np.array(values)
    return ObjectColumn(list(values), "mixed")


class SessionBase:
    """A workspace and its models."""

    workspace: Workspace

    @property
    def features(self) -> list[str]:
        """The columns that models get."""
        return self.workspace.features

    @property
    def models(self) -> list[str]:
        """The names of the models."""
        return [model.name for model in self.workspace.models]

    def _choose_models(self, model: str | None) -> list[Predictor]:
        if model is not None or not self.workspace.models:
            return [self.workspace.get_model(model)]
        return self.workspace.models
