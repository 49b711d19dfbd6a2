"""Runs a model on symbols instead of numbers, to learn how its layers are joined."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple


class Ends(NamedTuple):
    """What goes into a model and what comes out, as symbols that know their history."""

    inputs: list[Any]
    outputs: list[Any]


@contextmanager
def call_symbolically(model: Any) -> Iterator[Ends | None]:
    """Inputs and outputs of a model; None where it cannot be run on symbols.

    A model made from layers has them. One that is written as a class is called, and what the call
    leaves in its layers is taken back afterwards.
    """
    inside = getattr(model, "_functional", None) or model
    if getattr(inside, "inputs", None) and getattr(inside, "outputs", None):
        yield Ends(list(inside.inputs), list(inside.outputs))
        return
    with _leaving_no_trace(model):
        try:
            ends = _call(model)
        except Exception:  # the model's own code, run on what it was not written for
            ends = None
        yield ends


def _call(model: Any) -> Ends | None:
    import keras

    shapes = _find_shapes(model)
    if not shapes:
        return None
    # Code that was compiled by TensorFlow only takes numbers; what it was compiled from takes more.
    call = getattr(model.call, "python_function", model.call)
    names = (f"input_{number}" for number in count(1))
    inputs = keras.tree.map_shape_structure(
        lambda shape: keras.Input(batch_shape=shape, dtype=model.input_dtype, name=next(names)),
        shapes,
    )
    outputs = call(**inputs, **_find_training(call))
    return Ends(keras.tree.flatten(inputs), keras.tree.flatten(outputs))


def _find_shapes(model: Any) -> dict[str, Any]:
    """The shapes that a model was built for, by the arguments of its call."""
    config = model.get_build_config() or {}
    first = next(iter(inspect.signature(model.call).parameters), "inputs")
    if "shapes_dict" in config:
        shapes = config["shapes_dict"].items()
        return {name.removesuffix("_shape"): shape for name, shape in shapes}
    return {first: config["input_shape"]} if config.get("input_shape") else {}


def _find_training(call: Any) -> dict[str, bool]:
    return {"training": False} if "training" in inspect.signature(call).parameters else {}


@contextmanager
def _leaving_no_trace(model: Any) -> Iterator[None]:
    """Calls on symbols are remembered by layers, and count up the names of new ones."""
    from keras.src.backend.common import global_state

    layers = list(model._flatten_layers())
    kept = [(layer, list(layer._inbound_nodes), list(layer._outbound_nodes)) for layer in layers]
    counts = global_state.get_global_attribute("object_name_uids")
    counted = None if counts is None else counts.copy()
    try:
        yield
    finally:
        for layer, inbound, outbound in kept:
            layer._inbound_nodes[:] = inbound
            layer._outbound_nodes[:] = outbound
        global_state.set_global_attribute("object_name_uids", counted)
