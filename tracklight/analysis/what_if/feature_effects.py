"""What features do to predictions: partial dependence, permutation importance, Shapley values.

All requested features are evaluated together: `compute_partial_dependence` builds one table of
varied rows per batch, so that a model behind a server gets few large requests. Permutation
importance needs a score, which tells how good predictions are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation.metrics import compute_auc, histogram_of
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

#: Returns scores [rows, classes], or [rows] for regression.
PredictScores = Callable[[DataTable], Float64]
GridKind = Literal["even", "quantiles"]

DEFAULT_POINTS = 10
MAX_POINTS = 1000
#: With fewer pairs of permutations, a standard error of pairs would be known badly.
_MIN_PAIRS = 5
_BATCH_ROWS = 100_000
_MAX_ITEMS = 20
_ITEM_RANGE = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")
_ITEM_LABEL = re.compile(r"(.+)\[(\d{1,6})\]", re.DOTALL)


@dataclass(frozen=True, eq=False)
class Grid:
    """The values that a feature takes."""

    feature: str
    values: Sequence[Any]
    is_numeric: bool
    index: int | None = None
    """Which item of a list is varied; None for single values."""

    @property
    def label(self) -> str:
        return self.feature if self.index is None else f"{self.feature}[{self.index}]"


@dataclass(frozen=True, eq=False)
class Dependence:
    """The predictions of one feature, or of two."""

    grids: Sequence[Grid]
    mean: Float64
    """Mean prediction over the rows: [points, classes], or [points, points, classes]."""
    individual: Float64
    """The prediction of each row (ICE): [rows, points, classes]; empty for two features."""
    standard_error: Float64
    """Of the mean over the rows; same shape as ``mean``."""

    @property
    def variation(self) -> float:
        """How much predictions vary: total vertical travel, or maximum minus minimum."""
        if not self.mean.size:
            return 0.0
        if len(self.grids) > 1:
            return float(np.nanmax(np.ptp(self.mean.reshape(-1, self.mean.shape[-1]), axis=0)))
        if self.grids[0].is_numeric:
            return float(np.nanmax(np.abs(np.diff(self.mean, axis=0)).sum(axis=0)))
        return float(np.nanmax(np.ptp(self.mean, axis=0)))


def make_grid(
    column: DataColumn,
    *,
    points: int = DEFAULT_POINTS,
    kind: GridKind = "even",
    value_range: tuple[float, float] | None = None,
    values: Sequence[Any] | None = None,
    index: int | None = None,
) -> Grid:
    """Choose the values at which a feature is evaluated.

    Numbers are evenly spaced between the minimum and the maximum of all rows, or at quantiles;
    integers are rounded. Other features take their most frequent values, without those that occur
    once unless all do.

    Args:
        column: The feature.
        points: Number of values.
        kind: How the values of numeric features are spaced.
        value_range: Other bounds for numeric features.
        values: These values instead.
        index: The item to vary, if the feature is a list.

    Raises:
        UsageError: The feature cannot be varied, or an argument is invalid.
    """
    if not 1 <= points <= MAX_POINTS:
        raise UsageError(
            "what_if.points", "the number of points must be 1 to {limit}", limit=MAX_POINTS
        )
    if column.is_sequence or column.type in ("image", "bytes"):
        raise UsageError(
            "what_if.cannot_vary",
            '"{column}" is not a number or category and cannot be varied',
            column=column.name,
        )
    if column.is_list:
        length = column.find_list_length()
        if length is None:
            raise UsageError(
                "what_if.list_lengths",
                '"{column}" has lists of different lengths, whose items cannot be varied',
                column=column.name,
            )
        if index is None or not 0 <= index < length:
            raise UsageError(
                "what_if.list_item",
                '"{column}" is a list; choose one of its {count} items',
                column=column.name,
                count=length,
            )
        column = _get_item_column(column, index, length)
    if values is not None:
        checked = [column.check_value(value) for value in values]
        return Grid(column.name, checked, column.is_numeric, index)
    if column.is_numeric and column.type != "boolean":
        return _make_numeric_grid(column, points, kind, value_range, index)
    frequent = list_frequent_values(column, points)
    return Grid(column.name, frequent, False, index)


def list_varied(column: DataColumn, items: str = "") -> list[str]:
    """Return what can be varied of a feature: itself, or the items of its lists.

    Args:
        column: The feature. Images, sequences, lists of different lengths, strings that are all
            different, and features without values cannot be varied.
        items: Which items of lists, such as ``0,2,4-6``; by default the first 20.

    Raises:
        UsageError: ``items`` is not a list of numbers and ranges.
    """
    if column.is_sequence or column.type in ("image", "bytes") or column.select_missing().all():
        return []
    if column.is_list:
        length = column.find_list_length() or 0
        if not column.is_numeric:
            return []
        chosen = parse_items(items) if items.strip() else range(_MAX_ITEMS)
        return [f"{column.name}[{item}]" for item in chosen if item < length]
    if column.type == "string" and _count_categories(column).max(initial=0) < 2:
        return []
    return [column.name]


def parse_items(text: str) -> list[int]:
    """Return the numbers of a pattern such as ``0,2,4-6``, in ascending order.

    Raises:
        UsageError: It is not such a pattern.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _ITEM_RANGE.fullmatch(part.strip())
        if match is None:
            raise UsageError(
                "what_if.item_pattern",
                '"{pattern}" is not a list of items such as 0,2,4-6',
                pattern=text,
            )
        first, last = int(match[1]), int(match[2] or match[1])
        found.update(range(first, min(last, first + MAX_POINTS) + 1))
    return sorted(found)


