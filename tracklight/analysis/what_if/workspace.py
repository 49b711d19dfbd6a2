"""`Workspace`: a data set with models, their predictions, and the edits of a user.

Rows keep their number for ever: deleted rows are only marked, and added rows get new numbers. A
prediction is cached until its row is edited, so that an edit costs the prediction of one row.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from tracklight.analysis.predictors import (
    ColumnPredictor,
    Predictions,
    Predictor,
    ReportRows,
    concat_predictions,
    list_prediction_columns,
)
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import (
    DataColumn,
    ValueType,
    make_column,
    make_missing_column,
    make_number_column,
)
from tracklight.analysis.what_if import (
    describe_unknown_labels,
    find_class_names,
    format_label,
    match_labels,
)
from tracklight.analysis.what_if.distances import (
    DistanceFunction,
    DistanceSpace,
    ReportSteps,
)
from tracklight.errors import (
    Message,
    ModelError,
    TracklightError,
    UsageError,
    get_message,
    list_similar_names,
)
from tracklight.types import Bool, Float64, Int64

#: More than two classes have a column of scores each; of the others only decisions are columns.
MAX_SCORE_COLUMNS = 20

EditKind = Literal["edit", "add", "duplicate", "delete", "add_feature"]


@dataclass(frozen=True)
class Edit:
    """One change of the data, with what is needed to undo it."""

    kind: EditKind
    row: int
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] | None = None
    """The inputs of models before a feature was added; None for all columns."""


@dataclass(frozen=True, eq=False)
class _Identity:
    """Equal only for the same object, which it keeps alive."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


WorkspaceKey = tuple[object, ...]


@dataclass
class _ModelState:
    """A model and its predictions of all rows so far."""

    predictor: Predictor
    predictions: Predictions | None = None
    dirty: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)
    """Changed rows for which the model failed; they have no scores."""
    history: dict[int, list[Float64]] = field(default_factory=dict)
    """Earlier scores of rows that were predicted again."""


