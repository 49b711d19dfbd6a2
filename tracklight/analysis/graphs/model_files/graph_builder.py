"""Build a graph from nodes whose inputs and outputs are names of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tracklight.analysis.graphs.model import (
    EdgeBuilder,
    Graph,
    NodeDetails,
    TensorSpec,
    UniqueNames,
    WeightReader,
)
from tracklight.errors import Message

#: The op of a node that stands for a tensor with weights, as in ONNX.
INITIALIZER = "Initializer"


@dataclass(slots=True)
class _Node:
    name: str
    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    details: NodeDetails


@dataclass
class TensorGraphBuilder:
    """Collects nodes; edges follow from the tensors that they read and write.

    Args:
        specs: Types and shapes of tensors by name, for the outputs of nodes.
    """

    specs: Mapping[str, TensorSpec] = field(default_factory=dict)
    _nodes: list[_Node] = field(default_factory=list)
    _names: UniqueNames = field(default_factory=UniqueNames)
    _weights: dict[int, WeightReader] = field(default_factory=dict)

    def add(
        self,
        name: str,
        op: str,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
        *,
        attributes: Mapping[str, str] | None = None,
        parameters: int = 0,
        functions: tuple[str, ...] = (),
        source: str = "",
        weights: WeightReader | None = None,
    ) -> str:
        """Add a node; return its name, which is made unique. Empty inputs are omitted ones."""
        unique = self._names.make_unique(name.strip("/") or op)
        inputs, outputs = list(inputs), list(outputs)
        known = outputs or inputs[:1]
        details = NodeDetails(
            tuple(self.specs.get(it, TensorSpec("", None)) for it in known),
            attributes or {},
            parameters=parameters,
            functions=functions,
            source=source,
        )
        if weights is not None:
            self._weights[len(self._nodes)] = weights
        self._nodes.append(_Node(unique, op, inputs, outputs, details))
        return unique

    def build(
        self, functions: Mapping[str, Graph] | None = None, problems: Sequence[Message] = ()
    ) -> Graph:
        """Return the graph. Of several nodes that write a tensor, the last one counts."""
        nodes = self._nodes
        edges = EdgeBuilder([node.name for node in nodes])
        producers = {
            name: (node.name, str(slot)) for node in nodes for slot, name in enumerate(node.outputs)
        }
        for index, node in enumerate(nodes):
            for position, name in enumerate(node.inputs):
                if name in producers:
                    edges.add(index, position, *producers[name], False)
                elif name:
                    edges.add_missing(name)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            edges.build(),
            lambda index: nodes[index].details,
            functions or {},
            (*problems, *edges.list_problems()),
            self._weights,
        )
