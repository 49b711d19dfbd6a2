"""Steps of a trace, and what their time went into.

Steps are found by one rule after the other, because programs mark their steps in many ways or not
at all. The result says by which rule.

The time of a step is divided among parts, host and device together, so that every instant counts
once: for the part that is closest to the purpose of the step. Device compute hides what the host
does meanwhile. The time of each part on its own is kept as well, to show how much was hidden.

Start with `analyze_steps`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles import (
    attribute_time,
    compute_parents,
    locate_in_spans,
    measure_coverage,
    merge_spans,
    split_by_spans,
    unique_inverse,
    xprof,
)
from tracklight.analysis.profiles.attribution import (
    attribute_device_events,
    count_complete_steps,
    extend_steps,
    mask_launches,
)
from tracklight.analysis.profiles.ops import parse_op_name
from tracklight.analysis.profiles.trace import PS_PER_MS, Trace, detect_framework
from tracklight.errors import Message
from tracklight.types import Bool, Int8, Int64

#: "ours" are the rules of this module; "xprof" are those of `analysis.profiles.xprof`.
StepRules = Literal["ours", "xprof"]

#: If there are more steps than this, averages leave out the first, which includes warm-up, and the
#: last, which may be incomplete.
MIN_STEPS_TO_TRIM = 5

#: A pattern that repeats less often may be a coincidence.
_MIN_REPEATS = 3
#: Longer gaps than this multiple of a usual gap or step are no part of a step.
_MAX_GAP_FACTOR = 20
#: A line of TPU planes.
_DEVICE_STEP_LINE = "Steps"
_IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")
#: Matches the compiler itself, but neither a layer of that name nor other services of the compiler.
_COMPILE_NAME = re.compile(r"[^/]*\b(Xla|backend_)?[Cc]ompile(AndLoad|Module)?\b")
#: Instructions of TPUs that consist of others.
_CONTROL_FLOW_OP = re.compile(r"%(while|conditional|call)[.\d]* = ")
#: Annotations of programs and Python frames (``$file.py:12 function``) that load batches.
_INPUT_NAME = re.compile(
    r"(input_?(pipeline|batch|data)|(load|get|next|fetch|read)_?(next_)?(batch|data|input)\w*"
    r"|data_?load(er|ing)?|(wait_for|host)_?(input|data))\Z"
    r"|\$(\S*(data_?loader|input_pipeline|dataset_iterator)\S*\.py:\d+ |builtins next\Z"
    r"|\S+ (__next__|(load|get|next|fetch|read)_?(next_)?(batch|data)\w*)\Z)",
    re.IGNORECASE,
)
#: If fewer of the host events are ops, the profiler did not record ops.
_MIN_OP_SHARE = 0.2


class Steps(NamedTuple):
    """The steps of a trace, in order."""

    rule: Message
    """How the steps were found."""
    names: tuple[str, ...]
    """Empty for a step that is the whole capture."""
    spans: Int64
    """An interval set: start and end of each step in ps, on the host and on devices."""
    host_spans: Int64
    """Start and end of each step on the host alone."""
    marker_starts: Int64
    """When the marker of each step began, which may be later than the step."""
    device_steps: Int64
    """For each event, the step whose work it did on a device; -1 for none."""


class StepPart(IntEnum):
    """What a step spends time on. Of parts that run at the same time, the highest counts."""

    HOST_COMPUTE = 0
    COMPILATION = 1
    KERNEL_LAUNCH = 2
    HOST_TO_DEVICE = 3
    INPUT = 4
    COLLECTIVES = 5
    DEVICE_TO_DEVICE = 6
    OUTPUT = 7
    DEVICE_COMPUTE = 8

    @property
    def label(self) -> Message:
        return _PART_LABELS[self]

    @property
    def description(self) -> Message:
        return _PART_DESCRIPTIONS[self]


OTHER_LABEL = Message("profile.part_other", "other")
OTHER_DESCRIPTION = Message(
    "profile.part_other_description",
    "Nothing that the profiler recorded: Python, waiting, or disabled event types.",
)

_PART_LABELS = {
    StepPart.HOST_COMPUTE: Message("profile.part_host_compute", "host compute"),
    StepPart.COMPILATION: Message("profile.part_compilation", "compilation"),
    StepPart.KERNEL_LAUNCH: Message("profile.part_kernel_launch", "kernel launch"),
    StepPart.HOST_TO_DEVICE: Message("profile.part_host_to_device", "host to device"),
    StepPart.INPUT: Message("profile.part_input", "input"),
    StepPart.COLLECTIVES: Message("profile.part_collectives", "collectives"),
    StepPart.DEVICE_TO_DEVICE: Message("profile.part_device_to_device", "device to device"),
    StepPart.OUTPUT: Message("profile.part_output", "output"),
    StepPart.DEVICE_COMPUTE: Message("profile.part_device_compute", "device compute"),
}
_PART_DESCRIPTIONS = {
    StepPart.HOST_COMPUTE: Message(
        "profile.part_host_compute_description", "Ops and other work on the CPU."
    ),
    StepPart.COMPILATION: Message("profile.part_compilation_description", "Compiling programs."),
    StepPart.KERNEL_LAUNCH: Message(
        "profile.part_kernel_launch_description", "The host submits work to the device."
    ),
    StepPart.HOST_TO_DEVICE: Message(
        "profile.part_host_to_device_description", "Copying data to the device."
    ),
    StepPart.INPUT: Message("profile.part_input_description", "Waiting for the next batch."),
    StepPart.COLLECTIVES: Message(
        "profile.part_collectives_description", "Communication between devices."
    ),
    StepPart.DEVICE_TO_DEVICE: Message(
        "profile.part_device_to_device_description", "Copying or setting memory within devices."
    ),
    StepPart.OUTPUT: Message("profile.part_output_description", "Copying data from the device."),
    StepPart.DEVICE_COMPUTE: Message(
        "profile.part_device_compute_description", "Kernels running on the device."
    ),
}


#: Instructions of TPUs that do not compute.
_DEVICE_OPS = {
    ("%all-", "%reduce-scatter", "%collective-"): StepPart.COLLECTIVES,
    ("%infeed",): StepPart.INPUT,
    ("%outfeed",): StepPart.OUTPUT,
}


class StepBreakdown(NamedTuple):
    """Time per step (row) and part (column)."""

    exclusive_ps: Int64
    """Every instant counted once."""
    inclusive_ps: Int64
    """Each part as if there were no other."""
    total_ps: Int64
    """Duration of each step."""

    @property
    def other_ps(self) -> Int64:
        """Time of each step that belongs to no part."""
        known: Int64 = self.exclusive_ps.sum(axis=1)
        return self.total_ps - known


class StepAnalysis(NamedTuple):
    """The steps of a trace and the breakdown of their time."""

    steps: Steps
    breakdown: StepBreakdown
    event_parts: Int8
    """The `StepPart` of each event; -1 for none."""
    is_work: Bool
    """Mask of the events that do work, as opposed to waiting for others."""
    averaged_slice: slice
    """The steps that averages are taken over."""

    @property
    def averaged_count(self) -> int:
        return len(self.breakdown.total_ps[self.averaged_slice])

    def average_ms(self, column_ps: Int64) -> float:
        """Return the mean of a column with one row per step."""
        total_ps = float(column_ps[self.averaged_slice].sum())
        return total_ps / max(self.averaged_count, 1) / PS_PER_MS


def analyze_steps(trace: Trace, marker: str = "", rules: StepRules = "ours") -> StepAnalysis:
    """Find the steps of a trace and break down their time.

    Args:
        trace: The trace.
        marker: Name of the events that mark steps; detected if empty.
        rules: Which rules to apply. Those of xprof only apply to captures without a device.

    Example:
        >>> analysis = analyze_steps(trace)
        >>> analysis.average_ms(analysis.breakdown.total_ps)
        49.2
    """
    event_parts = classify_events(trace)
    is_work = _mask_work_events(trace, event_parts)
    if rules == "xprof" and not trace.on_device.any():
        return StepAnalysis(*_analyze_with_xprof_rules(trace), event_parts, is_work, slice(None))
    steps = detect_steps(trace, marker)
    is_gap_frame = _mask_frames_between_steps(trace, steps)
    event_parts[is_gap_frame & (event_parts < 0)] = StepPart.HOST_COMPUTE
    averaged = slice(1, -1) if len(steps.names) > MIN_STEPS_TO_TRIM else slice(None)
    breakdown = _break_down_steps(trace, steps, event_parts, is_work)
    return StepAnalysis(steps, breakdown, event_parts, is_work, averaged)


def _analyze_with_xprof_rules(trace: Trace) -> tuple[Steps, StepBreakdown]:
    xprof_steps = xprof.list_xprof_steps(trace)
    time = np.zeros((len(xprof_steps), len(StepPart)), np.int64)
    for row, step in zip(time, xprof_steps, strict=True):
        row[StepPart.HOST_COMPUTE], row[StepPart.INPUT] = step.compute_ps, step.input_ps
    total = np.array([step.total_ps for step in xprof_steps], np.int64)
    start = np.array([step.start_ps for step in xprof_steps], np.int64)
    names = tuple(step.name for step in xprof_steps)
    if xprof_steps:
        rule = Message("profile.steps_xprof", "xprof rules")
    else:
        rule = Message("profile.steps_xprof_none", "none: xprof finds no step markers")
    spans = np.column_stack([start, start + total]).reshape(-1, 2)
    steps = Steps(rule, names, spans, spans, start, np.full(len(trace), -1, np.int64))
    return steps, StepBreakdown(time, time.copy(), total)


# ---- finding steps


def detect_steps(trace: Trace, marker: str = "") -> Steps:
    """Find the steps of a trace.

    Args:
        trace: The trace.
        marker: Name of the events that mark steps. Without it, or if there are no such events, step
            markers are detected.
    """
    rules: list[tuple[Message, Callable[[Trace], Int64]]] = [
        (
            Message.format("profile.steps_named", "events named {marker}", marker=marker),
            lambda trace: _select_named(trace, marker),
        ),
        (Message("profile.steps_device", "steps recorded by the device"), _select_device_steps),
        (Message("profile.steps_marked", "step markers of the program"), _select_step_markers),
        (
            Message("profile.steps_keras", "batches profiled by Keras"),
            lambda trace: _select_prefixed(trace, "Profiled batch"),
        ),
        (
            Message("profile.steps_profiler", "steps marked by the profiler"),
            lambda trace: _select_prefixed(trace, "ProfilerStep#"),
        ),
        (
            Message("profile.steps_repeating", "repeating events of the busiest thread"),
            _select_repeating,
        ),
    ]
    for rule, select in rules[0 if marker else 1 :]:
        events = select(trace)
        if len(events):
            return _make_steps(trace, rule, events)
    return _make_single_step(trace)


def _make_steps(trace: Trace, rule: Message, events: Int64) -> Steps:
    """Make a step of each marker and of the device work that was launched during it.

    On the host, a step ends with its marker or at the next one. Nested markers are ignored.
    """
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    end = trace.end_ps[events]
    events = events[~np.append(False, end[1:] <= np.maximum.accumulate(end)[:-1])]
    start, end = trace.start_ps[events], trace.end_ps[events]
    end[:-1] = np.minimum(end[:-1], start[1:])
    names, host_spans = _name_steps(trace, events), np.column_stack([start, end])
    if detect_framework(trace) == "jax":
        host_spans = _include_gaps(host_spans)
    device_steps = attribute_device_events(trace, names, host_spans, events)
    count = count_complete_steps(device_steps, len(names))
    device_steps[device_steps >= count] = -1
    host_spans = host_spans[:count]
    spans = extend_steps(trace, host_spans, device_steps)
    return Steps(rule, names[:count], spans, host_spans, start[:count], device_steps)


def _include_gaps(spans: Int64) -> Int64:
    """Return spans that also cover the time before each marker, back to the marker before it.

    JAX programs mark the call of the step function, and load the batch for it before. Exceptionally
    long gaps, such as those of an evaluation, belong to no step.
    """
    gaps = spans[1:, 0] - spans[:-1, 1]
    if not len(gaps):
        return spans
    # np.median would import numpy.ma, which takes longer than the rest of this module.
    usual = max(median(gaps.tolist()), median((spans[:, 1] - spans[:, 0]).tolist()))
    longest = _MAX_GAP_FACTOR * usual
    start = spans[:, 0].copy()
    start[1:] = np.where(gaps <= longest, spans[:-1, 1], start[1:])
    return np.column_stack([start, spans[:, 1]])


def _name_steps(trace: Trace, events: Int64) -> tuple[str, ...]:
    """Return the names of markers with the number of the step, unless they contain one."""
    numbered, numbers = trace.get_int_args("step_num")
    step_num = dict(zip(numbered.tolist(), numbers.tolist(), strict=True))
    names = []
    markers = zip(events.tolist(), trace.name[events].tolist(), strict=True)
    for position, (event, name_id) in enumerate(markers):
        name = trace.names[name_id]
        if event in step_num:
            names.append(f"{name} {step_num[event]}")
        else:
            names.append(name if "#" in name else f"{name} {position}")
    return tuple(names)


def _make_single_step(trace: Trace) -> Steps:
    if not len(trace):
        rule = Message("profile.steps_none", "none: nothing was recorded")
        empty = np.empty((0, 2), np.int64)
        none = np.empty(0, np.int64)
        return Steps(rule, (), empty, empty, none, none)
    span = np.array([[trace.start_ps.min(), trace.end_ps.max()]])
    rule = Message(
        "profile.steps_single", "none: nothing repeats, so the whole capture is one step"
    )
    device_steps = np.where(trace.is_device_work, 0, -1)
    return Steps(rule, ("",), span, span, span[:, 0], device_steps)


def _select_named(trace: Trace, name: str) -> Int64:
    return np.flatnonzero(trace.match_names(lambda item: item == name))


def _select_device_steps(trace: Trace) -> Int64:
    """Return the steps that the first TPU core recorded."""
    tracks = [at for at, track in enumerate(trace.tracks) if track.is_device]
    lines = (at for at in tracks if trace.tracks[at].name == _DEVICE_STEP_LINE)
    return np.flatnonzero(trace.track == next(lines, -1))


def _select_prefixed(trace: Trace, prefix: str) -> Int64:
    is_match = trace.match_names(lambda name: name.startswith(prefix))
    return np.flatnonzero(is_match & ~trace.on_device)


def _select_step_markers(trace: Trace) -> Int64:
    """Return root events that the program named."""
    events, level = trace.get_int_args("_r")
    is_root = np.zeros(len(trace), bool)
    is_root[events[level > 0]] = True
    return np.flatnonzero(is_root & trace.match_names(lambda name: name not in _IMPLICIT_ROOTS))


def _select_repeating(trace: Trace) -> Int64:
    """Return the events of the repeating name that fills most of the busiest thread's time."""
    top_level = _select_top_level(trace)
    if not len(top_level):
        return top_level
    busy = np.bincount(trace.track[top_level], trace.duration_ps[top_level].astype(float))
    if not busy.any():
        return top_level[:0]
    events = top_level[trace.track[top_level] == np.argmax(busy)]
    _, inverse, counts = np.unique(trace.name[events], return_inverse=True, return_counts=True)
    time = np.bincount(inverse, trace.duration_ps[events].astype(float))
    time[counts < _MIN_REPEATS] = -1
    repeating: Int64 = events[(inverse == np.argmax(time)) & (time.max() > 0)]
    return repeating


