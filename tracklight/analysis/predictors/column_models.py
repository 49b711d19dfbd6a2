"""Predictions that are already columns of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracklight.analysis.predictors.base import Predictor, Task
from tracklight.analysis.tables.table import DataTable

#: Names that the What-If Tool reads as predictions and attributions.
PROBABILITIES = "predictions__probabilities"
VALUES = "predictions"
ATTRIBUTION_PREFIX = "attributions__"


class ColumnPredictor(Predictor):
    """Reads scores from one column, or from one column per class.

    Edited rows keep their predictions, so counterfactuals and metrics work and partial dependence
    does not.
    """

    is_static = True

    def __init__(
        self, name: str, columns: Sequence[str], task: Task = "classification", **options: Any
    ) -> None:
        super().__init__(name, task, **options)
        self.columns = tuple(columns)
        self.features = ()

    def call(self, table: DataTable) -> Any:
        arrays = [table.get_column(name).to_array().astype(np.float64) for name in self.columns]
        scores = arrays[0] if len(arrays) == 1 else np.stack(arrays, axis=1)
        attributions: dict[str, Any] = {}
        for name, column in table.columns.items():
            if name.startswith(ATTRIBUTION_PREFIX) and column.is_numeric:
                feature = name.removeprefix(ATTRIBUTION_PREFIX).removeprefix("features__")
                # Lists have one number for each item or pixel.
                attributions[feature] = (
                    [column.get_value(row) for row in range(len(column))]
                    if column.is_list
                    else column.to_float64()
                )
        return {"predictions": scores, "attributions": attributions}


def find_prediction_columns(table: DataTable, name: str = "predictions") -> ColumnPredictor | None:
    """Return a predictor for columns with the names of the What-If Tool, or None."""
    if PROBABILITIES in table:
        return ColumnPredictor(name, [PROBABILITIES])
    if VALUES in table and table.get_column(VALUES).is_numeric:
        return ColumnPredictor(name, [VALUES], "regression")
    return None


def list_prediction_columns(table: DataTable) -> list[str]:
    """Return the columns that hold predictions and attributions instead of features."""
    names = [name for name in table.names if name.startswith(ATTRIBUTION_PREFIX)]
    return [name for name in (PROBABILITIES, VALUES) if name in table] + names
