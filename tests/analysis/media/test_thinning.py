"""Values are thinned evenly, and bytes are shared between series."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.media import ByteBudget, thin_evenly


@given(st.integers(0, 5000), st.integers(1, 60))
def test_indexes_are_evenly_spaced(count: int, max_count: int) -> None:
    indexes = thin_evenly(count, max_count)
    assert len(indexes) == min(count, max_count)
    gaps = np.diff(indexes)
    assert (gaps > 0).all()
    if count:
        assert indexes[-1] == count - 1
    if len(indexes) > 1:
        assert indexes[0] == 0
        assert gaps.max() - gaps.min() <= 1


def test_unused_bytes_are_left_for_later_series() -> None:
    budget = ByteBudget(series=3, limit_bytes=90)
    assert budget.next_share() == 30
    assert budget.spend(10)
    assert budget.next_share() == 40
    assert budget.spend(70)
    assert budget.next_share() == 10
    assert not budget.spend(11)
    assert budget.left_bytes == 10
