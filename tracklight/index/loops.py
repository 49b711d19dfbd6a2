"""The inner loops over all points of a series: compiled if available, else in NumPy.

`loops` is the compiled module `_loops`, or `loops_python` where that could not be built; tests
compare the two. Non-finite values are never averaged, ranked or drawn: smoothing leaves them in
place and otherwise ignores them.
"""

from __future__ import annotations

from typing import Protocol

from tracklight.types import Float64, Int64


class Loops(Protocol):
    """The interface of both modules. Columns have the same length; ``out`` is filled."""

    def find_extremes(self, value: Float64, nonfinite: Int64) -> tuple[int, int, int]:
        """Find the lowest, highest and non-finite values.

        Args:
            value: The column.
            nonfinite: Filled with the rows of the first non-finite values.

        Returns:
            The rows of the lowest and highest finite value (-1 if there are none), and the number
            of non-finite values.
        """

    def summarize_rows(self, value: Float64, starts: Int64, out: Float64) -> None:
        """Compute last, lowest finite and highest finite value of consecutive ranges of rows.

        Args:
            value: The column.
            starts: The first row of each range, none of them empty, and the end of the last one.
            out: Three rows, one per result; NaN for ranges without a finite value.
        """

    def is_sorted(self, column: Float64 | Int64) -> bool:
        """Return whether a column never decreases and, if longer than one, has no NaN."""

    def ema(self, value: Float64, weight: float, out: Float64) -> None:
        """Compute the exponential moving average with bias correction, as TensorBoard does."""

    def time_ema(self, value: Float64, step: Int64, half_life: float, out: Float64) -> None:
        """Compute an average in which the weight of a point halves every ``half_life`` steps."""

    def mean(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the mean over a window of ``before`` and ``after`` points around each point."""

    def median(self, value: Float64, before: int, after: int, out: Float64) -> None:
        """Compute the median over the same window as `mean`."""

    def reduce(
        self, x: Float64, value: Float64, smooth: Float64, edges: Float64, out: Float64
    ) -> None:
        """Compute last smoothed, last, lowest and highest value between consecutive edges.

        Args:
            x: Sorted, and between the first and the last edge.
            value: The column.
            smooth: The smoothed column.
            edges: The edges of the bins.
            out: Four rows, one per result; NaN for bins without a finite value.
        """


def _load() -> Loops:
    try:
        from tracklight.index import _loops
    except ImportError:
        from tracklight.index import loops_python

        return loops_python
    return _loops


loops = _load()
