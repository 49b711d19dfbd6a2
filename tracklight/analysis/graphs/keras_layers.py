"""How many weights a Keras layer of each kind has, by its settings and what it was built for.

A rule may raise where a setting or a size is missing: then nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

from tracklight.analysis.graphs.model import Shape, TensorSpec

Json = dict[str, Any]

Given = tuple[int | None, ...]


def _of_dense(config: Json, given: Given) -> Any:
    return config["units"] * (_size(given[-1]) + config["use_bias"])


def _of_convolution(config: Json, given: Given) -> Any:
    inputs = _channels(config, given) // config.get("groups", 1)
    return config["filters"] * (prod(config["kernel_size"]) * inputs + config["use_bias"])


def _of_transposed(config: Json, given: Given) -> Any:
    weights = prod(config["kernel_size"]) * _channels(config, given) * config["filters"]
    return weights + config["filters"] * config["use_bias"]


def _of_depthwise(config: Json, given: Given) -> Any:
    outputs = _channels(config, given) * config["depth_multiplier"]
    return outputs * (prod(config["kernel_size"]) + config["use_bias"])


def _of_separable(config: Json, given: Given) -> Any:
    between = _channels(config, given) * config["depth_multiplier"]
    return between * prod(config["kernel_size"]) + config["filters"] * (
        between + config["use_bias"]
    )


def _of_batch_norm(config: Json, given: Given) -> Any:
    axis = config["axis"]
    size = _size(given[axis[0] if isinstance(axis, list) else axis])
    return size * (2 + config["center"] + config["scale"])


def _of_layer_norm(config: Json, given: Given) -> Any:
    axis = config["axis"]
    size = prod(_size(given[at]) for at in (axis if isinstance(axis, list) else [axis]))
    if config.get("rms_scaling"):
        return size
    return size * (config["center"] + config["scale"])


def _of_group_norm(config: Json, given: Given) -> Any:
    return _size(given[config["axis"]]) * (config["center"] + config["scale"])


def _of_embedding(config: Json, given: Given) -> Any:
    return int(config["input_dim"] * config["output_dim"])


def _of_simple_rnn(config: Json, given: Given) -> Any:
    units = config["units"]
    return units * (_size(given[-1]) + units + config["use_bias"])


def _of_lstm(config: Json, given: Given) -> Any:
    return 4 * _of_simple_rnn(config, given)


def _of_gru(config: Json, given: Given) -> Any:
    """With ``reset_after`` the two products have a bias each."""
    biases = config["use_bias"] * (2 if config["reset_after"] else 1)
    return 3 * config["units"] * (_size(given[-1]) + config["units"] + biases)


def _of_attention(config: Json, given: Given) -> Any:
    """Projections of query, key and value for each head, and of all heads together."""
    query, values = _size(given[-1]), _size(config["value_shape"][-1])
    keys = _size((config.get("key_shape") or config["value_shape"])[-1])
    heads, key, value = config["num_heads"], config["key_dim"], config["value_dim"]
    biased = config["use_bias"]
    inwards = heads * (key * (query + keys + 2 * biased) + value * (values + biased))
    return inwards + query * (heads * value + biased)


def _of_grouped_attention(config: Json, given: Given) -> Any:
    """As attention, but several heads that ask share one that answers."""
    if config.get("use_gate"):
        raise ValueError("a gate has weights of its own")
    query, values = _size(given[-1]), _size(config["value_shape"][-1])
    keys = _size((config.get("key_shape") or config["value_shape"])[-1])
    asking = config["num_query_heads"] * config["head_dim"]
    answering = config["num_key_value_heads"] * config["head_dim"]
    biased = config["use_bias"]
    inwards = asking * (query + biased) + answering * (keys + values + 2 * biased)
    return inwards + query * (asking + biased)


def _of_einsum(config: Json, given: Given) -> Any:
    """Sizes of the kernel's letters are those that they have in the input or the output."""
    inputs, kernel, output = re.split(",|->", config["equation"])
    sizes: dict[str, int | None] = {}
    for letters, shape in ((inputs, given), (output, config["output_shape"])):
        # The batch is left out of the output's shape, and all that an ellipsis stands for.
        plain = letters.removeprefix("...")
        pairs = zip(plain[::-1], list(shape)[::-1], strict=False)
        sizes = {letter: size for letter, size in pairs if size is not None} | sizes
    bias = prod(_size(sizes[it]) for it in config["bias_axes"]) if config["bias_axes"] else 0
    return prod(_size(sizes[letter]) for letter in kernel) + bias


def _of_rms_norm(config: Json, given: Given) -> Any:
    axis = config["axis"]
    return prod(_size(given[at]) for at in (axis if isinstance(axis, list) else [axis]))


def _of_normalization(config: Json, given: Given) -> Any:
    """A mean and a variance, and how much they were taken of; nothing where they are given."""
    if config.get("mean") is not None:
        return 0
    axis = config["axis"]
    kept = [] if axis is None else axis if isinstance(axis, list) else [axis]
    return 2 * prod(_size(given[at]) for at in kept) + 1


def _of_conv_lstm(config: Json, given: Given) -> Any:
    filters = config["filters"]
    inwards = prod(config["kernel_size"]) * (_channels(config, given) + filters)
    return 4 * filters * (inwards + config["use_bias"])


