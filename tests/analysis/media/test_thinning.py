from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.media.static_export import ByteBudget, thin_evenly


@given(st.integers(0, 5000), st.integers(1, 60))
def test_values_are_evenly_chosen(count: int, most: int) -> None:
    chosen = thin_evenly(count, most)
    assert len(chosen) == min(count, most)
    gaps = np.diff(chosen)
    assert (gaps > 0).all()
    if count:
        assert chosen[-1] == count - 1
    if len(chosen) > 1:
        assert chosen[0] == 0
        assert gaps.max() - gaps.min() <= 1


def test_what_one_series_leaves_over_is_for_the_next() -> None:
    budget = ByteBudget(series=3, limit_bytes=90)
    assert budget.next_share() == 30
    assert budget.spend(10)
    assert budget.next_share() == 40
    assert budget.spend(70)
    assert budget.next_share() == 10
    assert not budget.spend(11)
    assert budget.left_bytes == 10
