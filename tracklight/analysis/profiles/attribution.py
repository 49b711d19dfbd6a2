"""Which launch, step, instruction or Python code the events of a trace belong to.

A launch is the host call that submits work to a device. Profilers give it and its kernels or copies
the same correlation id. Other calls of the device's API have such an id as well, but start no work.

The host runs ahead of the device: it launches the kernels of many steps before the first of them
has finished. So device events belong to the step in which they were launched, not to the one that
the host is in when they run. What links them is, in this order: the correlation id of the launch,
an annotation of the step on the device itself, the run of an XLA module, and only then the time.

A track or device is busy while at least one event runs on it. Annotations, which only enclose other
events, do not count.

Kernels of a CUDA graph are labeled with the graph, not with an XLA instruction. XLA names a kernel
after an instruction, but instructions with equal computations share one kernel: in a model of equal
layers, most kernels are named after an instruction of another layer. The nodes of a graph are
created in program order, so the kernels of a launch are matched with the instructions one after the
other.

Python frames are recorded by PyTorch (with stacks), by JAX, and by the built-in sampler, which also
names lines. They enclose ops, so they do not count as work of their own, but explain the time
between.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from tracklight.analysis.profiles import (
    intersect_intervals,
    locate_in_spans,
    measure_coverage,
    merge_intervals,
    merge_spans,
    select_largest,
    unique_inverse,
)
from tracklight.analysis.profiles.trace import Trace
from tracklight.formats.profiles.hlo import HloInstruction
from tracklight.types import Bool, Int64

# ---- launches

#: Ids that a launch and its kernel share: of PyTorch, and of TensorFlow and JAX.
CORRELATION_KEYS = ("correlation", "correlation_id")

_API_CATEGORIES = ("cuda_runtime", "cuda_driver")
#: Calls that launch a kernel or a graph of kernels.
_LAUNCH_CALL = re.compile(r"(cuda|cu|hip)[A-Z]?\w*?Launch(?!HostFunc)")
_API_CALL = re.compile(r"(cuda|cu|hip)[A-Z]\w+\Z")
_MEMORY_PREFIX = "mem"


class EventPairs(NamedTuple):
    """Events and the events that they caused on another track."""

    source: Int64
    target: Int64


def pair_launches(trace: Trace) -> EventPairs:
    """Pair each device event with the first host event of the same correlation id."""
    pairs = []
    for key in CORRELATION_KEYS:
        events, ids = trace.get_int_args(key)
        on_device = trace.on_device[events]
        pairs.append(_pair(events, ids, ~on_device, on_device))
    return EventPairs(
        np.concatenate([pair.source for pair in pairs]),
        np.concatenate([pair.target for pair in pairs]),
    )


def pair_handoffs(trace: Trace) -> EventPairs:
    """Pair producers and consumers of TensorFlow contexts that have exactly one producer."""
    producers, produced = _get_contexts(trace, "_pt", "_p")
    consumers, consumed = _get_contexts(trace, "_ct", "_c")
    types, numbers = np.concatenate([produced, consumed]).T
    # One number for each pair is much faster to sort than rows.
    unique_types, type_index = unique_inverse(types)
    contexts, ids = unique_inverse(unique_inverse(numbers)[1] * len(unique_types) + type_index)
    events = np.concatenate([producers, consumers])
    is_producer = np.arange(len(events)) < len(producers)
    producer_counts = np.bincount(ids[is_producer], minlength=len(contexts))
    is_unique = producer_counts[ids] == 1
    is_producer = is_producer[is_unique]
    return _pair(events[is_unique], ids[is_unique], is_producer, ~is_producer)


def mask_launches(trace: Trace) -> Bool:
    """Return a mask of the host events that launch kernels.

    TensorFlow and JAX name some launches after the kernel instead of the call.
    """
    is_call = ~trace.on_device & trace.match_names(
        lambda name: _LAUNCH_CALL.match(name) is not None
    )
    if not trace.on_device.any():
        return np.zeros(len(trace), bool)
    has_id = np.zeros(len(trace), bool)
    for key in CORRELATION_KEYS:
        has_id[trace.get_int_args(key)[0]] = True
    is_launch: Bool = is_call & (has_id | trace.match_categories(*_API_CATEGORIES))
    source, target = pair_launches(trace)
    is_copy = trace.match_names(lambda name: name.lower().startswith(_MEMORY_PREFIX))
    is_api_call = trace.match_names(lambda name: _API_CALL.match(name) is not None)
    starts_kernel = source[~is_copy[target] & trace.is_device_work[target]]
    is_launch[starts_kernel[~is_api_call[starts_kernel]]] = True
    return is_launch


def _get_contexts(trace: Trace, type_key: str, id_key: str) -> tuple[Int64, Int64]:
    """Return the events with both arguments, and rows of their values."""
    type_events, types = trace.get_int_args(type_key)
    id_events, ids = trace.get_int_args(id_key)
    type_row = np.full(len(trace), -1, np.int64)
    type_row[type_events] = np.arange(len(type_events))
    order = np.argsort(id_events, kind="stable")
    order = order[type_row[id_events[order]] >= 0]
    events = id_events[order]
    return events, np.column_stack([types[type_row[events]], ids[order]])


def _pair(events: Int64, ids: Int64, is_source: Bool, is_target: Bool) -> EventPairs:
    """Pair each target with the first source of the same id."""
    sources, source_ids = events[is_source], ids[is_source]
    targets, target_ids = events[is_target], ids[is_target]
    if not len(sources):
        return EventPairs(sources, targets[:0])
    order = np.argsort(source_ids, kind="stable")
    sources, source_ids = sources[order], source_ids[order]
    match = np.minimum(np.searchsorted(source_ids, target_ids), len(sources) - 1)
    is_match = (source_ids[match] == target_ids) & (sources[match] != targets)
    return EventPairs(sources[match[is_match]], targets[is_match])


# ---- busy time

#: Shorter gaps between work that was launched in time are the overhead of starting it.
_MAX_KERNEL_WAIT_PS = 30_000_000


class IdleTimes(NamedTuple):
    """Why a device was idle between its first and its last event, in picoseconds.

    The categories are those of Holistic Trace Analysis, but for a device instead of a stream.
    """

    host_wait_ps: int
    """The next work had not been launched yet when the device became idle."""
    kernel_wait_ps: int
    """It had been launched, and started within 30 µs."""
    other_ps: int
    """It had been launched and started later, or its launch is unknown."""


def measure_tracks(trace: Trace, start_ps: int, end_ps: int) -> Int64:
    """Return how long each track was busy in a window of time."""
    window = np.array([[start_ps, end_ps]], np.int64)
    busy = np.zeros(len(trace.tracks), np.int64)
    bounds = np.searchsorted(trace.track, np.arange(len(trace.tracks) + 1)).tolist()
    is_work = ~trace.is_annotation
    for track, (first, last) in enumerate(pairwise(bounds)):
        mask = is_work[first:last]
        start, duration = trace.start_ps[first:last][mask], trace.duration_ps[first:last][mask]
        busy[track] = measure_coverage(start, start + duration, window)[0]
    return busy


def list_devices(trace: Trace) -> list[str]:
    """List the devices on which anything ran."""
    counts = np.bincount(trace.track[trace.is_device_work], minlength=len(trace.tracks)).tolist()
    return sorted(
        {track.device for track, count in zip(trace.tracks, counts, strict=True) if count}
    )


def mask_device(trace: Trace, device: str) -> Bool:
    """Return a mask of the events that kept a device busy."""
    is_track = np.array([track.device == device for track in trace.tracks], bool)
    return is_track[trace.track] & trace.is_device_work


def measure_device(trace: Trace, device: str, spans: Int64) -> Int64:
    """Return how long a device was busy in each span, over all its streams."""
    mask = mask_device(trace, device)
    return measure_coverage(trace.start_ps[mask], trace.end_ps[mask], spans)


def measure_idle(trace: Trace, device: str) -> IdleTimes:
    """Return how long a device was idle between its events, by cause."""
    events = np.flatnonzero(mask_device(trace, device))
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    if len(events) < 2:
        return IdleTimes(0, 0, 0)
    idle_since = np.maximum.accumulate(trace.end_ps[events])[:-1]
    gap_ps, following = trace.start_ps[events[1:]] - idle_since, events[1:]
    is_gap = gap_ps > 0
    gap_ps, following, idle_since = gap_ps[is_gap], following[is_gap], idle_since[is_gap]
    launch_ps = np.full(len(trace), -1, np.int64)
    launches, launched = pair_launches(trace)
    launch_ps[launched] = trace.start_ps[launches]
    is_known = np.zeros(len(trace), bool)
    is_known[launched] = True
    is_host_wait = is_known[following] & (launch_ps[following] > idle_since)
    is_kernel_wait = is_known[following] & ~is_host_wait & (gap_ps < _MAX_KERNEL_WAIT_PS)
    host_ps, kernel_ps = int(gap_ps[is_host_wait].sum()), int(gap_ps[is_kernel_wait].sum())
    return IdleTimes(host_ps, kernel_ps, int(gap_ps.sum()) - host_ps - kernel_ps)


def format_device(device: str) -> str:
    """Return the name of a device to show: ``GPU 0`` for ``/device:GPU:0``."""
    return device.removeprefix("/device:").replace(":", " ")


# ---- steps on the device

_MAX_HANDOFFS = 4
_RUN_ID = "run_id"
#: A trailing step with less device work than this share of the step before it is incomplete.
_MIN_TRAILING_SHARE = 0.8


def attribute_device_events(
    trace: Trace, names: tuple[str, ...], spans: Int64, markers: Int64
) -> Int64:
    """Return the step of each device event; -1 for host events and events of no step.

    Args:
        trace: The trace.
        names: Names of the steps.
        spans: Start and end of each step on the host.
        markers: The events that mark the steps; may be empty.
    """
    steps = np.full(len(trace), -1, np.int64)
    is_work = trace.is_device_work
    if not is_work.any() or not len(spans):
        return steps
    if trace.on_device[markers].any():  # the device itself marks its steps
        steps[is_work] = locate_in_spans(spans, trace.start_ps[is_work])
        return steps
    # From the least to the most reliable source: later ones overwrite earlier ones.
    launches, launched = pair_launches(trace)
    by_time = is_work.copy()
    if len(launches):  # work whose launch was not recorded was launched before the capture began
        for key in CORRELATION_KEYS:
            by_time[trace.get_int_args(key)[0]] = False
    steps[by_time] = locate_in_spans(spans, trace.start_ps[by_time])
    for enclosing, enclosed in _iter_enclosed(trace, _assign_module_steps(trace, spans, markers)):
        steps[enclosed] = enclosing
    for enclosing, enclosed in _iter_enclosed(trace, _assign_annotation_steps(trace, names)):
        steps[enclosed] = enclosing
    times = _get_issue_times(trace, launches, markers)
    is_known = is_work[launched]
    steps[launched[is_known]] = locate_in_spans(spans, times[is_known])
    return steps


def extend_steps(trace: Trace, spans: Int64, device_steps: Int64) -> Int64:
    """Return the spans of steps, including the device work that they launched.

    A step ends when both the host and the device are done with it, and begins when the host begins
    it, but not before the previous one has ended.
    """
    events = np.flatnonzero(device_steps >= 0)
    if not len(events):
        return spans
    end = spans[:, 1].copy()
    np.maximum.at(end, device_steps[events], trace.end_ps[events])
    end = np.maximum.accumulate(end)
    start = spans[:, 0].copy()
    start[1:] = np.maximum(start[1:], end[:-1])
    # A span that ended before the next began still does, if the device had no part in it.
    return np.column_stack([start, np.maximum(start, end)])


def count_complete_steps(device_steps: Int64, count: int) -> int:
    """Return how many steps are left without those at the end that the capture cut off.

    The last steps launch nothing, or only a part, if the profiler stopped before the device.
    """
    events = np.bincount(device_steps[device_steps >= 0], minlength=count)
    if not events.any():
        return count
    while count > 1 and events[count - 1] < _MIN_TRAILING_SHARE * events[count - 2]:
        count -= 1
    return count


def _assign_annotation_steps(trace: Trace, names: tuple[str, ...]) -> tuple[Int64, Int64]:
    """Return annotations on a device that are named after a step, and their steps."""
    number = {name: at for at, name in enumerate(names)}
    if len(number) < len(names):  # names do not identify steps
        return np.empty(0, np.int64), np.empty(0, np.int64)
    step_of_name = np.array([number.get(name, -1) for name in trace.names], np.int64)
    is_match = trace.on_device & trace.is_annotation & (step_of_name[trace.name] >= 0)
    events = np.flatnonzero(is_match)
    return events, step_of_name[trace.name[events]]


def _assign_module_steps(trace: Trace, spans: Int64, markers: Int64) -> tuple[Int64, Int64]:
    """Return runs of XLA modules on a device, and the steps that started them."""
    events, ids = trace.get_int_args(_RUN_ID)
    on_device = trace.on_device[events]
    host_events = events[~on_device]
    times = _get_issue_times(trace, host_events, markers)
    step_of_id = dict(
        zip(ids[~on_device].tolist(), locate_in_spans(spans, times).tolist(), strict=True)
    )
    steps = np.array([step_of_id.get(id, -1) for id in ids[on_device].tolist()], np.int64)
    return events[on_device][steps >= 0], steps[steps >= 0]


def _iter_enclosed(trace: Trace, found: tuple[Int64, Int64]) -> list[tuple[Int64, Int64]]:
    """Return, per device, the steps of work that starts during one of the found events."""
    events, steps = found
    pairs = []
    device_of_track = np.array([track.device for track in trace.tracks], object)
    for device in dict.fromkeys(device_of_track[trace.track[events]].tolist()):
        is_device = (device_of_track == device)[trace.track]
        own = is_device[events]
        order = np.argsort(trace.start_ps[events[own]], kind="stable")
        enclosing, enclosing_steps = events[own][order], steps[own][order]
        work = np.flatnonzero(is_device & trace.is_device_work)
        spans = np.column_stack([trace.start_ps[enclosing], trace.end_ps[enclosing]])
        at = locate_in_spans(spans, trace.start_ps[work])
        pairs.append((enclosing_steps[at[at >= 0]], work[at >= 0]))
    return pairs


def _get_issue_times(trace: Trace, events: Int64, markers: Int64) -> Int64:
    """Return when the thread that marks the steps issued each host event.

    Other threads may be late: an event of theirs counts from when the work was handed to them.
    """
    times: Int64 = trace.start_ps[events].copy()
    is_main = np.zeros(len(trace.tracks), bool)
    is_main[trace.track[markers]] = True
    current, waiting = events.copy(), np.flatnonzero(~is_main[trace.track[events]])
    if not len(waiting) or not is_main.any():
        return times
    producer_of = _HandoffIndex(trace)
    for _ in range(_MAX_HANDOFFS):
        if not len(waiting):
            break
        producers = producer_of.get_producers(current[waiting])
        waiting, producers = waiting[producers >= 0], producers[producers >= 0]
        current[waiting] = producers
        times[waiting] = trace.start_ps[producers]
        waiting = waiting[~is_main[trace.track[producers]]]
    return times


class _HandoffIndex:
    """Find the event of another thread that handed over the work that an event is part of."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        pairs: EventPairs = pair_handoffs(trace)
        is_host: Bool = ~(trace.on_device[pairs.source] | trace.on_device[pairs.target])
        is_other = trace.track[pairs.source] != trace.track[pairs.target]
        source, target = pairs.source[is_host & is_other], pairs.target[is_host & is_other]
        order = np.argsort(target, kind="stable")  # by track, then by start
        self._source, self._target = source[order], target[order]

    def get_producers(self, events: Int64) -> Int64:
        """Return the producer of the last handoff around each event, -1 for none."""
        trace, target = self._trace, self._target
        if not len(target):
            return np.full(len(events), -1, np.int64)
        at = np.searchsorted(target, events, "right") - 1
        consumer = target[np.maximum(at, 0)]
        is_around = (
            (at >= 0)
            & (trace.track[consumer] == trace.track[events])
            & (trace.end_ps[consumer] >= trace.start_ps[events])
        )
        return np.where(is_around, self._source[np.maximum(at, 0)], -1)


