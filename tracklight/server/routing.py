"""Turn the routes of the plugin API into Starlette routes, describe them, and serve the page.

A request is decoded to the ``request_type`` of its `Route`, the handler runs in a worker thread,
and what it returns becomes the response. ``GET api/v1/openapi.json`` describes all routes for
programs; ``docs/http-api.md`` is generated from the same routes for people.

The page was built to files, and dashboards of plugins have files as well. Those below ``assets/``
have a hash in their name and never change; all others are revalidated. Starlette's `StaticFiles`
neither compresses nor sets the window title, so files are sent here.
"""

from __future__ import annotations

import asyncio
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Router
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

import tracklight
from tracklight.analysis.source import Blob, Empty, Problem, Stream
from tracklight.errors import Message, UsageError
from tracklight.plugin import Route
from tracklight.server.auth import READ_ONLY_KEY, USER_KEY, WRITER_KEY
from tracklight.server.middleware import CHANGE_KEY, Change, list_subjects, run_in_thread
from tracklight.server.plugins import DashboardEntry
from tracklight.server.responses import (
    IMMUTABLE_CACHE_CONTROL,
    HttpError,
    compress,
    create_compressed_response,
    create_error_response,
    create_response,
)
from tracklight.util.files import hash_key, observe_updates
from tracklight.util.memory import LruCache

#: All routes are below this path.
API_PREFIX = "api/v1"
#: The query parameter that may hold a whole request as JSON, for links to complex requests.
REQUEST_PARAM = "request"
METHODS_WITHOUT_BODY = frozenset({"GET", "DELETE"})
_MAX_BODY_BYTES = 1 << 20
#: Responses to the requests of other viewers that are kept, for each route that shares them.
_MAX_SHARED_BYTES = 16 << 20
_SHARED_IDLE_S = 30.0

JsonObject = dict[str, Any]


# ---- requests


def create_routes(routes: Iterable[Route]) -> list[StarletteRoute]:
    return [
        StarletteRoute(f"/{route.path}", _create_endpoint(route), methods=[route.method])
        for route in routes
    ]


class LazyRouter:
    """Create routes when the first of them is requested."""

    def __init__(
        self, get_routes: Callable[[], Iterable[BaseRoute]], *, redirect_slashes: bool = True
    ) -> None:
        self._get_routes = get_routes
        self._redirect_slashes = redirect_slashes
        self._router: Router | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._router is None:
            # A page sends several requests at once.
            async with self._lock:
                if self._router is None:
                    routes = await asyncio.to_thread(self._get_routes)
                    self._router = Router([*routes], redirect_slashes=self._redirect_slashes)
        await self._router(scope, receive, send)


def _create_endpoint(route: Route) -> Any:
    shared = None if route.etag is None else _SharedResponses()

    async def endpoint(request: Request) -> Response:
        if route.mutates:
            _get_change(request).is_mutation = True
            refusal = _find_refusal(request)
            if refusal is not None:
                return refusal
        is_upload = route.upload_bytes is not None
        has_body = route.method not in METHODS_WITHOUT_BODY
        if route.mutates and has_body and not is_upload and not _is_json(request):
            return create_error_response(
                415,
                Message.format("http.takes_json", "{path} takes JSON", path=request.url.path),
            )
        max_bytes = route.upload_bytes or route.max_body_bytes or _MAX_BODY_BYTES
        body = await read_body(request, max_bytes) if has_body else b""
        if shared is not None:
            return await shared.respond(route, request, body)
        return await run_in_thread(request.scope, _handle, route, request, body)

    return endpoint


def _find_refusal(request: Request) -> Response | None:
    """Return the response to a client that must not change anything."""
    if request.scope.get(READ_ONLY_KEY):
        return create_error_response(
            403,
            Message("http.read_only", "this server is read-only"),
            Message("hints.read_only", "Restart it without --read-only."),
        )
    if request.scope.get(WRITER_KEY, True):
        return None
    user = request.scope.get(USER_KEY)
    if not user:
        return create_error_response(
            403, Message("auth.unknown_writer", "only users with a name may change something here")
        )
    return create_error_response(
        403,
        Message.format(
            "auth.not_a_writer", '"{user}" may view this board, but not change it', user=user
        ),
        Message("hints.not_a_writer", "Ask whoever runs the server to add you to --writers."),
    )