def _select_top_level(trace: Trace) -> Int64:
    """Return host events that are not nested in another."""
    top_level: list[Int64] = []
    for track in np.unique(trace.track[~trace.on_device]).tolist():
        first, last = np.searchsorted(trace.track, [track, track + 1])
        parents = compute_parents(trace.end_ps[first:last])
        top_level.append(first + np.flatnonzero(parents < 0))
    return np.concatenate([np.empty(0, np.int64), *top_level])


# ---- breaking down their time


def _break_down_steps(
    trace: Trace, steps: Steps, event_parts: Int8, is_work: Bool
) -> StepBreakdown:
    """Divide the time of steps among parts.

    Args:
        trace: The trace.
        steps: Its steps.
        event_parts: The result of `classify_events`.
        is_work: The result of `_mask_work_events`.
    """
    has_part = event_parts >= 0
    start, end = trace.start_ps[has_part], trace.end_ps[has_part]
    exclusive = attribute_time(start, end, event_parts[has_part], steps.spans, len(StepPart))
    # Events that only wait count where nothing else runs, but are never hidden time.
    inclusive = [_measure_part(trace, steps, is_work & (event_parts == part)) for part in StepPart]
    return StepBreakdown(
        exclusive,
        np.maximum(np.column_stack(inclusive), exclusive),
        np.diff(steps.spans)[:, 0],
    )


