"""Check alert rules while the server runs, and publish the alerts.

`AlertMonitor` evaluates rules on the points of changed runs; `AlertLog` lists what fired. Numerical
problems in dumps and recordings of the debugger are found by `DumpMonitor` (NaN and Inf in dumps)
and `HealthMonitor` (all other kinds). `AlertService` runs all of them in a thread of its own: the
refresher only queues what changed. The same thread notices when this server or another one has
changed the rules or other notes. A `Webhook` sends alerts to another server with HTTP POST, in a
thread of its own, so that nothing waits.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec

from tracklight.analysis.debugger import DEFAULT_ALERT_KINDS, AlertKind
from tracklight.errors import LogError, Message, UsageError
from tracklight.logdir import compile_series_pattern
from tracklight.server.alerts import (
    BUILT_IN_RULES,
    BUILT_IN_TAG_PREFIX,
    Alert,
    AlertLog,
    AlertRule,
    Points,
    RuleState,
    evaluate_points,
    evaluate_summary,
    slice_points,
    validate_rule,
)
from tracklight.server.events import LiveUpdates, NotesEvent
from tracklight.server.source import LogSource
from tracklight.types import Delta, Kind, Point, Series, SeriesSummary, SharedTag, TagInfo

if TYPE_CHECKING:
    from tracklight.analysis.debugger.library import DebuggerLibrary, DumpMonitor, HealthMonitor


log = logging.getLogger(__name__)

#: How often to check whether another server has changed the notes.
_POLL_INTERVAL_S = 2.0
_STOP_TIMEOUT_S = 0.5
#: Alerts that are published at once: a page that receives one fetches the whole list anyway.
_MAX_PUBLISHED_ALERTS = 50

#: Messages to the thread of the service.
_STOP, _RELOAD = object(), object()


# ---- evaluation


class MonitoredLog(Protocol):
    """What the monitor needs of a log."""

    def tags(self, run: str) -> tuple[TagInfo, ...]: ...

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]: ...

    def scalar(self, run: str, tag: str) -> Series: ...

    def summaries(self, keys: Sequence[tuple[str, str]]) -> Sequence[SeriesSummary | None]: ...


class _WatchedRule:
    """A rule with its state on every series that it has matched."""

    def __init__(self, rule: AlertRule) -> None:
        self.rule = rule
        self.matches = compile_series_pattern(rule.tag)
        self.states: dict[tuple[str, str], RuleState] = {}


class AlertMonitor:
    """Evaluate rules on the points that were added since the last check.

    On series that exist when a rule is added, only the last point counts, so that old violations
    raise no alerts. Must not be called from two threads at once.
    """

    def __init__(self, log: MonitoredLog) -> None:
        self.alerts = AlertLog()
        self._log = log
        self._watched: list[_WatchedRule] = []
        self._checked_counts: dict[tuple[str, str], int] = {}

    def set_rules(self, rules: Iterable[AlertRule], runs: Iterable[str]) -> list[Alert]:
        """Replace the rules and return the alerts that new rules raise in ``runs`` at once."""
        before = {watched.rule: watched for watched in self._watched}
        self._watched = [before.get(rule) or _WatchedRule(rule) for rule in rules]
        added = [watched for watched in self._watched if watched.rule not in before]
        current = {watched.rule for watched in self._watched}
        self.alerts.remove_rules({rule.id for rule in before if rule not in current})
        return self._check_summaries(list(runs), added) if added else []

    def check_current_state(self, runs: Sequence[str]) -> list[Alert]:
        """Return the alerts that the last points of runs raise."""
        return self._check_summaries(runs, self._watched)

    def check_new_points(self, runs: Iterable[str]) -> list[Alert]:
        """Return the alerts that new points of runs raise, and those that they resolve."""
        return [alert for run in runs for alert in _ignore_removed_run(self._check_run(run))]

    def list_unmatched(self) -> list[AlertRule]:
        """Return the rules that no series has matched so far."""
        return [watched.rule for watched in self._watched if not watched.states]

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Forget runs that were removed, or that are to be checked as if they were new."""
        removed = frozenset(runs)
        counts = self._checked_counts.items()
        self._checked_counts = {key: count for key, count in counts if key[0] not in removed}
        for watched in self._watched:
            for key in [key for key in watched.states if key[0] in removed]:
                del watched.states[key]
        self.alerts.remove_runs(removed)

    def _check_summaries(self, runs: Sequence[str], rules: Sequence[_WatchedRule]) -> list[Alert]:
        # Tag by tag: one run at a time would take minutes for 100,000 runs.
        prefix = self._get_prefix()
        alerts: list[Alert] = []
        for shared in self._log.shared_tags(runs) if rules else ():
            tag = shared.tag
            if shared.kind is not Kind.SCALAR or not tag.startswith(prefix):
                continue
            matches = {
                run: matching
                for run in shared.runs
                if (matching := [watched for watched in rules if watched.matches(run, tag)])
            }
            summaries = self._log.summaries([(run, tag) for run in matches])
            for (run, matching), summary in zip(matches.items(), summaries, strict=True):
                if summary is not None:
                    if not any((run, tag) in watched.states for watched in self._watched):
                        self._checked_counts[run, tag] = summary.count
                    evaluate = partial(evaluate_summary, summary=summary)
                    alerts += self._evaluate(matching, run, tag, evaluate)
        return alerts

    def _check_run(self, run: str) -> Iterator[Alert]:
        prefix = self._get_prefix()
        for info in self._log.tags(run) if self._watched else ():
            if info.kind is not Kind.SCALAR or not info.tag.startswith(prefix):
                continue
            matching = [watched for watched in self._watched if watched.matches(run, info.tag)]
            checked = self._checked_counts.get((run, info.tag), 0)
            if matching and checked != info.count:
                points = self._read_new_points(run, info.tag, checked)
                evaluate = partial(evaluate_points, points=points)
                yield from self._evaluate(matching, run, info.tag, evaluate)

    def _read_new_points(self, run: str, tag: str, checked: int) -> Points:
        series = self._log.scalar(run, tag)
        self._checked_counts[run, tag] = len(series)
        # A series that has become shorter was replaced by another one of the same name.
        return slice_points(series, checked if checked <= len(series) else 0)

    def _evaluate(
        self,
        rules: Iterable[_WatchedRule],
        run: str,
        tag: str,
        evaluate: Callable[[AlertRule, RuleState], Point | None],
    ) -> Iterator[Alert]:
        for watched in rules:
            rule = watched.rule
            state = watched.states.setdefault((run, tag), RuleState())
            violation = evaluate(rule, state)
            if violation is not None:
                yield from self.alerts.resolve(rule.id, run, tag)
                yield self.alerts.fire(rule, run, tag, violation, state)
            if not state.is_violated:
                yield from self.alerts.resolve(rule.id, run, tag)

    def _get_prefix(self) -> str:
        """Return what the tags that any rule can match begin with."""
        # Mostly there are only built-in rules, and a log may have millions of tags.
        has_others = any(watched.rule not in BUILT_IN_RULES for watched in self._watched)
        return "" if has_others else BUILT_IN_TAG_PREFIX