def _get_change(request: Request) -> Change:
    """Return where to note what a request changes; only an audit log reads it."""
    change: Change = request.scope.get(CHANGE_KEY) or Change()
    return change


def _is_json(request: Request) -> bool:
    """Return whether the body is declared as JSON.

    Forms of other sites cannot send it: a browser asks the server before it lets a script do so.
    """
    media_type = request.headers.get("content-type", "")
    return media_type.partition(";")[0].strip().lower() == "application/json"


class _SharedResponses:
    """Answers equal requests with one response: many viewers look at the same live charts."""

    def __init__(self) -> None:
        self._cache = LruCache[str, Response](max_bytes=_MAX_SHARED_BYTES, idle_s=_SHARED_IDLE_S)
        self._pending: dict[str, asyncio.Future[Response]] = {}

    async def respond(self, route: Route, request: Request, body: bytes) -> Response:
        """Return the response to a request; only one thread at a time works on equal requests."""
        assert route.etag is not None
        # Taken before the log is read, as a cursor: a response is never older than its key says.
        state = route.etag()
        etag = _make_etag(state, request) if route.method == "GET" else None
        if etag is not None and etag in request.headers.get("if-none-match", ""):
            return _set_etag(Response(status_code=304), etag)
        names = ("accept", "accept-encoding", "range")
        scope, headers = request.scope, (request.headers.get(name) for name in names)
        url = scope["path"], scope["query_string"]
        key = hash_key(str([state, *url, *headers]), body.decode("latin-1"))
        response = self._cache.find(key)
        if response is None:
            pending = self._pending.get(key)
            is_first = pending is None
            if pending is None:
                work = run_in_thread(request.scope, self._build, key, route, request, body)
                pending = self._pending[key] = asyncio.ensure_future(work)
                pending.add_done_callback(lambda _: self._pending.pop(key))
            # The others still need it if this client disconnects.
            response = await asyncio.shield(pending)
            if isinstance(response, StreamingResponse) and not is_first:
                # A stream can be sent once.
                response = await run_in_thread(request.scope, _handle, route, request, body)
        if not isinstance(response, StreamingResponse):
            shared, response = response, Response(status_code=response.status_code)
            response.body, response.raw_headers = shared.body, [*shared.raw_headers]
        return response if etag is None else _set_etag(response, etag)

    def _build(self, key: str, route: Route, request: Request, body: bytes) -> Response:
        response = _handle(route, request, body)
        if not isinstance(response, StreamingResponse):
            self._cache.put(key, response, len(response.body))
        return response


def _handle(route: Route, request: Request, body: bytes) -> Response:
    try:
        decoded = _decode_request(route, request, body)
    except UnicodeError as error:
        raise UsageError("http.invalid_utf8", "the request is not valid UTF-8") from error
    result = _change(route, request, decoded, body) if route.mutates else route.handler(decoded)
    response = create_response(result, request.headers)
    if route.immutable is not None and route.immutable(decoded):
        response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL
    return response


def _change(route: Route, request: Request, decoded: Any, body: bytes) -> Any:
    """Call a handler that changes something, and note what it changed for the audit log."""
    change = _get_change(request)
    change.request_bytes, change.subjects = len(body), list_subjects(decoded)
    with observe_updates() as updates:
        result = route.handler(decoded)
    change.updates = updates
    return result


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
    """Decode a request from the query of a URL.

    Each field is one parameter; lists repeat theirs. Alternatively, the parameter ``request``
    holds the whole request as JSON.
    """
    whole = query.get(REQUEST_PARAM)
    if whole is not None:
        fields = msgspec.json.decode(whole, type=dict[str, Any])
        return msgspec.convert({**fields, **path}, request_type)
    lists = _get_list_fields(request_type)
    fields = {name: query.getlist(name) if name in lists else query[name] for name in query.keys()}
    # Not strict: numbers in a URL are text.
    return msgspec.convert({**fields, **path}, request_type, strict=False)


def _get_list_fields(request_type: Any) -> frozenset[str]:
    info = msgspec.inspect.type_info(request_type)
    fields = info.fields if isinstance(info, msgspec.inspect.StructType) else ()
    return frozenset(field.encode_name for field in fields if _accepts_list(field.type))


