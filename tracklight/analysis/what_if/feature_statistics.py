"""Statistics of each feature, and how much the distributions of data sets differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn, ValueType
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

_BINS = 10
_MAX_TOP_VALUES = 20
#: Values farther than this many interquartile ranges from the quartiles are outliers.
_OUTLIER_RANGE = 1.5
_DRIFT_BINS = 20
_EPSILON = 1e-6
#: Lists with more items in total are described by a random sample of so many.
_MAX_ITEMS = 5_000_000

#: Limits above which a statistic is marked, as in Facets.
MAX_MISSING_SHARE = 0.02
MAX_ZERO_SHARE = 0.10


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """What one column contains. Numbers are NaN where they do not apply."""

    name: str
    type: ValueType
    is_list: bool
    rows: int
    count: int
    """Values that are not missing; of lists, their items."""
    missing: int
    """Rows without a value."""
    mean: float
    std: float
    """Population standard deviation."""
    zeros: int
    minimum: float
    median: float
    maximum: float
    outliers: int
    infinite: int
    unique: int
    top: str
    """The most frequent value of a feature that is not numeric."""
    top_count: int
    mean_length: float
    """Mean length of strings in characters, or of lists of numbers in items."""
    edges: Float64
    histogram: Int64
    """Values by bin of ``edges``, or by value of ``values``."""
    values: Sequence[str]
    """The most frequent values of a feature that is not numeric."""
    quantiles: Float64
    """Deciles from 0 to 1."""
    length_edges: Float64
    """Of lists: bins of their lengths."""
    length_histogram: Int64
    """Rows by the number of their items."""
    non_uniformity: float
    """1 minus the entropy of the bins or of all values, divided by its maximum."""

    @property
    def warnings(self) -> list[str]:
        """Statistics that deserve attention."""
        checks = {
            "empty": not self.count,
            "missing": self.rows > 0 and self.missing / self.rows > MAX_MISSING_SHARE,
            "zeros": self.count > 0 and self.zeros / self.count > MAX_ZERO_SHARE,
            "infinite": self.infinite > 0,
        }
        return [name for name, is_present in checks.items() if is_present]


def compute_statistics(table: DataTable, features: Iterable[str]) -> list[FeatureStatistics]:
    """Return the statistics of some columns."""
    return [_describe(table.get_column(name)) for name in features]


def _describe(column: DataColumn) -> FeatureStatistics:
    missing = int(column.select_missing().sum())
    if column.is_numeric:
        return _describe_numbers(column, _get_numbers(column), missing)
    return _describe_categories(column, missing)


def _get_numbers(column: DataColumn) -> Float64:
    """Return the numbers of a column that are not missing; of long lists, a sample of items."""
    if not column.is_list:
        values = column.to_float64()
    elif len(column.values) <= _MAX_ITEMS:
        values = column.values.astype(np.float64)
    else:
        places = np.random.default_rng(0).integers(0, len(column.values), _MAX_ITEMS)
        values = column.values[places].astype(np.float64)
    return values[~np.isnan(values)]


def _describe_numbers(column: DataColumn, values: Float64, missing: int) -> FeatureStatistics:
    finite = values[np.isfinite(values)]
    nothing = not len(finite)
    quantiles = np.full(11, np.nan) if nothing else np.quantile(finite, np.linspace(0, 1, 11))
    outliers = 0
    edges, histogram = np.empty(0), np.empty(0, np.int64)
    if not nothing:
        first, third = np.quantile(finite, [0.25, 0.75])
        margin = _OUTLIER_RANGE * (third - first)
        outliers = int(((finite < first - margin) | (finite > third + margin)).sum())
        edges = np.histogram_bin_edges(finite, _BINS)
        histogram = count_bins(values, edges)
    length_edges, length_histogram = _count_lengths(column)
    scale = max(1.0, len(column.values) / _MAX_ITEMS) if column.is_list else 1.0
    return FeatureStatistics(
        column.name,
        column.type,
        column.is_list,
        rows=len(column),
        count=round(scale * len(values)),
        missing=missing,
        mean=float(finite.mean()) if not nothing else np.nan,
        std=float(finite.std()) if not nothing else np.nan,
        zeros=round(scale * int((values == 0).sum())),
        minimum=float(values.min()) if len(values) else np.nan,
        median=float(np.median(finite)) if not nothing else np.nan,
        maximum=float(values.max()) if len(values) else np.nan,
        outliers=round(scale * outliers),
        infinite=round(scale * (len(values) - len(finite))),
        unique=len(np.unique(values)),
        top="",
        top_count=0,
        mean_length=float(np.diff(column.get_item_offsets()).mean())
        if column.is_list and len(column)
        else np.nan,
        edges=edges,
        histogram=histogram,
        values=(),
        quantiles=quantiles,
        length_edges=length_edges,
        length_histogram=length_histogram,
        non_uniformity=compute_non_uniformity(histogram),
    )


def count_bins(values: Float64, edges: Float64) -> Int64:
    """Count values by bin; those outside, such as infinities, are in the first or last bin."""
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].astype(np.int64)


def _count_lengths(column: DataColumn) -> tuple[Float64, Int64]:
    """Return bins of the lengths of lists, one for each length if there are few."""
    if not column.is_list or not len(column):
        return np.empty(0), np.empty(0, np.int64)
    lengths = np.diff(column.get_item_offsets())
    low, high = int(lengths.min()), int(lengths.max())
    step = max(1, -(-(high + 1 - low) // _BINS))
    edges = np.arange(low, high + 1 + step, step, dtype=np.float64)
    # The last bin of a histogram includes its upper edge, which no length reaches.
    return edges, np.histogram(lengths, edges)[0].astype(np.int64)


def _describe_categories(column: DataColumn, missing: int) -> FeatureStatistics:
    texts, counts = count_values(column)
    order = np.argsort(-counts, kind="stable")
    total = int(counts.sum())
    top = [texts[at] for at in order[:_MAX_TOP_VALUES].tolist()]
    lengths = np.array([len(text) for text in texts], np.float64)
    length_edges, length_histogram = _count_lengths(column)
    return FeatureStatistics(
        column.name,
        column.type,
        column.is_list,
        rows=len(column),
        count=total,
        missing=missing,
        mean=np.nan,
        std=np.nan,
        zeros=0,
        minimum=np.nan,
        median=np.nan,
        maximum=np.nan,
        outliers=0,
        infinite=0,
        unique=len(texts),
        top=top[0] if top else "",
        top_count=int(counts.max(initial=0)),
        mean_length=float((lengths * counts).sum() / total) if total else np.nan,
        edges=np.empty(0),
        histogram=counts[order[:_MAX_TOP_VALUES]],
        values=top,
        quantiles=np.empty(0),
        length_edges=length_edges,
        length_histogram=length_histogram,
        non_uniformity=compute_non_uniformity(counts),
    )


def compute_non_uniformity(counts: Int64) -> float:
    """Return 1 minus the entropy of counts divided by its maximum; 0 for fewer than two counts."""
    if len(counts) < 2 or not counts.sum():
        return 0.0
    share = counts / counts.sum()
    positive = share[share > 0]
    entropy = -float(np.sum(positive * np.log(positive)))
    return 1 - entropy / float(np.log(len(counts)))


def count_values(column: DataColumn) -> tuple[list[str], Int64]:
    """Return the distinct values of a column that is not numeric, and how often each occurs."""
    if column.type == "string":
        codes = column.values[column.values >= 0]
        counts = np.bincount(codes, minlength=len(column.categories))
        present = np.flatnonzero(counts)
        return [column.categories[code] for code in present.tolist()], counts[present]
    numbers: dict[bytes, int] = {}
    for value in column.values.tolist():
        if value is not None:
            numbers[value] = numbers.get(value, 0) + 1
    texts = [f"{len(value)} bytes" for value in numbers]
    return texts, np.array(list(numbers.values()), np.int64)


# ---- several data sets


@dataclass(frozen=True, eq=False)
class JointHistogram:
    """The distributions of a feature in several data sets, with the same bins or values."""

    edges: Float64
    values: Sequence[str]
    histograms: Sequence[Int64]


def make_joint_histogram(columns: Sequence[DataColumn]) -> JointHistogram:
    """Count the values of columns that are all numeric or all categorical.

    Bins span the values of all columns. The most frequent values of the first column come first,
    followed by those of the others that it does not list.
    """
    if columns[0].is_numeric:
        numbers = [_get_numbers(column) for column in columns]
        finite = np.concatenate([values[np.isfinite(values)] for values in numbers])
        if not len(finite):
            empty = np.empty(0, np.int64)
            return JointHistogram(np.empty(0), (), [empty for _ in columns])
        edges = np.histogram_bin_edges(finite, _BINS)
        return JointHistogram(edges, (), [count_bins(values, edges) for values in numbers])
    counts = [dict(zip(*_to_lists(column), strict=True)) for column in columns]
    # Most frequent first; equally frequent ones in the order of the data.
    listed = [sorted(count, key=lambda text: -count[text])[:_MAX_TOP_VALUES] for count in counts]
    texts = list(dict.fromkeys(text for part in listed for text in part))[: 2 * _MAX_TOP_VALUES]
    return JointHistogram(
        np.empty(0),
        texts,
        [np.array([count.get(text, 0) for text in texts], np.int64) for count in counts],
    )


# ---- drift


@dataclass(frozen=True, eq=False)
class FeatureDrift:
    """How much the distribution of a feature differs between two data sets."""

    name: str
    chi_square: float
    """Distribution distance of Facets: sum of (p - q)² / (variance), over bins."""
    population_stability: float
    """Population stability index; above 0.2 is usually called a significant change."""
    jensen_shannon: float
    """Jensen-Shannon distance with base 2, from 0 to 1."""
    kolmogorov_smirnov: float
    """Maximum difference of the cumulative distributions; NaN if the feature is not numeric."""
    missing_difference: float
    """Share of missing values in the second data set minus that in the first."""


def compute_drift(
    first: DataTable, second: DataTable, features: Sequence[str] | None = None
) -> list[FeatureDrift]:
    """Compare the distributions of two data sets, the features with the largest drift first.

    Args:
        first: The data set.
        second: The other data set.
        features: The compared features; by default those that both data sets have, except those
            that are numbers in only one of them.

    Raises:
        UsageError: A feature is not in both data sets, or has different types.
    """
    names = features or [
        name
        for name, column in first.columns.items()
        if name in second and column.is_numeric == second.columns[name].is_numeric
    ]
    drifts = [_compare(first.get_column(name), second.get_column(name)) for name in names]
    return sorted(drifts, key=lambda drift: -drift.jensen_shannon)


def _compare(first: DataColumn, second: DataColumn) -> FeatureDrift:
    if first.is_numeric != second.is_numeric:
        raise UsageError(
            "what_if.other_type",
            '"{column}" has different types in the two data sets',
            column=first.name,
        )
    statistic = np.nan
    if first.is_numeric:
        a, b = _get_numbers(first), _get_numbers(second)
        statistic = compute_ks_statistic(a, b)
        counts = _bin_together(a, b)
    else:
        counts = _count_together(first, second)
    missing = [float(column.select_missing().mean()) if len(column) else 0.0
               for column in (first, second)]  # fmt: skip
    return FeatureDrift(
        first.name,
        compute_chi_square(*counts),
        compute_stability_index(*counts),
        compute_js_distance(*counts),
        statistic,
        missing[1] - missing[0],
    )


def _bin_together(a: Float64, b: Float64) -> tuple[Float64, Float64]:
    both = np.concatenate([a, b])
    both = both[np.isfinite(both)]
    if not len(both):
        return np.zeros(1), np.zeros(1)
    edges = np.unique(np.quantile(a[np.isfinite(a)] if np.isfinite(a).any() else both,
                                  np.linspace(0, 1, _DRIFT_BINS + 1)))[1:-1]  # fmt: skip
    bins = len(edges) + 1
    return (
        np.bincount(np.searchsorted(edges, a, side="right"), minlength=bins).astype(np.float64),
        np.bincount(np.searchsorted(edges, b, side="right"), minlength=bins).astype(np.float64),
    )


def _count_together(first: DataColumn, second: DataColumn) -> tuple[Float64, Float64]:
    counts = [dict(zip(*_to_lists(column), strict=True)) for column in (first, second)]
    values = list(dict.fromkeys([*counts[0], *counts[1]]))
    return (
        np.array([counts[0].get(value, 0) for value in values], np.float64),
        np.array([counts[1].get(value, 0) for value in values], np.float64),
    )


def _to_lists(column: DataColumn) -> tuple[list[str], list[int]]:
    texts, counts = count_values(column)
    return texts, counts.tolist()


def _normalize(counts: NDArray[np.float64]) -> Float64:
    total = counts.sum()
    share: Float64 = counts / total if total else counts
    return share


def compute_chi_square(u: Float64, v: Float64) -> float:
    """Return the sum of (u/U - v/V)² / (u/U² + v/V²)."""
    total_u, total_v = u.sum(), v.sum()
    if not total_u or not total_v:
        return np.nan
    difference = (u / total_u - v / total_v) ** 2
    variance = u / total_u**2 + v / total_v**2
    used = variance > 0
    return float(np.sum(difference[used] / variance[used]))


def compute_stability_index(u: Float64, v: Float64) -> float:
    """Return the sum of (q - p) ln(q / p), with empty bins set to a small share."""
    p, q = np.maximum(_normalize(u), _EPSILON), np.maximum(_normalize(v), _EPSILON)
    return float(np.sum((q - p) * np.log(q / p)))


def compute_js_distance(u: Float64, v: Float64) -> float:
    """Return the square root of the Jensen-Shannon divergence with base 2."""
    p, q = _normalize(u), _normalize(v)
    middle = (p + q) / 2
    divergence = 0.0
    for share in (p, q):
        used = share > 0
        divergence += float(np.sum(share[used] * np.log2(share[used] / middle[used]))) / 2
    return float(np.sqrt(max(divergence, 0.0)))


def compute_ks_statistic(a: Float64, b: Float64) -> float:
    """Return the maximum difference between two empirical distribution functions."""
    if not len(a) or not len(b):
        return np.nan
    a, b = np.sort(a), np.sort(b)
    both = np.concatenate([a, b])
    below_a = np.searchsorted(a, both, side="right") / len(a)
    below_b = np.searchsorted(b, both, side="right") / len(b)
    return float(np.max(np.abs(below_a - below_b)))
