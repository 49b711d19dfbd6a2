"""Statistics of features, compared with NumPy and pandas."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.what_if.feature_statistics import compute_statistics


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
