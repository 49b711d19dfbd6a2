"""Lists the tags of a run: thousands of them from a few tables, none of their rows touched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tracklight.index.file import EventFile
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
    shares = [_Shares(file) for file in run.files]
    restarted = any(session.start is not None for file in run.files for session in file.sessions)
    infos = (
        _tag_info(run, tag, sources, shares, restarted) for tag, sources in run.sources().items()
    )
    return tuple(sorted(infos, key=lambda info: _tag_key(info.tag)))


class _Shares:
    """The shares of one file in all its tags, by their number."""

    def __init__(self, file: EventFile) -> None:
        self.points = _rows(survey_points(file))
        self.others = _rows(survey_references(file))


def _rows(table: Survey) -> list[_Share]:
    columns = (getattr(table, name).tolist() for name in _COLUMNS)
    return list(map(_Share._make, zip(*columns, strict=True)))


def _tag_info(
    run: RunIndex,
    tag: str,
    sources: Sequence[Source],
    shares: Sequence[_Shares],
    restarted: bool,
) -> TagInfo:
    points = [p for file, series in sources if (p := shares[file].points[series]).values]
    others = [p for file, series in sources if (p := shares[file].others[series]).values]
    both = points + others
    first = min(both, key=lambda share: share.first_wall) if points and others else both[0]
    last = max(both, key=lambda share: share.last_wall) if points and others else both[-1]
    metadata = run.metadata(sources)
    plugin = run.plugin(sources)
    return TagInfo(
        tag=tag,
        plugin=plugin,
        kind=kind_of(plugin, bool(points)),
        count=sum(share.values for share in both),
        overwritten=_count_overwritten(run, tag, points, others, restarted),
        first=Stamp(first.first_step, first.first_wall),
        last=Stamp(last.last_step, last.last_wall),
        display_name=metadata.display_name,
        description=metadata.description,
    )


def _count_overwritten(
    run: RunIndex,
    tag: str,
    points: Sequence[_Share],
    others: Sequence[_Share],
    restarted: bool,
) -> int:
    """Mostly none, which the shares alone tell."""
    count = 0
    if points and (restarted or not _keeps_rising(points)):
        count += int(run.scalar(tag).overwritten.sum())
    if others and (restarted or not _keeps_rising(others)):
        count += int(run.located(tag).overwritten.sum())
    return count


def _keeps_rising(shares: Sequence[_Share]) -> bool:
    return all(share.rises for share in shares) and all(
        before.last_step < after.first_step
        for before, after in zip(shares, shares[1:], strict=False)
    )
