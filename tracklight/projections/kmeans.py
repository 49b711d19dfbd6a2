"""Groups of a given number, each around its middle (Lloyd, 1982)."""

from __future__ import annotations

import numpy as np

from tracklight.errors import UsageError
from tracklight.projections.work import Work
from tracklight.types import Float32, Int32, Int64

#: Middles are found of so many points; all others then go to the nearest.
_SAMPLE = 50_000
_ROUNDS = 60
#: Where they begin matters: of some tries the best is taken.
_TRIES = 5
_BLOCK_NUMBERS = 1 << 23


def find_kmeans(vectors: Float32, count: int, seed: int = 0, work: Work | None = None) -> Int32:
    """For each vector the number of its group, the largest group first."""
    if len(vectors) < count:
        raise UsageError(f"{len(vectors)} points do not make {count} groups; ask for fewer")
    work = work or Work()
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(vectors))[:_SAMPLE]
    sample = vectors[np.sort(chosen)]
    tries = [_settle(sample, count, rng, work) for _ in range(_TRIES)]
    return sort_by_size(assign(vectors, min(tries, key=lambda tried: tried[1])[0]))


def _settle(
    sample: Float32, count: int, rng: np.random.Generator, work: Work
) -> tuple[Float32, float]:
    """Middles that no longer move, and how far points are from theirs."""
    middles = _choose_first(sample, count, rng)
    groups = np.full(len(sample), -1)
    for done in range(_ROUNDS):
        work.step("finding groups", done, _ROUNDS)
        before, groups = groups, assign(sample, middles)
        if np.array_equal(before, groups):
            break
        middles = find_means(sample, groups, middles)
    apart = sample - middles[groups]
    return middles, float(np.vdot(apart, apart))


def sort_by_size(groups: Int64 | Int32) -> Int32:
    """Groups numbered anew, the largest first; what is in none (-1) stays so."""
    names, counts = np.unique(groups[groups >= 0], return_counts=True)
    ranks = np.full(int(groups.max(initial=-1)) + 2, -1, np.int32)
    ranks[names[np.argsort(-counts, kind="stable")]] = np.arange(len(names))
    return ranks[groups]


def _choose_first(sample: Float32, count: int, rng: np.random.Generator) -> Float32:
    """Points far from each other, each drawn by how far it is from those before."""
    middles = np.empty((count, sample.shape[1]), np.float32)
    middles[0] = sample[rng.integers(len(sample))]
    nearest = _measure(sample, middles[0])
    for place in range(1, count):
        total = float(nearest.sum(dtype=np.float64))
        shares = nearest / total if total else None
        shares = None if shares is None else shares / shares.sum(dtype=np.float64)
        middles[place] = sample[rng.choice(len(sample), p=shares)]
        nearest = np.minimum(nearest, _measure(sample, middles[place]))
    return middles


def _measure(vectors: Float32, middle: Float32) -> Float32:
    apart = vectors - middle
    squares: Float32 = np.einsum("ij,ij->i", apart, apart)
    return squares


def assign(vectors: Float32, middles: Float32) -> Int64:
    """The nearest middle of each vector, some of them at a time."""
    halves = np.einsum("ij,ij->i", middles, middles) / 2
    size = max(_BLOCK_NUMBERS // len(middles), 1)
    parts = [
        (halves - vectors[start : start + size] @ middles.T).argmin(axis=1)
        for start in range(0, len(vectors), size)
    ]
    return np.concatenate(parts)


def find_means(sample: Float32, groups: Int64, middles: Float32) -> Float32:
    """The means of groups; one that has lost all its points stays where it was."""
    counts = np.bincount(groups, minlength=len(middles))
    order = np.argsort(groups, kind="stable")
    there = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[there])[:-1]])
    sums = np.add.reduceat(sample[order].astype(np.float64), starts, axis=0)
    moved: Float32 = middles.copy()
    moved[there] = sums / counts[there, None]
    return moved
