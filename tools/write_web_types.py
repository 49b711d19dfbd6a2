"""Write web/src/api/schemas.ts from the code: ``python -m tools.write_web_types``.

The file has a TypeScript type for every struct that the server and the page exchange: requests and
responses of all routes, events of the live stream, and contents of static exports. With
``--check``, the file is not written; the exit status is 1 if it is stale.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
import textwrap
import types
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from tools.type_names import describe_default, find_dtype, is_enum, is_named_tuple, is_struct
from tools.write_http_api import collect_routes, find_dashboard, read_doc, read_field_docs
from tracklight.dashboards.graphs import StaticGraph
from tracklight.dashboards.profile.schemas import StaticTimeline
from tracklight.dashboards.projector import StaticEmbedding
from tracklight.dashboards.scalars import ExportedTag, ExportedTagList
from tracklight.dashboards.what_if.static_session import StaticSession
from tracklight.plugin import Blob, Route, Stream
from tracklight.server.alerts import Alert
from tracklight.server.events import (
    DashboardEvent,
    LoadStatus,
    NotesEvent,
    PingEvent,
    ResetEvent,
    ServerEvent,
)
from tracklight.server.routing import ErrorResponse
from tracklight.server.source import DeltaEvent
from tracklight.server.static_export import ExportedFile, ExportHead
from tracklight.util.files import JsonNumber

TARGET = Path(__file__).resolve().parent.parent / "web" / "src" / "api" / "schemas.ts"
COMMAND = "python -m tools.write_web_types"

#: The data of the events of the live stream, by name; see `tracklight.server.events`.
LIVE_EVENTS: dict[str, type[msgspec.Struct]] = {
    "status": LoadStatus,
    "delta": DeltaEvent,
    "reset": ResetEvent,
    "alert": Alert,
    "notes": NotesEvent,
    "dashboard": DashboardEvent,
    "ping": PingEvent,
}

#: What a static export contains besides responses of routes.
EXPORT_STRUCTS: tuple[type[msgspec.Struct], ...] = (
    ExportHead,
    ExportedFile,
    ExportedTag,
    ExportedTagList,
    StaticEmbedding,
    StaticSession,
    StaticGraph,
    StaticTimeline,
)

_HEADER = f"""\
/**
 * Types of the HTTP API, of the live stream and of static exports, generated from the structs of
 * the Python package by `{COMMAND}`. Do not edit.
 *
 * Fields with a default are optional in requests and always present in responses. Where this makes
 * a difference for a type that is used in both, the one for requests is called `…Input`. NumPy
 * arrays are typed arrays, as `decodeColumns` returns them.
 */

/** Bytes in Base64. */
export type Base64 = string;

