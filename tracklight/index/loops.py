"""The door to the loops over every point of a series.

The compiled kernel is used where it was built, plain NumPy and Python elsewhere; tests hold the
two against each other. Values that are not finite are never averaged, ranked or drawn: smoothing
hands them through at their place and goes on as if they were not there.
"""

from __future__ import annotations

from typing import Protocol

from tracklight.types import Float64, Int64


class Loops(Protocol):
    """All columns have one length; ``out`` is filled."""

    def survey(self, value: Float64, odd: Int64) -> tuple[int, int, int]:
        """Where the lowest and the highest finite value stand (-1: nowhere), how many are not.

        ``odd`` gets the places of the first of those that are not finite.
        """

    def rises(self, column: Float64 | Int64) -> bool:
        """Whether it never falls, and no value of it is NaN unless it is alone."""

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        """An exponential moving average that makes up for having started at nothing."""

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        """The same where a point's weight halves every ``half_life`` steps."""

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Of each point with as many ``before`` and ``after`` it as there are."""

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """The same, with the middle one, or halfway between two."""

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        """Of each column between ``edges``: last smoothed, last, lowest and highest value.

        ``x`` rises and lies between the first and the last edge. Only finite values count; NaN
        stands in ``out`` (four rows) where a column has none.
        """


def _load() -> Loops:
    try:
        from tracklight.index import _loops
    except ImportError:
        from tracklight.index import loops_python

        return loops_python
    return _loops


loops = _load()
