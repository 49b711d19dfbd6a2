"""Distances between one row and all others, as the What-If Tool defines them.

For each feature: numbers differ by ``|a - b| / s`` with the sample standard deviation ``s``; other
values by 0 if they are equal, otherwise by the probability that two random rows agree; a missing
or infinite value on either side counts 1. Deleted rows count neither for ``s`` nor for the
probability. Lists are compared item by item, padded with missing items, and averaged over the
longer list. L1 is the sum over features, L2 the sum of squares without a root, which does not
change the order.

`compute_embedding_distances` compares rows by the vectors of one column instead, and
`call_distance_function` by a function of the user.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.errors import UsageError
from tracklight.types import Bool, Float64

#: How rows are compared; ``custom`` is a function that the program gave.
Metric = Literal["l1", "l2", "cosine", "custom"]
#: Returns the distance of each row of a table to one of its rows.
DistanceFunction = Callable[[DataTable, int], Any]
#: Called with the number of finished steps and that of all steps; may raise to stop.
ReportSteps = Callable[[int, int], None]

#: Rows per block, so that intermediate arrays stay in the processor's cache.
_BLOCK_ROWS = 32_768
#: The same for the numbers of vectors; as float64 less than the 256 KiB from which on malloc maps
#: and clears pages for each array.
_BLOCK_VALUES = 30_000
#: Values from which the standard deviation is computed at once. BLAS starts threads for more than
#: 10,000, which wait for each other on a busy machine.
_SPREAD_VALUES = 1 << 13
#: NumPy computes without the GIL, so that threads help with many blocks.
_MIN_PARALLEL_BLOCKS = 8
_MAX_THREADS = 4
#: Blocks of `_SPREAD_VALUES` after which progress is reported.
_REPORTED_BLOCKS = 128


@dataclass(frozen=True, eq=False)
class _Feature:
    """A column prepared for comparison."""

    name: str
    column: DataColumn
    values: NDArray[Any]
    """Numbers as floats with NaN for missing; otherwise codes with -1 for missing."""
    scale: float
    """Distance of two different values, or per unit of difference."""
    has_missing: bool

    @property
    def is_plain(self) -> bool:
        """Whether each row has one number."""
        return self.column.is_numeric and not self.column.is_list and not self.has_missing


class DistanceSpace:
    """The features of a data set by which rows are compared.

    Args:
        table: The data.
        features: The columns to compare. Strings and bytes whose values are all different, such
            as ids, are ignored.
        report: Called with the number of values that were prepared, and of all values.
        previous: An earlier space of the same data. Columns that have not changed since are not
            prepared again, which takes seconds for long lists.
        is_active: The rows from which deviations and probabilities are computed; by default all.

    Attributes:
        names: The columns that are compared.
        ignored: The columns that are not compared because all their values are different.
    """

    def __init__(
        self,
        table: DataTable,
        features: Iterable[str],
        report: ReportSteps | None = None,
        previous: DistanceSpace | None = None,
        is_active: Bool | None = None,
    ) -> None:
        self._row_count = len(table)
        self._is_active: Bool = np.ones(len(table), np.bool_) if is_active is None else is_active
        self._features: dict[str, _Feature] = {}
        self._prepared: dict[str, tuple[DataColumn, _Feature | None]] = {}
        self.ignored: list[str] = []
        columns = {name: table.get_column(name) for name in features}
        known = {}
        if previous is not None and np.array_equal(previous._is_active, self._is_active):
            known = previous._prepared
        total = sum(len(column.values) for column in columns.values())
        done = 0
        for name, column in columns.items():
            if name in known and known[name][0] is column:
                prepared = known[name][1]
            else:
                prepared = _prepare(column, self._is_active, _shift(report, done, total))
            self._prepared[name] = (column, prepared)
            done += len(column.values)
            if prepared is None:
                self.ignored.append(name)
            else:
                self._features[name] = prepared
        self.names = tuple(self._features)

    def compute(
        self,
        row: int,
        metric: Metric = "l1",
        *,
        weights: Mapping[str, float] | None = None,
        among: Bool | None = None,
        report: ReportSteps | None = None,
    ) -> Float64:
        """Return the distance of each row to one row.

        Args:
            row: The row to compare with.
            metric: ``l1``, ``l2``, or ``cosine`` of the standardized numeric features.
            weights: Factors of features; 1 by default, 0 leaves a feature out.
            among: Compute only the distances of these rows; others are infinite.
            report: Called with the number of compared rows, and of all rows.

        Raises:
            UsageError: There is no feature to compare, or an argument is invalid.
        """
        if not 0 <= row < self._row_count:
            raise UsageError(
                "data.no_row",
                "the data have no row {row}; rows are 0 to {last}",
                row=row,
                last=self._row_count - 1,
            )
        features = self._choose(weights)
        if metric == "cosine":
            distances = self._compute_cosine(row, features)
            if among is not None:
                distances[~among] = np.inf
            return distances
        _check_metric(metric)
        distances = np.full(self._row_count, np.inf)
        widest = max(len(feature.values) for feature, _ in features) / max(1, self._row_count)
        block_rows = min(_BLOCK_ROWS, max(1, int(_BLOCK_VALUES / max(1, widest))))

        def fill(start: int) -> None:
            block = slice(start, min(start + block_rows, self._row_count))
            if among is None or among[block].any():
                distances[block] = self._compute_block(row, block, features, metric)

        _run_blocks(fill, range(0, self._row_count, block_rows), report)
        if among is not None:
            distances[~among] = np.inf
        return distances

    def compute_features(self, row: int, other: int) -> dict[str, float]:
        """Return the distance of two rows for each feature."""
        distances = {}
        for name, feature in self._features.items():
            block = slice(other, other + 1)
            distances[name] = float(_compare(feature, row, block)[0])
        return distances

    def _choose(self, weights: Mapping[str, float] | None) -> list[tuple[_Feature, float]]:
        weights = weights or {}
        for name, weight in weights.items():
            if name not in self._features and name not in self.ignored:
                raise UsageError(
                    "what_if.not_compared",
                    '"{feature}" is not a feature that rows are compared by',
                    feature=name,
                )
            if not 0 <= weight < np.inf:
                raise UsageError(
                    "what_if.weight",
                    'the weight of "{feature}" must be a number from 0',
                    feature=name,
                )
        chosen = [(f, float(weights.get(f.name, 1.0))) for f in self._features.values()]
        chosen = [(feature, weight) for feature, weight in chosen if weight]
        if not chosen:
            raise UsageError(
                "what_if.no_compared_feature", "there is no feature by which rows can be compared"
            )
        return chosen

    def _compute_block(
        self, row: int, block: slice, features: Sequence[tuple[_Feature, float]], metric: Metric
    ) -> Float64:
        total = np.zeros(block.stop - block.start)
        scratch = np.empty_like(total)
        for feature, weight in features:
            if not feature.is_plain or np.isnan(feature.values[row]):
                distance = _compare(feature, row, block)
                factor = weight
                if metric == "l2":
                    np.multiply(distance, distance, out=distance)
            else:
                # The same with fewer passes over the numbers.
                distance = np.subtract(feature.values[block], feature.values[row], out=scratch)
                if metric == "l2":
                    np.multiply(distance, distance, out=distance)
                    factor = weight * feature.scale**2
                else:
                    np.abs(distance, out=distance)
                    factor = weight * feature.scale
            if factor != 1:
                np.multiply(distance, factor, out=distance)
            np.add(total, distance, out=total)
        return total

    def _compute_cosine(self, row: int, features: Sequence[tuple[_Feature, float]]) -> Float64:
        dot = np.zeros(self._row_count)
        norms = np.zeros(self._row_count)
        used = False
        for feature, weight in features:
            if not feature.column.is_numeric or feature.column.is_list:
                continue
            used = True
            mean = np.nanmean(feature.values[self._is_active])
            standard = (feature.values - mean) * feature.scale
            np.nan_to_num(standard, copy=False)
            dot += weight * standard * standard[row]
            norms += weight * standard * standard
        if not used:
            raise UsageError(
                "what_if.cosine_features", "the cosine distance needs numeric features"
            )
        product = np.sqrt(norms * norms[row])
        distances: Float64 = 1 - np.divide(dot, product, out=np.zeros_like(dot), where=product > 0)
        return distances


def select_equal_rows(
    table: DataTable, row: int, names: Sequence[str], report: ReportSteps | None = None
) -> Bool:
    """Return which rows have the same values as one row in some columns."""
    equal: Bool = np.ones(len(table), np.bool_)
    for name in names:
        equal &= _select_equal_values(table.get_column(name), row, report)
    return equal


def _select_equal_values(column: DataColumn, row: int, report: ReportSteps | None = None) -> Bool:
    missing = column.select_missing()
    if missing[row]:
        return missing
    equal: Bool
    if not column.is_list:
        equal = (column.values == column.values[row]) & ~missing
        return equal
    offsets = column.get_item_offsets()
    size = int(offsets[row + 1] - offsets[row])
    equal = np.diff(offsets) == size
    rows = np.flatnonzero(equal)
    items = column.values[offsets[row] : offsets[row + 1]]
    has_missing = column.missing is not None or (column.type == "float" and np.isnan(items).any())
    if column.is_sequence or has_missing:
        value = column.get_value(row)
        equal[rows] = [column.get_value(other) == value for other in rows.tolist()]
        return equal
    block_rows = max(1, _BLOCK_VALUES // size)

    def fill(start: int) -> None:
        block = rows[start : start + block_rows]
        others = column.values[offsets[block][:, None] + np.arange(size)]
        equal[block] = (others == items).all(axis=1)

    _run_blocks(fill, range(0, len(rows), block_rows), report)
    return equal


def find_dimensions(column: DataColumn) -> int | None:
    """Return the length of the vectors of a column, or None if it is not an embedding.

    An embedding has lists of the same number of values, at least two; rows without a list are
    allowed.
    """
    if not column.is_list or column.is_sequence or not column.is_numeric:
        return None
    lengths = np.diff(column.get_item_offsets())
    lengths = lengths[lengths > 0]
    if not len(lengths) or lengths[0] < 2 or (lengths != lengths[0]).any():
        return None
    return int(lengths[0])


def compute_embedding_distances(
    column: DataColumn,
    row: int,
    metric: Metric,
    *,
    among: Bool | None = None,
    report: ReportSteps | None = None,
) -> Float64:
    """Return the distance of the vector of each row to that of one row; NaN without a vector.

    Values are not scaled: ``l1`` is the sum of absolute differences, ``l2`` the Euclidean distance
    and ``cosine`` one minus the cosine similarity.

    Args:
        column: The vectors.
        row: The row to compare with.
        metric: The distance.
        among: Compute only the distances of these rows; others are NaN.
        report: Called with the number of compared rows, and of all rows.

    Raises:
        UsageError: The column does not have vectors, the row has none, or the metric is unknown.
    """
    _check_metric(metric)
    size = find_dimensions(column)
    if size is None:
        raise UsageError(
            "what_if.no_vectors",
            '"{feature}" does not have vectors of one length',
            feature=column.name,
        )
    present = np.diff(column.get_item_offsets()) > 0
    if not present[row]:
        raise UsageError(
            "what_if.missing_value",
            '"{feature}" of row {row} is missing',
            feature=column.name,
            row=row,
        )
    vectors = column.values.reshape(-1, size)
    target = vectors[int(present[:row].sum())].astype(np.float64)
    # Where the vector of each row is; rows without one have none of their own.
    places = np.cumsum(present) - 1
    rows = np.flatnonzero(present if among is None else present & among)
    distances = np.full(len(column), np.nan)
    block_rows = max(1, _BLOCK_VALUES // size)

    def fill(start: int) -> None:
        block = rows[start : start + block_rows]
        others = vectors[places[block]].astype(np.float64)
        distances[block] = _compare_vectors(others, target, metric)

    _run_blocks(fill, range(0, len(rows), block_rows), report)
    return distances


def call_distance_function(
    function: DistanceFunction, table: DataTable, row: int, *, among: Bool | None = None
) -> Float64:
    """Return what a function of the user returns for each row; rows not in ``among`` are infinite.

    Raises:
        UsageError: The function failed, or did not return a number for each row.
    """
    try:
        distances = np.array(function(table, row), np.float64)
    except Exception as error:
        raise UsageError(
            "what_if.distance_failed",
            "the distance function failed: {error}",
            error=f"{type(error).__name__}: {error}",
        ) from error
    if distances.shape != (len(table),):
        raise UsageError(
            "what_if.distance_count",
            "the distance function must return one number for each of the {rows:,} rows, "
            "but returned an array of shape {shape}",
            rows=len(table),
            shape=str(distances.shape),
        )
    if among is not None:
        distances[~among] = np.inf
    return distances


def _check_metric(metric: str) -> None:
    if metric == "custom":
        raise UsageError(
            "what_if.no_distance_function",
            'no distance function was given; use "l1", "l2" or "cosine"',
        )
    if metric not in ("l1", "l2", "cosine"):
        raise UsageError(
            "what_if.no_metric",
            '"{metric}" is not a distance; use "l1", "l2", "cosine" or "embedding"',
            metric=metric,
        )


def _run_blocks(
    fill: Callable[[int], None], starts: range, report: ReportSteps | None = None
) -> None:
    """Compute blocks, in threads if there are many. Blocks after one that raised do nothing."""

    def run(start: int) -> None:
        if report is not None:
            report(start, starts.stop)
        fill(start)

    if len(starts) < _MIN_PARALLEL_BLOCKS:
        for start in starts:
            run(start)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS)) as pool:
        list(pool.map(run, starts))


def _shift(report: ReportSteps | None, done: int, total: int) -> Callable[[int], None] | None:
    """Return a function that reports the steps of a part, after others."""
    return None if report is None else lambda count: report(done + count, total)


def _compare_vectors(vectors: Float64, target: Float64, metric: Metric) -> Float64:
    distances: Float64
    if metric == "cosine":
        product = np.linalg.norm(vectors, axis=1) * np.linalg.norm(target)
        dot = vectors @ target
        distances = 1 - np.divide(dot, product, out=np.zeros_like(dot), where=product > 0)
        return distances
    difference = vectors - target
    distances = np.linalg.norm(difference, ord=1 if metric == "l1" else 2, axis=1)
    return distances


def _prepare(
    column: DataColumn, is_active: Bool, report: Callable[[int], None] | None = None
) -> _Feature | None:
    if report is not None:
        report(0)
    if column.is_numeric:
        values = column.values if column.is_list else column.to_float64()
        if values.dtype != np.float32:
            values = values.astype(np.float64, copy=False)
        used = None if is_active.all() else is_active
        if used is not None and column.is_list:
            used = np.repeat(used, np.diff(column.get_item_offsets()))
        spread, missing, infinite = _compute_spread(values, used, report)
        if infinite:
            values = np.where(np.isinf(values), np.nan, values)
        scale = 1 / spread if spread > 0 and np.isfinite(spread) else 0.0
        return _Feature(column.name, column, values, scale, missing + infinite > 0)
    codes = column.values if column.type == "string" else _encode_bytes(column.values)
    used = codes
    if not is_active.all():
        sizes = np.diff(column.get_item_offsets()) if column.is_list else 1
        used = codes[np.repeat(is_active, sizes)]
    present = used[used >= 0]
    counts = np.bincount(present) if len(present) else np.zeros(1, np.int64)
    counts = counts[counts > 0]
    if len(counts) == len(present) and len(present) > 1:
        return None  # all values are different
    agreement = float(np.sum((counts / max(len(present), 1)) ** 2))
    return _Feature(column.name, column, codes, agreement, bool((codes < 0).any()))


def _compute_spread(
    values: NDArray[Any],
    is_used: Bool | None = None,
    report: Callable[[int], None] | None = None,
) -> tuple[float, int, int]:
    """Return the sample standard deviation of the used finite values.

    Also return the numbers of NaN and of infinite values among all. Block by block, because lists
    may have more items than fit into memory twice.
    """
    count, mean, squares = 0, 0.0, 0.0
    missing, infinite = 0, 0
    for at in range(0, len(values), _SPREAD_VALUES):
        if report is not None and at % (_REPORTED_BLOCKS * _SPREAD_VALUES) == 0:
            report(at)
        block = slice(at, at + _SPREAD_VALUES)
        part = values[block].astype(np.float64)
        kept = np.isfinite(part)
        if not kept.all():
            nans = int(np.isnan(part).sum())
            missing += nans
            infinite += len(part) - int(kept.sum()) - nans
        if is_used is not None:
            kept &= is_used[block]
        if not kept.all():
            part = part[kept]
        if not len(part):
            continue
        # Chan's formula joins the deviations of two parts.
        part_mean = float(np.mean(part))
        part -= part_mean
        difference, total = part_mean - mean, count + len(part)
        squares += float(np.dot(part, part)) + difference**2 * count * len(part) / total
        mean += difference * len(part) / total
        count = total
    if count < 2:
        return 0.0, missing, infinite
    return float(np.sqrt(squares / (count - 1))), missing, infinite


def _encode_bytes(values: NDArray[Any]) -> NDArray[Any]:
    numbers: dict[Any, int] = {None: -1}
    codes = [numbers.setdefault(value, len(numbers) - 1) for value in values.tolist()]
    return np.array(codes, np.int32)


def _compare(feature: _Feature, row: int, block: slice) -> Float64:
    """Return the distance of one feature of some rows to that of one row."""
    if feature.column.is_list:
        return _compare_lists(feature, row, block)
    return _compare_items(feature, feature.values[row], feature.values[block])


def _compare_items(feature: _Feature, value: Any, others: NDArray[Any]) -> Float64:
    if feature.column.is_numeric:
        if np.isnan(value):
            return np.ones(len(others))
        distance: Float64 = np.subtract(others, value)
        np.abs(distance, out=distance)
        np.multiply(distance, feature.scale, out=distance)
        if feature.has_missing:
            np.copyto(distance, 1.0, where=np.isnan(others))
        return distance
    if value < 0:
        return np.ones(len(others))
    distance = np.multiply(others != value, feature.scale)
    if feature.has_missing:
        np.copyto(distance, 1.0, where=others < 0)
    return distance


def _compare_lists(feature: _Feature, row: int, block: slice) -> Float64:
    offsets = feature.column.get_item_offsets()
    items = feature.values[offsets[row] : offsets[row + 1]]
    bounds = offsets[block.start : block.stop + 1]
    lengths = np.diff(bounds)
    longer = np.maximum(lengths, len(items))
    if not len(items):
        return np.ones(len(lengths))  # missing
    others = feature.values[bounds[0] : bounds[-1]]
    if (lengths == len(items)).all():
        matrix = others.reshape(len(lengths), len(items))
        means: Float64
        if feature.column.is_numeric and not feature.has_missing:
            # The same without passes over all items that the means do not need. Differences keep
            # the precision of the items, of which most are float32; sums are float64.
            difference = np.subtract(matrix, items)
            np.abs(difference, out=difference)
            means = difference.mean(axis=1, dtype=np.float64) * feature.scale
            return means
        means = _compare_pairs(feature, items, matrix).mean(axis=1)
        return means
    rows = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(len(others)) - np.repeat(bounds[:-1] - bounds[0], lengths)
    distance = np.ones(len(others))  # items beyond the end of the shorter list are missing
    inside = position < len(items)
    distance[inside] = _compare_pairs(feature, items[position[inside]], others[inside])
    total = np.bincount(rows, distance, minlength=len(lengths))
    total += np.maximum(len(items) - lengths, 0)
    return np.where(lengths == 0, 1.0, total / longer)


def _compare_pairs(feature: _Feature, items: NDArray[Any], others: NDArray[Any]) -> Float64:
    """Return the distance of each item to the other at its place."""
    distance: Float64
    if feature.column.is_numeric:
        distance = np.abs(np.subtract(others, items, dtype=np.float64))
        np.multiply(distance, feature.scale, out=distance)
        if feature.has_missing:
            np.copyto(distance, 1.0, where=np.isnan(others) | np.isnan(items))
        return distance
    distance = np.multiply(others != items, feature.scale)
    if feature.has_missing:
        np.copyto(distance, 1.0, where=(others < 0) | (items < 0))
    return distance
