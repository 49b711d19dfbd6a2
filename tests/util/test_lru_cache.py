from __future__ import annotations

import gc
import threading
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.waiting import wait_until
from tracklight.util.memory import LruCache


class Key:
    """Compared by identity, and can be referenced weakly."""


def fail() -> int:
    raise ValueError("cannot be built")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60))))
def test_budget_is_never_exceeded(puts: list[tuple[int, int]]) -> None:
    cache: LruCache[int, int] = LruCache(max_bytes=100)
    for key, size in puts:
        cache.put(key, size, size)
        assert cache.find(key) == size
        kept = [size for key in range(10) if (size := cache.find(key)) is not None]
        assert cache.size_bytes == sum(kept) <= 100


def test_least_recently_used_value_is_evicted() -> None:
    cache: LruCache[str, int] = LruCache(max_bytes=2)
    cache.put("a", 1, 1)
    cache.put("b", 2, 1)
    cache.find("a")
    cache.put("c", 3, 1)
    assert (cache.find("a"), cache.find("b"), cache.find("c")) == (1, None, 3)


def test_number_of_items_is_bounded() -> None:
    cache: LruCache[int, int] = LruCache(max_items=3)
    for number in range(10):
        cache.put(number, number)
    assert [cache.find(number) for number in range(10)] == [None] * 7 + [7, 8, 9]
    cache.remove(8)
    assert (len(cache), cache.find(8)) == (2, None)


def test_oversized_value_is_returned_but_not_kept() -> None:
    cache: LruCache[str, str] = LruCache(max_bytes=10)
    cache.put("small", "a", 4)
    assert cache.get_or_build("large", lambda: "large", lambda _: 1000) == "large"
    assert (cache.find("small"), cache.find("large"), cache.size_bytes) == ("a", None, 4)


def test_value_that_grows_beyond_the_budget_is_dropped() -> None:
    cache: LruCache[str, int] = LruCache(max_bytes=10)
    cache.put("a", 1, 4)
    cache.put("a", 2, 40)
    assert (cache.find("a"), cache.size_bytes) == (None, 0)


def test_last_oversized_value_can_be_kept_outside_the_budget() -> None:
    cache: LruCache[str, str] = LruCache(max_bytes=10, keep_oversized=True)
    cache.put("small", "s", 4)
    cache.put("huge", "h", 1000)
    assert (cache.find("small"), cache.find("huge"), cache.size_bytes) == ("s", "h", 4)
    cache.put("vast", "v", 2000)
    assert (cache.find("small"), cache.find("huge"), cache.find("vast")) == ("s", None, "v")


@pytest.mark.parametrize("size", [10, 1000])
def test_idle_values_are_dropped(size: int) -> None:
    cache: LruCache[str, int] = LruCache(max_bytes=100, idle_s=0.05, keep_oversized=True)
    for _ in range(2):
        cache.put("a", 1, size)
        assert len(cache) == 1
        wait_until(lambda: len(cache) == 0)
    assert (cache.find("a"), cache.size_bytes) == (None, 0)


def test_failed_build_leaves_nothing_behind() -> None:
    cache: LruCache[Key, int] = LruCache(max_bytes=10)
    key = Key()
    alive = weakref.ref(key)
    with pytest.raises(ValueError, match="cannot be built"):
        cache.get_or_build(key, fail)
    del key
    gc.collect()
    assert alive() is None


def test_next_call_builds_again_after_a_failure() -> None:
    cache: LruCache[str, int] = LruCache(max_bytes=10)
    with pytest.raises(ValueError, match="cannot be built"):
        cache.get_or_build("a", fail)
    assert cache.get_or_build("a", lambda: 1) == 1


class CountedKey:
    """Counts lookups by thread."""

    def __init__(self) -> None:
        self.lookups: Counter[int] = Counter()

    def __hash__(self) -> int:
        self.lookups[threading.get_ident()] += 1
        return 1


@pytest.mark.parametrize("size", [1, 1000], ids=["kept", "oversized"])
def test_concurrent_callers_share_one_build(size: int) -> None:
    cache: LruCache[object, list[int]] = LruCache(max_bytes=10)
    builds: list[int] = []
    has_started, may_finish = threading.Event(), threading.Event()
    key = CountedKey()

    def build() -> list[int]:
        has_started.set()
        assert may_finish.wait(60)
        builds.append(1)
        return builds

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(cache.get_or_build, key, build, lambda _: size)]
        assert has_started.wait(60)
        futures += [pool.submit(cache.get_or_build, key, build, lambda _: size) for _ in range(2)]
        # Each caller looks up the value and then the build before it waits.
        wait_until(lambda: len([1 for count in key.lookups.values() if count >= 2]) == 3)
        # Other keys are not blocked.
        assert cache.get_or_build("b", lambda: [2]) == [2]
        may_finish.set()
        assert all(future.result(60) is builds for future in futures)
    assert builds == [1]
