"""Notice numerical problems other than NaN and Inf while programs run, for alerts.

NaN and Inf are noticed at once: in recordings by a scalar, in dumps by `dump_monitor`. All other
kinds need the whole recording or dump. It is analyzed in the background after a change, and large
dumps are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from tracklight.analysis.debugger.alerts import AlertKind, HealthAlert
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.library import MAX_QUICK_BYTES, Analysis, DebuggerLibrary
from tracklight.analysis.source import Source
from tracklight.errors import TracklightError
from tracklight.formats.debug_events.recording import PLUGIN

#: After a check, wait for so many times as long as it took.
_PAUSE_FACTOR = 10
_MAX_PAUSE_S = 60.0


class HealthProblem(NamedTuple):
    """The first alert of a kind in a dump or recording."""

    run: str
    source: str
    """Name of the dump or recording."""
    alert: HealthAlert
    alert_count: int
    """Number of alerts of that kind."""


class HealthChanges(NamedTuple):
    """What a check has found."""

    found: list[HealthProblem]
    ended: list[HealthProblem]
    """Problems found before that are over, such as units that are no longer dead."""
    is_new: bool
    """False if the run has not changed since the monitor was started."""


class HealthMonitor:
    """Analyzes recordings and dumps that change, one run at a time.

    Must not be called from two threads at once.

    Args:
        source: The log.
        kinds: Which alerts to report; NaN and Inf are never reported here.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        source: Source,
        kinds: Collection[AlertKind],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._kinds = frozenset(kind for kind in kinds if not kind.is_non_finite)
        self._clock = clock
        self._library = DebuggerLibrary(source, max_open=1)
        self._pending: dict[str, bool] = {}
        self._next_check_s = 0.0
        self._firing: dict[tuple[str, AlertKind], HealthProblem] = {}
        self._reported: set[tuple[str, str, AlertKind]] = set()

    def add_runs(self, runs: Sequence[str], *, is_new: bool) -> None:
        """Check these runs later, if they have dumps or recordings."""
        if not self._kinds:
            return
        checked = {file.run for file in self._source.debug_files()}
        for shared in self._source.shared_tags(runs):
            if shared.plugin == PLUGIN:
                checked.update(shared.runs)
        for run in runs:
            if run in checked:
                self._pending[run] = is_new or self._pending.get(run, False)

    def remove_runs(self, runs: Iterable[str]) -> None:
        """Forget runs that were removed, so that they are checked again if they come back."""
        removed = frozenset(runs)
        self._pending = {run: it for run, it in self._pending.items() if run not in removed}
        self._firing = {key: it for key, it in self._firing.items() if it.run not in removed}
        self._reported = {key for key in self._reported if key[0] not in removed}

    def get_delay_s(self) -> float | None:
        """Return how long to wait before the next check; None if nothing is to be checked."""
        return max(self._next_check_s - self._clock(), 0.0) if self._pending else None

    def check_next(self) -> HealthChanges:
        """Analyze the dumps and recordings of the run that has waited for longest."""
        run = next(iter(self._pending))
        changes = HealthChanges([], [], self._pending.pop(run))
        start_s = self._clock()
        for name in self._library.list_names():
            try:
                if self._library.get_run(name) == run:
                    self._check_source(run, name, changes)
            except (TracklightError, OSError):
                continue  # the dashboard says why it cannot be read
        end_s = self._clock()
        self._next_check_s = end_s + min(_PAUSE_FACTOR * (end_s - start_s), _MAX_PAUSE_S)
        return changes

    def _check_source(self, run: str, name: str, changes: HealthChanges) -> None:
        if self._library.count_dump_bytes(name) > MAX_QUICK_BYTES:
            return
        problems: dict[AlertKind, HealthProblem] = {}
        for alert in _iter_causes(self._library.get(name)):
            if alert.kind in self._kinds:
                first = problems.get(alert.kind) or HealthProblem(run, name, alert, 0)
                problems[alert.kind] = first._replace(alert_count=first.alert_count + 1)
        for kind in self._kinds:
            firing = self._firing.get((name, kind))
            if kind in problems and (run, name, kind) not in self._reported:
                # A problem that ends and begins again is reported once.
                self._reported.add((run, name, kind))
                self._firing[name, kind] = problems[kind]
                changes.found.append(problems[kind])
            elif kind not in problems and firing is not None:
                del self._firing[name, kind]
                changes.ended.append(firing)


def _iter_causes(analysis: Analysis) -> Iterator[HealthAlert]:
    """Yield alerts without those that follow from NaN and Inf."""
    if isinstance(analysis, DumpAnalysis):
        yield from analysis.alerts.others
        return
    bad_steps = (it.step for it in analysis.alerts if it.kind.is_non_finite)
    first_bad_step = next(bad_steps, None)
    for alert in analysis.alerts:
        if first_bad_step is None or (alert.step or 0) < first_bad_step:
            yield alert
