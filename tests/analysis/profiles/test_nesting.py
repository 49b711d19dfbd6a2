"""Time of nested events, in Python and in the compiled extension."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.analysis import profiles
from tracklight.analysis.profiles import (
    compute_callers,
    compute_callers_python,
    compute_child_time,
    compute_child_time_python,
)


def test_child_time_counts_direct_children_only() -> None:
    start, end = np.array([0, 10, 20, 50, 100]), np.array([90, 40, 30, 60, 110])
    assert compute_child_time(start, end).tolist() == [40, 10, 0, 0, 0]


def test_child_that_outlasts_its_parent_counts_until_the_parent_ends() -> None:
    assert compute_child_time(np.array([0, 6]), np.array([10, 15])).tolist() == [4, 0]


def test_child_time_of_no_events_is_empty() -> None:
    empty = np.empty(0, np.int64)
    assert compute_child_time(empty, empty).tolist() == []


def test_caller_is_the_innermost_running_event() -> None:
    start, end = np.array([0, 10, 20, 50, 100]), np.array([90, 40, 30, 60, 110])
    callers, depths = compute_callers(start, end)
    assert callers.tolist() == [-1, 0, 1, 0, -1]
    assert depths.tolist() == [0, 1, 2, 1, 0]


@pytest.mark.skipif(profiles.NATIVE is None, reason="the extension is not built")
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40)), max_size=80))
@settings(deadline=None)
def test_compiled_and_python_loops_agree(events: list[tuple[int, int]]) -> None:
    rows = np.array(sorted(events), np.int64).reshape(-1, 2)
    start, end = rows[:, 0].copy(), rows.sum(axis=1)
    assert profiles.NATIVE is not None
    result = profiles.NATIVE.compute_child_time(start, end)
    assert result.tolist() == compute_child_time_python(start, end).tolist()
    compiled, plain = (
        profiles.NATIVE.compute_callers(start, end),
        compute_callers_python(start, end),
    )
    assert [column.tolist() for column in compiled] == [column.tolist() for column in plain]


@pytest.mark.skipif(profiles.NATIVE is None, reason="the extension is not built")
def test_compiled_loop_rejects_columns_of_different_lengths() -> None:
    assert profiles.NATIVE is not None
    with pytest.raises(ValueError, match="same length"):
        profiles.NATIVE.compute_child_time(np.zeros(2, np.int64), np.zeros(1, np.int64))
