"""Interval sets."""

from __future__ import annotations

import numpy as np

from tracklight.analysis.profiles.arrays import (
    intersect_intervals,
    measure_intervals,
    merge_intervals,
    union_intervals,
)


def test_interval_sets() -> None:
    intervals = merge_intervals(np.array([[5, 7], [0, 3], [2, 4], [9, 9]]))
    assert intervals.tolist() == [[0, 4], [5, 7]]
    assert intersect_intervals(intervals, np.array([[3, 6]])).tolist() == [[3, 4], [5, 6]]
    assert intersect_intervals(intervals, np.empty((0, 2), np.int64)).tolist() == []
    assert measure_intervals(union_intervals([intervals, np.array([[4, 5]])])) == 7
    assert measure_intervals(union_intervals([])) == 0
