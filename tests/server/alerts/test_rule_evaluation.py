from __future__ import annotations

import math

import numpy as np
import pytest

from tracklight.server.alerts.rules import (
    Points,
    RuleState,
    describe_violation,
    evaluate_points,
    evaluate_summary,
    slice_points,
)
from tracklight.server.alerts.rules import AlertRule
from tracklight.types import Point, Series, SeriesSummary

ABOVE = AlertRule("1", "loss", "above", 5.0)
STALLED = AlertRule("1", "loss", "stalled", 3.0, "min")


def make_points(*values: float, start: int = 0) -> Points:
    step = np.arange(start, start + len(values))
    return Points(step, step + 100.0, np.array(values, np.float64))


def find_step(rule: AlertRule, verdict: RuleState, points: Points) -> int | None:
    point = evaluate_points(rule, verdict, points)
    return None if point is None else point.step


def test_the_first_point_beyond_a_threshold_is_told_once() -> None:
    verdict = RuleState()
    assert find_step(ABOVE, verdict, make_points(1, 5, 6, 7)) == 2
    assert find_step(ABOVE, verdict, make_points(8, 9, start=4)) is None
    assert find_step(ABOVE, verdict, make_points(1, start=6)) is None
    assert not verdict.is_violated
    assert find_step(ABOVE, verdict, make_points(6, start=7)) == 7


def test_what_recovered_at_once_is_told_and_over() -> None:
    verdict = RuleState()
    assert find_step(ABOVE, verdict, make_points(1, 9, 1)) == 1
    assert not verdict.is_violated


def test_below_and_nan() -> None:
    below, nan = AlertRule("1", "x", "below", 0.0), AlertRule("1", "x", "nan")
    assert find_step(below, RuleState(), make_points(math.nan, 0, -1)) == 2
    assert find_step(nan, RuleState(), make_points(1, math.inf, math.nan)) == 1
    assert find_step(ABOVE, RuleState(), make_points(math.nan)) is None


@pytest.mark.parametrize("cut", range(9))
def test_a_series_stalls_however_it_comes_in_pieces(cut: int) -> None:
    values = [9.0, 4.0, 4.0, math.nan, 4.0, 5.0, 3.0, 3.5, 3.0]
    verdict = RuleState()
    pieces = [make_points(*values[:cut]), make_points(*values[cut:], start=cut)]
    found = [step for piece in pieces if (step := find_step(STALLED, verdict, piece)) is not None]
    assert found == [4]
    assert verdict == RuleState(is_violated=False, best=Point(6, 106.0, 3.0))


def test_a_series_that_never_had_a_best_point_stalls_from_its_beginning() -> None:
    assert find_step(STALLED, RuleState(), make_points(*[math.nan] * 5, start=10)) == 13


def test_higher_is_better_where_the_rule_says_so() -> None:
    rule = AlertRule("1", "acc", "stalled", 2.0, "max")
    assert find_step(rule, RuleState(), make_points(0.1, 0.5, 0.4, 0.5)) == 3


def test_an_old_series_is_judged_by_its_present_state() -> None:
    spiked = SeriesSummary(9, Point(8, 1.0, 1.0), Point(8, 1.0, 1.0), Point(2, 1.0, 99.0))
    assert evaluate_summary(ABOVE, RuleState(), spiked) is None
    stalled = SeriesSummary(9, Point(8, 1.0, 2.0), Point(2, 1.0, 1.0), Point(0, 1.0, 3.0))
    verdict = RuleState()
    point = evaluate_summary(STALLED, verdict, stalled)
    assert point == Point(8, 1.0, 2.0)
    assert describe_violation(STALLED, verdict, point) == (
        "has not improved for 3 steps at step 8; the best was 1 at step 2"
    )
    assert evaluate_summary(STALLED, RuleState(), SeriesSummary(0, None, None, None)) is None


def test_overwritten_points_are_not_judged() -> None:
    step = np.array([0, 1, 2, 1, 2])
    marks = np.array([False, True, True, False, False])
    series = Series("run", "loss", step, step + 0.0, step * 10, marks)
    assert slice_points(series, 2).value.tolist() == [10.0, 20.0]


def test_the_words_say_what_happened() -> None:
    point = Point(1200, 0.0, 12.5)
    assert describe_violation(ABOVE, RuleState(), point) == "is 12.5 at step 1,200, above 5"
    bad = Point(7, 0.0, math.nan)
    assert describe_violation(AlertRule("1", "x", "nan"), RuleState(), bad) == "is NaN at step 7"