def _ignore_removed_run(alerts: Iterator[Alert]) -> Iterator[Alert]:
    """Yield alerts until they end or the run is removed meanwhile."""
    with contextlib.suppress(LogError):
        yield from alerts


# ---- the service


@dataclass(frozen=True)
class AlertSettings:
    """Alert options of the command line."""

    rules: tuple[AlertRule, ...] = ()
    webhook: str | None = None
    """URL that alerts are sent to."""
    debugger_kinds: frozenset[AlertKind] = DEFAULT_ALERT_KINDS
    """Problems in dumps and recordings that raise an alert without a rule."""


NO_ALERTS = AlertSettings()


class AlertRuleRow(AlertRule, frozen=True):
    """A rule; a ``fixed`` one was given on the command line and cannot be changed."""

    fixed: bool = False


class AlertsResponse(msgspec.Struct):
    """All rules, and the alerts: firing ones first, each newest first."""

    rules: list[AlertRuleRow]
    alerts: list[Alert]
    webhook: bool


class RuleStore(Protocol):
    """Where rules are stored together with other notes; `NotesStore` implements it."""

    def read_rules(self) -> tuple[int, tuple[AlertRule, ...]]:
        """Return the revision of all notes, and the rules."""

    def save_rules(self, rules: tuple[AlertRule, ...]) -> None: ...


