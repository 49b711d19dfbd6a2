"""Runs of a group as one band: a line in their middle, and how far they spread around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.dashboards.scalars.answers import BandRow
from tracklight.dashboards.scalars.asks import Center, Group, QueryAsk, Spread
from tracklight.dashboards.scalars.choice import Key
from tracklight.dashboards.scalars.student import quantiles
from tracklight.index.lens import Lens
from tracklight.index.sampling import Places, Sample, Samples, join_places
from tracklight.plugin import Source
from tracklight.types import Float64

#: Cells of all runs of one chart that are put together.
_MOST_CELLS = 4_000_000
_FEWEST_PLACES = 100


@dataclass(frozen=True)
class Bands:
    """The bands of one chart."""

    log: Source
    ask: QueryAsk
    lens: Lens

    def make(self, keys: Sequence[Key], start: float, stop: float) -> list[BandRow]:
        """A band for each group and tag that some of these series belong to."""
        most = max(_FEWEST_PLACES, min(2 * self.ask.width, _MOST_CELLS // len(keys)))
        seen = self.log.query(keys, self.lens, Places(start, stop, most))
        places = join_places(seen, start, stop, most)
        if not len(places):
            return []
        view = Sample(places, extremes=self.ask.band == "minmax")
        samples = dict(zip(keys, self.log.query(keys, self.lens, view), strict=True))
        return [
            self._band(group.key, tag, places, [samples[key] for key in own])
            for group, tag, own in _iter_members(self.ask.groups or (), keys)
        ]

    @np.errstate(all="ignore")
    def _band(self, group: str, tag: str, places: Float64, samples: list[Samples]) -> BandRow:
        values = np.array([one.value for one in samples])
        reached = ~np.isnan(values).all(axis=0)
        values = values[:, reached]
        center = find_center(values, self.ask.center)
        if self.ask.band == "minmax":
            low = np.fmin.reduce([one.low[reached] for one in samples])
            high = np.fmax.reduce([one.high[reached] for one in samples])
        else:
            reach = find_reach(values, self.ask.band)
            low, high = center - reach, center + reach
        return BandRow(group, tag, len(samples), places[reached], center, low, high)


def find_center(values: Float64, center: Center) -> Float64:
    """The middle of each column, which has at least one value."""
    middle: Float64 = (
        np.nanmean(values, axis=0) if center == "mean" else np.nanmedian(values, axis=0)
    )
    return middle


def find_reach(values: Float64, spread: Spread) -> Float64:
    """How far a band reaches to each side of its middle; a run alone has no band."""
    count = np.sum(~np.isnan(values), axis=0)
    several = np.maximum(count - 1, 1)
    squares = (values - np.nanmean(values, axis=0)) ** 2
    deviation: Float64 = np.sqrt(np.nansum(squares, axis=0) / several)
    if spread == "std":
        return deviation
    error: Float64 = deviation / np.sqrt(count)
    return error if spread == "stderr" else error * quantiles(several)


def _iter_members(
    groups: Sequence[Group], keys: Sequence[Key]
) -> Iterator[tuple[Group, str, list[Key]]]:
    tags = dict.fromkeys(tag for _, tag in keys)
    there = frozenset(keys)
    for tag in tags:
        for group in groups:
            own = [(run, tag) for run in group.runs if (run, tag) in there]
            if own:
                yield group, tag, own
