"""Counterfactuals: the nearest rows with another prediction, and the smallest edits that flip one.

`list_counterfactuals` follows the What-If Tool: it returns existing rows. `search_edits` asks the
model: it changes as few features as possible, taking values from rows with another prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.what_if.distances import (
    DistanceFunction,
    DistanceSpace,
    Metric,
    ReportSteps,
    call_distance_function,
    compute_embedding_distances,
    find_dimensions,
    select_equal_rows,
)
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64, Int64

_BEAM_WIDTH = 8
#: Decision threshold of models with two classes.
_DEFAULT = 0.5


@dataclass(frozen=True)
class Counterfactual:
    """An existing row with another prediction."""

    row: int
    distance: float


@dataclass(frozen=True)
class EditedCounterfactual:
    """A row of which some features were changed so that its prediction differs."""

    changes: Mapping[str, Any]
    """The new value of each changed feature."""
    source_row: int
    """The row from which the values come."""
    distance: float


def get_embedding(workspace: Workspace, name: str | None = None) -> DataColumn:
    """Return a column of vectors of the data, or one that a model returned.

    Args:
        workspace: The data and models.
        name: The column; None for the only column of vectors of the data, or else of the models.

    Raises:
        UsageError: There is no such column, or several and no name.
    """
    if name is not None and name in workspace.table:
        return workspace.table.get_column(name)
    groups = [list(workspace.table.columns.values())] if name is None else []
    for columns in [*groups, workspace.list_extra_columns()]:
        found = [
            column
            for column in columns
            if find_dimensions(column) is not None and name in (None, column.name)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                "what_if.several_embeddings",
                "there are several columns of vectors: {columns}; choose one of them",
                columns=", ".join(column.name for column in found),
            )
    if name is not None:
        return workspace.table.get_column(name)  # raises with the most similar name
    raise UsageError("what_if.no_embedding", "the data have no column of vectors")


#: A threshold, or a function that returns the threshold of each row of a table.
Threshold = float | Callable[[DataTable], Float64]


def select_candidates(
    workspace: Workspace, model: str | None, row: int, threshold: Threshold | None = None
) -> Bool:
    """Return which rows have another prediction than one row.

    Args:
        workspace: The data and models.
        model: The name of the model.
        row: The row to compare with.
        threshold: Classification: the decision threshold (0.5), or those of the rows. Regression:
            the smallest difference that counts, by default the sample standard deviation of the
            predictions of rows that are not deleted.
    """
    workspace.table.check_row(row)
    scores = workspace.predict(model).scores
    if np.isnan(scores[row]).any():
        raise UsageError(
            "what_if.row_not_predicted", "the model has no prediction of row {row}", row=row
        )
    if scores.ndim == 2:
        limits = _get_limits(threshold, workspace.table)
        decisions = workspace.get_decisions(model, limits)
        different: Bool = (decisions != decisions[row]) & (decisions >= 0)
    else:
        active = scores[workspace.is_active]
        limit = _get_difference(threshold, active)
        with np.errstate(invalid="ignore"):
            different = np.abs(scores - scores[row]) >= limit
        different[row] = False
    return different & workspace.is_active


def _get_limits(threshold: Threshold | None, table: DataTable) -> float | Float64:
    """Return the decision threshold of all rows, or that of each row."""
    if threshold is None:
        return _DEFAULT
    return threshold(table) if callable(threshold) else threshold


def _get_difference(threshold: Threshold | None, values: Float64) -> float:
    """Return the difference of predicted values that counts; slices have no own one."""
    if threshold is None or callable(threshold):
        return get_minimum_difference(values)
    return threshold


def get_minimum_difference(values: Float64) -> float:
    """Return the difference of predicted values that counts as another prediction."""
    return float(np.nanstd(values, ddof=1)) if len(values) > 1 else 0.0


def make_flip_test(
    workspace: Workspace, model: str | None, row: int, threshold: Threshold | None = None
) -> Callable[[DataTable], tuple[Bool, Float64]]:
    """Return a function that says which rows of a table have another prediction than one row.

    It also returns how close each row is to another prediction; higher is closer.
    """
    original = workspace.predict(model).scores
    active = original[workspace.is_active]
    own = workspace.table.take(np.array([row]))

    def test(table: DataTable) -> tuple[Bool, Float64]:
        scores = workspace.predict_table(table, model).scores
        if scores.ndim == 1:
            limit = _get_difference(threshold, active)
            change: Float64 = np.abs(scores - original[row])
            return change >= limit, change
        if scores.shape[1] == 2:
            was_positive = bool(np.all(original[row, 1] >= _get_limits(threshold, own)))
            flipped: Bool = (scores[:, 1] >= _get_limits(threshold, table)) != was_positive
            return flipped, scores[:, 0] if was_positive else scores[:, 1]
        decision = int(np.argmax(original[row]))
        return np.argmax(scores, axis=1) != decision, -scores[:, decision]

    return test


def compute_distances(
    workspace: Workspace,
    row: int,
    metric: Metric = "l1",
    *,
    embedding: DataColumn | None = None,
    weights: Mapping[str, float] | None = None,
    among: Bool | None = None,
    function: DistanceFunction | None = None,
    space: DistanceSpace | None = None,
    report: ReportSteps | None = None,
) -> Float64:
    """Return the distance of each row to one row.

    Args:
        workspace: The data.
        row: The row to compare with.
        metric: The distance.
        embedding: Compare rows by these vectors instead of the features.
        weights: Factors of features. Those of other columns of the data have no effect.
        among: Compute only the distances of these rows; others are infinite.
        function: The function of ``custom``; by default that of the workspace.
        space: What is compared instead of the features, such as attributions.
        report: Called with the number of compared rows, and of all rows.

    Raises:
        UsageError: An argument is invalid, or the function failed.
    """
    workspace.table.check_row(row)
    function = function or workspace.distance
    if metric == "custom" and function is not None:
        return call_distance_function(function, workspace.table, row, among=among)
    if embedding is None:
        space = space or workspace.get_space()
        # Other columns, such as inputs of before, have no part in the distance to be weighted.
        weights = {
            name: weight
            for name, weight in (weights or {}).items()
            if name in space.names or name in space.ignored or name not in workspace.table
        }
        return space.compute(row, metric, weights=weights, among=among, report=report)
    if weights:
        raise UsageError(
            "what_if.weights_of_embedding",
            "features cannot be weighted when rows are compared by their vectors",
        )
    return compute_embedding_distances(embedding, row, metric, among=among, report=report)


def list_counterfactuals(
    workspace: Workspace,
    row: int,
    candidates: Bool,
    *,
    count: int = 1,
    metric: Metric = "l1",
    weights: Mapping[str, float] | None = None,
    locked: Sequence[str] = (),
    embedding: DataColumn | None = None,
    function: DistanceFunction | None = None,
    space: DistanceSpace | None = None,
    report: ReportSteps | None = None,
) -> list[Counterfactual]:
    """Return the nearest rows among candidates, the nearest first; of equal ones the first row.

    Args:
        workspace: The data.
        row: The row to find counterfactuals of.
        candidates: The rows with another prediction.
        count: How many to return.
        metric: The distance; this and the others are those of `compute_distances`.
        weights: Factors of features.
        locked: Features that must have the same value.
        embedding: Compare rows by these vectors instead of the features.
        function: The function of ``custom``.
        space: What is compared instead of the features.
        report: Called with the number of compared rows, and of all rows.
    """
    if count < 1:
        raise UsageError(
            "what_if.counterfactual_count", "the number of counterfactuals must be at least 1"
        )
    if locked:
        equal = select_equal_rows(workspace.table, row, locked, report)
        candidates = candidates & equal
    distances = compute_distances(
        workspace,
        row,
        metric,
        embedding=embedding,
        weights=weights,
        among=candidates,
        function=function,
        space=space,
        report=report,
    )
    nearest = select_smallest(distances, count)
    return [Counterfactual(int(at), float(distances[at])) for at in nearest.tolist()]


def select_smallest(values: Float64, count: int) -> Int64:
    """Return the indexes of the smallest finite values in order; of equal ones the first."""
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) > count:
        limit = np.partition(values[finite], count - 1)[count - 1]
        finite = finite[values[finite] <= limit]
    order = np.argsort(values[finite], kind="stable")
    return finite[order[:count]]


def search_edits(
    space: DistanceSpace,
    table: DataTable,
    row: int,
    sources: Sequence[int],
    has_flipped: Callable[[DataTable], tuple[Bool, Float64]],
    *,
    features: Sequence[str],
    max_changes: int = 5,
    count: int = 1,
    report: ReportSteps | None = None,
) -> list[EditedCounterfactual]:
    """Search for the smallest sets of edits that change a prediction.

    A beam search adds one feature at a time. Values are taken from rows with another prediction,
    so that edited rows stay close to real data. The result is minimal: each edit is needed.

    Args:
        space: The features by which rows are compared.
        table: The data.
        row: The row to edit.
        sources: Rows with another prediction, the nearest first.
        has_flipped: Returns whether each row of a table has another prediction than the row, and
            how close it is to that (higher is closer).
        features: The features that may be changed.
        max_changes: Maximum number of changed features.
        count: How many results to return.
        report: Called with the number of changed features so far, and ``max_changes``.
    """
    found: list[tuple[int, float, int, tuple[str, ...]]] = []
    differing = {
        source: {
            name: distance
            for name, distance in space.compute_features(row, source).items()
            if distance > 0 and name in features
        }
        for source in sources
    }
    states: list[tuple[int, tuple[str, ...]]] = [(source, ()) for source in sources]
    for changed in range(max_changes):
        if report is not None:
            report(changed, max_changes)
        options = [
            (source, (*names, name))
            for source, names in states
            for name in differing[source]
            if name not in names
        ]
        options = list({(s, tuple(sorted(n))): (s, n) for s, n in options}.values())
        if not options:
            break
        flipped, closeness = has_flipped(_apply_edits(table, row, options))
        for (source, names), is_flipped in zip(options, flipped.tolist(), strict=True):
            if is_flipped:
                distance = sum(differing[source][name] for name in names)
                found.append((len(names), distance, source, names))
        if found:
            break
        order = np.argsort(-closeness, kind="stable")[:_BEAM_WIDTH]
        states = [options[at] for at in order.tolist()]
    found.sort(key=lambda item: (item[0], item[1], item[2]))
    results = []
    for _, distance, source, names in found[:count]:
        changes = {name: table.get_column(name).get_value(source) for name in names}
        results.append(EditedCounterfactual(changes, source, distance))
    return results


def _apply_edits(
    table: DataTable, row: int, options: Sequence[tuple[int, tuple[str, ...]]]
) -> DataTable:
    """Return one edited copy of a row per option."""
    columns = []
    for name, column in table.columns.items():
        rows = np.array([source if name in names else row for source, names in options])
        columns.append(column.take(rows))
    return DataTable(columns, row_count=len(options))
