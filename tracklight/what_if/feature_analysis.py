"""The part of `Session` about features: partial dependence, statistics, drift, importance.

`SessionBase` and the tables of columns are shared with the other parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.predictors import Predictor
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if import feature_effects, feature_statistics
from tracklight.analysis.what_if.feature_effects import Dependence, make_scorer
from tracklight.analysis.what_if.performance import get_labels_and_scores
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import Message, UsageError
from tracklight.types import Float64
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
        if not result.mean.size:  # a feature without values
            continue
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
        if not result.mean.size:
            continue
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

    @property
    def problems(self) -> tuple[str, ...]:
        """What was left out: rows that could not be read, predicted, or evaluated."""
        predicted = [name for name in self.models if self.workspace.is_predicted(name)]
        found = [*self.workspace.list_problems(), *self._list_unknown_labels(predicted)]
        return tuple(str(item) for item in found)

    def _list_unknown_labels(self, models: Iterable[str | None]) -> list[Message]:
        if self.workspace.label is None:
            return []
        found = [self.workspace.describe_unknown_labels(name) for name in models]
        return [item for item in found if item is not None]

    def _warn_of_unknown_labels(self, model: str | None) -> None:
        """Warn the caller of a public method of rows that are not evaluated."""
        for message in self._list_unknown_labels([model]):
            warnings.warn(str(message), stacklevel=3)

    def _choose_models(self, model: str | None) -> list[Predictor]:
        if model is not None or not self.workspace.models:
            return [self.workspace.get_model(model)]
        return self.workspace.models


class FeatureAnalysis(SessionBase):
    """Methods of a session that vary and describe features."""

    def partial_dependence(
        self,
        feature: str | tuple[str, str] | Sequence[str] | None = None,
        *,
        row: int | None = None,
        kind: Literal["average", "individual"] = "average",
        points: int = feature_effects.DEFAULT_POINTS,
        grid: feature_effects.GridKind = "even",
        values: Sequence[Any] | None = None,
        value_range: tuple[float, float] | None = None,
        sample: int | None = 1000,
        seed: int = 0,
        model: str | None = None,
    ) -> Frame:
        """Return how predictions change when a feature is varied.

        Args:
            feature: A feature, or an item of a list (``"vector[3]"``); a tuple of two for their
                joint effect; a list of several; None for all features that can be varied.
            row: Vary only this row (local dependence).
            kind: ``"individual"`` returns one curve per row (ICE) instead of the mean.
            points: Number of values of a numeric feature; most frequent values of others.
            grid: Whether numeric values are evenly spaced or quantiles.
            values: These values instead; only for one feature.
            value_range: Other bounds than the minimum and maximum; only for one feature.
            sample: Use at most this many rows, chosen at random; None for all.
            seed: Seed of the sample.
            model: The model; by default the first.

        Returns:
            A table with ``feature``, ``value``, ``class`` (classification), ``mean`` and
            ``standard_error``; for two features ``value_2``; for individual curves ``row`` and
            ``prediction`` instead of the mean. With several features, those with the largest
            variation come first.
        """
        workspace = self.workspace
        workspace.check_can_predict(model)
        table = workspace.table
        groups = self._choose_groups(feature, model)
        options: dict[str, Any] = {"points": points, "kind": grid}
        if len(groups) == 1 and len(groups[0]) == 1:
            options.update(values=values, value_range=value_range)
        elif values is not None or value_range is not None:
            raise UsageError("values and value_range need a single feature")
        parsed = [[feature_effects.parse_label(table, label) for label in g] for g in groups]
        names = {name for group in parsed for name, _ in group}
        columns = {name: workspace.get_active_column(name) for name in names}
        grids = [
            [
                feature_effects.make_grid(columns[name], index=index, **options)
                for name, index in group
            ]
            for group in parsed
        ]
        if row is not None:
            table.check_row(row)
            rows = np.array([row])
        else:
            active = np.flatnonzero(workspace.is_active)
            rows = active[feature_effects.choose_rows(len(active), sample, seed)]
        results = feature_effects.compute_partial_dependence(
            table, rows, grids, lambda varied: workspace.predict_table(varied, model).scores
        )
        ranked = sorted(results, key=lambda result: -result.variation)
        classes = workspace.get_class_names(model)
        if kind == "individual":
            return make_ice_frame(ranked, rows, classes)
        return make_dependence_frame(ranked, classes)

    def _choose_groups(self, feature: Any, model: str | None) -> list[list[str]]:
        if isinstance(feature, str):
            return [[feature]]
        if isinstance(feature, tuple):
            if len(feature) != 2:
                raise UsageError("a joint effect needs two features")
            return [list(feature)]
        if feature is not None:
            return [[name] for name in feature]
        return [
            [label]
            for name in self.workspace.get_model_features(model)
            for label in feature_effects.list_varied(self.workspace.get_active_column(name))
        ]

    def feature_statistics(self, features: Sequence[str] | None = None) -> Frame:
        """Return statistics of each feature, the least uniform distribution first."""
        table = self.workspace.table.take(self.workspace.is_active)
        found = feature_statistics.compute_statistics(table, features or table.names)
        found = sorted(found, key=lambda item: -item.non_uniformity)
        numeric = (
            "rows",
            "count",
            "missing",
            "zeros",
            "outliers",
            "infinite",
            "unique",
            "top_count",
        )
        floating = ("mean", "std", "minimum", "median", "maximum", "mean_length", "non_uniformity")
        columns: dict[str, Column] = {
            "feature": ObjectColumn([item.name for item in found], "string"),
            "type": ObjectColumn([item.type for item in found], "string"),
        }
        for name in numeric:
            columns[name] = np.array([getattr(item, name) for item in found], np.int64)
        for name in floating:
            columns[name] = np.array([getattr(item, name) for item in found], np.float64)
        columns["top"] = ObjectColumn([item.top or None for item in found], "string")
        return Frame(columns)

    def drift(self, *others: Any, features: Sequence[str] | None = None) -> Frame:
        """Compare the distribution of each feature with other data sets, largest drift first.

        Args:
            others: Data sets of any kind that `Session` accepts.
            features: The compared features; by default all that both data sets have, except those
                that are numbers in only one of them.

        Returns:
            A table with ``data_set`` (the number of the other data set, if there are several),
            ``feature``, ``jensen_shannon``, ``population_stability``, ``chi_square``,
            ``kolmogorov_smirnov`` and ``missing_difference``.

        Example:
            >>> session.drift(may, june).to_pandas()  # doctest: +SKIP
        """
        table = self.workspace.table.take(self.workspace.is_active)
        found = [
            (number, drift)
            for number, other in enumerate(others)
            for drift in feature_statistics.compute_drift(table, to_table(other), features)
        ]
        found.sort(key=lambda pair: -pair[1].jensen_shannon)
        columns: dict[str, Column] = {}
        if len(others) > 1:
            columns["data_set"] = np.array([number for number, _ in found], np.int64)
        columns["feature"] = ObjectColumn([item.name for _, item in found], "string")
        for name in ("jensen_shannon", "population_stability", "chi_square",
                     "kolmogorov_smirnov", "missing_difference"):  # fmt: skip
            columns[name] = np.array([getattr(item, name) for _, item in found], np.float64)
        return Frame(columns)

    def permutation_importance(
        self,
        *,
        metric: str | None = None,
        repeats: int = 5,
        seed: int = 0,
        model: str | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> Frame:
        """Return how much a metric decreases when each feature is shuffled.

        Args:
            metric: ``"accuracy"`` (default of classification), ``"auc"``, ``"log_loss"``,
                ``"r2"`` (default of regression), ``"mean_absolute_error"`` or
                ``"mean_squared_error"``.
            repeats: How often each feature is shuffled.
            seed: Seed of the permutations.
            model: The model; by default the first.
            report: Called with the number of finished calls, and of all.

        Returns:
            A table with ``feature``, ``importance`` (mean decrease) and ``std``.
        """
        workspace = self.workspace
        workspace.check_can_predict(model)
        active = np.flatnonzero(workspace.is_active)
        self._warn_of_unknown_labels(model)
        labels, scores = get_labels_and_scores(workspace, model)
        scorer = make_scorer(metric, labels[active], scores.ndim == 1)
        result = feature_effects.compute_permutation_importance(
            workspace.table.take(active),
            workspace.get_model_features(model),
            lambda table: workspace.predict_table(table, model).scores,
            scorer,
            repeats=repeats,
            seed=seed,
            report=report,
        )
        ranked = sorted(result.drops.items(), key=lambda pair: -pair[1].mean())
        return Frame(
            {
                "feature": ObjectColumn([name for name, _ in ranked], "string"),
                "importance": np.array([float(drops.mean()) for _, drops in ranked]),
                "std": np.array([float(drops.std()) for _, drops in ranked]),
            }
        )

    def shapley_values(
        self,
        rows: int | Sequence[int],
        *,
        class_name: str | None = None,
        background: int = 100,
        permutations: int = 50,
        seed: int = 0,
        model: str | None = None,
        report: Callable[[int, int], None] | None = None,
    ) -> Frame:
        """Estimate how much each feature contributes to the predictions of some rows.

        Args:
            rows: One row or several.
            class_name: The explained class; by default the last one (class 1 of two).
            background: Number of random rows that represent the data.
            permutations: Number of sampled permutations per row.
            seed: Seed of the sample.
            model: The model; by default the first.
            report: Called with the number of explained rows, and of all.

        Returns:
            A table with ``row``, ``feature``, ``value``, ``contribution`` and ``standard_error``.
            The contributions of a row add up to its prediction minus the mean of the background.
        """
        workspace = self.workspace
        workspace.check_can_predict(model)
        chosen = np.atleast_1d(np.asarray(rows, np.int64))
        for row in chosen.tolist():
            workspace.table.check_row(row)
        classes = workspace.get_class_names(model)
        if class_name is not None and class_name not in classes:
            raise UsageError(f'no class "{class_name}"; the classes are {", ".join(classes)}')
        at = classes.index(class_name) if class_name is not None else -1

        def predict(table: DataTable) -> Float64:
            scores = workspace.predict_table(table, model).scores
            return scores if scores.ndim == 1 else scores[:, at]

        active = np.flatnonzero(workspace.is_active)
        features = workspace.get_model_features(model)
        result = feature_effects.compute_shapley_values(
            workspace.table,
            chosen,
            features,
            predict,
            background=active[feature_effects.choose_rows(len(active), background, seed)],
            permutations=permutations,
            seed=seed,
            report=report,
        )
        columns = [workspace.table.get_column(name) for name in features]
        return Frame(
            {
                "row": np.repeat(chosen, len(features)),
                "feature": ObjectColumn(features * len(chosen), "string"),
                "value": ObjectColumn(
                    [column.get_value(row) for row in chosen.tolist() for column in columns],
                    "mixed",
                ),
                "contribution": np.stack([result.values[n] for n in features], 1).reshape(-1),
                "standard_error": np.stack([result.standard_error[n] for n in features], 1).reshape(
                    -1
                ),
            }
        )