# ---- CUDA graphs

#: Instructions that run no kernel.
_NO_KERNEL_OPCODES = frozenset({
    "parameter", "constant", "bitcast", "tuple", "get-tuple-element", "after-all", "partition-id",
    "replica-id", "opt-barrier", "add-dependency",
})  # fmt: skip
_NUMBER_SUFFIX = re.compile(r"([._]\d+)+\Z")
#: If fewer of the kernels are named like their instruction, the two do not match.
_MIN_SAME_NAME_SHARE = 0.75


class GraphKernel(NamedTuple):
    """A kernel or copy of one launch of a graph."""

    name: str
    node: int
    """Nodes are numbered in the order in which they were added to the graph."""
    start_ps: int


def match_kernels(
    kernels: Sequence[GraphKernel],
    instructions: Sequence[HloInstruction],
    by_kernel_name: Mapping[str, HloInstruction],
) -> list[HloInstruction | None]:
    """Return the instruction of each kernel of a launch; None where it is unknown.

    Args:
        kernels: All kernels of one launch.
        instructions: The instructions that the graph runs, in program order.
        by_kernel_name: Instructions by the name of the kernel that XLA generated for them.
    """
    active = [item for item in instructions if item.opcode not in _NO_KERNEL_OPCODES]
    generated = [item for item in active if item.opcode != "custom-call"]
    own = [at for at, kernel in enumerate(kernels) if kernel.name in by_kernel_name]
    own.sort(key=lambda at: kernels[at].node)
    result: list[HloInstruction | None] = [None] * len(kernels)
    copies = [item for item in generated if item.opcode == "copy"]
    if len(own) == len(generated) - len(copies):
        generated = [item for item in generated if item.opcode != "copy"]
    if len(own) != len(generated) or not _have_same_names(
        [kernels[at].name for at in own], [item.name for item in generated]
    ):
        return _match_unique_names(kernels, by_kernel_name)
    for at, instruction in zip(own, generated, strict=True):
        result[at] = instruction
    _match_library_calls(kernels, active, result)
    return result


