"""The overview of a capture, and its steps one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tracklight.analysis.media.values import has_fingerprint
from tracklight.analysis.profiles.comparison import ComparedCapture, Comparison, compare_captures
from tracklight.analysis.profiles.findings import parse_thresholds
from tracklight.analysis.profiles.input_pipeline import (
    InputAnalysis,
    analyze_input,
    explain_no_input,
)
from tracklight.analysis.profiles.steps import StepPart
from tracklight.analysis.profiles.summary import ProfileSummary, summarize_analysis
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    HostsResponse,
    HostStepRow,
    PartColumns,
    StepsResponse,
    make_baseline_request,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
    get_op_stats,
)
from tracklight.errors import TracklightError, UsageError
from tracklight.plugin import Context, Route
from tracklight.types import Float64, Int64

_PS_PER_MS = 1e9


def get_overview(store: CaptureStore, ask: CaptureRequest) -> ProfileSummary:
    def make(opened: LoadedCapture) -> ProfileSummary:
        division = opened.analyze_steps(ask.marker, ask.rules)
        thresholds = parse_thresholds(ask.thresholds)
        return summarize_analysis(
            opened.trace, division, get_op_stats(opened, ask.rules), thresholds
        )

    return store.get_or_compute(ask, "overview", ProfileSummary, make)


def get_steps_response(store: CaptureStore, ask: CaptureRequest) -> StepsResponse:
    return store.get_or_compute(
        ask, "steps", StepsResponse, lambda opened: _make_steps_response(opened, ask)
    )


def _make_steps_response(opened: LoadedCapture, ask: CaptureRequest) -> StepsResponse:
    steps, parts, *_, inner = opened.analyze_steps(ask.marker, ask.rules)
    count = len(steps.names)
    return StepsResponse(
        names=list(steps.names),
        start_ms=_ps_to_ms(steps.spans[:, 0]),
        total_ms=_ps_to_ms(parts.total_ps),
        parts=[
            PartColumns(
                part.name.lower(),
                part.label,
                _ps_to_ms(parts.exclusive_ps[:, part]),
                _ps_to_ms(parts.inclusive_ps[:, part]),
            )
            for part in StepPart
        ],
        other=_ps_to_ms(parts.other_ps),
        averaged=inner.indices(count)[:2],
    )


def _ps_to_ms(ps: Int64) -> Float64:
    return ps / _PS_PER_MS


def _make_overview_routes(store: CaptureStore) -> Sequence[Route]:
    def overview(ask: CaptureRequest) -> ProfileSummary:
        """A capture at a glance: its steps, what their time went into, and what to do about it."""
        return get_overview(store, ask)

    def steps(ask: CaptureRequest) -> StepsResponse:
        """What the time of every step went into."""
        return get_steps_response(store, ask)

    return [
        Route("overview", CaptureRequest, overview, "GET", immutable=has_fingerprint),
        Route("steps", CaptureRequest, steps, "GET", immutable=has_fingerprint),
    ]


def _iter_overview_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    yield f"overview?capture={ask.capture}", get_overview(store, ask)
    yield f"steps?capture={ask.capture}", get_steps_response(store, ask)


OVERVIEW_TOOL = Tool(
    "overview", "Overview", _make_overview_routes, explain_empty, _iter_overview_static
)


# Two captures side by side.

_MAX_STATIC_BASELINES = 4


def get_comparison(store: CaptureStore, ask: CaptureRequest) -> Comparison:
    if not ask.before:
        raise UsageError("there is nothing to compare with: name another capture as before")
    return compare_captures(
        _get_compared(store, make_baseline_request(ask)), _get_compared(store, ask)
    )


def _get_compared(store: CaptureStore, ask: CaptureRequest) -> ComparedCapture:
    return ComparedCapture(get_overview(store, ask), get_op_stats(store.load(ask), ask.rules))


def _make_compare_routes(store: CaptureStore) -> Sequence[Route]:
    def answer(ask: CaptureRequest) -> Comparison:
        """What became of the parts of a step, of ops and of findings since another capture."""
        return get_comparison(store, ask)

    return [Route("compare", CaptureRequest, answer, "GET")]


def _iter_compare_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    """With some others that have a trace as well; of all there would be too many."""
    rows = store.listing.list_captures().captures
    others = [row.id for row in rows if row.id != ask.capture and row.kind != "pprof"]
    for before in others[:_MAX_STATIC_BASELINES]:
        with suppress(TracklightError, OSError):
            told = get_comparison(store, CaptureRequest(ask.capture, before=before))
            yield f"compare?capture={ask.capture}&before={before}", told


COMPARE_TOOL = Tool("compare", "Compare", _make_compare_routes, explain_empty, _iter_compare_static)


# Input analysis: what a program waits for when it waits for its next batch.


def get_input_analysis(store: CaptureStore, ask: CaptureRequest) -> InputAnalysis:
    """What a program waited for when it waited for its input, stage by stage."""

    def make(opened: LoadedCapture) -> InputAnalysis:
        division = opened.analyze_steps(ask.marker, ask.rules)
        findings = get_overview(store, ask).findings
        return analyze_input(opened.trace, division, opened.framework, findings)

    return store.get_or_compute(ask, "input", InputAnalysis, make)


def _explain_no_input(opened: LoadedCapture) -> EmptyReason | None:
    if (empty := explain_empty(opened)) is not None:
        return empty
    why = explain_no_input(opened.trace, opened.analyze_steps(), opened.framework)
    return EmptyReason(why) if why else None


def _make_input_routes(store: CaptureStore) -> Sequence[Route]:
    def answer(ask: CaptureRequest) -> InputAnalysis:
        """What a program waited for when it waited for its input, stage by stage."""
        return get_input_analysis(store, ask)

    return [Route("input", CaptureRequest, answer, "GET", immutable=has_fingerprint)]


def _iter_input_static(store: CaptureStore, ask: CaptureRequest) -> Iterator[tuple[str, object]]:
    yield f"input?capture={ask.capture}", get_input_analysis(store, ask)


INPUT_TOOL = Tool("input", "Input", _make_input_routes, _explain_no_input, _iter_input_static)


# The hosts of one capture beside one another, as the slowest makes all others wait.


def get_hosts_response(context: Context, store: CaptureStore, ask: CaptureRequest) -> HostsResponse:
    return HostsResponse(list(_iter_host_rows(context, store, ask)))


def _iter_host_rows(
    context: Context, store: CaptureStore, ask: CaptureRequest
) -> Iterator[HostStepRow]:
    for file in store.listing.get_files(ask.capture):
        one = CaptureRequest(ask.capture, file.host, ask.marker, ask.rules)
        try:
            told = get_overview(store, one)
        except (TracklightError, OSError) as error:
            yield HostStepRow(file.host, None, {}, context.describe_error(error))
            continue
        parts = {part.name: part.ms for part in told.parts}
        yield HostStepRow(file.host, told.steps.mean_ms, parts, None)
