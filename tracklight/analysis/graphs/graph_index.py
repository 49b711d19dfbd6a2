"""Random access into a graph and the bodies of its functions, for the Graphs dashboard.

A `GraphIndex` holds one graph. It contains a `Subgraph` for the graph itself and one for each
function body, built when it is first needed. A path such as ``call|function|node`` is resolved to
a `Location` in a subgraph. `TextIndex` searches one subgraph, `Adjacency` finds dependencies and
paths in it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import (
    ARGUMENT,
    RESULT,
    Graph,
    NodeDetails,
    OpDocs,
    TensorLookup,
    format_shape,
)
from tracklight.analysis.graphs.comparison import ChangeName, Comparison, combine_changes
from tracklight.analysis.graphs.groups import (
    BoundaryEdges,
    Child,
    Group,
    build_node_group,
    build_scope_group,
    build_series_group,
    bundle_boundary_edges,
    number_pairs,
)
from tracklight.analysis.graphs.hierarchy import (
    FUNCTION_SEPARATOR,
    ROOT,
    Hierarchy,
    build_hierarchy,
    compute_structure_ids,
    get_scope,
)
from tracklight.analysis.graphs.statistics import NodeStatistics, compute_node_statistics
from tracklight.errors import UsageError
from tracklight.types import Bool, Int32

# ---- the index

#: Up to this many nodes are described one by one instead of computing statistics for all.
_MAX_DIRECT_NODES = 2000
#: Functions may be recursive.
_MAX_CALL_DEPTH = 50

#: Operations whose first input selects the function and is not passed to it.
_BRANCH_OPS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_LOOP_OPS = frozenset({"While", "StatelessWhile"})


class Subgraph:
    """One graph or function body with its derived data, computed on demand.

    Thread-safe: concurrent callers may compute the same value twice, with equal results.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.hierarchy = build_hierarchy(graph)
        self.tensors = TensorLookup(graph)
        self._scope_groups: dict[tuple[int, bool], Group] = {}
        self._series_groups: dict[str, Group] = {}

    @cached_property
    def structures(self) -> Int32:
        """The structure id of each scope."""
        return compute_structure_ids(self.hierarchy)

    @cached_property
    def statistics(self) -> NodeStatistics:
        """Describes every node, which takes about a second for very large graphs."""
        return compute_node_statistics(self.hierarchy)

    @cached_property
    def text_index(self) -> TextIndex:
        return TextIndex(self.hierarchy)

    @cached_property
    def adjacency(self) -> Adjacency:
        return Adjacency(self.hierarchy)

    def count_parameters(self, first: int, last: int) -> int:
        """Return the number of trainable values in a range of ranks."""
        if last - first > _MAX_DIRECT_NODES or len(self.graph) <= _MAX_DIRECT_NODES:
            return int(self.statistics.parameters[first:last].sum())
        nodes = self.hierarchy.node_by_rank[first:last].tolist()
        return sum(self.graph.describe(node).parameters for node in nodes)

    def get_scope_group(self, scope: int, fold: bool) -> Group:
        group = self._scope_groups.get((scope, fold))
        if group is None:
            group = self._scope_groups[scope, fold] = build_scope_group(self.hierarchy, scope, fold)
        return group

    def get_group(self, path: str, fold: bool) -> Group:
        """Return the group at a path: the root, a scope or a series.

        Raises:
            UsageError: There is no such group.
        """
        scope = ROOT if path == "" else self.hierarchy.scope_by_path.get(path)
        if scope is not None:
            return self.get_scope_group(scope, fold)
        outer_scope = self.hierarchy.scope_by_path.get(get_scope(path), ROOT)
        outer = self.get_scope_group(outer_scope, True)
        for child in outer.children:
            if child.path == path and child.kind == "series":
                return self._get_series_group(outer, child)
        raise UsageError("graphs.no_group", 'the graph has no group "{path}"', path=path)

    def get_node_group(self, node: int) -> Group:
        """Return a node as a group that contains only itself."""
        return build_node_group(self.hierarchy, node)

    def list_enclosing_groups(self, group: Group, fold: bool) -> list[Group]:
        """Return all groups that contain a group, the root first."""
        enclosing: list[Group] = []
        parent = self.hierarchy.scopes.parent
        scope = group.scope if group.is_partial else int(parent[group.scope])
        while scope >= 0:
            outer = self.get_scope_group(scope, fold)
            series = self._find_series_group(outer, group.first)
            if series is None or series.path == group.path:
                enclosing.append(outer)
            else:
                enclosing += [series, outer]
            scope = int(parent[scope])
        return enclosing[::-1]

    def list_ancestors(self, group: Group, fold: bool) -> list[str]:
        """Return the paths of the groups to open so that a group is visible, outermost first."""
        return [outer.path for outer in self.list_enclosing_groups(group, fold) if outer.path]

    def list_ancestors_of_rank(self, rank: int) -> list[str]:
        node = int(self.hierarchy.node_by_rank[rank])
        return self.list_ancestors(self.get_node_group(node), fold=True)

    def _find_series_group(self, outer: Group, rank: int) -> Group | None:
        """Return the series in a group that contains a leaf."""
        child = outer.children[outer.get_child_index(rank)]
        return self._get_series_group(outer, child) if child.kind == "series" else None

    def _get_series_group(self, outer: Group, series: Child) -> Group:
        group = self._series_groups.get(series.path)
        if group is None:
            group = build_series_group(self.hierarchy, outer, series)
            self._series_groups[series.path] = group
        return group


