"""Routes of the plugin door as the web framework wants them: decode, answer in a thread, encode."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as WebRoute
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

import tracklight
from tracklight.analysis.source import Blob, Empty, Problem, Stream
from tracklight.errors import UsageError
from tracklight.plugin import Route
from tracklight.server.auth import READ_ONLY_KEY
from tracklight.server.middleware import run_in_thread
from tracklight.server.responses import (
    IMMUTABLE_CACHE_CONTROL,
    create_error_response,
    create_response,
)
from tracklight.util.hashing import hash_key

_MAX_BODY_BYTES = 1 << 20

METHODS_WITHOUT_BODY = frozenset({"GET", "DELETE"})

#: A whole ask as JSON in the query, for links to what takes more than plain values.
REQUEST_PARAM = "ask"


def create_routes(routes: Iterable[Route]) -> list[WebRoute]:
    return [
        WebRoute(f"/{route.path}", _create_endpoint(route), methods=[route.method])
        for route in routes
    ]


class LazyRouter:
    """Makes routes when the first of them is asked for."""

    def __init__(self, get_routes: Callable[[], Iterable[Route]]) -> None:
        self._get_routes = get_routes
        self._router: Router | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            routes = await asyncio.to_thread(self._get_routes)
            self._router = Router(create_routes(routes), redirect_slashes=False)
        await self._router(scope, receive, send)


def _create_endpoint(route: Route) -> Any:
    async def endpoint(request: Request) -> Response:
        if route.mutates and request.scope.get(READ_ONLY_KEY):
            return create_error_response(
                403, "this board is read-only", "Start it without --read-only."
            )
        if route.mutates and route.method not in METHODS_WITHOUT_BODY and not _is_json(request):
            return create_error_response(415, f"{request.url.path} takes JSON")
        limit_bytes = route.upload_bytes or _MAX_BODY_BYTES
        body = (
            b"" if route.method in METHODS_WITHOUT_BODY else await read_body(request, limit_bytes)
        )
        return await run_in_thread(request.scope, _handle, route, request, body)

    return endpoint


def _is_json(request: Request) -> bool:
    """What no form of another page can send, so that a browser asks before it lets one do so."""
    media_type = request.headers.get("content-type", "")
    return media_type.partition(";")[0].strip().lower() == "application/json"


def _handle(route: Route, request: Request, body: bytes) -> Response:
    tag = None if route.etag is None else _make_etag(route.etag(), request)
    if tag is not None and tag in request.headers.get("if-none-match", ""):
        return _set_etag(Response(status_code=304), tag)
    try:
        ask = _decode_request(route, request, body)
    except UnicodeError as error:
        raise UsageError("the text of this request is not UTF-8") from error
    answer = create_response(route.handler(ask), request.headers)
    if route.immutable is not None and route.immutable(ask):
        answer.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL
    return answer if tag is None else _set_etag(answer, tag)


def _decode_request(route: Route, request: Request, body: bytes) -> Any:
    if route.method in METHODS_WITHOUT_BODY:
        return decode_query(request.query_params, request.path_params, route.request_type)
    if route.upload_bytes is not None:
        return msgspec.convert({**request.query_params, "body": body}, route.request_type)
    if not request.path_params:
        return msgspec.json.decode(body, type=route.request_type)
    fields = msgspec.json.decode(body, type=dict[str, Any])
    return msgspec.convert({**fields, **request.path_params}, route.request_type)


def decode_query(query: QueryParams, path: Mapping[str, str], request_type: Any) -> Any:
    """The ask in the query of an address: one parameter a field, lists by repeating theirs."""
    whole = query.get(REQUEST_PARAM)
    if whole is not None:
        fields = msgspec.json.decode(whole, type=dict[str, Any])
        return msgspec.convert({**fields, **path}, request_type)
    lists = _get_list_fields(request_type)
    fields = {name: query.getlist(name) if name in lists else query[name] for name in query.keys()}
    # What stands in an address is text, also where a number is meant.
    return msgspec.convert({**fields, **path}, request_type, strict=False)


def _get_list_fields(ask: Any) -> frozenset[str]:
    info = msgspec.inspect.type_info(ask)
    fields = info.fields if isinstance(info, msgspec.inspect.StructType) else ()
    return frozenset(field.encode_name for field in fields if _accepts_list(field.type))


def _accepts_list(kind: msgspec.inspect.Type) -> bool:
    kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    return any(isinstance(one, msgspec.inspect.ListType) for one in kinds)


def _make_etag(state: str, request: Request) -> str:
    """Weak: the same rows may come in another order of fields, compressed or not."""
    asked = f"{state} {request.url.query} {request.headers.get('accept')}"
    return f'W/"{hash_key(asked, size_bytes=8)}"'


def _set_etag(answer: Response, tag: str) -> Response:
    """A browser may keep it, but has to ask whether it still holds."""
    answer.headers["etag"] = tag
    answer.headers["cache-control"] = "no-cache"
    return answer


async def read_body(request: Request, limit_bytes: int = _MAX_BODY_BYTES) -> bytes:
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


# ``GET api/openapi.json``: every address and what it takes and gives, for programs.
#
# `docs/http-api.md` tells people the same, and more of answers that are made of columns.

JsonObject = dict[str, Any]

_SCHEMA_PREFIX = "#/components/schemas/"


class ErrorResponse(msgspec.Struct):
    """Every answer that is not a success."""

    error: Problem


class OpenApiDocument(msgspec.Struct):
    """The API as OpenAPI 3.1 describes one."""

    openapi: str
    info: JsonObject
    paths: dict[str, JsonObject]
    components: JsonObject


def create_openapi_route(list_routes: Callable[[], Iterable[Route]]) -> Route:
    described = cache(lambda: describe_routes(list(list_routes())))

    def answer(_: Empty) -> OpenApiDocument:
        """What this page tells people, as OpenAPI tells programs."""
        return described()

    return Route("openapi.json", Empty, answer, "GET")


def describe_routes(routes: list[Route]) -> OpenApiDocument:
    """All that is to be known of these routes to call them."""
    gives = map(_get_response_type, routes)
    kinds = [route.request_type for route in routes] + [kind for kind in gives if _has_schema(kind)]
    schemas, named = msgspec.json.schema_components(
        [*kinds, ErrorResponse], schema_hook=_describe_array, ref_template=_SCHEMA_PREFIX + "{name}"
    )
    known = dict(zip(map(repr, [*kinds, ErrorResponse]), schemas, strict=True))
    paths: dict[str, JsonObject] = {}
    for route in routes:
        operation = _describe_route(route, known, named)
        paths.setdefault(f"/api/{route.path}", {})[route.method.lower()] = operation
    info = {"title": "tracklight", "version": tracklight.__version__}
    return OpenApiDocument("3.1.0", info, paths, {"schemas": named})


def _describe_route(
    route: Route, known: dict[str, JsonObject], named: dict[str, Any]
) -> JsonObject:
    operation: JsonObject = {
        "summary": (route.handler.__doc__ or "").partition("\n")[0],
        "parameters": list(_iter_parameters(route, known, named)),
        "responses": {
            "200": {
                "description": "What was asked for.",
                "content": _describe_response(route, known),
            },
            "default": {
                "description": "What is wrong, and what to do about it.",
                "content": {"application/json": {"schema": known[repr(ErrorResponse)]}},
            },
        },
    }
    if route.upload_bytes is not None:
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif route.method not in METHODS_WITHOUT_BODY:
        content = {"application/json": {"schema": known[repr(route.request_type)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _describe_response(route: Route, known: dict[str, JsonObject]) -> JsonObject:
    gives = _get_response_type(route)
    if gives in (Blob, Stream):
        return {"*/*": {}}
    return {"application/json": {"schema": known.get(repr(gives), {})}}


def _iter_parameters(
    route: Route, known: dict[str, JsonObject], named: dict[str, Any]
) -> Iterator[JsonObject]:
    """Fields of the ask that stand in the address: all of them where there is no body."""
    schema = known[repr(route.request_type)]
    schema = named.get(schema.get("$ref", "").removeprefix(_SCHEMA_PREFIX), schema)
    is_upload = route.upload_bytes is not None
    for name, field in schema.get("properties", {}).items():
        in_path = f"{{{name}}}" in route.path
        in_query = (route.method in METHODS_WITHOUT_BODY or is_upload) and not (
            is_upload and name == "body"
        )
        if in_path or in_query:
            yield {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path or name in schema.get("required", ()),
                "schema": field,
            }


def _get_response_type(route: Route) -> Any:
    return get_type_hints(route.handler).get("return", Any)


def _has_schema(kind: Any) -> bool:
    """Whether an answer can be described; a column of either of two widths cannot."""
    try:
        msgspec.inspect.type_info(kind)
    except TypeError:
        return False
    return kind not in (Blob, Stream)


def _describe_array(kind: type) -> JsonObject:
    # From NumPy 2.5 on, `NDArray` is not replaced by what it stands for.
    is_column = get_origin(kind) in (np.ndarray, NDArray)
    return {"type": "array"} if is_column else {"title": "Anything"}
