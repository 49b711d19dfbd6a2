"""Groups of a given number, each around its middle (Lloyd, 1982)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.analysis.embeddings.projections.neighbors import NeighborSearch
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Float64, Int32, Int64

#: Middles are found of so many points; all others then go to the nearest.
_KMEANS_SAMPLE_SIZE = 50_000

_KMEANS_MAX_ITERATIONS = 60

#: Where they begin matters: of some tries the best is taken.
_KMEANS_RESTARTS = 5

_BLOCK_VALUES = 1 << 23


def cluster_kmeans(
    vectors: Float32, count: int, seed: int = 0, progress: JobProgress | None = None
) -> Int32:
    """For each vector the number of its group, the largest group first."""
    if len(vectors) < count:
        raise UsageError(f"{len(vectors)} points do not make {count} groups; ask for fewer")
    progress = progress or JobProgress()
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(vectors))[:_KMEANS_SAMPLE_SIZE]
    sample = vectors[np.sort(chosen)]
    tries = [_run_lloyd(sample, count, rng, progress) for _ in range(_KMEANS_RESTARTS)]
    return sort_by_size(assign_to_nearest(vectors, min(tries, key=lambda tried: tried[1])[0]))


def _run_lloyd(
    sample: Float32, count: int, rng: np.random.Generator, work: JobProgress
) -> tuple[Float32, float]:
    """Middles that no longer move, and how far points are from theirs."""
    middles = _choose_initial_centers(sample, count, rng)
    groups = np.full(len(sample), -1)
    for done in range(_KMEANS_MAX_ITERATIONS):
        work.step("finding groups", done, _KMEANS_MAX_ITERATIONS)
        before, groups = groups, assign_to_nearest(sample, middles)
        if np.array_equal(before, groups):
            break
        middles = compute_means(sample, groups, middles)
    apart = sample - middles[groups]
    return middles, float(np.vdot(apart, apart))


def sort_by_size(groups: Int64 | Int32) -> Int32:
    """Groups numbered anew, the largest first; what is in none (-1) stays so."""
    names, counts = np.unique(groups[groups >= 0], return_counts=True)
    ranks = np.full(int(groups.max(initial=-1)) + 2, -1, np.int32)
    ranks[names[np.argsort(-counts, kind="stable")]] = np.arange(len(names))
    return ranks[groups]


def _choose_initial_centers(sample: Float32, count: int, rng: np.random.Generator) -> Float32:
    """Points far from each other, each drawn by how far it is from those before."""
    middles = np.empty((count, sample.shape[1]), np.float32)
    middles[0] = sample[rng.integers(len(sample))]
    nearest = _compute_squared_distances(sample, middles[0])
    for place in range(1, count):
        total = float(nearest.sum(dtype=np.float64))
        shares = nearest / total if total else None
        shares = None if shares is None else shares / shares.sum(dtype=np.float64)
        middles[place] = sample[rng.choice(len(sample), p=shares)]
        nearest = np.minimum(nearest, _compute_squared_distances(sample, middles[place]))
    return middles


def _compute_squared_distances(vectors: Float32, middle: Float32) -> Float32:
    apart = vectors - middle
    squares: Float32 = np.einsum("ij,ij->i", apart, apart)
    return squares


def assign_to_nearest(vectors: Float32, centers: Float32) -> Int64:
    """The nearest middle of each vector, some of them at a time."""
    halves = np.einsum("ij,ij->i", centers, centers) / 2
    size = max(_BLOCK_VALUES // len(centers), 1)
    parts = [
        (halves - vectors[start : start + size] @ centers.T).argmin(axis=1)
        for start in range(0, len(vectors), size)
    ]
    return np.concatenate(parts)


def compute_means(sample: Float32, groups: Int64, centers: Float32) -> Float32:
    """The means of groups; one that has lost all its points stays where it was."""
    counts = np.bincount(groups, minlength=len(centers))
    order = np.argsort(groups, kind="stable")
    there = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[there])[:-1]])
    sums = np.add.reduceat(sample[order].astype(np.float64), starts, axis=0)
    moved: Float32 = centers.copy()
    moved[there] = sums / counts[there, None]
    return moved


# Groups that are denser than what is around them, however many there are.
#
# Points are joined by the lengths between neighbours, the shortest first; a group counts for as long
# as it holds together (Campello, Moulavi and Sander, 2013).

#: Groups are found of so many points; all others go with their nearest.
_HDBSCAN_SAMPLE_SIZE = 30_000

#: Parts far from each other are measured by so many points of all of them.
_MAX_BRIDGE_POINTS = 3000

_MIN_NEIGHBORS, _MAX_NEIGHBORS = 15, 40


def cluster_hdbscan(
    vectors: Float32, min_size: int, seed: int = 0, progress: JobProgress | None = None
) -> Int32:
    """For each vector the number of its group, the largest first; -1 for those in none."""
    if len(vectors) < max(2 * min_size, 4):
        raise UsageError(f"{len(vectors)} points do not make two groups of {min_size}")
    progress = progress or JobProgress()
    if len(vectors) <= _HDBSCAN_SAMPLE_SIZE:
        return sort_by_size(_cluster_sample(vectors, min_size, progress))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:_HDBSCAN_SAMPLE_SIZE])
    share = max(round(min_size * _HDBSCAN_SAMPLE_SIZE / len(vectors)), 2)
    groups = _cluster_sample(vectors[chosen], share, progress)
    return sort_by_size(_assign_remaining(vectors, chosen, groups, progress))


def _assign_remaining(vectors: Float32, chosen: Int64, groups: Int64, work: JobProgress) -> Int64:
    """All points with the group of their nearest in the sample."""
    search = NeighborSearch(vectors[chosen], "euclidean")
    out = np.empty(len(vectors), np.int64)
    size = 2000
    for start in range(0, len(vectors), size):
        work.step("joining the others", start, len(vectors))
        nearest = search.query_vectors(vectors[start : start + size], 1).indices[:, 0]
        out[start : start + size] = groups[nearest]
    return out


def _cluster_sample(vectors: Float32, min_size: int, work: JobProgress) -> Int64:
    tree = _build_linkage(vectors, min_size, work)
    work.step("choosing groups", 0, 0)
    return _select_clusters(tree, min_size)


@dataclass(frozen=True, eq=False)
class _LinkageTree:
    """How points were joined two by two; the node of a join is its number after all points'."""

    points: int
    left: list[int]
    right: list[int]
    lengths: Float64
    sizes: list[int]


