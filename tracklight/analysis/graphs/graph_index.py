"""One graph, or the body of one of its functions, ready to be looked at from any group."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracklight.analysis.graphs.comparison import ChangeName, Comparison, combine_changes
from tracklight.analysis.graphs.graphdef import ARGUMENT, RESULT
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
    build_hierarchy,
    compute_structure_ids,
    get_scope,
)
from tracklight.analysis.graphs.model import Graph, TensorLookup
from tracklight.analysis.graphs.queries import Adjacency, TextIndex
from tracklight.analysis.graphs.statistics import NodeStatistics, compute_node_statistics
from tracklight.errors import UsageError
from tracklight.types import Int32

#: So many nodes are quickly looked at.
_MAX_DIRECT_NODES = 2000


class Subgraph:
    """May be asked from any thread: what is found twice is found alike."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.hierarchy = build_hierarchy(graph)
        self.tensors = TensorLookup(graph)
        self._scope_groups: dict[tuple[int, bool], Group] = {}
        self._series_groups: dict[str, Group] = {}

    @cached_property
    def structures(self) -> Int32:
        return compute_structure_ids(self.hierarchy)

    @cached_property
    def statistics(self) -> NodeStatistics:
        """Takes a look at every node: of a huge graph about a second."""
        return compute_node_statistics(self.hierarchy)

    @cached_property
    def text_index(self) -> TextIndex:
        return TextIndex(self.hierarchy)

    @cached_property
    def adjacency(self) -> Adjacency:
        return Adjacency(self.hierarchy)

    def count_parameters(self, first: int, last: int) -> int:
        """How many trained numbers a range of leaves owns; of few leaves without a census."""
        if last - first > _MAX_DIRECT_NODES or len(self.graph) <= _MAX_DIRECT_NODES:
            return int(self.statistics.parameters[first:last].sum())
        places = self.hierarchy.node_by_rank[first:last].tolist()
        return sum(self.graph.describe(place).parameters for place in places)

    def get_scope_group(self, scope: int, fold: bool) -> Group:
        found = self._scope_groups.get((scope, fold))
        if found is None:
            found = self._scope_groups[scope, fold] = build_scope_group(self.hierarchy, scope, fold)
        return found

    def get_group(self, path: str, fold: bool) -> Group:
        """The group of a path: the root, a scope or a series."""
        scope = ROOT if path == "" else self.hierarchy.scope_by_path.get(path)
        if scope is not None:
            return self.get_scope_group(scope, fold)
        outer = self.get_scope_group(self.hierarchy.scope_by_path.get(get_scope(path), ROOT), True)
        for child in outer.children:
            if child.path == path and child.kind == "series":
                return self._get_series(outer, child)
        raise UsageError(f'the graph has no group "{path}"')

    def get_node_group(self, place: int) -> Group:
        """A node as if it were a group with nothing in it but itself."""
        return build_node_group(self.hierarchy, place)

    def list_enclosing_groups(self, level: Group, fold: bool) -> list[Group]:
        """All levels that hold this one, from the root inwards."""
        around: list[Group] = []
        parent = self.hierarchy.scopes.parent
        scope = level.scope if level.is_partial else int(parent[level.scope])
        while scope >= 0:
            outer = self.get_scope_group(scope, fold)
            series = self._find_series(outer, level.first)
            around += [outer] if series is None or series.path == level.path else [series, outer]
            scope = int(parent[scope])
        return around[::-1]

    def list_ancestors(self, level: Group, fold: bool) -> list[str]:
        """The groups that have to be open for a level to be seen, from the outermost on."""
        return [outer.path for outer in self.list_enclosing_groups(level, fold) if outer.path]

    def list_ancestors_of_rank(self, rank: int) -> list[str]:
        return self.list_ancestors(
            self.get_node_group(int(self.hierarchy.node_by_rank[rank])), fold=True
        )

    def _find_series(self, outer: Group, rank: int) -> Group | None:
        """The series of a level in which a leaf stands."""
        child = outer.children[outer.get_child_index(rank)]
        return self._get_series(outer, child) if child.kind == "series" else None

    def _get_series(self, outer: Group, series: Child) -> Group:
        found = self._series_groups.get(series.path)
        if found is None:
            found = self._series_groups[series.path] = build_series_group(
                self.hierarchy, outer, series
            )
        return found


# A graph with the bodies of its functions, each a sheet that is made when it is first opened.

