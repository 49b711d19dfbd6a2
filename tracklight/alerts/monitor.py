"""Looks at what changed in a log and says which rules that broke or mended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol

from tracklight.alerts.fired import Alarms, Fired
from tracklight.alerts.judge import Points, Verdict, judge, judge_digest, take_points
from tracklight.errors import LogError
from tracklight.logdir.globs import compile_series_pattern
from tracklight.notes.book import Rule
from tracklight.types import Digest, Kind, Point, Series, TagInfo


class Log(Protocol):
    """What the monitor needs of a log."""

    def tags(self, run: str) -> tuple[TagInfo, ...]: ...

    def scalar(self, run: str, tag: str) -> Series: ...

    def digests(self, keys: Sequence[tuple[str, str]]) -> Sequence[Digest | None]: ...


class _Watched:
    """One rule with all series that it was held against."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.matches = compile_series_pattern(rule.tag)
        self.verdicts: dict[tuple[str, str], Verdict] = {}


class Monitor:
    """Holds rules against the points that came since it last looked.

    What is there when a rule is new is judged by its present state only: nobody wants to hear of
    every spike of last year. Not to be called from two threads at once.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._watched: list[_Watched] = []
        self._seen: dict[tuple[str, str], int] = {}
        self.alarms = Alarms()

    def set_rules(self, rules: Iterable[Rule], runs: Iterable[str]) -> list[Fired]:
        """Watch these rules from now on; the alarms that new ones raise at once."""
        known = {watched.rule: watched for watched in self._watched}
        self._watched = [known.get(rule) or _Watched(rule) for rule in rules]
        fresh = [watched for watched in self._watched if watched.rule not in known]
        kept = {watched.rule for watched in self._watched}
        self.alarms.forget_rules({rule.id for rule in known if rule not in kept})
        if not fresh:
            return []
        return [fired for run in runs for fired in _while_there(self._meet(run, fresh))]

    def meet(self, runs: Iterable[str]) -> list[Fired]:
        """Take runs as they are; the alarms that their present state raises."""
        return [fired for run in runs for fired in _while_there(self._meet(run, self._watched))]

    def follow(self, runs: Iterable[str]) -> list[Fired]:
        """Look at the new points of runs; the alarms they raised, and those they ended."""
        return [fired for run in runs for fired in _while_there(self._follow(run))]

    def list_unmatched(self) -> list[Rule]:
        """Return the rules that no series has matched so far."""
        return [watched.rule for watched in self._watched if not watched.verdicts]

    def forget(self, runs: Iterable[str]) -> None:
        """Runs that are gone, or that are to be read as if they were new."""
        gone = frozenset(runs)
        self._seen = {key: seen for key, seen in self._seen.items() if key[0] not in gone}
        for watched in self._watched:
            for key in [key for key in watched.verdicts if key[0] in gone]:
                del watched.verdicts[key]
        self.alarms.forget_runs(gone)

    def _meet(self, run: str, fresh: Sequence[_Watched]) -> Iterator[Fired]:
        met = [
            (info, meant)
            for info in self._iter_scalars(run)
            if (meant := [watched for watched in fresh if watched.matches(run, info.tag)])
        ]
        digests = self._log.digests([(run, info.tag) for info, _ in met])
        for (info, meant), digest in zip(met, digests, strict=True):
            if digest is not None:
                if not any((run, info.tag) in watched.verdicts for watched in self._watched):
                    self._seen[run, info.tag] = info.count
                yield from self._hold(meant, run, info.tag, partial(judge_digest, digest=digest))

    def _follow(self, run: str) -> Iterator[Fired]:
        for info in self._iter_scalars(run):
            meant = [watched for watched in self._watched if watched.matches(run, info.tag)]
            seen = self._seen.get((run, info.tag), 0)
            if meant and seen != info.count:
                points = self._take_points(run, info.tag, seen)
                yield from self._hold(meant, run, info.tag, partial(judge, points=points))

    def _take_points(self, run: str, tag: str, seen: int) -> Points:
        series = self._log.scalar(run, tag)
        self._seen[run, tag] = len(series)
        # A series that became shorter is another one under the same name.
        return take_points(series, seen if seen <= len(series) else 0)

    def _hold(
        self,
        meant: Iterable[_Watched],
        run: str,
        tag: str,
        look: Callable[[Rule, Verdict], Point | None],
    ) -> Iterator[Fired]:
        for watched in meant:
            rule = watched.rule
            verdict = watched.verdicts.setdefault((run, tag), Verdict())
            news = look(rule, verdict)
            if news is not None:
                yield from self.alarms.settle(rule.id, run, tag)
                yield self.alarms.ring(rule, run, tag, news, verdict)
            if not verdict.broken:
                yield from self.alarms.settle(rule.id, run, tag)

    def _iter_scalars(self, run: str) -> Iterator[TagInfo]:
        if self._watched:
            yield from (info for info in self._log.tags(run) if info.kind is Kind.SCALAR)


def _while_there(news: Iterator[Fired]) -> Iterator[Fired]:
    """A run may be removed while it is looked at."""
    with contextlib.suppress(LogError):
        yield from news
