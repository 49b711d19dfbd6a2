"""The responses of the HParams dashboard that a static export contains."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from tracklight.analysis.experiments.metrics import Aggregation, ReductionKind
from tracklight.analysis.experiments.session_store import SessionStore
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
#: Number of studies that can be selected.
_MAX_STUDIES = 20


def iter_static_responses(context: Context, store: SessionStore) -> Iterator[tuple[str, object]]:
    """Yield the URLs that the page requests and their responses; nothing without sessions."""
    sessions = make_sessions_response(store, SessionsRequest())
    if not sessions.rows.names:
        return
    names = [study.name for study in sessions.studies][:_MAX_STUDIES]
    for study in [None, *(names if len(sessions.studies) > 1 else ())]:
        yield from _iter_study_responses(store, study, bool(sessions.repeats))
    for metric in sessions.metrics[:_MAX_METRICS]:
        key = quote(metric.key, safe="")
        sparklines = make_sparklines_response(context, store, SparklinesRequest(metric.key))
        yield f"sparklines?metric={key}", sparklines


def _iter_study_responses(
    store: SessionStore, study: str | None, has_repeats: bool
) -> Iterator[tuple[str, object]]:
    suffix = "" if study is None else f"&study={quote(study, safe='')}"
    for reduction in _REDUCTIONS:
        request = SessionsRequest(reduction=reduction, study=study)
        sessions = make_sessions_response(store, request)
        yield f"sessions?reduction={reduction}{suffix}", sessions
    for aggregation in _AGGREGATIONS if has_repeats else ():
        request = SessionsRequest(aggregation=aggregation, study=study)
        response = make_sessions_response(store, request)
        yield f"sessions?reduction=last&aggregation={aggregation}{suffix}", response
    for metric in sessions.metrics[:_MAX_METRICS]:
        key = quote(metric.key, safe="")
        importance_request = ImportanceRequest(metric=metric.key, study=study)
        importance = make_importance_response(store, importance_request)
        yield f"importance?metric={key}&reduction=last{suffix}", importance
