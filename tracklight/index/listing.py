"""Lists the tags of a run: thousands of them from a few tables, none of their rows touched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tracklight.index.kinds import kind_of
from tracklight.index.run import RunIndex, Source
from tracklight.index.survey import survey_points, survey_references
from tracklight.types import Stamp, TagInfo

#: One file's share of one tag, either of its points or of its other values: how many, first step
#: and time, last step and time, and whether the steps keep rising. A plain tuple, as there is
#: one for every tag of every run.
_Share = tuple[int, int, float, int, float, bool]


def list_tags(run: RunIndex) -> tuple[TagInfo, ...]:
    """Every tag of a run, in natural order."""
    lister = _Lister(run)
    return tuple([lister.tag_info(tag, sources) for tag, sources in run.sources().items()])


class _Lister:
    """Puts the shares of a run's files together, tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        self._run = run
        self._points = [survey_points(file).to_rows() for file in run.files]
        sessions = [session for file in run.files for session in file.sessions]
        self._has_others = any(session.references.blocks for session in sessions)
        self._others: list[list[_Share]] = []
        if self._has_others:
            self._others = [survey_references(file).to_rows() for file in run.files]
        self._restarted = any(session.start is not None for session in sessions)

    def tag_info(self, tag: str, sources: Sequence[Source]) -> TagInfo:
        points = [s for file, series in sources if (s := self._points[file][series])[0]]
        others: list[_Share] = []
        if self._has_others:
            others = [s for file, series in sources if (s := self._others[file][series])[0]]
        shares = points or others
        first, last = self._mixed_ends(sources) if points and others else (shares[0], shares[-1])
        metadata, plugin = self._run.describe(sources)
        return TagInfo(
            tag,
            plugin,
            kind_of(plugin, bool(points)),
            sum([share[0] for share in points + others]),
            self._count_overwritten(tag, points, others),
            Stamp(first[1], first[2]),
            Stamp(last[3], last[4]),
            metadata.display_name,
            metadata.description,
        )

    def _mixed_ends(self, sources: Sequence[Source]) -> tuple[_Share, _Share]:
        """The shares with the first and the last value of a tag that has points and others.

        Within a file, only the clock says which of the two came first.
        """
        shares = [
            [
                share
                for share in (self._points[file][series], self._others[file][series])
                if share[0]
            ]
            for file, series in sources
        ]
        shares = [found for found in shares if found]
        return min(shares[0], key=lambda s: s[2]), max(shares[-1], key=lambda s: s[4])

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


def _keeps_rising(shares: Sequence[_Share]) -> bool:
    if len(shares) == 1:
        return shares[0][5]
    return all(share[5] for share in shares) and all(
        before[3] < after[1] for before, after in pairwise(shares)
    )
