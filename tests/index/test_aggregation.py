"""Statistics of many curves: equal to NumPy, and independent of how curves are divided."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.index import logs
from tracklight.index.aggregation import (
    SKETCH_ERROR,
    CompactCurve,
    ComputeStatistics,
    FindSampleGrid,
    GroupStatistics,
    MeasureCurves,
    QuantileSketch,
)
from tracklight.index.series_query import SeriesQuery, Smoothing
from tracklight.types import Float64

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def make_curves(count: int, seed: int = 0) -> list[CompactCurve]:
    """Return curves that begin and end at different steps."""
    random = np.random.default_rng(seed)
    curves = []
    for _ in range(count):
        first, last = sorted(random.choice(np.arange(40), 2, replace=False))
        x = np.arange(first, last + 1, dtype=np.float64)
        curves.append(CompactCurve(x, x, random.normal(3, 2, len(x)) ** 3))
    return curves


def make_table(curves: list[CompactCurve], grid: Float64) -> Float64:
    table = np.full((len(curves), len(grid)), np.nan)
    for row, curve in zip(table, curves, strict=True):
        row[np.isin(grid, curve.x)] = curve.value
    return table


def compute(
    curves: list[CompactCurve], compute: ComputeStatistics, parts: int
) -> dict[int, GroupStatistics]:
    indexes = np.random.default_rng(1).permutation(len(curves))
    return compute.merge(
        [
            compute.reduce(own, [curves[index] for index in own.tolist()])
            for own in np.array_split(indexes, parts)
        ]
    )


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.filterwarnings("ignore:All-NaN:RuntimeWarning")
def test_statistics_are_those_of_numpy(parts: int) -> None:
    curves, grid = make_curves(60), np.arange(40.0)
    groups = np.arange(60, dtype=np.int32) % 3
    request = ComputeStatistics(grid, groups, exact=frozenset({0, 1, 2}))
    table = make_table(curves, grid)
    for group, found in compute(curves, request, parts).items():
        own = table[groups == group]
        assert found.runs == len(own)
        np.testing.assert_array_equal(found.count, np.sum(~np.isnan(own), axis=0))
        np.testing.assert_allclose(found.mean, np.nanmean(own, axis=0))
        variance = np.nanvar(own, axis=0) * found.count
        np.testing.assert_allclose(found.squares, variance, atol=1e-9)
        np.testing.assert_array_equal(found.low, np.nanmin(own, axis=0))
        np.testing.assert_array_equal(found.high, np.nanmax(own, axis=0))
        for quantile in QUANTILES:
            expected = np.nanquantile(own, quantile, axis=0)
            np.testing.assert_allclose(found.compute_quantile(quantile), expected)


def test_sketch_has_the_documented_error_and_can_be_divided() -> None:
    random = np.random.default_rng(2)
    table = random.normal(size=(3000, 6)) * 10.0 ** np.array([-300, -5, 0, 3, 100, 300])
    table[random.random(table.shape) < 0.1] = np.nan
    table[:, 2] += 5
    count = np.sum(~np.isnan(table), axis=0).astype(np.int32)
    whole = QuantileSketch.make(table)
    merged = QuantileSketch.merge([QuantileSketch.make(part) for part in np.array_split(table, 7)])
    for quantile in QUANTILES:
        found = whole.compute(quantile, count)
        np.testing.assert_array_equal(merged.compute(quantile, count), found)
        # Between the values of the two nearest ranks, each with its own error.
        low = np.nanquantile(table, quantile, axis=0, method="lower")
        high = np.nanquantile(table, quantile, axis=0, method="higher")
        margin = SKETCH_ERROR * np.maximum(np.abs(low), np.abs(high))
        assert (found >= low - margin).all()
        assert (found <= high + margin).all()


def test_sketch_is_smaller_than_the_values() -> None:
    values = np.random.default_rng(3).normal(1, 0.1, size=(50_000, 4))
    assert len(QuantileSketch.make(values).keys) < 0.05 * values.size


def test_columns_without_values_have_no_quantiles() -> None:
    table = np.array([[np.nan, 1.0, np.nan], [np.nan, 2.0, np.nan]])
    sketch = QuantileSketch.make(table)
    found = sketch.compute(0.5, np.array([0, 2, 0], np.int32))
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == pytest.approx(1.5, rel=SKETCH_ERROR)
    nothing = QuantileSketch.make(np.full((2, 3), np.nan))
    assert np.isnan(nothing.compute(0.5, np.zeros(3, np.int32))).all()


def test_extents_and_grid_of_some_shards(tmp_path: Path) -> None:
    """A catalog with three shards returns the same as one with a single shard."""
    for number in range(12):
        points = (logs.point(step, float(step * number)) for step in range(number, 30))
        logs.write(tmp_path, f"run{number}", b"".join(points))
    one, three = (logs.open_catalog(tmp_path, shards=shards) for shards in (1, 3))
    keys = [(info.name, one.tags(info.name)[0].tag) for info in one.runs()]
    grid = np.arange(30.0)
    groups = np.arange(12, dtype=np.int32) % 2
    for query in (SeriesQuery(), SeriesQuery(smoothing=Smoothing("ema", 0.5))):
        for catalog in (one, three):
            extents = catalog.reduce(keys, query, MeasureCurves(12, 5, None))
            assert (extents.low, extents.high) == (5, 29)
            assert extents.points.sum() == sum(30 - max(5, number) for number in range(12))
            (found,) = catalog.reduce(keys, query, FindSampleGrid(0, 29, 100))
            np.testing.assert_array_equal(found, grid)
        exact = ComputeStatistics(grid, groups, exact=frozenset({0}), sketched=frozenset({1}))
        expected, merged = (catalog.reduce(keys, query, exact) for catalog in (one, three))
        for group in (0, 1):
            np.testing.assert_allclose(merged[group].mean, expected[group].mean)
            np.testing.assert_allclose(merged[group].squares, expected[group].squares, atol=1e-9)
            for quantile in QUANTILES:
                np.testing.assert_array_equal(
                    merged[group].compute_quantile(quantile),
                    expected[group].compute_quantile(quantile),
                )


def test_new_points_are_in_the_next_result(tmp_path: Path) -> None:
    for name in ("a", "b"):
        logs.write(tmp_path, name, logs.point(0, 1.0) + logs.point(1, 3.0))
    catalog = logs.open_catalog(tmp_path)
    keys = [(info.name, catalog.tags(info.name)[0].tag) for info in catalog.runs()]
    request = ComputeStatistics(np.array([1.0, 2.0]), np.zeros(2, np.int32))
    assert catalog.reduce(keys, SeriesQuery(), request)[0].count.tolist() == [2, 0]
    with next((tmp_path / "a").iterdir()).open("ab") as file:
        file.write(logs.point(2, 7.0))
    catalog.refresh()
    found = catalog.reduce(keys, SeriesQuery(), request)[0]
    assert (found.count.tolist(), found.mean.tolist()) == ([2, 1], [3.0, 7.0])
