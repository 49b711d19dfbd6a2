"""Alarms: those that ring, and those that rang lately."""

from __future__ import annotations

import itertools
import math
import secrets
from collections import deque
from collections.abc import Container, Iterator

import msgspec

from tracklight.alerts.judge import Verdict, explain
from tracklight.notes.book import Rule
from tracklight.types import Point

_MOST_RECOVERED = 100
_MOST_TOLD = 500


#: JSON has no word for numbers that are not finite: they travel as "NaN" or "Infinity".
Number = float | str


class Fired(msgspec.Struct, frozen=True):
    """One alarm; ``value`` and ``wall_time`` are those of the point that raised it."""

    id: str
    rule: str
    run: str
    tag: str
    step: int
    value: Number
    wall_time: Number
    text: str
    recovered: bool = False


#: A rule's id, a run and a tag.
Place = tuple[str, str, str]


class Alarms:
    """At most one alarm rings for each rule and series."""

    def __init__(self) -> None:
        # Ids of two processes must differ: a page may see both, one after the other.
        self._process = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._ringing: dict[Place, Fired] = {}
        self._recovered: deque[Fired] = deque(maxlen=_MOST_RECOVERED)

    def newest(self) -> list[Fired]:
        """Those that ring before those that have recovered, and of each the newest first."""
        ringing = list(self._ringing.values())
        return [*reversed(ringing), *reversed(list(self._recovered))][:_MOST_TOLD]

    def ring(self, rule: Rule, run: str, tag: str, point: Point, verdict: Verdict) -> Fired:
        fired = Fired(
            id=f"{self._process}-{next(self._numbers)}",
            rule=rule.id,
            run=run,
            tag=tag,
            step=point.step,
            value=_spell(point.value),
            wall_time=_spell(point.wall_time),
            text=f"{run}: {tag} {explain(rule, verdict, point)}",
        )
        self._ringing[rule.id, run, tag] = fired
        return fired

    def settle(self, rule: str, run: str, tag: str) -> Iterator[Fired]:
        """End the alarm that has rung until now, if one has; give it as recovered."""
        fired = self._ringing.pop((rule, run, tag), None)
        if fired is not None:
            settled = msgspec.structs.replace(fired, recovered=True)
            self._recovered.append(settled)
            yield settled

    def forget_rules(self, ids: Container[str]) -> None:
        self._ringing = {at: it for at, it in self._ringing.items() if it.rule not in ids}

    def forget_runs(self, names: Container[str]) -> None:
        self._ringing = {at: it for at, it in self._ringing.items() if it.run not in names}


def _spell(value: float) -> Number:
    if math.isfinite(value):
        return value
    return str(value).replace("nan", "NaN").replace("inf", "Infinity")
