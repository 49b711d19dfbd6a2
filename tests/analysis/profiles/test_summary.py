"""What is said of captures by our own rules, against what the captured programs did."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.comparison import ComparedCapture, compare_captures
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.summary import ProfileSummary, summarize


def part(summary: ProfileSummary, name: str) -> float:
    return next((part.ms for part in summary.parts if part.label == name), 0.0)


def hidden(summary: ProfileSummary, name: str) -> float:
    return next((part.hidden_ms for part in summary.parts if part.label == name), 0.0)


def test_batches_of_keras_are_steps_though_nothing_marks_them() -> None:
    """xprof finds no step in these, and says that there is nothing to do."""
    fast, waits = summarize(read_case("cnn")), summarize(read_case("inputbound"))
    assert fast.rule == waits.rule == "batches profiled by Keras"
    assert (fast.steps.averaged, waits.steps.averaged) == (4, 4)
    assert fast.steps.mean_ms == pytest.approx(12.4, abs=0.05)
    assert waits.steps.mean_ms == pytest.approx(49.3, abs=0.05)
    assert part(fast, "input") / fast.steps.mean_ms == pytest.approx(0.017, abs=0.0005)
    assert part(waits, "input") / waits.steps.mean_ms == pytest.approx(0.868, abs=0.0005)


def test_marks_of_the_program_go_before_all_else() -> None:
    summary = summarize(read_case("customloop"))
    assert (summary.rule, summary.steps.averaged) == ("step markers of the program", 6)


def test_a_mark_that_somebody_chose_goes_before_those() -> None:
    summary = summarize(read_case("customloop"), marker="FunctionRun")
    assert summary.rule == "events named FunctionRun, as chosen"
    assert summary.steps.averaged == 6


def test_the_parts_of_a_step_on_a_gpu() -> None:
    """The numbers that the old plugin for PyTorch's traces gives, in its words."""
    summary = summarize(open_file("tgpu.pt.trace.json.gz"))
    parts = {
        "device compute": 0.623661,  # kernels
        "host to device": 0.080468,
        "device to device": 0.003754,  # memory set to nothing
        "kernel launch": 0.869667,
        "input": 22.651204,
        "host compute": 3.164315,
    }
    assert {
        each.label: each.ms for each in summary.parts if each.ms and each.name != "other"
    } == pytest.approx(parts, abs=1e-5)
    assert part(summary, "all others") == pytest.approx(1.167817, abs=1e-5)
    assert summary.steps.mean_ms == pytest.approx(28.560886, abs=1e-5)


def test_the_parts_of_a_step_with_stacks_of_python() -> None:
    summary = summarize(open_file("tcpu.pt.trace.json.gz"))
    assert part(summary, "host compute") == pytest.approx(50.250691, abs=1e-5)
    assert part(summary, "input") == pytest.approx(27.172302, abs=1e-5)
    assert part(summary, "all others") == pytest.approx(2.077661, abs=1e-5)


def test_a_program_that_waits_for_its_input_is_told_so() -> None:
    waits = summarize(open_file("torch_input.pt.trace.json.gz"))
    works = summarize(open_file("torch_f32.pt.trace.json.gz"))
    assert part(waits, "input") > 20  # each batch sleeps for so many milliseconds
    assert part(waits, "input") > part(works, "input") + 20
    assert part(waits, "input") / waits.steps.mean_ms > 0.8


def test_a_copy_behind_a_product_is_hidden() -> None:
    summary = summarize(open_file("torch_overlap.pt.trace.json.gz"))
    assert hidden(summary, "host to device") > 0.8 * (
        hidden(summary, "host to device") + part(summary, "host to device")
    )
    assert part(summary, "device compute") / summary.steps.mean_ms > 0.9


@pytest.mark.parametrize("name", ["jax_f32.xplane.pb", "jax_bf16.xplane.pb"])
def test_steps_of_jax(name: str) -> None:
    summary = summarize(open_file(name))
    assert (summary.rule, summary.steps.averaged) == ("step markers of the program", 4)
    assert 0 < part(summary, "device compute") < summary.steps.mean_ms


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("torch_f32.pt.trace.json.gz", 0, 0),
        ("torch_bf16.pt.trace.json.gz", 0.6, 0.9),  # weights are kept, and changed, in 32 bits
        ("jax_f32.xplane.pb", 0, 0),
        ("jax_bf16.xplane.pb", 1, 1),
    ],
)
def test_how_many_bits_the_device_computed_in(name: str, least: float, most: float) -> None:
    """xprof says 0 % of every one of JAX's."""
    share = summarize(open_file(name)).precision.short_share
    assert share is not None and least <= share <= most


def test_what_to_do_first_about_a_program_that_waits() -> None:
    keras, torch = (
        summarize(read_case("inputbound")),
        summarize(open_file("torch_input.pt.trace.json.gz")),
    )
    assert [each.findings[0].name for each in (keras, torch)] == ["input", "input"]
    assert keras.findings[0].what == "87 % of a step (42.8 ms) waits for its input"
    assert "the stage MapAndBatch" in keras.findings[0].advice
    assert "prefetch(tf.data.AUTOTUNE)" in keras.findings[0].advice
    assert "num_workers" in torch.findings[0].advice
    assert torch.findings[0].win_ms == pytest.approx(part(torch, "input"))


def test_nothing_is_found_where_nothing_is_to_win() -> None:
    assert [finding.name for finding in summarize(read_case("cnn")).findings] == []


def test_precision_is_told_only_where_the_device_is_busy() -> None:
    names = {
        file: [finding.name for finding in summarize(open_file(file)).findings]
        for file in ("torch_overlap.pt.trace.json.gz", "torch_f32.pt.trace.json.gz")
    }
    assert "precision" in names["torch_overlap.pt.trace.json.gz"]
    assert "precision" not in names["torch_f32.pt.trace.json.gz"]


def test_advice_is_that_of_the_framework() -> None:
    advice = {
        finding.name: finding.advice
        for finding in summarize(open_file("jax_f32.xplane.pb")).findings
    }
    assert advice and all("keras" not in each and "torch" not in each for each in advice.values())


def test_the_verdict_gives_long_steps_in_seconds() -> None:
    trace = read_case("inputbound")
    before, after = (ComparedCapture(summarize(trace), compute_op_stats(trace)) for _ in range(2))
    before.summary.steps.mean_ms, after.summary.steps.mean_ms = 3700.0, 1850.0
    verdict = compare_captures(before, after).verdict
    assert verdict.startswith("A step takes 1.85 s; it took 3.7 s: 2.0 times as fast.")
