"""`Graph`: a logged graph as nodes and edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np

from tracklight.analysis import graphs
from tracklight.analysis.graphs import TensorSpec
from tracklight.errors import LogError, list_similar_names
from tracklight.types import Int64
from tracklight.util import html

T = TypeVar("T")
_MAX_HTML_OPS = 10


@dataclass(frozen=True)
class Node:
    """One operation of a graph.

    Attributes:
        name: Its name; a slash separates scopes.
        op: The operation, such as ``MatMul`` or ``aten::conv2d``.
        inputs: The nodes that it reads, as in a TensorFlow graph: ``name`` for the first output
            of a node, ``name:1`` for another one, ``^name`` for a control dependency.
        outputs: Type and shape of each output, as far as they were logged.
        attributes: The attributes as text.
        device: The device it was placed on; empty if unknown.
        parameters: The number of trainable parameters.
        functions: The functions of the graph that it calls.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[TensorSpec, ...]
    attributes: Mapping[str, str]
    device: str
    parameters: int
    functions: tuple[str, ...]


class Edge(NamedTuple):
    """The target reads an output of the source; ``control`` edges carry no data."""

    source: str
    target: str
    output: str
    control: bool


class _LazySequence(Sequence[T], Generic[T]):
    """A sequence that creates its items on access; a graph may have 100,000 nodes."""

    def __init__(self, length: int, make: Callable[[int], T]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        selected = range(self._length)[index]
        if isinstance(selected, range):
            return [self._make(position) for position in selected]
        return self._make(selected)

    def __repr__(self) -> str:
        return f"<{self._length:,} items>"


class Graph:
    """A logged graph: nodes by name, and the edges between them.

    Example:
        >>> graph = log.graph("train")
        >>> len(graph), graph.nodes[0].op
        (321, 'Placeholder')
        >>> graph["dense/MatMul"].inputs
        ('x', 'dense/kernel')
        >>> networkx.DiGraph((edge.source, edge.target) for edge in graph.edges)
    """

    def __init__(self, run: str, tag: str, graph: graphs.Graph) -> None:
        self.run = run
        self.tag = tag
        self._graph = graph

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes, in the order they were logged."""
        return _LazySequence(len(self._graph), self._make_node)

    @property
    def edges(self) -> Sequence[Edge]:
        """All edges, ordered by target node."""
        return _LazySequence(len(self._graph.edges), self._make_edge)

    @cached_property
    def functions(self) -> Mapping[str, Graph]:
        """The bodies of the functions that nodes call, by name."""
        return {
            name: Graph(self.run, self.tag, body) for name, body in self._graph.functions.items()
        }

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages about inconsistencies, such as inputs that do not exist."""
        return tuple(str(problem) for problem in self._graph.problems)

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __contains__(self, name: object) -> bool:
        return name in self._indexes

    def __getitem__(self, name: str) -> Node:
        """Return the node of that name.

        Raises:
            LogError: There is no such node; the message names the most similar one.
        """
        if name not in self._indexes:
            nearest = list_similar_names(name, self._indexes)
            hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
            raise LogError(f'No node "{name}" in the graph of run "{self.run}".{hint}')
        return self._make_node(self._indexes[name])

    def __repr__(self) -> str:
        return f'<Graph "{self.tag}" of run "{self.run}": {self._describe()}>'

    def _describe(self) -> str:
        nodes = html.format_count(len(self), "node")
        return f"{nodes}, {html.format_count(len(self.edges), 'edge')}"

    def _repr_html_(self) -> str:
        names, counts = np.unique(np.array(self._graph.ops, object).astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:_MAX_HTML_OPS]
        return html.render_block(
            f"{self.tag} ({self.run})",
            html.render_note(self._describe()),
            html.render_table(
                ("operation", "nodes"), [(str(names[at]), int(counts[at])) for at in order]
            ),
        )

    @cached_property
    def _indexes(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._graph.names)}

    @cached_property
    def _incoming(self) -> tuple[Int64, Int64]:
        """The edges sorted by target and input position, and where those of each node start."""
        edges = self._graph.edges
        order = np.lexsort((edges.position, edges.target))
        starts = np.searchsorted(edges.target[order], np.arange(len(self) + 1))
        return order, starts

    def _make_node(self, place: int) -> Node:
        detail = self._graph.describe(place)
        order, starts = self._incoming
        return Node(
            name=self._graph.names[place],
            op=self._graph.ops[place],
            inputs=tuple(map(self._name_input, order[starts[place] : starts[place + 1]].tolist())),
            outputs=detail.outputs,
            attributes=detail.attributes,
            device=detail.device,
            parameters=detail.parameters,
            functions=detail.functions,
        )

    def _make_edge(self, at: int) -> Edge:
        edges, names = self._graph.edges, self._graph.names
        return Edge(
            names[edges.source[at]],
            names[edges.target[at]],
            edges.output[at],
            bool(edges.control[at]),
        )

    def _name_input(self, at: int) -> str:
        edge = self._make_edge(at)
        if edge.control:
            return f"^{edge.source}"
        return edge.source if edge.output in ("", "0") else f"{edge.source}:{edge.output}"
