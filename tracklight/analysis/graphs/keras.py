"""Parse the JSON of a Keras model: its layers and the connections between them.

Keras 2 and Keras 3 store the calls of layers differently; both are supported. A layer that is
called several times is one node with the edges of all calls. A nested model is a scope: reading
its output means reading its output layers, and its inputs go to its input layers.

Keras 3 stores the input shape that each layer was built with. Together with the layer's settings
that gives the shapes of its weights. Where a size is missing, nothing is claimed.

The JSON may come from anywhere, so every value is checked before use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from tracklight.analysis.graphs import EdgeBuilder, Graph, NodeDetails, Shape, TensorSpec
from tracklight.errors import FormatError
from tracklight.util.parsing import load_json

_MAX_NESTED_MODELS = 100
_MAX_SEARCH_DEPTH = 100
_KERAS_TENSOR = "__keras_tensor__"


def parse_keras(data: bytes) -> Graph:
    """Parse the output of ``model.to_json()``.

    Raises:
        FormatError: The bytes are not the JSON of a Keras model.
    """
    try:
        model = load_json(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "graphs.keras_not_json", "the model's description is not JSON: {error}", error=error
        ) from error
    if not isinstance(model, dict) or not isinstance(model.get("config"), dict):
        raise FormatError(
            "graphs.keras_no_layers",
            "it is JSON, but not a model's description as model.to_json() returns it",
        )
    try:
        return _ModelReader(model).build_graph()
    except RecursionError as error:
        raise FormatError(
            "graphs.keras_too_deep", "the model's description is nested too deeply"
        ) from error


class TensorRef(NamedTuple):
    """An output of a layer, by layer name and output number."""

    layer: str
    output: str
    spec: TensorSpec | None = None
    """Type and shape, which Keras 3 stores with every reference."""


@dataclass
class _Node:
    """A layer that is not a model."""

    name: str
    layer: Json
    inputs: list[TensorRef] = field(default_factory=list)
    outputs: dict[str, TensorSpec] = field(default_factory=dict)
    """Known from the layers that read them, by output number."""
    calls: int = 0


class _ModelReader:
    """Collect the layers of a model and its nested models, and connect them."""

    def __init__(self, model: Json) -> None:
        self._nodes: dict[str, _Node] = {}
        root = _Model(model, "", 0)
        self._add_layers(root)
        self._connect(root, [])

    def build_graph(self) -> Graph:
        nodes = list(self._nodes.values())
        edges = EdgeBuilder([node.name for node in nodes])
        for index, node in enumerate(nodes):
            for position, tensor in enumerate(node.inputs):
                edges.add(index, position, tensor.layer, tensor.output, False)
        return Graph(
            [node.name for node in nodes],
            [str(node.layer.get("class_name", "")) for node in nodes],
            edges.build(),
            lambda index: _describe(nodes[index]),
            problems=edges.list_problems(),
        )

    def _add_layers(self, model: _Model) -> None:
        for name, layer in model.layers.items():
            nested = model.nested.get(name)
            if nested is not None:
                self._add_layers(nested)
            else:
                self._nodes[model.get_path(name)] = _Node(model.get_path(name), layer)

    def _connect(self, model: _Model, inputs: list[list[TensorRef]]) -> None:
        """Connect the layers of a model; ``inputs`` has the arguments of all calls, by input."""
        for name, sources in zip(model.input_names, inputs, strict=False):
            for node in self._iter_input_nodes(model, name):
                self._add_inputs(node, sources)
        previous: TensorRef | None = None
        for name, layer in model.layers.items():
            calls = [[previous]] if model.is_sequential and previous else iter_calls(layer)
            self._connect_layer(model, name, list(calls))
            previous = TensorRef(name, "0")

    def _connect_layer(self, model: _Model, name: str, calls: list[list[TensorRef]]) -> None:
        resolved = [[model.resolve(source) for source in call] for call in calls]
        nested = model.nested.get(name)
        if nested is None:
            node = self._nodes[model.get_path(name)]
            node.calls += len(calls)
            self._add_inputs(node, [source for call in resolved for source in call])
            return
        width = max(map(len, resolved), default=0)
        self._connect(
            nested,
            [[call[index] for call in resolved if index < len(call)] for index in range(width)],
        )

    def _add_inputs(self, node: _Node, sources: list[TensorRef]) -> None:
        """Add inputs to a node. What the node was built with is what its sources output."""
        shapes = list_input_shapes(node.layer)
        for index, source in enumerate(sources):
            built = TensorSpec("", shapes[index]) if index < len(shapes) else None
            spec = source.spec or built
            producer = self._nodes.get(source.layer)
            if spec is not None and producer is not None:
                producer.outputs.setdefault(source.output, spec)
        node.inputs.extend(sources)

    def _iter_input_nodes(self, model: _Model, name: str) -> Iterator[_Node]:
        """Yield the node of a layer, or the input nodes of a nested model of that name."""
        nested = model.nested.get(name)
        if nested is None:
            node = self._nodes.get(model.get_path(name))
            if node is not None:
                yield node
        else:
            for input_name in nested.input_names:
                yield from self._iter_input_nodes(nested, input_name)


class _Model:
    """A layer that consists of layers."""

    def __init__(self, model: Json, scope: str, depth: int) -> None:
        if depth > _MAX_NESTED_MODELS:
            raise FormatError(
                "graphs.keras_models_too_deep",
                "models are nested more than {max_depth} levels deep",
                max_depth=_MAX_NESTED_MODELS,
            )
        self.config: Json = model["config"]
        self.scope = scope
        layers = [item for item in as_list(self.config.get("layers")) if isinstance(item, dict)]
        if not layers and depth == 0:
            layers = list(iter_nested_layers(self.config, 0)) or [model]
        self.is_sequential = model.get("class_name") == "Sequential"
        self.layers = {get_layer_name(layer, index): layer for index, layer in enumerate(layers)}
        self.nested = {
            name: _Model(layer, self.get_path(name), depth + 1)
            for name, layer in self.layers.items()
            if isinstance(layer.get("config"), dict) and as_list(layer["config"].get("layers"))
        }

    def get_path(self, name: str) -> str:
        return f"{self.scope}/{name}" if self.scope else name

    @cached_property
    def input_names(self) -> list[str]:
        names = [tensor.layer for tensor in iter_tensor_refs(self.config.get("input_layers"))]
        return names or list(self.layers)[:1]

    @cached_property
    def outputs(self) -> list[TensorRef]:
        return list(iter_tensor_refs(self.config.get("output_layers"))) or [
            TensorRef(name, "0") for name in list(self.layers)[-1:]
        ]

    def resolve(self, tensor: TensorRef) -> TensorRef:
        """Return the reference with the path of the node that outputs the tensor.

        A reference to a nested model becomes one to the layer inside that outputs the tensor.
        """
        nested = self.nested.get(tensor.layer)
        outputs = nested.outputs if nested else []
        if nested is None or not outputs:
            return tensor._replace(layer=self.get_path(tensor.layer))
        index = int(tensor.output) if tensor.output.isdecimal() else 0
        output = outputs[min(index, len(outputs) - 1)]
        return nested.resolve(output._replace(spec=tensor.spec))


def iter_nested_layers(value: Any, depth: int) -> Iterator[Json]:
    """Yield the layers in the config of a subclassed model.

    Only its code knows how they are connected. Layers inside of layers are not yielded.
    """
    parts = value.values() if isinstance(value, dict) else as_list(value)
    for part in parts:
        config = part.get("config") if isinstance(part, dict) else None
        if isinstance(config, dict) and isinstance(config.get("name"), str) and "dtype" in config:
            yield part
        elif depth < _MAX_SEARCH_DEPTH:
            yield from iter_nested_layers(part, depth + 1)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, and an empty list for any other value."""
    return value if isinstance(value, list) else []


