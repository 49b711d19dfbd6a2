"""Steps and ops by xprof's own rules, to be held against xprof."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles.arrays import attribute_time, compute_parents
from tracklight.analysis.profiles.ops import Op, OpSide, OpStats, parse_op_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

# Which events of a host brought about which others, by the links that TensorFlow leaves.
#
# An event is the child of the innermost one around it on its thread, of the executor's turn that
# asked for it, and of whoever handed it to another thread.

EXECUTOR_EVENT = "ExecutorState::Process"

_ITERATOR_EVENTS = frozenset(
    {"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"}
)

_REGION_START, _REGION_STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"

#: Where this many hand over and as many take, nobody can say who took what.
_MAX_AMBIGUOUS_LINKS = 64


class EventGraph:
    """The links of one host's events; events are named by their place in the trace."""

    def __init__(self, trace: Trace, events: Int64) -> None:
        self.trace = trace
        self.events: list[int] = events.tolist()
        self._int_args: dict[str, dict[int, int]] = {}
        self._children: dict[int, list[int]] = defaultdict(list)
        self._parents: dict[int, list[int]] = defaultdict(list)
        # Pieces of work of a thread pool are no events of the trace; they get the numbers after it.
        self._next_id = len(trace)
        self._link_nested(events)
        self._link_iterators()
        self._link_threads()

    def get_name(self, event: int) -> str:
        return self.trace.names[self.trace.name[event]] if event < len(self.trace) else ""

    def get_int_args(self, key: str) -> dict[int, int]:
        """The whole numbers that are said of events under a key."""
        if key not in self._int_args:
            events, numbers = self.trace.get_int_args(key)
            self._int_args[key] = dict(zip(events.tolist(), numbers.tolist(), strict=True))
        return self._int_args[key]

    def link(self, parent: int, child: int) -> None:
        self._children[parent].append(child)
        self._parents[child].append(parent)

    def iter_descendants(self, event: int, should_enter: Callable[[int], bool]) -> Iterator[int]:
        """An event and all that came of it, nearest first; what is not entered is passed by."""
        return _iter_reachable(event, self._children, should_enter)

    def iter_ancestors(self, event: int) -> Iterator[int]:
        return _iter_reachable(event, self._parents, lambda _: True)

    def _link_nested(self, events: Int64) -> None:
        tracks = self.trace.track[events]
        for track in np.unique(tracks).tolist():
            self._link_nested_in_track(events[tracks == track])

    def _link_nested_in_track(self, events: Int64) -> None:
        start, end = self.trace.start_ps[events], self.trace.end_ps[events]
        regions = self._list_regions(events)
        if regions:
            bounds = np.array(regions, np.int64)
            number = np.arange(self._next_id, self._next_id + len(regions))
            self._next_id += len(regions)
            events = np.concatenate([events, number])
            start, end = np.append(start, bounds[:, 0]), np.append(end, bounds[:, 1])
            order = np.lexsort((start - end, start))
            events, start, end = events[order], start[order], end[order]
        names = events.tolist()
        aside = [at for at, event in enumerate(names) if self.get_int_args("_a").get(event)]
        for child, parent in zip(names, compute_parents(end, aside).tolist(), strict=True):
            if parent >= 0:
                self.link(names[parent], child)

    def _list_regions(self, events: Int64) -> list[tuple[int, int]]:
        """When a thread of a pool worked for somebody: from a mark to the mark that ends it."""
        regions, began = [], 0
        for event in events.tolist():
            name = self.get_name(event)
            if name == _REGION_START and event in self.get_int_args("_c"):
                began = int(self.trace.start_ps[event])
            elif name == _REGION_STOP and began:
                regions.append((began, int(self.trace.start_ps[event])))
        return regions

    def _link_iterators(self) -> None:
        """Who asks for input asks for the executor's turn of the same number."""
        turns = {
            (self.get_int_args("id")[event], self.get_int_args("iter_num")[event]): event
            for event in self.list_events(EXECUTOR_EVENT)
        }
        for name in _ITERATOR_EVENTS:
            for event in self.list_events(name):
                turn = turns.get(
                    (self.get_int_args("id")[event], self.get_int_args("iter_num")[event])
                )
                if turn is not None:
                    self.link(turn, event)

    def list_events(self, name: str) -> list[int]:
        """Events of a name that say which turn they are of."""
        has = self.get_int_args("id").keys() & self.get_int_args("iter_num").keys()
        return [event for event in self.events if event in has and self.get_name(event) == name]

    def _link_threads(self) -> None:
        gives, takes = self._group_by_context("_pt", "_p"), self._group_by_context("_ct", "_c")
        for context, givers in gives.items():
            takers = takes.get(context, ())
            if min(len(givers), len(takers)) < _MAX_AMBIGUOUS_LINKS:
                for giver in givers:
                    for taker in takers:
                        self.link(giver, taker)

    def _group_by_context(self, kind: str, number: str) -> dict[Hashable, list[int]]:
        found: dict[Hashable, list[int]] = defaultdict(list)
        kinds, numbers = self.get_int_args(kind), self.get_int_args(number)
        for event in self.events:
            if event in kinds and event in numbers:
                found[kinds[event], numbers[event]].append(event)
        return found


