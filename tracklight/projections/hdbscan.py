"""Groups that are denser than what is around them, however many there are.

Points are joined by the lengths between neighbours, the shortest first; a group counts for as long
as it holds together (Campello, Moulavi and Sander, 2013).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.errors import UsageError
from tracklight.projections.kmeans import sort_by_size
from tracklight.projections.neighbours import NeighbourSearch
from tracklight.projections.work import Work
from tracklight.types import Float32, Float64, Int32, Int64

#: Groups are found of so many points; all others go with their nearest.
_SAMPLE = 30_000
#: Parts far from each other are measured by so many points of all of them.
_BRIDGE_POINTS = 3000
_FEWEST_NEIGHBOURS, _MOST_NEIGHBOURS = 15, 40


def find_dense(vectors: Float32, min_size: int, seed: int = 0, work: Work | None = None) -> Int32:
    """For each vector the number of its group, the largest first; -1 for those in none."""
    if len(vectors) < max(2 * min_size, 4):
        raise UsageError(f"{len(vectors)} points do not make two groups of {min_size}")
    work = work or Work()
    if len(vectors) <= _SAMPLE:
        return sort_by_size(_group(vectors, min_size, work))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:_SAMPLE])
    share = max(round(min_size * _SAMPLE / len(vectors)), 2)
    groups = _group(vectors[chosen], share, work)
    return sort_by_size(_spread(vectors, chosen, groups, work))


def _spread(vectors: Float32, chosen: Int64, groups: Int64, work: Work) -> Int64:
    """All points with the group of their nearest in the sample."""
    search = NeighbourSearch(vectors[chosen], "euclidean")
    out = np.empty(len(vectors), np.int64)
    size = 2000
    for start in range(0, len(vectors), size):
        work.step("joining the others", start, len(vectors))
        nearest = search.find_of_vectors(vectors[start : start + size], 1).places[:, 0]
        out[start : start + size] = groups[nearest]
    return out


def _group(vectors: Float32, min_size: int, work: Work) -> Int64:
    tree = _join(vectors, min_size, work)
    work.step("choosing groups", 0, 0)
    return _choose(tree, min_size)


@dataclass(frozen=True, eq=False)
class _Tree:
    """How points were joined two by two; the node of a join is its number after all points'."""

    points: int
    left: list[int]
    right: list[int]
    lengths: Float64
    sizes: list[int]


def _join(vectors: Float32, min_size: int, work: Work) -> _Tree:
    count = len(vectors)
    wanted = min(max(min_size, _FEWEST_NEIGHBOURS), _MOST_NEIGHBOURS, count - 1)
    found = NeighbourSearch(vectors, "euclidean").find_all(wanted, work)
    # A point is the first of those that make it dense.
    core = found.distances[:, max(min(min_size - 1, wanted), 1) - 1]
    mine = np.repeat(np.arange(count), wanted)
    others = found.places.ravel()
    # Where it is sparse, all are far from each other.
    lengths = np.maximum(found.distances.ravel(), np.maximum(core[mine], core[others]))
    # Neighbours of who is far from all are not near each other: only where both are neighbours of
    # the other do they belong together, and what lies between such pieces is measured as well.
    is_mutual = np.isin(mine * count + others, others * np.int64(count) + mine)
    pieces = _Forest(count)
    pieces.join_all(mine[is_mutual], others[is_mutual], lengths[is_mutual])
    near, far, bridges = _bridge(vectors, core, pieces.list_roots())
    forest = _Forest(count)
    forest.join_all(
        np.concatenate([mine, near]),
        np.concatenate([others, far]),
        np.concatenate([lengths, bridges]),
    )
    return forest.make_tree()


