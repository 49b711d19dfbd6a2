"""Models behind one interface: columns in; scores, attributions and other columns out.

This module defines `Predictor` and `Predictions`, checks what models return, and reads predictions
that are part of the data. `python_models` adapts objects of a program (callables, scikit-learn,
XGBoost, PyTorch, Keras, ONNX), `server_models` calls servers, and `model_files` runs models from
files in a separate process with limits.

Frameworks are imported when a model of theirs is used. May import `tracklight.analysis.tables` and
nothing else of `tracklight.analysis`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn, concat_columns, make_column
from tracklight.errors import ModelError, TracklightError, UsageError
from tracklight.types import Float64

Task = Literal["classification", "regression"]

#: Called with the number of predicted rows and of all rows; raises to cancel.
ReportRows = Callable[[int, int], None]

DEFAULT_BATCH_ROWS = 50_000
#: Scores may exceed 0 and 1 by rounding.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model returned for some rows."""

    scores: Float64
    """One score per row and class, or one value per row for regression. NaN where the model
    returned NaN."""
    attributions: Mapping[str, Float64] = field(default_factory=dict)
    """One number per row for each feature."""
    extras: Mapping[str, DataColumn] = field(default_factory=dict)
    """More columns that the model returned."""

    def __len__(self) -> int:
        return len(self.scores)


class Predictor(ABC):
    """A model. Subclasses implement `call`.

    Args:
        name: Shown to users; unique among the models of a session.
        task: What the scores mean.
        features: The columns that the model gets; None for all columns that are inputs.
        class_names: The names of the classes, if they are known.
        batch_rows: How many rows are sent in one call.

    Example:
        >>> class Majority(tracklight.what_if.Predictor):
        ...     def call(self, table):
        ...         return [0.9] * len(table)
        >>> session = tracklight.what_if.Session(frame, model=Majority("majority"))

    Attributes:
        name: Shown to users; unique among the models of a session.
        task: What the scores mean.
        features: The columns that the model gets; None for all columns that are inputs.
        class_names: The names of the classes, if the model knows them.
        is_static: Whether predictions are read from the data, so that edited rows cannot be
            predicted.
        batch_rows: How many rows are sent in one call.
    """

    is_static = False

    def __init__(
        self,
        name: str,
        task: Task = "classification",
        *,
        features: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        batch_rows: int = DEFAULT_BATCH_ROWS,
    ) -> None:
        self.name = name
        self.task: Task = task
        self.features = None if features is None else tuple(features)
        self.class_names = None if class_names is None else tuple(class_names)
        self.batch_rows = batch_rows

    @abstractmethod
    def call(self, table: DataTable) -> Any:
        """Call the model with a batch of rows.

        Returns:
            An array of scores, or a mapping with ``predictions`` and optionally ``attributions``
            and other columns.

        Raises:
            ModelError: The model failed. `predict` reports other exceptions as this one.
            UsageError: The table lacks a feature of the model.
        """

    def close(self) -> None:  # noqa: B027  optional
        """Release connections and processes."""

    def predict(self, table: DataTable, report: ReportRows | None = None) -> Predictions:
        """Return the predictions for all rows of a table, in batches.

        Args:
            table: The rows.
            report: Called before each batch; it may raise to cancel.

        Raises:
            ModelError: The model failed, or returned the wrong number or kind of values.
            UsageError: The table lacks a feature of the model.
        """
        parts = []
        for start in range(0, max(len(table), 1), self.batch_rows):
            if report is not None:
                report(start, len(table))
            whole = len(table) <= self.batch_rows
            rows = np.arange(start, min(start + self.batch_rows, len(table)))
            batch = table if whole else table.take(rows)
            parts.append(self._predict_batch(batch))
        return concat_predictions(parts)

    def _predict_batch(self, table: DataTable) -> Predictions:
        if not len(table):
            return Predictions(np.empty((0, 2) if self.task == "classification" else 0))
        return check_predictions(self._call(table), len(table), self)

    def choose_single_input(self, table: DataTable, name: str, shape: Sequence[int]) -> DataTable:
        """Return the columns for a model with one input: those chosen, that of its name, or all.

        Args:
            table: The data.
            name: The name of the input. A column of this name becomes the only feature if its
                rows have as many numbers as the input and no features were chosen.
            shape: The shape of a row of the input.
        """
        if self.features is None and name in table:
            if math.prod(table.get_column(name).to_array().shape[1:]) == math.prod(shape):
                self.features = (name,)
        return choose_inputs(table, self.features)

    def to_matrix(self, inputs: DataTable) -> NDArray[Any]:
        """Return the columns as an array with two axes, for models that take one.

        Raises:
            ModelError: A column has no numbers.
        """
        try:
            return inputs.to_matrix()
        except UsageError as error:
            raise ModelError(
                "models.failed",
                'the model "{model}" failed: {problem}',
                model=self.name,
                problem=error,
            ) from error

    def attribute(self, table: DataTable, feature: str) -> Float64 | None:
        """Return the attributions of a feature of one row as the model returns them.

        A list or an image has one number for each item or pixel. None if the model returns none.

        Args:
            table: The row, as a table.
            feature: The name of the feature.

        Raises:
            ModelError: The model failed, or returned something else than numbers.
        """
        returned = self._call(table)
        found = returned.get("attributions") if isinstance(returned, Mapping) else None
        if isinstance(found, Mapping):
            values = found.get(feature)
            value = None if values is None else values[0]
        else:
            value = found[0].get(feature) if found else None
        if value is None:
            return None
        try:
            return np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                "models.not_numbers",
                'the model "{model}" did not return an array of numbers',
                model=self.name,
            ) from None

    def _call(self, table: DataTable) -> Any:
        try:
            return self.call(table)
        except TracklightError:
            raise
        except Exception as error:
            reason = str(error).strip().splitlines()
            raise ModelError(
                "models.raised",
                'the model "{model}" failed with {error}',
                model=self.name,
                error=": ".join([type(error).__name__, *(line[:300] for line in reason[:1])]),
            ) from error


