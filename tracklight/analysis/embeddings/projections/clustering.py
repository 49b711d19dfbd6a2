"""Clustering: k-means (Lloyd, 1982) and HDBSCAN (Campello, Moulavi and Sander, 2013).

Both cluster a sample of large sets and assign the remaining points to the nearest result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.analysis.embeddings.projections import (
    ASSIGNING_POINTS,
    CLUSTERING,
    SELECTING_CLUSTERS,
    NeighborSearch,
)
from tracklight.analysis.jobs import JobProgress
from tracklight.errors import UsageError
from tracklight.types import Float32, Float64, Int32, Int64

_KMEANS_SAMPLE_SIZE = 50_000
_KMEANS_MAX_ITERATIONS = 60
#: The result depends on the initial centers; the best of several runs is used.
_KMEANS_RESTARTS = 5
_BLOCK_VALUES = 1 << 23

_HDBSCAN_SAMPLE_SIZE = 30_000
#: Distances between disconnected components are measured on this many points of all of them.
_MAX_BRIDGE_POINTS = 3000
_MIN_NEIGHBORS, _MAX_NEIGHBORS = 15, 40
_ASSIGN_BLOCK_ROWS = 2000


def sort_by_size(clusters: Int64 | Int32) -> Int32:
    """Renumber clusters so that the largest is 0; -1 (no cluster) stays."""
    names, counts = np.unique(clusters[clusters >= 0], return_counts=True)
    ranks = np.full(int(clusters.max(initial=-1)) + 2, -1, np.int32)
    ranks[names[np.argsort(-counts, kind="stable")]] = np.arange(len(names))
    return ranks[clusters]


# ---- k-means


def cluster_kmeans(
    vectors: Float32, count: int, seed: int = 0, progress: JobProgress | None = None
) -> Int32:
    """Return the cluster of each vector, 0 for the largest.

    Args:
        vectors: The vectors, [n, dimensions].
        count: The number of clusters.
        seed: Seed of the initial centers; equal seeds give equal results.
        progress: Receives the progress.

    Raises:
        UsageError: There are fewer vectors than clusters.
    """
    if len(vectors) < count:
        raise UsageError(
            "projector.too_many_clusters",
            "{points} points cannot form {count} clusters; choose fewer clusters",
            points=len(vectors),
            count=count,
        )
    progress = progress or JobProgress()
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(vectors))[:_KMEANS_SAMPLE_SIZE]
    sample = vectors[np.sort(chosen)]
    results = [_run_lloyd(sample, count, rng, progress) for _ in range(_KMEANS_RESTARTS)]
    centers, _ = min(results, key=lambda result: result[1])
    return sort_by_size(assign_to_nearest(vectors, centers))


def _run_lloyd(
    sample: Float32, count: int, rng: np.random.Generator, progress: JobProgress
) -> tuple[Float32, float]:
    """Return converged centers and the sum of squared distances to them."""
    centers = _choose_initial_centers(sample, count, rng)
    clusters = np.full(len(sample), -1)
    for iteration in range(_KMEANS_MAX_ITERATIONS):
        progress.step(CLUSTERING, iteration, _KMEANS_MAX_ITERATIONS)
        before, clusters = clusters, assign_to_nearest(sample, centers)
        if np.array_equal(before, clusters):
            break
        centers = compute_means(sample, clusters, centers)
    differences = sample - centers[clusters]
    return centers, float(np.vdot(differences, differences))


def _choose_initial_centers(sample: Float32, count: int, rng: np.random.Generator) -> Float32:
    """Choose points with a probability proportional to their squared distance (k-means++)."""
    centers = np.empty((count, sample.shape[1]), np.float32)
    centers[0] = sample[rng.integers(len(sample))]
    nearest = _compute_squared_distances(sample, centers[0])
    for index in range(1, count):
        total = float(nearest.sum(dtype=np.float64))
        probabilities = None
        if total:
            probabilities = nearest / total
            probabilities = probabilities / probabilities.sum(dtype=np.float64)
        centers[index] = sample[rng.choice(len(sample), p=probabilities)]
        nearest = np.minimum(nearest, _compute_squared_distances(sample, centers[index]))
    return centers


def _compute_squared_distances(vectors: Float32, center: Float32) -> Float32:
    differences = vectors - center
    squares: Float32 = np.einsum("ij,ij->i", differences, differences)
    return squares


def assign_to_nearest(vectors: Float32, centers: Float32) -> Int64:
    """Return the nearest center of each vector."""
    half_squares = np.einsum("ij,ij->i", centers, centers) / 2
    size = max(_BLOCK_VALUES // len(centers), 1)
    blocks = [
        (half_squares - vectors[start : start + size] @ centers.T).argmin(axis=1)
        for start in range(0, len(vectors), size)
    ]
    return np.concatenate(blocks)


def compute_means(sample: Float32, clusters: Int64, centers: Float32) -> Float32:
    """Return the mean of each cluster; empty clusters keep their center."""
    counts = np.bincount(clusters, minlength=len(centers))
    order = np.argsort(clusters, kind="stable")
    used = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[used])[:-1]])
    sums = np.add.reduceat(sample[order].astype(np.float64), starts, axis=0)
    means: Float32 = centers.copy()
    means[used] = sums / counts[used, None]
    return means


# ---- HDBSCAN


def cluster_hdbscan(
    vectors: Float32, min_size: int, seed: int = 0, progress: JobProgress | None = None
) -> Int32:
    """Return the cluster of each vector, 0 for the largest and -1 for noise.

    Args:
        vectors: The vectors, [n, dimensions].
        min_size: The smallest number of points that form a cluster.
        seed: Seed of the sample of large sets.
        progress: Receives the progress.

    Raises:
        UsageError: There are too few vectors for two clusters.
    """
    if len(vectors) < max(2 * min_size, 4):
        raise UsageError(
            "projector.cluster_size_too_large",
            "{points} points cannot form two clusters of {min_size}; choose a smaller minimum size",
            points=len(vectors),
            min_size=min_size,
        )
    progress = progress or JobProgress()
    if len(vectors) <= _HDBSCAN_SAMPLE_SIZE:
        return sort_by_size(_cluster_sample(vectors, min_size, progress))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:_HDBSCAN_SAMPLE_SIZE])
    scaled_min_size = max(round(min_size * _HDBSCAN_SAMPLE_SIZE / len(vectors)), 2)
    clusters = _cluster_sample(vectors[chosen], scaled_min_size, progress)
    return sort_by_size(_assign_remaining(vectors, chosen, clusters, progress))


def _assign_remaining(
    vectors: Float32, chosen: Int64, clusters: Int64, progress: JobProgress
) -> Int64:
    """Give all points the cluster of their nearest neighbor in the sample."""
    search = NeighborSearch(vectors[chosen], "euclidean")
    result = np.empty(len(vectors), np.int64)
    for start in range(0, len(vectors), _ASSIGN_BLOCK_ROWS):
        progress.step(ASSIGNING_POINTS, start, len(vectors))
        block = slice(start, start + _ASSIGN_BLOCK_ROWS)
        result[block] = clusters[search.query_vectors(vectors[block], 1).indices[:, 0]]
    return result


def _cluster_sample(vectors: Float32, min_size: int, progress: JobProgress) -> Int64:
    tree = _build_linkage(vectors, min_size, progress)
    progress.step(SELECTING_CLUSTERS, 0, 0)
    return _select_clusters(tree, min_size)


@dataclass(frozen=True, eq=False)
class _LinkageTree:
    """A single-linkage tree. Nodes are the points, followed by the merges in order of length."""

    points: int
    left: list[int]
    right: list[int]
    lengths: Float64
    sizes: list[int]


def _build_linkage(vectors: Float32, min_size: int, progress: JobProgress) -> _LinkageTree:
    """Merge points by mutual reachability distance, the shortest edges first."""
    count = len(vectors)
    n_neighbors = min(max(min_size, _MIN_NEIGHBORS), _MAX_NEIGHBORS, count - 1)
    neighbors = NeighborSearch(vectors, "euclidean").query_all(n_neighbors, progress)
    # The core distance counts the point itself.
    core = neighbors.distances[:, max(min(min_size - 1, n_neighbors), 1) - 1]
    rows = np.repeat(np.arange(count), n_neighbors)
    columns = neighbors.indices.ravel()
    lengths = np.maximum(neighbors.distances.ravel(), np.maximum(core[rows], core[columns]))
    # An outlier has neighbors in several clusters, which would connect them. So components are
    # formed by mutual neighbors only, and the distances between components are measured as well.
    is_mutual = np.isin(rows * count + columns, columns * np.int64(count) + rows)
    components = _UnionFind(count)
    components.join_all(rows[is_mutual], columns[is_mutual], lengths[is_mutual])
    heads, tails, bridges = _connect_components(vectors, core, components.list_roots())
    linkage = _UnionFind(count)
    linkage.join_all(
        np.concatenate([rows, heads]),
        np.concatenate([columns, tails]),
        np.concatenate([lengths, bridges]),
    )
    return linkage.make_tree()


def _connect_components(
    vectors: Float32, core: Float32, roots: Int64
) -> tuple[Int64, Int64, Float32]:
    """Return edges between components, with the shortest length in a sample of their points."""
    order = np.argsort(roots, kind="stable")
    _, starts, sizes = np.unique(roots[order], return_index=True, return_counts=True)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:_MAX_BRIDGE_POINTS])
    starts, sizes = starts[largest], sizes[largest]
    per_component = _MAX_BRIDGE_POINTS // len(starts)
    sample = np.concatenate(
        [
            order[start : start + size][:: -(-size // per_component)]
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        ]
    )
    points = vectors[sample].astype(np.float64)
    squares = np.einsum("ij,ij->i", points, points)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0))
    distances = np.maximum(distances, np.maximum(core[sample][:, None], core[sample]))
    firsts = np.flatnonzero(np.diff(roots[sample], prepend=-1))
    shortest = np.minimum.reduceat(np.minimum.reduceat(distances, firsts, axis=0), firsts, axis=1)
    heads, tails = np.triu_indices(len(firsts), 1)
    representatives = sample[firsts]
    lengths = shortest[heads, tails].astype(np.float32)
    return representatives[heads], representatives[tails], lengths


class _UnionFind:
    """Merges points along edges and records the merges."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._parents = list(range(2 * count - 1))
        self._sizes = [1] * count
        self._left: list[int] = []
        self._right: list[int] = []
        self._lengths: list[float] = []

    def join_all(self, rows: Int64, columns: Int64 | Int32, lengths: Float32) -> None:
        """Merge along all edges, the shortest first (Kruskal's algorithm)."""
        order = np.argsort(lengths, kind="stable")
        edges = zip(
            rows[order].tolist(), columns[order].tolist(), lengths[order].tolist(), strict=True
        )
        for row, column, length in edges:
            first, second = self._get_root(row), self._get_root(column)
            if first != second:
                self._join(first, second, length)

    def list_roots(self) -> Int64:
        """Return the root of each point."""
        return np.array([self._get_root(point) for point in range(self._count)])

    def make_tree(self) -> _LinkageTree:
        """Return the tree of all merges; remaining components are merged at infinite length."""
        first, *rest = sorted(set(self.list_roots().tolist()), key=self._sizes.__getitem__)
        for root in rest:
            self._join(first, root, np.inf)
            first = self._count + len(self._left) - 1
        lengths = np.array(self._lengths)
        return _LinkageTree(self._count, self._left, self._right, lengths, self._sizes)

    def _get_root(self, node: int) -> int:
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
    """A cluster of the condensed tree, from the density at which it splits off."""

    node: int
    birth_density: float
    parent: int
    stability: float = 0.0
    """Sum over its points of how much density increases until they leave."""


