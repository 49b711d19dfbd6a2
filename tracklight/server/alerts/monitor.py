"""Alarms: those that ring, and those that rang lately."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import queue
import secrets
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec

from tracklight.errors import LogError, UsageError
from tracklight.logdir.names import compile_series_pattern
from tracklight.server.alerts.rules import (
    Points,
    RuleState,
    describe_violation,
    evaluate_points,
    evaluate_summary,
    slice_points,
    validate_rule,
)
from tracklight.server.events import LiveUpdates
from tracklight.server.notes import AlertRule, NotesStore
from tracklight.server.source import LogSource
from tracklight.types import Delta, Kind, Point, Series, SeriesSummary, TagInfo

if TYPE_CHECKING:
    from tracklight.server.alerts.webhook import Webhook

_MAX_RESOLVED = 100

_MAX_LISTED = 500

#: JSON has no word for numbers that are not finite: they travel as "NaN" or "Infinity".
Number = float | str


class Alert(msgspec.Struct, frozen=True):
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
AlertKey = tuple[str, str, str]


class AlertLog:
    """At most one alarm rings for each rule and series."""

    def __init__(self) -> None:
        # Ids of two processes must differ: a page may see both, one after the other.
        self._process = secrets.token_hex(4)
        self._numbers = itertools.count(1)
        self._firing: dict[AlertKey, Alert] = {}
        self._resolved: deque[Alert] = deque(maxlen=_MAX_RESOLVED)

    def list_newest(self) -> list[Alert]:
        """Those that ring before those that have recovered, and of each the newest first."""
        ringing = list(self._firing.values())
        return [*reversed(ringing), *reversed(list(self._resolved))][:_MAX_LISTED]

    def fire(self, rule: AlertRule, run: str, tag: str, point: Point, state: RuleState) -> Alert:
        fired = Alert(
            id=f"{self._process}-{next(self._numbers)}",
            rule=rule.id,
            run=run,
            tag=tag,
            step=point.step,
            value=_to_json_number(point.value),
            wall_time=_to_json_number(point.wall_time),
            text=f"{run}: {tag} {describe_violation(rule, state, point)}",
        )
        self._firing[rule.id, run, tag] = fired
        return fired

    def resolve(self, rule: str, run: str, tag: str) -> Iterator[Alert]:
        """End the alarm that has rung until now, if one has; give it as recovered."""
        fired = self._firing.pop((rule, run, tag), None)
        if fired is not None:
            settled = msgspec.structs.replace(fired, recovered=True)
            self._resolved.append(settled)
            yield settled

    def remove_rules(self, ids: Container[str]) -> None:
        self._firing = {at: it for at, it in self._firing.items() if it.rule not in ids}

    def remove_runs(self, names: Container[str]) -> None:
        self._firing = {at: it for at, it in self._firing.items() if it.run not in names}


def _to_json_number(value: float) -> Number:
    if math.isfinite(value):
        return value
    return str(value).replace("nan", "NaN").replace("inf", "Infinity")


# Looks at what changed in a log and says which rules that broke or mended.


class MonitoredLog(Protocol):
    """What the monitor needs of a log."""

    def tags(self, run: str) -> tuple[TagInfo, ...]: ...

    def scalar(self, run: str, tag: str) -> Series: ...

    def summaries(self, keys: Sequence[tuple[str, str]]) -> Sequence[SeriesSummary | None]: ...


class _WatchedRule:
    """One rule with all series that it was held against."""

    def __init__(self, rule: AlertRule) -> None:
        self.rule = rule
        self.matches = compile_series_pattern(rule.tag)
        self.states: dict[tuple[str, str], RuleState] = {}


class AlertMonitor:
    """Holds rules against the points that came since it last looked.

    What is there when a rule is new is judged by its present state only: nobody wants to hear of
    every spike of last year. Not to be called from two threads at once.
    """

    def __init__(self, log: MonitoredLog) -> None:
        self._log = log
        self._watched: list[_WatchedRule] = []
        self._checked_counts: dict[tuple[str, str], int] = {}
        self.alerts = AlertLog()

    def set_rules(self, rules: Iterable[AlertRule], runs: Iterable[str]) -> list[Alert]:
        """Watch these rules from now on; the alarms that new ones raise at once."""
        known = {watched.rule: watched for watched in self._watched}
        self._watched = [known.get(rule) or _WatchedRule(rule) for rule in rules]
        fresh = [watched for watched in self._watched if watched.rule not in known]
        kept = {watched.rule for watched in self._watched}
        self.alerts.remove_rules({rule.id for rule in known if rule not in kept})
        if not fresh:
            return []
        return [
            fired
            for run in runs
            for fired in _ignore_removed_run(self._check_summaries(run, fresh))
        ]

    def check_current_state(self, runs: Iterable[str]) -> list[Alert]:
        """Take runs as they are; the alarms that their present state raises."""
        return [
            fired
            for run in runs
            for fired in _ignore_removed_run(self._check_summaries(run, self._watched))
        ]

    def check_new_points(self, runs: Iterable[str]) -> list[Alert]:
        """Look at the new points of runs; the alarms they raised, and those they ended."""
        return [fired for run in runs for fired in _ignore_removed_run(self._check_run(run))]

    def list_unmatched(self) -> list[AlertRule]:
        """Return the rules that no series has matched so far."""
        return [watched.rule for watched in self._watched if not watched.states]

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Runs that are gone, or that are to be read as if they were new."""
        gone = frozenset(runs)
        self._checked_counts = {
            key: seen for key, seen in self._checked_counts.items() if key[0] not in gone
        }
        for watched in self._watched:
            for key in [key for key in watched.states if key[0] in gone]:
                del watched.states[key]
        self.alerts.remove_runs(gone)

    def _check_summaries(self, run: str, fresh: Sequence[_WatchedRule]) -> Iterator[Alert]:
        met = [
            (info, meant)
            for info in self._iter_scalars(run)
            if (meant := [watched for watched in fresh if watched.matches(run, info.tag)])
        ]
        digests = self._log.summaries([(run, info.tag) for info, _ in met])
        for (info, meant), digest in zip(met, digests, strict=True):
            if digest is not None:
                if not any((run, info.tag) in watched.states for watched in self._watched):
                    self._checked_counts[run, info.tag] = info.count
                yield from self._evaluate(
                    meant, run, info.tag, partial(evaluate_summary, summary=digest)
                )

    def _check_run(self, run: str) -> Iterator[Alert]:
        for info in self._iter_scalars(run):
            meant = [watched for watched in self._watched if watched.matches(run, info.tag)]
            seen = self._checked_counts.get((run, info.tag), 0)
            if meant and seen != info.count:
                points = self._read_new_points(run, info.tag, seen)
                yield from self._evaluate(
                    meant, run, info.tag, partial(evaluate_points, points=points)
                )

    def _read_new_points(self, run: str, tag: str, seen: int) -> Points:
        series = self._log.scalar(run, tag)
        self._checked_counts[run, tag] = len(series)
        # A series that became shorter is another one under the same name.
        return slice_points(series, seen if seen <= len(series) else 0)

    def _evaluate(
        self,
        meant: Iterable[_WatchedRule],
        run: str,
        tag: str,
        look: Callable[[AlertRule, RuleState], Point | None],
    ) -> Iterator[Alert]:
        for watched in meant:
            rule = watched.rule
            verdict = watched.states.setdefault((run, tag), RuleState())
            news = look(rule, verdict)
            if news is not None:
                yield from self.alerts.resolve(rule.id, run, tag)
                yield self.alerts.fire(rule, run, tag, news, verdict)
            if not verdict.is_violated:
                yield from self.alerts.resolve(rule.id, run, tag)

    def _iter_scalars(self, run: str) -> Iterator[TagInfo]:
        if self._watched:
            yield from (info for info in self._log.tags(run) if info.kind is Kind.SCALAR)


