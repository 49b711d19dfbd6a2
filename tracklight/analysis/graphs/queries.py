"""Finds nodes by words in their names, operations, attributes, shapes, types and devices."""

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

#: What nearly everybody looks for, and what is known without looking at every node.
_FAST_FIELDS: tuple[SearchField, ...] = ("name", "op")

_SLOW_FIELDS: tuple[SearchField, ...] = ("shape", "dtype", "device", "attribute")

_MAX_QUOTE_LENGTH = 200

#: Gathering all texts of so many nodes takes seconds.
_HUGE_GRAPH_NODES = 20_000

_CROSS = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A part of a query; ``parts`` are what stands between the asterisks."""

    fields: tuple[SearchField, ...]
    parts: tuple[str, ...]

    def matches(self, text: str) -> bool:
        at = 0
        for part in self.parts:
            found = text.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return True


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A node by its place, or ``~scope``; ``where`` and ``text`` say why."""

    item: int
    field: SearchField
    text: str


def parse_query(query: str) -> list[SearchTerm]:
    return [_parse_term(word) for word in query.lower().split()]


class TextIndex:
    """The texts of one sheet; those that take a look at every node are gathered when needed."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy

    def iter_hits(self, words: Sequence[SearchTerm], enough: int) -> Iterator[SearchHit]:
        """Scopes by their names first, then nodes by names and operations, and if those are not
        ``enough``, nodes by all the rest. In a huge graph any hit is enough."""
        if not words:
            return
        enough = enough if len(self._hierarchy.graph) <= _HUGE_GRAPH_NODES else 1
        yield from self._find_scopes(words)
        quick = list(self._find_nodes(words, _FAST_FIELDS))
        yield from quick
        if len(quick) < enough:
            found = {hit.item for hit in quick}
            hits = self._find_nodes(words, (*_FAST_FIELDS, *_SLOW_FIELDS))
            yield from (hit for hit in hits if hit.item not in found)

    def _find_scopes(self, words: Sequence[SearchTerm]) -> Iterator[SearchHit]:
        if not all("name" in word.fields for word in words):
            return
        for scope, path in enumerate(self._hierarchy.scopes.paths):
            text = path.lower()
            label = text.rpartition("/")[2]
            if scope and _matches_all(words, text) and any(word.matches(label) for word in words):
                yield SearchHit(~scope, "name", path)

    def _find_nodes(
        self, words: Sequence[SearchTerm], allowed: tuple[SearchField, ...]
    ) -> Iterator[SearchHit]:
        if not all(set(word.fields) & set(allowed) for word in words):
            return
        columns = [[(at, self._text(at)) for at in word.fields if at in allowed] for word in words]
        for place in self._hierarchy.node_by_rank.tolist():
            why: tuple[SearchField, str] | None = None
            for word, texts in zip(words, columns, strict=True):
                found = next((at for at, text in texts if word.matches(text[place])), None)
                if found is None:
                    break
                if why is None or why[0] in _FAST_FIELDS:
                    why = found, self._quote(found, place, word)
            else:
                if why is not None:
                    yield SearchHit(place, *why)

    def _text(self, where: SearchField) -> Sequence[str]:
        if where == "name":
            return self._names
        if where == "op":
            return self._ops
        return self._rest[where]

    def _quote(self, where: SearchField, place: int, word: SearchTerm) -> str:
        graph = self._hierarchy.graph
        if where == "name":
            return graph.names[place]
        if where == "op":
            return graph.ops[place]
        if where == "attribute":
            said = _iter_attribute_texts(graph.describe(place))
            return next((text for text in said if word.matches(text.lower())), "")[
                :_MAX_QUOTE_LENGTH
            ]
        return self._rest[where][place][:_MAX_QUOTE_LENGTH]

    @cached_property
    def _names(self) -> Sequence[str]:
        return [path.lower() for path in self._hierarchy.paths]

    @cached_property
    def _ops(self) -> Sequence[str]:
        return [op.lower() for op in self._hierarchy.graph.ops]

    @cached_property
    def _rest(self) -> dict[SearchField, list[str]]:
        texts: dict[SearchField, list[str]] = {where: [] for where in _SLOW_FIELDS}
        for place in range(len(self._hierarchy.graph)):
            detail = self._hierarchy.graph.describe(place)
            outputs = detail.outputs
            texts["shape"].append(" ".join(format_shape(it.shape) for it in outputs))
            texts["dtype"].append(" ".join({it.dtype: None for it in outputs}).lower())
            texts["device"].append(detail.device.lower())
            texts["attribute"].append("\n".join(_iter_attribute_texts(detail)).lower())
        return texts


def _iter_attribute_texts(detail: NodeDetails) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in detail.attributes.items())
    if detail.source:
        yield detail.source


def _parse_term(word: str) -> SearchTerm:
    for prefix, where in _PREFIXES.items():
        if word.startswith(prefix):
            rest = word.removeprefix(prefix)
            return SearchTerm(
                (where,), _split_wildcards(_normalize_shape(rest) if where == "shape" else rest)
            )
    everywhere = (*_FAST_FIELDS, *_SLOW_FIELDS)
    shape = _normalize_shape(word)
    return SearchTerm(("shape",) if shape != word else everywhere, _split_wildcards(shape))


def _normalize_shape(word: str) -> str:
    """``3x3x64`` as shapes are written; other words with an x in them are left alone."""
    sizes = word.replace(_CROSS, "x").split("x")
    known = all(size.isdecimal() or size in ("?", "*") for size in sizes)
    return _CROSS.join(sizes) if len(sizes) > 1 and known else word


def _split_wildcards(word: str) -> tuple[str, ...]:
    return tuple(part for part in word.split("*") if part)


def _matches_all(words: Sequence[SearchTerm], text: str) -> bool:
    return all(word.matches(text) for word in words)


# Ways through a graph: what a node depends on, what depends on it, and how two are joined.

Direction = Literal["forward", "backward", "undirected", "none"]

_Follow = Callable[[int], Sequence[int]]


class Adjacency:
    """Who reads from each leaf and from whom it reads, all by rank."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        edges, count = hierarchy.graph.edges, len(hierarchy.graph)
        source, target = hierarchy.rank[edges.source], hierarchy.rank[edges.target]
        every = np.ones(len(edges), bool)
        self._inputs = _AdjacencyList(target, source, every, count)
        self._outputs = _AdjacencyList(source, target, every, count)
        self._data_inputs = _AdjacencyList(target, source, ~edges.control, count)
        self._data_outputs = _AdjacencyList(source, target, ~edges.control, count)

    def trace(self, start: Iterable[int], inputs: bool, control: bool) -> tuple[Int32, list[int]]:
        """All ranks that are reached from some, themselves included, and those where it ends."""
        if control:
            follow = self._inputs if inputs else self._outputs
        else:
            follow = self._data_inputs if inputs else self._data_outputs
        before = _breadth_first(follow.get, start, frozenset())[0]
        ranks = np.sort(np.fromiter(before, np.int32, len(before)))
        return ranks, [rank for rank in ranks.tolist() if not follow.get(rank)]

    def compute_path(self, start: range, end: range) -> tuple[Direction, list[int]]:
        """The fewest steps from one range of leaves to another: along the edges, else against them,
        else whichever way they lead."""
        goal = frozenset(end)

        def either(rank: int) -> Sequence[int]:
            return [*self._outputs.get(rank), *self._inputs.get(rank)]

        ways: list[tuple[Direction, _Follow]] = [
            ("forward", self._outputs.get),
            ("backward", self._inputs.get),
            ("undirected", either),
        ]
        for direction, follow in ways:
            before, reached = _breadth_first(follow, start, goal)
            if reached is not None:
                return direction, _backtrack(before, reached)
        return "none", []


