"""Histograms are selected evenly along the axis."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracklight.dashboards.histograms.binning import pick_evenly

VALUES = st.lists(st.floats(-1e9, 1e9), max_size=80).map(sorted)


@given(VALUES, st.integers(1, 60))
def test_number_is_limited_and_ends_are_included(values: list[float], max_count: int) -> None:
    picked = pick_evenly(np.array(values), max_count)
    assert len(picked) == min(max_count, len(values))
    assert len(np.unique(picked)) == len(picked)
    if len(picked) > 1:
        assert values[picked[0]] == values[0]
    if len(picked):
        assert picked[-1] == len(values) - 1


def test_selection_is_even_by_value() -> None:
    # Logged at every step at first, then at every hundredth.
    values = np.concatenate([np.arange(100.0), np.arange(100.0, 10_001, 100)])
    picked = values[pick_evenly(values, 11)]
    assert picked.tolist() == [0, *range(1000, 10_001, 1000)]


def test_gaps_do_not_reduce_the_selection() -> None:
    values = np.append(np.arange(100.0), 1e6)
    picked = values[pick_evenly(values, 10)]
    assert len(picked) == 10
    assert picked[-1] == 1e6
