"""Pooled copies of arrays: `acquire_copy` and `release_copy`."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from tracklight.writer import values
from tracklight.writer.values import acquire_copy, release_copy


@pytest.fixture(autouse=True)
def empty_pool(monkeypatch: pytest.MonkeyPatch) -> deque[Any]:
    pool: deque[Any] = deque()
    monkeypatch.setattr(values, "_pool", pool)
    return pool


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (300, 400), (2000, 1000)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_copy_is_independent_of_the_original(shape: tuple[int, ...], dtype: type) -> None:
    array = np.ones(shape, dtype)
    copy = acquire_copy(array[..., ::-1] if shape else array)
    array[...] = 7
    assert (copy.shape, copy.dtype) == (array.shape, array.dtype)
    assert (copy == 1).all()
    release_copy(copy)


@pytest.mark.parametrize("start", [0, 1, 63])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 127, 128, 200, 1 << 16])
def test_all_bytes_are_copied_and_no_others(start: int, size: int) -> None:
    source = np.random.default_rng(size).integers(0, 256, size + 100, np.uint8)
    for offset in range(66):
        target = np.zeros(size + 200, np.uint8)
        values.copy_bytes(source[start : start + size], target[offset : offset + size])
        assert (target[offset : offset + size] == source[start : start + size]).all()
        assert not target[:offset].any()
        assert not target[offset + size :].any()


def test_reuses_released_memory_for_similar_sizes() -> None:
    one = acquire_copy(np.zeros(100_000, np.float32))
    release_copy(one)
    two = acquire_copy(np.zeros(30_000, np.float32))
    assert not np.shares_memory(one, two)
    three = acquire_copy(np.zeros(45_000))
    assert np.shares_memory(one, three)
    four = acquire_copy(np.zeros(45_000))
    assert not np.shares_memory(three, four)


def test_pool_is_limited_to_16_mib(empty_pool: deque[Any]) -> None:
    for copy in [acquire_copy(np.zeros(1 << 18, np.float32)) for _ in range(20)]:
        release_copy(copy)
    assert len(empty_pool) == 16
