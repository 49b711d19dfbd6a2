"""`Session`: What-If analysis in Python. Every result is a table that converts to pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from tracklight.analysis.predictors import ColumnPredictor, Task, find_prediction_columns
from tracklight.analysis.predictors.python_models import Output, wrap_model
from tracklight.analysis.tables import DataTable, convert_columns
from tracklight.analysis.tables.columns import DataColumn, make_column
from tracklight.analysis.tables.objects import TableKind, detect_table_kind, to_table
from tracklight.analysis.what_if.counterfactuals import (
    compute_distances,
    get_embedding,
    list_counterfactuals,
    make_flip_test,
    search_edits,
    select_candidates,
)
from tracklight.analysis.what_if.distances import DistanceFunction, DistanceSpace, Metric
from tracklight.analysis.what_if.workspace import MAX_SCORE_COLUMNS, Workspace, decide
from tracklight.util.frames import Column, Frame, ObjectColumn
from tracklight.what_if.feature_analysis import FeatureAnalysis, make_frame, to_frame_column
from tracklight.what_if.performance_analysis import PerformanceAnalysis

#: How rows are compared; ``"embedding"`` is the cosine distance of vectors, ``"custom"`` the
#: function given to the session.
Distance = Literal["l1", "l2", "cosine", "embedding", "custom"]
#: Called with a row and a list of rows, as dictionaries; returns the distance to each of them.
RowDistance = Callable[[dict[str, Any], list[dict[str, Any]]], Any]


class Session(FeatureAnalysis, PerformanceAnalysis):
    """A data set with models, to probe and edit.

    Args:
        data: A pandas, Arrow or Polars table, a Hugging Face dataset, an array, a dictionary of
            columns, or a list of dictionaries or ``tf.Example`` messages. Read files with
            `tracklight.what_if.read_table`.
        model: A model, several by name, or None if the data have predictions. A model is a
            callable, a model of scikit-learn, XGBoost, PyTorch, Keras or ONNX Runtime, or a
            predictor of `tracklight.what_if`.
        label: The column with the true class or value.
        features: The columns that models get; by default all except the label and predictions.
        prediction: A column with scores, or one column per class, instead of a model.
        task: ``"classification"`` or ``"regression"``; found from the model where possible.
        class_names: The names of the classes, in the order of the scores.
        input: The kind of table that callables get; by default the kind of ``data``.
        output: Whether classification models return ``"probabilities"`` or ``"logits"``.
        names: The names of the columns if ``data`` is an array.
        distance: A function by which rows can be compared, in the page and with
            ``distance="custom"``: it gets a row and a list of rows, as dictionaries, and returns
            the distance to each of them.
        types: The types of columns by name, instead of the inferred ones, as in `read_table`.

    Raises:
        UsageError: The data are not a table, a column does not exist, or a model is invalid.
        MissingDependencyError: The data or a model need a package that is not installed.

    Example:
        >>> session = tracklight.what_if.Session(frame, model=classifier, label="income")
        >>> session.counterfactuals(12).to_pandas()
        >>> session.performance(slice_by=["sex"]).to_pandas()
    """

    def __init__(
        self,
        data: Any,
        model: Any = None,
        label: str | None = None,
        *,
        features: Sequence[str] | None = None,
        prediction: str | Sequence[str] | None = None,
        task: Task | None = None,
        class_names: Sequence[str] | None = None,
        input: TableKind | None = None,
        output: Output = "probabilities",
        names: Sequence[str] | None = None,
        distance: RowDistance | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:
        table = convert_columns(to_table(data, names), types)
        kind = detect_table_kind(data)
        if class_names is None and label is not None:
            class_names = _find_class_names(data, label)
        models = model if isinstance(model, Mapping) else {"model": model}
        predictors = [
            wrap_model(
                item,
                str(name),
                task=task,
                input=input or ("dict" if kind in ("table", "arrow", "polars") else kind),
                output=output,
                class_names=class_names,
            )
            for name, item in models.items()
            if item is not None
        ]
        if prediction is not None:
            columns = [prediction] if isinstance(prediction, str) else list(prediction)
            predictors.append(ColumnPredictor("prediction", columns, task or "classification"))
        elif not predictors and (from_data := find_prediction_columns(table)) is not None:
            predictors.append(from_data)
        self.workspace = Workspace(
            table,
            predictors,
            label=label,
            features=features,
            class_names=class_names,
            distance=None if distance is None else _compare_rows_with(distance),
        )

    def __repr__(self) -> str:
        models = ", ".join(model.name for model in self.workspace.models) or "no model"
        return f"<Session of {len(self):,} rows: {models}>"

    def __len__(self) -> int:
        return int(self.workspace.is_active.sum())

    def add_model(self, name: str, model: Any, **options: Any) -> None:
        """Add a model to compare with.

        Args:
            name: The name of the model.
            model: The model, as for the constructor.
            **options: Options of the model, as for the constructor.

        Raises:
            UsageError: The model is not of a supported kind, or its name is taken.
            MissingDependencyError: A package that the model needs is not installed.
        """
        self.workspace.add_model(wrap_model(model, name, **options))

    def close(self) -> None:
        """Close connections and processes of models."""
        self.workspace.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- data and predictions

    def data(self) -> Frame:
        """Return the rows with edits, and their numbers in the column ``row``."""
        return make_frame(self._add_rows(self.workspace.table))

    def predictions(self, model: str | None = None, *, threshold: float = 0.5) -> Frame:
        """Return the predictions of each row.

        Args:
            model: The model; by default all models.
            threshold: For two classes: rows with at least this score are class 1.

        Returns:
            A table with the columns ``row``, then for each model ``score`` (two classes),
            ``score:<class>`` (more classes) or ``value`` (regression), ``predicted``, ``correct``
            or errors if there is a label, attributions, and extra columns of the model.
        """
        columns: list[DataColumn] = []
        for predictor in self._choose_models(model):
            columns += self.workspace.make_prediction_columns(predictor.name, threshold)
        table = self._add_rows(DataTable(columns, row_count=len(self.workspace.table)))
        frame = {name: to_frame_column(column) for name, column in table.columns.items()}
        for predictor in self._choose_models(model):
            scores = self.workspace.predict(predictor.name).scores[self.workspace.is_active]
            if scores.ndim == 2 and scores.shape[1] > 2:
                suffix = f" ({predictor.name})" if len(self.models) > 1 else ""
                names = self.workspace.get_class_names(predictor.name)
                for at, name in enumerate(names[MAX_SCORE_COLUMNS:], MAX_SCORE_COLUMNS):
                    frame[f"score:{name}{suffix}"] = scores[:, at]
        return Frame(frame)

    def edit(self, row: int, values: Mapping[str, Any] | None = None, /, **features: Any) -> Frame:
        """Change features of a row and predict it again.

        Args:
            row: The number of the row.
            values: New values by feature; for names that are not valid in Python.
            features: New values by feature.

        Returns:
            A table with the score of each class before and after: ``model``, ``class``,
            ``before``, ``after``, ``delta``.

        Example:
            >>> session.edit(12, hours_per_week=60).to_pandas()
        """
        self.workspace.table.check_row(row)
        changes = {**(values or {}), **features}
        dynamic = [model.name for model in self.workspace.models if not model.is_static]
        before = {name: self.workspace.predict(name).scores[row].copy() for name in dynamic}
        self.workspace.edit(row, changes)
        rows = []
        for name in dynamic:
            after = self.workspace.predict(name).scores[row]
            classes = self.workspace.get_class_names(name) or [""]
            pairs = zip(classes, np.atleast_1d(before[name]), np.atleast_1d(after), strict=True)
            rows += [(name, label, float(old), float(new)) for label, old, new in pairs]
        old_scores = np.array([item[2] for item in rows])
        new_scores = np.array([item[3] for item in rows])
        return Frame(
            {
                "model": ObjectColumn([item[0] for item in rows], "string"),
                "class": ObjectColumn([item[1] for item in rows], "string"),
                "before": old_scores,
                "after": new_scores,
                "delta": new_scores - old_scores,
            }
        )

    def undo(self) -> bool:
        """Undo the last change of the data; return whether there was one."""
        return self.workspace.undo() is not None

    def duplicate(self, row: int) -> int:
        """Add a copy of a row and return its number."""
        return self.workspace.duplicate(row)

    def add_feature(
        self,
        name: str,
        row: int,
        value: Any,
        *,
        type: Literal["integer", "float", "boolean", "string"] | None = None,
        is_input: bool = True,
    ) -> None:
        """Add a feature that has a value in one row and is missing in the others.

        Args:
            name: The name of the feature.
            row: The number of the row.
            value: The value.
            type: The type of the feature; by default that of the value.
            is_input: Whether models get it, unless they name their inputs.
        """
        found = type or make_column(name, [value]).type
        self.workspace.add_feature(name, found, row, value, is_input=is_input)

    def save_slice(self, name: str, rows: Iterable[int]) -> None:
        """Name a set of rows: a boolean column to slice by, which models do not get.

        Args:
            name: The name of the slice; an existing slice of this name is replaced.
            rows: The numbers of the rows.

        Raises:
            UsageError: The name is that of a column, or there is no such row.

        Example:
            >>> errors = session.predictions().to_pandas().query("correct == False")
            ... # doctest: +SKIP
            >>> session.save_slice("errors", errors["row"])  # doctest: +SKIP
            >>> session.performance(slice_by="errors")  # doctest: +SKIP
        """
        self.workspace.save_slice(name, rows)

    def delete(self, row: int) -> None:
        """Delete a row."""
        self.workspace.delete(row)

    def add(self, values: Mapping[str, Any]) -> int:
        """Add a row and return its number; features without a value are missing."""
        return self.workspace.add(values)

    # ---- counterfactuals

    def distances(
        self,
        row: int,
        distance: Distance | RowDistance = "l1",
        *,
        embedding: str | None = None,
        attributions_of: str | None = None,
    ) -> Frame:
        """Return the distance of each row to one row.

        Args:
            row: The number of the row.
            distance: ``"l1"`` and ``"l2"`` as in the What-If Tool, ``"cosine"``,
                ``"embedding"`` for the cosine distance of vectors, ``"custom"`` for the function
                given to the session, or another such function.
            embedding: Compare rows by the vectors of this column, of the data or returned by a
                model, instead of by their features. With ``distance="embedding"``, the only
                column of vectors by default. Rows without a vector have NaN.
            attributions_of: Compare rows by the attributions of this model instead.

        Raises:
            UsageError: There is no such row or column, or rows cannot be compared in this way.

        Example:
            >>> session.distances(12, "embedding").to_pandas()
        """
        column, metric, function = self._choose_distance(distance, embedding)
        values = compute_distances(
            self.workspace,
            row,
            metric,
            embedding=column,
            function=function,
            space=self._find_space(attributions_of),
        )
        active = self.workspace.is_active
        return Frame({"row": np.flatnonzero(active), "distance": values[active]})

    def counterfactuals(
        self,
        row: int,
        k: int = 1,
        distance: Distance | RowDistance = "l1",
        *,
        embedding: str | None = None,
        attributions_of: str | None = None,
        model: str | None = None,
        weights: Mapping[str, float] | None = None,
        locked: Sequence[str] = (),
        threshold: float | None = None,
    ) -> Frame:
        """Return the nearest rows with another prediction, the nearest first.

        Args:
            row: The number of the row.
            k: How many to return.
            distance: ``"l1"``, ``"l2"``, ``"cosine"``, ``"embedding"``, ``"custom"`` or a
                function, as in `distances`.
            embedding: Compare rows by the vectors of this column, as in `distances`.
            attributions_of: Compare rows by the attributions of this model, as in `distances`.
            model: The model; by default the first.
            weights: Factors of features in the distance; 1 by default.
            locked: Features that must have the same value.
            threshold: Classification: the decision threshold (0.5). Regression: the smallest
                difference of predictions (their standard deviation).

        Returns:
            A table with ``row``, ``distance``, the prediction, and all features.

        Raises:
            UsageError: There is no such row, column or model, ``k`` is below 1, or rows cannot be
                compared in this way.
        """
        candidates = select_candidates(self.workspace, model, row, threshold)
        column, metric, function = self._choose_distance(distance, embedding)
        found = list_counterfactuals(
            self.workspace,
            row,
            candidates,
            count=k,
            metric=metric,
            weights=weights,
            locked=locked,
            embedding=column,
            function=function,
            space=self._find_space(attributions_of),
        )
        rows = np.array([item.row for item in found], np.int64)
        table = self.workspace.table.take(rows)
        scores = self.workspace.predict(model).scores[rows]
        frame: dict[str, Column] = {}
        if scores.ndim == 1:
            frame["value"] = scores
        else:
            names = self.workspace.get_class_names(model)
            shown = 0.5 if threshold is None else threshold
            decisions = decide(scores, shown)
            if len(names) == 2:
                frame["score"] = scores[:, 1]
            frame["predicted"] = ObjectColumn([names[decision] for decision in decisions], "string")
        frame.update({name: to_frame_column(c) for name, c in table.columns.items()})
        distances = np.array([item.distance for item in found])
        return Frame({"row": rows, "distance": distances, **frame})

    def minimal_edits(
        self,
        row: int,
        k: int = 1,
        *,
        model: str | None = None,
        features: Sequence[str] | None = None,
        max_changes: int = 5,
        threshold: float | None = None,
    ) -> Frame:
        """Search for the smallest edits of a row that change its prediction.

        Args:
            row: The number of the row.
            k: How many alternatives to return.
            model: The model; by default the first.
            features: The features that may be changed; by default all.
            max_changes: Maximum number of changed features.
            threshold: As in `counterfactuals`.

        Returns:
            A table with a row for each changed feature: ``option`` (1 is the best), ``feature``,
            ``before``, ``after``, ``distance``. It is empty if no such edits were found.

        Raises:
            UsageError: There is no such row, feature or model, or the model cannot predict edited
                rows.
        """
        workspace = self.workspace
        workspace.check_can_predict(model)
        candidates = select_candidates(self.workspace, model, row, threshold)
        space = workspace.get_space()
        sources = list_counterfactuals(workspace, row, candidates, count=20)
        results = search_edits(
            space,
            workspace.table,
            row,
            [source.row for source in sources],
            make_flip_test(workspace, model, row, threshold),
            features=features or workspace.get_model_features(model),
            max_changes=max_changes,
            count=k,
        )
        rows: list[tuple[int, str, Any, Any, float]] = []
        for number, result in enumerate(results, 1):
            for name, value in result.changes.items():
                before = workspace.table.get_column(name).get_value(row)
                rows.append((number, name, before, value, result.distance))
        return Frame(
            {
                "option": np.array([item[0] for item in rows], np.int64),
                "feature": ObjectColumn([item[1] for item in rows], "string"),
                "before": ObjectColumn([item[2] for item in rows], "mixed"),
                "after": ObjectColumn([item[3] for item in rows], "mixed"),
                "distance": np.array([item[4] for item in rows]),
            }
        )

    def _choose_distance(
        self, distance: Distance | RowDistance, embedding: str | None
    ) -> tuple[DataColumn | None, Metric, DistanceFunction | None]:
        """Return the vectors by which rows are compared, the metric, and its function."""
        if callable(distance):
            return None, "custom", _compare_rows_with(distance)
        if embedding is None and distance != "embedding":
            return None, distance, None
        column = get_embedding(self.workspace, embedding)
        return column, "cosine" if distance == "embedding" else distance, None

    def _find_space(self, model: str | None) -> DistanceSpace | None:
        return None if model is None else self.workspace.get_attribution_space(model)

    def _add_rows(self, table: DataTable) -> DataTable:
        rows = np.flatnonzero(self.workspace.is_active)
        numbers = DataColumn("row", "integer", np.arange(len(table)))
        return DataTable([numbers, *table.columns.values()]).take(rows)


def _find_class_names(data: Any, label: str) -> Sequence[str] | None:
    """Return the names of the classes if the label is a ``ClassLabel`` of Hugging Face."""
    features = getattr(data, "features", None)
    found = features.get(label) if isinstance(features, Mapping) else None
    names = getattr(found, "names", None)
    return names if isinstance(names, list) and names else None


def _compare_rows_with(distance: RowDistance) -> DistanceFunction:
    def compare(table: DataTable, row: int) -> Any:
        rows = table.to_rows()
        return distance(rows[row], rows)

    return compare
