"""Finds layers in the JSON of a Keras model, and what each call of one reads, in either form.

Keras 3 writes the arguments of a call, among them tensors with their shapes; Keras 2 writes lists
of a layer, a call and a tensor. A description may be anything that JSON can say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tracklight.graphs.keras_sizes import as_shape
from tracklight.graphs.model import Output

Json = dict[str, Any]

_TENSOR = "__keras_tensor__"
_DEEPEST = 100


class Tensor(NamedTuple):
    """What a layer gives, by its name and which of its outputs it is."""

    layer: str
    output: str
    told: Output | None = None
    """Keras 3 says of what type and shape it is wherever it is read."""


def iter_held(given: Any, depth: int) -> Iterator[Json]:
    """Layers that a model of a class of its own tells of; how they are joined, only its code says.

    What stands inside of a layer is the layer's own matter.
    """
    parts = given.values() if isinstance(given, dict) else list_of(given)
    for part in parts:
        config = part.get("config") if isinstance(part, dict) else None
        if isinstance(config, dict) and isinstance(config.get("name"), str) and "dtype" in config:
            yield part
        elif depth < _DEEPEST:
            yield from iter_held(part, depth + 1)


def list_of(given: Any) -> list[Any]:
    """A description may be anything that JSON can say."""
    return given if isinstance(given, list) else []


def name_of(layer: Json, at: int) -> str:
    config = layer.get("config")
    own = config.get("name") if isinstance(config, dict) else None
    return str(layer.get("name") or own or f"layer_{at}")


def iter_ends(given: Any) -> Iterator[Tensor]:
    """``[name, call, tensor]``, or a list or an object of such."""
    if isinstance(given, dict):
        given = list(given.values())
    if not isinstance(given, list) or not given:
        return
    if isinstance(given[0], str):
        yield Tensor(given[0], str(given[2]) if len(given) > 2 else "0")
        return
    for part in given:
        yield from iter_ends(part)


def iter_calls(layer: Json) -> Iterator[list[Tensor]]:
    """For each call of a layer what it read, in either form."""
    for call in list_of(layer.get("inbound_nodes")):
        yield list(_iter_read(call))


def _iter_read(call: Any) -> Iterator[Tensor]:
    if isinstance(call, dict):
        if call.get("class_name") == _TENSOR:
            config = call.get("config")
            config = config if isinstance(config, dict) else {}
            told = Output(str(config.get("dtype") or ""), as_shape(config.get("shape")))
            for tensor in iter_ends(config.get("keras_history")):
                yield tensor._replace(told=told)
            return
        call = list(call.values())
    if not isinstance(call, list):
        return
    # Keras 2: [layer, call, tensor, {keyword: [layer, call, tensor]}].
    if len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int):
        yield Tensor(call[0], str(call[2]))
        call = call[3:]
    for part in call:
        yield from _iter_read(part)