def _bridge(vectors: Float32, core: Float32, roots: Int64) -> tuple[Int64, Int64, Float32]:
    """Between parts that no neighbours join: the shortest lengths among a sample of each."""
    order = np.argsort(roots, kind="stable")
    _, starts, sizes = np.unique(roots[order], return_index=True, return_counts=True)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:_BRIDGE_POINTS])
    starts, sizes = starts[largest], sizes[largest]
    most = _BRIDGE_POINTS // len(starts)
    sample = np.concatenate(
        [
            order[start : start + size][:: -(-size // most)]
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]
    )
    points = vectors[sample].astype(np.float64)
    squares = np.einsum("ij,ij->i", points, points)
    apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    apart = np.maximum(apart, np.maximum(core[sample][:, None], core[sample]))
    firsts = np.flatnonzero(np.diff(roots[sample], prepend=-1))
    nearest = np.minimum.reduceat(np.minimum.reduceat(apart, firsts, axis=0), firsts, axis=1)
    one, other = np.triu_indices(len(firsts), 1)
    ends = sample[firsts]
    return ends[one], ends[other], nearest[one, other].astype(np.float32)


class _Forest:
    """Points that are joined, the nearest first, until there is one tree."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._parents = list(range(2 * count - 1))
        self._sizes = [1] * count
        self._left: list[int] = []
        self._right: list[int] = []
        self._lengths: list[float] = []

    def join_all(self, mine: Int64, others: Int64 | Int32, lengths: Float32) -> None:
        order = np.argsort(lengths, kind="stable")
        columns = mine[order].tolist(), others[order].tolist(), lengths[order].tolist()
        for one, other, length in zip(*columns, strict=True):
            first, second = self._find(one), self._find(other)
            if first != second:
                self._join(first, second, length)

    def list_roots(self) -> Int64:
        """For each point what it has been joined into."""
        return np.array([self._find(point) for point in range(self._count)])

    def make_tree(self) -> _Tree:
        """What is in pieces still is infinitely far apart."""
        first, *rest = sorted(set(self.list_roots().tolist()), key=self._sizes.__getitem__)
        for root in rest:
            self._join(first, root, np.inf)
            first = self._count + len(self._left) - 1
        lengths = np.array(self._lengths)
        return _Tree(self._count, self._left, self._right, lengths, self._sizes)

    def _find(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def _join(self, first: int, second: int, length: float) -> None:
        self._parents[first] = self._parents[second] = self._count + len(self._left)
        self._left.append(first)
        self._right.append(second)
        self._lengths.append(length)
        self._sizes.append(self._sizes[first] + self._sizes[second])


@dataclass(eq=False)
class _Cluster:
    """A group from where it comes apart from others on; ``worth`` is how long it holds."""

    node: int
    born: float
    parent: int
    worth: float = 0.0


def _choose(tree: _Tree, min_size: int) -> Int64:
    clusters = _condense(tree, min_size)
    best = [cluster.worth for cluster in clusters]
    inside: list[float] = [0.0] * len(clusters)
    is_chosen = [True] * len(clusters)
    for place in range(len(clusters) - 1, 0, -1):
        if inside[place] > best[place]:
            is_chosen[place] = False
            best[place] = inside[place]
        inside[clusters[place].parent] += best[place]
    is_chosen[0] = len(clusters) == 1
    groups = np.full(tree.points, -1, np.int64)
    # From the outermost on: who is inside of a chosen one is no group of its own.
    taken = [False] * len(clusters)
    for place, cluster in enumerate(clusters):
        taken[place] = place > 0 and (taken[cluster.parent] or is_chosen[cluster.parent])
        if is_chosen[place] and not taken[place]:
            groups[_list_points(tree, cluster.node)] = place
    return groups


def _condense(tree: _Tree, min_size: int) -> list[_Cluster]:
    """Groups that split into two which are both large enough; parents come before children."""
    count = tree.points
    densities = _find_densities(tree.lengths)
    clusters = [_Cluster(count + len(tree.left) - 1, 0.0, -1)]
    waiting = [(clusters[0].node, 0)]
    while waiting:
        node, place = waiting.pop()
        cluster = clusters[place]
        join = node - count
        density = densities[join]
        halves = tree.left[join], tree.right[join]
        large = [half for half in halves if tree.sizes[half] >= min_size]
        lost = tree.sizes[node] - (tree.sizes[large[0]] if len(large) == 1 else 0)
        cluster.worth += (density - cluster.born) * lost
        if len(large) == 1:
            waiting.append((large[0], place))
        for half in large if len(large) == 2 else ():
            clusters.append(_Cluster(half, density, place))
            if half >= count:
                waiting.append((half, len(clusters) - 1))
    return clusters


def _find_densities(lengths: Float64) -> list[float]:
    """The inverse of lengths; of those that are 0, as if they were half of the next."""
    positive = lengths[(lengths > 0) & np.isfinite(lengths)]
    least = float(positive.min()) / 2 if len(positive) else 1.0
    densities: list[float] = (1 / np.maximum(lengths, least)).tolist()
    return densities


def _list_points(tree: _Tree, node: int) -> list[int]:
    points, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        if one < tree.points:
            points.append(one)
        else:
            waiting += [tree.left[one - tree.points], tree.right[one - tree.points]]
    return points
