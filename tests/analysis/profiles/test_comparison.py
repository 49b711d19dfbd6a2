"""Comparisons state whether a difference is more than the variation between steps."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import read_case
from tracklight.analysis.profiles.comparison import ComparedCapture, compare_captures
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.summary import StepTimes, summarize


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
