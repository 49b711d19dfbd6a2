"""Steps found, and what their time went into."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np

from tracklight.analysis.profiles import xprof
from tracklight.analysis.profiles.arrays import (
    attribute_time,
    compute_parents,
    measure_coverage,
    unique_inverse,
)
from tracklight.analysis.profiles.ops import parse_op_name
from tracklight.analysis.profiles.trace import Trace
from tracklight.types import Bool, Int64

# Finds the steps of a trace: by one rule after the other, until one finds some.
#
# Programs mark their steps in many ways and many do not at all, so there is always an answer, and it
# always says by which rule it was found.

#: A pattern that repeats less often may be chance.
_MIN_REPEATS = 3

_IMPLICIT_ROOTS = ("FunctionRun", "SessionRun", "RunGraph", "ExecutorState::Process")


class Steps(NamedTuple):
    rule: str
    names: tuple[str, ...]
    spans: Int64
    """Rows of a start and an end, in ps, in order and apart."""


def detect_steps(trace: Trace, marker: str = "") -> Steps:
    """Find the steps, by the ``marker`` that somebody chose if there is one."""
    rules: dict[str, Callable[[Trace], Int64]] = {
        f"events that are called {marker}, as chosen": lambda trace: _select_named(trace, marker),
        "marks of steps by the program": _select_step_markers,
        "batches that Keras profiled": lambda trace: _select_prefixed(trace, "Profiled batch"),
        "steps of PyTorch's profiler, or of ours": _select_profiler_steps,
        "what repeats at the top of the busiest thread": _select_repeating,
    }
    if not marker:
        del rules[next(iter(rules))]
    for rule, find in rules.items():
        events = find(trace)
        if len(events):
            return _make_steps(trace, rule, events)
    return _make_single_step(trace)


def _make_steps(trace: Trace, rule: str, events: Int64) -> Steps:
    """Let each step reach from its mark to the mark's end, or to the next if that comes before.

    A mark inside of another one is none of its own.
    """
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    end = trace.end_ps[events]
    events = events[~np.append(False, end[1:] <= np.maximum.accumulate(end)[:-1])]
    start, end = trace.start_ps[events], trace.end_ps[events]
    end[:-1] = np.minimum(end[:-1], start[1:])
    return Steps(rule, _name_steps(trace, events), np.column_stack([start, end]))


def _name_steps(trace: Trace, events: Int64) -> tuple[str, ...]:
    at, numbers = trace.get_int_args("step_num")
    number = dict(zip(at.tolist(), numbers.tolist(), strict=True))
    names = [trace.names[trace.name[event]] for event in events.tolist()]
    return tuple(
        f"{name} {number[event]}" if event in number else name if "#" in name else f"{name} {at}"
        for at, (event, name) in enumerate(zip(events.tolist(), names, strict=True))
    )


def _select_named(trace: Trace, name: str) -> Int64:
    return np.flatnonzero(trace.match_names(lambda each: each == name))


def _select_prefixed(trace: Trace, start: str) -> Int64:
    return np.flatnonzero(trace.match_names(lambda name: name.startswith(start)) & ~trace.on_device)


def _select_profiler_steps(trace: Trace) -> Int64:
    return _select_prefixed(trace, "ProfilerStep#")


def _select_step_markers(trace: Trace) -> Int64:
    """What the program put a root around, and called something."""
    events, level = trace.get_int_args("_r")
    is_root = np.zeros(len(trace), bool)
    is_root[events[level > 0]] = True
    return np.flatnonzero(is_root & trace.match_names(lambda name: name not in _IMPLICIT_ROOTS))


def _select_repeating(trace: Trace) -> Int64:
    """The name that fills most of the busiest thread's time and comes again and again."""
    top = _select_top_level(trace)
    if not len(top):
        return top
    busy = np.bincount(trace.track[top], trace.duration_ps[top].astype(float))
    mine = top[trace.track[top] == np.argmax(busy)]
    _, which, counts = np.unique(trace.name[mine], return_inverse=True, return_counts=True)
    time = np.bincount(which, trace.duration_ps[mine].astype(float))
    time[counts < _MIN_REPEATS] = -1
    repeats: Int64 = mine[(which == np.argmax(time)) & (time.max() > 0)]
    return repeats


