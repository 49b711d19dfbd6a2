"""Holds the points of one series against one rule."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import numpy as np

from tracklight.notes.book import Rule
from tracklight.types import Bool, Digest, Float64, Int64, Point, Series


class Verdict(msgspec.Struct, gc=False):
    """How one series stands to one rule."""

    broken: bool = False
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


def take_points(series: Series, since: int) -> Points:
    """The points from row ``since`` on that were not overwritten."""
    rows = since + np.flatnonzero(~series.overwritten[since:])
    return Points(series.step[rows], series.wall_time[rows], series.value[rows].astype(np.float64))


def judge(rule: Rule, verdict: Verdict, points: Points) -> Point | None:
    """Go on with a verdict over new points; the first one that newly broke the rule, if any.

    What broke and recovered between two looks is still told of, once.
    """
    if not len(points):
        return None
    broken = _find_broken(rule, verdict, points)
    before = np.concatenate([[verdict.broken], broken[:-1]])
    news = np.flatnonzero(broken & ~before)
    verdict.broken = bool(broken[-1])
    return points[int(news[0])] if len(news) else None


def judge_digest(rule: Rule, verdict: Verdict, digest: Digest) -> Point | None:
    """How a series stands that has not been looked at before: only its present state counts."""
    verdict.best = digest.high if rule.goal == "max" else digest.low
    last = digest.last
    if last is None:
        return None
    return judge(
        rule,
        verdict,
        Points(np.array([last.step]), np.array([last.wall_time]), np.array([last.value])),
    )


def explain(rule: Rule, verdict: Verdict, point: Point) -> str:
    """What happened, without the names of run and tag."""
    at = f"at step {point.step:,}"
    if rule.kind == "nan":
        return f"is {'NaN' if math.isnan(point.value) else 'infinite'} {at}"
    if rule.kind != "stalled":
        return f"is {point.value:.6g} {at}, {rule.kind} {rule.value:g}"
    best = verdict.best
    since = "" if best is None else f"; the best was {best.value:.6g} at step {best.step:,}"
    return f"has not improved for {rule.value:,.0f} steps {at}{since}"


def _find_broken(rule: Rule, verdict: Verdict, points: Points) -> Bool:
    if rule.kind == "nan":
        return ~np.isfinite(points.value)
    limit = math.nan if rule.value is None else rule.value
    if rule.kind == "above":
        return np.greater(points.value, limit)
    if rule.kind == "below":
        return np.less(points.value, limit)
    return _find_stalled(rule, verdict, points)


def _find_stalled(rule: Rule, verdict: Verdict, points: Points) -> Bool:
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
