"""Which histograms of a series are shown: all of a range, or some of them, evenly chosen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.histograms.asks import Axis
from tracklight.types import Float64, Int64, Located

#: What is read of one series at once; of larger histograms fewer are chosen.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Chosen:
    """Places in a series, in the order of the axis, and how many there are in the range."""

    index: Int64
    x: Float64
    count: int


def choose_all(
    located: Located, x: Axis, start: float | None = None, stop: float | None = None
) -> Chosen:
    """Those that were not overwritten, in a range; its ends are included."""
    index = np.flatnonzero(~located.overwritten)
    place = find_places(located, index, x)
    within = np.isfinite(place)
    within &= place >= (-np.inf if start is None else start)
    within &= place <= (np.inf if stop is None else stop)
    index, place = index[within], place[within]
    order = np.argsort(place, kind="stable")
    return Chosen(index[order], place[order], len(index))


def choose_some(located: Located, among: Chosen, most: int) -> Chosen:
    """At most so many, and of large histograms fewer."""
    if not among.count:
        return among
    size_bytes = max(1, int(located.size[among.index].mean()))
    kept = pick_evenly(among.x, max(1, min(most, _MOST_BYTES // size_bytes)))
    return Chosen(among.index[kept], among.x[kept], among.count)


def find_places(located: Located, index: Int64, x: Axis) -> Float64:
    """Where histograms stand on the axis."""
    if x == "step":
        return located.step[index].astype(np.float64)
    wall = located.wall_time[index]
    if x == "wall":
        return wall
    known = wall[np.isfinite(wall)]
    return wall - (known[0] if len(known) else np.nan)


def pick_evenly(place: Float64, most: int) -> Int64:
    """Rows of a rising column, evenly spread along it: its ends are among them.

    Where long gaps would leave room for more, the rest is filled evenly by number.
    """
    count = len(place)
    if count <= most:
        return np.arange(count)
    if most == 1:
        return np.array([count - 1])
    wanted = np.linspace(place[0], place[-1], most)
    after = np.clip(np.searchsorted(place, wanted), 1, count - 1)
    before = after - 1
    nearest = np.where(wanted - place[before] <= place[after] - wanted, before, after)
    # Of several at one place the last one counts.
    nearest[-1] = count - 1
    kept = np.unique(nearest)
    rest = np.setdiff1d(np.arange(count), kept)
    more = np.linspace(0, len(rest) - 1, most - len(kept)).round().astype(np.int64)
    return np.union1d(kept, rest[more])