def check_predictions(returned: Any, row_count: int, predictor: Predictor) -> Predictions:
    """Convert what a model returned.

    Raises:
        ModelError: It has the wrong shape or type.
    """
    name = predictor.name
    if isinstance(returned, Predictions):
        returned = {
            "predictions": returned.scores,
            "attributions": returned.attributions,
            **returned.extras,
        }
    if not isinstance(returned, Mapping):
        scores = check_scores(returned, row_count, predictor.task, name)
        return Predictions(scores)
    if "predictions" not in returned:
        raise ModelError(
            "models.no_predictions",
            'the model "{model}" returned a dictionary without "predictions"',
            model=name,
        )
    scores = check_scores(returned["predictions"], row_count, predictor.task, name)
    attributions = _check_attributions(returned.get("attributions"), row_count, name)
    extras = {}
    for key, values in returned.items():
        if key not in ("predictions", "attributions"):
            column = values if isinstance(values, DataColumn) else _make_extra(str(key), values)
            if len(column) != row_count:
                raise ModelError(
                    "models.extra_count",
                    'the model "{model}" returned {count:,} values of "{column}" for {rows:,} rows',
                    model=name,
                    count=len(column),
                    column=key,
                    rows=row_count,
                )
            extras[str(key)] = column
    return Predictions(scores, attributions, extras)


def check_scores(returned: Any, row_count: int, task: Task, name: str) -> Float64:
    """Convert scores to one column per class, or to one value per row for regression.

    A single score per row of a classification model is the probability of class 1.

    Raises:
        ModelError: The number of rows, the shape or the range is wrong.
    """
    try:
        # None, which a function without a return statement returns, would be NaN.
        scores = np.asarray("None" if returned is None else returned, np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            "models.not_numbers",
            'the model "{model}" did not return an array of numbers',
            model=name,
        ) from None
    shape = " x ".join(str(size) for size in scores.shape) or "a single number"
    if scores.ndim == 0 or len(scores) != row_count:
        raise ModelError(
            "models.wrong_shape",
            'the model "{model}" returned predictions of shape {shape} for {rows:,} rows',
            model=name,
            shape=shape,
            rows=row_count,
        )
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if task == "regression":
        if scores.ndim != 1:
            raise ModelError(
                "models.shape_regression",
                'the model "{model}" returned predictions of shape {shape}; a regression model '
                "returns one value per row",
                model=name,
                shape=shape,
            )
        return scores
    if scores.ndim == 1:
        scores = np.stack([1 - scores, scores], axis=1)
    if scores.ndim != 2:
        raise ModelError(
            "models.shape_classification",
            'the model "{model}" returned predictions of shape {shape}; a classification model '
            "returns one score per row, or one per row and class",
            model=name,
            shape=shape,
        )
    known = scores[~np.isnan(scores)]
    if len(known) and (known.min() < -_TOLERANCE or known.max() > 1 + _TOLERANCE):
        raise ModelError(
            "models.scores_outside",
            'the model "{model}" returned scores outside 0 to 1; if they are logits, pass '
            'output="logits", and if they are values, task="regression"',
            model=name,
        )
    return scores


