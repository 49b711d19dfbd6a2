"""Steps of programs whose host runs ahead of the device."""

from __future__ import annotations

from statistics import mean

import pytest

from tests.analysis.profiles.raw_captures import read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file, read_case
from tests.analysis.profiles.trace_builder import DEVICE, EventSpec, make_trace
from tracklight.analysis.profiles.findings import DEFAULT_THRESHOLDS
from tracklight.analysis.profiles.findings.summary import summarize, summarize_analysis
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.steps import analyze_steps, detect_steps
from tracklight.analysis.profiles.trace import PS_PER_MS


def test_host_running_ahead_does_not_shorten_steps() -> None:
    """A step takes 43.25 ms on the device, but only 0.13 ms on the host."""
    summary = summarize(open_file("torch_ahead.pt.trace.json.gz"))
    raw = read_raw(DATA / "torch_ahead.pt.trace.json.gz")
    annotated = [event for event in raw if event.category == "gpu_user_annotation"]
    annotated.sort(key=lambda event: event.start_ps)
    device_ms = [(event.end_ps - event.start_ps) / PS_PER_MS for event in annotated[1:-1]]
    assert summary.steps.mean_ms == pytest.approx(mean(device_ms), rel=1e-3)
    assert summary.steps.std_ms < 0.02
    assert [finding.name for finding in summary.findings] == ["precision"]


def ahead(*events: EventSpec, steps: int = 4) -> list[EventSpec]:
    """Make steps of 1 ms on the host that launch 20 ms of device work each."""
    rows = list(events)
    for number in range(steps):
        host, device = number * 1000.0, 500.0 + number * 20_000
        rows += [
            EventSpec(0, "train", host, host + 1000, {"_r": 1, "step_num": number}),
            EventSpec(0, "cuLaunchKernel", host + 300, host + 310, {"correlation_id": number}),
            EventSpec(DEVICE, "kernel", device, device + 20_000, {"correlation_id": number}),
        ]
    return rows


def test_kernels_belong_to_the_step_that_launched_them() -> None:
    summary = summarize(make_trace(*ahead()))
    assert summary.steps.median_ms == pytest.approx(20)
    assert summary.devices[0].outside_ms == 0


def test_reports_device_work_outside_all_steps() -> None:
    """A kernel launched before the first step runs during it, but belongs to none."""
    extra = [
        EventSpec(1, "cuLaunchKernel", 4500, 4510, {"correlation_id": 99}),
        EventSpec(DEVICE, "kernel", 80_500, 85_500, {"correlation_id": 99}),
    ]
    (device,) = summarize(make_trace(*ahead(*extra))).devices
    assert device.outside_ms == pytest.approx(5)
    assert device.total_ms == pytest.approx(85)


def test_launch_on_another_thread_counts_from_the_handoff() -> None:
    """The worker launches the kernels of a step after the host has begun the next one."""
    events = []
    for number in range(4):
        at, context = number * 100.0, {"_pt": 5, "_p": number}
        events += [
            EventSpec(0, "train", at, at + 90, {"_r": 1, "step_num": number}),
            EventSpec(0, "Dispatch", at + 10, at + 20, context),
            EventSpec(1, "Worker", at + 110, at + 130, {"_ct": 5, "_c": number}),
            EventSpec(1, "cuLaunchKernel", at + 115, at + 117, {"correlation_id": number}),
            EventSpec(DEVICE, "kernel", at + 120, at + 150, {"correlation_id": number}),
        ]
    trace = make_trace(*events)
    steps = detect_steps(trace)
    assert steps.device_steps[trace.on_device].tolist() == [0, 1, 2, 3]


def test_module_runs_link_steps_without_launches() -> None:
    events = []
    for number in range(4):
        host, device = number * 10.0, 20.0 + number * 100
        events += [
            EventSpec(0, "train", host, host + 10, {"_r": 1, "step_num": number}),
            EventSpec(0, "Execute", host + 2, host + 4, {"run_id": number}),
            EventSpec(DEVICE, "module", device, device + 100, {"run_id": number}),
        ]
    steps = detect_steps(make_trace(*events))
    assert (steps.spans[1:, 1] - steps.spans[1:, 0]).tolist() == [100_000_000] * 3


def test_trailing_steps_without_launches_are_left_out() -> None:
    """The profiler stops before the last steps have launched anything."""
    last = EventSpec(0, "train", 4000, 5000, {"_r": 1, "step_num": 4})
    summary = summarize(make_trace(*ahead(last)))
    assert summary.steps.count == 4
    assert "host" not in {finding.name for finding in summary.findings}


def test_input_of_jax_counts_between_the_markers_of_steps() -> None:
    """The program sleeps for 20 ms in an annotation before each step, which is one jit."""
    summary = summarize(read_case("jax_input"))
    raw = read_raw(DATA / "jax_input.xplane.pb.xz")
    waits = [event for event in raw if event.name == "input_pipeline"]
    expected = mean((event.end_ps - event.start_ps) / PS_PER_MS for event in waits[1:-1])
    parts = {part.name: part.ms for part in summary.parts}
    assert parts["input"] == pytest.approx(expected) and expected > 20
    first, *others = summary.findings
    assert (first.name, others) == ("input", [])
    assert "jax.jit" not in " ".join(map(str, first.advice))


@pytest.mark.parametrize("name", ["jax_tf", "jax_input"])
def test_never_advises_to_jit_a_single_jit(name: str) -> None:
    thresholds = {**DEFAULT_THRESHOLDS, "host": 0.0, "kernel launch": 0.0, "small kernels": 0.0}
    trace = read_case(name)
    summary = summarize_analysis(trace, analyze_steps(trace), compute_op_stats(trace), thresholds)
    advice = " ".join(str(sentence) for each in summary.findings for sentence in each.advice)
    assert {"host", "kernel launch"} <= {finding.name for finding in summary.findings}
    assert "Compile the whole step" not in advice


def test_python_between_steps_is_host_or_input() -> None:
    events = []
    for number in range(4):
        at = number * 100.0
        events += [
            EventSpec(0, "train", at, at + 40, {"_r": 1, "step_num": number}),
            EventSpec(0, "PjitFunction(step)", at, at + 40),
            EventSpec(0, "$loop.py:3 log", at + 50, at + 60),
            EventSpec(0, "$my_dataloader.py:9 decode", at + 70, at + 90),
        ]
    summary = summarize(make_trace(*events))
    parts = {part.name: part.ms for part in summary.parts if part.ms}
    # The first step has nothing before it.
    assert parts == pytest.approx(
        {"host_compute": 0.04 + 0.75 * 0.01, "input": 0.75 * 0.02, "other": 0.75 * 0.03}
    )


def test_long_pause_between_steps_belongs_to_none() -> None:
    events = [
        EventSpec(0, name, at, at + 40, {"_r": 1, "step_num": number} if name == "train" else {})
        for number, at in enumerate((0, 50, 100, 10_000, 10_050))
        for name in ("train", "PjitFunction(step)")
    ]
    summary = summarize(make_trace(*events))
    assert summary.steps.max_ms == pytest.approx(0.05)
