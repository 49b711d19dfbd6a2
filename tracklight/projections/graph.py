"""Who is near whom among all vectors: exactly, on a card, or where there are too many by cells."""

from __future__ import annotations

from tracklight.errors import UsageError
from tracklight.projections.cards import Card
from tracklight.projections.cells import find_roughly
from tracklight.projections.neighbours import Metric, Neighbours, NeighbourSearch
from tracklight.projections.work import Work
from tracklight.types import Float32

#: Of more vectors it takes many times as long to compare all pairs.
MOST_EXACT = 30_000
#: Pairs of neighbours that fit into some gigabytes.
_MOST_PAIRS = 30_000_000


def check_pairs(count: int, neighbours: int) -> None:
    """Raise UsageError where so many neighbours of so many points would fill the memory."""
    if count * neighbours > _MOST_PAIRS:
        raise UsageError(
            f"{neighbours} neighbours of {count} points are too many to be held; choose at most "
            f"{_MOST_PAIRS // neighbours} points, or settings with fewer neighbours"
        )


def find_graph(
    vectors: Float32, metric: Metric, count: int, work: Work, card: Card | None = None
) -> Neighbours:
    """The neighbours of every vector, which are exact up to `MOST_EXACT` of them or on a card."""
    if card is not None:
        return card.find_neighbours(vectors, metric, count, work)
    # What is near by products need not be in one place, so that cells are of no help.
    if len(vectors) > MOST_EXACT and metric != "dot":
        return find_roughly(vectors, metric, count, work)
    return NeighbourSearch(vectors, metric).find_all(count, work)
