"""How long each instruction of the programs that ran took."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracklight.profiles.program.cost import Cost, cost_of
from tracklight.profiles.program.kinds import kind_of
from tracklight.profiles.program.program import Placed, Placement
from tracklight.profiles.trace import Trace


class Timed(NamedTuple):
    """An instruction and how long all its runs took."""

    placed: Placed
    kind: str
    runs: int
    total_ps: int
    cost: Cost
    """Of one run."""
    longest: int
    """The event that took longest."""


def time_instructions(trace: Trace, placement: Placement) -> list[Timed]:
    """Those that took longest first."""
    events, which, places = placement
    duration = trace.duration_ps[events]
    total = np.zeros(len(places), np.int64)
    np.add.at(total, which, duration)
    runs = np.bincount(which, minlength=len(places))
    longest = np.full(len(places), -1, np.int64)
    order = np.argsort(duration, kind="stable")
    longest[which[order]] = events[order]
    timed = [
        Timed(each, kind_of(*each), int(runs[at]), int(total[at]), cost_of(*each), int(longest[at]))
        for at, each in enumerate(places)
        if runs[at]
    ]
    return sorted(_merge(timed), key=lambda each: -each.total_ps)


def _merge(timed: list[Timed]) -> list[Timed]:
    """Put those together that are one instruction: it was met under several names."""
    met: dict[tuple[int, str], Timed] = {}
    for each in timed:
        key = (each.placed.program.module.id, each.placed.instruction.name)
        known = met.get(key)
        if known is None:
            met[key] = each
            continue
        longer = known if known.total_ps >= each.total_ps else each
        met[key] = longer._replace(
            runs=known.runs + each.runs, total_ps=known.total_ps + each.total_ps
        )
    return [*met.values()]