def parse_label(table: DataTable, label: str) -> tuple[str, int | None]:
    """Return the column and the item of `Grid.label`."""
    match = _ITEM_LABEL.fullmatch(label)
    if label in table or match is None:
        return label, None
    return match[1], int(match[2])


def _make_numeric_grid(
    column: DataColumn,
    points: int,
    kind: GridKind,
    value_range: tuple[float, float] | None,
    index: int | None,
) -> Grid:
    numbers = column.to_float64()
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) and value_range is None:
        return Grid(column.name, [], True, index)
    if value_range is not None:
        low, high = value_range
        if not (np.isfinite([low, high]).all() and low <= high):
            raise UsageError(
                "what_if.value_range",
                'the range of "{column}" must be two ascending numbers',
                column=column.name,
            )
        grid = np.linspace(low, high, points)
    elif kind == "quantiles":
        grid = np.quantile(numbers, np.linspace(0, 1, points))
    else:
        grid = np.linspace(numbers.min(), numbers.max(), points)
    if column.type == "integer":
        grid = np.round(grid)
    grid = np.unique(grid)
    values = [int(v) for v in grid] if column.type == "integer" else grid.tolist()
    return Grid(column.name, values, True, index)


def list_frequent_values(column: DataColumn, count: int) -> list[Any]:
    """Return the most frequent values, in descending order of their frequency.

    Strings that occur once are left out, as in the What-If Tool, unless all do.
    """
    if column.type == "boolean":
        present = column.values if column.missing is None else column.values[~column.missing]
        return [bool(value) for value in np.unique(present)]
    counts = _count_categories(column)
    minimum = min(2, counts.max(initial=1))
    order = np.argsort(-counts, kind="stable")[:count]
    return [column.categories[code] for code in order.tolist() if counts[code] >= minimum]


def _count_categories(column: DataColumn) -> Int64:
    present = column.values[column.values >= 0]
    return np.bincount(present, minlength=len(column.categories))


def _get_item_column(column: DataColumn, index: int, length: int) -> DataColumn:
    items = column.values.reshape(-1, length)[:, index]
    return DataColumn(column.name, column.type, items, column.categories)


