"""Who reads from whom in a Keras model, by a plain walk through its JSON.

It knows nothing of tracklight's reader: every layer is looked at on its own, and models are
replaced by their first and last layers at the end.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Edge = tuple[str, str]


def list_nodes(model: Json, scope: str = "") -> list[str]:
    found = []
    for layer in model["config"]["layers"]:
        path = scope + name_of(layer)
        found += list_nodes(layer, path + "/") if is_model(layer) else [path]
    return found


def list_edges(model: Json, scope: str = "") -> set[Edge]:
    layers = {name_of(layer): layer for layer in model["config"]["layers"]}
    found: set[Edge] = set()
    before: str | None = None
    for name, layer in layers.items():
        if model["class_name"] == "Sequential":
            calls = [] if before is None else [[(before, 0)]]
        else:
            calls = [list(iter_tensors(call)) for call in layer.get("inbound_nodes") or []]
        for call in calls:
            for number, (source, output) in enumerate(call):
                start = scope + source + leave(layers[source], output)
                found.add((start, scope + name + enter(layer, number)))
        if is_model(layer):
            found |= list_edges(layer, f"{scope}{name}/")
        before = name
    return found


def enter(layer: Json, number: int) -> str:
    if not is_model(layer):
        return ""
    inner = {name_of(it): it for it in layer["config"]["layers"]}
    ends = triples(layer["config"].get("input_layers")) or [[next(iter(inner)), 0, 0]]
    name = ends[number][0]
    return f"/{name}" + enter(inner[name], 0)


def leave(layer: Json, output: int) -> str:
    if not is_model(layer):
        return ""
    inner = {name_of(it): it for it in layer["config"]["layers"]}
    ends = triples(layer["config"].get("output_layers")) or [[list(inner)[-1], 0, 0]]
    name, _, inside = ends[output]
    return f"/{name}" + leave(inner[name], inside)


def triples(given: Any) -> list[Any]:
    if not given:
        return []
    return [given] if isinstance(given[0], str) else list(given)


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


def name_of(layer: Json) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def is_model(layer: Json) -> bool:
    return bool(layer["config"].get("layers"))
