"""Changes between refreshes of a log, down to the new points of every series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tracklight.errors import LogError
from tracklight.index.catalog import Catalog
from tracklight.types import Float64, Int64, Kind, RunInfo, Series, TagInfo

Tags = Mapping[str, TagInfo]


@dataclass(frozen=True)
class LogChanges:
    """What has changed in a log since the last refresh.

    Attributes:
        added: New runs.
        removed: Runs that no longer exist.
        changed: Existing runs with new values, files or tags.
        new_tags: The new tags of each run.
        updated_tags: The tags of each run with new values of any kind, including new tags.
        points: The new scalar points, by run and tag.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    new_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    updated_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    points: Mapping[tuple[str, str], Series] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __repr__(self) -> str:
        points = sum(map(len, self.points.values()))
        counts = (
            f"{len(self.added)} added, {len(self.removed)} removed, {len(self.changed)} changed"
        )
        return f"<LogChanges: runs {counts}; {points:,} new points in {len(self.points):,} series>"


class ChangeTracker:
    """Compares a log with its state at the last call, run by run.

    Unchanged runs cost only a comparison of their run info. If a run has several event files, new
    points may be inserted before known ones (the file of another writer is listed first). The
    steps and times of its series are kept to find them.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._runs = {run.name: run for run in catalog.runs()}
        self._tags = {name: self._list_tags(name) for name in self._runs}
        self._known = {
            (name, tag): _KnownPoints.of(catalog.scalar(name, tag))
            for name, run in self._runs.items()
            if run.files > 1
            for tag, info in self._tags[name].items()
            if info.kind is Kind.SCALAR
        }

    def collect_changes(self) -> LogChanges:
        """Return the changes since the last call."""
        before, self._runs = self._runs, {run.name: run for run in self._catalog.runs()}
        added = tuple(name for name in self._runs if name not in before)
        removed = tuple(name for name in before if name not in self._runs)
        changed = tuple(
            name for name, run in self._runs.items() if name in before and run != before[name]
        )
        self._forget(removed)
        new_tags: dict[str, tuple[str, ...]] = {}
        updated: dict[str, tuple[str, ...]] = {}
        points: dict[tuple[str, str], Series] = {}
        for name in (*added, *changed):
            old = self._tags.get(name, {})
            now = self._tags[name] = self._list_tags(name)
            grown = [info for tag, info in now.items() if info != old.get(tag)]
            if fresh := tuple(tag for tag in now if tag not in old):
                new_tags[name] = fresh
            if grown:
                updated[name] = tuple(info.tag for info in grown)
            for info in grown:
                new = self._collect_points(self._runs[name], info, old.get(info.tag))
                if new is not None and len(new):
                    points[name, info.tag] = new
        return LogChanges(added, removed, changed, new_tags, updated, points)

    def _list_tags(self, run: str) -> dict[str, TagInfo]:
        try:
            return {info.tag: info for info in self._catalog.tags(run)}
        except LogError:  # removed since the runs were listed
            return {}

    def _forget(self, removed: tuple[str, ...]) -> None:
        for name in removed:
            for tag in self._tags.pop(name, {}):
                self._known.pop((name, tag), None)

    def _collect_points(self, run: RunInfo, info: TagInfo, old: TagInfo | None) -> Series | None:
        if info.kind is not Kind.SCALAR:
            return None
        key = (run.name, info.tag)
        try:
            series = self._catalog.scalar(*key)
        except LogError:
            return None
        known = self._known.pop(key, None)
        if run.files > 1:
            self._known[key] = _KnownPoints.of(series)
        if known is not None:
            return series[known.find_new(series)]
        return series if old is None else series[_count_known(series, old) :]


@dataclass(frozen=True)
class _KnownPoints:
    """Steps and wall times of the known points of a series."""

    step: Int64
    wall_time: Float64

    @classmethod
    def of(cls, series: Series) -> _KnownPoints:
        return cls(series.step, series.wall_time)

    def find_new(self, series: Series) -> Int64:
        """Return the indexes of points that are not known, wherever they are."""
        count = len(self.step)
        if np.array_equal(series.step[:count], self.step) and np.array_equal(
            series.wall_time[:count], self.wall_time, equal_nan=True
        ):
            return np.arange(count, len(series))
        keys = np.empty(count + len(series), [("step", np.int64), ("wall", np.int64)])
        keys["step"] = np.concatenate([self.step, series.step])
        keys["wall"] = np.concatenate([self.wall_time, series.wall_time]).view(np.int64)
        _, groups = np.unique(keys, return_inverse=True)
        groups = groups.reshape(-1)
        left = np.bincount(groups[:count], minlength=int(groups.max(initial=0)) + 1)
        order = np.argsort(groups[count:], kind="stable")
        sorted_groups = groups[count:][order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_groups, sorted_groups)
        return np.sort(order[rank >= left[sorted_groups]])


def _count_known(series: Series, old: TagInfo) -> int:
    """Return how many points of a single-file series are known; 0 if the file was replaced."""
    count = old.count
    if not count or count > len(series) or old.last is None:
        return 0
    is_same = series.step[count - 1] == old.last.step and (
        series.wall_time[count - 1] == old.last.wall_time or np.isnan(old.last.wall_time)
    )
    return count if is_same else 0
