"""Thresholds that somebody chose, and texts that are none."""

from __future__ import annotations

import pytest

from tests.analysis.profiles.sample_captures import read_case
from tracklight.analysis.profiles.advice import FINDING_TITLES
from tracklight.analysis.profiles.findings import (
    DEFAULT_THRESHOLDS,
    iter_thresholds,
    parse_thresholds,
)
from tracklight.analysis.profiles.ops import compute_op_stats
from tracklight.analysis.profiles.steps import analyze_steps
from tracklight.analysis.profiles.summary import ProfileSummary, summarize_analysis
from tracklight.errors import UsageError


def sum_up(text: str) -> ProfileSummary:
    trace = read_case("inputbound")
    return summarize_analysis(
        trace, analyze_steps(trace), compute_op_stats(trace), parse_thresholds(text)
    )


def test_everything_that_is_told_has_a_threshold() -> None:
    assert DEFAULT_THRESHOLDS.keys() == FINDING_TITLES.keys()


def test_what_is_not_named_is_as_usual() -> None:
    assert parse_thresholds("") == DEFAULT_THRESHOLDS
    assert parse_thresholds("input:12.5,host:0") == {
        **DEFAULT_THRESHOLDS,
        "input": 0.125,
        "host": 0.0,
    }


def test_something_is_told_from_the_chosen_threshold_on() -> None:
    """The program waits for its input for 86.8 % of a step."""
    told, silent = sum_up("input:86"), sum_up("input:88")
    assert told.findings[0].name == "input"
    assert told.findings[0].threshold == "from 86 % on"
    assert "input" not in {finding.name for finding in silent.findings}
    assert silent.findings == told.findings[1:]
    (row,) = (row for row in silent.thresholds if row.name == "input")
    assert (row.title, row.percent, row.usual) == (FINDING_TITLES["input"], 88, 5)


def test_rows_are_in_percent() -> None:
    rows = {row.name: (row.percent, row.usual) for row in iter_thresholds(DEFAULT_THRESHOLDS)}
    assert rows["kernel launch"] == (15, 15)


@pytest.mark.parametrize("text", ["input", "input:", "input:x", "input:-1", "input:101", "dust:5"])
def test_what_is_no_threshold_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is no threshold; write one of input, "):
        parse_thresholds(text)
