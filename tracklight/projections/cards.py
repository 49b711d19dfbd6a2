"""Neighbours and forces on a graphics card, by way of PyTorch where that is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from tracklight.projections.affinity import Affinities
from tracklight.projections.card_grid import find_grid, repel
from tracklight.projections.devices import Device
from tracklight.projections.neighbours import Metric, Neighbours
from tracklight.projections.work import Work
from tracklight.types import Float32, Float64

#: Numbers of a block: some hundred megabytes of the card's memory.
_BLOCK_NUMBERS = 1 << 26
#: Of more points of a plane a grid takes less time than all pairs.
_MOST_IN_PAIRS = 20_000


class Card:
    """A device of PyTorch."""

    def __init__(self, torch: Any, device: str) -> None:
        self._torch = torch
        self._device = device

    def find_neighbours(
        self, vectors: Float32, metric: Metric, count: int, work: Work
    ) -> Neighbours:
        """The neighbours of every vector; exact but for rounding in single precision."""
        torch = self._torch
        points = self.send(vectors)
        if metric == "euclidean":
            points = points - points.mean(dim=0)
        elif metric == "cosine":
            points = torch.nn.functional.normalize(points, dim=1)
        total = len(points)
        count = min(count, total - 1)
        found = Neighbours(np.empty((total, count), np.int32), np.empty((total, count), np.float32))
        size = max(_BLOCK_NUMBERS // total, 1)
        for start in range(0, total, size):
            work.step("looking for neighbours", start, total)
            end = min(start + size, total)
            near, places = self._find_nearest(points, start, end, metric, count)
            found.places[start:end] = places.cpu().numpy()
            found.distances[start:end] = near.cpu().numpy()
        return found

    def _find_nearest(
        self, points: Any, start: int, end: int, metric: Metric, count: int
    ) -> tuple[Any, Any]:
        torch = self._torch
        block = points[start:end]
        order = -(block @ points.T)
        if metric == "euclidean":
            order += points.square().sum(dim=1) / 2
        own = torch.arange(end - start, device=self._device)
        order[own, own + start] = torch.inf
        places = order.topk(count, dim=1, largest=False).indices
        chosen = points[places]
        if metric == "euclidean":
            near = (chosen - block[:, None]).square().sum(dim=2).sqrt()
        else:
            near = -(chosen * block[:, None]).sum(dim=2)
            near = (1 + near).clamp(min=0) if metric == "cosine" else near
        ranks = near.argsort(dim=1, stable=True)
        return near.gather(1, ranks), places.gather(1, ranks)

    def make_forces(self, affinities: Affinities) -> CardForces:
        return CardForces(self, self._torch, affinities)

    def send(self, array: Any) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


class CardForces:
    """What acts on points, as `forces.Forces` tells it."""

    def __init__(self, card: Card, torch: Any, affinities: Affinities) -> None:
        self._card = card
        self._torch = torch
        counts = np.diff(affinities.starts)
        self._mine = card.send(np.repeat(np.arange(len(counts)), counts))
        self._others = card.send(affinities.others.astype(np.int64))
        self._weights = card.send(affinities.weights)

    def close(self) -> None:
        """What is on the card goes with this."""

    def find_gradient(self, layout: Float64, exaggeration: float) -> Float64:
        """Where points would not go: the slope of what t-SNE makes small."""
        places = self._card.send(layout.astype(np.float32))
        drawn = self._attract(places)
        driven, total = self._repel(places)
        least = float(np.finfo(np.float32).tiny)
        gradient = 4 * (exaggeration * drawn - driven / max(total, least))
        slopes: Float64 = gradient.cpu().numpy().astype(np.float64)
        return slopes

    def _attract(self, places: Any) -> Any:
        apart = places[self._mine] - places[self._others]
        near = self._weights / (1 + apart.square().sum(dim=1))
        return self._torch.zeros_like(places).index_add_(0, self._mine, near[:, None] * apart)

    def _repel(self, places: Any) -> tuple[Any, float]:
        # A grid wants numbers of double precision, which Apple's cards do not have.
        is_large = len(places) > _MOST_IN_PAIRS and places.shape[1] == 2
        if is_large and places.device.type != "mps":
            wide = places.double()
            grid = find_grid(wide)
            if grid is not None:
                return repel(self._torch, wide, grid)
        return self._repel_pairs(places)

    def _repel_pairs(self, places: Any) -> tuple[Any, float]:
        """Every pair, some rows at a time: products of matrices do most of it."""
        squares = places.square().sum(dim=1)
        forces = self._torch.empty_like(places)
        totals = []
        size = max(_BLOCK_NUMBERS // len(places), 1)
        for start in range(0, len(places), size):
            rows = slice(start, start + size)
            near = self._torch.addmm(
                squares[rows, None] + squares, places[rows], places.T, alpha=-2
            )
            near.clamp_(min=0).add_(1).reciprocal_()
            totals.append(near.sum(dtype=self._torch.float32))
            near.square_()
            forces[rows] = places[rows] * near.sum(dim=1, keepdim=True) - near @ places
        return forces, float(sum(totals)) - len(places)


def find_card(device: Device) -> Card | None:
    """The card, if PyTorch can be loaded and sees it."""
    if device == "cpu":
        return None
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):  # an installation that is broken does not keep us from working
        return None
    backend = torch.cuda if device == "cuda" else torch.backends.mps
    return Card(torch, device) if backend.is_available() else None
