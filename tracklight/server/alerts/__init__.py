"""Alerts: rules on scalars that are checked while the server runs.

This module parses, validates and evaluates rules, and lists the alerts that fire; `monitor` applies
the rules to the changes of a log, publishes the alerts and sends them to another server. On the
command line a rule is a pattern for series (see `tracklight.logdir`) and a condition:

    train/loss above 10
    */loss nan
    re:acc(uracy)?$ below 0.1
    val/acc stalled 500 max        no higher value for 500 steps

An `AlertLog` also keeps the alerts that were resolved lately. The package imports nothing from the
rest of the server except the log and its live updates.
"""

from __future__ import annotations

import itertools
import math
import re
import secrets
from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np

from tracklight.analysis.debugger import (
    describe_alert,
    describe_non_finite_op,
    describe_non_finite_tensors,
    make_page_view,
)
from tracklight.analysis.source import Sentence
from tracklight.errors import Message, UsageError
from tracklight.logdir import compile_series_pattern
from tracklight.types import Bool, Float64, Int64, Point, Series, SeriesSummary
from tracklight.util.files import JsonNumber, to_json_number

if TYPE_CHECKING:
    from tracklight.analysis.debugger.library import HealthProblem, NonFiniteEvent


_RULE_SYNTAX = re.compile(
    r"(?P<tag>\S.*?)\s+(?:(?P<nan>nan)|(?P<kind>above|below)\s+(?P<value>\S+)"
    r"|stalled\s+(?P<steps>\S+)(?:\s+(?P<goal>min|max))?)"
)


class AlertRule(msgspec.Struct, frozen=True):
    """When to raise an alert; ``tag`` is a pattern for series, see docs/patterns.md."""

    id: Annotated[str, msgspec.Meta(max_length=200)]
    tag: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    kind: Literal["above", "below", "nan", "stalled"]
    value: float | None = None
    """The threshold; for ``stalled``, the number of steps without improvement."""
    goal: Literal["min", "max"] | None = None
    """Whether lower or higher is better, for ``stalled``."""


#: `tracklight.debugger` writes this scalar at steps with non-finite values.
NON_FINITE_RULE = AlertRule(
    "built-in-non-finite", r"re:^debugger/(rank\d+/)?non_finite$", "above", 0.0
)
BUILT_IN_RULES = (NON_FINITE_RULE,)
#: Alerts about NaN and Inf in dumps, which are not raised by points of a series.
DUMP_RULE_ID = "built-in-dump"
#: Alerts about other problems in dumps and recordings; followed by their kind.
HEALTH_RULE_PREFIX = "built-in-"
#: All tags that built-in rules match begin with this.
BUILT_IN_TAG_PREFIX = "debugger/"


def parse_rule(text: str, id: str) -> AlertRule:
    """Parse a rule given on the command line.

    Raises:
        UsageError: The text is not a rule.
    """
    match = _RULE_SYNTAX.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            "alerts.invalid_rule",
            '"{text}" is not an alert rule; write "TAG above NUMBER", "TAG '
            'below NUMBER", "TAG nan" or "TAG stalled STEPS min" (or max)',
            text=text,
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
    """Check the pattern and the numbers of a rule.

    Raises:
        UsageError: The rule cannot be evaluated.
    """
    compile_series_pattern(rule.tag)
    if rule.kind == "nan":
        return
    if rule.value is None or not math.isfinite(rule.value):
        raise UsageError(
            "alerts.number_missing",
            'the rule on "{tag}" needs a number for "{kind}"',
            tag=rule.tag,
            kind=rule.kind,
        )
    if rule.kind == "stalled" and rule.value <= 0:
        raise UsageError(
            "alerts.steps_missing",
            'the rule on "{tag}" needs at least one step for "stalled"',
            tag=rule.tag,
        )


def _parse_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise UsageError("alerts.not_a_number", '"{text}" is not a number', text=text) from None


# ---- evaluation


class RuleState(msgspec.Struct, gc=False):
    """The state of one rule on one series."""

    is_violated: bool = False
    best: Point | None = None
    """The best point so far, for ``stalled``."""


@dataclass(frozen=True)
class Points:
    """Consecutive points of a series."""

    step: Int64
    wall_time: Float64
    value: Float64

    def __len__(self) -> int:
        return len(self.step)

    def __getitem__(self, index: int) -> Point:
        return Point(int(self.step[index]), float(self.wall_time[index]), float(self.value[index]))