def compute_partial_dependence(
    table: DataTable,
    rows: Int64,
    grids: Sequence[Sequence[Grid]],
    predict: PredictScores,
    *,
    report: Callable[[int, int], None] | None = None,
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[Dependence]:
    """Yield the partial dependence of some features, or of pairs of features.

    Args:
        table: The data.
        rows: The rows to vary: one row gives local dependence, several their mean.
        grids: For each result the grids of one or two features.
        predict: Calls the model.
        report: Called with the number of varied rows that were predicted, and of all.
        batch_rows: How many varied rows are predicted at once.
    """
    base = table.take(rows)
    plans = [_Plan(tuple(grid), len(rows)) for grid in grids]
    total = sum(plan.size for plan in plans)
    done = 0
    for group in _group_plans(plans, batch_rows):
        if report is not None:
            report(done, total)
        scores = _predict_group(base, group, predict, batch_rows)
        done += sum(plan.size for plan in group)
        start = 0
        for plan in group:
            yield plan.summarize(scores[start : start + plan.size])
            start += plan.size


def vary_row(table: DataTable, row: int, grid: Grid) -> DataTable:
    """Return a copy of one row for each value of a grid."""
    plan = _Plan((grid,), 1)
    copies = table.take(np.full(plan.size, row, np.int64))
    return _vary(copies, plan, slice(0, plan.size), slice(0, plan.size))


@dataclass(frozen=True, eq=False)
class _Plan:
    """The varied rows of one result: every grid point for every row."""

    grids: tuple[Grid, ...]
    row_count: int

    @property
    def points(self) -> int:
        return int(np.prod([len(grid.values) for grid in self.grids]))

    @property
    def size(self) -> int:
        return self.points * self.row_count

    def get_point(self, grid_number: int) -> NDArray[Any]:
        """Return the point of one grid for each varied row."""
        inner = int(np.prod([len(grid.values) for grid in self.grids[grid_number + 1 :]]))
        pattern = np.arange(self.points) // inner % len(self.grids[grid_number].values)
        return np.repeat(pattern, self.row_count)

    def summarize(self, scores: Float64) -> Dependence:
        by_class = scores if scores.ndim == 2 else scores[:, None]
        classes = by_class.shape[1]
        shaped = by_class.reshape(self.points, self.row_count, classes)
        mean = shaped.mean(axis=1)
        error = np.zeros_like(mean)
        if self.row_count > 1:
            error = shaped.std(axis=1, ddof=1) / np.sqrt(self.row_count)
        individual = shaped.swapaxes(0, 1)
        if len(self.grids) == 1:
            return Dependence(self.grids, mean, individual, error)
        shape = [*(len(grid.values) for grid in self.grids), classes]
        nothing = np.empty((0, 0, classes))
        return Dependence(self.grids, mean.reshape(shape), nothing, error.reshape(shape))


def _group_plans(plans: Sequence[_Plan], batch_rows: int) -> Iterator[list[_Plan]]:
    group: list[_Plan] = []
    for plan in plans:
        if group and sum(item.size for item in group) + plan.size > batch_rows:
            yield group
            group = []
        group.append(plan)
    if group:
        yield group


def _predict_group(
    base: DataTable, group: Sequence[_Plan], predict: PredictScores, batch_rows: int
) -> Float64:
    size = sum(plan.size for plan in group)
    if not size:
        return np.empty((0, 1))
    if size > batch_rows and len(group) == 1:
        return _predict_large(base, group[0], predict, batch_rows)
    index = np.concatenate([np.tile(np.arange(len(base)), plan.points) for plan in group])
    varied = base.take(index)
    start = 0
    for plan in group:
        varied = _vary(varied, plan, slice(start, start + plan.size), slice(0, plan.size))
        start += plan.size
    return predict(varied)


def _predict_large(
    base: DataTable, plan: _Plan, predict: PredictScores, batch_rows: int
) -> Float64:
    parts = []
    for start in range(0, plan.size, batch_rows):
        part = slice(start, min(start + batch_rows, plan.size))
        varied = base.take(np.arange(part.start, part.stop) % len(base))
        parts.append(predict(_vary(varied, plan, slice(0, part.stop - part.start), part)))
    return np.concatenate(parts)


def _vary(varied: DataTable, plan: _Plan, target: slice, part: slice) -> DataTable:
    """Replace values in the rows ``target``, which are the rows ``part`` of a plan."""
    for number, grid in enumerate(plan.grids):
        column = varied.get_column(grid.feature)
        points = plan.get_point(number)[part]
        varied = varied.with_columns([_set_values(column, target, grid, points)])
    return varied


def _set_values(column: DataColumn, target: slice, grid: Grid, points: NDArray[Any]) -> DataColumn:
    values = column.values
    categories = column.categories
    if column.type == "string":
        numbers = {text: code for code, text in enumerate(categories)}
        categories = [*categories, *(v for v in dict.fromkeys(grid.values) if v not in numbers)]
        numbers = {text: code for code, text in enumerate(categories)}
        new: NDArray[Any] = np.array([numbers[value] for value in grid.values], np.int32)
    else:
        new = np.array(grid.values)
        if new.dtype == np.float64 and values.dtype != np.float64:
            values = values.astype(np.float64)
            column = replace(column, type="float")
    values = values.copy()
    missing = column.missing
    if grid.index is None:
        values[target] = new[points]
        if missing is not None:
            missing = missing.copy()
            missing[target] = False
    else:
        offsets = column.get_item_offsets()
        values[offsets[:-1][target] + grid.index] = new[points]
    return replace(column, values=values, categories=categories, missing=missing)


def choose_rows(row_count: int, sample: int | None, seed: int = 0) -> Int64:
    """Return all rows, or a random sample in ascending order."""
    if sample is None or sample >= row_count:
        return np.arange(row_count)
    if sample < 1:
        raise UsageError("what_if.sample_rows", "the sample must have at least one row")
    return np.sort(np.random.default_rng(seed).choice(row_count, sample, replace=False))


#: Returns how good predictions of all rows are; higher is better.
Scorer = Callable[[Float64], float]
Report = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """How much worse a model gets when one feature is shuffled."""

    baseline: float
    drops: Mapping[str, Float64]
    """The decrease of the score by feature, one number per repetition."""


def compute_permutation_importance(
    table: DataTable,
    features: Sequence[str],
    predict: Callable[[DataTable], Float64],
    scorer: Scorer,
    *,
    repeats: int = 5,
    seed: int = 0,
    report: Report | None = None,
) -> PermutationImportance:
    """Shuffle each feature several times and measure how much the score decreases.

    Args:
        table: The data.
        features: The features to shuffle.
        predict: Returns the predictions of a table.
        scorer: Returns how good predictions are.
        repeats: How often each feature is shuffled.
        seed: Seed of the permutations.
        report: Called with the number of finished calls, and of all; raises to cancel.
    """
    if repeats < 1:
        raise UsageError("what_if.repeats", "the number of repetitions must be at least 1")
    baseline = scorer(predict(table))
    random = np.random.default_rng(seed)
    drops: dict[str, Float64] = {}
    done = 0
    for name in features:
        column = table.get_column(name)
        values = np.empty(repeats)
        for number in range(repeats):
            if report is not None:
                report(done, len(features) * repeats)
            shuffled = column.take(random.permutation(len(table)))
            values[number] = baseline - scorer(predict(table.with_columns([shuffled])))
            done += 1
        drops[name] = values
    return PermutationImportance(baseline, drops)


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """Contributions of features to predictions, relative to the mean of a background sample.

    For each row, the values of all features and the expected value add up to the prediction.
    """

    values: Mapping[str, Float64]
    """One number per row for each feature."""
    standard_error: Mapping[str, Float64]
    expected: float
    """The mean prediction of the background."""
    predictions: Float64


def compute_shapley_values(
    table: DataTable,
    rows: Int64,
    features: Sequence[str],
    predict: PredictScores,
    *,
    background: Int64,
    permutations: int = 50,
    seed: int = 0,
    report: Report | None = None,
) -> ShapleyValues:
    """Estimate Shapley values by sampling permutations, in pairs of opposite order.

    Each permutation replaces the features of a random background row by those of the explained
    row, one after the other; the change of the prediction is the feature's contribution.

    Args:
        table: The data.
        rows: The rows to explain.
        features: The features among which the prediction is divided.
        predict: Returns one number per row.
        background: The rows that represent the data.
        permutations: Number of permutations per row.
        seed: Seed of the permutations.
        report: Called with the number of explained rows, and of all; raises to cancel.
    """
    if not len(background):
        raise UsageError("what_if.background_rows", "the background must have at least one row")
    if permutations < 2:
        raise UsageError("what_if.permutations", "at least 2 permutations are needed")
    if not features:
        raise UsageError("what_if.no_feature", "there is no feature to explain")
    count = len(features)
    means = np.zeros((len(rows), count))
    errors = np.zeros((len(rows), count))
    expected = float(np.mean(predict(table.take(background))))
    predictions = predict(table.take(rows)) if len(rows) else np.empty(0)
    random = np.random.default_rng(seed)
    rows_per_batch = max(1, _BATCH_ROWS // (permutations * (count + 1)))
    for start in range(0, len(rows), rows_per_batch):
        if report is not None:
            report(start, len(rows))
        part = rows[start : start + rows_per_batch]
        contributions = _sample_contributions(
            table, part, features, predict, background, permutations, random
        )
        # Background rows are drawn at random, so the sum differs from prediction - expected by the
        # sampling error, which is divided among the features in proportion to their uncertainty.
        variance = _compute_standard_error(contributions) ** 2
        total = variance.sum(axis=1, keepdims=True)
        share = np.full_like(variance, 1 / count)
        np.divide(variance, total, out=share, where=total > 0)
        sums = contributions.sum(axis=2, keepdims=True)
        corrected = contributions - share[:, None] * sums
        done = slice(start, start + len(part))
        means[done] = corrected.mean(axis=1) + share * (predictions[done] - expected)[:, None]
        errors[done] = _compute_standard_error(corrected)
    return ShapleyValues(
        {name: means[:, at] for at, name in enumerate(features)},
        {name: errors[:, at] for at, name in enumerate(features)},
        expected,
        predictions,
    )


def _compute_standard_error(contributions: Float64) -> Float64:
    """Return the standard error of means of contributions [rows, permutations, features].

    Permutations of opposite order are not independent of each other, but pairs of them are.
    """
    permutations = contributions.shape[1]
    half = -(-permutations // 2)
    pairs = permutations - half
    if pairs >= _MIN_PAIRS:
        contributions = (contributions[:, :pairs] + contributions[:, half:]) / 2
    error: Float64 = contributions.std(axis=1, ddof=1) / np.sqrt(contributions.shape[1])
    return error


def _sample_contributions(
    table: DataTable,
    rows: Int64,
    features: Sequence[str],
    predict: PredictScores,
    background: Int64,
    permutations: int,
    random: np.random.Generator,
) -> Float64:
    """Return contributions [rows, permutations, features]."""
    count, paths = len(features), len(rows) * permutations
    half = -(-permutations // 2)
    orders = np.argsort(random.random((len(rows), half, count)), axis=2)
    orders = np.concatenate([orders, orders[:, :, ::-1]], axis=1)[:, :permutations]
    orders = orders.reshape(paths, count)
    positions = np.argsort(orders, axis=1)  # when each feature is replaced
    sources = background[random.integers(0, len(background), paths)]
    targets = np.repeat(rows, permutations)
    # Row `step` of a path has the explained values of the first `step` features of its order.
    steps = np.arange(count + 1)
    columns = []
    for name, column in table.columns.items():
        if name in features:
            is_replaced = positions[:, [features.index(name)]] < steps
            chosen = np.where(is_replaced, targets[:, None], sources[:, None])
        else:
            chosen = np.broadcast_to(targets[:, None], (paths, count + 1))
        columns.append(column.take(chosen.reshape(-1)))
    outputs = predict(DataTable(columns, row_count=paths * (count + 1))).reshape(paths, count + 1)
    changes = np.diff(outputs, axis=1)
    contributions = np.empty((paths, count))
    np.put_along_axis(contributions, orders, changes, axis=1)
    return contributions.reshape(len(rows), permutations, count)


# ---- scores

_CLASSIFICATION = ("accuracy", "auc", "log_loss")
_REGRESSION = ("r2", "mean_absolute_error", "mean_squared_error")


def make_scorer(metric: str | None, labels: Any, is_regression: bool) -> Callable[[Float64], float]:
    """Return a function of scores that is higher for better predictions.

    Args:
        metric: The name of the metric; losses and errors are negated. None for the accuracy, or
            R² for regression.
        labels: The true classes or values; rows with a negative class or NaN are left out.
        is_regression: Whether the scores are values.

    Raises:
        UsageError: The metric does not fit the task, or there are no labels.
    """
    known = _REGRESSION if is_regression else _CLASSIFICATION
    metric = metric or known[0]
    if metric not in known:
        raise UsageError(
            "what_if.no_score_metric",
            '"{metric}" is not a metric here; use one of {known}',
            metric=metric,
            known=", ".join(known),
        )
    used = np.isfinite(labels) if is_regression else labels >= 0
    truth = labels[used]
    if not len(truth):
        raise UsageError("what_if.no_labels", "no row has a label")

    def score(predictions: Float64) -> float:
        return _SCORERS[metric](truth, predictions[used])

    return score


def _score_auc(labels: Any, scores: Float64) -> float:
    if scores.shape[1] != 2:
        raise UsageError(
            "what_if.auc_classes",
            '"auc" needs a model with two classes; use "accuracy" or "log_loss"',
        )
    histogram = histogram_of(labels, scores[:, 1], max_bins=max(len(labels), 2))
    return float(compute_auc(histogram.get(1)[0, 0]))


def _score_log_loss(labels: Any, scores: Float64) -> float:
    chosen = scores[np.arange(len(labels)), labels]
    # The bounds of scikit-learn, so that confident mistakes count as much as there.
    epsilon = float(np.finfo(np.float64).eps)
    return float(np.mean(np.log(np.clip(chosen, epsilon, 1 - epsilon))))


def _score_r2(values: Float64, predictions: Float64) -> float:
    total = float(np.sum((values - values.mean()) ** 2))
    residual = float(np.sum((values - predictions) ** 2))
    return 1 - residual / total if total else np.nan


_SCORERS: dict[str, Callable[[Any, Float64], float]] = {
    "accuracy": lambda labels, scores: float(np.mean(np.argmax(scores, axis=1) == labels)),
    "auc": _score_auc,
    "log_loss": _score_log_loss,
    "r2": _score_r2,
    "mean_absolute_error": lambda values, p: -float(np.mean(np.abs(p - values))),
    "mean_squared_error": lambda values, p: -float(np.mean((p - values) ** 2)),
}