@dataclass(frozen=True, slots=True)
class Location:
    """A path inside of a subgraph, and the way to that subgraph."""

    subgraph: Subgraph
    prefix: str
    """The path to the subgraph, ending with a separator; empty for the graph itself."""
    path: str
    call: Location | None = None
    """The node that calls the function whose body the subgraph is; None in the graph itself."""

    def full_path(self, path: str) -> str:
        """Return the path from the root for a path in this subgraph."""
        return self.prefix + path

    def resolve_group(self, fold: bool) -> Group:
        """Return the group at this location; a node is a group that contains only itself."""
        node = self.subgraph.hierarchy.node_by_path.get(self.path)
        if node is not None:
            return self.subgraph.get_node_group(node)
        return self.subgraph.get_group(self.path, fold)

    def list_ancestors(self, group: Group, fold: bool) -> list[str]:
        """Return the full paths of the groups to open so that a group of this subgraph is visible.

        For a group in a function body these are the groups around the call, the body, and the
        groups inside of it.
        """
        inner = [self.full_path(path) for path in self.subgraph.list_ancestors(group, fold)]
        call = self.call
        if call is None:
            return inner
        node = call.subgraph.hierarchy.node_by_path[call.path]
        outer = call.list_ancestors(call.subgraph.get_node_group(node), fold)
        return [*outer, self.prefix, *inner]


