"""Steps and op times by the rules of xprof, TensorBoard's profiler plugin.

`steps` and `ops` use rules of our own, which combine host and device. These rules exist so that a
user can compare both programs number by number, and so that tests can prove that both read the same
facts from a file. Only the host is analyzed, which is all there is in a trace of a CPU.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from tracklight.analysis.profiles import attribute_time, compute_parents
from tracklight.analysis.profiles.ops import ALLOCATION_NAMES, Op, OpSide, OpStats, parse_op_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

T = TypeVar("T")

_EXECUTOR_EVENT = "ExecutorState::Process"
_ITERATOR_EVENTS = frozenset(
    {"IteratorGetNextOp::DoCompute", "IteratorGetNextAsOptionalOp::DoCompute"}
)
_REGION_START, _REGION_STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"
#: A context with this many producers and consumers does not tell who works for whom.
_MAX_AMBIGUOUS_LINKS = 64
#: Roots that the program did not name. Their groups only get a number.
_IMPLICIT_ROOTS = frozenset({"FunctionRun", "SessionRun", "RunGraph", _EXECUTOR_EVENT})
_CAPTURED_FUNCTION_PREFIX = "InstantiatedCapturedFunction::"

# Kinds of host events by priority: the highest that runs at an instant counts.
_OTHER, _COMPUTE, _HOST_TO_HOST, _HOST_TO_DEVICE, _INPUT = range(5)
_STEP_MARKER_PREFIXES = ("train", "test", "TraceContext")
_NON_WORK_PREFIXES = ("EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun")
#: If there are more steps than this, the first and the last are dropped.
_MIN_STEPS_TO_TRIM = 5


# ---- grouping of events


class EventGraph:
    """Which host events caused which others, by the links that TensorFlow records.

    An event is a child of the innermost event around it on its thread, of the executor iteration
    that requested it, and of the event that handed it over to another thread.
    """

    def __init__(self, trace: Trace, events: Int64) -> None:
        self.trace = trace
        self.events: list[int] = events.tolist()
        self._int_args: dict[str, dict[int, int]] = {}
        self._children: dict[int, list[int]] = defaultdict(list)
        self._parents: dict[int, list[int]] = defaultdict(list)
        # Thread pool regions are not events of the trace. They get the numbers after its events.
        self._next_id = len(trace)
        self._link_nested(events)
        self._link_iterators()
        self._link_threads()

    def get_name(self, event: int) -> str:
        return self.trace.names[self.trace.name[event]] if event < len(self.trace) else ""

    def get_int_args(self, key: str) -> dict[int, int]:
        """Return the values of an integer argument by event."""
        if key not in self._int_args:
            events, values = self.trace.get_int_args(key)
            self._int_args[key] = dict(zip(events.tolist(), values.tolist(), strict=True))
        return self._int_args[key]

    def get_text_args(self, key: str) -> dict[int, str]:
        """Return the values of a text argument by event."""
        events, index, texts = self.trace.get_unique_text_args(key)
        return {event: texts[at] for event, at in zip(events.tolist(), index.tolist(), strict=True)}

    def link(self, parent: int, child: int) -> None:
        self._children[parent].append(child)
        self._parents[child].append(parent)

    def iter_descendants(self, event: int, should_enter: Callable[[int], bool]) -> Iterator[int]:
        """Yield an event and its descendants breadth first, skipping branches not to enter."""
        return _iter_reachable(event, self._children, should_enter)

    def iter_ancestors(self, event: int) -> Iterator[int]:
        return _iter_reachable(event, self._parents, lambda _: True)

    def list_iterations(self, name: str) -> list[int]:
        """List the events of a name that carry the id of a run and the number of an iteration."""
        has_args = self.get_int_args("id").keys() & self.get_int_args("iter_num").keys()
        return [
            event for event in self.events if event in has_args and self.get_name(event) == name
        ]

    def get_iteration(self, event: int) -> tuple[int, int]:
        """Return the id of the run and the number of the iteration of an event."""
        return self.get_int_args("id")[event], self.get_int_args("iter_num")[event]

    def _link_nested(self, events: Int64) -> None:
        tracks = self.trace.track[events]
        for track in np.unique(tracks).tolist():
            self._link_nested_in_track(events[tracks == track])

    def _link_nested_in_track(self, events: Int64) -> None:
        start, end = self.trace.start_ps[events], self.trace.end_ps[events]
        regions = self._list_regions(events)
        if regions:
            bounds = np.array(regions, np.int64)
            region_ids = np.arange(self._next_id, self._next_id + len(regions))
            self._next_id += len(regions)
            events = np.concatenate([events, region_ids])
            start, end = np.append(start, bounds[:, 0]), np.append(end, bounds[:, 1])
            order = np.lexsort((start - end, start))
            events, start, end = events[order], start[order], end[order]
        ids = events.tolist()
        is_async = self.get_int_args("_a")
        skipped = [index for index, event in enumerate(ids) if is_async.get(event)]
        for child, parent in zip(ids, compute_parents(end, skipped).tolist(), strict=True):
            if parent >= 0:
                self.link(ids[parent], child)

    def _list_regions(self, events: Int64) -> list[tuple[int, int]]:
        """List start and end of the regions in which a thread of a pool worked for a caller."""
        regions, region_start = [], 0
        for event in events.tolist():
            name = self.get_name(event)
            if name == _REGION_START and event in self.get_int_args("_c"):
                region_start = int(self.trace.start_ps[event])
            elif name == _REGION_STOP and region_start:
                regions.append((region_start, int(self.trace.start_ps[event])))
        return regions

    def _link_iterators(self) -> None:
        """Link requests for input to the executor iteration that they belong to."""
        executors = {
            self.get_iteration(event): event for event in self.list_iterations(_EXECUTOR_EVENT)
        }
        for name in _ITERATOR_EVENTS:
            for event in self.list_iterations(name):
                executor = executors.get(self.get_iteration(event))
                if executor is not None:
                    self.link(executor, event)

    def _link_threads(self) -> None:
        """Link producers to consumers of the same context."""
        producers = self._group_by_context("_pt", "_p")
        consumers = self._group_by_context("_ct", "_c")
        for context, parents in producers.items():
            children = consumers.get(context, ())
            if min(len(parents), len(children)) < _MAX_AMBIGUOUS_LINKS:
                for parent in parents:
                    for child in children:
                        self.link(parent, child)

    def _group_by_context(self, type_key: str, id_key: str) -> dict[Hashable, list[int]]:
        groups: dict[Hashable, list[int]] = defaultdict(list)
        types, ids = self.get_int_args(type_key), self.get_int_args(id_key)
        for event in self.events:
            if event in types and event in ids:
                groups[types[event], ids[event]].append(event)
        return groups


def _iter_reachable(
    event: int, links: dict[int, list[int]], should_enter: Callable[[int], bool]
) -> Iterator[int]:
    visited, queue = {event}, deque([event])
    while queue:
        current = queue.popleft()
        if not should_enter(current):
            continue
        yield current
        for neighbor in links.get(current, ()):
            if neighbor not in visited:
                visited.add(neighbor)
                queue.append(neighbor)


@dataclass
class EventGroups:
    """Events grouped into steps."""

    group_of: dict[int, int] = field(default_factory=dict)
    """The group of each event that has one."""
    names: list[str] = field(default_factory=list)
    named_roots: dict[int, str] = field(default_factory=dict)
    """Roots that the program named, and the names of their groups."""


def _group_events(trace: Trace, events: Int64) -> EventGroups:
    """Group host events: a root event and everything that it caused."""
    graph = EventGraph(trace, events)
    groups = EventGroups()
    iterations = _list_loop_iterations(graph)
    if iterations:
        for first, *others in iterations:
            for other in others:
                graph.link(first, other)
            _assign_group(graph, first, groups)
        return groups
    for root in _list_roots(graph):
        if root not in groups.group_of and not _has_root_ancestor(graph, root):
            _assign_group(graph, root, groups)
    return groups


def _assign_group(graph: EventGraph, root: int, groups: EventGroups) -> None:
    """Make a new group of a root and all its descendants that have no group yet."""
    number = len(groups.names)
    for event in graph.iter_descendants(root, lambda event: event not in groups.group_of):
        groups.group_of[event] = number
    name = _name_group(graph, root, number)
    groups.names.append(name)
    if graph.get_name(root) not in _IMPLICIT_ROOTS:
        groups.named_roots[root] = name


def _name_group(graph: EventGraph, root: int, number: int) -> str:
    words = [] if graph.get_name(root) in _IMPLICIT_ROOTS else [graph.get_name(root)]
    graph_type = _find_ancestor_arg(graph, root, graph.get_text_args("graph_type"))
    if graph_type is not None:
        words = [graph_type]
    for key in ("iter_num", "step_num"):
        value = _find_ancestor_arg(graph, root, graph.get_int_args(key))
        if value is not None:
            return " ".join([*words, str(value)])
    return " ".join([*words, str(number)])


def _find_ancestor_arg(graph: EventGraph, event: int, values: Mapping[int, T]) -> T | None:
    """Return the value of an event or of its nearest ancestor that has one."""
    return next(
        (values[ancestor] for ancestor in graph.iter_ancestors(event) if ancestor in values), None
    )


def _get_pipeline_run_ids(graph: EventGraph) -> set[int]:
    """Return the ids of function runs inside input pipelines, which are not steps."""
    ids = graph.get_int_args("id")
    return {
        ids[event]
        for event in graph.events
        if event in ids and graph.get_name(event).startswith(_CAPTURED_FUNCTION_PREFIX)
    }


def _list_loop_iterations(graph: EventGraph) -> list[list[int]]:
    """List the executor events of each iteration of the loops that TensorFlow itself runs."""
    pipeline_run_ids = _get_pipeline_run_ids(graph)
    runs: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for event in graph.list_iterations(_EXECUTOR_EVENT):
        run_id, iteration = graph.get_iteration(event)
        if run_id not in pipeline_run_ids:
            runs[run_id][iteration].append(event)
    start = graph.trace.start_ps
    loops = [
        sorted(events, key=lambda event: int(start[event]))
        for iterations in runs.values()
        if set(iterations) != {0}
        for events in iterations.values()
    ]
    return sorted(loops, key=lambda events: int(start[events[0]]))


def _list_roots(graph: EventGraph) -> list[int]:
    """List root events outside of input pipelines, by descending level and start."""
    pipeline_run_ids, levels = _get_pipeline_run_ids(graph), graph.get_int_args("_r")
    roots = [
        event
        for event in graph.events
        if _get_root_level(graph, event)
        and graph.get_int_args("id").get(event) not in pipeline_run_ids
    ]
    start = graph.trace.start_ps
    return sorted(roots, key=lambda event: (-levels.get(event, 1), int(start[event])))


def _get_root_level(graph: EventGraph, event: int) -> int:
    return graph.get_int_args("_r").get(event, int(graph.get_name(event) == "TraceContext"))


def _has_root_ancestor(graph: EventGraph, root: int) -> bool:
    level = _get_root_level(graph, root)
    return any(
        _get_root_level(graph, ancestor) == level
        for ancestor in graph.iter_ancestors(root)
        if ancestor != root
    )


def _list_host_events(trace: Trace, process: str = "/host:CPU") -> Int64:
    """Return the events of the threads of a host process."""
    is_host = np.array([track.process == process for track in trace.tracks], bool)
    return np.flatnonzero(is_host[trace.track]) if len(trace) else np.empty(0, np.int64)


# ---- steps


class XprofStep(NamedTuple):
    """A step and the parts of its time."""

    name: str
    total_ps: int
    compute_ps: int
    input_ps: int
    other_ps: int
    start_ps: int


def list_xprof_steps(trace: Trace) -> list[XprofStep]:
    """List the steps that xprof shows. There are none if the program marked none."""
    events = _list_host_events(trace)
    groups = _group_events(trace, events)
    group_of = np.array([groups.group_of.get(event, -1) for event in events.tolist()], np.int64)
    measured = (
        _measure_step(trace, events[group_of == group], groups)
        for group in range(len(groups.names))
    )
    steps = [step for step in measured if step is not None]
    return steps[1:-1] if len(steps) > _MIN_STEPS_TO_TRIM else steps


def _measure_step(trace: Trace, events: Int64, groups: EventGroups) -> XprofStep | None:
    is_root = np.array([event in groups.named_roots for event in events], bool)
    is_marker = _match_names(trace, events, _is_step_marker) | is_root
    if not is_marker.any():
        return None
    marker = events[is_marker][np.argmax(trace.duration_ps[events[is_marker]])]
    is_wrapper = _match_names(trace, events, lambda name: name.startswith(_NON_WORK_PREFIXES))
    work = events[~is_marker & ~is_wrapper]
    kinds = np.array([_classify_event(trace.names[name]) for name in trace.name[work]], np.int64)
    if _COMPUTE not in kinds:
        return None
    span = np.array([[trace.start_ps[marker], trace.end_ps[marker]]])
    time = attribute_time(trace.start_ps[work], trace.end_ps[work], kinds, span, _INPUT + 1)[0]
    total_ps = int(trace.duration_ps[marker])
    roots = (event for event in events.tolist() if event in groups.named_roots)
    name = next((groups.named_roots[root] for root in roots), "")
    return XprofStep(
        name=name or str(groups.group_of[int(marker)]),
        total_ps=total_ps,
        compute_ps=int(time[_COMPUTE]),
        input_ps=int(time[_INPUT] + time[_HOST_TO_DEVICE]),
        other_ps=total_ps - int(time[_COMPUTE:].sum()),
        start_ps=int(span[0, 0]),
    )


def _is_step_marker(name: str) -> bool:
    """Return whether a program marks steps with events of this name."""
    return name.startswith(_STEP_MARKER_PREFIXES) and "/" not in name


def _match_names(trace: Trace, events: Int64, predicate: Callable[[str], bool]) -> Bool:
    return np.array([predicate(trace.names[name]) for name in trace.name[events]], bool)


def _classify_event(name: str) -> int:
    lowered = name.lower()
    op = name.partition(":")[2]
    if op.startswith("InfeedEnqueue") or lowered.startswith("memcpyhtod"):
        return _HOST_TO_DEVICE
    if lowered.startswith("memcpyhtoh"):
        return _HOST_TO_HOST
    return _INPUT if lowered.startswith("iteratorgetnext") else _COMPUTE


# ---- ops


@dataclass
class HostOpTime:
    """All calls of an op."""

    type: str
    count: int = 0
    total_ps: int = 0
    self_ps: int = 0
    longest_event: int = -1
    longest_ps: int = -1


@dataclass
class HostOps:
    """Op times of a host."""

    ops: dict[str, HostOpTime]
    """By name; ops of one name and different types are merged."""
    idle_ps: int
    """Gaps between the first and the last op of each thread, summed up."""


def compute_host_op_times(trace: Trace, with_allocations: bool = False) -> HostOps:
    """Sum up the ops of a host over its threads.

    Args:
        trace: The trace.
        with_allocations: Count each allocation of an op as another call of it, as xprof does.
    """
    result = HostOps({}, 0)
    events = _list_host_events(trace)
    tracks = trace.track[events]
    op_of = dict(_iter_event_ops(trace, events, with_allocations))
    for track in np.unique(tracks).tolist():
        with_op = [event for event in events[tracks == track].tolist() if event in op_of]
        if with_op:
            _add_thread(trace, np.array(with_op), [op_of[event] for event in with_op], result)
    return result


def compute_xprof_op_stats(trace: Trace) -> OpStats:
    """Return the op statistics that xprof shows of a host."""
    host_ops = compute_host_op_times(trace, with_allocations=True)
    rows = sorted(host_ops.ops.items(), key=lambda row: -row[1].self_ps)
    numbers = np.array(
        [(op.count, op.total_ps, op.self_ps, op.longest_event) for _, op in rows], np.int64
    ).reshape(-1, 4)
    return OpStats(
        ops=[Op(name, op.type) for name, op in rows],
        sides=np.full(len(rows), OpSide.HOST, np.int32),
        counts=numbers[:, 0],
        total_ps=numbers[:, 1],
        self_ps=numbers[:, 2],
        longest_event=numbers[:, 3],
        idle_ps={OpSide.HOST: host_ops.idle_ps, OpSide.DEVICE: 0, OpSide.PYTHON: 0},
    )


def _iter_event_ops(
    trace: Trace, events: Int64, with_allocations: bool
) -> Iterator[tuple[int, Op]]:
    op_of_name = [parse_op_name(name) for name in trace.names]
    is_ignored = [name in ALLOCATION_NAMES and not with_allocations for name in trace.names]
    tf_op_events, texts = trace.get_text_args("tf_op")
    tf_ops = dict(zip(tf_op_events.tolist(), texts, strict=True))
    for event, name in zip(events.tolist(), trace.name[events].tolist(), strict=True):
        op = op_of_name[name]
        tf_op = tf_ops.get(event)
        if op is None and tf_op and not is_ignored[name]:
            op = parse_op_name(tf_op) or Op(tf_op, "")
        if op is not None:
            yield event, op


def _add_thread(trace: Trace, events: Int64, ops: list[Op], result: HostOps) -> None:
    start, end = trace.start_ps[events], trace.end_ps[events]
    duration = end - start
    parents = compute_parents(end)
    has_parent = parents >= 0
    self_ps = duration.copy()
    np.subtract.at(self_ps, parents[has_parent], duration[has_parent])
    rows = zip(events.tolist(), ops, duration.tolist(), self_ps.tolist(), strict=True)
    for event, op, event_ps, event_self_ps in rows:
        time = result.ops.setdefault(op.name, HostOpTime(op.type))
        time.count += 1
        time.total_ps += event_ps
        time.self_ps += event_self_ps
        if event_ps > time.longest_ps:
            time.longest_event, time.longest_ps = event, event_ps
    result.idle_ps += int(end.max() - start.min() - self_ps.sum())
