"""Hands memory back once a burst of requests is over, so that a board at rest is small."""

from __future__ import annotations

import asyncio
import contextlib
import gc

from starlette.types import ASGIApp, Receive, Scope, Send

from tracklight.index.memory import give_back
from tracklight.index.pack import let_go

QUIET_S = 2.0


class Tidy:
    """Tidies up when no request has ended for a while after the last one did."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            if scope["type"] == "http":
                self._wait()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(QUIET_S, self._tidy)

    @staticmethod
    def _tidy() -> None:
        # A server that is just ending takes no more work.
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().run_in_executor(None, tidy_up)


def tidy_up() -> None:
    """Drop what nobody refers to, the pages of the cache that were looked at, and free memory."""
    gc.collect()
    let_go()
    give_back()
