"""Infer the shapes of parameters in graphs that PyTorch's ``add_graph`` has written.

PyTorch logs the shapes of results but not of parameters, which are nodes ``prim::GetAttr``. Where
the operation that reads a parameter determines its shape, it is derived from the shapes of the
input and the result. The kernel size of a convolution is not in the log, so its weight stays
unknown. PyTorch does not log source lines either; `tracklight.torch.SummaryWriter` logs both.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import replace

from tracklight.analysis.graphs.model import Graph, NodeDetails, Shape, TensorSpec

PARAMETER = "prim::GetAttr"
#: Tensors of modules that are not trained.
_BUFFERS = frozenset({"running_mean", "running_var", "num_batches_tracked"})

_WEIGHT, _CHANNELS, _FEATURES, _OUTPUT_CHANNELS = "weight", "channels", "features", "outputs"
#: What the inputs of an operation are, by position.
_ROLES: dict[str, dict[int, str]] = {
    "aten::linear": {1: _WEIGHT, 2: _FEATURES},
    "aten::_convolution": {2: _OUTPUT_CHANNELS},
    "aten::conv1d": {2: _OUTPUT_CHANNELS},
    "aten::conv2d": {2: _OUTPUT_CHANNELS},
    "aten::conv3d": {2: _OUTPUT_CHANNELS},
    "aten::batch_norm": {1: _CHANNELS, 2: _CHANNELS},
    "aten::instance_norm": {1: _CHANNELS, 2: _CHANNELS},
    "aten::group_norm": {2: _CHANNELS, 3: _CHANNELS},
    "aten::layer_norm": {2: _FEATURES, 3: _FEATURES},
}


def add_parameter_shapes(graph: Graph) -> Graph:
    """Return a graph whose parameters have shapes, where these can be inferred."""
    if PARAMETER not in graph.ops:
        return graph
    describe = graph.describe

    @functools.cache
    def get_shapes() -> dict[int, Shape]:
        return _infer_shapes(graph)

    @functools.cache
    def get_first_reads() -> frozenset[int]:
        """Return the first read of each parameter: a shared module reads it several times."""
        first: dict[str, int] = {}
        for node, op in enumerate(graph.ops):
            if op == PARAMETER:
                first.setdefault(graph.names[node].rpartition("/")[0], node)
        return frozenset(first.values())

    def describe_parameter(node: int) -> NodeDetails:
        details = describe(node)
        if graph.ops[node] != PARAMETER or details.outputs:
            return details
        shape = get_shapes().get(node)
        if shape is None:
            return details
        spec = TensorSpec("", shape)
        is_trained = details.attributes.get("name") not in _BUFFERS and node in get_first_reads()
        count = (spec.count_elements() or 0) if is_trained else 0
        return replace(details, outputs=(spec,), parameters=count)

    return replace(graph, describe=describe_parameter)


def _infer_shapes(graph: Graph) -> dict[int, Shape]:
    edges = graph.edges
    inputs: dict[int, dict[int, int]] = defaultdict(dict)
    ends = zip(edges.source.tolist(), edges.target.tolist(), edges.position.tolist(), strict=True)
    for source, target, position in ends:
        if graph.ops[target] in _ROLES:
            inputs[target][position] = source
    shapes: dict[int, Shape] = {}
    for node, sources in inputs.items():
        given = _get_shape(graph, sources[0]) if 0 in sources else None
        result = _get_shape(graph, node)
        for position, role in _ROLES[graph.ops[node]].items():
            source = sources.get(position)
            if source is not None and graph.ops[source] == PARAMETER:
                shapes[source] = _infer_shape(role, given, result)
    return shapes


def _get_shape(graph: Graph, node: int) -> Shape:
    outputs = graph.describe(node).outputs
    return outputs[0].shape if outputs else None


def _infer_shape(role: str, given: Shape, result: Shape) -> Shape:
    """Return the shape of a parameter from the shapes of the input and the result."""
    if not result or (role in (_WEIGHT, _CHANNELS) and not given):
        return None
    if role == _WEIGHT and given:
        return (result[-1], given[-1])
    if role == _FEATURES:
        return (result[-1],)
    shape = given if role == _CHANNELS else result
    return (shape[1],) if shape and len(shape) > 1 else None
