"""The responses of the HParams dashboard that a static export contains."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from tracklight.analysis.experiments.metrics import Aggregation, ReductionKind
from tracklight.analysis.experiments.study import Study
from tracklight.dashboards.hparams.responses import (
    make_importance_response,
    make_sessions_response,
    make_sparklines_response,
)
from tracklight.dashboards.hparams.schemas import (
    ImportanceRequest,
    SessionsRequest,
    SparklinesRequest,
)
from tracklight.plugin import Context

_REDUCTIONS: tuple[ReductionKind, ...] = ("last", "min", "max")
_AGGREGATIONS: tuple[Aggregation, ...] = ("mean", "median", "min", "max")
#: Number of metrics with importance and sparklines.
_MAX_METRICS = 10


def iter_static_responses(context: Context, study: Study) -> Iterator[tuple[str, object]]:
    """Yield the URLs that the page requests and their responses; nothing without sessions."""
    for reduction in _REDUCTIONS:
        sessions = make_sessions_response(study, SessionsRequest(reduction=reduction))
        if not sessions.rows.names:
            return
        yield f"sessions?reduction={reduction}", sessions
    for aggregation in _AGGREGATIONS if sessions.repeats else ():
        request = SessionsRequest(aggregation=aggregation)
        yield (
            f"sessions?reduction=last&aggregation={aggregation}",
            make_sessions_response(study, request),
        )
    for metric in sessions.metrics[:_MAX_METRICS]:
        key = quote(metric.key, safe="")
        importance = make_importance_response(study, ImportanceRequest(metric=metric.key))
        yield f"importance?metric={key}&reduction=last", importance
        sparklines = make_sparklines_response(context, study, SparklinesRequest(metric.key))
        yield f"sparklines?metric={key}", sparklines
