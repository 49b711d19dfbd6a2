"""Curves of a metric, small enough to stand in the cells of a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.hparams.answers import Sparkline, SparklinesAnswer
from tracklight.dashboards.hparams.asks import SparklinesAsk
from tracklight.errors import LogError
from tracklight.index.curve import Curve
from tracklight.index.lens import Lens
from tracklight.plugin import Context
from tracklight.sessions.metrics import Metric
from tracklight.sessions.study import Study
from tracklight.types import Float32, Int64

_MOST_LINES = 1000


@dataclass(frozen=True)
class Sketch:
    """Sees about so many points of a curve, of each stretch the lowest and the highest."""

    points: int

    def __call__(self, curve: Curve) -> tuple[Float32, Float32, int]:
        finite = np.flatnonzero(np.isfinite(curve.value))
        rows = finite if len(finite) <= self.points else self._choose(curve, finite)
        odd = len(curve) - len(finite)
        return curve.step[rows].astype(np.float32), curve.value[rows].astype(np.float32), odd

    def _choose(self, curve: Curve, finite: Int64) -> Int64:
        kept = [finite[0], finite[-1]]
        for stretch in np.array_split(finite, max(1, self.points // 2 - 1)):
            values = curve.value[stretch]
            kept += [stretch[np.argmin(values)], stretch[np.argmax(values)]]
        return np.unique(kept)


def sketch(context: Context, study: Study, ask: SparklinesAsk) -> SparklinesAnswer:
    """The curve of each session that has one."""
    state = study.get()
    metric = state.find_metric(ask.metric)
    if metric is None:
        return SparklinesAnswer([])
    names = ask.sessions
    if names is None:
        names = [session.name for session in state.sessions[:_MOST_LINES]]
    found = (_draw(context, metric, name, Sketch(ask.points)) for name in names)
    return SparklinesAnswer([line for line in found if line is not None])


def _draw(context: Context, metric: Metric, session: str, sketch: Sketch) -> Sparkline | None:
    run = metric.runs.get(session)
    if run is None:
        return None
    try:
        (seen,) = context.log.query([(run, metric.tag)], Lens(), sketch)
    except LogError:  # it has gone meanwhile
        return None
    return Sparkline(session, *seen)
