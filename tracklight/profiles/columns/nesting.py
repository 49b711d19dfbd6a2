"""Which event of a track another one stands inside of, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import numpy as np

from tracklight.types import Int64


def _find_kernel() -> ModuleType | None:
    try:
        from tracklight.profiles.columns import _nesting
    except ImportError:
        return None
    return _nesting


#: The compiled loops; None where there was no compiler.
KERNEL = _find_kernel()


def find_parents(end: Int64, skipped: Iterable[int] = ()) -> Int64:
    """Of each event of one track, in order of their starts, the innermost that contains it.

    -1: none does.
    One that only reaches into another is not inside of it. ``skipped`` ones have no parent and are
    nobody's.
    """
    parents = np.full(len(end), -1, np.int64)
    left_out = set(skipped)
    open_: list[tuple[int, int]] = []
    for event, last in enumerate(end.tolist()):
        if event in left_out:
            continue
        while open_ and open_[-1][1] < last:
            open_.pop()
        # All that is left ends no earlier; what ended before this began, ends before it ends.
        if open_:
            parents[event] = open_[-1][0]
        open_.append((event, last))
    return parents


def measure_inner(start: Int64, end: Int64) -> Int64:
    """For how long others ran inside of each event of one thread, in order of their starts.

    Profilers end the calls that are open when they stop in any order, so one that outlasts the call
    that it began in stands inside of it all the same, for as long as both go on.
    """
    if KERNEL is not None:
        found: Int64 = KERNEL.measure_inner(start, end)
        return found
    return measure_inner_in_python(start, end)


def measure_inner_in_python(start: Int64, end: Int64) -> Int64:
    taken = [0] * len(start)
    open_: list[tuple[int, int]] = []
    for event, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while open_ and open_[-1][1] <= first:
            open_.pop()
        if open_:
            around, ends = open_[-1]
            taken[around] += min(last, ends) - first
        open_.append((event, last))
    return np.array(taken, np.int64)
