"""Shapes of parameters in graphs that PyTorch's own ``add_graph`` has logged.

PyTorch logs names, inputs, attributes and the shapes of results, but neither types nor source
lines nor the shapes of parameters, which are nodes ``prim::GetAttr``. Where the operations that
read a parameter determine its shape, it is derived from the shapes of their inputs and results and
from their constants. What they do not determine stays unknown: the kernel size of most strided
convolutions, the number of rows of an embedding.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tracklight.analysis.graphs import Graph, NodeDetails, Shape, TensorSpec
from tracklight.errors import Message

_PARAMETER = "prim::GetAttr"
_CONSTANT = "prim::Constant"
_LIST = "prim::ListConstruct"

#: Tensors of modules that are not trained.
_BUFFERS = frozenset({"running_mean", "running_var", "num_batches_tracked"})

#: The number of gates, which is the size of weights by the size of the hidden state.
_RECURRENT = {"aten::lstm": 4, "aten::gru": 3, "aten::rnn_tanh": 1, "aten::rnn_relu": 1}
_RECURRENT_NAME = re.compile(r"(weight_ih|weight_hh|bias_ih|bias_hh)_l(\d+)(_reverse)?")


def add_parameter_shapes(graph: Graph) -> Graph:
    """Return a graph whose parameters have shapes, as far as they can be derived.

    A problem of the graph says how many parameters are not counted.
    """
    if _PARAMETER not in graph.ops:
        return graph
    describe = graph.describe
    shapes = dict(_TracedModel(graph).iter_shapes())
    trained = _list_trained(graph)

    def describe_parameter(node: int) -> NodeDetails:
        details = describe(node)
        shape = shapes.get(node)
        if shape is None or details.outputs:
            return details
        spec = TensorSpec("", shape)
        count = (spec.count_elements() or 0) if node in trained else 0
        return replace(details, outputs=(spec,), parameters=count)

    unknown = sum(
        1
        for node in trained
        if not describe(node).outputs and TensorSpec("", shapes.get(node)).count_elements() is None
    )
    problems = graph.problems
    if unknown:
        problems += (
            Message.format(
                "graphs.parameters_unknown",
                "parameters without a logged shape, which are not counted ({count:,})",
                count=unknown,
            ),
        )
    return replace(graph, describe=describe_parameter, problems=problems)


def _list_trained(graph: Graph) -> set[int]:
    """Return the first read of each parameter: a shared module reads it several times."""
    first: dict[str, int] = {}
    for node, op in enumerate(graph.ops):
        if op == _PARAMETER and graph.describe(node).attributes.get("name") not in _BUFFERS:
            first.setdefault(graph.names[node].rpartition("/")[0], node)
    return set(first.values())


class _TracedModel:
    """Reads constants, lists and shapes of a traced graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._inputs: dict[int, dict[int, int]] = defaultdict(dict)
        edges = graph.edges
        ends = zip(
            edges.source.tolist(), edges.target.tolist(), edges.position.tolist(), strict=True
        )
        for source, target, position in ends:
            self._inputs[target][position] = source

    def iter_shapes(self) -> Iterator[tuple[int, Shape]]:
        """Yield parameters and their shapes."""
        for node, op in enumerate(self._graph.ops):
            if op in _RECURRENT:
                yield from self._iter_recurrent(node, _RECURRENT[op])
                continue
            for position, derive in _RULES.get(op, {}).items():
                source = self._inputs[node].get(position)
                if source is not None and self._graph.ops[source] == _PARAMETER:
                    shape = derive(self, node)
                    if shape is not None:
                        yield source, shape

    # ---- Rules

    def derive_linear_weight(self, node: int) -> Shape:
        given, result = self._get_input_shape(node, 0), self._get_shape(node)
        return (result[-1], given[-1]) if given and result else None

    def derive_factor(self, node: int) -> Shape:
        given, result = self._get_input_shape(node, 0), self._get_shape(node)
        return (given[-1], result[-1]) if given and result and len(given) > 1 else None

    def derive_features(self, node: int) -> Shape:
        result = self._get_shape(node)
        return (result[-1],) if result else None

    def derive_transposed(self, node: int) -> Shape:
        result = self._get_shape(node)
        return result[::-1] if result else None

    def derive_embedding(self, node: int) -> Shape:
        result = self._get_shape(node)
        return (None, result[-1]) if result else None

    def derive_channels(self, node: int) -> Shape:
        given = self._get_input_shape(node, 0)
        return (given[1],) if given and len(given) > 1 else None

    def derive_normalized(self, node: int) -> Shape:
        sizes = self._read_integers(node, 1)
        return tuple(sizes) if sizes else self.derive_features(node)

    def derive_filters(self, node: int) -> Shape:
        """Return the shape of the weight of a convolution; unknown kernel sizes are None."""
        given, result = self._get_input_shape(node, 0), self._get_shape(node)
        settings = self._read_convolution(node)
        if not given or not result or len(given) != len(result) or len(given) < 3:
            return None
        inputs, outputs, groups = given[1], result[1], settings.groups
        if not isinstance(inputs, int) or not isinstance(outputs, int) or not groups:
            return None
        rank = len(given) - 2
        kernel = [
            settings.derive_kernel_size(axis, rank, given[axis + 2], result[axis + 2])
            for axis in range(rank)
        ]
        if settings.is_transposed:
            return (inputs, outputs // groups, *kernel)
        return (outputs, inputs // groups, *kernel)

    def derive_filter_bias(self, node: int) -> Shape:
        result = self._get_shape(node)
        return (result[1],) if result and len(result) > 2 else None

    def _iter_recurrent(self, node: int, gates: int) -> Iterator[tuple[int, Shape]]:
        given = self._get_input_shape(node, 0)
        state = self._inputs[node].get(1)
        if state is not None and self._graph.ops[state] == _LIST:
            state = self._inputs[state].get(0)
        hidden = self._get_shape(state) if state is not None else None
        weights = self._inputs[node].get(2)
        if not given or not hidden or weights is None or not isinstance(hidden[-1], int):
            return
        size = hidden[-1]
        named = [
            (source, match)
            for source in self._inputs[weights].values()
            if self._graph.ops[source] == _PARAMETER
            and (match := _RECURRENT_NAME.fullmatch(self._get_attribute(source, "name")))
        ]
        directions = 1 + any(match[3] for _, match in named)
        for source, match in named:
            if match[1].startswith("bias"):
                yield source, (gates * size,)
            elif match[1] == "weight_hh":
                yield source, (gates * size, size)
            else:
                is_first = match[2] == "0"
                yield source, (gates * size, given[-1] if is_first else directions * size)

    # ---- Values

    def _read_convolution(self, node: int) -> _Convolution:
        op = self._graph.ops[node]
        transposed_op = "conv_transpose" in op
        if op == "aten::_convolution":
            positions = {"dilation": 5, "output_padding": 7, "groups": 8}
        elif transposed_op:
            positions = {"dilation": 7, "output_padding": 5, "groups": 6}
        else:
            positions = {"dilation": 5, "groups": 6}
        lists = {name: self._read_integers(node, at) for name, at in positions.items()}
        groups = lists.pop("groups")
        is_transposed = transposed_op or (
            op == "aten::_convolution" and self._read_integers(node, 6) == [1]
        )
        return _Convolution(
            stride=self._read_integers(node, 3),
            padding=self._read_integers(node, 4),
            dilation=lists["dilation"],
            output_padding=lists.get("output_padding") or [0],
            groups=groups[0] if groups else None,
            is_transposed=is_transposed,
        )

    def _read_integers(self, node: int, position: int) -> list[int] | None:
        """Return an input that is a constant integer or a list of them; None if it is not."""
        source = self._inputs[node].get(position)
        if source is None:
            return None
        op = self._graph.ops[source]
        inputs = self._inputs[source]
        items = [inputs[at] for at in sorted(inputs)] if op == _LIST else [source]
        if any(self._graph.ops[item] != _CONSTANT for item in items):
            return None
        texts = [self._get_attribute(item, "value") for item in items]
        words = {"True": "1", "False": "0"}
        try:
            return [int(words.get(text, text)) for text in texts]
        except ValueError:
            return None

    def _get_attribute(self, node: int, key: str) -> str:
        return self._graph.describe(node).attributes.get(key, "").strip()

    def _get_input_shape(self, node: int, position: int) -> Shape:
        source = self._inputs[node].get(position)
        return None if source is None else self._get_shape(source)

    def _get_shape(self, node: int) -> Shape:
        outputs = self._graph.describe(node).outputs
        return outputs[0].shape if outputs else None


@dataclass(frozen=True, slots=True)
class _Convolution:
    """The settings of a convolution; None where the log does not have them."""

    stride: list[int] | None
    padding: list[int] | None
    dilation: list[int] | None
    output_padding: list[int]
    groups: int | None
    is_transposed: bool

    def derive_kernel_size(
        self, axis: int, rank: int, given: int | str | None, result: int | str | None
    ) -> int | None:
        """Return the only kernel size with which an input of a size gives a result of a size."""
        settings = [self.stride, self.padding, self.dilation, self.output_padding]
        if not isinstance(given, int) or not isinstance(result, int):
            return None
        if not all(values and len(values) in (1, rank) for values in settings):
            return None
        stride, padding, dilation, output_padding = (
            values[axis if len(values) == rank else 0] for values in settings if values
        )
        if stride < 1 or dilation < 1:
            return None
        if self.is_transposed:
            reach = result - (given - 1) * stride + 2 * padding - output_padding - 1
            return reach // dilation + 1 if reach >= 0 and reach % dilation == 0 else None
        longest = given + 2 * padding - 1 - (result - 1) * stride
        shortest = max(0, longest - stride + 1)
        first, last = -(-shortest // dilation), longest // dilation
        return first + 1 if first == last else None


_Rule = Callable[[_TracedModel, int], Shape]
_FILTERS: dict[int, _Rule] = {1: _TracedModel.derive_filters, 2: _TracedModel.derive_filter_bias}
_CHANNELS: dict[int, _Rule] = dict.fromkeys(range(1, 5), _TracedModel.derive_channels)

#: How the inputs of an operation are derived, by position.
_RULES: dict[str, dict[int, _Rule]] = {
    "aten::linear": {1: _TracedModel.derive_linear_weight, 2: _TracedModel.derive_features},
    "aten::addmm": {0: _TracedModel.derive_features},
    "aten::t": {0: _TracedModel.derive_transposed},
    "aten::matmul": {1: _TracedModel.derive_factor},
    "aten::mm": {1: _TracedModel.derive_factor},
    "aten::embedding": {0: _TracedModel.derive_embedding},
    "aten::_convolution": _FILTERS,
    **{f"aten::conv{rank}d": _FILTERS for rank in (1, 2, 3)},
    **{f"aten::conv_transpose{rank}d": _FILTERS for rank in (1, 2, 3)},
    "aten::batch_norm": _CHANNELS,
    "aten::instance_norm": _CHANNELS,
    "aten::group_norm": {2: _TracedModel.derive_channels, 3: _TracedModel.derive_channels},
    "aten::layer_norm": {2: _TracedModel.derive_normalized, 3: _TracedModel.derive_normalized},
}
