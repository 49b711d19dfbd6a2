"""The overview of a capture, and the comparison of two captures.

An overview has the steps, where their time went, top ops, environment and findings. A comparison
says what of this changed, and whether the difference exceeds the variation between steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import islice
from math import hypot, sqrt
from statistics import median
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles import (
    intersect_intervals,
    measure_coverage,
    measure_intervals,
    merge_spans,
    union_intervals,
)
from tracklight.analysis.profiles.attribution import (
    format_device,
    list_devices,
    mask_device,
    measure_device,
    measure_idle,
)
from tracklight.analysis.profiles.findings import (
    DEFAULT_THRESHOLDS,
    Finding,
    FindingInput,
    ThresholdRow,
    iter_thresholds,
    list_findings,
)
from tracklight.analysis.profiles.findings.input_pipeline import add_stage_advice
from tracklight.analysis.profiles.kernels import Precision, measure_precision
from tracklight.analysis.profiles.ops import OpSide, OpStats, compute_op_stats, parse_op_name
from tracklight.analysis.profiles.steps import (
    OTHER_DESCRIPTION,
    OTHER_LABEL,
    StepAnalysis,
    StepPart,
    StepRules,
    analyze_steps,
)
from tracklight.analysis.profiles.trace import (
    PS_PER_MS,
    Device,
    Framework,
    Trace,
    detect_framework,
    format_ms,
)
from tracklight.analysis.source import Sentence
from tracklight.errors import Message
from tracklight.types import Bool, Int64

#: Type of the ops of a capture without a framework.
PYTHON_OP_TYPE = "Python"

_MAX_OPS = 20
_MAX_MARKERS = 30
#: Rarer events do not mark steps; more frequent ones are parts of steps.
_MIN_MARKS, _MAX_MARKS = 3, 10_000
_FRAMEWORK_NAMES: dict[Framework, str | Message] = {
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "jax": "JAX",
    "python": Message("profile.framework_python", "Python sampler"),
    "chrome": Message("profile.framework_chrome", "unknown (Chrome trace)"),
}
#: Functions as the sampler names them: ``train (program.py:12)``.
_FUNCTION_NAME = re.compile(r" \([^()]+:\d+\)$")
_MAX_SHOWN_OPS = 5
#: Less than the time of a sample is noise.
_MIN_SHOWN_MS = 0.05


class StepTimes(msgspec.Struct):
    """Durations of steps. Averages leave out the first and the last of many steps."""

    count: int
    averaged: int
    """Number of steps that the other numbers are computed from."""
    mean_ms: float
    median_ms: float
    min_ms: float
    max_ms: float
    std_ms: float


class PartTime(msgspec.Struct):
    """Time of an average step in one part."""

    name: str
    label: Sentence
    ms: float
    share: float
    hidden_ms: float
    """Time that ran behind a part of higher priority."""
    description: Sentence


class Overlap(msgspec.Struct):
    """How long host and devices were busy in an average step."""

    host_ms: float
    device_ms: float
    both_ms: float
    neither_ms: float


class DeviceUse(msgspec.Struct):
    """How long a device was busy, over all its streams."""

    name: str
    busy_ms: float
    """Of an average step; ``idle_ms`` is the rest of the step."""
    idle_ms: float
    total_ms: float
    """Of the whole capture."""
    outside_ms: float
    """Of the whole capture, in no step: launched before, between or after the steps."""
    host_wait_ms: float
    """Idle between its first and its last event, because the next work was not yet launched."""
    kernel_wait_ms: float
    """Idle although the next work was launched, for less than 30 µs."""
    other_wait_ms: float
    """Idle for other or unknown reasons."""


class OpPlacement(msgspec.Struct):
    """Total self time and number of op calls on the host and on devices."""

    host_ms: float
    device_ms: float
    host_ops: int
    device_ops: int


class OpRow(msgspec.Struct):
    """An op. ``share`` is its share of the self time of all ops on the same side."""

    name: str
    type: str
    side: Literal["host", "device"]
    count: int
    total_ms: float
    self_ms: float
    share: float
    event: int
    """The longest call."""


class StepMarker(msgspec.Struct):
    """Events that could mark steps."""

    name: str
    count: int


class EnvironmentFact(msgspec.Struct):
    """A property of the program or the machine it ran on."""

    name: Sentence
    value: Sentence


class PrecisionTimes(msgspec.Struct):
    """How long kernels ran in each precision."""

    low_ms: float
    """In at most 16 bits."""
    byte_ms: float
    """In at most 8 bits; a part of ``low_ms``."""
    full_ms: float
    unknown_ms: float
    low_share: float | None
    """Share of the time of known precision; null if there is none."""


class ProfileSummary(msgspec.Struct):
    """The overview of the capture of one host."""

    events: int
    span_ms: float
    framework: Framework
    step_rule: Sentence
    """How the steps were found."""
    markers: list[StepMarker]
    steps: StepTimes
    parts: list[PartTime]
    overlap: Overlap | None
    devices: list[DeviceUse]
    placement: OpPlacement
    precision: PrecisionTimes
    ops: list[OpRow]
    environment: list[EnvironmentFact]
    findings: list[Finding]
    thresholds: list[ThresholdRow]
    """The thresholds of the findings."""
    problems: list[Sentence]


def summarize(trace: Trace, marker: str = "", rules: StepRules = "ours") -> ProfileSummary:
    """Return the overview of a trace.

    Args:
        trace: The trace.
        marker: Name of the events that mark steps; detected if empty.
        rules: By which rules to find steps and their parts.
    """
    return summarize_analysis(trace, analyze_steps(trace, marker, rules), compute_op_stats(trace))


def summarize_analysis(
    trace: Trace,
    analysis: StepAnalysis,
    op_stats: OpStats,
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS,
) -> ProfileSummary:
    """Return the overview of a trace whose steps and ops are already known."""
    precision = measure_precision(trace, analysis.event_parts)
    framework = detect_framework(trace)
    findings = list_findings(FindingInput(trace, analysis, precision, framework, thresholds))
    add_stage_advice(findings, trace, analysis)
    span_ps = trace.end_ps.max() - trace.start_ps.min() if len(trace) else 0
    return ProfileSummary(
        events=len(trace),
        span_ms=float(span_ps) / PS_PER_MS,
        framework=framework,
        step_rule=Sentence.make(analysis.steps.rule),
        markers=_list_step_markers(trace),
        steps=_measure_steps(analysis),
        parts=list(_iter_part_times(analysis)),
        overlap=_measure_overlap(trace, analysis),
        devices=[_measure_device_use(trace, analysis, name) for name in list_devices(trace)],
        placement=_measure_op_placement(op_stats),
        precision=_make_precision_times(precision),
        ops=_list_top_ops(op_stats),
        environment=[
            EnvironmentFact(Sentence.make(name), Sentence.make(value))
            for name, value in _iter_environment(trace, framework)
        ],
        findings=findings,
        thresholds=[*iter_thresholds(thresholds)],
        problems=[Sentence.make(problem) for problem in trace.problems],
    )


def _measure_steps(analysis: StepAnalysis) -> StepTimes:
    count = len(analysis.steps.names)
    total_ms = analysis.breakdown.total_ps[analysis.averaged_slice] / PS_PER_MS
    if not len(total_ms):
        return StepTimes(count, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return StepTimes(
        count=count,
        averaged=len(total_ms),
        mean_ms=float(total_ms.mean()),
        # np.median would import numpy.ma, which takes longer than the rest of the summary.
        median_ms=median(total_ms.tolist()),
        min_ms=float(total_ms.min()),
        max_ms=float(total_ms.max()),
        std_ms=float(total_ms.std(ddof=1)) if len(total_ms) > 1 else 0.0,
    )


def _iter_part_times(analysis: StepAnalysis) -> Iterator[PartTime]:
    breakdown = analysis.breakdown
    step_ms = analysis.average_ms(breakdown.total_ps) or 1.0
    for part in StepPart:
        ms = analysis.average_ms(breakdown.exclusive_ps[:, part])
        hidden_ms = analysis.average_ms(breakdown.inclusive_ps[:, part]) - ms
        yield PartTime(
            name=part.name.lower(),
            label=Sentence.make(part.label),
            ms=ms,
            share=ms / step_ms,
            hidden_ms=max(hidden_ms, 0.0),
            description=Sentence.make(part.description),
        )
    ms = analysis.average_ms(breakdown.other_ps)
    yield PartTime(
        name="other",
        label=Sentence.make(OTHER_LABEL),
        ms=ms,
        share=ms / step_ms,
        hidden_ms=0.0,
        description=Sentence.make(OTHER_DESCRIPTION),
    )


def _measure_overlap(trace: Trace, analysis: StepAnalysis) -> Overlap | None:
    """Return how long host and devices worked at the same time; None without device events.

    Host work counts for the step in which the host did it, even if the device was still busy with
    an earlier one.
    """
    steps, is_work = analysis.steps, analysis.is_work
    if not (is_work & trace.on_device).any():
        return None
    on_device = _merge_events(trace, is_work & trace.on_device)
    on_host = _merge_events(trace, is_work & ~trace.on_device)
    step_ms = analysis.average_ms(analysis.breakdown.total_ps)

    def average_ms(busy: Int64, spans: Int64) -> float:
        return analysis.average_ms(measure_coverage(busy[:, 0], busy[:, 1], spans))

    return Overlap(
        host_ms=average_ms(on_host, steps.host_spans),
        device_ms=average_ms(on_device, steps.spans),
        both_ms=average_ms(intersect_intervals(on_host, on_device), steps.host_spans),
        neither_ms=max(step_ms - average_ms(union_intervals([on_host, on_device]), steps.spans), 0),
    )


def _merge_events(trace: Trace, mask: Bool) -> Int64:
    return merge_spans(trace.start_ps[mask], trace.end_ps[mask])


def _measure_device_use(trace: Trace, analysis: StepAnalysis, device: str) -> DeviceUse:
    mask, steps = mask_device(trace, device), analysis.steps
    busy_ms = analysis.average_ms(measure_device(trace, device, steps.spans))
    step_ms = analysis.average_ms(analysis.breakdown.total_ps)
    outside = _merge_events(trace, mask & (steps.device_steps < 0))
    idle = measure_idle(trace, device)
    return DeviceUse(
        name=format_device(device),
        busy_ms=busy_ms,
        idle_ms=max(step_ms - busy_ms, 0.0),
        total_ms=measure_intervals(_merge_events(trace, mask)) / PS_PER_MS,
        outside_ms=measure_intervals(outside) / PS_PER_MS,
        host_wait_ms=idle.host_wait_ps / PS_PER_MS,
        kernel_wait_ms=idle.kernel_wait_ps / PS_PER_MS,
        other_wait_ms=idle.other_ps / PS_PER_MS,
    )


def _measure_op_placement(op_stats: OpStats) -> OpPlacement:
    on_host, on_device = op_stats.sides == OpSide.HOST, op_stats.sides == OpSide.DEVICE
    return OpPlacement(
        host_ms=float(op_stats.self_ps[on_host].sum()) / PS_PER_MS,
        device_ms=float(op_stats.self_ps[on_device].sum()) / PS_PER_MS,
        host_ops=int(op_stats.counts[on_host].sum()),
        device_ops=int(op_stats.counts[on_device].sum()),
    )


def _list_top_ops(op_stats: OpStats) -> list[OpRow]:
    """List the ops with the longest self time.

    Python functions contain ops and are listed only if there is nothing else. Functions made of
    lines have no self time, so those with the longest total time are included.
    """
    sides = op_stats.sides.tolist()
    side_ps = {side: max(int(op_stats.self_ps[op_stats.sides == side].sum()), 1) for side in OpSide}
    rows = [row for row, side in enumerate(sides) if side != OpSide.PYTHON][:_MAX_OPS]
    if not rows:
        by_total = np.argsort(-op_stats.total_ps, kind="stable")[:_MAX_OPS].tolist()
        rows = list(dict.fromkeys([*range(min(len(op_stats.ops), _MAX_OPS)), *by_total]))
    return [
        OpRow(
            name=op_stats.ops[row].name,
            type=op_stats.ops[row].type,
            side="device" if sides[row] == OpSide.DEVICE else "host",
            count=int(op_stats.counts[row]),
            total_ms=int(op_stats.total_ps[row]) / PS_PER_MS,
            self_ms=int(op_stats.self_ps[row]) / PS_PER_MS,
            share=int(op_stats.self_ps[row]) / side_ps[OpSide(sides[row])],
            event=int(op_stats.longest_event[row]),
        )
        for row in rows
    ]


def _list_step_markers(trace: Trace) -> list[StepMarker]:
    """List repeating host events that could mark steps, longest total time first.

    Ops are left out, as steps consist of them.
    """
    events = np.flatnonzero(~trace.on_device & ~trace.match_categories("cpu_op"))
    names = trace.name[events]
    counts = np.bincount(names, minlength=len(trace.names))
    time = np.bincount(names, trace.duration_ps[events].astype(float), len(trace.names))
    is_candidate = (counts >= _MIN_MARKS) & (counts <= _MAX_MARKS) & (time > 0)
    candidates = np.flatnonzero(is_candidate)
    order = candidates[np.argsort(-time[candidates], kind="stable")].tolist()
    markers = (name for name in order if parse_op_name(trace.names[name]) is None)
    return [
        StepMarker(trace.names[name], int(counts[name])) for name in islice(markers, _MAX_MARKERS)
    ]


def _make_precision_times(precision: Precision) -> PrecisionTimes:
    return PrecisionTimes(
        low_ms=precision.low_ps / PS_PER_MS,
        byte_ms=precision.byte_ps / PS_PER_MS,
        full_ms=precision.full_ps / PS_PER_MS,
        unknown_ms=precision.unknown_ps / PS_PER_MS,
        low_share=precision.low_share,
    )


def _iter_environment(
    trace: Trace, framework: Framework
) -> Iterator[tuple[str | Message, str | Message]]:
    """Yield names and values that describe the program and the machine it ran on."""
    yield Message("profile.fact_profiler", "Profiler"), _FRAMEWORK_NAMES[framework]
    if trace.start_time_ns:
        start = datetime.fromtimestamp(trace.start_time_ns / 1e9, timezone.utc)
        yield Message("profile.fact_start", "Start"), start.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield from _iter_devices(trace.devices)
    device_tracks = sum(track.is_device for track in trace.tracks)
    yield (
        Message("profile.fact_host_threads", "Host threads"),
        f"{len(trace.tracks) - device_tracks}",
    )
    if device_tracks:
        yield Message("profile.fact_device_streams", "Device streams"), f"{device_tracks}"
    _, cpu_budgets = trace.get_int_args("cpu_budget")
    if len(cpu_budgets):
        yield Message("profile.fact_cpu_budget", "tf.data CPU budget"), f"{int(cpu_budgets.max())}"
    yield from trace.environment


def _iter_devices(devices: tuple[Device, ...]) -> Iterator[tuple[Message, str]]:
    for device in dict.fromkeys(device for device in devices if device.name):
        count = devices.count(device)
        name = device.name if count == 1 else f"{count} x {device.name}"
        yield Message("profile.fact_device", "Device"), name
        if device.memory_bytes:
            memory = f"{device.memory_bytes / 2**30:.1f} GiB"
            yield Message("profile.fact_device_memory", "Device memory"), memory
        if device.multiprocessors:
            count = device.multiprocessors
            yield Message("profile.fact_multiprocessors", "Multiprocessors"), f"{count}"
        if any(device.compute_capability):
            version = ".".join(map(str, device.compute_capability))
            yield Message("profile.fact_compute_capability", "Compute capability"), version


def iter_summary_lines(summary: ProfileSummary) -> Iterator[str]:
    """Yield an overview as lines of text, for the command line."""
    yield from map(str, summary.problems)
    yield f"{summary.events:,} events; steps: {summary.step_rule}"
    yield f"{summary.steps.mean_ms:.3f} ms per step, average of {summary.steps.averaged} steps"
    *parts, other = summary.parts
    shown = [part for part in parts if part.ms or part.hidden_ms]
    for part in [*sorted(shown, key=lambda part: -part.ms), other]:
        hidden = f", and {part.hidden_ms:.3f} ms hidden" if part.hidden_ms >= 0.0005 else ""
        yield f"  {100 * part.share:5.1f} %  {part.label}: {part.ms:.3f} ms{hidden}"
    for device in summary.devices:
        busy_share = device.busy_ms / ((device.busy_ms + device.idle_ms) or 1)
        yield f"{device.name} is busy for {busy_share:.1%} of a step"
        if device.outside_ms:
            outside_share = device.outside_ms / device.total_ms
            outside = f"{format_ms(device.outside_ms)} ({outside_share:.1%})"
            yield f"{outside} of the work of {device.name} is in no step"
    if summary.precision.low_share is not None:
        low_share = f"{summary.precision.low_share:.0%}"
        yield f"{low_share} of the device's compute time is in 16 bits or less"
    for finding in summary.findings:
        advice = " ".join(map(str, finding.advice))
        yield f"could save {format_ms(finding.savings_ms)}: {finding.summary}. {advice}"
    if summary.ops and all(op.type == PYTHON_OP_TYPE for op in summary.ops):
        yield from _iter_python_lines(summary.ops)
    elif summary.ops:
        longest = summary.ops[:_MAX_SHOWN_OPS]
        labels = [f"{_get_label(op)} {format_ms(op.self_ms)}" for op in longest]
        yield f"longest ops: {', '.join(labels)}"


def _iter_python_lines(ops: list[OpRow]) -> Iterator[str]:
    """Yield where a plain Python program spent its time, as lines of code and functions.

    In the user's files, the innermost events of the sampler are lines of code, and functions
    consist of them. Lines are ranked by self time, functions by total time.
    """
    by_self_time = [op for op in ops if op.self_ms >= _MIN_SHOWN_MS][:_MAX_SHOWN_OPS]
    if by_self_time:
        yield "longest self time:"
        for op in by_self_time:
            yield f"  {op.self_ms:10.1f} ms  {100 * op.share:5.1f} %  {op.name}"
    functions = [
        op for op in ops if _FUNCTION_NAME.search(op.name) and op.total_ms >= _MIN_SHOWN_MS
    ]
    functions.sort(key=lambda op: -op.total_ms)
    if functions:
        yield "longest functions by total time:"
        yield from (f"  {op.total_ms:10.1f} ms  {op.name}" for op in functions[:_MAX_SHOWN_OPS])


def _get_label(op: OpRow) -> str:
    """Return the type of an op, or its name if the type is generic, as the kinds of XLA are."""
    is_generic = op.type == PYTHON_OP_TYPE or op.type == op.type.lower()
    return op.name if is_generic and ":" not in op.type else op.type


# ---- comparison

_MAX_COMPARED_OPS = 200
#: Relative differences below this count as no difference.
_SAME_TOLERANCE = 0.05
#: With fewer steps, their variation is unknown.
_MIN_NOISE_STEPS = 3
#: About 95 % of the differences that are chance are smaller than this many standard errors.
_NOISE_FACTOR = 2
#: Python functions contain ops and are left out, so that time is not counted twice.
_SIDES: dict[int, Literal["host", "device"]] = {OpSide.HOST: "host", OpSide.DEVICE: "device"}

#: Captures with a larger share of all their ops in common are of the same program; with a smaller
#: one than the latter, they certainly are not.
_MIN_COMMON_OPS, _FEW_COMMON_OPS = 0.6, 0.3
#: Compilers and frameworks number equal ops.
_OP_NUMBER = re.compile(r"[._-]?\d+")

_OpKey = tuple[str, str, Literal["host", "device"]]


class StepPair(msgspec.Struct):
    """Duration of an average step."""

    before_ms: float
    after_ms: float


class PartPair(msgspec.Struct):
    """Time of an average step in one part."""

    name: str
    label: Sentence
    before_ms: float
    after_ms: float
    before_hidden_ms: float
    after_hidden_ms: float


class OpPair(msgspec.Struct):
    """Self time and number of calls of an op per step; 0 if it did not run."""

    name: str
    type: str
    side: Literal["host", "device"]
    before_count: float
    after_count: float
    before_ms: float
    after_ms: float
    delta_ms: float


class FindingPair(msgspec.Struct):
    """How a finding changed, by the time it would save."""

    name: str
    title: Sentence
    state: Literal["gone", "new", "less", "more", "same"]
    before_ms: float
    after_ms: float


class FactPair(msgspec.Struct):
    """A difference in the environment."""

    name: Sentence
    before: Sentence | None
    """Null if only the other capture has it."""
    after: Sentence | None


class Comparison(msgspec.Struct):
    """What changed between two captures; the 200 ops that changed most."""

    verdict: list[Sentence]
    step: StepPair
    parts: list[PartPair]
    ops: list[OpPair]
    findings: list[FindingPair]
    environment: list[FactPair]


class ComparedCapture(NamedTuple):
    """One side of a comparison."""

    summary: ProfileSummary
    op_stats: OpStats


def compare_captures(before: ComparedCapture, after: ComparedCapture) -> Comparison:
    """Return what changed from one capture to another."""
    old, new = before.summary, after.summary
    parts = [
        PartPair(
            name=old_part.name,
            label=old_part.label,
            before_ms=old_part.ms,
            after_ms=new_part.ms,
            before_hidden_ms=old_part.hidden_ms,
            after_hidden_ms=new_part.hidden_ms,
        )
        for old_part, new_part in zip(old.parts, new.parts, strict=True)
    ]
    common_ops = measure_common_ops(before.op_stats, after.op_stats)
    return Comparison(
        verdict=_make_verdict(old, new, parts, common_ops),
        step=StepPair(old.steps.mean_ms, new.steps.mean_ms),
        parts=parts,
        ops=_pair_ops(before, after),
        findings=list(_iter_finding_pairs(old.findings, new.findings)),
        environment=list(_iter_fact_pairs(old, new)),
    )


def is_same_program(before: OpStats, after: OpStats) -> bool:
    """Return whether two captures are of the same program, judged by the names of their ops.

    A change of a program, or of the device or precision, leaves most names as they are.
    """
    return measure_common_ops(before, after) >= _MIN_COMMON_OPS


def measure_common_ops(before: OpStats, after: OpStats) -> float:
    """Return which share of the ops of two captures both have; 1 if one has none."""
    old, new = _list_op_names(before), _list_op_names(after)
    return len(old & new) / len(old | new) if old and new else 1.0


def _list_op_names(stats: OpStats) -> set[str]:
    """Return the names of ops without shapes and numbers.

    Kernels are left out, as their names depend on device and precision, and so are iterators of
    tf.data, which are named after all of the input pipeline below them, and Python functions, most
    of which belong to the framework. Python functions count if there is nothing else.
    """
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for op, side in zip(stats.ops, stats.sides.tolist(), strict=True):
        if op.type not in ("kernel", "copy") and not op.name.startswith("Iterator::"):
            names[side == OpSide.PYTHON].add(_OP_NUMBER.sub("", op.name.partition(" (")[0]))
    return names[False] or names[True]


def _make_verdict(
    before: ProfileSummary, after: ProfileSummary, parts: list[PartPair], common_ops: float
) -> list[Sentence]:
    messages = [*_iter_verdict(before, after, parts)]
    if common_ops < _FEW_COMMON_OPS:
        messages.append(
            Message(
                "profile.compare_other_program",
                "The captures have few ops in common: they seem to be of different programs.",
            )
        )
    return [Sentence.make(message) for message in messages]


def _iter_verdict(
    before: ProfileSummary, after: ProfileSummary, parts: list[PartPair]
) -> Iterator[Message]:
    before_ms, after_ms = before.steps.mean_ms, after.steps.mean_ms
    if not before_ms or not after_ms:
        yield Message(
            "profile.compare_no_steps",
            "Cannot compare step times: one of the captures has no steps.",
        )
        return
    times = {"after": format_ms(after_ms), "before": format_ms(before_ms)}
    if abs(after_ms - before_ms) < _SAME_TOLERANCE * before_ms:
        yield Message.format(
            "profile.compare_same",
            "A step takes {after}; it took {before}, which is about the same.",
            **times,
        )
        return
    part = max(parts, key=lambda part: (part.after_ms - part.before_ms) * (after_ms - before_ms))
    change = format_ms(abs(part.after_ms - part.before_ms))
    label = Message(part.label.code, part.label.text)
    if after_ms < before_ms:
        yield Message.format(
            "profile.compare_faster",
            "A step takes {after}; it took {before}: {factor} times as fast.",
            factor=f"{before_ms / after_ms:.1f}",
            **times,
        )
        yield Message.format(
            "profile.compare_gain", "Largest gain: {part} ({time}).", part=label, time=change
        )
    else:
        yield Message.format(
            "profile.compare_slower",
            "A step takes {after}; it took {before}: {factor} times as slow.",
            factor=f"{after_ms / before_ms:.1f}",
            **times,
        )
        yield Message.format(
            "profile.compare_loss", "Largest loss: {part} ({time}).", part=label, time=change
        )
    yield _describe_noise(before.steps, after.steps)


def _describe_noise(before: StepTimes, after: StepTimes) -> Message:
    """Say whether the difference of two means exceeds the variation between steps.

    The variation of a mean is its standard error: it shrinks with the number of steps.
    """
    if min(before.averaged, after.averaged) < _MIN_NOISE_STEPS:
        return Message(
            "profile.compare_few_steps",
            "There are too few steps to tell whether the difference is more than chance.",
        )
    error_ms = hypot(before.std_ms / sqrt(before.averaged), after.std_ms / sqrt(after.averaged))
    noise_ms = _NOISE_FACTOR * error_ms
    if abs(after.mean_ms - before.mean_ms) > noise_ms:
        return Message.format(
            "profile.compare_beyond_noise",
            "The difference exceeds the variation between steps (±{noise}).",
            noise=format_ms(noise_ms),
        )
    return Message.format(
        "profile.compare_within_noise",
        "The difference is within the variation between steps (±{noise}) and may be chance.",
        noise=format_ms(noise_ms),
    )


def _pair_ops(before: ComparedCapture, after: ComparedCapture) -> list[OpPair]:
    old, new = _get_ops_per_step(before), _get_ops_per_step(after)
    pairs = []
    for key in old.keys() | new.keys():
        before_count, before_ms = old.get(key, (0.0, 0.0))
        after_count, after_ms = new.get(key, (0.0, 0.0))
        delta_ms = after_ms - before_ms
        pairs.append(OpPair(*key, before_count, after_count, before_ms, after_ms, delta_ms))
    pairs.sort(key=lambda pair: (-abs(pair.delta_ms), pair.name, pair.side))
    return pairs[:_MAX_COMPARED_OPS]


def _get_ops_per_step(capture: ComparedCapture) -> dict[_OpKey, tuple[float, float]]:
    """Return the number of calls and the self time in ms of each op per step."""
    steps = max(capture.summary.steps.count, 1)
    stats = capture.op_stats
    columns = (stats.sides.tolist(), stats.counts.tolist(), stats.self_ps.tolist())
    return {
        (op.name, op.type, _SIDES[side]): (count / steps, self_ps / PS_PER_MS / steps)
        for op, side, count, self_ps in zip(stats.ops, *columns, strict=True)
        if side in _SIDES
    }


def _iter_finding_pairs(before: list[Finding], after: list[Finding]) -> Iterator[FindingPair]:
    old = {finding.name: finding for finding in before}
    new = {finding.name: finding for finding in after}
    for name in dict.fromkeys([*old, *new]):
        before_ms = old[name].savings_ms if name in old else 0.0
        after_ms = new[name].savings_ms if name in new else 0.0
        title = (old.get(name) or new[name]).title
        yield FindingPair(name, title, _get_change(before_ms, after_ms), before_ms, after_ms)


def _get_change(
    before_ms: float, after_ms: float
) -> Literal["gone", "new", "less", "more", "same"]:
    if not after_ms:
        return "gone"
    if not before_ms:
        return "new"
    if abs(after_ms - before_ms) < _SAME_TOLERANCE * before_ms:
        return "same"
    return "less" if after_ms < before_ms else "more"


def _iter_fact_pairs(before: ProfileSummary, after: ProfileSummary) -> Iterator[FactPair]:
    old = {fact.name.text: fact for fact in before.environment}
    new = {fact.name.text: fact for fact in after.environment}
    for name in dict.fromkeys([*old, *new]):
        old_value = old[name].value if name in old else None
        new_value = new[name].value if name in new else None
        if old_value != new_value:
            yield FactPair((old.get(name) or new[name]).name, old_value, new_value)
