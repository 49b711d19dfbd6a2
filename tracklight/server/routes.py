"""Routes of the plugin door as the web framework wants them: decode, answer in a thread, encode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as WebRoute
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from tracklight.errors import UsageError
from tracklight.plugin_base import Route
from tracklight.server.answers import FOREVER, respond
from tracklight.server.problems import refuse
from tracklight.server.security import READ_ONLY
from tracklight.server.turns import work
from tracklight.util.hashing import hash_key

_MOST_BODY_BYTES = 1 << 20
BODILESS = frozenset({"GET", "DELETE"})

#: A whole ask as JSON in the query, for links to what takes more than plain values.
WHOLE_ASK = "ask"


def web_routes(routes: Iterable[Route]) -> list[WebRoute]:
    return [
        WebRoute(f"/{route.path}", _make_endpoint(route), methods=[route.method])
        for route in routes
    ]


class LateRouter:
    """Makes routes when the first of them is asked for."""

    def __init__(self, get_routes: Callable[[], Iterable[Route]]) -> None:
        self._get_routes = get_routes
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            routes = await asyncio.to_thread(self._get_routes)
            self._router = Router(web_routes(routes), redirect_slashes=False)
        await self._router(scope, receive, send)


def _make_endpoint(route: Route) -> Any:
    async def endpoint(request: Request) -> Response:
        if route.mutates and request.scope.get(READ_ONLY):
            return refuse(403, "this board is read-only", "Start it without --read-only.")
        if route.mutates and route.method not in BODILESS and not _is_json(request):
            return refuse(415, f"{request.url.path} takes JSON")
        limit_bytes = route.upload_bytes or _MOST_BODY_BYTES
        body = b"" if route.method in BODILESS else await read_body(request, limit_bytes)
        return await work(request.scope, _answer, route, request, body)

    return endpoint


def _is_json(request: Request) -> bool:
    """What no form of another page can send, so that a browser asks before it lets one do so."""
    media_type = request.headers.get("content-type", "")
    return media_type.partition(";")[0].strip().lower() == "application/json"


def _answer(route: Route, request: Request, body: bytes) -> Response:
    tag = None if route.etag is None else _make_etag(route.etag(), request)
    if tag is not None and tag in request.headers.get("if-none-match", ""):
        return _keepable(Response(status_code=304), tag)
    try:
        ask = _decode(route, request, body)
    except UnicodeError as error:
        raise UsageError("the text of this request is not UTF-8") from error
    answer = respond(route.handler(ask), request.headers)
    if route.immutable is not None and route.immutable(ask):
        answer.headers["cache-control"] = FOREVER
    return answer if tag is None else _keepable(answer, tag)


def _decode(route: Route, request: Request, body: bytes) -> Any:
    if route.method in BODILESS:
        return decode_query(request.query_params, request.path_params, route.request_type)
    if route.upload_bytes is not None:
        return msgspec.convert({**request.query_params, "body": body}, route.request_type)
    if not request.path_params:
        return msgspec.json.decode(body, type=route.request_type)
    fields = msgspec.json.decode(body, type=dict[str, Any])
    return msgspec.convert({**fields, **request.path_params}, route.request_type)


def decode_query(query: QueryParams, path: Mapping[str, str], ask: Any) -> Any:
    """The ask in the query of an address: one parameter a field, lists by repeating theirs."""
    whole = query.get(WHOLE_ASK)
    if whole is not None:
        fields = msgspec.json.decode(whole, type=dict[str, Any])
        return msgspec.convert({**fields, **path}, ask)
    lists = _list_fields(ask)
    fields = {name: query.getlist(name) if name in lists else query[name] for name in query.keys()}
    # What stands in an address is text, also where a number is meant.
    return msgspec.convert({**fields, **path}, ask, strict=False)


def _list_fields(ask: Any) -> frozenset[str]:
    info = msgspec.inspect.type_info(ask)
    fields = info.fields if isinstance(info, msgspec.inspect.StructType) else ()
    return frozenset(field.encode_name for field in fields if _holds_list(field.type))


def _holds_list(kind: msgspec.inspect.Type) -> bool:
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return any(isinstance(one, msgspec.inspect.ListType) for one in kinds)


def _make_etag(state: str, request: Request) -> str:
    """Weak: the same rows may come in another order of fields, compressed or not."""
    asked = f"{state} {request.url.query} {request.headers.get('accept')}"
    return f'W/"{hash_key(asked, size_bytes=8)}"'


def _keepable(answer: Response, tag: str) -> Response:
    """A browser may keep it, but has to ask whether it still holds."""
    answer.headers["etag"] = tag
    answer.headers["cache-control"] = "no-cache"
    return answer


async def read_body(request: Request, limit_bytes: int = _MOST_BODY_BYTES) -> bytes:
    """The body of a request, which may not be larger than any honest one."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit_bytes:
                raise HTTPException(413, f"this request is larger than {limit_bytes >> 20} MB")
    except ClientDisconnect as error:  # nobody hears this, and it is no fault of ours
        raise HTTPException(408, "the rest of this request never came") from error
    return bytes(body)
