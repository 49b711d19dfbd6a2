"""Parse and validate alert rules.

On the command line a rule is a pattern for series (see `tracklight.logdir.names`) and a condition:

    train/loss above 10
    */loss nan
    re:acc(uracy)?$ below 0.1
    val/acc stalled 500 max        no higher value for 500 steps
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import msgspec
import numpy as np

from tracklight.errors import UsageError
from tracklight.logdir.names import compile_series_pattern
from tracklight.server.notes import AlertRule
from tracklight.types import Bool, Float64, Int64, Point, Series, SeriesSummary

_RULE_SYNTAX = re.compile(
    r"(?P<tag>\S.*?)\s+(?:(?P<nan>nan)|(?P<kind>above|below)\s+(?P<value>\S+)"
    r"|stalled\s+(?P<steps>\S+)(?:\s+(?P<goal>min|max))?)"
)


def parse_rule(text: str, id: str) -> AlertRule:
    """A rule as it is given on the command line."""
    match = _RULE_SYNTAX.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f'"{text}" is no rule; one reads "TAG above NUMBER", "TAG below NUMBER", "TAG nan" or '
            '"TAG stalled STEPS min" (or max)'
        )
    words = match.groupdict()
    rule = msgspec.convert(
        {
            "id": id,
            "tag": words["tag"],
            "kind": words["nan"] or words["kind"] or "stalled",
            "value": _parse_number(words["value"] or words["steps"]),
            "goal": words["goal"] or ("min" if words["steps"] else None),
        },
        AlertRule,
    )
    validate_rule(rule)
    return rule


def validate_rule(rule: AlertRule) -> None:
    """Raise a UsageError that says what is wrong, if anything is."""
    compile_series_pattern(rule.tag)
    if rule.kind == "nan":
        return
    if rule.value is None or not math.isfinite(rule.value):
        raise UsageError(f'the rule on "{rule.tag}" needs a number for "{rule.kind}"')
    if rule.kind == "stalled" and rule.value <= 0:
        raise UsageError(f'the rule on "{rule.tag}" needs at least one step for "stalled"')


def _parse_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError(f'"{text}" is no number') from None


# Holds the points of one series against one rule.


class RuleState(msgspec.Struct, gc=False):
    """How one series stands to one rule."""

    is_violated: bool = False
    best: Point | None = None
    """The best point so far, for rules on stalling."""


@dataclass(frozen=True)
class Points:
    """Some points in the order of a series."""

    step: Int64
    wall_time: Float64
    value: Float64

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, at: int) -> Point:
        return Point(int(self.step[at]), float(self.wall_time[at]), float(self.value[at]))


def slice_points(series: Series, since: int) -> Points:
    """The points from row ``since`` on that were not overwritten."""
    rows = since + np.flatnonzero(~series.overwritten[since:])
    return Points(series.step[rows], series.wall_time[rows], series.value[rows].astype(np.float64))


def evaluate_points(rule: AlertRule, state: RuleState, points: Points) -> Point | None:
    """Go on with a verdict over new points; the first one that newly broke the rule, if any.

    What broke and recovered between two looks is still told of, once.
    """
    if not len(points):
        return None
    broken = _compute_violations(rule, state, points)
    before = np.concatenate([[state.is_violated], broken[:-1]])
    news = np.flatnonzero(broken & ~before)
    state.is_violated = bool(broken[-1])
    return points[int(news[0])] if len(news) else None


def evaluate_summary(rule: AlertRule, state: RuleState, summary: SeriesSummary) -> Point | None:
    """How a series stands that has not been looked at before: only its present state counts."""
    state.best = summary.max if rule.goal == "max" else summary.min
    last = summary.last
    if last is None:
        return None
    return evaluate_points(
        rule,
        state,
        Points(np.array([last.step]), np.array([last.wall_time]), np.array([last.value])),
    )


def describe_violation(rule: AlertRule, state: RuleState, point: Point) -> str:
    """What happened, without the names of run and tag."""
    at = f"at step {point.step:,}"
    if rule.kind == "nan":
        return f"is {'NaN' if math.isnan(point.value) else 'infinite'} {at}"
    if rule.kind != "stalled":
        return f"is {point.value:.6g} {at}, {rule.kind} {rule.value:g}"
    best = state.best
    since = "" if best is None else f"; the best was {best.value:.6g} at step {best.step:,}"
    return f"has not improved for {rule.value:,.0f} steps {at}{since}"


def _compute_violations(rule: AlertRule, verdict: RuleState, points: Points) -> Bool:
    if rule.kind == "nan":
        return ~np.isfinite(points.value)
    limit = math.nan if rule.value is None else rule.value
    if rule.kind == "above":
        return np.greater(points.value, limit)
    if rule.kind == "below":
        return np.less(points.value, limit)
    return _compute_stalled(rule, verdict, points)


def _compute_stalled(rule: AlertRule, verdict: RuleState, points: Points) -> Bool:
    """Where the best point lies too many steps back; the best so far becomes the verdict's."""
    sign = -1.0 if rule.goal == "max" else 1.0
    # A value that is not finite is never better than another.
    badness = np.where(np.isfinite(points.value), sign * points.value, np.inf)
    best = verdict.best
    floor = np.inf if best is None else sign * best.value
    lowest = np.minimum.accumulate(np.concatenate([[floor], badness]))
    better = badness < lowest[:-1]
    at = np.maximum.accumulate(np.where(better, np.arange(len(points)), -1))
    begin = points.step[0] if best is None else best.step
    since = np.where(at >= 0, points.step[at], begin)
    if at[-1] >= 0:
        verdict.best = points[int(at[-1])]
    return np.greater_equal(points.step - since, rule.value or np.inf)