def get_layer_name(layer: Json, index: int) -> str:
    return str(layer.get("name") or _get_config(layer).get("name") or f"layer_{index}")


def iter_tensor_refs(value: Any) -> Iterator[TensorRef]:
    """Parse ``[layer, call, tensor]``, or a list or object of these."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], str):
        yield TensorRef(value[0], str(value[2]) if len(value) > 2 else "0")
        return
    for part in value:
        yield from iter_tensor_refs(part)


def iter_calls(layer: Json) -> Iterator[list[TensorRef]]:
    """Yield the inputs of each call of a layer."""
    for call in as_list(layer.get("inbound_nodes")):
        yield list(_iter_call_inputs(call))


def _iter_call_inputs(call: Any) -> Iterator[TensorRef]:
    # Keras 3: the arguments of the call, in which tensors have a class name and a shape.
    if isinstance(call, dict):
        if call.get("class_name") == _KERAS_TENSOR:
            config = call.get("config")
            config = config if isinstance(config, dict) else {}
            shape = parse_json_shape(config.get("shape"))
            spec = TensorSpec(str(config.get("dtype") or ""), shape)
            for tensor in iter_tensor_refs(config.get("keras_history")):
                yield tensor._replace(spec=spec)
            return
        call = list(call.values())
    if not isinstance(call, list):
        return
    # Keras 2: [layer, call, tensor, {keyword: [layer, call, tensor]}].
    if len(call) >= 3 and isinstance(call[0], str) and isinstance(call[1], int):
        yield TensorRef(call[0], str(call[2]))
        call = call[3:]
    for part in call:
        yield from _iter_call_inputs(part)


def _describe(node: _Node) -> NodeDetails:
    config = _get_config(node.layer)
    attributes = {key: _format_value(value) for key, value in config.items() if key != "layers"}
    if node.calls > 1:
        attributes["calls"] = str(node.calls)
    dtype = get_layer_dtype(config)
    outputs = tuple(
        TensorSpec(item.dtype or dtype, item.shape) for item in _order_outputs(node.outputs)
    ) or infer_outputs(node.layer)
    return NodeDetails(outputs, attributes, parameters=count_parameters(node.layer) or 0)


def _format_value(value: Any) -> str:
    try:
        return json.dumps(value)
    except RecursionError:
        return "…"


def _order_outputs(outputs: dict[str, TensorSpec]) -> tuple[TensorSpec, ...]:
    """Order outputs by number; outputs that no layer reads are unknown."""
    by_number = {
        int(key): item for key, item in outputs.items() if key.isdecimal() and len(key) < 4
    }
    return tuple(
        by_number.get(number, TensorSpec("", None))
        for number in range(max(by_number, default=-1) + 1)
    )


# ---- layers: parameter counts and output shapes

#: A layer or its config, as in the output of ``model.to_json()``.
Json = dict[str, Any]
_InputShape = tuple[Any, ...]

#: Layers whose output has the shape of their input.
_KEEPS_SHAPE = frozenset(
    "Activation ActivityRegularization AlphaDropout BatchNormalization Dropout ELU GaussianDropout "
    "GaussianNoise GroupNormalization LayerNormalization LeakyReLU PReLU ReLU Rescaling Softmax "
    "SpatialDropout1D SpatialDropout2D UnitNormalization".split()
)

_WITHOUT_PARAMETERS = frozenset(
    "InputLayer Flatten Reshape Permute RepeatVector Add Average Concatenate Dot Maximum "
    "Minimum Multiply Subtract AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D "
    "MaxPooling2D MaxPooling3D GlobalAveragePooling1D GlobalAveragePooling2D "
    "GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
    "UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D "
    "Cropping1D Cropping2D Cropping3D Masking Attention AdditiveAttention".split()
)


def count_parameters(layer: Json) -> int | None:
    """Return the number of weights, like ``layer.count_params()``; None if unknown."""
    config, input_shape = _get_config(layer), get_input_shape(layer)
    inner = config.get("layer")
    if isinstance(inner, dict):
        return _count_wrapped(layer, inner)
    name = str(layer.get("class_name"))
    rule = PARAMETER_RULES.get(name)
    if rule is None:
        return 0 if name in _KEEPS_SHAPE | _WITHOUT_PARAMETERS else None
    try:
        return int(rule(config | _get_build_shapes(layer), input_shape or ()))
    except (KeyError, IndexError, TypeError, ValueError):
        return None


def get_input_shape(layer: Json) -> Shape:
    """Return the input shape that the layer was built with, including the batch."""
    built = _get_build_shapes(layer)
    return parse_json_shape(built.get("input_shape") or built.get("query_shape"))


def list_input_shapes(layer: Json) -> list[Shape]:
    """Return the shapes of all inputs of one call, if the config has them in order."""
    value = _get_build_shapes(layer).get("input_shape") or _get_declared_shape(layer)
    one = parse_json_shape(value)
    if one is not None:
        return [one]
    return [parse_json_shape(shape) for shape in value] if isinstance(value, list) else []


def parse_json_shape(value: Any) -> Shape:
    """Convert a JSON list; None if it is not a shape."""
    if isinstance(value, list) and all(_is_size(size) for size in value):
        return tuple(value)
    return None


def infer_outputs(layer: Json) -> tuple[TensorSpec, ...]:
    """Return the output of a layer, empty if it cannot be inferred from the config."""
    config, input_shape = _get_config(layer), get_input_shape(layer)
    shape = parse_json_shape(_get_declared_shape(layer))
    if shape is not None:
        return (TensorSpec(get_layer_dtype(config), shape),)
    if input_shape is None:
        return ()
    if isinstance(config.get("units"), int) and config.get("return_sequences") is None:
        return (TensorSpec(get_layer_dtype(config), (*input_shape[:-1], config["units"])),)
    if layer.get("class_name") in _KEEPS_SHAPE:
        return (TensorSpec(get_layer_dtype(config), input_shape),)
    return ()


def _get_declared_shape(layer: Json) -> Any:
    """Return the declared shape of an ``InputLayer``."""
    config = _get_config(layer)
    if layer.get("class_name") != "InputLayer":
        return None
    return config.get("batch_shape") or config.get("batch_input_shape")


def _get_build_shapes(layer: Json) -> Json:
    """Return the shapes that a layer was built with, by argument name."""
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
    """Return the name of a layer's dtype, or the compute dtype of its mixed-precision policy."""
    value = config.get("dtype")
    if isinstance(value, dict):
        value = _get_config(value).get("name")
    name = value if isinstance(value, str) else ""
    return name.removeprefix("mixed_")


