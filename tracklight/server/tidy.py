"""Hands memory back once a burst of requests is over, so that a board at rest is small."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from tracklight.index.memory import give_back
from tracklight.index.pack import let_go

QUIET_S = 2.0
#: Nobody is answered while Python looks at all that there is, which takes most of a second where
#: thousands of streams are open.
_COLLECTING_SHARE = 0.01


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


class Collector:
    """Drops what nobody refers to; as often as it likes what is new, and seldom all there is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._whole_again_s = 0.0

    def collect(self) -> None:
        began_s = self._clock()
        is_whole = began_s >= self._whole_again_s
        if is_whole:
            gc.unfreeze()
        gc.collect()
        # What has stayed is likely to stay, and is not looked at until all is.
        gc.freeze()
        if is_whole:
            ended_s = self._clock()
            self._whole_again_s = ended_s + (ended_s - began_s) / _COLLECTING_SHARE


_collector = Collector()


def tidy_up() -> None:
    """Drop what nobody refers to, the pages of the cache that were looked at, and free memory."""
    _collector.collect()
    let_go()
    give_back()
