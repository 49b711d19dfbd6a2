"""The cache never holds more than it may."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from tests.server.waiting import wait_until
from tracklight.media.shelf import Shelf


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60))))
def test_no_more_than_the_limit_is_held(kept: list[tuple[int, int]]) -> None:
    shelf: Shelf[int, int] = Shelf(100)
    for key, size in kept:
        shelf.keep(key, size, size)
        assert shelf.find(key) == size
        held = [size for key in range(10) if (size := shelf.find(key)) is not None]
        assert shelf.held_bytes == sum(held) <= 100


def test_what_was_used_last_stays() -> None:
    shelf: Shelf[str, int] = Shelf(2)
    shelf.keep("a", 1, 1)
    shelf.keep("b", 2, 1)
    shelf.find("a")
    shelf.keep("c", 3, 1)
    assert (shelf.find("a"), shelf.find("b"), shelf.find("c")) == (1, None, 3)


def test_a_giant_is_not_kept() -> None:
    shelf: Shelf[str, int] = Shelf(2)
    shelf.keep("a", 1, 1)
    shelf.keep("giant", 2, 3)
    assert (shelf.find("a"), shelf.find("giant")) == (1, None)


def test_what_nobody_asks_for_is_let_go() -> None:
    shelf: Shelf[str, int] = Shelf(100, idle_s=0.05)
    shelf.keep("a", 1, 10)
    assert shelf.find("a") == 1
    wait_until(lambda: shelf.held_bytes == 0)
    assert shelf.find("a") is None
    shelf.keep("b", 2, 10)
    wait_until(lambda: shelf.held_bytes == 0)


def test_what_several_want_at_once_is_made_once() -> None:
    shelf: Shelf[str, list[int]] = Shelf(10)
    made: list[int] = []
    is_wanted, may_go_on = threading.Event(), threading.Event()

    def make() -> list[int]:
        is_wanted.set()
        assert may_go_on.wait(60)
        made.append(1)
        return made

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(shelf.get, "a", make, len)
        assert is_wanted.wait(60)
        second = pool.submit(shelf.get, "a", make, len)
        may_go_on.set()
        assert first.result(60) is second.result(60)
    assert made == [1]


def test_the_one_that_is_looked_at_is_kept_however_large() -> None:
    shelf: Shelf[str, str] = Shelf(10)
    assert shelf.get("a", lambda: "large", lambda it: 1000) == "large"
    assert shelf.find("a") == "large"