def _build_linkage(vectors: Float32, min_size: int, work: JobProgress) -> _LinkageTree:
    count = len(vectors)
    wanted = min(max(min_size, _MIN_NEIGHBORS), _MAX_NEIGHBORS, count - 1)
    found = NeighborSearch(vectors, "euclidean").query_all(wanted, work)
    # A point is the first of those that make it dense.
    core = found.distances[:, max(min(min_size - 1, wanted), 1) - 1]
    mine = np.repeat(np.arange(count), wanted)
    others = found.indices.ravel()
    # Where it is sparse, all are far from each other.
    lengths = np.maximum(found.distances.ravel(), np.maximum(core[mine], core[others]))
    # Neighbours of who is far from all are not near each other: only where both are neighbours of
    # the other do they belong together, and what lies between such pieces is measured as well.
    is_mutual = np.isin(mine * count + others, others * np.int64(count) + mine)
    pieces = _UnionFind(count)
    pieces.join_all(mine[is_mutual], others[is_mutual], lengths[is_mutual])
    near, far, bridges = _connect_components(vectors, core, pieces.list_roots())
    forest = _UnionFind(count)
    forest.join_all(
        np.concatenate([mine, near]),
        np.concatenate([others, far]),
        np.concatenate([lengths, bridges]),
    )
    return forest.make_tree()


def _connect_components(
    vectors: Float32, core: Float32, roots: Int64
) -> tuple[Int64, Int64, Float32]:
    """Between parts that no neighbours join: the shortest lengths among a sample of each."""
    order = np.argsort(roots, kind="stable")
    _, starts, sizes = np.unique(roots[order], return_index=True, return_counts=True)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_BRIDGE_POINTS])
    starts, sizes = starts[largest], sizes[largest]
    most = _MAX_BRIDGE_POINTS // len(starts)
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


class _UnionFind:
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

    def make_tree(self) -> _LinkageTree:
        """What is in pieces still is infinitely far apart."""
        first, *rest = sorted(set(self.list_roots().tolist()), key=self._sizes.__getitem__)
        for root in rest:
            self._join(first, root, np.inf)
            first = self._count + len(self._left) - 1
        lengths = np.array(self._lengths)
        return _LinkageTree(self._count, self._left, self._right, lengths, self._sizes)

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
class _CondensedCluster:
    """A group from where it comes apart from others on; ``worth`` is how long it holds."""

    node: int
    birth_density: float
    parent: int
    stability: float = 0.0


def _select_clusters(tree: _LinkageTree, min_size: int) -> Int64:
    clusters = _condense(tree, min_size)
    best = [cluster.stability for cluster in clusters]
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


def _condense(tree: _LinkageTree, min_size: int) -> list[_CondensedCluster]:
    """Groups that split into two which are both large enough; parents come before children."""
    count = tree.points
    densities = _compute_densities(tree.lengths)
    clusters = [_CondensedCluster(count + len(tree.left) - 1, 0.0, -1)]
    waiting = [(clusters[0].node, 0)]
    while waiting:
        node, place = waiting.pop()
        cluster = clusters[place]
        join = node - count
        density = densities[join]
        halves = tree.left[join], tree.right[join]
        large = [half for half in halves if tree.sizes[half] >= min_size]
        lost = tree.sizes[node] - (tree.sizes[large[0]] if len(large) == 1 else 0)
        cluster.stability += (density - cluster.birth_density) * lost
        if len(large) == 1:
            waiting.append((large[0], place))
        for half in large if len(large) == 2 else ():
            clusters.append(_CondensedCluster(half, density, place))
            if half >= count:
                waiting.append((half, len(clusters) - 1))
    return clusters


def _compute_densities(lengths: Float64) -> list[float]:
    """The inverse of lengths; of those that are 0, as if they were half of the next."""
    positive = lengths[(lengths > 0) & np.isfinite(lengths)]
    least = float(positive.min()) / 2 if len(positive) else 1.0
    densities: list[float] = (1 / np.maximum(lengths, least)).tolist()
    return densities


def _list_points(tree: _LinkageTree, node: int) -> list[int]:
    points, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        if one < tree.points:
            points.append(one)
        else:
            waiting += [tree.left[one - tree.points], tree.right[one - tree.points]]
    return points
