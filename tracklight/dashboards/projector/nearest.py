"""The neighbours of a point among vectors as they are, and not as a layout shows them."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.projector.answers import NeighboursAnswer
from tracklight.dashboards.projector.asks import NeighboursAsk
from tracklight.dashboards.projector.opened import Opened, read_bits
from tracklight.errors import UsageError
from tracklight.projections.nearest import find_nearest
from tracklight.types import Bool, Float64


def find_neighbours(opened: Opened, ask: NeighboursAsk) -> NeighboursAnswer:
    """The nearest of one row, or of the mean of some, none of which are among them."""
    asked = _read_asked(opened, ask)
    vectors = opened.take(None, ask.spherize)
    query: Float64 = vectors[asked].mean(axis=0, dtype=np.float64)
    among = opened.vectors.usable & ~asked
    if ask.within is not None:
        among = among & read_bits(ask.within, opened.rows)
    rows = np.flatnonzero(among).astype(np.int32)
    nearest, distances = find_nearest(vectors, query, ask.count, ask.metric, rows)
    return NeighboursAnswer(nearest, distances, exact=True)


def _read_asked(opened: Opened, ask: NeighboursAsk) -> Bool:
    asked = np.zeros(opened.rows, np.bool_)
    if ask.rows is not None:
        asked = read_bits(ask.rows, opened.rows)
    elif ask.row is not None and ask.row < opened.rows:
        asked[ask.row] = True
    asked &= opened.vectors.usable
    if not asked.any():
        raise UsageError("no point was chosen whose neighbours could be told")
    return asked
