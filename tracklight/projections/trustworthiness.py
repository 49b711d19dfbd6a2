"""How far the neighbours that a layout shows can be trusted, from 0 to 1."""

from __future__ import annotations

import numpy as np

from tracklight.errors import UsageError
from tracklight.projections.neighbours import Metric, NeighbourSearch
from tracklight.types import Float32

#: Of how many points the neighbours are compared, and among how many at most.
SAMPLE = 1000
_AMONG = 20_000


def measure_trust(
    vectors: Float32,
    layout: Float32,
    neighbours: int = 5,
    metric: Metric = "euclidean",
    sample: int = SAMPLE,
    seed: int = 0,
) -> float:
    """1 where all neighbours in the layout are neighbours among the vectors as well.

    Each that is not costs by how many others are nearer (Venna and Kaski, 2001). Of large sets
    only a sample is looked at.
    """
    count = len(vectors)
    if len(layout) != count or not 1 <= neighbours < count / 2:
        raise UsageError(f"{neighbours} neighbours cannot be compared among {count} points")
    order = np.random.default_rng(seed).permutation(count)
    if count > _AMONG:
        vectors, layout, count = vectors[order[:_AMONG]], layout[order[:_AMONG]], _AMONG
        order = np.arange(count)
    rows = np.sort(order[:sample])
    shown = NeighbourSearch(layout, "euclidean").find_of_rows(rows, neighbours).places
    original = NeighbourSearch(vectors, metric)
    ranks = [original.rank(row, places) for row, places in zip(rows, shown, strict=True)]
    cost = int(np.maximum(np.array(ranks) - neighbours, 0).sum())
    most = len(rows) * neighbours * (2 * count - 3 * neighbours - 1) / 2
    return 1 - cost / most
