"""Histograms in the old form, with the buckets that ``torch.utils.tensorboard`` makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.sdk.arrays import as_number, as_numbers
from tracklight.sdk.histogram import Spread, make_limits, spread_exponential
from tracklight.sdk.lenient import Misuse, complain
from tracklight.sdk.scratch import give_back, take_copy

Floats = NDArray[np.float64]


def make_default_bins() -> list[float]:
    """The edges that ``bins="tensorflow"`` stands for."""
    limits = make_limits()
    return [*(-limits[::-1]).tolist(), 0, *limits.tolist()]


def put_off_histogram(
    tag: str, values: Any, bins: Any, max_bins: Any
) -> tuple[Callable[[], Message], int]:
    """What builds the histogram of the numbers as they are now, and how many bytes it holds.

    All that may be wrong is found at once, where it can still be told whose line it was.
    """
    numbers = _take_finite(values)
    if isinstance(bins, str) and bins == "tensorflow" and max_bins is None:

        def build() -> Message:
            spread = spread_exponential(numbers)
            give_back(numbers)
            return _build(tag, spread)

        return build, numbers.nbytes
    value = _build(tag, _spread(numbers.astype(np.float64), bins, max_bins))
    return lambda: value, 0


def build_raw_histogram(tag: str, totals: dict[str, Any], limits: Any, counts: Any) -> Message:
    """From what was counted elsewhere: totals, the upper limit of every bucket and its count."""
    edges = as_numbers(limits, "bucket_limits").reshape(-1)
    filled = as_numbers(counts, "bucket_counts").reshape(-1)
    if edges.size != filled.size:
        raise Misuse("bucket_limits", f"are {edges.size} for {filled.size} bucket_counts")
    numbers = {name: as_number(value, name) for name, value in totals.items()}
    histogram = proto.HistogramProto(bucket_limit=edges.tolist(), bucket=filled.tolist(), **numbers)
    return proto.Value(tag=tag.encode(), histo=histogram)


def _take_finite(values: Any) -> NDArray[Any]:
    """A copy, which is not changed by what the program does next."""
    numbers: NDArray[Any] = take_copy(as_numbers(values, "values")).reshape(-1)
    if not numbers.size:
        raise Misuse("values", "is empty; a histogram needs a number at least")
    if np.isfinite(numbers.min()) and np.isfinite(numbers.max()):
        return numbers
    finite: NDArray[Any] = numbers[np.isfinite(numbers)]
    if not finite.size:
        raise Misuse("values", "has no finite number in it")
    others = numbers.size - finite.size
    complain("values", f"has {others} NaN or infinite numbers, which were left out")
    return finite


def _spread(finite: Floats, bins: Any, max_bins: Any) -> Spread:
    if isinstance(bins, str) and bins == "tensorflow":
        bins = make_default_bins()
    counts, edges = np.histogram(finite, bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, edges = _join_buckets(counts, edges, int(max_bins))
    used = np.flatnonzero(counts)
    if not used.size:
        raise Misuse("bins", "leaves out all values")
    first, last = used[0], used[-1]
    return Spread(
        # Only the right edges are written, so an empty bucket in front tells the first left one.
        edges=edges[[first, *range(first, last + 2)]].astype(np.float64),
        counts=np.array([0, *counts[first : last + 1]], np.float64),
        min=float(finite.min()),
        max=float(finite.max()),
        num=finite.size,
        sum=float(finite.sum()),
        sum_squares=float(np.einsum("i,i->", finite, finite)),
    )


def _join_buckets(
    counts: NDArray[Any], edges: NDArray[Any], max_bins: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every few neighbours as one; the last one may be narrower."""
    few = len(counts) // max_bins
    joined = np.add.reduceat(counts, np.arange(0, len(counts), few))
    return joined, np.append(edges[:-1:few], edges[-1])


def _build(tag: str, spread: Spread) -> Message:
    histogram = proto.HistogramProto(
        min=spread.min,
        max=spread.max,
        num=spread.num,
        sum=spread.sum,
        sum_squares=spread.sum_squares,
        bucket_limit=spread.edges[1:].tolist(),
        bucket=spread.counts.tolist(),
    )
    return proto.Value(tag=tag.encode(), histo=histogram)
