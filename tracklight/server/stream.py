"""``GET api/live``: the stream of changes as an HTTP answer; see ``server.live``."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tracklight.server.live import Live

# A proxy that collects an answer before it passes it on would hold the stream back forever.
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def stream_route(live: Live) -> Route:
    async def follow(request: Request) -> Response:
        since = request.query_params.get("since", "")
        cursor = request.headers.get("last-event-id") or since
        events = live.stream(cursor)
        return StreamingResponse(events, media_type="text/event-stream", headers=_HEADERS)

    return Route("/live", follow)
