"""Layouts of embeddings as jobs: started, told of while they run, and judged."""

from __future__ import annotations

import numpy as np

from tracklight.dashboards.projector.answers import JobRow, LayoutAnswer, QualityAnswer
from tracklight.dashboards.projector.asks import (
    Custom,
    LayoutAsk,
    Method,
    ProjectAsk,
    QualityAsk,
    Tsne,
    Umap,
)
from tracklight.dashboards.projector.desk import Desk, Plan, tell
from tracklight.dashboards.projector.ground import Ground, find_target
from tracklight.dashboards.projector.library import Library
from tracklight.dashboards.projector.methods import choose_compute
from tracklight.dashboards.projector.searching import Searcher
from tracklight.errors import UsageError
from tracklight.projections.devices import list_devices
from tracklight.projections.jobs import make_key
from tracklight.projections.trustworthiness import SAMPLE, measure_trust
from tracklight.types import Float32

_NEIGHBOURS = 5
_WELL, _FAIRLY = 0.95, 0.85


class Projector:
    """Starts layouts and tells of them."""

    def __init__(self, library: Library, desk: Desk, searcher: Searcher) -> None:
        self._library = library
        self._desk = desk
        self._searcher = searcher

    def start(self, ask: ProjectAsk) -> JobRow:
        found = self._library.find(ask)
        opened = self._library.open(found)
        method = ask.method
        # The others are sooner made again than kept.
        takes_long = isinstance(method, Tsne | Umap)
        metric = method.metric if isinstance(method, Tsne | Umap) else "euclidean"
        plan = Plan(found, opened.choose(ask.rows), ask.spherize, metric, is_loose=takes_long)
        if takes_long and ask.device == "auto":
            plan.device = list_devices()[-1]
        target = None
        if ask.align is not None:
            align = ask.align, ask.align_by
            target = find_target(self._library, self._desk, opened, plan, align)
        ground = Ground(opened, plan, target)
        compute = choose_compute(ground, method, ask.seed, self._searcher)
        made_of = found.mark, method, ask.rows, ask.spherize, ask.seed, plan.device
        aligned = ask.align, ask.align and ask.align_by
        key = make_key(*made_of, *aligned, opened.revision if _reads_labels(method) else 0)
        return self._desk.start(key, plan, compute, is_kept=takes_long)

    def tell(self, ask: LayoutAsk) -> LayoutAnswer:
        job, plan = self._desk.get(ask.job)
        row = tell(job, plan)
        layout = job.result
        places: list[Float32] = []
        if layout is not None and row.frame != ask.seen:
            places = [layout[:, axis] for axis in ask.axes if axis < layout.shape[1]]
        return LayoutAnswer(row, plan.rows, places, plan.explained, plan.is_exact, plan.notes)

    def judge(self, ask: QualityAsk) -> QualityAnswer:
        layout, plan = self._desk.get_layout(ask.job)
        vectors = self._library.open(plan.found).take(plan.rows, plan.spherize)
        count = len(vectors)
        neighbours = min(_NEIGHBOURS, (count - 1) // 2)
        if neighbours < 1:
            raise UsageError(f"{count} points have too few neighbours to be compared")
        axes = [axis for axis in ask.axes if axis < layout.shape[1]] or [0]
        shown = np.ascontiguousarray(layout[:, axes])
        trust = measure_trust(vectors, shown, neighbours, plan.metric)
        sentence = _judge(trust, plan.is_loose)
        return QualityAnswer(trust, count, min(count, SAMPLE), neighbours, sentence)


def _reads_labels(method: Method) -> bool:
    return isinstance(method, Custom) or bool(isinstance(method, Tsne | Umap) and method.supervise)


def _judge(trust: float, is_loose: bool) -> str:
    if trust >= _WELL:
        sentence = "Points that are close here are close in the data."
    elif trust >= _FAIRLY:
        sentence = "Most points that are close here are close in the data, some are not."
    else:
        sentence = "Many points that are close here are far apart in the data."
    if is_loose:
        sentence += " How large groups are, and how far apart, says little."
    return sentence