def _ignore_removed_run(news: Iterator[Alert]) -> Iterator[Alert]:
    """A run may be removed while it is looked at."""
    with contextlib.suppress(LogError):
        yield from news


# Watches over rules while the server runs, and tells pages and a webhook of alarms.
#
# All of it happens in one thread of its own. The follower only leaves there what changed; the same
# thread notices when the rules, or other notes, were changed by this server or by another one.

log = logging.getLogger(__name__)

#: How often to look whether another server changed the notes.
_POLL_INTERVAL_S = 2.0

_STOP_TIMEOUT_S = 0.5

#: Of a thousand alarms at once these will do: a page that hears of one asks for all.
_MAX_PUBLISHED = 50

_STOP, _RELOAD = object(), object()


@dataclass(frozen=True)
class AlertSettings:
    """What the command line says: rules that hold for this server, and where alarms go to."""

    rules: tuple[AlertRule, ...] = ()
    webhook: str | None = None


NO_ALERTS = AlertSettings()


class AlertRuleRow(AlertRule, frozen=True):
    """A rule; a fixed one was given on the command line and cannot be changed here."""

    fixed: bool = False


class AlertsResponse(msgspec.Struct):
    """The rules, and the alarms: first those that ring, the newest first."""

    rules: list[AlertRuleRow]
    fired: list[Alert]
    webhook: bool