/** A JSON number, or the name of one that JSON does not have; `Number()` parses both. */
export type JsonNumber = number | 'NaN' | 'Infinity' | '-Infinity';"""

#: msgspec has no unions of structs without tags, so Python declares the data as any object.
_SERVER_EVENT = """\
export type ServerEvent = {
  readonly [Name in keyof LiveEvents]: { readonly name: Name; readonly data: LiveEvents[Name] };
}[keyof LiveEvents];"""

_ROUTES_BELOW = """\
type RoutesBelow<Folder extends string, Routes> = {
  [
    Name in keyof Routes as Name extends `${infer Method} ${infer Path}`
      ? `${Method} ${Folder}/${Path}`
      : never
  ]: Routes[Name];
};"""

_WIDTH = 100

_PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    bytes: "Base64",
    type(None): "null",
    Any: "unknown",
    object: "unknown",
}

#: What web/src/api/transport.ts makes of a dtype.
_TYPED_ARRAYS = {
    np.float32: "Float32Array",
    np.float64: "Float64Array",
    np.int64: "Float64Array",
    np.int32: "Int32Array",
    np.uint8: "Uint8Array",
    np.bool_: "Uint8Array",
}

Direction = Literal["request", "response"]


class Alias:
    """Base of classes that stand for named unions, such as ``Goal = Literal["min", "max"]``.

    The types of fields do not tell by which name a union was written, so `get_hints` resolves the
    names of unions to these classes.
    """

    value: ClassVar[Any]


def write_text() -> str:
    """Return the whole file."""
    return "\n\n".join([_HEADER, *TypeWriter(collect_routes()).iter_sections()]) + "\n"


class TypeWriter:
    """Declare the types that some routes, the live stream and static exports use.

    Args:
        routes: The routes of the server.
        events: The data of the events of the live stream, by name.
        others: Structs that the page receives in other ways.

    Attributes:
        names: The names of all structs, named tuples and named unions in TypeScript.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        events: Mapping[str, type[msgspec.Struct]] = LIVE_EVENTS,
        others: Iterable[type[msgspec.Struct]] = (ErrorResponse, *EXPORT_STRUCTS),
    ) -> None:
        self._routes = list(routes)
        self._events = events
        self._uploads = {
            item.request_type for item in self._routes if item.upload_bytes is not None
        }
        #: The dashboards that use a type; None is the server itself.
        self._users: dict[type, set[str | None]] = {}
        self._types: dict[Direction, set[type]] = {"request": set(), "response": set()}
        for route in self._routes:
            dashboard = find_dashboard(route.handler)
            self._add("request", route.request_type, dashboard)
            self._add("response", get_response_type(route), dashboard)
        for struct in (*events.values(), *others):
            self._add("response", struct, find_dashboard(struct))
        self.names = choose_names(self._users)

    def _add(self, direction: Direction, kind: Any, dashboard: str | None) -> None:
        for named in iter_named_types(kind):
            self._types[direction].add(named)
            self._users.setdefault(named, set()).add(dashboard)

    def iter_sections(self) -> Iterator[str]:
        """Yield the types of the server, of each dashboard, and those that several of them use."""
        for dashboard in dict.fromkeys(find_dashboard(route.handler) for route in self._routes):
            yield f"// ---- {f'Dashboard: {dashboard}' if dashboard else 'Server'}"
            yield self._declare_routes(dashboard)
            if dashboard is None:
                yield self._declare_live_events()
            yield from self._declare_all(
                kind for kind, users in self._users.items() if users == {dashboard}
            )
        yield "// ---- Shared"
        yield self._declare_all_routes()
        yield from self._declare_all(kind for kind, users in self._users.items() if len(users) > 1)

    def _declare_all(self, kinds: Iterable[type]) -> Iterator[str]:
        declared = {
            self._get_name(kind, direction): self.declare(kind, direction)
            for kind in kinds
            for direction, used in self._types.items()
            if kind in used
        }
        yield from (text for _, text in sorted(declared.items()))

    def _declare_routes(self, dashboard: str | None) -> str:
        prefix = f"{dashboard}/" if dashboard else ""
        lines = []
        for route in self._routes:
            if find_dashboard(route.handler) == dashboard:
                request = self.render(route.request_type, "request")
                response = self.render(get_response_type(route), "response")
                lines += [
                    *format_doc(read_doc(route.handler), "  "),
                    f"  readonly '{route.method} {route.path.removeprefix(prefix)}': {{",
                    f"    readonly request: {request};",
                    f"    readonly response: {response};",
                    "  };",
                ]
        doc = format_doc(f"Requests and responses by method and path below `api/v1/{prefix}`.")
        head = f"export interface {_to_camel_case(dashboard or 'server')}Routes {{"
        return "\n".join([*doc, head, *lines, "}"])

    def _declare_all_routes(self) -> str:
        doc = format_doc(
            "Requests and responses of all routes, by method and path below `api/v1/`."
        )
        parts = ["ServerRoutes"]
        for dashboard in dict.fromkeys(find_dashboard(route.handler) for route in self._routes):
            if dashboard:
                parts.append(f"RoutesBelow<'{dashboard}', {_to_camel_case(dashboard)}Routes>")
        alias = "\n".join([*doc, "export type Routes = " + " &\n  ".join(parts) + ";"])
        return f"{_ROUTES_BELOW}\n\n{alias}"

    def _declare_live_events(self) -> str:
        lines = format_doc("The data of the events of the live stream, by name.")
        lines.append("export interface LiveEvents {")
        for name, kind in self._events.items():
            lines.append(f"  readonly {name}: {self.render(kind, 'response')};")
        return "\n".join([*lines, "}"])

    def declare(self, kind: type, direction: Direction) -> str:
        """Return the declaration of a type with a name."""
        name = self._get_name(kind, direction)
        if issubclass(kind, Alias):
            doc = format_doc(read_alias_doc(kind))
            return "\n".join([*doc, *format_alias(name, self.render(kind.value, direction))])
        doc = format_doc(read_doc(kind))
        if kind is ServerEvent:
            return "\n".join([*doc, _SERVER_EVENT])
        if is_named_tuple(kind):
            parts = [
                f"{field}: {self.render(hint, direction)}"
                for field, hint in get_hints(kind).items()
            ]
            return "\n".join([*doc, *format_alias(name, f"readonly [{', '.join(parts)}]")])
        fields = self._declare_fields(kind, direction)
        base = next((base for base in kind.__mro__[1:] if base in self._types[direction]), None)
        inherited = self._declare_fields(base, direction) if base else {}
        own = [
            line for key, lines in fields.items() if inherited.get(key) != lines for line in lines
        ]
        if not own:
            same = self._get_name(base, direction) if base else "Record<string, never>"
            return "\n".join([*doc, f"export type {name} = {same};"])
        extends = f" extends {self._get_name(base, direction)}" if base else ""
        return "\n".join([*doc, f"export interface {name}{extends} {{", *own, "}"])

    def _declare_fields(self, struct: Any, direction: Direction) -> dict[str, list[str]]:
        """Return the lines that declare each field."""
        hints, docs, config = get_hints(struct), read_field_docs(struct), struct.__struct_config__
        fields = {}
        if config.tag is not None:
            fields[config.tag_field] = format_property(config.tag_field, _quote(config.tag))
        for field in msgspec.structs.fields(struct):
            hint, doc = hints[field.name], docs.get(field.name, "")
            text, is_optional = self.render(hint, direction), False
            if direction == "request" and not field.required:
                is_optional = True
                default = describe_default(field)
                if default not in ("", "`null`"):
                    doc += f" Default: {default}."
            elif not field.required and config.omit_defaults:
                is_optional = True
                # A default is left out, so it is never null.
                text = text.removesuffix(" | null") if field.default is None else text
            if struct in self._uploads and hint is bytes:
                text, doc = "Blob", "The body of the HTTP request."
            name = field.encode_name + ("?" if is_optional else "")
            fields[field.encode_name] = [*format_doc(doc, "  "), *format_property(name, text)]
        return fields

    def render(self, kind: Any, direction: Direction) -> str:
        """Return a type as a TypeScript expression."""
        origin, args = get_origin(kind), get_args(kind)
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind in (Blob, Stream):
            return "Blob"
        if _is_named(kind):
            return self._get_name(kind, direction)
        dtype = find_dtype(kind)
        if dtype is not None:
            return _TYPED_ARRAYS[dtype]
        if origin is Annotated:
            return self.render(args[0], direction)
        if origin is Literal:
            return " | ".join(map(_quote, args))
        if is_enum(kind):
            return " | ".join(_quote(member.value) for member in kind)
        if origin in (Union, types.UnionType):
            parts = (self.render(arg, direction) for arg in args if arg is not msgspec.UnsetType)
            return " | ".join(dict.fromkeys(parts))
        if origin is dict:
            return f"Readonly<Record<string, {self.render(args[1], direction)}>>"
        if origin is tuple and args[-1] is not Ellipsis:
            return f"readonly [{', '.join(self.render(arg, direction) for arg in args)}]"
        if origin in (list, tuple):
            item = self.render(args[0], direction)
            is_atom = re.fullmatch(r"\w+|Readonly<.*>", item) is not None
            return f"readonly {item}[]" if is_atom else f"readonly ({item})[]"
        raise TypeError(f"no TypeScript type for {kind}")

    def _get_name(self, kind: type, direction: Direction) -> str:
        is_input = direction == "request" and kind in self._types["response"]
        return self.names[kind] + ("Input" if is_input and _has_optional_fields(kind) else "")


