"""Overview, input analysis and comparison of captures, and the hosts of a capture side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from tracklight.analysis.profiles.findings import parse_thresholds
from tracklight.analysis.profiles.findings.input_pipeline import (
    InputAnalysis,
    analyze_input,
    explain_no_input,
)
from tracklight.analysis.profiles.findings.summary import (
    ComparedCapture,
    Comparison,
    ProfileSummary,
    compare_captures,
    is_same_program,
    summarize_analysis,
)
from tracklight.analysis.profiles.steps import StepPart
from tracklight.analysis.profiles.trace import PS_PER_MS
from tracklight.analysis.source import Sentence
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    HostsResponse,
    HostStepRow,
    PartColumns,
    SameProgramResponse,
    StepRange,
    StepsResponse,
    has_version,
    make_baseline_request,
)
from tracklight.dashboards.profile.store import (
    CaptureStore,
    EmptyReason,
    LoadedCapture,
    Tool,
    explain_empty,
    make_tool,
)
from tracklight.errors import TracklightError, UsageError
from tracklight.plugin import Context, Route
from tracklight.types import MEMORY_KINDS

#: A static export contains comparisons with this many other captures.
_MAX_STATIC_BASELINES = 4


# --- Overview and steps --------------------------------------------------------------------------


def get_overview(
    store: CaptureStore, request: CaptureRequest, as_task: bool = False
) -> ProfileSummary:
    compute = partial(_summarize, request)
    return store.get_or_compute(request, "overview", ProfileSummary, compute, as_task)


def _summarize(request: CaptureRequest, capture: LoadedCapture) -> ProfileSummary:
    return summarize_analysis(
        capture.trace,
        capture.analyze_steps(request.marker, request.rules),
        capture.get_op_stats(request.rules),
        parse_thresholds(request.thresholds),
    )


def get_steps_response(store: CaptureStore, request: CaptureRequest) -> StepsResponse:
    def compute(capture: LoadedCapture) -> StepsResponse:
        analysis = capture.analyze_steps(request.marker, request.rules)
        steps, breakdown = analysis.steps, analysis.breakdown
        start, stop, _ = analysis.averaged_slice.indices(len(steps.names))
        return StepsResponse(
            names=list(steps.names),
            start_ms=steps.spans[:, 0] / PS_PER_MS,
            total_ms=breakdown.total_ps / PS_PER_MS,
            parts=[
                PartColumns(
                    name=part.name.lower(),
                    label=Sentence.make(part.label),
                    exclusive_ms=breakdown.exclusive_ps[:, part] / PS_PER_MS,
                    inclusive_ms=breakdown.inclusive_ps[:, part] / PS_PER_MS,
                )
                for part in StepPart
            ],
            other_ms=breakdown.other_ps / PS_PER_MS,
            averaged=StepRange(start, stop),
        )

    return store.get_or_compute(request, "steps", StepsResponse, compute)


def _make_overview_routes(store: CaptureStore) -> Sequence[Route]:
    def overview(request: CaptureRequest) -> ProfileSummary:
        """Return the overview of a capture: steps, where their time went, and findings."""
        return get_overview(store, request)

    def steps(request: CaptureRequest) -> StepsResponse:
        """Return what the time of every step went into."""
        return get_steps_response(store, request)

    return [
        Route("overview", CaptureRequest, overview, "GET", immutable=has_version),
        Route("steps", CaptureRequest, steps, "GET", immutable=has_version),
    ]


def _iter_overview_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    yield f"overview?capture={request.capture}", get_overview(store, request)
    yield f"steps?capture={request.capture}", get_steps_response(store, request)


OVERVIEW_TOOL = Tool("overview", _make_overview_routes, explain_empty, _iter_overview_static)


# --- Hosts ---------------------------------------------------------------------------------------


def get_hosts_response(
    context: Context, store: CaptureStore, request: CaptureRequest
) -> HostsResponse:
    """Return the average step of every host of a capture, as the slowest one delays the others."""
    return HostsResponse(list(_iter_host_rows(context, store, request)))


def _iter_host_rows(
    context: Context, store: CaptureStore, request: CaptureRequest
) -> Iterator[HostStepRow]:
    def summarize(host: str) -> ProfileSummary:
        host_request = CaptureRequest(request.capture, host, request.marker, request.rules)
        return get_overview(store, host_request, as_task=True)

    for host, summary in store.map_hosts(request.capture, summarize):
        if isinstance(summary, Exception):
            yield HostStepRow(host, None, {}, context.describe_error(summary))
            continue
        parts_ms = {part.name: part.ms for part in summary.parts}
        yield HostStepRow(host, summary.steps.mean_ms, parts_ms, None)


# --- Input analysis ------------------------------------------------------------------------------


def get_input_analysis(store: CaptureStore, request: CaptureRequest) -> InputAnalysis:
    """Return how long the program waited for input, stage by stage."""

    def compute(capture: LoadedCapture) -> InputAnalysis:
        analysis = capture.analyze_steps(request.marker, request.rules)
        findings = get_overview(store, request).findings
        return analyze_input(capture.trace, analysis, capture.framework, findings)

    return store.get_or_compute(request, "input", InputAnalysis, compute)


def _explain_no_input(capture: LoadedCapture) -> EmptyReason | None:
    if (empty := explain_empty(capture)) is not None:
        return empty
    message = explain_no_input(capture.trace, capture.analyze_steps(), capture.framework)
    return EmptyReason(message) if message else None


INPUT_TOOL = make_tool("input", CaptureRequest, get_input_analysis, _explain_no_input)


# --- Comparison ----------------------------------------------------------------------------------


def get_comparison(store: CaptureStore, request: CaptureRequest) -> Comparison:
    """Compare a capture with the one that the request names as ``baseline``.

    Raises:
        UsageError: The request names no other capture.
    """
    baseline = _get_baseline_request(request)
    return compare_captures(_get_compared(store, baseline), _get_compared(store, request))


def get_same_program_response(store: CaptureStore, request: CaptureRequest) -> SameProgramResponse:
    """Return whether a capture and its baseline are of the same program.

    Raises:
        UsageError: The request names no other capture.
    """
    requests = (_get_baseline_request(request), request)
    before, after = (store.load(each).get_op_stats() for each in requests)
    return SameProgramResponse(is_same_program(before, after))


def _get_baseline_request(request: CaptureRequest) -> CaptureRequest:
    if not request.baseline:
        raise UsageError(
            "profile.no_baseline", 'There is nothing to compare with. Pass a capture id as "before"'
        )
    return make_baseline_request(request)


def _get_compared(store: CaptureStore, request: CaptureRequest) -> ComparedCapture:
    op_stats = store.load(request).get_op_stats(request.rules)
    return ComparedCapture(get_overview(store, request), op_stats)


def _make_compare_routes(store: CaptureStore) -> Sequence[Route]:
    def comparison(request: CaptureRequest) -> Comparison:
        """Return what changed since another capture: parts of a step, ops and findings."""
        return get_comparison(store, request)

    def same_program(request: CaptureRequest) -> SameProgramResponse:
        """Return whether another capture is of the same program."""
        return get_same_program_response(store, request)

    return [
        Route("compare", CaptureRequest, comparison, "GET"),
        Route("compare/same-program", CaptureRequest, same_program, "GET"),
    ]


def _iter_compare_static(
    store: CaptureStore, request: CaptureRequest
) -> Iterator[tuple[str, object]]:
    rows = store.listing.list_captures().captures
    others = [row.id for row in rows if row.id != request.capture and row.kind not in MEMORY_KINDS]
    for before in others[:_MAX_STATIC_BASELINES]:
        with suppress(TracklightError, OSError):
            comparison = get_comparison(store, CaptureRequest(request.capture, baseline=before))
            yield f"compare?capture={request.capture}&baseline={before}", comparison


COMPARE_TOOL = Tool("compare", _make_compare_routes, explain_empty, _iter_compare_static)