class AlertService:
    """Check the rules of one server in the background."""

    def __init__(
        self, source: LogSource, store: RuleStore, live: LiveUpdates, settings: AlertSettings
    ) -> None:
        self._source = source
        self._store = store
        self._live = live
        self._settings = settings
        self._monitor = AlertMonitor(source)
        self._alerts_on_non_finite = any(kind.is_non_finite for kind in settings.debugger_kinds)
        self._webhook = self._create_webhook(settings.webhook) if settings.webhook else None
        self._webhook_problem: Message | None = None
        self._revision = -1
        self._is_first_refresh = True
        self._queue: queue.Queue[object] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="tracklight-alerts", daemon=True)

    # The following may be called from any thread.

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
        """Listen to the refresher; None means that a refresh begins or has failed."""
        if delta is not None:
            self._queue.put(delta)

    def request_reload(self) -> None:
        """Read the notes again now, as they have just been changed."""
        self._queue.put(_RELOAD)

    def set_rules(self, rules: list[AlertRule]) -> None:
        """Replace the stored rules; those of the command line stay.

        Raises:
            UsageError: A rule is invalid, or two rules have the same id.
        """
        fixed = {rule.id for rule in self._settings.rules}
        stored = tuple(rule for rule in rules if rule.id not in fixed)
        if len({rule.id for rule in stored}) < len(stored):
            raise UsageError("alerts.duplicate_id", "two rules have the same id")
        for rule in stored:
            validate_rule(rule)
        self._store.save_rules(stored)
        self.request_reload()

    def create_response(self) -> AlertsResponse:
        _, stored = self._store.read_rules()
        rows = [_make_rule_row(rule, fixed=True) for rule in self._settings.rules]
        rows += [_make_rule_row(rule, fixed=False) for rule in stored]
        return AlertsResponse(rows, self._monitor.alerts.list_newest(), self._webhook is not None)

    # The following runs in the thread of the service. The code of the debugger is imported when
    # the log has been read, so that it does not delay the first response.

    @cached_property
    def _dumps(self) -> DumpMonitor:
        from tracklight.analysis.debugger.library import DumpMonitor

        return DumpMonitor(self._source)

    @cached_property
    def _health(self) -> HealthMonitor:
        from tracklight.analysis.debugger.library import HealthMonitor

        return HealthMonitor(self._source, self._settings.debugger_kinds)

    @cached_property
    def _library(self) -> DebuggerLibrary:
        from tracklight.analysis.debugger.library import DebuggerLibrary

        return DebuggerLibrary(self._source, max_open=0)

    def _run(self) -> None:
        while True:
            delay_s = None if self._is_first_refresh else self._health.find_delay_s()
            timeout_s = _POLL_INTERVAL_S if delay_s is None else min(delay_s, _POLL_INTERVAL_S)
            try:
                message = self._queue.get(timeout=timeout_s)
            except queue.Empty:
                message = _RELOAD
            if message is _STOP:
                return
            try:
                self._reload_rules()
                if isinstance(message, Delta):
                    self._check_delta(message)
                elif not self._is_first_refresh and self._health.find_delay_s() == 0:
                    self._check_health()
            except Exception:  # an error in one check must not end the thread
                log.exception("checking alerts failed")

    def _reload_rules(self) -> None:
        revision, stored = self._store.read_rules()
        if revision == self._revision:
            return
        rules = [*self._settings.rules, *stored]
        # Mostly there are only built-in rules, and listing thousands of runs takes a while.
        runs = [run.name for run in self._source.runs()] if rules else []
        built_in = BUILT_IN_RULES if self._alerts_on_non_finite else ()
        self._monitor.set_rules([*built_in, *rules], runs)
        if self._revision >= 0:
            self._live.publish_revision(NotesEvent(revision))
        self._revision = revision

    def _check_delta(self, delta: Delta) -> None:
        self._monitor.remove_runs(delta.removed)
        self._dumps.remove_runs(delta.removed)
        self._health.remove_runs(delta.removed)
        runs = [*delta.added, *delta.changed]
        is_first, self._is_first_refresh = self._is_first_refresh, False
        if is_first:
            self._publish(self._monitor.check_current_state(runs), is_new=False)
            if runs:
                self._warn_unmatched()
        else:
            self._publish(self._monitor.check_new_points(runs), is_new=True)
        if self._alerts_on_non_finite:
            alerts = [
                self._monitor.alerts.fire_dump(
                    item, self._library.find_dump(item.prefix) or item.run
                )
                for item in self._dumps.check(runs)
            ]
            self._publish(alerts, is_new=not is_first)
        self._health.add_runs(runs, is_new=not is_first)

    def _check_health(self) -> None:
        changes, log = self._health.check_next(), self._monitor.alerts
        ended = [alert for item in changes.ended for alert in log.resolve_problem(item)]
        found = [log.fire_problem(item) for item in changes.found]
        self._publish([*ended, *found], is_new=changes.is_new)

    def _warn_unmatched(self) -> None:
        """Warn about rules of the command line that match none of the tags logged so far."""
        for rule in self._monitor.list_unmatched():
            if rule in self._settings.rules:
                log.warning('note: the alert pattern "%s" matches no scalar tag yet', rule.tag)

    def _publish(self, alerts: Sequence[Alert], *, is_new: bool) -> None:
        for alert in alerts[-_MAX_PUBLISHED_ALERTS:]:
            self._live.publish("alert", alert)
        # After a restart, violations of last week are not sent to the webhook again.
        if self._webhook and is_new:
            for alert in alerts:
                if not alert.resolved:
                    self._webhook.send(alert)

    def _create_webhook(self, url: str) -> Webhook:
        # Loading an HTTP client takes a while, and few servers have a webhook.

        return Webhook(url, self._report_webhook_problem)

    def _report_webhook_problem(self, problem: Message | None) -> None:
        """Show a problem on the page in place of the previous one; None removes it."""
        if problem != self._webhook_problem:
            others = [
                server_problem
                for server_problem in self._live.server_problems
                if server_problem != self._webhook_problem
            ]
            self._live.server_problems[:] = [*others, *([problem] if problem else [])]
            self._webhook_problem = problem
            self._live.notifier.notify()