def _mask_frames_between_steps(trace: Trace, steps: Steps) -> Bool:
    """Return a mask of the Python frames that ran within a step, but outside of its marker.

    Inside a marker, frames only enclose the calls that are recorded anyway.
    """
    is_frame = trace.match_names(lambda name: name.startswith("$")) & ~trace.on_device
    if not is_frame.any() or not len(steps.spans):
        return np.zeros(len(trace), bool)
    frames = np.flatnonzero(is_frame)
    gaps = np.column_stack([steps.host_spans[:, 0], steps.marker_starts])
    at = locate_in_spans(gaps, trace.start_ps[frames])
    is_inside = (at >= 0) & (trace.end_ps[frames] <= gaps[at, 1])
    mask = np.zeros(len(trace), bool)
    mask[frames[is_inside]] = True
    return mask


def _measure_part(trace: Trace, steps: Steps, mask: Bool) -> Int64:
    """Return how long at least one of some events ran for each step, on the host or on devices.

    A device may do the work of a step later. A copy and the call that waits for it count once.
    """
    on_host = mask & ~trace.on_device
    if not (mask & trace.on_device).any():
        return measure_coverage(trace.start_ps[on_host], trace.end_ps[on_host], steps.host_spans)
    host, host_steps = split_by_spans(
        merge_spans(trace.start_ps[on_host], trace.end_ps[on_host]),
        steps.host_spans,
    )
    events = np.flatnonzero(mask & (steps.device_steps >= 0))
    start = np.concatenate([host[:, 0], trace.start_ps[events]])
    end = np.concatenate([host[:, 1], trace.end_ps[events]])
    step = np.concatenate([host_steps, steps.device_steps[events]])
    time = np.zeros(len(steps.names), np.int64)
    if len(step):
        order = np.lexsort((start, step))
        start, end = start[order], end[order]
        own, first = np.unique(step[order], return_index=True)
        # Shift the steps after one another, so that all of them are merged at once.
        lengths = np.maximum.reduceat(end, first) - start[first] + 1
        bases = np.cumsum(lengths) - lengths
        shift = np.repeat(bases - start[first], np.diff(np.append(first, len(order))))
        merged = merge_spans(start + shift, end + shift)
        at = np.searchsorted(bases, merged[:, 0], "right") - 1
        np.add.at(time, own[at], merged[:, 1] - merged[:, 0])
    return time


