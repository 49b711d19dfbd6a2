"""A board as a part of another ASGI application."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
from collections.abc import AsyncIterator

from starlette.types import Receive, Scope, Send

from tracklight.index.catalog import Catalog
from tracklight.server.run import create_board_app, open_watch
from tracklight.server.settings import Settings


class MountedBoard:
    """Begins to read with the first request, or with the lifespan of the application it is part of.

    An application that mounts another does not tell it when it starts and ends. Where that is
    wanted, ``lifespan=board.lifespan`` tells it; else the board ends with the program.
    """

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._watch = open_watch(catalog, settings)
        policy = settings.door.make_policy(settings.host, settings.trusted_hosts, True)
        self._app = create_board_app(catalog, self._watch, policy, settings)
        self._running = contextlib.AsyncExitStack()
        self._starting = asyncio.Lock()
        self._is_running = False
        atexit.register(self._close_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":  # of a server that runs nothing but this
            await _answer_lifespan(self, receive, send)
            return
        await self._start()
        await self._app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """For the application that this one is part of: begins to read, and ends."""
        await self._start()
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        """End open streams, stop reading, and keep what was read for the next time."""
        await self._running.aclose()
        self._close_log()

    async def _start(self) -> None:
        async with self._starting:
            if not self._is_running:
                self._is_running = True
                lifespan = self._app.router.lifespan_context(self._app)
                await self._running.enter_async_context(lifespan)

    def _close_log(self) -> None:
        atexit.unregister(self._close_log)
        self._watch.stop()
        self._catalog.close()


async def _answer_lifespan(board: MountedBoard, receive: Receive, send: Send) -> None:
    await receive()
    async with board.lifespan():
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
