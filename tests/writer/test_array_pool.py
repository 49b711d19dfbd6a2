"""Copies are copies, and memory that was given back is used again."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.writer import histograms
from tracklight.writer.histograms import acquire_copy, release_copy


@pytest.fixture(autouse=True)
def no_spare_memory() -> None:
    histograms._pool.clear()


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (300, 400), (2000, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_copies(shape: tuple[int, ...], dtype: type) -> None:
    array = np.ones(shape, dtype)
    copy = acquire_copy(array[..., ::-1] if shape else array)
    array[...] = 7
    assert (copy.shape, copy.dtype) == (array.shape, array.dtype)
    assert (copy == 1).all()
    release_copy(copy)


def test_memory_is_used_again_for_about_the_same_size() -> None:
    one = acquire_copy(np.zeros(100_000, np.float32))
    release_copy(one)
    two = acquire_copy(np.zeros(30_000, np.float32))
    assert not np.shares_memory(one, two)
    three = acquire_copy(np.zeros(45_000))
    assert np.shares_memory(one, three)
    four = acquire_copy(np.zeros(45_000))
    assert not np.shares_memory(three, four)


def test_no_more_than_a_little_is_kept() -> None:
    for copy in [acquire_copy(np.zeros(1 << 18, np.float32)) for _ in range(20)]:
        release_copy(copy)
    assert len(histograms._pool) == 16