def _select_clusters(tree: _LinkageTree, min_size: int) -> Int64:
    """Return the cluster of each point: the most stable, non-overlapping ones."""
    clusters = _condense(tree, min_size)
    best = [cluster.stability for cluster in clusters]
    descendants: list[float] = [0.0] * len(clusters)
    is_selected = [True] * len(clusters)
    for index in range(len(clusters) - 1, 0, -1):
        if descendants[index] > best[index]:
            is_selected[index] = False
            best[index] = descendants[index]
        descendants[clusters[index].parent] += best[index]
    is_selected[0] = len(clusters) == 1
    result = np.full(tree.points, -1, np.int64)
    # Parents come first: clusters inside of a selected one are not selected themselves.
    is_inside = [False] * len(clusters)
    for index, cluster in enumerate(clusters):
        parent = cluster.parent
        is_inside[index] = index > 0 and (is_inside[parent] or is_selected[parent])
        if is_selected[index] and not is_inside[index]:
            result[_list_points(tree, cluster.node)] = index
    return result


def _condense(tree: _LinkageTree, min_size: int) -> list[_CondensedCluster]:
    """Return the clusters between splits into two parts of at least ``min_size`` points.

    Parents come before their children.
    """
    count = tree.points
    densities = _compute_densities(tree.lengths)
    clusters = [_CondensedCluster(count + len(tree.left) - 1, 0.0, -1)]
    stack = [(clusters[0].node, 0)]
    while stack:
        node, index = stack.pop()
        cluster = clusters[index]
        merge = node - count
        density = densities[merge]
        children = tree.left[merge], tree.right[merge]
        large = [child for child in children if tree.sizes[child] >= min_size]
        lost = tree.sizes[node] - (tree.sizes[large[0]] if len(large) == 1 else 0)
        cluster.stability += (density - cluster.birth_density) * lost
        if len(large) == 1:
            stack.append((large[0], index))
        for child in large if len(large) == 2 else ():
            clusters.append(_CondensedCluster(child, density, index))
            if child >= count:
                stack.append((child, len(clusters) - 1))
    return clusters


def _compute_densities(lengths: Float64) -> list[float]:
    """Return inverse lengths; a length of 0 counts as half of the shortest other."""
    positive = lengths[(lengths > 0) & np.isfinite(lengths)]
    min_length = float(positive.min()) / 2 if len(positive) else 1.0
    densities: list[float] = (1 / np.maximum(lengths, min_length)).tolist()
    return densities


def _list_points(tree: _LinkageTree, root: int) -> list[int]:
    points, stack = [], [root]
    while stack:
        node = stack.pop()
        if node < tree.points:
            points.append(node)
        else:
            stack += [tree.left[node - tree.points], tree.right[node - tree.points]]
    return points