def _make_rule_row(rule: AlertRule, *, fixed: bool) -> AlertRuleRow:
    return AlertRuleRow(**msgspec.structs.asdict(rule), fixed=fixed)


# ---- webhook

_TIMEOUT_S = 10.0
_RETRY_DELAYS_S = (1.0, 5.0, 25.0)
_MAX_QUEUED_MESSAGES = 1000
#: Client errors that are worth a retry; all others are final.
_RETRYABLE_STATUS = frozenset({408, 425, 429})


def validate_webhook_url(url: str) -> str:
    """Return ``url`` if alerts can be sent there.

    Raises:
        UsageError: It is not an HTTP URL.
    """
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f'the webhook must be an http:// or https:// URL, not "{url}"')
    return url


class Webhook:
    """Send JSON messages to a URL one after the other.

    Args:
        url: Where to send them. Only its host name is ever shown: the rest may be a secret.
        report_problem: Called with a message when sending has failed for good, and with None when
            it works again.
        retry_delays_s: How long to wait before each retry.
    """

    def __init__(
        self,
        url: str,
        report_problem: Callable[[Message | None], None] = lambda problem: None,
        retry_delays_s: Sequence[float] = _RETRY_DELAYS_S,
    ) -> None:
        self._url = validate_webhook_url(url)
        self._host = urlsplit(url).hostname
        self._report_problem = report_problem
        self._retry_delays_s = retry_delays_s
        self._queue: queue.Queue[bytes | None] = queue.Queue(_MAX_QUEUED_MESSAGES)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracklight-webhook", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; messages that are still queued are lost."""
        self._stop.set()
        self.send(None)
        self._thread.join(_STOP_TIMEOUT_S)

    def send(self, message: object) -> None:
        """Queue a message; it is dropped with a warning if the queue is full."""
        try:
            self._queue.put_nowait(None if message is None else msgspec.json.encode(message))
        except queue.Full:
            log.warning(
                "dropped an alert: %d are already queued for %s", _MAX_QUEUED_MESSAGES, self._host
            )

    def _run(self) -> None:
        while not self._stop.is_set():
            body = self._queue.get()
            if body is not None:
                self._report_problem(self._deliver(body))

    def _deliver(self, body: bytes) -> Message | None:
        """Send a message, with retries; return why it failed, or None."""
        for delay_s in (*self._retry_delays_s, None):
            failure, is_final = self._post(body)
            if failure is None:
                return None
            log.warning("sending an alert to %s failed: %s", self._host, failure)
            if is_final or delay_s is None or self._stop.wait(delay_s):
                break
        return Message.format(
            "alerts.not_sent",
            "alerts cannot be sent to {host}: {failure}",
            host=self._host,
            failure=failure,
        )

    def _post(self, body: bytes) -> tuple[str | Message | None, bool]:
        """Send a message; return why it failed, or None, and whether a retry is pointless."""
        # Few servers need these, and every import stays in memory for as long as a server runs.
        import http.client
        import urllib.error
        import urllib.request

        headers = {"content-type": "application/json", "user-agent": "tracklight"}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S):
                return None, True
        except urllib.error.HTTPError as error:
            error.close()
            is_final = error.code < 500 and error.code not in _RETRYABLE_STATUS
            message = Message.format(
                "alerts.webhook_status", "it responded with status {status}", status=error.code
            )
            return message, is_final
        except (OSError, http.client.HTTPException) as error:
            return str(getattr(error, "reason", None) or error or type(error).__name__), False
