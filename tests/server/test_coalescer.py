from __future__ import annotations

import asyncio

import pytest

from tracklight.server.events import Coalescer, Notifier


def test_concurrent_callers_share_one_computation() -> None:
    computed: list[str] = []
    coalescer: Coalescer[str, str] = Coalescer(
        Notifier(), lambda it: computed.append(it) or it, 3600
    )

    async def get_all() -> list[str]:
        return await asyncio.gather(*(coalescer.get(key) for key in "aabab"))

    assert asyncio.run(get_all()) == list("aabab")
    assert sorted(computed) == ["a", "b"]


def test_notification_invalidates_results() -> None:
    notifier = Notifier()
    computed: list[int] = []
    coalescer: Coalescer[str, int] = Coalescer(
        notifier, lambda _: computed.append(1) or len(computed), 3600
    )

    async def get_twice() -> list[int]:
        first = await coalescer.get("a")
        notifier.notify()
        return [first, await coalescer.get("a")]

    assert asyncio.run(get_twice()) == [1, 2]


def test_cancelling_one_caller_does_not_affect_others() -> None:
    coalescer: Coalescer[str, str] = Coalescer(Notifier(), str, 3600)

    async def cancel_one() -> str:
        cancelled = asyncio.ensure_future(coalescer.get("a"))
        waiting = asyncio.ensure_future(coalescer.get("a"))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return await waiting

    assert asyncio.run(cancel_one()) == "a"