def _iter_reachable(
    event: int, links: dict[int, list[int]], enters: Callable[[int], bool]
) -> Iterator[int]:
    met, waiting = {event}, deque([event])
    while waiting:
        here = waiting.popleft()
        if not enters(here):
            continue
        yield here
        for there in _iter_unvisited(links.get(here, ()), met):
            waiting.append(there)


def _iter_unvisited(events: Iterable[int], met: set[int]) -> Iterator[int]:
    for event in events:
        if event not in met:
            met.add(event)
            yield event


# Groups a host's events into steps as xprof does: what came of a root belongs to its group.

#: Roots that no program named: their groups have a number only.
_IMPLICIT_ROOTS = frozenset({"FunctionRun", "SessionRun", "RunGraph", EXECUTOR_EVENT})

_CAPTURED_FUNCTION_PREFIX = "InstantiatedCapturedFunction::"


@dataclass
class EventGroups:
    group_of: dict[int, int] = field(default_factory=dict)
    """The group of each event that has one."""
    names: list[str] = field(default_factory=list)
    named_roots: dict[int, str] = field(default_factory=dict)
    """The roots that a program named, and what their groups are called."""


def group_events(trace: Trace, events: Int64) -> EventGroups:
    family = EventGraph(trace, events)
    groups = EventGroups()
    loops = _list_loop_iterations(family)
    if loops:
        for first, *others in loops:
            for other in others:
                family.link(first, other)
            _assign_group(family, first, groups)
        return groups
    for root in _list_roots(family):
        if root not in groups.group_of and not _has_root_ancestor(family, root):
            _assign_group(family, root, groups)
    return groups


def _assign_group(family: EventGraph, root: int, groups: EventGroups) -> None:
    """Give the next number to a root and to all that came of it and has none yet."""
    number = len(groups.names)
    for event in family.iter_descendants(root, lambda event: event not in groups.group_of):
        groups.group_of[event] = number
    name = _name_group(family, root, number)
    groups.names.append(name)
    if family.get_name(root) not in _IMPLICIT_ROOTS:
        groups.named_roots[root] = name


def _name_group(family: EventGraph, root: int, number: int) -> str:
    words = [] if family.get_name(root) in _IMPLICIT_ROOTS else [family.get_name(root)]
    kind = _find_ancestor_arg(family, root, "graph_type")
    if kind is not None:
        words = [str(kind)]
    for key in ("iter_num", "step_num"):
        found = _find_ancestor_arg(family, root, key)
        if found is not None:
            return " ".join([*words, str(found)])
    return " ".join([*words, str(number)])


def _find_ancestor_arg(family: EventGraph, event: int, key: str) -> int | None:
    said = family.get_int_args(key)
    return next((said[above] for above in family.iter_ancestors(event) if above in said), None)


def _get_pipeline_run_ids(family: EventGraph) -> set[int]:
    """The numbers of runs of functions inside of input pipelines, which are no steps."""
    said = family.get_int_args("id")
    return {
        said[e]
        for e in family.events
        if e in said and family.get_name(e).startswith(_CAPTURED_FUNCTION_PREFIX)
    }