def _count_wrapped(layer: Json, inner: Json) -> int | None:
    """Count the weights of a wrapper: those of the inner layer, twice for ``Bidirectional``."""
    input_shape = get_input_shape(layer)
    if layer.get("class_name") == "TimeDistributed" and input_shape:
        input_shape = (input_shape[0], *input_shape[2:])
    built = (
        inner
        if inner.get("build_config") or not input_shape
        else inner | {"build_config": {"input_shape": list(input_shape)}}
    )
    count = count_parameters(built)
    if count is None or layer.get("class_name") != "Bidirectional":
        return count
    return 2 * count


# Rules for the number of weights by class name. A rule may raise if a setting or size is missing.


def _count_dense(config: Json, shape: _InputShape) -> Any:
    return config["units"] * (_require_size(shape[-1]) + config["use_bias"])


def _count_convolution(config: Json, shape: _InputShape) -> Any:
    inputs = _get_channels(config, shape) // config.get("groups", 1)
    return config["filters"] * (prod(config["kernel_size"]) * inputs + config["use_bias"])


def _count_transposed(config: Json, shape: _InputShape) -> Any:
    weights = prod(config["kernel_size"]) * _get_channels(config, shape) * config["filters"]
    return weights + config["filters"] * config["use_bias"]


def _count_depthwise(config: Json, shape: _InputShape) -> Any:
    outputs = _get_channels(config, shape) * config["depth_multiplier"]
    return outputs * (prod(config["kernel_size"]) + config["use_bias"])


