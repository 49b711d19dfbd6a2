"""How long curves are, and how far they reach: what is known before columns are laid out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.curve import Curve


class Extent(NamedTuple):
    """How many points of a curve lie in a range, and from where to where on the axis."""

    points: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Measure:
    """Sees the part of a curve that lies in a range."""

    start: float | None = None
    stop: float | None = None

    def __call__(self, curve: Curve) -> Extent:
        x = curve.x[curve.find_rows(self.start, self.stop)]
        if not len(x):
            return Extent(0, np.inf, -np.inf)
        low, high = (x[0], x[-1]) if curve.rises else (x.min(), x.max())
        return Extent(len(x), float(low), float(high))


def span(extents: Iterable[Extent]) -> tuple[float, float] | None:
    """From where to where several curves reach together."""
    filled = [extent for extent in extents if extent.points]
    if not filled:
        return None
    return min(extent.low for extent in filled), max(extent.high for extent in filled)
