"""Read YAML files from log directories, which are untrusted input.

PyYAML's safe loader parses the text; this module builds values from its events instead of letting
PyYAML construct them, for three reasons:

- Tags such as ``!!python/tuple``, which Lightning writes to hparams.yaml, are read as plain data.
  The safe constructor would refuse the whole file.
- Aliases are limited by the size of the expanded document ("billion laughs").
- Nesting is limited without recursion; a recursive composer in C can overflow the stack.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tracklight.errors import FormatError
from tracklight.formats.hparams import HParamValue, iter_flattened

_MAX_DEPTH = 50

#: With each alias counted as all values that it stands for.
_MAX_YAML_VALUES = 1_000_000

#: Longer scalars are texts: matching and parsing numbers can take quadratic time.
_MAX_NUMBER_CHARS = 1000

_MAX_KEY_CHARS = 200

_YAML_TAG = "tag:yaml.org,2002:"

_PYTHON_TAG = f"{_YAML_TAG}python/"

#: Types that Python tags name, by the suffix of a standard tag.
_PYTHON_SCALARS = {
    "none": "null",
    "bool": "bool",
    "int": "int",
    "long": "int",
    "float": "float",
    "str": "str",
    "unicode": "str",
}

#: YAML 1.2 has numbers such as 1e-3; for PyYAML, which reads YAML 1.1, they are strings.
_FLOAT = re.compile(r"[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+")


@dataclass(slots=True)
class _Node:
    """A value, with the number of values in it and the number of levels below it."""

    value: Any
    size: int = 1
    height: int = 0
    key: str = ""
    """The text of a scalar as it is written, to be used as a key."""
    is_merge: bool = False


@dataclass(slots=True)
class _Collection:
    """A list or a mapping that has begun."""

    is_mapping: bool
    anchor: str | None
    children: list[_Node] = field(default_factory=list)


def parse_yaml(text: str) -> Any:
    """Return the first document of a text as dicts with string keys, lists and plain values.

    Dates and binary data stay strings. Objects of other types are read as the data they hold.

    Raises:
        FormatError: The text is not YAML, or is too large or too deeply nested.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _DocumentReader(loader(text)).read()
    except (yaml.YAMLError, RecursionError) as error:
        raise FormatError(f"it is not YAML: {_describe_error(error)}") from None


class _DocumentReader:
    """Builds the value of one document from parser events."""

    def __init__(self, loader: Any) -> None:
        self._resolve = loader.resolve
        self._get_event = loader.get_event
        self._constructors = {
            "bool": loader.construct_yaml_bool,
            "int": loader.construct_yaml_int,
            "float": loader.construct_yaml_float,
        }
        self._open: list[_Collection] = []
        self._anchors: dict[str, _Node | None] = {}
        self._size = 0
        self._root: _Node | None = None

    def read(self) -> Any:
        import yaml

        while True:
            event = self._get_event()
            if isinstance(event, yaml.ScalarEvent):
                self._add(self._read_scalar(event), event.anchor)
            elif isinstance(event, yaml.AliasEvent):
                self._add(self._get_anchor(event.anchor or ""), None)
            elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
                self._begin(_Collection(isinstance(event, yaml.MappingStartEvent), event.anchor))
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                collection = self._open.pop()
                self._add(_build_node(collection), collection.anchor)
            elif isinstance(event, (yaml.DocumentEndEvent, yaml.StreamEndEvent)):
                return None if self._root is None else self._root.value

    def _begin(self, collection: _Collection) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise FormatError(f"it is nested more than {_MAX_DEPTH} levels deep")
        if collection.anchor is not None:
            self._anchors[collection.anchor] = None
        self._open.append(collection)

    def _add(self, node: _Node, anchor: str | None) -> None:
        if len(self._open) + node.height > _MAX_DEPTH:
            raise FormatError(f"it is nested more than {_MAX_DEPTH} levels deep")
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _get_anchor(self, anchor: str) -> _Node:
        if anchor not in self._anchors:
            raise FormatError(f'the alias "*{anchor}" has no anchor')
        node = self._anchors[anchor]
        if node is None:
            raise FormatError(f'the value of "&{anchor}" contains itself')
        self._count(node.size)
        return node

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > _MAX_YAML_VALUES:
            raise FormatError(f"it holds more than {_MAX_YAML_VALUES:,} values")

    def _read_scalar(self, event: Any) -> _Node:
        self._count(1)
        text, tag = event.value, event.tag
        if tag is None or not tag.startswith(_YAML_TAG):  # no tag, or one of a program's own
            is_plain = event.style in (None, "") and tag != "!"
            tag = self._resolve_tag(text) if is_plain else f"{_YAML_TAG}str"
        if tag.startswith(_PYTHON_TAG):
            name, _, target = tag.removeprefix(_PYTHON_TAG).partition(":")
            if target and not text:  # !!python/name:torch.nn.functional.relu ''
                return _Node(target, key=target)
            tag = _YAML_TAG + _PYTHON_SCALARS.get(name, "str")
        return _Node(
            self._construct(tag.removeprefix(_YAML_TAG), text),
            key=text,
            is_merge=tag == f"{_YAML_TAG}merge",
        )

    def _resolve_tag(self, text: str) -> str:
        """Return the tag of a plain scalar without one."""
        import yaml

        if len(text) > _MAX_NUMBER_CHARS:
            return f"{_YAML_TAG}str"
        if _FLOAT.fullmatch(text):
            return f"{_YAML_TAG}float"
        return str(self._resolve(yaml.ScalarNode, text, (True, False)))

    def _construct(self, kind: str, text: str) -> Any:
        """Return a scalar of a standard type; its text if the type is another or does not fit."""
        import yaml

        if kind == "null":
            return None
        if kind not in self._constructors or len(text) > _MAX_NUMBER_CHARS:
            return text
        try:
            return self._constructors[kind](yaml.ScalarNode(_YAML_TAG + kind, text))
        except (ValueError, KeyError, IndexError):
            return text


