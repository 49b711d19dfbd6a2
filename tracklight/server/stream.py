"""``GET api/live``: the stream of changes as an HTTP answer; see ``server.live``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tracklight.server.live import Live
from tracklight.server.patience import find_file_limit
from tracklight.server.problems import refuse

# A proxy that collects an answer before it passes it on would hold the stream back forever.
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class EventStream(Response):
    """Sends events until there are no more, or nobody listens any longer."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        self._events = events
        self.status_code = 200
        self.init_headers(_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_leave(receive))
        leaving.add_done_callback(lambda _: sending.cancel())
        try:
            await sending
        except asyncio.CancelledError:
            if not leaving.done():  # it is the server that wants to end
                raise
        finally:
            leaving.cancel()

    async def _send(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        async with contextlib.aclosing(self._events):
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def stream_route(live: Live) -> Route:
    async def follow(request: Request) -> Response:
        if live.bell.listeners >= find_file_limit() // 2:
            return refuse(503, "too many pages follow this board")
        since = request.query_params.get("since", "")
        return EventStream(live.stream(request.headers.get("last-event-id") or since))

    return Route("/live", follow)