def _mask_work_events(trace: Trace, event_parts: Int8) -> Bool:
    """Return a mask of the events that do work, and do not only wait for others.

    Host events around ops wait while the ops run, on the host or on a device.
    """
    is_work = (event_parts >= 0) & ~trace.match_names(lambda name: "Synchronize" in name)
    is_host_compute = (event_parts == StepPart.HOST_COMPUTE) & ~trace.on_device
    # Ops of TensorFlow and JAX have a colon in their names. Most events are no ops.
    is_op = trace.match_names(lambda name: ":" in name and parse_op_name(name) is not None)
    is_op = is_op | trace.match_categories("cpu_op")
    has_ops = int((is_op & is_host_compute).sum()) > _MIN_OP_SHARE * int(is_host_compute.sum())
    return is_work & (is_op | ~is_host_compute) if has_ops else is_work


def classify_events(trace: Trace) -> Int8:
    """Return the `StepPart` of each event; -1 for events that only enclose others."""
    event_parts = np.empty(len(trace), np.int8)
    for mask, classify in (
        (~trace.on_device, _classify_host_event),
        (trace.on_device, _classify_device_event),
    ):
        name_ids, inverse = unique_inverse(trace.name[mask])
        names = map(trace.names.__getitem__, name_ids)
        parts = [-1 if _is_enclosing(name) else classify(name) for name in names]
        event_parts[mask] = np.array(parts, np.int8).take(inverse)
    event_parts[_mask_enclosing_ops(trace, event_parts)] = -1
    event_parts[mask_launches(trace) & (event_parts >= 0)] = StepPart.KERNEL_LAUNCH
    is_frame = trace.match_categories("python_function", "overhead")
    event_parts[is_frame | (trace.on_device & trace.is_annotation)] = -1
    event_parts[trace.match_categories("Trace")] = -1
    return event_parts