def _match_library_calls(
    kernels: Sequence[GraphKernel],
    active: Sequence[HloInstruction],
    result: list[HloInstruction | None],
) -> None:
    """Set the instructions of library kernels, given those of all generated kernels.

    A call may run several kernels. Between two generated kernels run the kernels of the calls
    between their instructions.
    """
    calls = [item for item in active if item.opcode == "custom-call"]
    others = [
        at
        for at, kernel in enumerate(kernels)
        if result[at] is None and not kernel.name.lower().startswith("mem")
    ]
    others.sort(key=lambda at: kernels[at].node)
    if len(others) == len(calls):
        for at, call in zip(others, calls, strict=True):
            result[at] = call
        return
    calls_before: dict[int, list[HloInstruction]] = {}
    pending: list[HloInstruction] = []
    for item in active:
        if item.opcode == "custom-call":
            pending.append(item)
        else:
            calls_before[item.id] = pending
            pending = []
    order = sorted(range(len(kernels)), key=lambda at: kernels[at].start_ps)
    for is_known, run in groupby(order, key=lambda at: result[at] is not None):
        positions = list(run)
        if is_known:
            continue
        following = order.index(positions[-1]) + 1
        instruction = result[order[following]] if following < len(order) else None
        between = pending if instruction is None else calls_before.get(instruction.id, [])
        if len(between) == 1:
            for at in positions:
                result[at] = between[0]