#: A function may call itself.
_MAX_CALL_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path leads: ``path`` counts inside of a sheet, ``prefix`` leads to the sheet."""

    subgraph: Subgraph
    prefix: str
    path: str
    call: Location | None = None
    """The node whose function the sheet is; None in the graph itself."""

    def full_path(self, path: str) -> str:
        """The whole path of something on this sheet."""
        return self.prefix + path


class GraphIndex:
    """May be asked from any thread."""

    def __init__(self, graph: Graph, comparison: Comparison | None = None) -> None:
        self.graph = graph
        self.comparison = comparison
        self.root = Subgraph(graph)
        self._bodies: dict[str, Subgraph] = {}
        self._lock = threading.Lock()

    def locate(self, path: str) -> Location:
        """Follow a path through the calls in it: ``call|function|path inside``."""
        *calls, inner = path.split(FUNCTION_SEPARATOR)
        if len(calls) % 2 or len(calls) > 2 * _MAX_CALL_DEPTH:
            raise UsageError(f'the graph has nothing at "{path}"')
        spot = Location(self.root, "", "")
        for node, function in zip(calls[::2], calls[1::2], strict=True):
            spot = self._enter(spot, node, function)
        return Location(spot.subgraph, spot.prefix, inner, spot.call)

    def list_functions(self, sheet: Subgraph, place: int) -> list[str]:
        """The functions that a node runs and that can be opened."""
        calls = dict.fromkeys(sheet.graph.describe(place).functions)
        return [
            name
            for name in calls
            if name in self.graph.functions and FUNCTION_SEPARATOR not in name
        ]

    def find_change(self, sheet: Subgraph, first: int, last: int) -> ChangeName | None:
        """What became of a range of leaves, in a comparison; nothing in a plain graph."""
        if self.comparison is None or sheet is not self.root:
            return None
        return combine_changes(
            self.comparison.change[sheet.hierarchy.node_by_rank[first:last]].tolist()
        )

    def get_body(self, function: str) -> Subgraph:
        with self._lock:
            found = self._bodies.get(function)
            if found is None:
                found = self._bodies[function] = Subgraph(self.graph.functions[function])
            return found

    def iter_bodies(self) -> Iterator[Location]:
        """The bodies of all functions that can be opened, each at the first call of it."""
        seen: set[str] = set()
        waiting = deque([Location(self.root, "", "")])
        while waiting and len(seen) < len(self.graph.functions):
            spot = waiting.popleft()
            for place, name in self._iter_calls(spot.subgraph):
                if name not in seen:
                    seen.add(name)
                    found = self._enter(spot, spot.subgraph.hierarchy.paths[place], name)
                    waiting.append(found)
                    yield found

    def _iter_calls(self, sheet: Subgraph) -> Iterator[tuple[int, str]]:
        for place in range(len(sheet.graph)):
            for name in self.list_functions(sheet, place):
                yield place, name

    def _enter(self, spot: Location, node: str, function: str) -> Location:
        place = spot.subgraph.hierarchy.node_by_path.get(node)
        if place is None or function not in self.list_functions(spot.subgraph, place):
            raise UsageError(f'no node "{spot.full_path(node)}" of the graph runs "{function}"')
        call = Location(spot.subgraph, spot.prefix, node, spot.call)
        return Location(
            self.get_body(function),
            f"{spot.full_path(node)}{FUNCTION_SEPARATOR}{function}{FUNCTION_SEPARATOR}",
            "",
            call,
        )


# Leads what goes into a call to the inputs of its function, and out again.

#: The first input of these chooses the function and is not given to it.
_BRANCH_OPS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})

_LOOP_OPS = frozenset({"While", "StatelessWhile"})


def bundle_call_edges(spot: Location, body: Group, fold: bool, incoming: bool) -> BoundaryEdges:
    """The edges of a call by the ends of its function's body.

    They are edges of the sheet that the call is on, and partners have their whole paths.
    """
    call = spot.call
    assert call is not None
    sheet = call.subgraph
    place = sheet.hierarchy.node_by_path[call.path]
    leaf = sheet.get_node_group(place)
    outer = bundle_boundary_edges(
        sheet.hierarchy, leaf, sheet.list_enclosing_groups(leaf, fold), incoming
    )
    if not incoming and _is_loop_condition(spot, call):
        outer = outer.filter(np.zeros(len(outer), bool))
    ends = _get_end_children(spot, body, ARGUMENT if incoming else RESULT)
    slots = _get_slots(call, outer.edges, incoming)
    fits = (slots >= 0) & (slots < len(ends))
    numbers = outer.bundle[fits]
    child, partner, bundle = number_pairs(ends[slots[fits]], numbers)
    names = [call.full_path(outer.partner[number]) for number in partner.tolist()]
    return BoundaryEdges(child, names, outer.edges[fits], bundle)


def _is_loop_condition(spot: Location, call: Location) -> bool:
    """Whether a function says if a loop goes on: what it gives is not what the loop gives, and
    unlike the body it gives less than it takes."""
    op = call.subgraph.graph.ops[call.subgraph.hierarchy.node_by_path[call.path]]
    ops = spot.subgraph.graph.ops
    return op in _LOOP_OPS and ops.count(RESULT) != ops.count(ARGUMENT)


def _get_end_children(spot: Location, body: Group, op: str) -> Int32:
    """For each input or output of a function the child of its body that it is, or is in."""
    graph, rank = spot.subgraph.graph, spot.subgraph.hierarchy.rank
    places = [place for place, own in enumerate(graph.ops) if own == op]
    return body.get_child_indexes(rank[np.array(places, np.int32)])


def _get_slots(call: Location, edges: Int32, incoming: bool) -> Int32:
    graph = call.subgraph.graph
    control = graph.edges.control[edges]
    if incoming:
        op = graph.ops[call.subgraph.hierarchy.node_by_path[call.path]]
        slots = graph.edges.position[edges] - (op in _BRANCH_OPS)
    else:
        texts = [graph.edges.output[edge].rpartition(":")[2] for edge in edges.tolist()]
        slots = np.array([int(text) if text.isdecimal() else 0 for text in texts], np.int32)
    return np.where(control, -1, slots).astype(np.int32)
