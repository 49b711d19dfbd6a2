"""Summaries of real captures, compared with what the captured programs did."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.findings.summary import (
    ComparedCapture,
    ProfileSummary,
    compare_captures,
    summarize,
)
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.source import Sentence


def join(sentences: list[Sentence]) -> str:
    return " ".join(map(str, sentences))


def part(summary: ProfileSummary, name: str) -> float:
    return next((part.ms for part in summary.parts if part.label.text == name), 0.0)


def hidden(summary: ProfileSummary, name: str) -> float:
    return next((part.hidden_ms for part in summary.parts if part.label.text == name), 0.0)


def test_keras_batches_are_steps_without_markers() -> None:
    """xprof finds no steps in these captures."""
    fast, slow = summarize(read_case("cnn")), summarize(read_case("inputbound"))
    assert fast.step_rule.text == slow.step_rule.text == "batches profiled by Keras"
    assert (fast.steps.averaged, slow.steps.averaged) == (4, 4)
    assert fast.steps.mean_ms == pytest.approx(12.4, abs=0.05)
    assert slow.steps.mean_ms == pytest.approx(49.3, abs=0.05)
    assert part(fast, "input") / fast.steps.mean_ms == pytest.approx(0.017, abs=0.0005)
    assert part(slow, "input") / slow.steps.mean_ms == pytest.approx(0.868, abs=0.0005)


def test_step_markers_of_the_program_take_precedence() -> None:
    summary = summarize(read_case("customloop"))
    assert (summary.step_rule.text, summary.steps.averaged) == ("step markers of the program", 6)


def test_chosen_marker_takes_precedence() -> None:
    summary = summarize(read_case("customloop"), marker="FunctionRun")
    assert summary.step_rule.text == "events named FunctionRun"
    assert summary.steps.averaged == 6


def test_step_parts_on_gpu() -> None:
    """The expected numbers are those of torch-tb-profiler.

    It counts all calls of the CUDA runtime as one part, of which only some launch kernels.
    """
    summary = summarize(open_file("tgpu.pt.trace.json.gz"))
    parts = {
        "device compute": 0.623661,  # kernels
        "host to device": 0.080468,
        "device to device": 0.003754,  # memset
        "input": 22.651204,
    }
    calls = {"kernel launch", "host compute"}
    shown = {each.label.text: each.ms for each in summary.parts if each.ms and each.name != "other"}
    assert {name: ms for name, ms in shown.items() if name not in calls} == pytest.approx(
        parts, abs=1e-5
    )
    assert sum(shown[name] for name in calls) == pytest.approx(0.869667 + 3.164315, abs=1e-5)
    assert shown["kernel launch"] < 0.869667
    assert part(summary, "other") == pytest.approx(1.167817, abs=1e-5)
    assert summary.steps.mean_ms == pytest.approx(28.560886, abs=1e-5)


def test_step_parts_with_python_stacks() -> None:
    summary = summarize(open_file("tcpu.pt.trace.json.gz"))
    assert part(summary, "host compute") == pytest.approx(50.250691, abs=1e-5)
    assert part(summary, "input") == pytest.approx(27.172302, abs=1e-5)
    assert part(summary, "other") == pytest.approx(2.077661, abs=1e-5)


def test_detects_input_bound_program() -> None:
    slow = summarize(open_file("torch_input.pt.trace.json.gz"))
    fast = summarize(open_file("torch_f32.pt.trace.json.gz"))
    assert part(slow, "input") > 20  # each batch sleeps for 20 ms
    assert part(slow, "input") > part(fast, "input") + 20
    assert part(slow, "input") / slow.steps.mean_ms > 0.8


def test_copy_during_device_compute_is_hidden() -> None:
    summary = summarize(open_file("torch_overlap.pt.trace.json.gz"))
    assert hidden(summary, "host to device") > 0.8 * (
        hidden(summary, "host to device") + part(summary, "host to device")
    )
    assert part(summary, "device compute") / summary.steps.mean_ms > 0.9


@pytest.mark.parametrize("name", ["jax_f32.xplane.pb", "jax_bf16.xplane.pb"])
def test_detects_jax_steps(name: str) -> None:
    summary = summarize(open_file(name))
    assert (summary.step_rule.text, summary.steps.averaged) == ("step markers of the program", 4)
    assert 0 < part(summary, "device compute") < summary.steps.mean_ms


@pytest.mark.parametrize(
    ("name", "min_share", "max_share"),
    [
        ("torch_f32.pt.trace.json.gz", 0, 0),
        ("torch_bf16.pt.trace.json.gz", 0.6, 0.9),  # weights are stored and updated in 32 bits
        ("jax_f32.xplane.pb", 0, 0),
        ("jax_bf16.xplane.pb", 1, 1),
    ],
)
def test_measures_low_precision_share(name: str, min_share: float, max_share: float) -> None:
    """xprof reports 0 % for all captures of JAX."""
    share = summarize(open_file(name)).precision.low_share
    assert share is not None and min_share <= share <= max_share


def test_first_finding_of_input_bound_program_is_input() -> None:
    keras, torch = (
        summarize(read_case("inputbound")),
        summarize(open_file("torch_input.pt.trace.json.gz")),
    )
    assert [each.findings[0].name for each in (keras, torch)] == ["input", "input"]
    assert keras.findings[0].summary.text == "87% of a step (42.8 ms) is spent waiting for input"
    assert "the stage MapAndBatch" in join(keras.findings[0].advice)
    assert "prefetch(tf.data.AUTOTUNE)" in join(keras.findings[0].advice)
    assert "num_workers" in join(torch.findings[0].advice)
    assert torch.findings[0].savings_ms == pytest.approx(part(torch, "input"))


def test_fast_program_has_no_findings() -> None:
    assert [finding.name for finding in summarize(read_case("cnn")).findings] == []


def test_precision_is_reported_only_if_device_is_busy() -> None:
    names = {
        file: [finding.name for finding in summarize(open_file(file)).findings]
        for file in ("torch_overlap.pt.trace.json.gz", "torch_f32.pt.trace.json.gz")
    }
    assert "precision" in names["torch_overlap.pt.trace.json.gz"]
    assert "precision" not in names["torch_f32.pt.trace.json.gz"]


def test_advice_matches_the_framework() -> None:
    advice = {
        finding.name: join(finding.advice)
        for finding in summarize(open_file("jax_f32.xplane.pb")).findings
    }
    assert advice and all("keras" not in each and "torch" not in each for each in advice.values())


def test_verdict_formats_long_steps_in_seconds() -> None:
    trace = read_case("inputbound")
    before, after = (ComparedCapture(summarize(trace), compute_op_stats(trace)) for _ in range(2))
    before.summary.steps.mean_ms, after.summary.steps.mean_ms = 3700.0, 1850.0
    verdict = join(compare_captures(before, after).verdict)
    assert verdict.startswith("A step takes 1.85 s; it took 3.7 s: 2.0 times as fast.")
