"""Describe Python types in JSON terms, for readers who may not know Python."""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    TypeGuard,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import numpy as np
from numpy.typing import NDArray

_PLAIN = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    bytes: "request body",
    type(None): "null",
    Any: "any value",
    object: "any value",
}
_DTYPES = {
    np.float32: "f4",
    np.float64: "f8",
    np.int64: "i8",
    np.int32: "i4",
    np.uint8: "u1",
    np.bool_: "u1",
}


def describe_type(kind: Any) -> str:
    """Return a type as a phrase in which structs are links to their sections."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_struct(kind):
        name = name_struct(kind)
        return f"[{name}](#{name.lower().replace('.', '')})"
    if origin is Annotated and (title := _find_title(args[1:])):
        return title
    if origin is Annotated:
        return describe_type(args[0]) + "".join(map(_describe_bounds, args[1:]))
    if origin in (Union, types.UnionType):
        return _describe_union(args)
    if origin is Literal:
        return " or ".join(f"`{json.dumps(value)}`" for value in args)
    if is_enum(kind):
        return " or ".join(f"`{json.dumps(member.value)}`" for member in kind)
    dtype = find_dtype(kind)
    if dtype is not None:
        return f"column of {_DTYPES[dtype]}"
    if is_named_tuple(kind):
        fields = get_type_hints(kind, include_extras=True).items()
        return f"list: [{', '.join(f'{name}: {describe_type(part)}' for name, part in fields)}]"
    return _describe_container(origin, args)


def _find_title(annotations: Iterable[Any]) -> str | None:
    """Return the title that a type has in its own words, such as the encoding of its bytes."""
    titles = (getattr(annotation, "title", None) for annotation in annotations)
    return next((title for title in titles if title), None)


def find_dtype(kind: Any) -> type[np.generic] | None:
    """Return the dtype of a NumPy array type; None for all other types."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is np.ndarray:
        return get_args(args[1])[0]
    return args[0] if origin is NDArray else None  # so from NumPy 2.5 on


def is_struct(kind: Any) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def is_enum(kind: Any) -> TypeGuard[type[Enum]]:
    return isinstance(kind, type) and issubclass(kind, Enum)


def is_named_tuple(kind: Any) -> bool:
    """Whether a type is a `typing.NamedTuple`, which is an array in JSON."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def name_struct(struct: type[msgspec.Struct]) -> str:
    """Return the name of a struct, qualified by its dashboard: two dashboards may share a name."""
    module = struct.__module__.split(".")
    return f"{module[2]}.{struct.__name__}" if module[1] == "dashboards" else struct.__name__


def _describe_union(args: tuple[Any, ...]) -> str:
    if {float, str} == set(args) - {type(None)}:
        # `wire.Number`: NaN and infinities are sent as strings.
        args = (float, *(arg for arg in args if arg not in (float, str)))
    words = dict.fromkeys(describe_type(arg) for arg in args if arg is not msgspec.UnsetType)
    if words.keys() >= {"column of f4", "column of f8"}:
        words = dict.fromkeys(word.replace("f8", "f4 or f8") for word in words if "f4" not in word)
    return " or ".join(words)


def _describe_container(origin: Any, args: tuple[Any, ...]) -> str:
    if origin is dict:
        return f"map of {describe_type(args[1])}"
    if origin is tuple and args[-1] is not Ellipsis:
        return f"list: [{', '.join(map(describe_type, args))}]"
    if origin in (list, tuple):
        return f"list of {describe_type(args[0])}"
    raise TypeError(f"no description for the type {origin}")


def _describe_bounds(meta: msgspec.Meta) -> str:
    words = {
        "from": meta.ge,
        "above": meta.gt,
        "up to": meta.le,
        "below": meta.lt,
        "at least": meta.min_length,
        "at most": meta.max_length,
    }
    bounds = [f"{word} {value:,}" for word, value in words.items() if value is not None]
    return f" ({', '.join(bounds)})" if bounds else ""


def describe_default(field: msgspec.structs.FieldInfo) -> str:
    """Return the default of a field as JSON, or an empty string if it has none."""
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    if default is msgspec.NODEFAULT or default is msgspec.UNSET:
        return ""
    return f"`{msgspec.json.encode(default).decode()}`"


def iter_structs(
    kind: Any, within: tuple[type[msgspec.Struct], ...] = ()
) -> Iterator[type[msgspec.Struct]]:
    """Yield the structs that a type is made of, at any depth, with repeats.

    A struct that contains itself is entered once; ``within`` are the structs around the type.
    """
    if kind in within:
        return
    if is_struct(kind):
        yield kind
        within = (*within, kind)
    if is_struct(kind) or is_named_tuple(kind):
        parts = list(get_type_hints(kind, include_extras=True).values())
    else:
        parts = [] if get_origin(kind) is Literal else list(get_args(kind))
    for part in parts:
        yield from iter_structs(part, within)
