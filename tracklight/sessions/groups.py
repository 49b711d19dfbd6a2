"""Repeats of one trial as one row, with the mean, median, lowest or highest of each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracklight.sessions.session import Session
from tracklight.types import Float64, Int64

Over = Literal["mean", "median", "min", "max"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Names of groups in the order of their first sessions, and the group of each session."""

    names: list[str]
    of: Int64
    """For each session, the place of its group."""

    @property
    def counts(self) -> Int64:
        return np.bincount(self.of, minlength=len(self.names))

    @property
    def firsts(self) -> Int64:
        """The first session of each group, whose hyperparameters are those of the group."""
        return np.unique(self.of, return_index=True)[1]

    def members(self) -> list[list[int]]:
        """The sessions of each group."""
        own: list[list[int]] = [[] for _ in self.names]
        for row, group in enumerate(self.of.tolist()):
            own[group].append(row)
        return own


def find_groups(sessions: Sequence[Session]) -> Groups:
    """As the sessions say, which is as TensorBoard groups them."""
    names = {name: place for place, name in enumerate(dict.fromkeys(s.group for s in sessions))}
    return Groups([*names], np.array([names[s.group] for s in sessions], np.int64))


@dataclass(frozen=True, eq=False)
class Merged:
    """A metric of each group: NaN steps where no session has it."""

    values: Float64
    steps: Float64
    deviation: Float64
    """How far repeats lie apart: their standard deviation, zero for a single one."""


def merge(groups: Groups, values: Float64, steps: Float64, over: Over) -> Merged:
    """Sessions without the metric do not count."""
    count = len(groups.names)
    merged = Merged(np.full(count, np.nan), np.full(count, np.nan), np.full(count, np.nan))
    there = np.flatnonzero(~np.isnan(steps))
    if len(there) == 0:
        return merged
    order = there[np.argsort(groups.of[there], kind="stable")]
    places, starts = np.unique(groups.of[order], return_index=True)
    with np.errstate(all="ignore"):  # logs hold infinities
        for place, rows in zip(places.tolist(), np.split(order, starts[1:]), strict=True):
            own = values[rows]
            if len(own) == 1:
                merged.values[place], merged.steps[place] = own[0], steps[rows[0]]
                merged.deviation[place] = 0.0
                continue
            merged.values[place] = _REDUCTIONS[over](own)
            merged.steps[place] = np.floor(np.mean(steps[rows]))
            merged.deviation[place] = np.std(own, ddof=1)
    return merged


_REDUCTIONS: dict[Over, Callable[[Float64], float]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}
