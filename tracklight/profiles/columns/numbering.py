"""Tells numbers apart, many of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracklight.types import Int64

#: Profilers number from 1 on; up to this, a table of all numbers is no matter.
_SMALL = 1 << 20


def number(values: np.ndarray[Any, Any]) -> tuple[Int64, Int64]:
    """As `np.unique` with ``return_inverse``, in a fraction of the time where numbers are small."""
    if not len(values) or values.min() < 0 or values.max() >= _SMALL:
        unlike, which = np.unique(values, return_inverse=True)
        return unlike.astype(np.int64), which
    unlike = np.flatnonzero(np.bincount(values))
    places = np.zeros(int(unlike[-1]) + 1, np.int64)
    places[unlike] = np.arange(len(unlike))
    return unlike, places[values]


def count(values: Int64) -> tuple[Int64, Int64]:
    """As `np.unique` with ``return_counts``, which hashes what is sorted faster."""
    ordered = np.sort(values)
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    first = np.concatenate([np.zeros(min(len(values), 1), np.int64), changes])
    return ordered[first], np.diff(np.append(first, len(values)))