def apply_activation(values: Any, activation: Literal["probabilities", "logits"]) -> Any:
    """Convert logits to probabilities with a sigmoid (one value per row) or a softmax."""
    if activation == "probabilities":
        return values
    logits = np.asarray(values, np.float64)
    if logits.ndim == 1 or logits.shape[-1] == 1:
        half = np.tanh(logits / 2)  # does not overflow, unlike exp
        return (1 + half) / 2
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _check_attributions(returned: Any, row_count: int, name: str) -> dict[str, Float64]:
    if returned is None:
        return {}
    if isinstance(returned, Mapping):
        columns = {str(key): values for key, values in returned.items()}
    else:
        keys = dict.fromkeys(key for row in returned for key in row)
        columns = {str(key): [_add_up(row.get(key, np.nan)) for row in returned] for key in keys}
    attributions = {}
    for key, values in columns.items():
        try:
            array = np.asarray(values, np.float64)
        except (TypeError, ValueError):  # lists and images of different sizes
            array = np.array([_add_up(value) for value in values])
        if array.ndim > 1:  # one number per item or pixel; their sum is the feature's attribution
            array = array.sum(axis=tuple(range(1, array.ndim)))
        if array.shape != (row_count,):
            raise ModelError(
                "models.attribution_count",
                'the model "{model}" returned {count:,} attributions of "{feature}" for {rows:,} '
                "rows",
                model=name,
                count=len(array),
                feature=key,
                rows=row_count,
            )
        attributions[key] = array
    return attributions


def _add_up(value: Any) -> float:
    """Return the attribution of a feature; lists have one number per value.

    Sparse ones are two lists: the positions of the values, and their attributions.
    """
    if value is None:
        return np.nan
    is_sparse = isinstance(value, (list, tuple)) and len(value) == 2 and np.ndim(value[0]) == 1
    return float(np.sum(value[1] if is_sparse else value))


def _make_extra(name: str, values: Any) -> DataColumn:
    array = np.asarray(values)
    return make_column(name, array.tolist() if array.dtype != object else list(values))


def concat_predictions(parts: Sequence[Predictions]) -> Predictions:
    """Join the predictions of several batches.

    Raises:
        ModelError: Batches have different numbers of classes.
    """
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    if len({part.scores.shape[1:] for part in parts}) > 1:
        raise ModelError(
            "models.class_counts_differ",
            "the model returned different numbers of classes for different rows",
        )
    shared = set.intersection(*(set(part.attributions) for part in parts))
    extras = set.intersection(*(set(part.extras) for part in parts))
    return Predictions(
        np.concatenate([part.scores for part in parts]),
        {
            key: np.concatenate([part.attributions[key] for part in parts])
            for key in parts[0].attributions
            if key in shared
        },
        {
            key: concat_columns([part.extras[key] for part in parts])
            for key in parts[0].extras
            if key in extras
        },
    )


def choose_inputs(table: DataTable, features: Iterable[str] | None) -> DataTable:
    """Return the columns that a model gets.

    Raises:
        ModelError: The data do not have one of them.
    """
    if features is None:
        return table
    names = list(features)
    missing = [name for name in names if name not in table]
    if missing:
        if len(missing) > 1:
            raise ModelError(
                "models.features_lacking",
                'the model needs the feature "{feature}" and {count} more, which the data lack',
                feature=missing[0],
                count=len(missing) - 1,
            )
        raise ModelError(
            "models.feature_lacking",
            'the model needs the feature "{feature}", which the data lack',
            feature=missing[0],
        )
    return table.select(names)


# ---- predictions in columns

#: Names that the What-If Tool reads as predictions and attributions.
PROBABILITIES = "predictions__probabilities"
VALUES = "predictions"
ATTRIBUTION_PREFIX = "attributions__"


class ColumnPredictor(Predictor):
    """Reads scores from one column, or from one column per class.

    Edited rows keep their predictions, so counterfactuals and metrics work and partial dependence
    does not.

    Args:
        name: Shown to users.
        columns: The column with the scores, or one column per class.
        task: What the scores mean.
        options: Further arguments of `Predictor`.

    Example:
        >>> model = tracklight.what_if.ColumnPredictor("nightly", ["score"])
        >>> session = tracklight.what_if.Session(frame, model=model, label="approved")
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