def _of_layer_scale(config: Json, given: Given) -> Any:
    return int(config["projection_dim"])


def _of_prelu(config: Json, given: Given) -> Any:
    shared = config.get("shared_axes") or ()
    return prod(1 if axis in shared else _size(size) for axis, size in enumerate(given) if axis)


def _channels(config: Json, given: Given) -> int:
    return _size(given[1 if config.get("data_format") == "channels_first" else -1])


def _size(size: int | None) -> int:
    if size is None:
        raise TypeError("the size is not known")
    return size


PARAMETER_RULES: dict[str, Callable[[Json, Given], Any]] = {
    "Dense": _of_dense,
    "Conv1D": _of_convolution,
    "Conv2D": _of_convolution,
    "Conv3D": _of_convolution,
    "Conv1DTranspose": _of_transposed,
    "Conv2DTranspose": _of_transposed,
    "Conv3DTranspose": _of_transposed,
    "DepthwiseConv1D": _of_depthwise,
    "DepthwiseConv2D": _of_depthwise,
    "SeparableConv1D": _of_separable,
    "SeparableConv2D": _of_separable,
    "BatchNormalization": _of_batch_norm,
    "LayerNormalization": _of_layer_norm,
    "GroupNormalization": _of_group_norm,
    "Embedding": _of_embedding,
    "SimpleRNN": _of_simple_rnn,
    "LSTM": _of_lstm,
    "GRU": _of_gru,
    "MultiHeadAttention": _of_attention,
    "PReLU": _of_prelu,
    "EinsumDense": _of_einsum,
    "GroupQueryAttention": _of_grouped_attention,
    "RMSNormalization": _of_rms_norm,
    "Normalization": _of_normalization,
    "ConvLSTM1D": _of_conv_lstm,
    "ConvLSTM2D": _of_conv_lstm,
    "ConvLSTM3D": _of_conv_lstm,
    "LayerScale": _of_layer_scale,
}


# How many numbers a Keras layer trains and what it gives, from its configuration alone.
#
# Keras 3 writes down for what input each layer was built; with that and the layer's own settings the
# sizes of its weights are known. Where one of them is missing, nothing is claimed.


def count_parameters(layer: Json) -> int | None:
    """All weights, trained or not, as ``layer.count_params()`` counts them; None if unknown."""
    config, given = _get_config(layer), find_input_shape(layer)
    inner = config.get("layer")
    if isinstance(inner, dict):
        return _count_wrapped(layer, config, inner)
    name = str(layer.get("class_name"))
    rule = PARAMETER_RULES.get(name)
    if rule is None:
        return 0 if name in _KEEPS_SHAPE | _WITHOUT_WEIGHTS else None
    try:
        return int(rule(config | _get_build_shapes(layer), given or ()))
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def find_input_shape(layer: Json) -> Shape:
    """The shape that the layer was built for, batch and all."""
    built = _get_build_shapes(layer)
    return parse_json_shape(built.get("input_shape") or built.get("query_shape"))


def list_input_shapes(layer: Json) -> list[Shape]:
    """The shapes of all that it reads in one call, where that is told in their order."""
    given = _get_build_shapes(layer).get("input_shape") or _get_declared_shape(layer)
    one = parse_json_shape(given)
    if one is not None:
        return [one]
    return [parse_json_shape(shape) for shape in given] if isinstance(given, list) else []


def parse_json_shape(given: Any) -> Shape:
    """What JSON says of a shape; None where that is none."""
    if isinstance(given, list) and all(_is_size(size) for size in given):
        return tuple(given)
    return None


def infer_outputs(layer: Json) -> tuple[TensorSpec, ...]:
    config, given = _get_config(layer), find_input_shape(layer)
    shape = parse_json_shape(_get_declared_shape(layer))
    if shape is not None:
        return (TensorSpec(get_layer_dtype(config), shape),)
    if given is None:
        return ()
    if isinstance(config.get("units"), int) and config.get("return_sequences") is None:
        return (TensorSpec(get_layer_dtype(config), (*given[:-1], config["units"])),)
    if layer.get("class_name") in _KEEPS_SHAPE:
        return (TensorSpec(get_layer_dtype(config), given),)
    return ()


def _get_declared_shape(layer: Json) -> Any:
    """What an input is declared to be."""
    config = _get_config(layer)
    if layer.get("class_name") != "InputLayer":
        return None
    return config.get("batch_shape") or config.get("batch_input_shape")


def _get_build_shapes(layer: Json) -> Json:
    """Shapes by their names: of the one input, or of each where there are several."""
    built = layer.get("build_config")
    built = built if isinstance(built, dict) else {}
    shapes = built.get("shapes_dict")
    return shapes if isinstance(shapes, dict) else built


def _is_size(size: Any) -> bool:
    return size is None or (type(size) is int and size >= 0)


def _get_config(layer: Json) -> Json:
    config = layer.get("config")
    return config if isinstance(config, dict) else {}


def get_layer_dtype(config: Json) -> str:
    """A type by its name, or the one that a policy computes with."""
    given = config.get("dtype")
    if isinstance(given, dict):
        given = _get_config(given).get("name")
    name = given if isinstance(given, str) else ""
    return name.removeprefix("mixed_")


def _count_wrapped(layer: Json, config: Json, inner: Json) -> int | None:
    """A layer around another: twice for both directions, else once for all steps."""
    given = find_input_shape(layer)
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
