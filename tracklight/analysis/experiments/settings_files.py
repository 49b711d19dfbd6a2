"""Parse files with hyperparameters that programs write beside event files.

Examples are ``hparams.yaml`` of Lightning, ``args.json`` and ``config.yaml``. All of them are
untrusted input. PyYAML parses YAML, but values are built here from its events instead of by its
constructors, for three reasons:

- Tags such as ``!!python/tuple``, which Lightning writes to hparams.yaml, are read as plain data.
  The safe constructor would reject the whole file.
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
from tracklight.util.parsing import load_json

_MAX_HPARAMS = 1000
_MAX_TEXT_CHARS = 500
#: Of several files in a directory, the one with the most specific name is used.
_PREFERRED_STEMS = ("hparams", "params", "args", "config")

_MAX_NESTED_VALUES = 50
#: Every alias counts as all the values that it stands for.
_MAX_YAML_VALUES = 1_000_000
#: Longer scalars are strings: parsing them as numbers could take quadratic time.
_MAX_NUMBER_CHARS = 1000
_MAX_KEY_CHARS = 200
_YAML_TAG = "tag:yaml.org,2002:"
_PYTHON_TAG = f"{_YAML_TAG}python/"
#: Standard types of the scalar tags of Python.
_PYTHON_SCALARS = {
    "none": "null",
    "bool": "bool",
    "int": "int",
    "long": "int",
    "float": "float",
    "str": "str",
    "unicode": "str",
}
#: Numbers such as 1e-3 are floats in YAML 1.2, but strings in YAML 1.1, which PyYAML implements.
_FLOAT = re.compile(r"[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+")


def rank_filename(name: str) -> int:
    """Return the rank of a settings file; lower for more specific names."""
    return _PREFERRED_STEMS.index(name.partition(".")[0])


def parse_settings(name: str, data: bytes) -> dict[str, HParamValue]:
    """Return the hyperparameters of a settings file.

    Args:
        name: Name of the file; files that do not end with ``.json`` are YAML.
        data: Content of the file.

    Returns:
        Values by name. Nested ones have names such as ``optimizer/lr``, lists become JSON.

    Raises:
        FormatError: The file cannot be parsed, or is not a mapping.

    Example:
        >>> parse_settings("hparams.yaml", b"optimizer: {lr: 1e-3}")
        {'optimizer/lr': 0.001}
    """
    content = _parse(name, data)
    if not isinstance(content, Mapping):
        raise FormatError(
            "hparams.file_not_a_mapping", "the file is not a mapping of names to values"
        )
    hparams: dict[str, HParamValue] = {}
    for key, value in iter_flattened(_unwrap(content)):
        if len(hparams) == _MAX_HPARAMS:
            break
        if isinstance(value, (bool, int, float, str)):
            hparams[key] = _limit_value(value)
        elif value is not None:
            hparams[key] = _limit_value(msgspec.json.encode(value).decode())
    return hparams


def _parse(name: str, data: bytes) -> Any:
    if not name.endswith(".json"):
        return parse_yaml(data.decode("utf-8", "replace"))
    try:
        return load_json(data)
    except (ValueError, RecursionError) as error:
        raise FormatError("hparams.invalid_json", "invalid JSON: {error}", error=error) from None


def _unwrap(content: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return plain values if each is in a mapping with a description, as W&B writes them."""
    wrapped = {
        key: entry["value"]
        for key, entry in content.items()
        if isinstance(entry, Mapping) and "value" in entry and entry.keys() <= {"value", "desc"}
    }
    return wrapped if wrapped else content


def _limit_value(value: HParamValue) -> HParamValue:
    """Convert numbers to floats, as records have them, and shorten long texts."""
    if isinstance(value, str):
        value = value.rstrip("\n")  # YAML block scalars end with a newline
        return value if len(value) <= _MAX_TEXT_CHARS else f"{value[:_MAX_TEXT_CHARS]}…"
    if isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        return str(value)[:_MAX_TEXT_CHARS]


# ---- YAML


@dataclass(slots=True)
class _Node:
    """A value, with the number of values in it and its nesting depth."""

    value: Any
    size: int = 1
    height: int = 0
    key: str = ""
    """The source text of a scalar, for use as a mapping key."""
    is_merge: bool = False


@dataclass(slots=True)
class _Collection:
    """A list or a mapping that is not complete yet."""

    is_mapping: bool
    anchor: str | None
    children: list[_Node] = field(default_factory=list)


def parse_yaml(text: str) -> Any:
    """Return the first YAML document as dicts with string keys, lists and plain values.

    Dates and binary data stay strings. Objects with other tags are read as plain data.

    Raises:
        FormatError: The text is not YAML, or is too large or too deeply nested.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _DocumentReader(loader(text)).read()
    except (yaml.YAMLError, RecursionError) as error:
        raise FormatError(
            "hparams.invalid_yaml", "invalid YAML: {error}", error=_describe_error(error)
        ) from None


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
        if len(self._open) >= _MAX_NESTED_VALUES:
            raise FormatError(
                "hparams.nested_too_deep",
                "nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_VALUES,
            )
        if collection.anchor is not None:
            self._anchors[collection.anchor] = None
        self._open.append(collection)

    def _add(self, node: _Node, anchor: str | None) -> None:
        if len(self._open) + node.height > _MAX_NESTED_VALUES:
            raise FormatError(
                "hparams.nested_too_deep",
                "nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_VALUES,
            )
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _get_anchor(self, anchor: str) -> _Node:
        if anchor not in self._anchors:
            raise FormatError(
                "hparams.no_anchor", 'the alias "*{anchor}" has no anchor', anchor=anchor
            )
        node = self._anchors[anchor]
        if node is None:
            raise FormatError(
                "hparams.recursive_anchor",
                'the value of the anchor "&{anchor}" contains itself',
                anchor=anchor,
            )
        self._count(node.size)
        return node

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > _MAX_YAML_VALUES:
            raise FormatError(
                "hparams.too_many_values",
                "more than {max_values:,} values",
                max_values=_MAX_YAML_VALUES,
            )

    def _read_scalar(self, event: Any) -> _Node:
        self._count(1)
        text, tag = event.value, event.tag
        if tag is None or not tag.startswith(_YAML_TAG):  # no tag, or an application's own
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
        """Return the implicit tag of a plain scalar."""
        import yaml

        if len(text) > _MAX_NUMBER_CHARS:
            return f"{_YAML_TAG}str"
        if _FLOAT.fullmatch(text):
            return f"{_YAML_TAG}float"
        return str(self._resolve(yaml.ScalarNode, text, (True, False)))

    def _construct(self, kind: str, text: str) -> Any:
        """Return a scalar of a standard type, or its text if it cannot be converted."""
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
    """Return the problem and its line, without PyYAML's excerpt of the file."""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    mark = getattr(error, "problem_mark", None)
    return f"{problem} (line {mark.line + 1})" if mark is not None else problem
