from __future__ import annotations

import math

import numpy as np
import pytest

from tracklight.server.alerts import (
    AlertRule,
    Points,
    RuleState,
    describe_violation,
    evaluate_points,
    evaluate_summary,
    slice_points,
)
from tracklight.types import Point, Series, SeriesSummary

ABOVE = AlertRule("1", "loss", "above", 5.0)
STALLED = AlertRule("1", "loss", "stalled", 3.0, "min")


def make_points(*values: float, start: int = 0) -> Points:
    step = np.arange(start, start + len(values))
    return Points(step, step + 100.0, np.array(values, np.float64))


def find_step(rule: AlertRule, state: RuleState, points: Points) -> int | None:
    point = evaluate_points(rule, state, points)
    return None if point is None else point.step


def test_first_point_beyond_the_threshold_is_returned_once() -> None:
    state = RuleState()
    assert find_step(ABOVE, state, make_points(1, 5, 6, 7)) == 2
    assert find_step(ABOVE, state, make_points(8, 9, start=4)) is None
    assert find_step(ABOVE, state, make_points(1, start=6)) is None
    assert not state.is_violated
    assert find_step(ABOVE, state, make_points(6, start=7)) == 7


def test_violation_that_ends_at_once_is_returned() -> None:
    state = RuleState()
    assert find_step(ABOVE, state, make_points(1, 9, 1)) == 1
    assert not state.is_violated


def test_below_and_nan_rules() -> None:
    below, nan = AlertRule("1", "x", "below", 0.0), AlertRule("1", "x", "nan")
    assert find_step(below, RuleState(), make_points(math.nan, 0, -1)) == 2
    assert find_step(nan, RuleState(), make_points(1, math.inf, math.nan)) == 1
    assert find_step(ABOVE, RuleState(), make_points(math.nan)) is None


@pytest.mark.parametrize("split", range(9))
def test_stalled_does_not_depend_on_chunks(split: int) -> None:
    values = [9.0, 4.0, 4.0, math.nan, 4.0, 5.0, 3.0, 3.5, 3.0]
    state = RuleState()
    chunks = [make_points(*values[:split]), make_points(*values[split:], start=split)]
    found = [step for chunk in chunks if (step := find_step(STALLED, state, chunk)) is not None]
    assert found == [4]
    assert state == RuleState(is_violated=False, best=Point(6, 106.0, 3.0))


def test_series_without_finite_values_stalls_from_its_start() -> None:
    assert find_step(STALLED, RuleState(), make_points(*[math.nan] * 5, start=10)) == 13


def test_stalled_with_goal_max() -> None:
    rule = AlertRule("1", "acc", "stalled", 2.0, "max")
    assert find_step(rule, RuleState(), make_points(0.1, 0.5, 0.4, 0.5)) == 3


def test_summary_is_evaluated_by_its_last_point() -> None:
    spiked = SeriesSummary(9, Point(8, 1.0, 1.0), Point(8, 1.0, 1.0), Point(2, 1.0, 99.0))
    assert evaluate_summary(ABOVE, RuleState(), spiked) is None
    stalled = SeriesSummary(9, Point(8, 1.0, 2.0), Point(2, 1.0, 1.0), Point(0, 1.0, 3.0))
    state = RuleState()
    point = evaluate_summary(STALLED, state, stalled)
    assert point == Point(8, 1.0, 2.0)
    assert describe_violation(STALLED, state, "run", "loss", point).text == (
        "run: loss has not improved for 3 steps at step 8; the best was 1 at step 2"
    )
    assert evaluate_summary(STALLED, RuleState(), SeriesSummary(0, None, None, None)) is None


def test_overwritten_points_are_ignored() -> None:
    step = np.array([0, 1, 2, 1, 2])
    marks = np.array([False, True, True, False, False])
    series = Series("run", "loss", step, step + 0.0, step * 10, marks)
    assert slice_points(series, 2).value.tolist() == [10.0, 20.0]


def test_violations_are_described() -> None:
    point = Point(1200, 0.0, 12.5)
    above = describe_violation(ABOVE, RuleState(), "run", "loss", point)
    assert above.text == "run: loss is 12.5 at step 1,200, above 5"
    assert above.args["step"] == 1200
    nan_rule, bad = AlertRule("1", "x", "nan"), Point(7, 0.0, math.nan)
    message = describe_violation(nan_rule, RuleState(), "run", "x", bad)
    assert (message.code, message.text) == ("alerts.nan", "run: x is NaN at step 7")