def _list_loop_iterations(family: EventGraph) -> list[list[int]]:
    """The executor's turns of each round of a loop that TensorFlow itself runs, by their start."""
    inner = _get_pipeline_run_ids(family)
    rounds: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for event in family.list_events(EXECUTOR_EVENT):
        run, turn = family.get_int_args("id")[event], family.get_int_args("iter_num")[event]
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


def _list_roots(family: EventGraph) -> list[int]:
    inner, level = _get_pipeline_run_ids(family), family.get_int_args("_r")
    roots = [
        event
        for event in family.events
        if _get_root_level(family, event) and family.get_int_args("id").get(event) not in inner
    ]
    return sorted(roots, key=lambda e: (-level.get(e, 1), int(family.trace.start_ps[e])))


def _get_root_level(family: EventGraph, event: int) -> int:
    return family.get_int_args("_r").get(event, int(family.get_name(event) == "TraceContext"))


def _has_root_ancestor(family: EventGraph, root: int) -> bool:
    level = _get_root_level(family, root)
    return any(
        _get_root_level(family, above) == level
        for above in family.iter_ancestors(root)
        if above != root
    )


def list_host_events(trace: Trace, process: str = "/host:CPU") -> Int64:
    """The events of a host's threads."""
    is_host = np.array([track.process == process for track in trace.tracks], bool)
    return np.flatnonzero(is_host[trace.track]) if len(trace) else np.empty(0, np.int64)


# Steps and the parts of their time by xprof's own rules, to be held against xprof.
#
# What the page shows follows better rules (`steps`, `parts`); these are here so that a reader who
# compares the two programs can be shown the other one's numbers, and so that a test can prove that
# both read the same things from a file. Only the host is looked at: that is all of a CPU's trace.

#: In rising order: of two that go on at once, the later one counts.
OTHER_KIND, COMPUTE_KIND, HOST_TO_HOST_KIND, HOST_TO_DEVICE_KIND, INPUT_KIND = range(5)

_STEP_MARKER_PREFIXES = ("train", "test", "TraceContext")

_NON_WORK_PREFIXES = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")

#: Of more steps than this, the first and the last are left out.
_MIN_STEPS_TO_TRIM = 5


class XprofStep(NamedTuple):
    name: str
    total_ps: int
    compute_ps: int
    input_ps: int
    other_ps: int
    start_ps: int


def list_xprof_steps(trace: Trace) -> list[XprofStep]:
    """Find the steps of a CPU's trace; there are none where no program marked any."""
    events = list_host_events(trace)
    groups = group_events(trace, events)
    group = np.array([groups.group_of.get(event, -1) for event in events.tolist()], np.int64)
    steps = [
        _measure_step(trace, events[group == each], groups) for each in range(len(groups.names))
    ]
    found = [step for step in steps if step is not None]
    return found[1:-1] if len(found) > _MIN_STEPS_TO_TRIM else found


def _measure_step(trace: Trace, events: Int64, groups: EventGroups) -> XprofStep | None:
    marks = _match_names(trace, events, is_step_marker) | np.array(
        [e in groups.named_roots for e in events], bool
    )
    if not marks.any():
        return None
    longest = events[marks][np.argmax(trace.duration_ps[events[marks]])]
    work = events[
        ~marks & ~_match_names(trace, events, lambda name: name.startswith(_NON_WORK_PREFIXES))
    ]
    kinds = np.array([_classify_event(trace.names[name]) for name in trace.name[work]], np.int64)
    if COMPUTE_KIND not in kinds:
        return None
    span = np.array([[trace.start_ps[longest], trace.end_ps[longest]]])
    took = attribute_time(trace.start_ps[work], trace.end_ps[work], kinds, span, INPUT_KIND + 1)[0]
    total = int(trace.duration_ps[longest])
    name = next((groups.named_roots[e] for e in events.tolist() if e in groups.named_roots), "")
    into = int(took[INPUT_KIND] + took[HOST_TO_DEVICE_KIND])
    other = total - int(took[COMPUTE_KIND:].sum())
    name = name or str(groups.group_of[int(longest)])
    return XprofStep(name, total, int(took[COMPUTE_KIND]), into, other, int(span[0, 0]))


def is_step_marker(name: str) -> bool:
    """Whether it is what programs put around a step."""
    return name.startswith(_STEP_MARKER_PREFIXES) and "/" not in name


