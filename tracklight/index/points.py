"""Points of a curve that a table tells of: the nearest to a place, the ends of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.curve import Curve, survey


class Spot(NamedTuple):
    """One point of a curve."""

    step: int
    wall_time: float
    relative_s: float
    """Since the first point of the series."""
    x: float
    value: float
    smooth: float


class Stretch(NamedTuple):
    """The points of a curve in a range; extremes and mean are those of its finite values."""

    points: int
    first: Spot
    last: Spot
    lowest: Spot | None
    highest: Spot | None
    mean: float | None


def find_spot(curve: Curve, row: int | None) -> Spot | None:
    return None if row is None else get_spot(curve, row)


def get_spot(curve: Curve, row: int) -> Spot:
    wall = float(curve.wall_time[row])
    return Spot(
        int(curve.step[row]),
        wall,
        wall - curve.since,
        float(curve.x[row]),
        float(curve.value[row]),
        float(curve.smooth[row]),
    )


@dataclass(frozen=True, slots=True)
class Nearest:
    """Sees the point that is nearest to a place on the axis; of two, the earlier one."""

    at: float

    def __call__(self, curve: Curve) -> Spot | None:
        return get_spot(curve, self._find(curve)) if len(curve) else None

    def _find(self, curve: Curve) -> int:
        if not curve.rises:
            return int(np.argmin(np.abs(curve.x - self.at)))
        after = int(np.searchsorted(curve.x, self.at))
        near = range(max(0, after - 1), min(len(curve), after + 1))
        return min(near, key=lambda row: abs(float(curve.x[row]) - self.at))


@dataclass(frozen=True, slots=True)
class SumUp:
    """Sees a range of a curve, its ends included, in a few numbers."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> Stretch | None:
        inside = curve.take(curve.find_rows(self.start, self.stop))
        if not len(inside):
            return None
        seen = survey(inside.value)
        return Stretch(
            len(inside),
            get_spot(inside, 0),
            get_spot(inside, len(inside) - 1),
            find_spot(inside, seen.lowest),
            find_spot(inside, seen.highest),
            _mean(inside, seen.odd_count),
        )


def _mean(curve: Curve, odd: int) -> float | None:
    if odd == len(curve):
        return None
    value = curve.value[np.isfinite(curve.value)] if odd else curve.value
    return float(value.mean())
