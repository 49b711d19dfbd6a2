"""Independent computation of the nodes and edges of a Keras model from its JSON.

It does not use tracklight's parser. Every layer is handled on its own, and nested models are
replaced by their input and output layers.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Edge = tuple[str, str]


def list_nodes(model: Json, scope: str = "") -> list[str]:
    result = []
    for layer in model["config"]["layers"]:
        path = scope + get_name(layer)
        result += list_nodes(layer, path + "/") if is_model(layer) else [path]
    return result


def list_edges(model: Json, scope: str = "") -> set[Edge]:
    layers = {get_name(layer): layer for layer in model["config"]["layers"]}
    result: set[Edge] = set()
    previous: str | None = None
    for name, layer in layers.items():
        if model["class_name"] == "Sequential":
            calls = [] if previous is None else [[(previous, 0)]]
        else:
            calls = [list(iter_tensors(call)) for call in layer.get("inbound_nodes") or []]
        for call in calls:
            for number, (source, output) in enumerate(call):
                start = scope + source + resolve_output(layers[source], output)
                result.add((start, scope + name + resolve_input(layer, number)))
        if is_model(layer):
            result |= list_edges(layer, f"{scope}{name}/")
        previous = name
    return result


def resolve_input(layer: Json, number: int) -> str:
    if not is_model(layer):
        return ""
    inner = {get_name(it): it for it in layer["config"]["layers"]}
    tensors = as_triples(layer["config"].get("input_layers")) or [[next(iter(inner)), 0, 0]]
    name = tensors[number][0]
    return f"/{name}" + resolve_input(inner[name], 0)


def resolve_output(layer: Json, output: int) -> str:
    if not is_model(layer):
        return ""
    inner = {get_name(it): it for it in layer["config"]["layers"]}
    tensors = as_triples(layer["config"].get("output_layers")) or [[list(inner)[-1], 0, 0]]
    name, _, inner_output = tensors[output]
    return f"/{name}" + resolve_output(inner[name], inner_output)


def as_triples(value: Any) -> list[Any]:
    if not value:
        return []
    return [value] if isinstance(value[0], str) else list(value)


def iter_tensors(call: Any) -> Any:
    if isinstance(call, dict) and call.get("class_name") == "__keras_tensor__":
        name, _, output = call["config"]["keras_history"]
        yield name, output
    elif isinstance(call, dict):
        for part in call.values():
            yield from iter_tensors(part)
    elif isinstance(call, list):
        is_triple = len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int)
        if is_triple:
            yield call[0], call[2]
        for part in call[3:] if is_triple else call:
            yield from iter_tensors(part)


def get_name(layer: Json) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def is_model(layer: Json) -> bool:
    return bool(layer["config"].get("layers"))
