"""Which scopes of a graph are built alike: the same operations, joined in the same way."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracklight.graphs.hierarchy import Hierarchy
from tracklight.types import Int32

_Hashes = NDArray[np.uint64]
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)
UNIQUE = -1


def number_structures(hierarchy: Hierarchy) -> Int32:
    """For each scope a number that it shares with all that are built alike; -1 for the only one.

    Sums of hashes do not tell every difference, but all that people meet: which operations there
    are, which of them read from which, and how many scopes they are sorted into.
    """
    scopes = hierarchy.scopes
    ops = _hash_ops(hierarchy.graph.ops)
    leaves = _sum_until(ops[hierarchy.order])
    inside = leaves[scopes.last] - leaves[scopes.first]
    joined = _add_up(_hash_edges(hierarchy, ops), scopes.parent, scopes.depth)
    inner = _add_up(np.ones(len(inside), np.uint64), scopes.parent, scopes.depth)
    return _number(_mix(inside) ^ _mix(joined * _STIR) ^ _mix(inner * _SPREAD))


def _hash_ops(ops: Sequence[str]) -> _Hashes:
    known = {op: zlib.crc32(op.encode("utf-8", "replace")) for op in set(ops)}
    return _mix(np.array([known[op] for op in ops], np.uint64))


def _hash_edges(hierarchy: Hierarchy, ops: _Hashes) -> _Hashes:
    """The sum for each scope over the edges that meet in it."""
    edges = hierarchy.graph.edges
    hashes = _mix(ops[edges.source] * _SPREAD ^ ops[edges.target] ^ edges.control)
    sums = np.zeros(len(hierarchy.scopes.paths), np.uint64)
    np.add.at(sums, hierarchy.meeting, hashes)
    return sums


def _add_up(own: _Hashes, parent: Int32, depth: Int32) -> _Hashes:
    """What each scope has with all that are inside of it."""
    total: _Hashes = own.copy()
    for level in range(int(depth.max(initial=0)), 0, -1):
        scopes = np.flatnonzero(depth == level)
        np.add.at(total, parent[scopes], total[scopes])
    return total


def _number(signatures: _Hashes) -> Int32:
    _, first, inverse, count = np.unique(
        signatures, return_index=True, return_inverse=True, return_counts=True
    )
    numbers = np.full(len(first), UNIQUE, np.int32)
    shared = np.flatnonzero(count > 1)
    numbers[shared[np.argsort(first[shared])]] = np.arange(len(shared), dtype=np.int32)
    return numbers[inverse.reshape(-1)]


def _sum_until(hashes: _Hashes) -> _Hashes:
    return np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])


def _mix(values: _Hashes) -> _Hashes:
    values = (values ^ (values >> np.uint64(31))) * _SPREAD
    mixed: _Hashes = (values ^ (values >> np.uint64(29))) * _STIR
    return mixed