def get_response_type(route: Route) -> Any:
    return get_type_hints(route.handler)["return"]


# ---- Python types


def iter_named_types(kind: Any) -> Iterator[type]:
    """Yield the types that have a name and that a type is made of, at any depth, each once."""
    seen = set()
    pending = [kind]
    while pending:
        kind = pending.pop()
        if not _is_named(kind):
            pending += get_args(kind) if get_origin(kind) is not Literal else ()
        elif kind not in seen:
            seen.add(kind)
            pending += [kind.value] if issubclass(kind, Alias) else get_hints(kind).values()
            yield kind


def get_hints(kind: type) -> dict[str, Any]:
    """Return the types of fields; named unions are subclasses of `Alias`."""
    aliases: dict[str, type[Alias]] = {}
    for base in reversed(kind.__mro__):
        aliases |= _list_aliases(base.__module__)
    return get_type_hints(kind, localns=aliases, include_extras=True)


@cache
def _list_aliases(module: str) -> dict[str, type[Alias]]:
    """Return the named unions in a module; those of arrays need no name in TypeScript."""
    return {
        name: _JSON_NUMBER if value is JsonNumber else _make_alias(name, value)
        for name, value in vars(sys.modules[module]).items()
        if not name.startswith("_") and get_origin(value) in (Literal, Union, types.UnionType)
        if not any(map(find_dtype, get_args(value)))
    }


