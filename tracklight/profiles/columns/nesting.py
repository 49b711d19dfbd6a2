"""Which event of a track another one stands inside of."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracklight.types import Int64


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
