"""Statistics of features, compared with NumPy and pandas."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.feature_statistics import (
    compute_drift,
    compute_statistics,
    make_joint_histogram,
)
from tracklight.errors import UsageError


def test_non_uniformity_counts_all_categories() -> None:
    counts = np.arange(1, 41)
    texts = [f"v{value}" for value in np.repeat(np.arange(40), counts)]
    (found,) = compute_statistics(DataTable([make_column("x", texts)]), ["x"])
    share = counts / counts.sum()
    entropy = -np.sum(share * np.log(share))
    assert found.non_uniformity == pytest.approx(1 - entropy / np.log(40))
    assert len(found.histogram) == 20


def test_non_uniformity_of_numbers_is_that_of_their_bins() -> None:
    numbers = np.random.default_rng(0).exponential(size=500)
    (found,) = compute_statistics(DataTable([make_column("x", numbers.tolist())]), ["x"])
    share = np.histogram(numbers, 10)[0] / 500
    share = share[share > 0]
    assert found.non_uniformity == pytest.approx(1 + np.sum(share * np.log(share)) / np.log(10))


def test_missing_lists_are_compared_with_rows_and_zeros_with_items() -> None:
    rows = [[0.0] + [1.0] * 9] * 95 + [None] * 5
    (found,) = compute_statistics(DataTable([make_column("x", rows)]), ["x"])
    assert (found.rows, found.missing, found.count, found.zeros) == (100, 5, 950, 95)
    # 5 of 100 rows are more than 2 %; 95 of 950 items are not more than 10 %.
    assert found.warnings == ["missing"]


def test_counts_of_numbers_are_those_of_pandas() -> None:
    numbers = pandas.Series([0.0, 1.0, None, 2.0, 0.0, None, np.inf, 4.0])
    (found,) = compute_statistics(DataTable([make_column("x", numbers.tolist())]), ["x"])
    assert found.rows == len(numbers)
    assert found.count == numbers.count() and found.missing == numbers.isna().sum()
    assert found.zeros / found.count == (numbers.dropna() == 0).mean()


def test_numbers_without_values_have_no_statistics() -> None:
    (found,) = compute_statistics(to_table({"x": [np.nan, np.inf]}), ["x"])
    assert (found.count, found.missing, found.infinite) == (1, 1, 1)
    assert np.isnan(found.mean) and len(found.histogram) == 0


def test_joint_histograms_have_the_values_of_all_columns() -> None:
    texts = [make_column("x", ["b", "a", "b"]), make_column("x", ["c", "b", None])]
    joint = make_joint_histogram(texts)
    assert list(joint.values) == ["b", "a", "c"]
    assert [counts.tolist() for counts in joint.histograms] == [[2, 1, 0], [1, 0, 1]]
    numbers = make_joint_histogram([make_column("x", [0.0, 1.0]), make_column("x", [9.0, None])])
    assert (numbers.edges[0], numbers.edges[-1]) == (0, 9)
    assert [int(counts.sum()) for counts in numbers.histograms] == [2, 1]
    nothing = make_joint_histogram([make_column("x", [np.inf]), make_column("x", [None, np.nan])])
    assert not len(nothing.edges) and [len(counts) for counts in nothing.histograms] == [0, 0]


def test_drift_of_features_without_values() -> None:
    empty, full = to_table({"x": [None, np.nan]}), to_table({"x": [1.0, 2.0]})
    for first, second, missing in ((empty, empty, 0), (empty, full, -1), (full, empty, 1)):
        (drift,) = compute_drift(first, second)
        assert np.isnan([drift.chi_square, drift.kolmogorov_smirnov]).all()
        assert drift.missing_difference == missing


def test_drift_needs_features_of_the_same_type() -> None:
    with pytest.raises(UsageError, match='"x" has different types in the two data sets'):
        compute_drift(to_table({"x": [1]}), to_table({"x": ["a"]}), ["x"])
    others = compute_drift(to_table({"x": [1], "y": [2]}), to_table({"x": ["a"], "y": [3]}))
    assert [drift.name for drift in others] == ["y"]