class Workspace:
    """A data set, models and edits. Not thread-safe.

    Args:
        table: The data.
        models: The models; at most one of each name.
        label: The column with the true class or value.
        features: The columns that models get; by default all columns except the label and columns
            with predictions.
        class_names: The names of the classes, for labels that are strings. A model that has the
            same names in another order gets its scores in this order; otherwise the names
            replace those of the model.
        distance: A function by which rows can be compared, besides the built-in distances.

    Raises:
        UsageError: A column does not exist, or two models have the same name.
    """

    def __init__(
        self,
        table: DataTable,
        models: Iterable[Predictor] = (),
        *,
        label: str | None = None,
        features: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        distance: DistanceFunction | None = None,
    ) -> None:
        if label is not None:
            table.get_column(label)
        self.distance = distance
        self._original = table
        self.table = table
        self.label = label
        self.is_active: Bool = np.ones(len(table), np.bool_)
        self.history: list[Edit] = []
        self.slices: tuple[str, ...] = ()
        self.version = 0
        self.model_version = 0
        """Changes with the models and with repeated predictions, which are no edits."""
        self._models: dict[str, _ModelState] = {}
        self._trackers: list[set[int]] = []
        """Collect changed rows while a copy is predicted."""
        self._class_names = None if class_names is None else [str(name) for name in class_names]
        self._features = None if features is None else list(features)
        self._space: tuple[int, tuple[str, ...], DistanceSpace] | None = None
        for name in self._features or ():
            table.get_column(name)
        for model in models:
            self.add_model(model)

    @property
    def original(self) -> DataTable:
        """The data as they were loaded."""
        return self._original

    def configure(
        self,
        *,
        label: str | None = None,
        features: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        """Change the label, and the inputs of models and the names of the classes unless None.

        Without any class name, the classes have the names that the models give them.

        Raises:
            UsageError: A column does not exist, or the names do not fit the classes.
        """
        for name in [*([] if label is None else [label]), *(features or ())]:
            self.table.get_column(name)
        names = None if class_names is None else [str(name).strip() for name in class_names]
        if names:
            self._check_class_names(names)
        inputs = self.features
        self.label = label
        if features is not None:
            self._features = list(features)
        if names is not None:
            self._rename_classes(names or None)
        if self.features != inputs:
            for state in self._models.values():  # models may get other inputs than before
                if state.predictor.features is None:
                    state.predictions = None
        self.version += 1

    def _rename_classes(self, names: list[str] | None) -> None:
        """Change the names of the classes, and the order of the scores where it follows them."""
        orders = {name: self._get_class_order(name) for name in self._models}
        self._class_names = names
        for name, state in self._models.items():
            before, after = orders[name], self._get_class_order(name)
            count = len(before or after or ())
            if state.predictions is None or before == after:
                continue
            current = before or list(range(count))
            order = [current.index(at) for at in after or range(count)]
            state.predictions = _select_classes(state.predictions, order)
            for row, scores in state.history.items():
                state.history[row] = [
                    score[order] if score.shape == (count,) else score for score in scores
                ]

    def _get_class_order(self, name: str | None) -> list[int] | None:
        """Return the place in the scores of a model of each class name; None for the same."""
        own, names = self._get_state(name).predictor.class_names, self._class_names
        if own is None or names is None or sorted(own) != sorted(names) or list(own) == names:
            return None
        return [own.index(item) for item in names]

    def _check_class_names(self, names: Sequence[str]) -> None:
        repeated = [name for at, name in enumerate(names) if name in names[:at]]
        if "" in names:
            raise UsageError("what_if.class_name_empty", "every class needs a name")
        if repeated:
            raise UsageError(
                "what_if.class_name_repeated",
                'two classes have the name "{name}"; every class needs a name of its own',
                name=repeated[0],
            )
        counts = {
            state.predictor.name: state.predictions.scores.shape[1]
            for state in self._models.values()
            if state.predictions is not None and state.predictor.task == "classification"
        }
        if counts and len(names) not in counts.values():
            model, count = next(iter(counts.items()))
            raise UsageError(
                "what_if.class_name_count",
                'the model "{model}" has {count} classes, but {given} names were given',
                model=model,
                count=count,
                given=len(names),
            )

    def snapshot(self) -> Workspace:
        """Return a copy that later edits do not change; the models are shared."""
        copied = copy.copy(self)
        copied.history = list(self.history)
        copied._trackers = []
        copied._models = {
            name: replace(
                state,
                dirty=set(state.dirty),
                failed=set(state.failed),
                history={row: list(scores) for row, scores in state.history.items()},
            )
            for name, state in self._models.items()
        }
        return copied

    def get_state_key(self) -> WorkspaceKey:
        """Return what changes with every edit, model and prediction; compare it by equality."""
        states = [
            _Identity(item)
            for state in self._models.values()
            for item in (state.predictor, state.predictions)
        ]
        return (self.version, self.model_version, *states)

    def adopt(self, copied: Workspace, changed: Iterable[int]) -> None:
        """Take over the edits and predictions of a snapshot of the current state.

        Args:
            copied: The snapshot. It must not be used any more.
            changed: The rows that changed, as collected by `start_tracking` of the snapshot.
        """
        for tracker in self._trackers:
            tracker.update(changed)
        self.table, self.is_active = copied.table, copied.is_active
        self.history, self.slices = copied.history, copied.slices
        self._features, self._models = copied._features, copied._models
        self.version, self.model_version = copied.version, copied.model_version

    # ---- models

    @property
    def models(self) -> list[Predictor]:
        return [state.predictor for state in self._models.values()]

    def add_model(self, predictor: Predictor) -> None:
        """Add a model.

        Raises:
            UsageError: There is a model of the same name.
        """
        if predictor.name in self._models:
            raise UsageError(
                "what_if.duplicate_model",
                'there are two models named "{model}"',
                model=predictor.name,
            )
        if isinstance(predictor, ColumnPredictor):
            for name in predictor.columns:
                self.table.get_column(name)
        self._models[predictor.name] = _ModelState(predictor)
        self.model_version += 1

    def remove_model(self, name: str) -> None:
        """Remove a model and close it."""
        self._get_state(name)
        self._models.pop(name).predictor.close()
        self.model_version += 1

    def get_model(self, name: str | None = None) -> Predictor:
        """Return a model by name; without a name the only or first one.

        Raises:
            UsageError: There is no such model.
        """
        return self._get_state(name).predictor

    def close(self) -> None:
        """Close all models."""
        for state in self._models.values():
            state.predictor.close()

    def _get_state(self, name: str | None) -> _ModelState:
        if not self._models:
            raise UsageError("what_if.no_models", "there is no model; add one to get predictions")
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            similar = list_similar_names(name, self._models)
            if similar:
                raise UsageError(
                    "what_if.no_model_similar",
                    'no model "{model}"; did you mean "{similar}"?',
                    model=name,
                    similar=similar[0],
                )
            raise UsageError("what_if.no_model", 'no model "{model}"', model=name)
        return self._models[name]

    @property
    def features(self) -> list[str]:
        """The columns that models get as inputs."""
        if self._features is not None:
            return list(self._features)
        excluded = {self.label, *self.slices, *list_prediction_columns(self.table)}
        for state in self._models.values():
            if isinstance(state.predictor, ColumnPredictor):
                excluded.update(state.predictor.columns)
        return [name for name in self.table.names if name not in excluded]

    def get_model_features(self, name: str | None = None) -> list[str]:
        """Return the columns that one model gets, without the label."""
        own = self.get_model(name).features
        return [item for item in own if item != self.label] if own else self.features

    def get_active_column(self, name: str) -> DataColumn:
        """Return a column without deleted rows."""
        column = self.table.get_column(name)
        return column if self.is_active.all() else column.take(self.is_active)

    def get_space(self, report: ReportSteps | None = None) -> DistanceSpace:
        """Return the features by which rows are compared."""
        names = tuple(self.features)
        if self._space is None or self._space[:2] != (self.version, names):
            previous = None if self._space is None else self._space[2]
            space = DistanceSpace(self.table, names, report, previous, self.is_active)
            self._space = (self.version, names, space)
        return self._space[2]

    def share_space(self, copied: Workspace) -> None:
        """Keep what a snapshot has prepared for comparisons, unless the data have changed."""
        if copied.version == self.version and copied._space is not None:
            self._space = copied._space

    def get_attribution_space(self, name: str | None = None) -> DistanceSpace:
        """Return the attributions of a model, by which rows are compared.

        Raises:
            UsageError: The model returns none.
        """
        attributions = self.predict(name).attributions
        if not attributions:
            raise UsageError(
                "what_if.no_attributions",
                'the model "{model}" returns no attributions by which rows could be compared',
                model=self.get_model(name).name,
            )
        table = DataTable([make_number_column(key, v) for key, v in attributions.items()])
        return DistanceSpace(table, table.names, is_active=self.is_active)

    # ---- predictions

    def predict(self, name: str | None = None, report: ReportRows | None = None) -> Predictions:
        """Return the predictions of all rows; only new and edited rows are predicted.

        Raises:
            ModelError: The model failed; earlier predictions are kept.
        """
        state = self._get_state(name)
        if state.predictions is None:
            state.predictions = self.predict_table(self.table, name, report)
            state.dirty.clear()
            state.failed.clear()
        elif state.dirty:
            rows = np.array(sorted(state.dirty))
            new = self.predict_table(self.table.take(rows), state.predictor.name, report)
            self._update_predictions(state, rows, new)
        assert state.predictions is not None
        return state.predictions

    def start_tracking(self) -> set[int]:
        """Return a set that collects the rows that change from now on."""
        tracker: set[int] = set()
        self._trackers.append(tracker)
        return tracker

    def stop_tracking(self, tracker: set[int]) -> None:
        """Stop collecting changed rows in a set of `start_tracking`."""
        self._trackers = [item for item in self._trackers if item is not tracker]

    def adopt_predictions(self, copied: Workspace, name: str, changed: set[int]) -> bool:
        """Take the predictions of a snapshot, except those of rows that changed meanwhile.

        Returns False if they do not fit any more, because models get other inputs now or the
        classes have another order.
        """
        state = self._get_state(name)
        theirs = copied._get_state(name)
        if state.predictions is not None:
            return True
        if (
            theirs.predictor is not state.predictor
            or self.get_model_features(name) != copied.get_model_features(name)
            or self._get_class_order(name) != copied._get_class_order(name)
        ):
            return False
        state.predictions = theirs.predictions
        state.dirty = set(changed)
        state.failed.clear()
        return True

    def predict_changes(self, name: str) -> Message | None:
        """Predict the changed rows; return why the model failed, or None.

        If it fails, the changed rows have no scores and all others keep theirs.
        """
        state = self._get_state(name)
        try:
            self.predict(name)
        except TracklightError as error:
            if state.predictions is None or not state.dirty:
                raise
            rows = np.array(sorted(state.dirty))
            self._update_predictions(state, rows, _make_empty(state.predictions, len(rows)))
            state.failed.update(rows.tolist())
            return get_message(error)
        return None

    def mark_failed(self) -> None:
        """Let the next prediction include the rows for which models have failed."""
        self.model_version += 1
        for state in self._models.values():
            for row in list(state.failed):
                self._mark_row_dirty(state, row)

    def has_predictions(self, name: str) -> bool:
        """Return whether a model has predicted the data, before or after the last edit."""
        return self._get_state(name).predictions is not None

    def is_predicted(self, name: str) -> bool:
        """Return whether all rows have current predictions."""
        state = self._get_state(name)
        return state.predictions is not None and not state.dirty

    def list_problems(self) -> list[Message]:
        """Return what could not be read of the data, and the models that returned NaN."""
        problems = list(self.table.messages)
        for name, state in self._models.items():
            count = self._count_nan_rows(state)
            if count:
                problems.append(
                    Message.format(
                        "what_if.nan_scores",
                        'the model "{model}" returned NaN for {count:,} of {total:,} rows; they '
                        "have no prediction",
                        model=name,
                        count=count,
                        total=int(self.is_active.sum()),
                    )
                )
        return problems

    def _count_nan_rows(self, state: _ModelState) -> int:
        if state.predictions is None or state.dirty:
            return 0
        scores = state.predictions.scores
        if not np.isnan(scores.sum()):  # the sum of a million scores takes a millisecond
            return 0
        is_nan = np.isnan(scores.reshape(len(scores), -1)).any(axis=1) & self.is_active
        # The editor says why a model failed for a changed row.
        is_nan[list(state.failed)] = False
        return int(is_nan.sum())

    def predict_table(
        self, table: DataTable, name: str | None = None, report: ReportRows | None = None
    ) -> Predictions:
        """Return the predictions of any table with the columns of the data."""
        predictor = self._get_state(name).predictor
        predictions = predictor.predict(self._select_inputs(table, predictor), report)
        order = self._get_class_order(name)  # afterwards: some models learn it from responses
        return predictions if order is None else _select_classes(predictions, order)

    def attribute(self, row: int, feature: str, name: str | None = None) -> Float64 | None:
        """Return the attributions of a feature of one row, one for each item or pixel.

        None if the model returns none. The model is called.

        Raises:
            ModelError: The model failed.
        """
        self.table.check_row(row)
        predictor = self._get_state(name).predictor
        table = self._select_inputs(self.table.take(np.array([row])), predictor)
        return predictor.attribute(table, feature)

    def _select_inputs(self, table: DataTable, predictor: Predictor) -> DataTable:
        inputs = table
        if not predictor.is_static:
            wanted = set(predictor.features or self.features)
            lacking = [name for name in wanted if name not in table]
            if lacking:
                raise ModelError(
                    "what_if.feature_lacking",
                    'the model "{model}" needs the feature "{feature}", which the data lack',
                    model=predictor.name,
                    feature=min(lacking),
                )
            inputs = table.select(predictor.features or self.features)
        return inputs

    def check_can_predict(self, name: str | None = None) -> None:
        """Raise UsageError if a model cannot predict changed rows."""
        predictor = self._get_state(name).predictor
        if predictor.is_static:
            raise UsageError(
                "what_if.static_model",
                '"{model}" reads predictions from the data, so changed rows cannot be predicted; '
                "add a model",
                model=predictor.name,
            )

    def get_history(self, row: int, name: str | None = None) -> list[Float64]:
        """Return the scores of a row, from the first prediction to the current one."""
        self.table.check_row(row)
        state = self._get_state(name)
        current = self.predict(name).scores[row]
        return [*state.history.get(row, []), current]

    def _update_predictions(self, state: _ModelState, rows: Int64, new: Predictions) -> None:
        old = state.predictions
        assert old is not None
        if new.scores.shape[1:] != old.scores.shape[1:]:
            raise ModelError(
                "what_if.class_count_changed",
                'the model "{model}" returned another number of classes',
                model=state.predictor.name,
            )
        for row in rows[rows < len(old)].tolist():
            if not np.isnan(old.scores[row]).all():
                state.history.setdefault(row, []).append(old.scores[row].copy())
        index = np.arange(len(self.table))
        index[rows] = len(old) + np.arange(len(rows))
        joined = concat_predictions([old, new])
        state.predictions = Predictions(
            joined.scores[index],
            {key: values[index] for key, values in joined.attributions.items()},
            {key: column.take(index) for key, column in joined.extras.items()},
        )
        state.dirty.clear()

    # ---- classes and labels

    def get_class_names(self, name: str | None = None) -> list[str]:
        """Return the names of the classes of a model."""
        predictor = self.get_model(name)
        if predictor.task == "regression":
            return []
        count = self.predict(name).scores.shape[1]
        names = self._class_names or predictor.class_names
        if names is not None and len(names) == count:
            return list(names)
        found = None
        if names is None and self.label is not None and self.label in self._original:
            found = find_class_names(self._original.get_column(self.label), count)
        return found or [str(number) for number in range(count)]

    def get_decisions(self, name: str | None = None, threshold: Any = 0.5) -> Int64:
        """Return the predicted class of each row; -1 where the model returned NaN.

        Args:
            name: The model.
            threshold: For two classes: rows with at least this score are class 1. A number, or
                one per row.
        """
        scores = self.predict(name).scores
        if scores.ndim == 1:
            raise UsageError("what_if.no_classes", "a regression model has no classes")
        return decide(scores, threshold)

    def get_labels(self, name: str | None = None) -> Int64:
        """Return the true class of each row; -1 where it is missing or not a class of the model.

        Raises:
            UsageError: There is no label, or none of its values is a class of the model.
        """
        names = [self.get_class_names(name)]
        own = self.get_model(name).class_names
        if own is not None and len(own) == len(names[0]):
            # The user may have renamed the classes, but not the values of the label.
            names.append(list(own))
        return match_labels(self._get_label_column(), names)

    def describe_unknown_labels(self, name: str | None = None) -> Message | None:
        """Say how many rows have a label that is not a class of a model, if there are some."""
        predictor = self.get_model(name)
        if predictor.task == "regression":
            return None
        codes = self.get_labels(name)
        column = self._get_label_column()
        return describe_unknown_labels(column, codes, self.is_active, predictor.name)

    def get_label_values(self, name: str | None = None) -> list[str]:
        """Return the value of the label column for each class, as text.

        It differs from the name of the class if the label has numbers and the model names.
        """
        column = self._get_label_column()
        values = self.get_class_names(name)
        codes, rows = np.unique(self.get_labels(name), return_index=True)
        for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
            if code >= 0:
                values[code] = format_label(column, row)
        return values

    def get_values(self) -> Float64:
        """Return the true value of each row for regression; NaN where it is missing."""
        return self._get_label_column().to_float64()

    def _get_label_column(self) -> DataColumn:
        if self.label is None:
            raise UsageError(
                "what_if.needs_label", "this needs the true label; choose the column that has it"
            )
        column = self.table.get_column(self.label)
        if column.is_list or column.type in ("image", "bytes"):
            raise UsageError(
                "what_if.not_labels", '"{column}" is not a column of labels', column=self.label
            )
        return column

    # ---- edits

    def edit(self, row: int, values: Mapping[str, Any]) -> None:
        """Change features of a row.

        Raises:
            UsageError: There is no such row or feature, or a value has the wrong type.
        """
        self._check_active(row)
        before = {name: self.table.get_column(name).get_value(row) for name in values}
        self.table = self.table.with_row_values(row, values)
        self._record(Edit("edit", row, before, dict(values)))

    def edit_step(self, row: int, step: int, values: Mapping[str, Any]) -> None:
        """Change one item of lists, or one step of sequences; the next one is appended.

        Raises:
            UsageError: There is no such row, feature or step, or a value has the wrong type.
        """
        self._check_active(row)
        changed = {}
        for name, value in values.items():
            column = self.table.get_column(name)
            items = list(column.get_value(row) or []) if column.is_list else []
            if not column.is_list or step > len(items):
                raise UsageError(
                    "what_if.no_step",
                    '"{feature}" of row {row} has no step {step}',
                    feature=name,
                    row=row,
                    step=step,
                )
            is_item = column.is_sequence and not isinstance(value, list)
            items[step : step + 1] = [[value] if is_item else value]
            changed[name] = items
        self.edit(row, changed)

    def add(self, values: Mapping[str, Any]) -> int:
        """Add a row; features without a value are missing. Returns its number."""
        for name in values:
            self.table.get_column(name)
        row = self._append({name: values.get(name) for name in self.table.names})
        self._record(Edit("add", row, {}, dict(values)))
        return row

    def duplicate(self, row: int) -> int:
        """Add a copy of a row. Returns its number."""
        self._check_active(row)
        copy = self._append(self.table.get_row(row))
        self._record(Edit("duplicate", copy, {}, {}))
        return copy

    def add_feature(
        self, name: str, value_type: ValueType, row: int, value: Any, *, is_input: bool = True
    ) -> None:
        """Add a column that has a value in one row and is missing in the others.

        Args:
            name: The name of the feature.
            value_type: The type of its values.
            row: The row with the value.
            value: The value.
            is_input: Whether models get it, unless they name their inputs.

        Raises:
            UsageError: There is such a column, or the value has the wrong type.
        """
        self._check_active(row)
        name = name.strip()
        if not name:
            raise UsageError("what_if.feature_name", "a feature needs a name")
        if name in self.table:
            raise UsageError(
                "what_if.feature_exists",
                'the data already have a column "{feature}"',
                feature=name,
            )
        column = make_missing_column(name, value_type, len(self.table))
        table = self.table.with_columns([column.with_values(np.array([row]), [value])])
        before = None if self._features is None else tuple(self._features)
        inputs = self.features
        self.table = table
        if self._features is not None or not is_input:
            self._features = [*inputs, *([name] if is_input else [])]
        self._record(Edit("add_feature", row, {}, {name: value}, before))

    def save_slice(self, name: str, rows: Iterable[int]) -> None:
        """Name a set of rows: a boolean column that models do not get.

        A slice of the same name is replaced.

        Raises:
            UsageError: The data have a column of this name, or a row does not exist.
        """
        name = name.strip()
        if not name:
            raise UsageError("what_if.slice_name", "a slice needs a name")
        if name in self.table and name not in self.slices:
            raise UsageError(
                "what_if.feature_exists",
                'the data already have a column "{feature}"',
                feature=name,
            )
        chosen = np.fromiter(rows, np.int64)
        if len(chosen):
            self.table.check_row(int(chosen.min()))
            self.table.check_row(int(chosen.max()))
        is_inside: Bool = np.zeros(len(self.table), np.bool_)
        is_inside[chosen] = True
        self.table = self.table.with_columns([DataColumn(name, "boolean", is_inside)])
        self.slices = tuple(dict.fromkeys([*self.slices, name]))
        self.version += 1

    def remove_slice(self, name: str) -> None:
        """Remove a named set of rows; the rows stay.

        Raises:
            UsageError: There is no such slice.
        """
        if name not in self.slices:
            raise UsageError("what_if.no_slice", 'no saved slice "{slice}"', slice=name)
        self.table = self.table.without([name])
        self.slices = tuple(item for item in self.slices if item != name)
        self.version += 1

    def delete(self, row: int) -> None:
        """Delete a row."""
        self._check_active(row)
        self.is_active = self.is_active.copy()
        self.is_active[row] = False
        self._record(Edit("delete", row))

    def undo(self) -> Edit | None:
        """Undo the last change and return it, or None if there is none."""
        if not self.history:
            return None
        edit = self.history.pop()
        if edit.kind == "edit":
            self.table = self.table.with_row_values(edit.row, edit.before)
            self._mark_dirty(edit.row)
        elif edit.kind == "add_feature":
            self.table = self.table.without(edit.after)
            self._features = None if edit.inputs is None else list(edit.inputs)
            self._mark_dirty(edit.row)
        else:
            self.is_active = self.is_active.copy()
            self.is_active[edit.row] = edit.kind == "delete"
        self.version += 1
        return edit

    def reset(self, row: int) -> None:
        """Restore the values that a row was loaded with."""
        self._check_active(row)
        if row >= len(self._original):
            raise UsageError(
                "what_if.row_added", "row {row} was added, so it has no earlier values", row=row
            )
        original = self._original.get_row(row)
        current = self.table.get_row(row)
        changed = {
            name: original.get(name)
            for name, value in current.items()
            if original.get(name) != value and name not in self.slices
        }
        if changed:
            self.edit(row, changed)

    def _append(self, values: Mapping[str, Any]) -> int:
        columns = [
            make_column(name, [column.check_value(values.get(name))], like=column)
            for name, column in self.table.columns.items()
        ]
        self.table = self.table.append(DataTable(columns))
        self.is_active = np.append(self.is_active, True)
        return len(self.table) - 1

    def _record(self, edit: Edit) -> None:
        self.history.append(edit)
        self.version += 1
        if edit.kind != "delete":
            self._mark_dirty(edit.row)

    def _mark_dirty(self, row: int) -> None:
        for tracker in self._trackers:
            tracker.add(row)
        for state in self._models.values():
            self._mark_row_dirty(state, row)

    @staticmethod
    def _mark_row_dirty(state: _ModelState, row: int) -> None:
        state.dirty.add(row)
        state.failed.discard(row)

    def _check_active(self, row: int) -> None:
        self.table.check_row(row)
        if not self.is_active[row]:
            raise UsageError("what_if.row_deleted", "row {row} was deleted", row=row)

    # ---- computed columns

    def make_prediction_columns(
        self, name: str | None = None, threshold: Any = 0.5
    ) -> list[DataColumn]:
        """Return the predictions of a model as columns, with a suffix if there are several models.

        Classification gives ``score`` (two classes) or ``score:<class>`` for each of the first
        `MAX_SCORE_COLUMNS` classes, ``predicted`` and, with a label, ``correct``; regression gives
        ``value`` and, with a label, ``error``, ``absolute_error`` and ``squared_error``.
        Attributions and extra columns follow.
        """
        predictor = self.get_model(name)
        predictions = self.predict(name)
        columns: list[DataColumn] = []
        if predictor.task == "regression":
            columns.append(make_number_column("value", predictions.scores))
            if self.label is not None:
                error = predictions.scores - self.get_values()
                columns += [
                    make_number_column("error", error),
                    make_number_column("absolute_error", np.abs(error)),
                    make_number_column("squared_error", error**2),
                ]
        else:
            columns += self._make_class_columns(name, predictions.scores, threshold)
        columns += [
            make_number_column(f"attribution:{feature}", values)
            for feature, values in predictions.attributions.items()
        ]
        columns += [replace(column, name=key) for key, column in predictions.extras.items()]
        if len(self._models) > 1:
            columns = [replace(c, name=f"{c.name} ({predictor.name})") for c in columns]
        return columns

    def list_extra_columns(self) -> list[DataColumn]:
        """Return the columns that models return besides scores, named as computed columns."""
        suffixes = {name: f" ({name})" if len(self._models) > 1 else "" for name in self._models}
        return [
            replace(column, name=key + suffix)
            for name, suffix in suffixes.items()
            for key, column in self.predict(name).extras.items()
        ]

    def _make_class_columns(
        self, name: str | None, scores: Float64, threshold: Any
    ) -> list[DataColumn]:
        names = self.get_class_names(name)
        decisions = self.get_decisions(name, threshold)
        columns = [DataColumn("predicted", "string", decisions.astype(np.int32), names)]
        if scores.shape[1] == 2:
            columns.insert(0, make_number_column("score", scores[:, 1]))
        else:
            columns[:0] = [
                make_number_column(f"score:{text}", scores[:, at])
                for at, text in enumerate(names[:MAX_SCORE_COLUMNS])
            ]
        if self.label is not None:
            labels = self.get_labels(name)
            unknown = (labels < 0) | (decisions < 0)
            codes = np.where(unknown, -1, labels == decisions).astype(np.int32)
            columns.append(DataColumn("correct", "string", codes, ["incorrect", "correct"]))
        return columns


def _select_classes(predictions: Predictions, order: Sequence[int]) -> Predictions:
    """Return predictions with their classes in another order, if they have as many."""
    if predictions.scores.shape[1:] != (len(order),):
        return predictions
    return replace(predictions, scores=predictions.scores[:, order])


def _make_empty(predictions: Predictions, count: int) -> Predictions:
    """Return predictions of some rows without any value."""
    return Predictions(
        np.full((count, *predictions.scores.shape[1:]), np.nan),
        {key: np.full(count, np.nan) for key in predictions.attributions},
        {
            key: make_column(key, [None] * count, like=column)
            for key, column in predictions.extras.items()
        },
    )


def decide(scores: Float64, threshold: Any) -> Int64:
    """Return the class of each row of scores; -1 where a score is NaN."""
    decisions: Int64
    if scores.shape[1] == 2:
        decisions = (scores[:, 1] >= threshold).astype(np.int64)
        # Faster than `any` over both columns.
        decisions[np.isnan(scores[:, 0]) | np.isnan(scores[:, 1])] = -1
    else:
        decisions = np.argmax(np.nan_to_num(scores, nan=-np.inf), axis=1)
        decisions[np.isnan(scores).any(axis=1)] = -1
    return decisions