def _accepts_list(info: msgspec.inspect.Type) -> bool:
    types = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    return any(isinstance(type_, msgspec.inspect.ListType) for type_ in types)


def _make_etag(state: str, request: Request) -> str:
    """Make a weak ETag: compression and the order of fields may differ."""
    key = f"{state} {request.url.query} {request.headers.get('accept')}"
    return f'W/"{hash_key(key, size_bytes=8)}"'


def _set_etag(response: Response, etag: str) -> Response:
    """Let browsers cache the response, but revalidate it every time."""
    response.headers["etag"] = etag
    response.headers["cache-control"] = "no-cache"
    return response


async def read_body(request: Request, max_bytes: int = _MAX_BODY_BYTES) -> bytes:
    """Read the body of a request.

    Raises:
        HttpError: The body is too large, or the client disconnected.
    """
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise HttpError(
                    413,
                    Message.format(
                        "http.request_too_large",
                        "the request is larger than {max_mb} MB",
                        max_mb=max_bytes >> 20,
                    ),
                )
    except ClientDisconnect as error:  # the client is gone, which is not an error here
        raise HttpError(
            408, Message("http.disconnected", "the client disconnected during its request")
        ) from error
    return bytes(body)


# ---- OpenAPI

_SCHEMA_PREFIX = "#/components/schemas/"


class ErrorResponse(msgspec.Struct):
    """The body of every response that is not a success."""

    error: Problem


class OpenApiDocument(msgspec.Struct):
    """A description of the API according to OpenAPI 3.1."""

    openapi: str
    info: JsonObject
    paths: dict[str, JsonObject]
    components: JsonObject


def create_openapi_route(list_routes: Callable[[], Iterable[Route]]) -> Route:
    get_document = cache(lambda: describe_routes(list(list_routes())))

    def openapi(_: Empty) -> OpenApiDocument:
        """Describe all routes as OpenAPI 3.1."""
        return get_document()

    return Route("openapi.json", Empty, openapi, "GET")


def describe_routes(routes: list[Route]) -> OpenApiDocument:
    """Describe the requests and responses of routes."""
    response_types = [kind for kind in map(_get_response_type, routes) if _has_schema(kind)]
    types = [*(route.request_type for route in routes), *response_types, ErrorResponse]
    schemas, components = msgspec.json.schema_components(
        types, schema_hook=_describe_array, ref_template=_SCHEMA_PREFIX + "{name}"
    )
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, JsonObject] = {}
    for route in routes:
        operation = _describe_route(route, schema_of, components)
        paths.setdefault(f"/{API_PREFIX}/{route.path}", {})[route.method.lower()] = operation
    info = {"title": "tracklight", "version": tracklight.__version__}
    return OpenApiDocument("3.1.0", info, paths, {"schemas": components})


