"""Watches over rules while the server runs, and tells pages and a webhook of alarms.

All of it happens in one thread of its own. The follower only leaves there what changed; the same
thread notices when the rules, or other notes, were changed by this server or by another one.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tracklight.alerts.fired import Fired
from tracklight.alerts.monitor import Monitor
from tracklight.alerts.rules import check_rule
from tracklight.errors import UsageError
from tracklight.notes.book import Rule
from tracklight.notes.store import Store
from tracklight.server.live import Live
from tracklight.server.source import Source
from tracklight.types import Delta

if TYPE_CHECKING:
    from tracklight.alerts.webhook import Webhook

log = logging.getLogger(__name__)

#: How often to look whether another server changed the notes.
_LOOK_S = 2.0
_JOIN_S = 0.5
#: Of a thousand alarms at once these will do: a page that hears of one asks for all.
_MOST_SAID = 50
_STOP, _LOOK = object(), object()


@dataclass(frozen=True)
class AlertSettings:
    """What the command line says: rules that hold for this server, and where alarms go to."""

    rules: tuple[Rule, ...] = ()
    webhook: str | None = None


NO_ALERTS = AlertSettings()


class RuleRow(Rule, frozen=True):
    """A rule; a fixed one was given on the command line and cannot be changed here."""

    fixed: bool = False


class AlertsAnswer(msgspec.Struct):
    """The rules, and the alarms: first those that ring, the newest first."""

    rules: list[RuleRow]
    fired: list[Fired]
    webhook: bool


class Alerts:
    """The rules of one server and what became of them."""

    def __init__(self, source: Source, store: Store, live: Live, settings: AlertSettings) -> None:
        self._source = source
        self._store = store
        self._live = live
        self._settings = settings
        self._monitor = Monitor(source)
        self._webhook = self._create_webhook(settings.webhook) if settings.webhook else None
        self._complaint: str | None = None
        self._revision = -1
        self._is_first = True
        self._news: queue.Queue[object] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name="tracklight-alerts", daemon=True)

    # ---- in any thread

    def start(self) -> None:
        self._thread.start()
        if self._webhook:
            self._webhook.start()

    def stop(self) -> None:
        self._news.put(_STOP)
        self._thread.join(_JOIN_S)
        if self._webhook:
            self._webhook.stop()

    def hear(self, delta: Delta | None) -> None:
        """Of what a refresh changed."""
        if delta is not None:
            self._news.put(delta)

    def look(self) -> None:
        """Look at the notes now, as they have just been changed."""
        self._news.put(_LOOK)

    def set_rules(self, rules: list[Rule]) -> None:
        """Keep these rules in the place of those kept before."""
        taken = {rule.id for rule in self._settings.rules}
        own = tuple(rule for rule in rules if rule.id not in taken)
        if len({rule.id for rule in own}) < len(own):
            raise UsageError("two rules have the same id")
        for rule in own:
            check_rule(rule)
        self._store.change(lambda book: book.with_rules(own))
        self.look()

    def answer(self) -> AlertsAnswer:
        rows = [_row(rule, fixed=True) for rule in self._settings.rules]
        rows += [_row(rule, fixed=False) for rule in self._store.read().rules]
        return AlertsAnswer(rows, self._monitor.alarms.newest(), self._webhook is not None)

    # ---- in the thread

    def _run(self) -> None:
        while True:
            try:
                news = self._news.get(timeout=_LOOK_S)
            except queue.Empty:
                news = _LOOK
            if news is _STOP:
                return
            try:
                self._look()
                if isinstance(news, Delta):
                    self._follow(news)
            except Exception:
                # A fault in one look must not end the watch.
                log.exception("looking after alerts failed")

    def _look(self) -> None:
        book = self._store.read()
        if book.revision == self._revision:
            return
        rules = [*self._settings.rules, *book.rules]
        # Most boards have no rules, and listing thousands of runs takes a while.
        runs = [run.name for run in self._source.runs()] if rules else []
        self._monitor.set_rules(rules, runs)
        if self._revision >= 0:
            self._live.say("notes", {"revision": book.revision})
        self._revision = book.revision

    def _follow(self, delta: Delta) -> None:
        self._monitor.forget(delta.removed)
        grown = [*delta.added, *delta.changed]
        if self._is_first:
            self._is_first = False
            self._tell(self._monitor.meet(grown), is_new=False)
            if grown:
                self._warn_unmatched()
        else:
            self._tell(self._monitor.follow(grown), is_new=True)

    def _warn_unmatched(self) -> None:
        """Name alerts of the command line that cannot fire with the tags logged so far."""
        for rule in self._monitor.list_unmatched():
            if rule in self._settings.rules:
                log.warning('note: the alert pattern "%s" matches no scalar tag yet', rule.tag)

    def _tell(self, fired: Sequence[Fired], *, is_new: bool) -> None:
        """Only what is new goes out of the house: a restart must not ring for last week."""
        for one in fired[-_MOST_SAID:]:
            self._live.say("alert", one)
        if self._webhook and is_new:
            for one in fired:
                if not one.recovered:
                    self._webhook.send(one)

    def _create_webhook(self, url: str) -> Webhook:
        # An HTTP client takes its time to load, and few boards have a webhook.
        from tracklight.alerts.webhook import Webhook

        return Webhook(url, self._complain)

    def _complain(self, sentence: str | None) -> None:
        if sentence != self._complaint:
            rest = [remark for remark in self._live.remarks if remark != self._complaint]
            self._live.remarks[:] = [*rest, *([sentence] if sentence else [])]
            self._complaint = sentence
            self._live.bell.ring()


def _row(rule: Rule, *, fixed: bool) -> RuleRow:
    return RuleRow(**msgspec.structs.asdict(rule), fixed=fixed)