def _match_unique_names(
    kernels: Sequence[GraphKernel], by_kernel_name: Mapping[str, HloInstruction]
) -> list[HloInstruction | None]:
    """Match by name the kernels that run once; others may be shared by several instructions."""
    names = [kernel.name for kernel in kernels]
    return [by_kernel_name.get(name) if names.count(name) == 1 else None for name in names]


def _have_same_names(kernels: Sequence[str], instructions: Sequence[str]) -> bool:
    """Return whether kernels are named like instructions, apart from numbers."""
    pairs = zip(kernels, instructions, strict=True)
    same = sum(
        _strip_number(kernel) == _strip_number(name.replace("-", "_").replace(".", "_"))
        for kernel, name in pairs
    )
    return same >= _MIN_SAME_NAME_SHARE * len(kernels)


def _strip_number(name: str) -> str:
    return _NUMBER_SUFFIX.sub("", name)


# ---- Python frames

_PYTHON_CATEGORY = "python_function"
#: Only the longest gaps are examined, at several times each.
_MAX_GAPS = 400
_TIMES_PER_GAP = 5
#: Nested frames that ended before the time in question.
_MAX_SKIPPED_FRAMES = 2_000


class GapFrames(NamedTuple):
    """What Python did in the gaps between other events."""

    share: float
    """Share of the gaps in which any Python frame ran."""
    longest: int
    """The frame in which most of that time was spent; -1 for none."""


