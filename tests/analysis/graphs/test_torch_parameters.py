"""Parameters in logs of PyTorch's own ``add_graph``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import tracklight
from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.graphdefs import add_node
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.formats import proto


def test_parameters_of_linear_layers_are_counted_once() -> None:
    """A model of two encoders with shared weights: Linear(4, 8), Linear(8, 8), Linear(8, 2)."""
    with tracklight.open(FILES.parent / "torch_graph", cache=False) as log:
        data = log.tensors(".", "__run_graph__")[-1].item()
    graph = parse_logged_graph("graphs", data)
    details = {name: graph.describe(node) for node, name in enumerate(graph.names)}
    weight = details["Multi/Sequential[enc]/Linear[0]/weight/weight.1"]
    assert weight.outputs[0].shape == (8, 4)
    assert weight.parameters == 32
    shared = details["Multi/Linear[shared]/weight/weight"]
    assert (shared.outputs[0].shape, shared.parameters) == ((2, 8), 0)
    total = sum(detail.parameters for detail in details.values())
    assert total == (4 * 8 + 8) + (8 * 8 + 8) + (8 * 2 + 2)


class TracedModel:
    """A graph as PyTorch logs it."""

    def __init__(self, *shape: int) -> None:
        self._graph = proto.GraphDef()
        self.add("x", "IO Node", [], shape)

    def add(
        self,
        name: str,
        op: str,
        inputs: list[str],
        shape: Sequence[int] | None,
        value: object = None,
    ) -> str:
        add_node(self._graph.node.add(), name, inputs, op)
        node = self._graph.node[-1]
        if shape is not None:
            attribute = node.attr.add()
            attribute.key = b"_output_shapes"
            sizes = attribute.value.list.shape.add()
            for size in shape:
                sizes.dim.add().size = size
        if value is not None:
            attribute = node.attr.add()
            attribute.key, attribute.value.s = b"attr", str(value).encode()
        return name

    def constant(self, value: object) -> str:
        """Add a number, or a list of numbers."""
        items = [self.constant(it) for it in value] if isinstance(value, list) else None
        name = f"constant_{len(self._graph.node)}"
        if items is not None:
            return self.add(name, "prim::ListConstruct", items, None)
        return self.add(name, "prim::Constant", [], None, f"{{ value : {value}}}")

    def parameter(self, name: str = "weight") -> str:
        return self.add(f"{name}/{name}", "prim::GetAttr", [], None, f"{{ name : {name}}}")

    def find_shapes(self) -> dict[str, tuple[object, ...] | None]:
        """Return the shapes of parameters; those that are not known are missing."""
        graph = parse_logged_graph("graphs", self._graph.SerializeToString())
        return {
            name.rpartition("/")[0]: graph.describe(node).outputs[0].shape
            for node, name in enumerate(graph.names)
            if graph.ops[node] == "prim::GetAttr" and graph.describe(node).outputs
        }


@pytest.mark.parametrize(
    ("op", "position", "given", "result", "expected"),
    [
        ("aten::linear", 1, (5, 4), (5, 8), (8, 4)),
        ("aten::linear", 2, (5, 4), (5, 8), (8,)),
        ("aten::addmm", 0, (5, 4), (5, 8), (8,)),
        ("aten::matmul", 1, (5, 4), (5, 8), (4, 8)),
        ("aten::mm", 1, (5, 4), (5, 8), (4, 8)),
        ("aten::mm", 1, (4,), (8,), None),
        ("aten::t", 0, (5, 4), (4, 8), (8, 4)),
        ("aten::embedding", 0, (5,), (5, 8), (None, 8)),
        ("aten::batch_norm", 1, (5, 4, 6), (5, 4, 6), (4,)),
        ("aten::batch_norm", 1, (5,), (5,), None),
        ("aten::group_norm", 2, (5, 4, 6), (5, 4, 6), (4,)),
        ("aten::linear", 1, None, (5, 8), None),
        ("aten::linear", 1, (5, 4), None, None),
        ("aten::t", 0, (5, 4), None, None),
        ("aten::mm", 0, (5, 4), (5, 8), None),  # the other operand of a product
    ],
)
def test_shapes_that_operations_determine(
    op: str, position: int, given: Any, result: Any, expected: Any
) -> None:
    model = TracedModel()
    inputs = [model.add(f"x{at}", "IO Node", [], given) for at in range(3)]
    inputs[position] = model.parameter()
    model.add("result", op, inputs, result)
    assert model.find_shapes() == ({} if expected is None else {"weight": expected})


@pytest.mark.parametrize(
    ("op", "given", "result", "settings", "expected"),
    [
        # stride, padding, dilation, groups
        ("aten::conv2d", [2, 4, 9, 9], [2, 8, 7, 9], ([1, 1], [0, 1], [1, 1], 1), (8, 4, 3, 3)),
        ("aten::conv2d", [2, 4, 9, 9], [2, 8, 5, 9], ([1], [0], [2], 2), (8, 2, 3, 1)),
        ("aten::conv2d", [2, 4, 9, 9], [2, 8, 4, 4], ([2], [0], [1], 1), (8, 4, None, None)),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], ([1], "same", [1], 1), (8, 4, None)),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], ([0], [0], [1], 1), (8, 4, None)),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], ([1, 1, 1], [0], [1], 1), (8, 4, None)),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], (["x"], [0], [1], 1), (8, 4, None)),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], ([1], [0], [1], "x"), None),
        ("aten::conv1d", [2, 4, 9], [2, 8, 9], ([1],), None),
        ("aten::conv1d", [2, 4], [2, 8], ([1], [0], [1], 1), None),
        ("aten::conv1d", [2, -1, 9], [2, 8, 9], ([1], [0], [1], 1), None),
        ("aten::conv1d", [2, 4, -1], [2, 8, 9], ([1], [0], [1], 1), (8, 4, None)),
        # stride, padding, output padding, groups, dilation
        ("aten::conv_transpose1d", [2, 4, 5], [2, 8, 7], ([1], [0], [0], 1, [1]), (4, 8, 3)),
        ("aten::conv_transpose1d", [2, 4, 5], [2, 8, 12], ([2], [0], [1], 2, [1]), (4, 4, 3)),
        ("aten::conv_transpose1d", [2, 4, 5], [2, 8, 4], ([1], [0], [0], 1, [1]), (4, 8, None)),
        # stride, padding, dilation, is transposed, output padding, groups
        ("aten::_convolution", [2, 4, 5], [2, 8, 7], ([1], [0], [1], "True", [0], 1), (4, 8, 3)),
        ("aten::_convolution", [2, 4, 9], [2, 8, 7], ([1], [0], [1], "False", [0], 1), (8, 4, 3)),
    ],
)
def test_shapes_of_filters(
    op: str, given: list[int], result: list[int], settings: tuple[Any, ...], expected: Any
) -> None:
    model = TracedModel(*given)
    weight, bias = model.parameter(), model.parameter("bias")
    values = [model.constant(it) for it in settings]
    model.add("result", op, ["x", weight, bias, *values], result)
    shapes = model.find_shapes()
    assert shapes.get("weight") == expected
    assert shapes.get("bias") == ((8,) if len(result) > 2 else None)


def test_setting_of_a_convolution_that_is_computed_is_not_known() -> None:
    model = TracedModel(2, 4, 9)
    size = model.add("size", "aten::size", ["x"], None)
    settings = [model.constant([1]), size, model.constant([1]), model.constant(1)]
    weight = model.parameter()
    model.add("result", "aten::conv1d", ["x", weight, "x", *settings], [2, 8, 7])
    assert model.find_shapes() == {"weight": (8, 4, None)}


@pytest.mark.parametrize("is_known", [True, False])
def test_shapes_of_recurrent_layers(is_known: bool) -> None:
    model = TracedModel(7, 2, 5)
    names = ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "weight_ih_l1", "weight_ih_l0_reverse"]
    weights = [model.parameter(name) for name in names] + [model.parameter("other")]
    listed = model.add("weights", "prim::ListConstruct", weights, None)
    state = model.add("state", "aten::zeros", [], [2, 2, 3] if is_known else None)
    states = model.add("states", "prim::ListConstruct", [state, state], None)
    model.add("result", "aten::lstm", ["x", states, listed], [7, 2, 6])
    expected = {
        "weight_ih_l0": (12, 5),
        "weight_hh_l0": (12, 3),
        "bias_ih_l0": (12,),
        "weight_ih_l1": (12, 6),  # of both directions
        "weight_ih_l0_reverse": (12, 5),
    }
    assert model.find_shapes() == (expected if is_known else {})