def _mask_enclosing_ops(trace: Trace, event_parts: Int8) -> Bool:
    """Return a mask of the loops and branches on TPUs that contain other work than compute."""
    mask = trace.on_device & trace.match_names(lambda name: bool(_CONTROL_FLOW_OP.match(name)))
    events = np.flatnonzero(mask)
    others = np.flatnonzero(trace.is_device_work & (event_parts != StepPart.DEVICE_COMPUTE))
    # Events are sorted by track and start: what an event contains follows it directly.
    following = np.append(others, -1)[np.searchsorted(others, events, "right")]
    is_inside = (
        (following >= 0)
        & (trace.track[following] == trace.track[events])
        & (trace.start_ps[following] < trace.end_ps[events])
    )
    mask[events] = is_inside
    return mask


def _is_enclosing(name: str) -> bool:
    """Return whether an event encloses a step, or is a Python frame that loads no input."""
    if name.startswith("$"):
        return not _INPUT_NAME.match(name)
    return name.startswith(("Profiled batch", "ProfilerStep#", "train", "test"))


def _classify_host_event(name: str) -> int:
    lowered = name.lower()
    if lowered.startswith(("iteratorgetnext", "enumerate(data")) or _INPUT_NAME.match(name):
        return StepPart.INPUT
    if lowered.startswith(("memcpyhtod", "memcpyh2d")):
        return StepPart.HOST_TO_DEVICE
    if "ompile" in name and _COMPILE_NAME.match(name):
        return StepPart.COMPILATION
    return StepPart.HOST_COMPUTE


def _classify_device_event(name: str) -> int:
    for prefixes, part in _DEVICE_OPS.items():
        if name.startswith(prefixes):
            return part
    lowered = name.lower().replace(" ", "").replace("to", "2")
    if lowered.startswith("nccl"):
        return StepPart.COLLECTIVES
    if not lowered.startswith("mem"):
        return StepPart.DEVICE_COMPUTE
    if "h2d" in lowered:
        return StepPart.HOST_TO_DEVICE
    return StepPart.OUTPUT if "d2h" in lowered else StepPart.DEVICE_TO_DEVICE
