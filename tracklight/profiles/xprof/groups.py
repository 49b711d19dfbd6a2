"""Groups a host's events into steps as xprof does: what came of a root belongs to its group."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from tracklight.profiles.trace import Trace
from tracklight.profiles.xprof.family import EXECUTOR, Family
from tracklight.types import Int64

#: Roots that no program named: their groups have a number only.
_IMPLICIT = frozenset({"FunctionRun", "SessionRun", "RunGraph", EXECUTOR})
_CAPTURED = "InstantiatedCapturedFunction::"


@dataclass
class Groups:
    group: dict[int, int] = field(default_factory=dict)
    """The group of each event that has one."""
    names: list[str] = field(default_factory=list)
    named: dict[int, str] = field(default_factory=dict)
    """The roots that a program named, and what their groups are called."""


def group_events(trace: Trace, events: Int64) -> Groups:
    family = Family(trace, events)
    groups = Groups()
    loops = _find_loops(family)
    if loops:
        for first, *others in loops:
            for other in others:
                family.link(first, other)
            _take(family, first, groups)
        return groups
    for root in _find_roots(family):
        if root not in groups.group and not _has_root_above(family, root):
            _take(family, root, groups)
    return groups


def _take(family: Family, root: int, groups: Groups) -> None:
    """Give the next number to a root and to all that came of it and has none yet."""
    number = len(groups.names)
    for event in family.walk_down(root, lambda event: event not in groups.group):
        groups.group[event] = number
    name = _name_group(family, root, number)
    groups.names.append(name)
    if family.name(root) not in _IMPLICIT:
        groups.named[root] = name


def _name_group(family: Family, root: int, number: int) -> str:
    words = [] if family.name(root) in _IMPLICIT else [family.name(root)]
    kind = _find_above(family, root, "graph_type")
    if kind is not None:
        words = [str(kind)]
    for key in ("iter_num", "step_num"):
        found = _find_above(family, root, key)
        if found is not None:
            return " ".join([*words, str(found)])
    return " ".join([*words, str(number)])


def _find_above(family: Family, event: int, key: str) -> int | None:
    said = family.said(key)
    return next((said[above] for above in family.walk_up(event) if above in said), None)


def _find_inner(family: Family) -> set[int]:
    """The numbers of runs of functions inside of input pipelines, which are no steps."""
    said = family.said("id")
    return {said[e] for e in family.events if e in said and family.name(e).startswith(_CAPTURED)}


def _find_loops(family: Family) -> list[list[int]]:
    """The executor's turns of each round of a loop that TensorFlow itself runs, by their start."""
    inner = _find_inner(family)
    rounds: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for event in family.find(EXECUTOR):
        run, turn = family.said("id")[event], family.said("iter_num")[event]
        if run not in inner:
            rounds[run][turn].append(event)
    start = family.trace.start_ps
    loops = [
        sorted(events, key=lambda event: int(start[event]))
        for turns in rounds.values()
        if set(turns) != {0}
        for events in turns.values()
    ]
    return sorted(loops, key=lambda events: int(start[events[0]]))


def _find_roots(family: Family) -> list[int]:
    inner, level = _find_inner(family), family.said("_r")
    roots = [
        event
        for event in family.events
        if _level(family, event) and family.said("id").get(event) not in inner
    ]
    return sorted(roots, key=lambda e: (-level.get(e, 1), int(family.trace.start_ps[e])))


def _level(family: Family, event: int) -> int:
    return family.said("_r").get(event, int(family.name(event) == "TraceContext"))


def _has_root_above(family: Family, root: int) -> bool:
    level = _level(family, root)
    return any(_level(family, above) == level for above in family.walk_up(root) if above != root)


def find_host_events(trace: Trace, process: str = "/host:CPU") -> Int64:
    """The events of a host's threads."""
    is_host = np.array([track.process == process for track in trace.tracks], bool)
    return np.flatnonzero(is_host[trace.track]) if len(trace) else np.empty(0, np.int64)
