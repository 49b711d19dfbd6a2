"""One graph, or the body of one of its functions, ready to be looked at from any group."""

from __future__ import annotations

from functools import cached_property

from tracklight.errors import UsageError
from tracklight.graphs.census import Census, take_census
from tracklight.graphs.hierarchy import ROOT, build_hierarchy
from tracklight.graphs.levels import Child, Level, build_leaf, build_level, build_series
from tracklight.graphs.model import Graph
from tracklight.graphs.naming import scope_of
from tracklight.graphs.searching import Index
from tracklight.graphs.structure import number_structures
from tracklight.graphs.tensors import Tensors
from tracklight.graphs.walking import Neighbours
from tracklight.types import Int32

#: So many nodes are quickly looked at.
_FEW = 2000


class Sheet:
    """May be asked from any thread: what is found twice is found alike."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.hierarchy = build_hierarchy(graph)
        self.tensors = Tensors(graph)
        self._levels: dict[tuple[int, bool], Level] = {}
        self._series: dict[str, Level] = {}

    @cached_property
    def structures(self) -> Int32:
        return number_structures(self.hierarchy)

    @cached_property
    def census(self) -> Census:
        """Takes a look at every node: of a huge graph about a second."""
        return take_census(self.hierarchy)

    @cached_property
    def index(self) -> Index:
        return Index(self.hierarchy)

    @cached_property
    def neighbours(self) -> Neighbours:
        return Neighbours(self.hierarchy)

    def count_parameters(self, first: int, last: int) -> int:
        """How many trained numbers a range of leaves owns; of few leaves without a census."""
        if last - first > _FEW or len(self.graph) <= _FEW:
            return int(self.census.parameters[first:last].sum())
        places = self.hierarchy.order[first:last].tolist()
        return sum(self.graph.describe(place).parameters for place in places)

    def level(self, scope: int, fold: bool) -> Level:
        found = self._levels.get((scope, fold))
        if found is None:
            found = self._levels[scope, fold] = build_level(self.hierarchy, scope, fold)
        return found

    def get_level(self, path: str, fold: bool) -> Level:
        """The group of a path: the root, a scope or a series."""
        scope = ROOT if path == "" else self.hierarchy.scope_of.get(path)
        if scope is not None:
            return self.level(scope, fold)
        outer = self.level(self.hierarchy.scope_of.get(scope_of(path), ROOT), True)
        for child in outer.children:
            if child.path == path and child.kind == "series":
                return self._get_series(outer, child)
        raise UsageError(f'the graph has no group "{path}"')

    def get_leaf(self, place: int) -> Level:
        """A node as if it were a group with nothing in it but itself."""
        return build_leaf(self.hierarchy, place)

    def levels_around(self, level: Level, fold: bool) -> list[Level]:
        """All levels that hold this one, from the root inwards."""
        around: list[Level] = []
        parent = self.hierarchy.scopes.parent
        scope = level.scope if level.is_part else int(parent[level.scope])
        while scope >= 0:
            outer = self.level(scope, fold)
            series = self._find_series(outer, level.first)
            around += [outer] if series is None or series.path == level.path else [series, outer]
            scope = int(parent[scope])
        return around[::-1]

    def groups_around(self, level: Level, fold: bool) -> list[str]:
        """The groups that have to be open for a level to be seen, from the outermost on."""
        return [outer.path for outer in self.levels_around(level, fold) if outer.path]

    def groups_around_leaf(self, rank: int) -> list[str]:
        return self.groups_around(self.get_leaf(int(self.hierarchy.order[rank])), fold=True)

    def _find_series(self, outer: Level, rank: int) -> Level | None:
        """The series of a level in which a leaf stands."""
        child = outer.children[outer.place_of(rank)]
        return self._get_series(outer, child) if child.kind == "series" else None

    def _get_series(self, outer: Level, series: Child) -> Level:
        found = self._series.get(series.path)
        if found is None:
            found = self._series[series.path] = build_series(self.hierarchy, outer, series)
        return found
