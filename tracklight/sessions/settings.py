"""Hyperparameters out of the files that programs keep beside their event files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tracklight.errors import FormatError
from tracklight.formats.hparam_names import HParamValue, iter_flat
from tracklight.sessions.yaml import read_yaml

_MOST_VALUES = 1000
_LONGEST_TEXT = 500
#: Where several files lie in one directory, the one that says most clearly what it is counts.
_ORDER = ("hparams", "params", "args", "config")


def rank_name(name: str) -> int:
    """Lower for names that tell more surely of hyperparameters."""
    return _ORDER.index(name.partition(".")[0])


def parse_settings(name: str, data: bytes) -> dict[str, HParamValue]:
    """Return the values in a file of that name, nested ones under names such as ``optimizer/lr``.

    Raises FormatError, which says what is wrong, if the file cannot be read.
    """
    content = _load(name, data.decode("utf-8", "replace"))
    if not isinstance(content, Mapping):
        raise FormatError("it holds no names with values")
    found: dict[str, HParamValue] = {}
    for key, value in iter_flat(_unwrap(content)):
        if len(found) == _MOST_VALUES:
            break
        if isinstance(value, (bool, int, float, str)):
            found[key] = _bound(value)
        elif value is not None:
            found[key] = _bound(msgspec.json.encode(value).decode())
    return found


def _load(name: str, text: str) -> Any:
    if not name.endswith(".json"):
        return read_yaml(text)
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


def _bound(value: HParamValue) -> HParamValue:
    """Return a number as records have it, and a text of bounded length."""
    if isinstance(value, str):
        value = value.rstrip("\n")  # block scalars of YAML end with one
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…"
    if isinstance(value, bool):
        return value
    try:
        return float(value)
    except OverflowError:
        return str(value)[:_LONGEST_TEXT]