def _match_names(trace: Trace, events: Int64, fits: Callable[[str], bool]) -> Bool:
    return np.array([fits(trace.names[name]) for name in trace.name[events]], bool)


def _classify_event(name: str) -> int:
    lowered, _, op = name.lower(), *name.partition(":")[1:]
    if op.startswith("InfeedEnqueue") or lowered.startswith("memcpyhtod"):
        return HOST_TO_DEVICE_KIND
    if lowered.startswith("memcpyhtoh"):
        return HOST_TO_HOST_KIND
    return INPUT_KIND if lowered.startswith("iteratorgetnext") else COMPUTE_KIND


# How long the ops of a host took by xprof's own rules, to be held against xprof.
#
# Ours (`ops`) look at devices as well, and count a call once however it was recorded.

_ALLOCATION_NAMES = ("MemoryAllocation", "MemoryDeallocation")


@dataclass
class HostOpTime:
    type: str
    count: int = 0
    total_ps: int = 0
    self_ps: int = 0
    longest_event: int = -1
    """The event that took longest, and how long."""
    longest_ps: int = -1


@dataclass
class HostOps:
    ops: dict[str, HostOpTime]
    """By name; ops of one name and unlike types are one."""
    idle_ps: int
    """How long threads did nothing between their first op and their last."""


def compute_host_op_times(trace: Trace, with_allocations: bool = False) -> HostOps:
    """Sum up the ops of a host over its threads.

    Memory that an op takes and gives back is no op, though it names one; xprof counts it as one
    more call, so ``with_allocations`` gives the counts that it shows.
    """
    found = HostOps({}, 0)
    events = list_host_events(trace)
    tracks = trace.track[events]
    named = dict(_iter_event_ops(trace, events, with_allocations))
    for track in np.unique(tracks).tolist():
        mine = [event for event in events[tracks == track].tolist() if event in named]
        if mine:
            _add_thread(trace, np.array(mine), [named[event] for event in mine], found)
    return found


def compute_xprof_op_stats(trace: Trace) -> OpStats:
    """What xprof shows of the ops of a host, in the form that ours have."""
    found = compute_host_op_times(trace, with_allocations=True)
    rows = sorted(found.ops.items(), key=lambda row: -row[1].self_ps)
    numbers = np.array(
        [(op.count, op.total_ps, op.self_ps, op.longest_event) for _, op in rows], np.int64
    ).reshape(-1, 4)
    return OpStats(
        [Op(name, op.type) for name, op in rows],
        np.full(len(rows), OpSide.HOST, np.int32),
        counts=numbers[:, 0],
        total_ps=numbers[:, 1],
        self_ps=numbers[:, 2],
        longest_event=numbers[:, 3],
        idle_ps={OpSide.HOST: found.idle_ps, OpSide.DEVICE: 0, OpSide.PYTHON: 0},
    )


def _iter_event_ops(
    trace: Trace, events: Int64, with_allocations: bool
) -> Iterator[tuple[int, Op]]:
    by_name = [parse_op_name(name) for name in trace.names]
    is_memory = [name in _ALLOCATION_NAMES and not with_allocations for name in trace.names]
    at, texts = trace.get_text_args("tf_op")
    told = dict(zip(at.tolist(), texts, strict=True))
    for event, name in zip(events.tolist(), trace.name[events].tolist(), strict=True):
        op = by_name[name]
        if op is None and event in told and told[event] and not is_memory[name]:
            op = parse_op_name(told[event]) or Op(told[event], "")
        if op is not None:
            yield event, op


def _add_thread(trace: Trace, events: Int64, ops: list[Op], found: HostOps) -> None:
    start, end = trace.start_ps[events], trace.end_ps[events]
    duration = end - start
    parents = compute_parents(end)
    inside = np.zeros(len(events), np.int64)
    has = parents >= 0
    np.add.at(inside, parents[has], duration[has])
    alone = duration - inside
    rows = zip(events.tolist(), ops, duration.tolist(), alone.tolist(), strict=True)
    for event, op, total, own in rows:
        sums = found.ops.setdefault(op.name, HostOpTime(op.type))
        sums.count += 1
        sums.total_ps += total
        sums.self_ps += own
        if total > sums.longest_ps:
            sums.longest_event, sums.longest_ps = event, total
    found.idle_ps += int(end.max() - start.min() - alone.sum())
