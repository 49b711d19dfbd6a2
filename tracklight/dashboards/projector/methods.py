"""How each method makes a layout of what it is given."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from tracklight.dashboards.projector.asks import Axis, Custom, End, Method, Pca, Tsne, Umap
from tracklight.dashboards.projector.ground import Ground
from tracklight.dashboards.projector.opened import Opened, read_bits
from tracklight.dashboards.projector.searching import Searcher
from tracklight.errors import UsageError
from tracklight.projections import tsne, umap
from tracklight.projections.cards import Card, find_card
from tracklight.projections.graph import MOST_EXACT
from tracklight.projections.jobs import Compute
from tracklight.projections.pca import find_components
from tracklight.projections.work import Work
from tracklight.types import Bool, Float32, Float64

_APPROXIMATE = "components of so many long vectors are found by iteration, and not quite exact"
_BY_CELLS = "of so many points nearly all neighbours are found, and not every one"


def choose_compute(ground: Ground, method: Method, seed: int, searcher: Searcher) -> Compute:
    """What a job is to do; raises UsageError where nothing can come of it."""
    if isinstance(method, Pca):
        return _make_pca(ground, method, seed)
    if isinstance(method, Custom):
        return _make_custom(ground, method, searcher)
    return _make_iterated(ground, method, seed)


def _make_pca(ground: Ground, method: Pca, seed: int) -> Compute:
    if ground.count < 2:
        raise UsageError(f"{ground.count} points have no components; choose more of them")

    def compute(work: Work) -> Float32:
        vectors = ground.take()
        work.step("finding components", 0, 2)
        # Along the directions of the other step it is seen what moved; along its own, little is.
        basis = ground.target.vectors if ground.target else None
        if basis is not None and basis.shape[1] != vectors.shape[1]:
            basis = None
        found = find_components(vectors if basis is None else basis, method.components, seed)
        ground.plan.explained = found.explained.tolist()
        ground.plan.is_exact = found.is_exact
        ground.plan.notes = [] if found.is_exact else [_APPROXIMATE]
        work.step("projecting", 1, 2)
        places = found.project(vectors)
        return ground.turn(places) if basis is None else places

    return compute


def _make_iterated(ground: Ground, method: Tsne | Umap, seed: int) -> Compute:
    settings, make_layout = _choose_settings(method, seed)
    settings.check(ground.count)
    labels = ground.find_labels(method.supervise)

    def compute(work: Work) -> Float32:
        near, card = ground.find_near(method.dimensions), _find_card(ground)
        shown = ground.turn_shown(work)
        layout = make_layout(ground.take(), settings, labels, shown, near=near, card=card)
        return ground.turn(layout)

    return compute


def _choose_settings(
    method: Tsne | Umap, seed: int
) -> tuple[tsne.Settings | umap.Settings, Callable[..., Float32]]:
    """The settings of a method go by the names that they are asked by."""
    fields = msgspec.structs.asdict(method)
    if fields.pop("supervise") is None:
        fields["pull"] = 0.0
    if isinstance(method, Tsne):
        return tsne.Settings(**fields, seed=seed), tsne.make_layout
    return umap.Settings(**fields, seed=seed), umap.make_layout


def _find_card(ground: Ground) -> Card | None:
    """The card that a layout is to be made on; it is told where there is none after all."""
    card = find_card(ground.plan.device)
    if card is None:
        ground.plan.device = "cpu"
        if ground.count > MOST_EXACT:
            ground.plan.is_exact = False
            ground.plan.notes = [_BY_CELLS]
    return card


def _make_custom(ground: Ground, method: Custom, searcher: Searcher) -> Compute:
    opened = ground.opened
    directions = [_find_direction(ground, axis, searcher) for axis in method.axes]

    def compute(work: Work) -> Float32:
        work.step("projecting", 0, 1)
        vectors = opened.take(ground.plan.rows, ground.plan.spherize)
        return (vectors @ np.stack(directions, axis=1)).astype(np.float32)

    return compute


def _find_direction(ground: Ground, axis: Axis, searcher: Searcher) -> Float64:
    """From the middle of some points to that of others, of length 1."""
    start, end = (_find_mean(ground.opened, end, searcher) for end in (axis.start, axis.end))
    apart = end - start
    length = float(np.linalg.norm(apart))
    if not length:
        raise UsageError("an axis begins where it ends; choose other points for one of the two")
    return apart / length


def _find_mean(opened: Opened, end: End, searcher: Searcher) -> Float64:
    usable = opened.vectors.usable
    if end.rows is not None:
        chosen: Bool = read_bits(end.rows, opened.rows) & usable
    else:
        chosen = searcher.find(opened, end.query, end.regex, end.column) & usable
    if not chosen.any():
        raise UsageError(f'"{end.query}" finds no point; an axis has to begin and end at some')
    mean: Float64 = opened.vectors.values[chosen].mean(axis=0, dtype=np.float64)
    return mean
