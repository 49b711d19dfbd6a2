"""Copies are copies, and memory that was given back is used again."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.sdk import scratch
from tracklight.sdk.scratch import give_back, take_copy


@pytest.fixture(autouse=True)
def no_spare_memory() -> None:
    scratch._spare.clear()


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (300, 400), (2000, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_copies(shape: tuple[int, ...], dtype: type) -> None:
    array = np.ones(shape, dtype)
    copy = take_copy(array[..., ::-1] if shape else array)
    array[...] = 7
    assert (copy.shape, copy.dtype) == (array.shape, array.dtype)
    assert (copy == 1).all()
    give_back(copy)


def test_memory_is_used_again_for_about_the_same_size() -> None:
    one = take_copy(np.zeros(100_000, np.float32))
    give_back(one)
    two = take_copy(np.zeros(30_000, np.float32))
    assert not np.shares_memory(one, two)
    three = take_copy(np.zeros(45_000))
    assert np.shares_memory(one, three)
    four = take_copy(np.zeros(45_000))
    assert not np.shares_memory(three, four)


def test_no_more_than_a_little_is_kept() -> None:
    for copy in [take_copy(np.zeros(1 << 18, np.float32)) for _ in range(20)]:
        give_back(copy)
    assert len(scratch._spare) == 16