def _select_top_level(trace: Trace) -> Int64:
    """Events of hosts that stand inside of no other."""
    found: list[Int64] = []
    for track in np.unique(trace.track[~trace.on_device]).tolist():
        first, last = np.searchsorted(trace.track, [track, track + 1])
        parents = compute_parents(trace.end_ps[first:last])
        found.append(first + np.flatnonzero(parents < 0))
    return np.concatenate([np.empty(0, np.int64), *found])


def _make_single_step(trace: Trace) -> Steps:
    if not len(trace):
        return Steps("none: nothing was recorded", (), np.empty((0, 2), np.int64))
    span = np.array([[trace.start_ps.min(), trace.end_ps.max()]])
    return Steps("none: nothing repeats, so the whole capture is one step", ("all",), span)


# What the time of a step went into, host and device together, each instant once.
#
# Of several things that go on at once, the one that is closest to the work that a step is for counts:
# what a device computes hides what its host does meanwhile. How much each part took by itself is kept
# beside that, so that it can be said what was hidden.

#: Not a layer that happens to be called so, and not the compiler's other services.
_COMPILE_NAME = re.compile(r"[^/]*\b(Xla|backend_)?[Cc]ompile(AndLoad|Module)?\b")

#: Where fewer events of a host than this are ops, its profiler does not record them.
_MIN_OP_SHARE = 0.2


class StepPart(IntEnum):
    """In rising order: of two that go on at once, the later one counts."""

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
    def label(self) -> str:
        return self.name.lower().replace("_", " ")


#: What each part is, in a sentence.
STEP_PART_DESCRIPTIONS = {
    StepPart.HOST_COMPUTE: "Ops and other work of the processor.",
    StepPart.COMPILATION: "Programs are compiled.",
    StepPart.KERNEL_LAUNCH: "The host hands work to the device.",
    StepPart.HOST_TO_DEVICE: "Data is copied to the device.",
    StepPart.INPUT: "The program waits for its next batch.",
    StepPart.COLLECTIVES: "Devices exchange what they computed.",
    StepPart.DEVICE_TO_DEVICE: "Data is copied or set within devices.",
    StepPart.OUTPUT: "Data is copied from the device.",
    StepPart.DEVICE_COMPUTE: "Kernels run on the device.",
}


class StepBreakdown(NamedTuple):
    """One row a step, one column a part; in ps."""

    exclusive_ps: Int64
    """Each instant once."""
    inclusive_ps: Int64
    """Each part as if there were no other."""
    total_ps: Int64
    """How long each step took."""

    @property
    def other_ps(self) -> Int64:
        known: Int64 = self.exclusive_ps.sum(axis=1)
        return self.total_ps - known


def break_down_steps(
    trace: Trace, steps: Steps, event_parts: Int64, is_work: Bool
) -> StepBreakdown:
    """Divide steps by what `find_parts` and `find_work` give."""
    known = event_parts >= 0
    start, end = trace.start_ps[known], trace.end_ps[known]
    counted = attribute_time(start, end, event_parts[known], steps.spans, len(StepPart))
    # What only waits counts where nothing else goes on, and is hidden behind nothing.
    event_parts = np.where(is_work, event_parts, -1)[known]
    alone = [
        measure_coverage(start[event_parts == each], end[event_parts == each], steps.spans)
        for each in StepPart
    ]
    return StepBreakdown(
        counted, np.maximum(np.column_stack(alone), counted), np.diff(steps.spans)[:, 0]
    )


def mask_work_events(trace: Trace, event_parts: Int64) -> Bool:
    """Of each event, whether somebody works in it, and does not only wait for others.

    What stands around ops on a host waits for as long as they run, wherever that is.
    """
    works = (event_parts >= 0) & ~trace.match_names(lambda name: "Synchronize" in name)
    computes = (event_parts == StepPart.HOST_COMPUTE) & ~trace.on_device
    # An op of TensorFlow or JAX has a colon in its name, and most events are none.
    named = trace.match_names(lambda name: ":" in name and parse_op_name(name) is not None)
    ops = named | trace.match_categories("cpu_op")
    told = int((ops & computes).sum()) > _MIN_OP_SHARE * int(computes.sum())
    return works & (ops | ~computes) if told else works