class GraphIndex:
    """Access to a graph and its functions by path. Thread-safe.

    Args:
        graph: The graph.
        comparison: Given if the graph is the union of two compared graphs.
    """

    def __init__(self, graph: Graph, comparison: Comparison | None = None) -> None:
        self.graph = graph
        self.comparison = comparison
        self.root = Subgraph(graph)
        self._bodies: dict[str, Subgraph] = {}
        self._lock = threading.Lock()

    @cached_property
    def op_docs(self) -> OpDocs:
        """The documentation of the operators of the framework that the graph comes from."""
        bodies = self.graph.functions.values()
        return OpDocs(chain(self.graph.ops, *(body.ops for body in bodies)))

    def locate(self, path: str) -> Location:
        """Resolve a path such as ``call|function|path inside``.

        Raises:
            UsageError: A call in the path does not exist.
        """
        *calls, inner = path.split(FUNCTION_SEPARATOR)
        if len(calls) % 2 or len(calls) > 2 * _MAX_CALL_DEPTH:
            raise UsageError("graphs.nothing_there", 'the graph has nothing at "{path}"', path=path)
        location = Location(self.root, "", "")
        for node, function in zip(calls[::2], calls[1::2], strict=True):
            location = self._enter(location, node, function)
        return Location(location.subgraph, location.prefix, inner, location.call)

    def list_functions(self, subgraph: Subgraph, node: int) -> list[str]:
        """Return the functions that a node calls and whose bodies are in the graph."""
        names = dict.fromkeys(subgraph.graph.describe(node).functions)
        functions = self.graph.functions
        return [name for name in names if name in functions and FUNCTION_SEPARATOR not in name]

    def find_change(self, subgraph: Subgraph, first: int, last: int) -> ChangeName | None:
        """Return the change of a range of ranks in a comparison; None in a single graph."""
        if self.comparison is None or subgraph is not self.root:
            return None
        nodes = subgraph.hierarchy.node_by_rank[first:last]
        return combine_changes(self.comparison.change[nodes].tolist())

    def get_body(self, function: str) -> Subgraph:
        with self._lock:
            body = self._bodies.get(function)
            if body is None:
                body = self._bodies[function] = Subgraph(self.graph.functions[function])
            return body

    def iter_bodies(self) -> Iterator[Location]:
        """Yield the bodies of all functions that can be opened, each at its first call."""
        seen: set[str] = set()
        queue = deque([Location(self.root, "", "")])
        while queue and len(seen) < len(self.graph.functions):
            location = queue.popleft()
            for node, name in self._iter_calls(location.subgraph):
                if name not in seen:
                    seen.add(name)
                    path = location.subgraph.hierarchy.paths[node]
                    body = self._enter(location, path, name)
                    queue.append(body)
                    yield body

    def _iter_calls(self, subgraph: Subgraph) -> Iterator[tuple[int, str]]:
        for node in range(len(subgraph.graph)):
            for name in self.list_functions(subgraph, node):
                yield node, name

    def _enter(self, location: Location, path: str, function: str) -> Location:
        subgraph = location.subgraph
        node = subgraph.hierarchy.node_by_path.get(path)
        full_path = location.full_path(path)
        if node is None or function not in self.list_functions(subgraph, node):
            raise UsageError(
                "graphs.no_caller",
                'no node "{full_path}" of the graph calls "{function}"',
                full_path=full_path,
                function=function,
            )
        call = Location(subgraph, location.prefix, path, location.call)
        prefix = f"{full_path}{FUNCTION_SEPARATOR}{function}{FUNCTION_SEPARATOR}"
        return Location(self.get_body(function), prefix, "", call)


def bundle_call_edges(location: Location, body: Group, fold: bool, incoming: bool) -> BoundaryEdges:
    """Bundle the edges of a call by the arguments (or results) of the function's body.

    The edges are those of the subgraph that contains the call; partners have full paths.
    """
    call = location.call
    assert call is not None
    subgraph = call.subgraph
    node = subgraph.hierarchy.node_by_path[call.path]
    group = subgraph.get_node_group(node)
    enclosing = subgraph.list_enclosing_groups(group, fold)
    outer = bundle_boundary_edges(subgraph.hierarchy, group, enclosing, incoming)
    if not incoming and _is_loop_condition(location, call):
        outer = outer.filter(np.zeros(len(outer), bool))
    ends = _get_end_children(location, body, ARGUMENT if incoming else RESULT)
    slots = _get_slots(call, outer.edges, incoming)
    valid = (slots >= 0) & (slots < len(ends))
    child, partner, bundle = number_pairs(ends[slots[valid]], outer.bundle[valid])
    paths = [call.full_path(outer.partner[number]) for number in partner.tolist()]
    return BoundaryEdges(child, paths, outer.edges[valid], bundle)


