"""What is found, from which threshold on, and by which events, in small cases made by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.analysis.profiles.trace_builder import DEVICE, Made, make_trace
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.summary import summarize

STEPS = 3
STEP_US = 1000.0


def iter_steps(*within: Made) -> Iterator[Made]:
    """Three steps of a millisecond with the same events in each."""
    for number in range(STEPS):
        start = number * STEP_US
        yield Made(0, "train", start, start + STEP_US, {"_r": 1, "step_num": number})
        for event in within:
            yield event._replace(start_us=start + event.start_us, end_us=start + event.end_us)


def find(*within: Made) -> dict[str, Finding]:
    return {
        finding.name: finding for finding in summarize(make_trace(*iter_steps(*within))).findings
    }


def busy(until_us: float = STEP_US) -> Made:
    """Something that fills a step, so that nothing is left unrecorded."""
    return Made(1, "work", 0, until_us)


@pytest.mark.parametrize(
    ("name", "event", "below_us", "from_us"),
    [
        ("input", Made(0, "IteratorGetNext", 0, 0), 49, 51),
        ("compilation", Made(0, "XlaCompile", 0, 0), 49, 51),
        ("copies", Made(DEVICE, "MemcpyH2D", 0, 0), 49, 51),
        ("collectives", Made(DEVICE, "ncclDevKernel_AllReduce", 0, 0), 149, 151),
        ("kernel launch", Made(0, "cuLaunchKernel", 0, 0, {"correlation_id": 1}), 149, 151),
    ],
)
def test_a_part_is_told_from_its_threshold_on(
    name: str, event: Made, below_us: float, from_us: float
) -> None:
    # A launch is one only where a device comes of it.
    kernel = Made(DEVICE, "void kernel<float>()", 990, 991)
    assert name not in find(busy(), kernel, event._replace(end_us=below_us))
    found = find(busy(), kernel, event._replace(end_us=from_us))[name]
    assert found.win_ms == pytest.approx(from_us / 1000)
    assert found.share == pytest.approx(from_us / STEP_US)
    assert found.events == STEPS
    assert {row.name for row in found.evidence} == {event.name}
    assert found.advice and found.title and found.threshold


def test_a_device_that_waits_for_its_host() -> None:
    kernel = Made(DEVICE, "void kernel<half>()", 500, 1000)
    found = find(busy(), kernel)["host"]
    assert found.share == pytest.approx(0.5)
    assert "host" not in find(busy())  # there is nobody who could wait
    assert "host" not in find(busy(), kernel._replace(start_us=150))


def test_what_could_win_most_comes_first() -> None:
    found = find(
        busy(), Made(0, "IteratorGetNext", 0, 100), Made(2, "XlaCompile", 200, 500)
    ).values()
    assert [finding.name for finding in found] == ["compilation", "input"]


def test_functions_that_are_traced_again_and_again() -> None:
    call = Made(2, "step", 0, 60, {"tf_function_call": "traced-nonXla"})
    assert find(busy(), call)["retracing"].events == STEPS
    assert "retracing" not in find(busy(), call._replace(said={"tf_function_call": "concrete"}))


def test_ops_that_run_one_by_one() -> None:
    call = Made(2, "EagerExecute", 0, 110, {"is_func": 0})
    assert find(busy(), call)["eager"].win_ms == pytest.approx(0.11)
    assert "eager" not in find(busy(), call._replace(said={"is_func": 1}))


def test_kernels_that_are_short_and_many() -> None:
    """Ten microseconds of each fifteen are spent between two of them."""
    kernels = [Made(DEVICE, "void add<half>()", at, at + 5) for at in range(0, 900, 15)]
    found = find(busy(), *kernels)["small kernels"]
    assert found.win_ms == pytest.approx(0.59, abs=0.001)
    long = [Made(DEVICE, "void add<half>()", at, at + 14) for at in range(0, 900, 15)]
    assert "small kernels" not in find(busy(), *long)


def test_where_nothing_was_recorded() -> None:
    """The longest gap is shown, after the event that it comes after."""
    found = find(busy(400), Made(2, "more", 700, 1000))["other"]
    assert found.win_ms == pytest.approx(0.3)
    longest = found.evidence[0]
    assert longest.name == "nothing, after work"
    assert longest.duration_ps == 300_000_000
    assert longest.start_ps % 1_000_000_000 == 400_000_000
    assert found.query == ""


def test_evidence_is_shown_in_the_step_that_it_is_in() -> None:
    events = list(iter_steps(busy(), Made(0, "IteratorGetNext", 0, 100)))
    events.append(Made(3, "IteratorGetNext", 1000, 1900))
    (found,) = (it for it in summarize(make_trace(*events)).findings if it.name == "input")
    assert found.evidence[0].duration_ps == 900_000_000
    assert (found.start_ps, found.end_ps) == (1_000_000_000, 2_000_000_000)
    assert found.query == '"IteratorGetNext"'


def test_a_mark_that_reaches_into_the_next_one_is_a_step_all_the_same() -> None:
    marks = [Made(0, "train", at, at + 1010, {"_r": 1}) for at in (0, 1000, 2000)]
    summary = summarize(make_trace(*marks, Made(1, "train", 100, 200, {"_r": 1})))
    assert summary.steps.count == 3
    assert summary.steps.min_ms == pytest.approx(1.0)


def test_host_and_device_at_once() -> None:
    summary = summarize(
        make_trace(
            *iter_steps(
                Made(1, "a/MatMul:MatMul", 0, 300),
                Made(1, "cuStreamSynchronize", 300, 900),
                Made(DEVICE, "void kernel<float>()", 200, 900),
            )
        )
    )
    overlap = summary.overlap
    assert overlap is not None
    assert (overlap.host_ms, overlap.device_ms) == pytest.approx((0.3, 0.7))
    assert (overlap.both_ms, overlap.neither_ms) == pytest.approx((0.1, 0.1))


def test_without_a_device_there_is_no_overlap() -> None:
    assert summarize(make_trace(*iter_steps(busy()))).overlap is None


def test_what_could_mark_steps_is_offered() -> None:
    events = [Made(1, "batch", at * 10, at * 10 + 5) for at in range(6)]
    ops = [Made(2, "a/Add:AddV2", at * 10, at * 10 + 1) for at in range(6)]
    summary = summarize(make_trace(*iter_steps(), *events, *ops))
    assert [(it.name, it.count) for it in summary.markers] == [("train", 3), ("batch", 6)]
    assert summarize(make_trace(*events), marker="batch").steps.count == 6


def test_nothing_recorded_is_no_finding() -> None:
    summary = summarize(make_trace())
    assert (summary.events, summary.findings, summary.steps.count) == (0, [], 0)
