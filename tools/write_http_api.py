"""Write docs/http-api.md from the code: ``python -m tools.write_http_api``.

Every address and every field in it is taken from the routes of the server and the structs that they
take and give, and what is said of them from their docstrings.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from tools.type_words import iter_structs, name_struct, say_default, say_type
from tracklight.index.catalog import Catalog
from tracklight.logdir.roots import parse_roots
from tracklight.logdir.watch import Watcher
from tracklight.plugin import Blob, Nothing, Route, Stream
from tracklight.server import columns, live, problems, routes, wire
from tracklight.server.app import create_app
from tracklight.server.security import policy_for

TARGET = Path(__file__).resolve().parent.parent / "docs" / "http-api.md"

_INTRODUCTION = f"""\
# The HTTP API

Everything the page knows it asks of these addresses, and so can any program. They are relative to
where the board is, such as `http://localhost:6006/`. This page is written by
`python -m tools.write_http_api`.

An ask is JSON in the body; for GET and DELETE its fields stand in the query, lists by repeating
theirs, or all of it as JSON in `?{routes.WHOLE_ASK}=`. Answers are JSON, or columns for who accepts
them (`Accept: {columns.MEDIA_TYPE}`), and compressed for who accepts that. Those with an `ETag` may
be kept and asked for again with `If-None-Match`. A server that listens to others than its own
machine wants its token, as `Authorization: Bearer` or in the cookie that its printed address
sets."""


def collect_routes() -> list[Route]:
    """The routes of tracklight itself below ``api/``, without those of others' dashboards."""
    with tempfile.TemporaryDirectory() as folder:
        roots = parse_roots(folder)
        catalog = Catalog(roots, cache=False)
        with Watcher(roots) as watch:
            app = create_app(catalog, watch, policy_for("localhost"))
        catalog.close()
    answered = app.list_routes()
    return [route for route in answered if route.handler.__module__.startswith("tracklight.")]


def write_text() -> str:
    """The whole page."""
    found = collect_routes()
    parts = [
        _INTRODUCTION,
        "## Numbers",
        _read_doc(wire, skip=1),
        "## What goes wrong",
        _read_doc(problems, skip=1),
        "## Columns",
        _read_doc(columns),
        "## The live stream",
        f"`GET api/live?since=CURSOR`\n\n{_read_doc(live)}",
        "## Addresses",
        *(_describe_route(route) for route in found),
        "## Shapes",
        "What asks and answers are made of. A field with a default may be left out of an ask.",
        *(_describe_struct(struct) for struct in _find_shapes(found)),
    ]
    return "\n\n".join(parts) + "\n"


def _describe_route(route: Route) -> str:
    lines = [f"### {route.method} api/{route.path}", _read_doc(route.handler)]
    if route.request_type is not Nothing:
        lines.append(f"Takes {say_type(route.request_type)}.")
    gives = get_type_hints(route.handler)["return"]
    what = "a file" if gives in (Blob, Stream) else say_type(gives)
    kept = ", with an `ETag`" if route.etag is not None else ""
    lines[-1] += f"{' ' if len(lines) > 2 else chr(10) * 2}Gives {what}{kept}."
    return "\n\n".join(lines)


def _find_shapes(found: list[Route]) -> list[type[msgspec.Struct]]:
    kinds = [
        kind
        for route in found
        for kind in (route.request_type, get_type_hints(route.handler)["return"])
    ]
    structs = dict.fromkeys(struct for kind in kinds for struct in iter_structs(kind))
    structs.pop(Nothing, None)
    return sorted(structs, key=name_struct)


def _describe_struct(struct: type[msgspec.Struct]) -> str:
    table = "\n".join(["| field | | default |", "|---|---|---|", *_iter_rows(struct)])
    return f"### {name_struct(struct)}\n\n{_read_doc(struct)}\n\n{table}"


def _iter_rows(struct: type[msgspec.Struct]) -> Iterator[str]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        words = say_type(hints[field.name]).replace("|", "\\|")
        yield f"| `{field.encode_name}` | {words} | {say_default(field)} |"


def _read_doc(thing: Any, skip: int = 0) -> str:
    """A docstring as Markdown, without its first ``skip`` paragraphs."""
    paragraphs = (inspect.getdoc(thing) or "").replace("``", "`").split("\n\n")
    return "\n\n".join(paragraphs[skip:])


if __name__ == "__main__":
    TARGET.write_text(write_text(), encoding="utf-8")