def _build_node(collection: _Collection) -> _Node:
    children = collection.children
    value: Any = (
        _build_mapping(children) if collection.is_mapping else [child.value for child in children]
    )
    return _Node(
        value,
        size=1 + sum(child.size for child in children),
        height=1 + max((child.height for child in children), default=0),
    )


def _build_mapping(children: list[_Node]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, child in zip(children[::2], children[1::2], strict=True):
        if key.is_merge:
            for source in child.value if isinstance(child.value, list) else [child.value]:
                if isinstance(source, dict):
                    for name, value in source.items():
                        merged.setdefault(name, value)
        else:
            own[_name_key(key)] = child.value
    return {**merged, **own}


def _name_key(node: _Node) -> str:
    is_scalar = not isinstance(node.value, (list, dict))
    return node.key if is_scalar else str(node.value)[:_MAX_KEY_CHARS]


def _describe_error(error: Exception) -> str:
    """Return the problem and its line, without the excerpt of the file that PyYAML adds."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 1})" if mark is not None else problem


# Hyperparameters out of the files that programs keep beside their event files.

_MAX_HPARAMS = 1000

_MAX_TEXT_CHARS = 500

#: Where several files lie in one directory, the one that says most clearly what it is counts.
_PREFERRED_STEMS = ("hparams", "params", "args", "config")


def rank_filename(name: str) -> int:
    """Lower for names that tell more surely of hyperparameters."""
    return _PREFERRED_STEMS.index(name.partition(".")[0])


def parse_settings(name: str, data: bytes) -> dict[str, HParamValue]:
    """Return the values in a file of that name, nested ones under names such as ``optimizer/lr``.

    Raises FormatError, which says what is wrong, if the file cannot be read.
    """
    content = _load(name, data.decode("utf-8", "replace"))
    if not isinstance(content, Mapping):
        raise FormatError("it holds no names with values")
    found: dict[str, HParamValue] = {}
    for key, value in iter_flattened(_unwrap(content)):
        if len(found) == _MAX_HPARAMS:
            break
        if isinstance(value, (bool, int, float, str)):
            found[key] = _limit_value(value)
        elif value is not None:
            found[key] = _limit_value(msgspec.json.encode(value).decode())
    return found


def _load(name: str, text: str) -> Any:
    if not name.endswith(".json"):
        return parse_yaml(text)
    import json  # reads NaN and Infinity, which programs write and JSON does not have

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"it is no JSON: {error}") from None


def _unwrap(content: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Some programs keep each value in a mapping, beside a description."""
    wrapped = {
        key: one["value"]
        for key, one in content.items()
        if isinstance(one, Mapping) and "value" in one and one.keys() <= {"value", "desc"}
    }
    return wrapped if wrapped else content


def _limit_value(value: HParamValue) -> HParamValue:
    """Return a number as records have it, and a text of bounded length."""
    if isinstance(value, str):
        value = value.rstrip("\n")  # block scalars of YAML end with one
        return value if len(value) <= _MAX_TEXT_CHARS else f"{value[:_MAX_TEXT_CHARS]}…"
    if isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        return str(value)[:_MAX_TEXT_CHARS]
