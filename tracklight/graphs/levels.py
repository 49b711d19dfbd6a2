"""What is seen when one group is open: its children, series among them as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.graphs.graphdef import ARGUMENT, RESULT
from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.naming import label_of
from tracklight.graphs.series import FEWEST_OPS, FEWEST_SCOPES, iter_runs, split_label
from tracklight.types import Bool, Int32

Kind = Literal["op", "scope", "series", "input", "output"]
_ENDS: dict[str, Kind] = {ARGUMENT: "input", RESULT: "output"}


@dataclass(frozen=True, slots=True)
class Child:
    """A box of a picture. ``item`` is the place of a node, ``~scope``, or None for a series."""

    path: str
    label: str
    kind: Kind
    item: int | None
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """The children of a scope or of a series, by rank."""

    path: str
    scope: int
    """The scope that it is, or for a part of one the scope that it is in."""
    first: int
    last: int
    children: Sequence[Child]
    starts: Int32
    """The first rank of each child."""
    is_part: bool = False
    """True for a series, and for a single node."""

    def find_child(self, ranks: Int32) -> Int32:
        """In which child each leaf of this level stands."""
        return (np.searchsorted(self.starts, ranks, side="right") - 1).astype(np.int32)

    @property
    def is_single(self) -> Bool:
        """Of each child whether it holds one leaf only."""
        single: Bool = np.diff(self.starts, append=self.last) == 1
        return single

    def place_of(self, rank: int) -> int:
        """In which child a leaf of this level stands."""
        return int(np.searchsorted(self.starts, rank, side="right")) - 1


def build_level(hierarchy: Hierarchy, scope: int, fold: bool) -> Level:
    scopes = hierarchy.scopes
    children = [_make_child(hierarchy, item) for item in scopes.items[scope]]
    if fold:
        children = list(_fold(hierarchy, scopes.paths[scope], children))
    span = int(scopes.first[scope]), int(scopes.last[scope])
    return _make_level(scopes.paths[scope], scope, span, children)


def build_series(hierarchy: Hierarchy, outer: Level, series: Child) -> Level:
    """The members of a series that stands in ``outer``."""
    children = [_make_child(hierarchy, item) for item in hierarchy.scopes.items[outer.scope]]
    inside = [child for child in children if series.first <= child.first < series.last]
    span = series.first, series.last
    return _make_level(series.path, outer.scope, span, inside, is_part=True)


def build_leaf(hierarchy: Hierarchy, place: int) -> Level:
    """A node by itself."""
    child = _make_child(hierarchy, place)
    span = child.first, child.last
    return _make_level(child.path, int(hierarchy.scope[place]), span, [child], is_part=True)


def _make_level(
    path: str, scope: int, span: tuple[int, int], children: Sequence[Child], is_part: bool = False
) -> Level:
    starts = np.array([child.first for child in children], np.int32)
    return Level(path, scope, *span, children, starts, is_part)


def _make_child(hierarchy: Hierarchy, item: int) -> Child:
    if item < 0:
        scopes, scope = hierarchy.scopes, ~item
        path = scopes.paths[scope]
        span = int(scopes.first[scope]), int(scopes.last[scope])
        return Child(path, label_of(path), "scope", item, *span)
    path, rank = hierarchy.paths[item], int(hierarchy.rank[item])
    kind = _ENDS.get(hierarchy.graph.ops[item], "op")
    return Child(path, label_of(path), kind, item, rank, rank + 1)


def _fold(hierarchy: Hierarchy, scope: str, children: Sequence[Child]) -> Iterator[Child]:
    common = [_find_common(hierarchy, child) for child in children]
    taken = {child.path for child in children}
    for first, last in iter_runs([child.label for child in children], common):
        members = children[first:last]
        fewest = FEWEST_SCOPES if members[0].kind == "scope" else FEWEST_OPS
        if len(members) < fewest or len(members) == len(children):
            yield from members
        else:
            yield _join(scope, members, taken)


def _find_common(hierarchy: Hierarchy, child: Child) -> tuple[str, object]:
    if child.item is not None and child.item >= 0:
        return child.kind, hierarchy.graph.ops[child.item]
    return child.kind, child.last - child.first


def _join(scope: str, members: Sequence[Child], taken: set[str]) -> Child:
    (stem, low), (_, high) = split_label(members[0].label), split_label(members[-1].label)
    label = f"{stem}[{low}-{high}]"
    path = f"{scope}/{label}" if scope else label
    while path in taken:
        label, path = f"{label}*", f"{path}*"
    taken.add(path)
    return Child(path, label, "series", None, members[0].first, members[-1].last)
