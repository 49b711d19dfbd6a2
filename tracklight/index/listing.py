"""Lists the tags of a run: thousands of them from a few tables, none of their rows touched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tracklight.index.kinds import kind_of
from tracklight.index.run import RunIndex, Source
from tracklight.index.survey import Survey, survey_points, survey_references
from tracklight.logdir.natural import natural_key
from tracklight.types import Stamp, TagInfo

#: The runs of one log mostly have the same tags.
_tag_key = lru_cache(maxsize=1 << 17)(natural_key)


_COLUMNS = ("count", "first_step", "first_wall", "last_step", "last_wall", "rises")


class _Share(NamedTuple):
    """One file's share of one tag, either its points or its other values."""

    values: int
    first_step: int
    first_wall: float
    last_step: int
    last_wall: float
    rises: bool


def list_tags(run: RunIndex) -> tuple[TagInfo, ...]:
    """Every tag of a run, in natural order."""
    lister = _Lister(run)
    infos = [lister.tag_info(tag, sources) for tag, sources in run.sources().items()]
    return tuple(sorted(infos, key=lambda info: _tag_key(info.tag)))


class _Lister:
    """Puts the shares of a run's files together, tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        self._run = run
        self._points = [_shares(survey_points(file)) for file in run.files]
        self._others = [_shares(survey_references(file)) for file in run.files]
        sessions = [session for file in run.files for session in file.sessions]
        self._restarted = any(session.start is not None for session in sessions)

    def tag_info(self, tag: str, sources: Sequence[Source]) -> TagInfo:
        points = [s for file, series in sources if (s := self._points[file][series]).values]
        others = [s for file, series in sources if (s := self._others[file][series]).values]
        first, last = _ends(points, others)
        metadata, plugin = self._run.describe(sources)
        return TagInfo(
            tag,
            plugin,
            kind_of(plugin, bool(points)),
            sum([share.values for share in points + others]),
            self._count_overwritten(tag, points, others),
            Stamp(first.first_step, first.first_wall),
            Stamp(last.last_step, last.last_wall),
            metadata.display_name,
            metadata.description,
        )

    def _count_overwritten(
        self, tag: str, points: Sequence[_Share], others: Sequence[_Share]
    ) -> int:
        """Mostly none, which the shares alone tell."""
        count = 0
        if points and (self._restarted or not _keeps_rising(points)):
            count += int(self._run.scalar(tag).overwritten.sum())
        if others and (self._restarted or not _keeps_rising(others)):
            count += int(self._run.located(tag).overwritten.sum())
        return count


def _shares(table: Survey) -> list[_Share]:
    columns = (getattr(table, name).tolist() for name in _COLUMNS)
    return list(map(_Share._make, zip(*columns, strict=True)))


def _ends(points: Sequence[_Share], others: Sequence[_Share]) -> tuple[_Share, _Share]:
    """The shares with the first and the last value; by the clock if a tag has both sorts."""
    if points and others:
        both = [*points, *others]
        return min(both, key=lambda s: s.first_wall), max(both, key=lambda s: s.last_wall)
    either = points or others
    return either[0], either[-1]


def _keeps_rising(shares: Sequence[_Share]) -> bool:
    if len(shares) == 1:
        return shares[0].rises
    return all(share.rises for share in shares) and all(
        before.last_step < after.first_step
        for before, after in zip(shares, shares[1:], strict=False)
    )
