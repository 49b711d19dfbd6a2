"""``GET api/openapi.json``: every address and what it takes and gives, for programs.

`docs/http-api.md` tells people the same, and more of answers that are made of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, get_origin, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

import tracklight
from tracklight.plugin_base import Blob, Nothing, Problem, Route, Stream
from tracklight.server.routes import BODILESS

Json = dict[str, Any]

_SCHEMAS = "#/components/schemas/"


class Refusal(msgspec.Struct):
    """Every answer that is not a success."""

    error: Problem


class Description(msgspec.Struct):
    """The API as OpenAPI 3.1 describes one."""

    openapi: str
    info: Json
    paths: dict[str, Json]
    components: Json


def openapi_route(list_routes: Callable[[], Iterable[Route]]) -> Route:
    described = cache(lambda: describe(list(list_routes())))

    def answer(_: Nothing) -> Description:
        """What this page tells people, as OpenAPI tells programs."""
        return described()

    return Route("openapi.json", Nothing, answer, "GET")


def describe(routes: list[Route]) -> Description:
    """All that is to be known of these routes to call them."""
    gives = map(_find_gives, routes)
    kinds = [route.request_type for route in routes] + [kind for kind in gives if _is_plain(kind)]
    schemas, named = msgspec.json.schema_components(
        [*kinds, Refusal], schema_hook=_describe_columns, ref_template=_SCHEMAS + "{name}"
    )
    known = dict(zip(map(repr, [*kinds, Refusal]), schemas, strict=True))
    paths: dict[str, Json] = {}
    for route in routes:
        operation = _describe_route(route, known, named)
        paths.setdefault(f"/api/{route.path}", {})[route.method.lower()] = operation
    info = {"title": "tracklight", "version": tracklight.__version__}
    return Description("3.1.0", info, paths, {"schemas": named})


def _describe_route(route: Route, known: dict[str, Json], named: dict[str, Any]) -> Json:
    operation: Json = {
        "summary": (route.handler.__doc__ or "").partition("\n")[0],
        "parameters": list(_iter_parameters(route, known, named)),
        "responses": {
            "200": {
                "description": "What was asked for.",
                "content": _describe_answer(route, known),
            },
            "default": {
                "description": "What is wrong, and what to do about it.",
                "content": {"application/json": {"schema": known[repr(Refusal)]}},
            },
        },
    }
    if route.upload_bytes is not None:
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    elif route.method not in BODILESS:
        content = {"application/json": {"schema": known[repr(route.request_type)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _describe_answer(route: Route, known: dict[str, Json]) -> Json:
    gives = _find_gives(route)
    if gives in (Blob, Stream):
        return {"*/*": {}}
    return {"application/json": {"schema": known.get(repr(gives), {})}}


def _iter_parameters(route: Route, known: dict[str, Json], named: dict[str, Any]) -> Iterator[Json]:
    """Fields of the ask that stand in the address: all of them where there is no body."""
    schema = known[repr(route.request_type)]
    schema = named.get(schema.get("$ref", "").removeprefix(_SCHEMAS), schema)
    is_upload = route.upload_bytes is not None
    for name, field in schema.get("properties", {}).items():
        in_path = f"{{{name}}}" in route.path
        in_query = (route.method in BODILESS or is_upload) and not (is_upload and name == "body")
        if in_path or in_query:
            yield {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path or name in schema.get("required", ()),
                "schema": field,
            }


def _find_gives(route: Route) -> Any:
    return get_type_hints(route.handler).get("return", Any)


def _is_plain(kind: Any) -> bool:
    """Whether an answer can be described; a column of either of two widths cannot."""
    try:
        msgspec.inspect.type_info(kind)
    except TypeError:
        return False
    return kind not in (Blob, Stream)


def _describe_columns(kind: type) -> Json:
    # From NumPy 2.5 on, `NDArray` is not replaced by what it stands for.
    is_column = get_origin(kind) in (np.ndarray, NDArray)
    return {"type": "array"} if is_column else {"title": "Anything"}
