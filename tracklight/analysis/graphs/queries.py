"""Queries on one subgraph: text search (`TextIndex`), dependencies and paths (`Adjacency`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tracklight.analysis.graphs.hierarchy import Hierarchy
from tracklight.analysis.graphs.model import NodeDetails, format_shape
from tracklight.types import Bool, Int32

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
            texts["shape"].append(" ".join(format_shape(it.shape) for it in outputs))
            texts["dtype"].append(" ".join({it.dtype: None for it in outputs}).lower())
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
