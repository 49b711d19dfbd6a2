"""Comparisons: is a difference more than chance, and are the captures of one program?"""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.findings.summary import (
    ComparedCapture,
    StepTimes,
    compare_captures,
    is_same_program,
    summarize,
)
from tracklight.analysis.profiles.ops import OpStats, compute_op_stats


def make_capture(mean_ms: float, std_ms: float, count: int) -> ComparedCapture:
    trace = read_case("customloop")
    summary = summarize(trace)
    summary.steps = StepTimes(count, count, mean_ms, mean_ms, mean_ms, mean_ms, std_ms)
    return ComparedCapture(summary, compute_op_stats(trace))


@pytest.mark.parametrize(
    ("after_ms", "std_ms", "count", "expected"),
    [
        (12.0, 0.5, 10, "exceeds the variation between steps"),
        (12.0, 4.0, 10, "may be chance"),
        (12.0, 4.0, 200, "exceeds the variation between steps"),
        (12.0, 0.5, 2, "too few steps"),
    ],
)
def test_difference_is_compared_with_noise(
    after_ms: float, std_ms: float, count: int, expected: str
) -> None:
    """Two standard errors of the difference of the means are about 95 % of chance."""
    before, after = make_capture(10.0, std_ms, count), make_capture(after_ms, std_ms, count)
    verdict = compare_captures(before, after).verdict
    assert expected in verdict[-1].text
    two_errors = 2 * (2 * std_ms**2 / count) ** 0.5
    if count > 2:
        assert ("exceeds" in expected) == (after_ms - 10.0 > two_errors)


def compute_ops(name: str) -> OpStats:
    return compute_op_stats(open_file(name) if "." in name else read_case(name))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("jax_f32.xplane.pb", "jax_bf16.xplane.pb", True),
        ("torch_f32.pt.trace.json.gz", "torch_bf16.pt.trace.json.gz", True),
        ("torch_f32.pt.trace.json.gz", "torch_input.pt.trace.json.gz", True),
        ("tcpu.pt.trace.json.gz", "tgpu.pt.trace.json.gz", True),
        ("cnn", "cnn_steps", True),
        ("cnn", "inputbound", False),
        ("cnn", "customloop", False),
        ("torch_overlap.pt.trace.json.gz", "torch_ahead.pt.trace.json.gz", False),
        ("tgpu.pt.trace.json.gz", "torch_f32.pt.trace.json.gz", False),
        ("jax_f32.xplane.pb", "torch_f32.pt.trace.json.gz", False),
    ],
)
def test_captures_of_one_program_are_recognized(before: str, after: str, expected: bool) -> None:
    """The programs are known: precision, input and device differ within one of them."""
    assert is_same_program(compute_ops(before), compute_ops(after)) is expected
    assert is_same_program(compute_ops(after), compute_ops(before)) is expected


def test_comparison_of_two_programs_says_so() -> None:
    captures = [
        ComparedCapture(summarize(read_case(case)), compute_op_stats(read_case(case)))
        for case in ("cnn", "customloop")
    ]
    assert "different programs" in compare_captures(*captures).verdict[-1].text
    assert "different programs" not in compare_captures(captures[0], captures[0]).verdict[-1].text
