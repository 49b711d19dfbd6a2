"""Events inside of others: for how long, one after the other and by the compiled loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.analysis.profiles import arrays
from tracklight.analysis.profiles.arrays import compute_child_time, compute_child_time_python


def test_only_what_is_right_inside_counts() -> None:
    start, end = np.array([0, 10, 20, 50, 100]), np.array([90, 40, 30, 60, 110])
    assert compute_child_time(start, end).tolist() == [40, 10, 0, 0, 0]


def test_one_that_outlasts_what_is_around_it_is_inside_while_both_go_on() -> None:
    assert compute_child_time(np.array([0, 6]), np.array([10, 15])).tolist() == [4, 0]


def test_nothing_is_inside_of_nothing() -> None:
    nothing = np.empty(0, np.int64)
    assert compute_child_time(nothing, nothing).tolist() == []


@pytest.mark.skipif(arrays.NATIVE is None, reason="the kernel is not built")
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40)), max_size=80))
@settings(deadline=None)
def test_the_compiled_loop_measures_the_same(events: list[tuple[int, int]]) -> None:
    rows = np.array(sorted(events), np.int64).reshape(-1, 2)
    start, end = rows[:, 0].copy(), rows.sum(axis=1)
    assert arrays.NATIVE is not None
    found = arrays.NATIVE.compute_child_time(start, end)
    assert found.tolist() == compute_child_time_python(start, end).tolist()


@pytest.mark.skipif(arrays.NATIVE is None, reason="the kernel is not built")
def test_the_compiled_loop_refuses_columns_of_other_lengths() -> None:
    assert arrays.NATIVE is not None
    with pytest.raises(ValueError, match="same length"):
        arrays.NATIVE.compute_child_time(np.zeros(2, np.int64), np.zeros(1, np.int64))