class AlertService:
    """The rules of one server and what became of them."""

    def __init__(
        self, source: LogSource, store: NotesStore, live: LiveUpdates, settings: AlertSettings
    ) -> None:
        self._source = source
        self._store = store
        self._live = live
        self._settings = settings
        self._monitor = AlertMonitor(source)
        self._webhook = self._create_webhook(settings.webhook) if settings.webhook else None
        self._webhook_problem: str | None = None
        self._revision = -1
        self._is_first = True
        self._queue: queue.Queue[object] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="tracklight-alerts", daemon=True)

    # ---- in any thread

    def start(self) -> None:
        self._thread.start()
        if self._webhook:
            self._webhook.start()

    def stop(self) -> None:
        self._queue.put(_STOP)
        self._thread.join(_STOP_TIMEOUT_S)
        if self._webhook:
            self._webhook.stop()

    def on_refresh(self, delta: Delta | None) -> None:
        """Of what a refresh changed."""
        if delta is not None:
            self._queue.put(delta)

    def request_reload(self) -> None:
        """Look at the notes now, as they have just been changed."""
        self._queue.put(_RELOAD)

    def set_rules(self, rules: list[AlertRule]) -> None:
        """Keep these rules in the place of those kept before."""
        taken = {rule.id for rule in self._settings.rules}
        own = tuple(rule for rule in rules if rule.id not in taken)
        if len({rule.id for rule in own}) < len(own):
            raise UsageError("two rules have the same id")
        for rule in own:
            validate_rule(rule)
        self._store.update(lambda book: book.with_rules(own))
        self.request_reload()

    def create_response(self) -> AlertsResponse:
        rows = [_make_rule_row(rule, fixed=True) for rule in self._settings.rules]
        rows += [_make_rule_row(rule, fixed=False) for rule in self._store.read().rules]
        return AlertsResponse(rows, self._monitor.alerts.list_newest(), self._webhook is not None)

    # ---- in the thread

    def _run(self) -> None:
        while True:
            try:
                news = self._queue.get(timeout=_POLL_INTERVAL_S)
            except queue.Empty:
                news = _RELOAD
            if news is _STOP:
                return
            try:
                self._reload_rules()
                if isinstance(news, Delta):
                    self._check_delta(news)
            except Exception:
                # A fault in one look must not end the watch.
                log.exception("looking after alerts failed")

    def _reload_rules(self) -> None:
        book = self._store.read()
        if book.revision == self._revision:
            return
        rules = [*self._settings.rules, *book.rules]
        # Most boards have no rules, and listing thousands of runs takes a while.
        runs = [run.name for run in self._source.runs()] if rules else []
        self._monitor.set_rules(rules, runs)
        if self._revision >= 0:
            self._live.publish("notes", {"revision": book.revision})
        self._revision = book.revision

    def _check_delta(self, delta: Delta) -> None:
        self._monitor.remove_runs(delta.removed)
        grown = [*delta.added, *delta.changed]
        if self._is_first:
            self._is_first = False
            self._publish(self._monitor.check_current_state(grown), is_new=False)
            if grown:
                self._warn_unmatched()
        else:
            self._publish(self._monitor.check_new_points(grown), is_new=True)

    def _warn_unmatched(self) -> None:
        """Name alerts of the command line that cannot fire with the tags logged so far."""
        for rule in self._monitor.list_unmatched():
            if rule in self._settings.rules:
                log.warning('note: the alert pattern "%s" matches no scalar tag yet', rule.tag)

    def _publish(self, fired: Sequence[Alert], *, is_new: bool) -> None:
        """Only what is new goes out of the house: a restart must not ring for last week."""
        for one in fired[-_MAX_PUBLISHED:]:
            self._live.publish("alert", one)
        if self._webhook and is_new:
            for one in fired:
                if not one.recovered:
                    self._webhook.send(one)

    def _create_webhook(self, url: str) -> Webhook:
        # An HTTP client takes its time to load, and few boards have a webhook.
        from tracklight.server.alerts.webhook import Webhook

        return Webhook(url, self._report_webhook_problem)

    def _report_webhook_problem(self, sentence: str | None) -> None:
        if sentence != self._webhook_problem:
            rest = [
                remark for remark in self._live.server_problems if remark != self._webhook_problem
            ]
            self._live.server_problems[:] = [*rest, *([sentence] if sentence else [])]
            self._webhook_problem = sentence
            self._live.notifier.notify()


def _make_rule_row(rule: AlertRule, *, fixed: bool) -> AlertRuleRow:
    return AlertRuleRow(**msgspec.structs.asdict(rule), fixed=fixed)