def _count_separable(config: Json, shape: _InputShape) -> Any:
    depthwise = _get_channels(config, shape) * config["depth_multiplier"]
    return depthwise * prod(config["kernel_size"]) + config["filters"] * (
        depthwise + config["use_bias"]
    )


def _count_batch_norm(config: Json, shape: _InputShape) -> Any:
    axis = config["axis"]
    size = _require_size(shape[axis[0] if isinstance(axis, list) else axis])
    return size * (2 + config["center"] + config["scale"])


def _count_layer_norm(config: Json, shape: _InputShape) -> Any:
    axis = config["axis"]
    size = prod(
        _require_size(shape[index]) for index in (axis if isinstance(axis, list) else [axis])
    )
    if config.get("rms_scaling"):
        return size
    return size * (config["center"] + config["scale"])


def _count_group_norm(config: Json, shape: _InputShape) -> Any:
    return _require_size(shape[config["axis"]]) * (config["center"] + config["scale"])


def _count_embedding(config: Json, shape: _InputShape) -> Any:
    return int(config["input_dim"] * config["output_dim"])


def _count_simple_rnn(config: Json, shape: _InputShape) -> Any:
    units = config["units"]
    return units * (_require_size(shape[-1]) + units + config["use_bias"])


def _count_lstm(config: Json, shape: _InputShape) -> Any:
    return 4 * _count_simple_rnn(config, shape)


def _count_gru(config: Json, shape: _InputShape) -> Any:
    """With ``reset_after``, input and recurrent product have separate biases."""
    biases = config["use_bias"] * (2 if config["reset_after"] else 1)
    return 3 * config["units"] * (_require_size(shape[-1]) + config["units"] + biases)


def _count_attention(config: Json, shape: _InputShape) -> Any:
    """Query, key and value projections of each head, and the output projection."""
    query, values = _require_size(shape[-1]), _require_size(config["value_shape"][-1])
    keys = _require_size((config.get("key_shape") or config["value_shape"])[-1])
    heads, key, value = config["num_heads"], config["key_dim"], config["value_dim"]
    biased = config["use_bias"]
    projections = heads * (key * (query + keys + 2 * biased) + value * (values + biased))
    return projections + query * (heads * value + biased)