def compress_ranks(ranks: Int32) -> tuple[Int32, Int32]:
    """Sorted ranks as ranges."""
    breaks = np.flatnonzero(np.diff(ranks) > 1)
    first = np.concatenate([ranks[:1], ranks[breaks + 1]])
    last = np.concatenate([ranks[breaks], ranks[-1:]]) + 1
    return first.astype(np.int32), last.astype(np.int32)


@dataclass(slots=True)
class _AdjacencyList:
    """The ``other`` ends of edges by the rank of their ``own`` ends."""

    starts: list[int]
    others: list[int]

    def __init__(self, own: Int32, other: Int32, kept: Bool, count: int) -> None:
        own, other = own[kept], other[kept]
        order = np.argsort(own, kind="stable")
        self.starts = np.searchsorted(own[order], np.arange(count + 1)).tolist()
        self.others = other[order].tolist()

    def get(self, rank: int) -> Sequence[int]:
        return self.others[self.starts[rank] : self.starts[rank + 1]]


def _breadth_first(
    follow: _Follow, start: Iterable[int], goal: frozenset[int]
) -> tuple[dict[int, int], int | None]:
    """Step by step further away: for each rank the one before it, and the first one of the goal."""
    before = {rank: -1 for rank in start}
    reached = next((rank for rank in before if rank in goal), None)
    waiting = deque(before)
    while waiting and reached is None:
        rank = waiting.popleft()
        for other in follow(rank):
            if other not in before:
                before[other] = rank
                waiting.append(other)
                if other in goal:
                    reached = other
                    break
    return before, reached


def _backtrack(before: dict[int, int], rank: int) -> list[int]:
    way = []
    while rank >= 0:
        way.append(rank)
        rank = before[rank]
    return way[::-1]
