"""Curves at the same places of the axis, so that several runs can be put together as one band."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracklight.index.baseline import make_baseline
from tracklight.index.curve import Curve
from tracklight.index.loops import loops
from tracklight.types import Float64


class Samples(NamedTuple):
    """A row each, NaN where a curve does not reach."""

    value: Float64
    low: Float64
    high: Float64
    """Extremes of the curve around each place, so that none is lost between two of them; the value
    itself where they were not asked for."""


@dataclass(frozen=True, slots=True)
class Places:
    """Sees where a curve has points, by ``most`` of them, spread over a range."""

    start: float
    stop: float
    most: int

    def __call__(self, curve: Curve) -> Float64:
        x = curve.x[curve.find_rows(self.start, self.stop)]
        x = x if curve.rises else np.sort(x)
        return _distinct(spread(x, self.start, self.stop, self.most))


def join_places(places: Iterable[Float64], start: float, stop: float, most: int) -> Float64:
    """The places of all curves if these are few, else ``most`` of them, spread over the range."""
    different = {one.tobytes(): one for one in places}  # runs mostly log at the same steps
    together = np.concatenate([np.empty(0), *different.values()])
    return spread(_distinct(np.sort(together)), start, stop, most)


def spread(x: Float64, start: float, stop: float, most: int) -> Float64:
    """At most ``most`` values of a column that rises: those that first reach even places.

    Values that are there, rather than even ones between them: halfway between two noisy points
    the noise is less, and a band over such places would be too narrow.
    """
    if len(x) <= most:
        return x
    rows = np.searchsorted(x, np.linspace(start, stop, most))
    chosen: Float64 = x[np.minimum(rows, len(x) - 1)]
    return _distinct(chosen)


def _distinct(x: Float64) -> Float64:
    """Each value of a column that rises once; `np.unique` would sort it first."""
    chosen: Float64 = x[np.append(True, x[1:] != x[:-1])[: len(x)]]
    return chosen


@dataclass(frozen=True, slots=True)
class Sample:
    """Sees a curve at some places, at least one and in order: between two points on a line."""

    at: Float64
    extremes: bool = False
    """Whether those of the curve around each place are wanted as well."""

    def __call__(self, curve: Curve) -> Samples:
        base = make_baseline(curve)
        if not len(base.x):
            nothing = np.full(len(self.at), np.nan)
            return Samples(nothing, nothing, nothing)
        value = np.interp(self.at, base.x, base.smooth, left=np.nan, right=np.nan)
        if not self.extremes:
            return Samples(value, value, value)
        low, high = self._find_extremes(base.x, base.smooth)
        return Samples(value, np.fmin(value, low), np.fmax(value, high))

    def _find_extremes(self, x: Float64, value: Float64) -> tuple[Float64, Float64]:
        """Each place stands for what is nearer to it than to any other."""
        between = 0.5 * (self.at[1:] + self.at[:-1])
        edges = np.concatenate([self.at[:1], between, self.at[-1:]])
        inside = slice(*np.searchsorted(x, [edges[0], np.nextafter(edges[-1], np.inf)]))
        out = np.empty((4, len(self.at)))
        loops.reduce(x[inside], value[inside], value[inside], edges, out)
        return out[2], out[3]
