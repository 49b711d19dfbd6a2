"""How many numbers a Keras layer trains and what it gives, from its configuration alone.

Keras 3 writes down for what input each layer was built; with that and the layer's own settings the
sizes of its weights are known. Where one of them is missing, nothing is claimed.
"""

from __future__ import annotations

from typing import Any

from tracklight.graphs.keras_weights import WEIGHTS
from tracklight.graphs.model import Output, Shape

Json = dict[str, Any]


def count_parameters(layer: Json) -> int | None:
    """All weights, trained or not, as ``layer.count_params()`` counts them; None if unknown."""
    config, given = _config_of(layer), find_input(layer)
    inner = config.get("layer")
    if isinstance(inner, dict):
        return _count_wrapped(layer, config, inner)
    name = str(layer.get("class_name"))
    rule = WEIGHTS.get(name)
    if rule is None:
        return 0 if name in _KEEPS_SHAPE | _WITHOUT_WEIGHTS else None
    try:
        return int(rule(config | _built_for(layer), given or ()))
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def find_input(layer: Json) -> Shape:
    """The shape that the layer was built for, batch and all."""
    built = _built_for(layer)
    return as_shape(built.get("input_shape") or built.get("query_shape"))


def find_inputs(layer: Json) -> list[Shape]:
    """The shapes of all that it reads in one call, where that is told in their order."""
    given = _built_for(layer).get("input_shape") or _find_declared(layer)
    one = as_shape(given)
    if one is not None:
        return [one]
    return [as_shape(shape) for shape in given] if isinstance(given, list) else []


def as_shape(given: Any) -> Shape:
    """What JSON says of a shape; None where that is none."""
    if isinstance(given, list) and all(_is_size(size) for size in given):
        return tuple(given)
    return None


def find_outputs(layer: Json) -> tuple[Output, ...]:
    config, given = _config_of(layer), find_input(layer)
    shape = as_shape(_find_declared(layer))
    if shape is not None:
        return (Output(name_dtype(config), shape),)
    if given is None:
        return ()
    if isinstance(config.get("units"), int) and config.get("return_sequences") is None:
        return (Output(name_dtype(config), (*given[:-1], config["units"])),)
    if layer.get("class_name") in _KEEPS_SHAPE:
        return (Output(name_dtype(config), given),)
    return ()


def _find_declared(layer: Json) -> Any:
    """What an input is declared to be."""
    config = _config_of(layer)
    if layer.get("class_name") != "InputLayer":
        return None
    return config.get("batch_shape") or config.get("batch_input_shape")


def _built_for(layer: Json) -> Json:
    """Shapes by their names: of the one input, or of each where there are several."""
    built = layer.get("build_config")
    built = built if isinstance(built, dict) else {}
    shapes = built.get("shapes_dict")
    return shapes if isinstance(shapes, dict) else built


def _is_size(size: Any) -> bool:
    return size is None or (type(size) is int and size >= 0)


def _config_of(layer: Json) -> Json:
    config = layer.get("config")
    return config if isinstance(config, dict) else {}


def name_dtype(config: Json) -> str:
    """A type by its name, or the one that a policy computes with."""
    given = config.get("dtype")
    if isinstance(given, dict):
        given = _config_of(given).get("name")
    name = given if isinstance(given, str) else ""
    return name.removeprefix("mixed_")


def _count_wrapped(layer: Json, config: Json, inner: Json) -> int | None:
    """A layer around another: twice for both directions, else once for all steps."""
    given = find_input(layer)
    if layer.get("class_name") == "TimeDistributed" and given:
        given = (given[0], *given[2:])
    known = (
        inner
        if inner.get("build_config") or not given
        else inner | {"build_config": {"input_shape": list(given)}}
    )
    count = count_parameters(known)
    if count is None or layer.get("class_name") != "Bidirectional":
        return count
    return 2 * count


_KEEPS_SHAPE = frozenset(
    "Activation ActivityRegularization AlphaDropout BatchNormalization Dropout ELU GaussianDropout "
    "GaussianNoise GroupNormalization LayerNormalization LeakyReLU PReLU ReLU Rescaling Softmax "
    "SpatialDropout1D SpatialDropout2D UnitNormalization".split()
)
_WITHOUT_WEIGHTS = frozenset(
    "InputLayer Flatten Reshape Permute RepeatVector Add Average Concatenate Dot Maximum "
    "Minimum Multiply Subtract AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D "
    "MaxPooling2D MaxPooling3D GlobalAveragePooling1D GlobalAveragePooling2D "
    "GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
    "UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D "
    "Cropping1D Cropping2D Cropping3D Masking Attention AdditiveAttention".split()
)
