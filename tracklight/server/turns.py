"""Nobody keeps all others waiting: each address has a few of its requests answered at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import ParamSpec, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from tracklight.server.problems import refuse
from tracklight.server.security import find_path

P = ParamSpec("P")
T = TypeVar("T")

#: Requests are answered by as many threads as asyncio has by default; two are left to others.
AT_ONCE = max(2, min(32, (os.cpu_count() or 1) + 4) - 2)
#: In the scope of a request: what is held while it is worked on, though not while it is sent.
TURN = "tracklight.turn"
#: A page asks for six things at once; ten pages behind one proxy do no harm.
MOST_WAITING = 256


async def work(scope: Scope, do: Callable[P, T], *args: P.args, **rest: P.kwargs) -> T:
    """Do something in a thread when it is the turn of who asked."""
    async with scope.get(TURN) or nullcontext():
        return await asyncio.to_thread(do, *args, **rest)


class _Queue:
    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(AT_ONCE)
        self.requests = 0


class Turns:
    """Lets requests of one address wait for each other, and turns away who piles them up."""

    def __init__(self, app: ASGIApp, endless_path: str = "") -> None:
        self.app = app
        self._endless_path = endless_path
        """Answered for as long as somebody listens, without a thread of its own."""
        self._queues: dict[str, _Queue] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or find_path(scope) == self._endless_path:
            await self.app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        queue = self._queues.setdefault(address, _Queue())
        if queue.requests >= AT_ONCE + MOST_WAITING:
            answer = refuse(429, "too many requests of this address wait for an answer")
            answer.headers["retry-after"] = "1"
            await answer(scope, receive, send)
            return
        queue.requests += 1
        scope[TURN] = queue.turns
        try:
            await self.app(scope, receive, send)
        finally:
            queue.requests -= 1
            if queue.requests == 0:
                self._queues.pop(address, None)
