from __future__ import annotations

import asyncio

import pytest

from tracklight.server.events import Coalescer, Notifier


def test_who_stands_at_the_same_place_is_told_the_same_once() -> None:
    asked: list[str] = []
    together: Coalescer[str, str] = Coalescer(Notifier(), lambda it: asked.append(it) or it, 3600)

    async def ask_all() -> list[str]:
        return await asyncio.gather(*(together.get(place) for place in "aabab"))

    assert asyncio.run(ask_all()) == list("aabab")
    assert sorted(asked) == ["a", "b"]


def test_after_a_ring_it_is_put_together_anew() -> None:
    bell = Notifier()
    told: list[int] = []
    together: Coalescer[str, int] = Coalescer(bell, lambda _: told.append(1) or len(told), 3600)

    async def ask_twice() -> list[int]:
        first = await together.get("a")
        bell.notify()
        return [first, await together.get("a")]

    assert asyncio.run(ask_twice()) == [1, 2]


def test_who_leaves_takes_nothing_from_others() -> None:
    together: Coalescer[str, str] = Coalescer(Notifier(), str, 3600)

    async def leave() -> str:
        leaving = asyncio.ensure_future(together.get("a"))
        staying = asyncio.ensure_future(together.get("a"))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return await staying

    assert asyncio.run(leave()) == "a"