def slice_points(series: Series, start: int) -> Points:
    """Return the points from row ``start`` on, without overwritten ones."""
    rows = start + np.flatnonzero(~series.overwritten[start:])
    return Points(series.step[rows], series.wall_time[rows], series.value[rows].astype(np.float64))


def evaluate_points(rule: AlertRule, state: RuleState, points: Points) -> Point | None:
    """Evaluate a rule on new points and update its state.

    Returns:
        The first point that newly violates the rule, or None. A violation that ends within the
        points is returned as well.
    """
    if not len(points):
        return None
    violations = _compute_violations(rule, state, points)
    before = np.concatenate([[state.is_violated], violations[:-1]])
    new = np.flatnonzero(violations & ~before)
    state.is_violated = bool(violations[-1])
    return points[int(new[0])] if len(new) else None


def evaluate_summary(rule: AlertRule, state: RuleState, summary: SeriesSummary) -> Point | None:
    """Evaluate a rule on a series that is new to it: only the last point counts."""
    state.best = summary.max if rule.goal == "max" else summary.min
    last = summary.last
    if last is None:
        return None
    points = Points(np.array([last.step]), np.array([last.wall_time]), np.array([last.value]))
    return evaluate_points(rule, state, points)


def describe_violation(
    rule: AlertRule, state: RuleState, run: str, tag: str, point: Point
) -> Message:
    """Describe which series violated a rule, and how."""
    series = {"run": run, "tag": tag, "step": point.step}
    if rule == NON_FINITE_RULE:
        return describe_non_finite_tensors(
            get_recording_name(run, tag), point.step, round(point.value)
        )
    if rule.kind == "nan":
        if math.isnan(point.value):
            return Message.format("alerts.nan", "{run}: {tag} is NaN at step {step:,}", **series)
        return Message.format(
            "alerts.infinite", "{run}: {tag} is infinite at step {step:,}", **series
        )
    value, limit = f"{point.value:.6g}", f"{rule.value:g}"
    if rule.kind == "above":
        return Message.format(
            "alerts.above",
            "{run}: {tag} is {value} at step {step:,}, above {limit}",
            **series,
            value=value,
            limit=limit,
        )
    if rule.kind == "below":
        return Message.format(
            "alerts.below",
            "{run}: {tag} is {value} at step {step:,}, below {limit}",
            **series,
            value=value,
            limit=limit,
        )
    steps = round(rule.value or 0)
    if state.best is None:
        return Message.format(
            "alerts.stalled",
            "{run}: {tag} has not improved for {steps:,} steps at step {step:,}",
            **series,
            steps=steps,
        )
    return Message.format(
        "alerts.stalled_best",
        "{run}: {tag} has not improved for {steps:,} steps at step {step:,}; "
        "the best was {best} at step {best_step:,}",
        **series,
        steps=steps,
        best=f"{state.best.value:.6g}",
        best_step=state.best.step,
    )


def get_recording_name(run: str, tag: str) -> str:
    """Return the name of the recording that a tag of `NON_FINITE_RULE` belongs to."""
    from tracklight.analysis.debugger.recording import RecordingKey

    match = re.match(r"debugger/rank(\d+)/", tag)
    return RecordingKey(run, int(match[1]) if match else 0).name


def _compute_violations(rule: AlertRule, state: RuleState, points: Points) -> Bool:
    if rule.kind == "nan":
        return ~np.isfinite(points.value)
    threshold = math.nan if rule.value is None else rule.value
    if rule.kind == "above":
        return np.greater(points.value, threshold)
    if rule.kind == "below":
        return np.less(points.value, threshold)
    return _compute_stalled(rule, state, points)


def _compute_stalled(rule: AlertRule, state: RuleState, points: Points) -> Bool:
    """Return where the best point is too many steps back, and update the best of the state."""
    sign = -1.0 if rule.goal == "max" else 1.0
    # Values that are not finite are never an improvement.
    loss = np.where(np.isfinite(points.value), sign * points.value, np.inf)
    best = state.best
    initial = np.inf if best is None else sign * best.value
    lowest = np.minimum.accumulate(np.concatenate([[initial], loss]))
    is_better = loss < lowest[:-1]
    best_index = np.maximum.accumulate(np.where(is_better, np.arange(len(points)), -1))
    initial_step = points.step[0] if best is None else best.step
    best_step = np.where(best_index >= 0, points.step[best_index], initial_step)
    if best_index[-1] >= 0:
        state.best = points[int(best_index[-1])]
    return np.greater_equal(points.step - best_step, rule.value or np.inf)


# ---- the list of alerts

