"""Findings, their thresholds and their evidence in small traces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.analysis.profiles.trace_builder import DEVICE, EventSpec, make_trace
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.findings.summary import summarize

STEPS = 3
STEP_US = 1000.0


def iter_steps(*events: EventSpec) -> Iterator[EventSpec]:
    """Yield three steps of a millisecond with the same events in each."""
    for number in range(STEPS):
        start = number * STEP_US
        yield EventSpec(0, "train", start, start + STEP_US, {"_r": 1, "step_num": number})
        for event in events:
            yield event._replace(start_us=start + event.start_us, end_us=start + event.end_us)


def get_findings(*events: EventSpec) -> dict[str, Finding]:
    return {
        finding.name: finding for finding in summarize(make_trace(*iter_steps(*events))).findings
    }


def busy(until_us: float = STEP_US) -> EventSpec:
    """Make an event that fills a step, so that no time is unrecorded."""
    return EventSpec(1, "work", 0, until_us)


@pytest.mark.parametrize(
    ("name", "event", "below_us", "above_us"),
    [
        ("input", EventSpec(0, "IteratorGetNext", 0, 0), 49, 51),
        ("compilation", EventSpec(0, "XlaCompile", 0, 0), 49, 51),
        ("copies", EventSpec(DEVICE, "MemcpyH2D", 0, 0), 49, 51),
        ("collectives", EventSpec(DEVICE, "ncclDevKernel_AllReduce", 0, 0), 149, 151),
        ("kernel launch", EventSpec(0, "cuLaunchKernel", 0, 0, {"correlation_id": 1}), 149, 151),
    ],
)
def test_part_is_reported_from_its_threshold(
    name: str, event: EventSpec, below_us: float, above_us: float
) -> None:
    # Launches only count if a device is used.
    kernel = EventSpec(DEVICE, "void kernel<float>()", 990, 991)
    assert name not in get_findings(busy(), kernel, event._replace(end_us=below_us))
    finding = get_findings(busy(), kernel, event._replace(end_us=above_us))[name]
    assert finding.savings_ms == pytest.approx(above_us / 1000)
    assert finding.share == pytest.approx(above_us / STEP_US)
    assert finding.events == STEPS
    assert {row.name for row in finding.evidence} == {event.name}
    assert finding.advice and finding.title and finding.threshold


def test_reports_device_waiting_for_host() -> None:
    kernel = EventSpec(DEVICE, "void kernel<half>()", 500, 1000)
    finding = get_findings(busy(), kernel)["host"]
    assert finding.share == pytest.approx(0.5)
    assert "host" not in get_findings(busy())  # no device that could wait
    assert "host" not in get_findings(busy(), kernel._replace(start_us=150))


def test_findings_are_sorted_by_savings() -> None:
    findings = get_findings(
        busy(), EventSpec(0, "IteratorGetNext", 0, 100), EventSpec(2, "XlaCompile", 200, 500)
    )
    assert list(findings) == ["compilation", "input"]


def test_reports_retracing() -> None:
    call = EventSpec(2, "step", 0, 60, {"tf_function_call": "traced-nonXla"})
    assert get_findings(busy(), call)["retracing"].events == STEPS
    assert "retracing" not in get_findings(
        busy(), call._replace(args={"tf_function_call": "concrete"})
    )


def test_reports_eager_ops() -> None:
    call = EventSpec(2, "EagerExecute", 0, 110, {"is_func": 0})
    assert get_findings(busy(), call)["eager"].savings_ms == pytest.approx(0.11)
    assert "eager" not in get_findings(busy(), call._replace(args={"is_func": 1}))


def test_reports_small_kernels() -> None:
    """Of each 15 µs, 10 µs are between two kernels."""
    kernels = [EventSpec(DEVICE, "void add<half>()", at, at + 5) for at in range(0, 900, 15)]
    finding = get_findings(busy(), *kernels)["small kernels"]
    assert finding.savings_ms == pytest.approx(0.59, abs=0.001)
    long = [EventSpec(DEVICE, "void add<half>()", at, at + 14) for at in range(0, 900, 15)]
    assert "small kernels" not in get_findings(busy(), *long)


def test_reports_gaps_without_events() -> None:
    """The evidence is the longest gap, named after the event before it."""
    finding = get_findings(busy(400), EventSpec(2, "more", 700, 1000))["other"]
    assert finding.savings_ms == pytest.approx(0.3)
    longest = finding.evidence[0]
    assert (longest.is_gap, longest.name) == (True, "work")
    assert longest.duration_ps == 300_000_000
    assert longest.start_ps % 1_000_000_000 == 400_000_000
    assert finding.query == ""


def test_evidence_span_is_the_step_of_the_longest_event() -> None:
    events = list(iter_steps(busy(), EventSpec(0, "IteratorGetNext", 0, 100)))
    events.append(EventSpec(3, "IteratorGetNext", 1000, 1900))
    findings = summarize(make_trace(*events)).findings
    (finding,) = (finding for finding in findings if finding.name == "input")
    assert finding.evidence[0].duration_ps == 900_000_000
    assert (finding.start_ps, finding.end_ps) == (1_000_000_000, 2_000_000_000)
    assert finding.query == '"IteratorGetNext"'


def test_overlapping_markers_are_separate_steps() -> None:
    marks = [EventSpec(0, "train", at, at + 1010, {"_r": 1}) for at in (0, 1000, 2000)]
    summary = summarize(make_trace(*marks, EventSpec(1, "train", 100, 200, {"_r": 1})))
    assert summary.steps.count == 3
    assert summary.steps.min_ms == pytest.approx(1.0)


def test_measures_overlap_of_host_and_device() -> None:
    summary = summarize(
        make_trace(
            *iter_steps(
                EventSpec(1, "a/MatMul:MatMul", 0, 300),
                EventSpec(1, "cuStreamSynchronize", 300, 900),
                EventSpec(DEVICE, "void kernel<float>()", 200, 900),
            )
        )
    )
    overlap = summary.overlap
    assert overlap is not None
    assert (overlap.host_ms, overlap.device_ms) == pytest.approx((0.3, 0.7))
    assert (overlap.both_ms, overlap.neither_ms) == pytest.approx((0.1, 0.1))


def test_copy_and_the_call_that_waits_for_it_count_once() -> None:
    """Both run behind a kernel, for 400 µs together."""
    summary = summarize(
        make_trace(
            *iter_steps(
                EventSpec(1, "MemcpyH2D", 0, 300),
                EventSpec(DEVICE, "MemcpyH2D", 100, 400),
                EventSpec(DEVICE, "void kernel<float>()", 0, 900),
            )
        )
    )
    (copies,) = (part for part in summary.parts if part.name == "host_to_device")
    assert (copies.ms, copies.hidden_ms) == pytest.approx((0, 0.4))


def test_gap_at_the_end_of_a_step_is_evidence() -> None:
    """Half of each step has no events: the time from its last event to the next step."""
    finding = get_findings(busy(500))["other"]
    assert finding.events == STEPS
    assert {row.duration_ps for row in finding.evidence} == {500_000_000}
    assert {row.name for row in finding.evidence} == {"work"}


def test_no_overlap_without_device() -> None:
    assert summarize(make_trace(*iter_steps(busy()))).overlap is None


def test_lists_possible_step_markers() -> None:
    events = [EventSpec(1, "batch", at * 10, at * 10 + 5) for at in range(6)]
    ops = [EventSpec(2, "a/Add:AddV2", at * 10, at * 10 + 1) for at in range(6)]
    summary = summarize(make_trace(*iter_steps(), *events, *ops))
    assert [(it.name, it.count) for it in summary.markers] == [("train", 3), ("batch", 6)]
    assert summarize(make_trace(*events), marker="batch").steps.count == 6


def test_empty_trace_has_no_findings() -> None:
    summary = summarize(make_trace())
    assert (summary.events, summary.findings, summary.steps.count) == (0, [], 0)