def _is_loop_condition(location: Location, call: Location) -> bool:
    """Return whether a function decides if a loop continues.

    Its result is not a result of the loop. Unlike the body it has fewer results than arguments.
    """
    op = call.subgraph.graph.ops[call.subgraph.hierarchy.node_by_path[call.path]]
    ops = location.subgraph.graph.ops
    return op in _LOOP_OPS and ops.count(RESULT) != ops.count(ARGUMENT)


def _get_end_children(location: Location, body: Group, op: str) -> Int32:
    """Return the child of the body that contains each argument or result of a function."""
    graph, rank = location.subgraph.graph, location.subgraph.hierarchy.rank
    nodes = [node for node, node_op in enumerate(graph.ops) if node_op == op]
    return body.get_child_indexes(rank[np.array(nodes, np.int32)])


def _get_slots(call: Location, edges: Int32, incoming: bool) -> Int32:
    """Return the argument or result number of each edge of a call; -1 for control edges."""
    graph = call.subgraph.graph
    control = graph.edges.control[edges]
    if incoming:
        op = graph.ops[call.subgraph.hierarchy.node_by_path[call.path]]
        slots = graph.edges.position[edges] - (op in _BRANCH_OPS)
    else:
        texts = [graph.edges.output[edge].rpartition(":")[2] for edge in edges.tolist()]
        slots = np.array([int(text) if text.isdecimal() else 0 for text in texts], np.int32)
    return np.where(control, -1, slots).astype(np.int32)


# ---- search, dependencies and paths

SearchField = Literal["name", "op", "attribute", "shape", "dtype", "device"]

_PREFIXES: dict[str, SearchField] = {
    "name:": "name",
    "op:": "op",
    "attr:": "attribute",
    "shape:": "shape",
    "dtype:": "dtype",
    "device:": "device",
}
#: Fields that are known without describing every node.
_FAST_FIELDS: tuple[SearchField, ...] = ("name", "op")
_SLOW_FIELDS: tuple[SearchField, ...] = ("shape", "dtype", "device", "attribute")
_MAX_QUOTE_LENGTH = 200
#: In larger graphs, collecting the texts of the slow fields takes seconds.
_HUGE_GRAPH_NODES = 20_000
_CROSS = "\N{MULTIPLICATION SIGN}"

Direction = Literal["forward", "backward", "undirected", "none"]
_GetNeighbors = Callable[[int], Sequence[int]]


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A word of a query."""

    fields: tuple[SearchField, ...]
    parts: tuple[str, ...]
    """The text between asterisks."""

    def matches(self, text: str) -> bool:
        position = 0
        for part in self.parts:
            start = text.find(part, position)
            if start < 0:
                return False
            position = start + len(part)
        return True


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A match."""

    item: int
    """The index of a node, or ``~scope``."""
    field: SearchField
    """The field that matched."""
    text: str
    """The matching text."""


def parse_query(query: str) -> list[SearchTerm]:
    """Split a query into terms.

    ``op:conv`` searches one field, an asterisk matches any text, and ``3x3x64`` is a shape.
    """
    return [_parse_term(word) for word in query.lower().split()]


def _parse_term(word: str) -> SearchTerm:
    for prefix, field in _PREFIXES.items():
        if word.startswith(prefix):
            rest = word.removeprefix(prefix)
            text = _normalize_shape(rest) if field == "shape" else rest
            return SearchTerm((field,), _split_wildcards(text))
    shape = _normalize_shape(word)
    fields = ("shape",) if shape != word else (*_FAST_FIELDS, *_SLOW_FIELDS)
    return SearchTerm(fields, _split_wildcards(shape))


def _normalize_shape(word: str) -> str:
    """Convert ``3x3x64`` to the form of `format_shape`; return other words unchanged."""
    sizes = word.replace(_CROSS, "x").split("x")
    is_shape = all(size.isdecimal() or size in ("?", "*") for size in sizes)
    return _CROSS.join(sizes) if len(sizes) > 1 and is_shape else word


def _split_wildcards(word: str) -> tuple[str, ...]:
    return tuple(part for part in word.split("*") if part)