def classify_events(trace: Trace) -> Int64:
    """Which part each event is; -1: it only stands around others, as a mark of a step does."""
    part = np.empty(len(trace), np.int64)
    for mine, say in (
        (~trace.on_device, _classify_host_event),
        (trace.on_device, _classify_device_event),
    ):
        names, which = unique_inverse(trace.name[mine])
        said = [
            -1 if _is_enclosing(name) else say(name) for name in map(trace.names.__getitem__, names)
        ]
        part[mine] = np.array(said, np.int64)[which]
    launches = _mask_launches(trace) | trace.match_categories("cuda_runtime", "cuda_driver")
    part[launches & (part >= 0)] = StepPart.KERNEL_LAUNCH
    marks = trace.match_categories("gpu_user_annotation", "python_function", "overhead", "Trace")
    part[marks] = -1
    return part


def _mask_launches(trace: Trace) -> Bool:
    """Of each event, whether it is a host's call that something on a device came of."""
    launches = np.zeros(len(trace), bool)
    if trace.on_device.any():
        events, _ = trace.get_int_args("correlation_id")
        launches[events] = True
        launches &= ~trace.on_device
    return launches


def _is_enclosing(name: str) -> bool:
    """Whether it is something around a step, or around all that a thread does."""
    return name.startswith(("Profiled batch", "ProfilerStep#", "train", "test", "$"))


def _classify_host_event(name: str) -> int:
    lowered = name.lower()
    if lowered.startswith(("iteratorgetnext", "enumerate(data")):
        return StepPart.INPUT
    if lowered.startswith(("memcpyhtod", "memcpyh2d")):
        return StepPart.HOST_TO_DEVICE
    if "ompile" in name and _COMPILE_NAME.match(name):
        return StepPart.COMPILATION
    return StepPart.HOST_COMPUTE


def _classify_device_event(name: str) -> int:
    lowered = name.lower().replace(" ", "").replace("to", "2")
    if lowered.startswith("nccl"):
        return StepPart.COLLECTIVES
    if not lowered.startswith("mem"):
        return StepPart.DEVICE_COMPUTE
    if "h2d" in lowered:
        return StepPart.HOST_TO_DEVICE
    return StepPart.OUTPUT if "d2h" in lowered else StepPart.DEVICE_TO_DEVICE


# The steps of a trace and the parts of their time, by one of two sets of rules.

#: Ours put host and device together; xprof's are those that xprof goes by.
StepRules = Literal["ours", "xprof"]

#: Of more steps than this, the first and the last say little: one warms up, one may be cut short.
MIN_STEPS_TO_TRIM = 5


class StepAnalysis(NamedTuple):
    steps: Steps
    breakdown: StepBreakdown
    event_parts: Int64
    """Which part each event is; -1: none."""
    is_work: Bool
    """In which events somebody works, and does not only wait."""
    averaged_slice: slice
    """The steps that averages are of."""

    @property
    def averaged_count(self) -> int:
        return len(self.breakdown.total_ps[self.averaged_slice])

    def average_ms(self, column: Int64) -> float:
        """The mean over steps of what has a row a step, in ps."""
        return float(column[self.averaged_slice].sum()) / max(self.averaged_count, 1) / 1e9


def analyze_steps(trace: Trace, marker: str = "", rules: StepRules = "ours") -> StepAnalysis:
    part = classify_events(trace)
    works = mask_work_events(trace, part)
    if rules == "xprof":
        return StepAnalysis(*_analyze_with_xprof_rules(trace), part, works, slice(None))
    steps = detect_steps(trace, marker)
    inner = slice(1, -1) if len(steps.names) > MIN_STEPS_TO_TRIM else slice(None)
    return StepAnalysis(steps, break_down_steps(trace, steps, part, works), part, works, inner)


def _analyze_with_xprof_rules(trace: Trace) -> tuple[Steps, StepBreakdown]:
    found = xprof.list_xprof_steps(trace)
    counted = np.zeros((len(found), len(StepPart)), np.int64)
    for row, step in zip(counted, found, strict=True):
        row[StepPart.HOST_COMPUTE], row[StepPart.INPUT] = step.compute_ps, step.input_ps
    total = np.array([step.total_ps for step in found], np.int64)
    start = np.array([step.start_ps for step in found], np.int64)
    names = tuple(step.name for step in found)
    rule = "as xprof finds them" if found else "none: xprof finds no marks of steps here"
    steps = Steps(rule, names, np.column_stack([start, start + total]).reshape(-1, 2))
    return steps, StepBreakdown(counted, counted.copy(), total)
