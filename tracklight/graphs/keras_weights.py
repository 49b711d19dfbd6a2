"""How many weights a Keras layer of each kind has, by its settings and what it was built for.

A rule may raise where a setting or a size is missing: then nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

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


WEIGHTS: dict[str, Callable[[Json, Given], Any]] = {
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
