"""t-SNE: a layout in which neighbours stay neighbours (van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError
from tracklight.projections.affinity import find_affinities
from tracklight.projections.cards import Card, CardForces
from tracklight.projections.forces import Forces
from tracklight.projections.graph import check_pairs, find_graph
from tracklight.projections.neighbours import Metric
from tracklight.projections.start import find_start
from tracklight.projections.work import Work
from tracklight.types import Float32, Float64

#: Clusters first form while neighbours pull this much harder.
_EARLY_ITERATIONS = 250
_START_SPREAD = 3e-4
_LEAST_GAIN = 0.01
_SHOW_EVERY = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """How a layout is made; the same settings and vectors always make the same one."""

    dimensions: int = 2
    perplexity: float = 30.0
    """About how many neighbours a point cares for."""
    iterations: int = 750
    early_exaggeration: float = 12.0
    learning_rate: float | None = None
    """By default as fits the number of points."""
    metric: Metric = "euclidean"
    pull: float = 0.0
    """How much unlike labels count against neighbours, from 0 to 1."""
    seed: int = 0

    def check(self, count: int) -> None:
        """Raise UsageError where nothing can be made of these for so many points."""
        if self.dimensions not in (2, 3):
            raise UsageError(f"a layout has 2 or 3 dimensions, not {self.dimensions}")
        if not 1 < self.perplexity <= 500:
            raise UsageError(f"a perplexity is more than 1 and at most 500, not {self.perplexity}")
        if not 1 <= self.iterations <= 100_000:
            raise UsageError(f"{self.iterations} iterations are not from 1 to 100000")
        if self.early_exaggeration < 1 or (self.learning_rate or 1) <= 0:
            raise UsageError("an exaggeration is at least 1, and a learning rate more than 0")
        if not 0 <= self.pull <= 1:
            raise UsageError(f"labels pull from 0 to 1, not {self.pull}")
        if count < 3:
            raise UsageError(f"{count} points have no neighbours to choose from")
        check_pairs(count, int(3 * min(self.perplexity, count / 3)))


def make_layout(
    vectors: Float32,
    settings: Settings | None = None,
    labels: NDArray[Any] | None = None,
    work: Work | None = None,
    near: Float32 | None = None,
    card: Card | None = None,
) -> Float32:
    """Places in the plane, or in space, for all vectors, from ``near`` on if that is given."""
    settings = settings or Settings()
    work = work or Work()
    settings.check(len(vectors))
    # More neighbours than a perplexity allows are of no weight; with fewer, it cannot be reached.
    perplexity = min(settings.perplexity, (len(vectors) - 1) / 3)
    count = max(int(3 * perplexity), 2)
    neighbours = find_graph(vectors, settings.metric, count, work, card)
    affinities = find_affinities(neighbours, max(perplexity, 1.01), labels, settings.pull)
    start = find_start(vectors, settings.dimensions, _START_SPREAD, settings.seed, near)
    forces = Forces(affinities) if card is None else card.make_forces(affinities)
    with closing(forces):
        return _descend(start, forces, settings, work)


def _descend(
    layout: Float64, forces: Forces | CardForces, settings: Settings, work: Work
) -> Float32:
    speed, gains = np.zeros_like(layout), np.ones_like(layout)
    early = min(_EARLY_ITERATIONS, settings.iterations // 2)
    for iteration in range(settings.iterations):
        is_early = iteration < early
        exaggeration = settings.early_exaggeration if is_early else 1.0
        # Descends by as much as the usual n / 12, written for a gradient without its 4.
        rate = settings.learning_rate or max(len(layout) / exaggeration / 4, 50.0)
        gradient = forces.find_gradient(layout, exaggeration)
        is_turned = (gradient > 0) == (speed > 0)
        gains = np.maximum(np.where(is_turned, gains * 0.8, gains + 0.2), _LEAST_GAIN)
        speed = (0.5 if is_early else 0.8) * speed - rate * gains * gradient
        layout += speed
        layout -= layout.mean(axis=0)
        work.step("moving points", iteration + 1, settings.iterations)
        if iteration % _SHOW_EVERY == 0:
            work.show(layout.astype(np.float32))
    return layout.astype(np.float32)
