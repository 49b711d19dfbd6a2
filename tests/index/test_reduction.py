from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracklight.index.reduction import join, make_edges, span
from tracklight.index.reduction import reduce as reduce_to
from tracklight.types import Grid, Series


def series(steps: list[int], values: list[float]) -> Series:
    step = np.array(steps, np.int64)
    none = np.zeros(len(steps), np.bool_)
    return Series("run", "tag", step, step.astype(float), np.array(values, float), none)


def reduce(ones: list[Series], start: float | None, stop: float | None, width: int) -> Grid:
    low, high = span(ones) or (0.0, 1.0)
    edges = make_edges(low if start is None else start, high if stop is None else stop, width)
    return reduce_to(ones, edges)


def test_grids_of_several_shards_become_one() -> None:
    one, two, three = series([0], [1.0]), series([1], [2.0]), series([2], [3.0])
    edges = make_edges(0, 2, 2)
    parts = [([0, 2], reduce_to([one, three], edges)), ([1], reduce_to([two], edges))]
    assert (
        join(parts, edges, 3).count.tolist() == reduce_to([one, two, three], edges).count.tolist()
    )


def test_each_column_knows_its_first_last_lowest_and_highest() -> None:
    grid = reduce([series([0, 1, 2, 3], [5.0, 1.0, 9.0, 2.0])], 0, 4, 2)
    assert grid.x.tolist() == [0, 2, 4]
    assert grid.first.tolist() == [[5.0, 9.0]]
    assert grid.last.tolist() == [[1.0, 2.0]]
    assert grid.low.tolist() == [[1.0, 2.0]]
    assert grid.high.tolist() == [[5.0, 9.0]]
    assert grid.count.tolist() == [[2, 2]]


def test_a_column_without_points_is_empty() -> None:
    grid = reduce([series([0, 9], [1.0, 2.0])], 0, 10, 5)
    assert grid.count.tolist() == [[1, 0, 0, 0, 1]]
    assert [math.isnan(v) for v in grid.high[0]] == [False, True, True, True, False]


def test_series_of_different_steps_share_a_grid() -> None:
    grid = reduce([series([0, 10], [1.0, 2.0]), series([5], [7.0])], None, None, 10)
    assert grid.x[0] == 0 and grid.x[-1] == 10
    assert grid.high[1, 5] == 7.0 and grid.count[1].sum() == 1
    assert grid.last[0, 9] == 2.0  # the right edge belongs to the last column


def test_a_value_that_is_not_finite_never_hides_one_that_is() -> None:
    grid = reduce([series([0, 1, 2], [math.nan, 3.0, math.inf])], 0, 3, 1)
    assert (grid.low[0, 0], grid.high[0, 0]) == (3.0, 3.0)
    assert math.isnan(grid.first[0, 0]) and grid.last[0, 0] == math.inf
    assert grid.count[0, 0] == 3


def test_overwritten_points_are_left_out() -> None:
    one = series([0, 1, 1], [0.0, 100.0, 1.0])
    one.overwritten[1] = True
    assert reduce([one], 0, 2, 2).high.tolist() == [[0.0, 1.0]]


def test_nothing_reduces_to_nothing() -> None:
    assert reduce([], None, None, 3).count.shape == (0, 3)
    assert reduce([series([], [])], None, None, 3).count.sum() == 0


def test_one_point_alone_is_drawn() -> None:
    assert reduce([series([7], [1.0])], None, None, 4).count.sum() == 1


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.floats(-1e9, 1e9)), min_size=1, max_size=60),
    st.integers(1, 40),
)
def test_no_extreme_is_lost(pairs: list[tuple[int, float]], width: int) -> None:
    rows = sorted(dict(pairs).items())
    one = series([step for step, _ in rows], [value for _, value in rows])
    grid = reduce([one], None, None, width)
    assert np.nanmin(grid.low) == one.value.min()
    assert np.nanmax(grid.high) == one.value.max()
    assert grid.count.sum() == len(rows)
