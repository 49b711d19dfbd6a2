"""Sets of times, in small cases made by hand."""

from __future__ import annotations

import numpy as np

from tracklight.analysis.profiles.arrays import (
    intersect_intervals,
    measure_intervals,
    merge_intervals,
    union_intervals,
)


def test_sets_of_times() -> None:
    some = merge_intervals(np.array([[5, 7], [0, 3], [2, 4], [9, 9]]))
    assert some.tolist() == [[0, 4], [5, 7]]
    assert intersect_intervals(some, np.array([[3, 6]])).tolist() == [[3, 4], [5, 6]]
    assert intersect_intervals(some, np.empty((0, 2), np.int64)).tolist() == []
    assert measure_intervals(union_intervals([some, np.array([[4, 5]])])) == 7
    assert measure_intervals(union_intervals([])) == 0
