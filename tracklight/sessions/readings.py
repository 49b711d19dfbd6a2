"""How a curve becomes one number: its last value, its best, or what it was somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.errors import LogError
from tracklight.index.curve import Curve
from tracklight.index.lens import Lens
from tracklight.plugin_base import Source
from tracklight.types import Digest, Float64, Point

How = Literal["last", "min", "max", "mean", "step"]
Key = tuple[str, str]

#: A value and its step; both NaN where there is none.
Read = tuple[float, float]
NOTHING: Read = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Reading:
    """``mean`` is that of ``count`` values at the end, ``step`` the last value up to that step."""

    how: How = "last"
    count: int = 10
    step: int = 0

    def __call__(self, curve: Curve) -> Read:
        """Of a whole curve, for those readings that need one."""
        rows = len(curve)
        if self.how == "step":
            rows = int(np.searchsorted(curve.step, self.step, side="right"))
        if not rows:
            return NOTHING
        first = max(0, rows - self.count) if self.how == "mean" else rows - 1
        return float(np.mean(curve.value[first:rows])), float(curve.step[rows - 1])


def make_reading(how: How, count: int, step: int) -> Reading:
    """Readings that do not look at a number are the same whatever it is."""
    return Reading(how, count if how == "mean" else 0, step if how == "step" else 0)


def read_values(log: Source, keys: Sequence[Key], reading: Reading) -> tuple[Float64, Float64]:
    """Values and steps of some series, each a run and a tag."""
    if reading.how == "last":
        found = [_from_point(point) for point in log.last_points(keys)]
    elif reading.how in ("min", "max"):
        found = [_from_digest(digest, reading.how) for digest in log.digests(keys)]
    else:
        found = _look(log, keys, reading)
    columns = np.array(found, np.float64).reshape(-1, 2)
    return columns[:, 0].copy(), columns[:, 1].copy()


def _from_point(point: Point | None) -> Read:
    return NOTHING if point is None else (point.value, float(point.step))


def _from_digest(digest: Digest | None, how: How) -> Read:
    """A curve without a finite value has a last one, so that it is not taken for missing."""
    if digest is None:
        return NOTHING
    return _from_point((digest.low if how == "min" else digest.high) or digest.last)


def _look(log: Source, keys: Sequence[Key], reading: Reading) -> list[Read]:
    try:
        return log.query(keys, Lens(), reading)
    except LogError:  # a run that has gone meanwhile
        return [_look_alone(log, key, reading) for key in keys]


def _look_alone(log: Source, key: Key, reading: Reading) -> Read:
    try:
        return log.query([key], Lens(), reading)[0]
    except LogError:
        return NOTHING
