"""Thresholds of findings."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import read_case
from tracklight.analysis.profiles.findings import (
    DEFAULT_THRESHOLDS,
    iter_thresholds,
    parse_thresholds,
)
from tracklight.analysis.profiles.findings.advice import FINDING_TITLES
from tracklight.analysis.profiles.findings.summary import ProfileSummary, summarize_analysis
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.steps import analyze_steps
from tracklight.errors import UsageError


def summarize_with(text: str) -> ProfileSummary:
    trace = read_case("inputbound")
    return summarize_analysis(
        trace, analyze_steps(trace), compute_op_stats(trace), parse_thresholds(text)
    )


def test_every_finding_has_a_threshold() -> None:
    assert DEFAULT_THRESHOLDS.keys() == FINDING_TITLES.keys()


def test_unnamed_thresholds_are_defaults() -> None:
    assert parse_thresholds("") == DEFAULT_THRESHOLDS
    assert parse_thresholds("input:12.5,host:0") == {
        **DEFAULT_THRESHOLDS,
        "input": 0.125,
        "host": 0.0,
    }


def test_reports_findings_from_the_chosen_threshold() -> None:
    """The program waits for input for 86.8 % of a step."""
    below, above = summarize_with("input:86"), summarize_with("input:88")
    assert below.findings[0].name == "input"
    assert below.findings[0].threshold.text == "at 86% or more"
    assert "input" not in {finding.name for finding in above.findings}
    assert above.findings == below.findings[1:]
    (row,) = (row for row in above.thresholds if row.name == "input")
    assert (row.title.text, row.percent, row.default) == (str(FINDING_TITLES["input"]), 88, 5)


def test_threshold_rows_are_in_percent() -> None:
    rows = {row.name: (row.percent, row.default) for row in iter_thresholds(DEFAULT_THRESHOLDS)}
    assert rows["kernel launch"] == (15, 15)


@pytest.mark.parametrize(
    "text", ["input", "input:", "input:x", "input:-1", "input:101", "unknown:5"]
)
def test_rejects_invalid_thresholds(text: str) -> None:
    with pytest.raises(UsageError, match=r"Invalid threshold .* NAME is one of input, "):
        parse_thresholds(text)