@cache
def _make_alias(name: str, value: Any) -> type[Alias]:
    return type(name, (Alias,), {"value": value})


_JSON_NUMBER = _make_alias("JsonNumber", JsonNumber)
_PLAIN[_JSON_NUMBER] = "JsonNumber"


def _is_named(kind: Any) -> bool:
    is_alias = isinstance(kind, type) and issubclass(kind, Alias)
    return kind not in _PLAIN and (is_alias or is_struct(kind) or is_named_tuple(kind))


def _has_optional_fields(kind: type) -> bool:
    """Whether requests may leave out fields of a type, or of the types that it is made of."""
    structs = filter(is_struct, iter_named_types(kind))
    return any(not field.required for struct in structs for field in msgspec.structs.fields(struct))


def choose_names(kinds: Iterable[type]) -> dict[type, str]:
    """Return a unique name for each type: its own, or with the name of its dashboard in front.

    Raises:
        ValueError: Two types outside of dashboards have the same name.
    """
    kinds = list(kinds)
    counts = Counter(kind.__name__ for kind in kinds)
    names = {}
    for kind in kinds:
        dashboard = None if issubclass(kind, Alias) else find_dashboard(kind)
        is_shared = counts[kind.__name__] > 1 and dashboard is not None
        names[kind] = (_to_camel_case(dashboard) if is_shared else "") + kind.__name__
    repeated = [name for name, count in Counter(names.values()).items() if count > 1]
    if repeated:
        raise ValueError(f"several types are called {', '.join(repeated)}; rename one of each")
    return names


def read_alias_doc(alias: type[Alias]) -> str:
    """Return the ``#:`` comment above the definition of a named union."""
    pattern = re.compile(rf"((?:^#:.*\n)+){alias.__name__}\b.*? = ", re.MULTILINE)
    for name, module in sorted(sys.modules.items()):
        if name.startswith("tracklight.") and getattr(module, alias.__name__, None) == alias.value:
            found = pattern.search(inspect.getsource(module))
            if found:
                return " ".join(found[1].replace("#:", "").replace("``", "`").split())
    return ""


# ---- TypeScript, formatted like Prettier does


def format_doc(text: str, indent: str = "") -> list[str]:
    """Return the lines of a JSDoc comment; none if the text is empty."""
    text = text.strip().replace("*/", "*\\/")
    if not text:
        return []
    if len(indent) + len(text) + len("/**  */") <= _WIDTH:
        return [f"{indent}/** {text} */"]
    prefix = f"{indent} * "
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{indent}/**", *lines, f"{indent} */"]


def format_alias(name: str, text: str) -> list[str]:
    line = f"export type {name} = {text};"
    if len(line) <= _WIDTH:
        return [line]
    if text.startswith("readonly ["):
        parts = text.removeprefix("readonly [").removesuffix("]").split(", ")
        return [f"export type {name} = readonly [", *(f"  {part}," for part in parts), "];"]
    return [f"export type {name} =", *_break_union(text, "  ")]


def format_property(name: str, text: str) -> list[str]:
    line = f"  readonly {name}: {text};"
    return [line] if len(line) <= _WIDTH else [f"  readonly {name}:", *_break_union(text, "    ")]


def _break_union(text: str, indent: str) -> list[str]:
    lines = [f"{indent}| {part}" for part in text.split(" | ")]
    return [*lines[:-1], lines[-1] + ";"]


def _quote(value: Any) -> str:
    """Return a literal with single quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    text = json.dumps(value, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{text}'"


def _to_camel_case(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the types of the HTTP API.")
    parser.add_argument("--check", action="store_true", help="fail if the file is stale")
    options = parser.parse_args(arguments)
    text = write_text()
    if not options.check:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print(f"{TARGET.name} is stale: run {COMMAND}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
