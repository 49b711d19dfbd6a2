"""All histograms of a range, or some of them evenly along the axis."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracklight.dashboards.histograms.binning import pick_evenly

PLACES = st.lists(st.floats(-1e9, 1e9), max_size=80).map(sorted)


@given(PLACES, st.integers(1, 60))
def test_never_more_than_asked_for_and_both_ends(places: list[float], most: int) -> None:
    kept = pick_evenly(np.array(places), most)
    assert len(kept) == min(most, len(places))
    assert len(np.unique(kept)) == len(kept)
    if len(kept) > 1:
        assert places[kept[0]] == places[0]
    if len(kept):
        assert kept[-1] == len(places) - 1


def test_they_are_even_along_the_axis_and_not_by_number() -> None:
    # Logged at every step at first, then at every hundredth.
    places = np.concatenate([np.arange(100.0), np.arange(100.0, 10_001, 100)])
    kept = places[pick_evenly(places, 11)]
    assert kept.tolist() == [0, *range(1000, 10_001, 1000)]


def test_a_long_gap_does_not_cost_steps() -> None:
    places = np.append(np.arange(100.0), 1e6)
    kept = places[pick_evenly(places, 10)]
    assert len(kept) == 10
    assert kept[-1] == 1e6