_MAX_RESOLVED_ALERTS = 100
_MAX_LISTED_ALERTS = 500


class Alert(msgspec.Struct, frozen=True):
    """A violated rule; ``value`` and ``wall_time`` are those of the point that violated it.

    For a problem in a dump or recording of the debugger, ``tag`` is a tensor or an operation and
    ``value`` the number of alerts of its kind; dumps have no ``step``. The page translates ``text``
    by ``code`` and ``args``.
    """

    id: str
    rule: str
    run: str
    tag: str
    step: int | None
    value: JsonNumber
    wall_time: JsonNumber
    text: str
    resolved: bool = False
    code: str = ""
    args: dict[str, str | int | float | Sentence] = {}
    view: dict[str, str] = {}
    """URL parameters of the view that shows the problem; if empty, that is the chart of the tag."""


#: The id of a rule, a run (or the name of a dump or recording) and a tag.
AlertKey = tuple[str, str, str]


def _make_problem_key(problem: HealthProblem) -> AlertKey:
    alert = problem.alert
    name = alert.op_name or alert.op_type
    return f"{HEALTH_RULE_PREFIX}{alert.kind.value}", problem.source, name


class AlertLog:
    """The alerts that fire, at most one for each rule and series, and those resolved lately."""

    def __init__(self) -> None:
        # A page may see the alerts of two processes one after the other; ids must differ.
        self._process = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._firing: dict[AlertKey, Alert] = {}
        self._resolved: deque[Alert] = deque(maxlen=_MAX_RESOLVED_ALERTS)

    def list_newest(self) -> list[Alert]:
        """Return firing alerts before resolved ones, each newest first."""
        firing = list(self._firing.values())
        return [*reversed(firing), *reversed(list(self._resolved))][:_MAX_LISTED_ALERTS]

    def fire(self, rule: AlertRule, run: str, tag: str, point: Point, state: RuleState) -> Alert:
        is_built_in = rule in BUILT_IN_RULES
        return self._add(
            (rule.id, run, tag),
            describe_violation(rule, state, run, tag, point),
            run=run,
            step=point.step,
            value=point.value,
            wall_time=point.wall_time,
            view=make_page_view(get_recording_name(run, tag)) if is_built_in else {},
        )

    def fire_dump(self, event: NonFiniteEvent, source: str) -> Alert:
        """Add the alert about NaN or Inf in the dump of the name ``source``."""
        return self._add(
            (DUMP_RULE_ID, source, event.op),
            describe_non_finite_op(source, event.op),
            run=event.run,
            step=None,
            value=event.value,
            wall_time=event.wall_time,
            view=make_page_view(source),
        )

    def fire_problem(self, problem: HealthProblem) -> Alert:
        """Add the alert about another problem in a dump or recording."""
        return self._add(
            _make_problem_key(problem),
            describe_alert(problem.source, problem.alert),
            run=problem.run,
            step=problem.alert.step,
            value=float(problem.alert_count),
            wall_time=problem.alert.wall_time,
            view=make_page_view(problem.source),
        )

    def resolve_problem(self, problem: HealthProblem) -> Iterator[Alert]:
        """End the alert about a problem in a recording, and yield it as resolved."""
        return self.resolve(*_make_problem_key(problem))

    def _add(
        self,
        key: AlertKey,
        message: Message,
        *,
        run: str,
        step: int | None,
        value: float,
        wall_time: float,
        view: dict[str, str],
    ) -> Alert:
        rule, _, tag = key
        sentence = Sentence.make(message)
        alert = self._firing[key] = Alert(
            id=f"{self._process}-{next(self._numbers)}",
            rule=rule,
            run=run,
            tag=tag,
            step=step,
            value=to_json_number(value),
            wall_time=to_json_number(wall_time),
            text=sentence.text,
            code=sentence.code,
            args=sentence.args,
            view=view,
        )
        return alert

    def resolve(self, rule: str, run: str, tag: str) -> Iterator[Alert]:
        """End the alert of a rule and series, and yield it as resolved, if one is firing."""
        alert = self._firing.pop((rule, run, tag), None)
        if alert is not None:
            resolved = msgspec.structs.replace(alert, resolved=True)
            self._resolved.append(resolved)
            yield resolved

    def remove_rules(self, ids: Container[str]) -> None:
        self._firing = {key: item for key, item in self._firing.items() if item.rule not in ids}

    def remove_runs(self, names: Container[str]) -> None:
        self._firing = {key: item for key, item in self._firing.items() if item.run not in names}
