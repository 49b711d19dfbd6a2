"""List the alerts of a server: what fires, and what was resolved lately."""

from __future__ import annotations

import itertools
import secrets
from collections import deque
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

import msgspec

from tracklight.analysis.source import Sentence
from tracklight.errors import Message
from tracklight.server.alerts.rules import (
    BUILT_IN_RULES,
    DUMP_RULE_ID,
    HEALTH_RULE_PREFIX,
    AlertRule,
    RuleState,
    describe_dump,
    describe_problem,
    describe_violation,
    get_recording_name,
    make_debugger_view,
)
from tracklight.types import Point
from tracklight.util.json_number import JsonNumber, to_json_number

if TYPE_CHECKING:
    from tracklight.analysis.debugger.dump_monitor import NonFiniteEvent
    from tracklight.analysis.debugger.health_monitor import HealthProblem

_MAX_RESOLVED = 100
_MAX_LISTED = 500


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
        self._resolved: deque[Alert] = deque(maxlen=_MAX_RESOLVED)

    def list_newest(self) -> list[Alert]:
        """Return firing alerts before resolved ones, each newest first."""
        firing = list(self._firing.values())
        return [*reversed(firing), *reversed(list(self._resolved))][:_MAX_LISTED]

    def fire(self, rule: AlertRule, run: str, tag: str, point: Point, state: RuleState) -> Alert:
        is_built_in = rule in BUILT_IN_RULES
        return self._add(
            (rule.id, run, tag),
            describe_violation(rule, state, run, tag, point),
            run=run,
            step=point.step,
            value=point.value,
            wall_time=point.wall_time,
            view=make_debugger_view(get_recording_name(run, tag)) if is_built_in else {},
        )

    def fire_dump(self, event: NonFiniteEvent, source: str) -> Alert:
        """Add the alert about NaN or Inf in the dump of the name ``source``."""
        return self._add(
            (DUMP_RULE_ID, source, event.op),
            describe_dump(source, event.op),
            run=event.run,
            step=None,
            value=event.value,
            wall_time=event.wall_time,
            view=make_debugger_view(source),
        )

    def fire_problem(self, problem: HealthProblem) -> Alert:
        """Add the alert about another problem in a dump or recording."""
        return self._add(
            _make_problem_key(problem),
            describe_problem(problem),
            run=problem.run,
            step=problem.alert.step,
            value=float(problem.alert_count),
            wall_time=problem.alert.wall_time,
            view=make_debugger_view(problem.source),
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
        self._firing = {key: it for key, it in self._firing.items() if it.rule not in ids}

    def remove_runs(self, names: Container[str]) -> None:
        self._firing = {key: it for key, it in self._firing.items() if it.run not in names}