def _describe_route(
    route: Route, schema_of: dict[str, JsonObject], components: dict[str, Any]
) -> JsonObject:
    operation: JsonObject = {
        "summary": (route.handler.__doc__ or "").partition("\n")[0],
        "parameters": list(_iter_parameters(route, schema_of, components)),
        "responses": {
            "200": {"description": "Success", "content": _describe_response(route, schema_of)},
            "default": {
                "description": "Error",
                "content": {"application/json": {"schema": schema_of[repr(ErrorResponse)]}},
            },
        },
    }
    if route.upload_bytes is not None:
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif route.method not in METHODS_WITHOUT_BODY:
        content = {"application/json": {"schema": schema_of[repr(route.request_type)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _describe_response(route: Route, schema_of: dict[str, JsonObject]) -> JsonObject:
    response_type = _get_response_type(route)
    if response_type in (Blob, Stream):
        return {"*/*": {}}
    return {"application/json": {"schema": schema_of.get(repr(response_type), {})}}


def _iter_parameters(
    route: Route, schema_of: dict[str, JsonObject], components: dict[str, Any]
) -> Iterator[JsonObject]:
    """Yield the fields of a request that are in the URL: without a body, all of them."""
    schema = schema_of[repr(route.request_type)]
    schema = components.get(schema.get("$ref", "").removeprefix(_SCHEMA_PREFIX), schema)
    is_upload = route.upload_bytes is not None
    has_query = route.method in METHODS_WITHOUT_BODY or is_upload
    for name, field in schema.get("properties", {}).items():
        in_path = f"{{{name}}}" in route.path
        in_query = has_query and not (is_upload and name == "body")
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
    """Return whether msgspec can describe a type; unions of two types of arrays it cannot."""
    try:
        msgspec.inspect.type_info(kind)
    except TypeError:
        return False
    return kind not in (Blob, Stream)


def _describe_array(kind: type) -> JsonObject:
    # As of NumPy 2.5, `NDArray` is a type alias that is not resolved.
    is_array = get_origin(kind) in (np.ndarray, NDArray)
    return {"type": "array"} if is_array else {"title": "Any"}


# ---- the page

#: Developers of the page set the variable to test several builds side by side.
PAGE_DIR = Path(os.environ.get("TRACKLIGHT_PAGE") or Path(__file__).parent / "static")

_NOT_BUILT = (
    "The web page was not built; only the data below api/v1/ is available.\n"
    "Reinstall tracklight with 'pip install .', or run 'npm ci && npm run build' in web/.\n"
)
_TITLE = re.compile(rb"<title>.*?</title>")
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}

#: Compressed files, by path and entity tag: compressing the code takes 14 ms of a page load.
_compressed = LruCache[tuple[str, str], bytes](max_bytes=2 << 20, idle_s=60)


def create_page_route(page_dir: Path, window_title: str = "") -> StarletteRoute:
    """Create the route of the page, or of an explanation if the page was not built."""
    if (page_dir / "index.html").is_file():
        return _create_folder_route("/", page_dir, window_title)
    return StarletteRoute("/", _respond_not_built)


def create_plugin_routes(entries: Iterable[DashboardEntry]) -> list[StarletteRoute]:
    """Create the routes of the web files of third-party dashboards, below ``plugins/``."""
    return [
        _create_folder_route(f"/{entry.name}/", entry.web_dir) for entry in entries if entry.web_dir
    ]


def _create_folder_route(prefix: str, folder: Path, window_title: str = "") -> StarletteRoute:
    async def send_file(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        title = window_title if path == "index.html" else ""
        return await run_in_thread(
            request.scope, _create_file_response, folder, path, request.headers, title
        )

    return StarletteRoute(prefix + "{path:path}", send_file)


def _create_file_response(
    folder: Path, path: str, request_headers: Headers, title: str
) -> Response:
    file = _find_file(folder, path)
    if file is None:
        raise HttpError(404, Message.format("http.no_file", 'there is no file "{path}"', path=path))
    stat = file.stat()
    etag = f'W/"{stat.st_mtime_ns:x}-{stat.st_size:x}-{zlib.crc32(title.encode()):x}"'
    if etag in request_headers.get("if-none-match", ""):
        response = Response(status_code=304)
    else:
        media_type = _MEDIA_TYPES.get(file.suffix, "application/octet-stream")
        content = _insert_title(file.read_bytes(), title)

        def compress_once(body: bytes, media_type: str) -> bytes | None:
            build = partial(_compress, body, media_type)
            return _compressed.get_or_build((str(file), etag), build, len) or None

        response = create_compressed_response(content, media_type, request_headers, compress_once)
    is_immutable = path.startswith("assets/")
    response.headers["cache-control"] = IMMUTABLE_CACHE_CONTROL if is_immutable else "no-cache"
    response.headers["etag"] = etag
    return response


def _compress(body: bytes, media_type: str) -> bytes:
    return compress(body, media_type) or b""


def _insert_title(page: bytes, title: str) -> bytes:
    if not title:
        return page
    return _TITLE.sub(lambda _: f"<title>{escape(title)}</title>".encode(), page, count=1)


def _find_file(folder: Path, path: str) -> Path | None:
    """Return the file at ``path``; None if there is none or a link leads out of the folder."""
    try:
        file = (folder / path).resolve()
        is_inside = file.is_relative_to(folder.resolve()) and file.is_file()
    except (OSError, ValueError):  # names that no file can have
        return None
    return file if is_inside else None


async def _respond_not_built(_: Request) -> Response:
    return PlainTextResponse(_NOT_BUILT, status_code=503)
