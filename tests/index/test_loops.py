"""The compiled loops and the NumPy versions give the same results for any input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.index import Loops, NumpyLoops

try:
    from tracklight.index import _loops
except ImportError:
    _loops = None  # type: ignore[assignment]

numpy_loops = NumpyLoops()
needs_kernel = pytest.mark.skipif(_loops is None, reason="the kernel has not been compiled")

BOTH = [
    pytest.param(numpy_loops, id="python"),
    pytest.param(_loops, id="compiled", marks=needs_kernel),
]

numbers = st.floats(-1e6, 1e6)
any_number = st.one_of(numbers, st.sampled_from([math.nan, math.inf, -math.inf]))
columns = st.lists(any_number, max_size=80).map(lambda cells: np.array(cells, np.float64))


def fill(work: object, value: np.ndarray, *arguments: object) -> np.ndarray:
    out = np.full(len(value), 99.0)
    work(value, *arguments, out)  # type: ignore[operator]
    return out


@needs_kernel
class TestCompiledMatchesPython:
    @given(columns)
    def test_find_extremes(self, value: np.ndarray) -> None:
        compiled, plain = np.full(3, -7), np.full(3, -7)
        assert _loops.locate_extremes(value, compiled) == numpy_loops.locate_extremes(value, plain)
        assert compiled.tolist() == plain.tolist()

    @given(columns.filter(len), st.lists(st.integers(0, 80)))
    def test_summarize_rows(self, value: np.ndarray, cuts: list[int]) -> None:
        starts = np.array(sorted({0, len(value), *(cut for cut in cuts if cut < len(value))}))
        both = np.zeros((2, 3, len(starts) - 1))
        _loops.summarize_rows(value, starts, both[0])
        numpy_loops.summarize_rows(value, starts, both[1])
        np.testing.assert_array_equal(*both)

    @given(st.integers(2, 1000), st.data())
    def test_long_column_is_not_sorted_because_of_one_row(
        self, size: int, data: st.DataObject
    ) -> None:
        column = np.arange(size)
        column[data.draw(st.integers(0, size - 2))] = size
        assert not _loops.is_sorted(column)
        assert not _loops.is_sorted(column.astype(np.float64))

    @given(columns)
    def test_is_sorted(self, value: np.ndarray) -> None:
        assert _loops.is_sorted(value) == numpy_loops.is_sorted(value)
        finite = np.sort(value[np.isfinite(value)])
        assert _loops.is_sorted(finite) and numpy_loops.is_sorted(finite)
        assert _loops.is_sorted(finite.astype(np.int64))

    @given(columns, st.floats(0, 0.999))
    def test_ema(self, value: np.ndarray, weight: float) -> None:
        both = [fill(loops.ema, value, weight) for loops in (_loops, numpy_loops)]
        np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-9)

    @given(columns, st.floats(0.1, 1e6), st.integers(0, 10**15))
    def test_time_ema(self, value: np.ndarray, half_life: float, first: int) -> None:
        step = first + np.cumsum(np.arange(len(value)) % 4)
        both = [fill(loops.time_ema, value, step, half_life) for loops in (_loops, numpy_loops)]
        np.testing.assert_allclose(*both, rtol=1e-9, atol=1e-9)

    @given(columns, st.integers(0, 90), st.integers(0, 90))
    def test_mean(self, value: np.ndarray, before: int, after: int) -> None:
        both = [fill(loops.mean, value, before, after) for loops in (_loops, numpy_loops)]
        np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-9)

    @given(columns, st.integers(0, 90), st.integers(0, 90))
    def test_median(self, value: np.ndarray, before: int, after: int) -> None:
        both = [fill(loops.median, value, before, after) for loops in (_loops, numpy_loops)]
        # Subnormal numbers lose their last bit when they are halved.
        np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-300)

    @given(columns, st.integers(1, 30), st.data())
    def test_reduce(self, value: np.ndarray, width: int, data: st.DataObject) -> None:
        steps = data.draw(st.lists(st.integers(0, 50), min_size=len(value), max_size=len(value)))
        x = np.sort(np.array(steps, np.float64))
        edges = np.linspace(0, 50, width + 1)
        both = np.zeros((2, 4, width))
        _loops.reduce(x, value, value + 1, edges, both[0])
        numpy_loops.reduce(x, value, value + 1, edges, both[1])
        np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("loops", BOTH)
class TestBothVersions:
    def test_find_extremes_returns_first_of_equal_values(self, loops: Loops) -> None:
        nonfinite = np.full(2, -1)
        value = np.array([math.nan, 2.0, 1.0, 1.0, 2.0, math.inf, math.nan])
        assert loops.locate_extremes(value, nonfinite) == (2, 1, 3)
        assert nonfinite.tolist() == [0, 5]

    def test_find_extremes_of_non_finite_values(self, loops: Loops) -> None:
        assert loops.locate_extremes(np.array([math.nan]), np.empty(0, np.int64)) == (-1, -1, 1)

    def test_summarize_rows(self, loops: Loops) -> None:
        value = np.array([3.0, math.inf, 1.0, math.nan, 5.0, -2.0, math.nan])
        out = np.zeros((3, 3))
        loops.summarize_rows(value, np.array([0, 3, 4, 7]), out)
        np.testing.assert_array_equal(
            out, [[1.0, math.nan, math.nan], [1.0, math.nan, -2.0], [3.0, math.nan, 5.0]]
        )

    def test_nan_is_not_sorted(self, loops: Loops) -> None:
        assert not loops.is_sorted(np.array([1.0, math.nan, 2.0]))
        assert loops.is_sorted(np.array([math.nan]))
        assert loops.is_sorted(np.array([1, 1, 2]))
        assert not loops.is_sorted(np.array([2, 1]))

    def test_mean_has_no_rounding_error_after_large_value(self, loops: Loops) -> None:
        out = fill(loops.mean, np.array([1.0, 1e300, 1.0, 1.0, 1.0]), 1, 1)
        assert out[-2:].tolist() == [1.0, 1.0]