def _count_grouped_attention(config: Json, shape: _InputShape) -> Any:
    """As attention, but several query heads share one key/value head."""
    if config.get("use_gate"):
        raise ValueError("the size of the gate is unknown")
    query, values = _require_size(shape[-1]), _require_size(config["value_shape"][-1])
    keys = _require_size((config.get("key_shape") or config["value_shape"])[-1])
    query_size = config["num_query_heads"] * config["head_dim"]
    key_value_size = config["num_key_value_heads"] * config["head_dim"]
    biased = config["use_bias"]
    projections = query_size * (query + biased) + key_value_size * (keys + values + 2 * biased)
    return projections + query * (query_size + biased)


def _count_einsum(config: Json, shape: _InputShape) -> Any:
    """Take the sizes of the kernel's axes from the same letters in input and output."""
    inputs, kernel, output = re.split(",|->", config["equation"])
    sizes: dict[str, int | None] = {}
    for letters, letter_sizes in ((inputs, shape), (output, config["output_shape"])):
        # output_shape has neither the batch nor the dimensions of an ellipsis.
        plain = letters.removeprefix("...")
        pairs = zip(plain[::-1], list(letter_sizes)[::-1], strict=False)
        sizes = {letter: size for letter, size in pairs if size is not None} | sizes
    bias = (
        prod(_require_size(sizes[letter]) for letter in config["bias_axes"])
        if config["bias_axes"]
        else 0
    )
    return prod(_require_size(sizes[letter]) for letter in kernel) + bias


def _count_rms_norm(config: Json, shape: _InputShape) -> Any:
    axis = config["axis"]
    return prod(
        _require_size(shape[index]) for index in (axis if isinstance(axis, list) else [axis])
    )


def _count_normalization(config: Json, shape: _InputShape) -> Any:
    """Mean, variance and a count; no weights if mean and variance are given."""
    if config.get("mean") is not None:
        return 0
    axis = config["axis"]
    axes = [] if axis is None else axis if isinstance(axis, list) else [axis]
    return 2 * prod(_require_size(shape[index]) for index in axes) + 1


def _count_conv_lstm(config: Json, shape: _InputShape) -> Any:
    filters = config["filters"]
    projections = prod(config["kernel_size"]) * (_get_channels(config, shape) + filters)
    return 4 * filters * (projections + config["use_bias"])


def _count_layer_scale(config: Json, shape: _InputShape) -> Any:
    return int(config["projection_dim"])


def _count_prelu(config: Json, shape: _InputShape) -> Any:
    shared = config.get("shared_axes") or ()
    return prod(
        1 if axis in shared else _require_size(size) for axis, size in enumerate(shape) if axis
    )


def _get_channels(config: Json, shape: _InputShape) -> int:
    return _require_size(shape[1 if config.get("data_format") == "channels_first" else -1])


def _require_size(size: int | None) -> int:
    if size is None:
        raise TypeError("the size is unknown")
    return size


PARAMETER_RULES: dict[str, Callable[[Json, _InputShape], Any]] = {
    "Dense": _count_dense,
    "Conv1D": _count_convolution,
    "Conv2D": _count_convolution,
    "Conv3D": _count_convolution,
    "Conv1DTranspose": _count_transposed,
    "Conv2DTranspose": _count_transposed,
    "Conv3DTranspose": _count_transposed,
    "DepthwiseConv1D": _count_depthwise,
    "DepthwiseConv2D": _count_depthwise,
    "SeparableConv1D": _count_separable,
    "SeparableConv2D": _count_separable,
    "BatchNormalization": _count_batch_norm,
    "LayerNormalization": _count_layer_norm,
    "GroupNormalization": _count_group_norm,
    "Embedding": _count_embedding,
    "SimpleRNN": _count_simple_rnn,
    "LSTM": _count_lstm,
    "GRU": _count_gru,
    "MultiHeadAttention": _count_attention,
    "PReLU": _count_prelu,
    "EinsumDense": _count_einsum,
    "GroupQueryAttention": _count_grouped_attention,
    "RMSNormalization": _count_rms_norm,
    "Normalization": _count_normalization,
    "ConvLSTM1D": _count_conv_lstm,
    "ConvLSTM2D": _count_conv_lstm,
    "ConvLSTM3D": _count_conv_lstm,
    "LayerScale": _count_layer_scale,
}