def mask_python_frames(trace: Trace) -> Bool:
    """Return a mask of the Python functions and lines on the host."""
    is_frame = trace.match_names(lambda name: name.startswith("$"))
    return (is_frame | trace.match_categories(_PYTHON_CATEGORY)) & ~trace.on_device


def collect_gap_frames(trace: Trace, known: Bool, spans: Int64) -> GapFrames:
    """Return the innermost Python frames that ran while no known event did.

    Args:
        trace: The trace.
        known: Mask of the events that explain the time themselves.
        spans: Interval set to look at.
    """
    frames = np.flatnonzero(mask_python_frames(trace))
    gaps = _list_gaps(trace, known, spans)
    if not len(frames) or not len(gaps):
        return GapFrames(0.0, -1)
    # The thread whose frames cover most of the time is the one that drives the program.
    time = np.bincount(trace.track[frames], trace.duration_ps[frames].astype(float))
    frames = frames[trace.track[frames] == np.argmax(time)]
    gaps = gaps[select_largest(gaps[:, 1] - gaps[:, 0], _MAX_GAPS)]
    starts, ends = trace.start_ps[frames], trace.end_ps[frames]
    length = gaps[:, 1] - gaps[:, 0]
    parts = np.arange(1, 2 * _TIMES_PER_GAP, 2)
    times = gaps[:, :1] + length[:, np.newaxis] * parts // (2 * _TIMES_PER_GAP)
    weight = np.repeat(length // _TIMES_PER_GAP, _TIMES_PER_GAP)
    positions = _locate_innermost(starts, ends, times.ravel())
    weights: Counter[int] = Counter()
    by_name: Counter[int] = Counter()
    for position, item in zip(positions.tolist(), weight.tolist(), strict=True):
        if position >= 0:
            frame = int(frames[position])
            weights[frame] += item
            by_name[int(trace.name[frame])] += item
    total = int(weight.sum())
    if not total or not weights:
        return GapFrames(0.0, -1)
    name = by_name.most_common(1)[0][0]
    longest = max((frame for frame in weights if trace.name[frame] == name), key=weights.get)  # type: ignore[arg-type]
    return GapFrames(sum(weights.values()) / total, longest)


def _list_gaps(trace: Trace, known: Bool, spans: Int64) -> Int64:
    """Return when no known event ran, as an interval set within spans."""
    window = merge_intervals(spans)
    if not len(window):
        return window
    busy = merge_spans(trace.start_ps[known], trace.end_ps[known])
    edges = np.concatenate([[window[0, 0]], busy.ravel(), [window[-1, 1]]])
    return intersect_intervals(merge_intervals(edges.reshape(-1, 2)), window)


def _locate_innermost(starts: Int64, ends: Int64, times_ps: Int64) -> Int64:
    """Return the position of the last frame to start of those that run at each time, -1 for none.

    Frames are sorted by start.
    """
    position = np.searchsorted(starts, times_ps, "right") - 1
    first = position - _MAX_SKIPPED_FRAMES
    pending = np.arange(len(times_ps))
    while len(pending):
        at = position[pending]
        is_over = (at >= 0) & (at > first[pending]) & (ends[at] <= times_ps[pending])
        pending = pending[is_over]
        position[pending] -= 1
    is_found = (position >= 0) & (position > first)
    is_found[is_found] = ends[position[is_found]] > times_ps[is_found]
    return np.where(is_found, position, -1)