class TextIndex:
    """The searchable texts of one subgraph. Those of slow fields are collected when needed."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy

    def iter_hits(self, terms: Sequence[SearchTerm], enough: int) -> Iterator[SearchHit]:
        """Yield scopes and nodes that match all terms.

        Scopes are matched by name and come first, then nodes by name and operation. If these
        are fewer than ``enough`` (in huge graphs: none), nodes are matched by all fields.
        """
        if not terms:
            return
        enough = enough if len(self._hierarchy.graph) <= _HUGE_GRAPH_NODES else 1
        yield from self._iter_scope_hits(terms)
        fast = list(self._iter_node_hits(terms, _FAST_FIELDS))
        yield from fast
        if len(fast) < enough:
            seen = {hit.item for hit in fast}
            hits = self._iter_node_hits(terms, (*_FAST_FIELDS, *_SLOW_FIELDS))
            yield from (hit for hit in hits if hit.item not in seen)

    def _iter_scope_hits(self, terms: Sequence[SearchTerm]) -> Iterator[SearchHit]:
        if not all("name" in term.fields for term in terms):
            return
        for scope, path in enumerate(self._hierarchy.scopes.paths):
            text = path.lower()
            label = text.rpartition("/")[2]
            matches_path = all(term.matches(text) for term in terms)
            if scope and matches_path and any(term.matches(label) for term in terms):
                yield SearchHit(~scope, "name", path)

    def _iter_node_hits(
        self, terms: Sequence[SearchTerm], allowed: tuple[SearchField, ...]
    ) -> Iterator[SearchHit]:
        if not all(set(term.fields) & set(allowed) for term in terms):
            return
        columns = [
            [(field, self._get_texts(field)) for field in term.fields if field in allowed]
            for term in terms
        ]
        for node in self._hierarchy.node_by_rank.tolist():
            best: tuple[SearchField, str] | None = None
            for term, texts in zip(terms, columns, strict=True):
                field = next((name for name, text in texts if term.matches(text[node])), None)
                if field is None:
                    break
                # Quote a match in a slow field, as the name and operation are shown anyway.
                if best is None or best[0] in _FAST_FIELDS:
                    best = field, self._quote(field, node, term)
            else:
                if best is not None:
                    yield SearchHit(node, *best)

    def _get_texts(self, field: SearchField) -> Sequence[str]:
        if field == "name":
            return self._names
        if field == "op":
            return self._ops
        return self._slow_texts[field]

    def _quote(self, field: SearchField, node: int, term: SearchTerm) -> str:
        graph = self._hierarchy.graph
        if field == "name":
            return graph.names[node]
        if field == "op":
            return graph.ops[node]
        if field == "attribute":
            texts = _iter_attribute_texts(graph.describe(node))
            match = next((text for text in texts if term.matches(text.lower())), "")
            return match[:_MAX_QUOTE_LENGTH]
        return self._slow_texts[field][node][:_MAX_QUOTE_LENGTH]

    @cached_property
    def _names(self) -> Sequence[str]:
        return [path.lower() for path in self._hierarchy.paths]

    @cached_property
    def _ops(self) -> Sequence[str]:
        return [op.lower() for op in self._hierarchy.graph.ops]

    @cached_property
    def _slow_texts(self) -> dict[SearchField, list[str]]:
        texts: dict[SearchField, list[str]] = {field: [] for field in _SLOW_FIELDS}
        for node in range(len(self._hierarchy.graph)):
            details = self._hierarchy.graph.describe(node)
            outputs = details.outputs
            texts["shape"].append(" ".join(format_shape(output.shape) for output in outputs))
            texts["dtype"].append(" ".join({output.dtype: None for output in outputs}).lower())
            texts["device"].append(details.device.lower())
            texts["attribute"].append("\n".join(_iter_attribute_texts(details)).lower())
        return texts


def _iter_attribute_texts(details: NodeDetails) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in details.attributes.items())
    if details.source:
        yield details.source


class Adjacency:
    """The inputs and outputs of each leaf, by rank."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        edges, count = hierarchy.graph.edges, len(hierarchy.graph)
        source, target = hierarchy.rank[edges.source], hierarchy.rank[edges.target]
        all_edges = np.ones(len(edges), bool)
        self._inputs = _AdjacencyList(target, source, all_edges, count)
        self._outputs = _AdjacencyList(source, target, all_edges, count)
        self._data_inputs = _AdjacencyList(target, source, ~edges.control, count)
        self._data_outputs = _AdjacencyList(source, target, ~edges.control, count)

    def trace(self, start: Iterable[int], inputs: bool, control: bool) -> tuple[Int32, list[int]]:
        """Follow edges from some ranks as far as they lead.

        Args:
            start: The ranks to start from.
            inputs: Whether to follow inputs or outputs.
            control: Whether to follow control edges.

        Returns:
            All ranks that are reached, including the start, and those where the trace ends.
        """
        if control:
            neighbors = self._inputs if inputs else self._outputs
        else:
            neighbors = self._data_inputs if inputs else self._data_outputs
        reached = _breadth_first(neighbors.get, start, frozenset())[0]
        ranks = np.sort(np.fromiter(reached, np.int32, len(reached)))
        return ranks, [rank for rank in ranks.tolist() if not neighbors.get(rank)]

    def compute_path(self, start: range, end: range) -> tuple[Direction, list[int]]:
        """Return the shortest path between two ranges of ranks.

        Paths along the edges are preferred, then paths against them, then any path.
        """
        goal = frozenset(end)

        def get_both(rank: int) -> Sequence[int]:
            return [*self._outputs.get(rank), *self._inputs.get(rank)]

        attempts: list[tuple[Direction, _GetNeighbors]] = [
            ("forward", self._outputs.get),
            ("backward", self._inputs.get),
            ("undirected", get_both),
        ]
        for direction, get_neighbors in attempts:
            previous, reached = _breadth_first(get_neighbors, start, goal)
            if reached is not None:
                return direction, _backtrack(previous, reached)
        return "none", []


