"""Points that later ones took the place of, piece by piece."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracklight.index.curve import Curve
from tracklight.index.reduction import thin
from tracklight.types import Float64, Int64, Series

#: A program that was restarted more often than this is told of by its last restarts.
MOST_PIECES = 100


class Piece(NamedTuple):
    """What one stretch of a training logged before it was taken back."""

    x: Float64
    y: Float64


def find_faded(curve: Curve, most: int) -> tuple[Piece, ...]:
    """Pieces whose steps rise, on the curve's axis, with at most ``most`` points in all."""
    series = curve.series
    pieces = _split(series)[-MOST_PIECES:]
    share = max(2, most // max(1, len(pieces)))
    return tuple(_make_piece(curve, rows, share) for rows in pieces)


def _split(series: Series) -> list[Int64]:
    """Rows that were overwritten, split where they do not follow each other or steps fall."""
    rows = np.flatnonzero(series.overwritten)
    if not len(rows):
        return []
    apart = (np.diff(rows) > 1) | (np.diff(series.step[rows]) <= 0)
    return np.split(rows, np.flatnonzero(apart) + 1)


def _make_piece(curve: Curve, rows: Int64, most: int) -> Piece:
    series = curve.series
    value = series.value[rows].astype(np.float64)
    x = curve.axis(series.step[rows], series.wall_time[rows])
    kept = thin(value, most)
    return Piece(x[kept], value[kept])
