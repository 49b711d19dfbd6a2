"""What a copy of a board knows of its sessions."""

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
#: Metrics that a copy explains and draws.
_MAX_METRICS = 10


def iter_static_responses(context: Context, study: Study) -> Iterator[tuple[str, object]]:
    """The answers that a page asks for, under the addresses at which it does."""
    for how in _REDUCTIONS:
        answer = make_sessions_response(study, SessionsRequest(how=how))
        if not answer.rows.names:
            return
        yield f"sessions?how={how}", answer
    for over in _AGGREGATIONS if answer.repeats else ():
        yield (
            f"sessions?how=last&over={over}",
            make_sessions_response(study, SessionsRequest(over=over)),
        )
    for metric in answer.metrics[:_MAX_METRICS]:
        name = quote(metric.key, safe="")
        yield (
            f"importance?metric={name}&how=last",
            make_importance_response(study, ImportanceRequest(metric=metric.key)),
        )
        yield (
            f"sparklines?metric={name}",
            make_sparklines_response(context, study, SparklinesRequest(metric.key)),
        )