def compress_ranks(ranks: Int32) -> tuple[Int32, Int32]:
    """Convert sorted ranks to half-open ranges."""
    breaks = np.flatnonzero(np.diff(ranks) > 1)
    first = np.concatenate([ranks[:1], ranks[breaks + 1]])
    last = np.concatenate([ranks[breaks], ranks[-1:]]) + 1
    return first.astype(np.int32), last.astype(np.int32)


@dataclass(slots=True)
class _AdjacencyList:
    """The neighbors of all ranks, concatenated, and where those of each rank start."""

    starts: list[int]
    neighbors: list[int]

    def __init__(self, own: Int32, neighbor: Int32, mask: Bool, count: int) -> None:
        own, neighbor = own[mask], neighbor[mask]
        order = np.argsort(own, kind="stable")
        self.starts = np.searchsorted(own[order], np.arange(count + 1)).tolist()
        self.neighbors = neighbor[order].tolist()

    def get(self, rank: int) -> Sequence[int]:
        return self.neighbors[self.starts[rank] : self.starts[rank + 1]]


def _breadth_first(
    get_neighbors: _GetNeighbors, start: Iterable[int], goal: frozenset[int]
) -> tuple[dict[int, int], int | None]:
    """Return the predecessor of each visited rank (-1 for the start), and the rank of the goal."""
    previous = {rank: -1 for rank in start}
    reached = next((rank for rank in previous if rank in goal), None)
    queue = deque(previous)
    while queue and reached is None:
        rank = queue.popleft()
        for neighbor in get_neighbors(rank):
            if neighbor not in previous:
                previous[neighbor] = rank
                queue.append(neighbor)
                if neighbor in goal:
                    reached = neighbor
                    break
    return previous, reached


def _backtrack(previous: dict[int, int], rank: int) -> list[int]:
    path = []
    while rank >= 0:
        path.append(rank)
        rank = previous[rank]
    return path[::-1]
