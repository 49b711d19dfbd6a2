"""A capture at a glance, and two of them side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import islice
from statistics import median
from typing import Literal

import msgspec
import numpy as np

from tracklight.analysis.profiles.arrays import measure_coverage
from tracklight.analysis.profiles.findings import (
    DEFAULT_THRESHOLDS,
    Finding,
    FindingInput,
    ThresholdRow,
    iter_thresholds,
    list_findings,
)
from tracklight.analysis.profiles.input_pipeline import add_stage_advice
from tracklight.analysis.profiles.kernels import Precision, measure_precision
from tracklight.analysis.profiles.ops import OpSide, OpStats, compute_op_stats, parse_op_name
from tracklight.analysis.profiles.steps import (
    STEP_PART_DESCRIPTIONS,
    StepAnalysis,
    StepPart,
    StepRules,
    analyze_steps,
)
from tracklight.analysis.profiles.trace import (
    Device,
    Framework,
    Trace,
    detect_framework,
    format_ms,
)
from tracklight.types import Bool

# The single numbers of a capture: of its steps, host and device, its ops and what marks steps.

_MAX_OPS = 20

_MAX_MARKERS = 30

#: What is met less often marks no steps; what is met more often is found within them.
_MIN_MARKS, _MAX_MARKS = 3, 10_000

_PS_PER_MS = 1e9


class StepTimes(msgspec.Struct):
    """How long steps took, in milliseconds; ``averaged`` of them the numbers are of."""

    count: int
    averaged: int
    mean_ms: float
    median_ms: float
    min_ms: float
    max_ms: float
    deviation_ms: float


class PartTime(msgspec.Struct):
    """Milliseconds of an average step."""

    name: str
    label: str
    ms: float
    share: float
    hidden_ms: float
    """What went on behind something that counts for more."""
    what: str


class Overlap(msgspec.Struct):
    """How long, of an average step, something went on on the host and on devices."""

    host_ms: float
    device_ms: float
    both_ms: float
    neither_ms: float


class OpPlacement(msgspec.Struct):
    """How long ops took by themselves, and how often they ran, on the host and on devices."""

    host_ms: float
    device_ms: float
    host_ops: int
    device_ops: int


class OpRow(msgspec.Struct):
    """``share`` is that of all that ran on the same side."""

    name: str
    type: str
    side: Literal["host", "device"]
    count: int
    total_ms: float
    self_ms: float
    share: float
    event: int
    """The call that took longest."""


class StepMarker(msgspec.Struct):
    """Events that could be taken for steps."""

    name: str
    count: int


class EnvironmentFact(msgspec.Struct):
    """Something that is known of where a program ran."""

    name: str
    value: str


def measure_steps(analysis: StepAnalysis) -> StepTimes:
    total = analysis.breakdown.total_ps[analysis.averaged_slice] / _PS_PER_MS
    if not len(total):
        return StepTimes(len(analysis.steps.names), 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return StepTimes(
        count=len(analysis.steps.names),
        averaged=len(total),
        mean_ms=float(total.mean()),
        # That of numpy would load its arrays with masks, which takes longer than all else here.
        median_ms=median(total.tolist()),
        min_ms=float(total.min()),
        max_ms=float(total.max()),
        deviation_ms=float(total.std(ddof=1)) if len(total) > 1 else 0.0,
    )


def measure_parts(analysis: StepAnalysis) -> list[PartTime]:
    return list(_iter_part_times(analysis))


def _iter_part_times(division: StepAnalysis) -> Iterator[PartTime]:
    step_ms = division.average_ms(division.breakdown.total_ps) or 1.0
    for part in StepPart:
        ms = division.average_ms(division.breakdown.exclusive_ps[:, part])
        hidden_ms = division.average_ms(division.breakdown.inclusive_ps[:, part]) - ms
        name = part.name.lower()
        yield PartTime(
            name, part.label, ms, ms / step_ms, max(hidden_ms, 0.0), STEP_PART_DESCRIPTIONS[part]
        )
    ms = division.average_ms(division.breakdown.other_ps)
    what = "Nothing that the profiler recorded: Python, waiting, or what it was not asked for."
    yield PartTime("other", "all others", ms, ms / step_ms, 0.0, what)


def measure_overlap(trace: Trace, analysis: StepAnalysis) -> Overlap | None:
    """None where there is no device, or nothing that steps could be found in."""
    works = analysis.is_work
    device, host = works & trace.on_device, works & ~trace.on_device
    if not device.any():
        return None
    device_ms, host_ms, either_ms = (
        _measure_busy_ms(trace, analysis, mask) for mask in (device, host, works)
    )
    step_ms = analysis.average_ms(analysis.breakdown.total_ps)
    both_ms = host_ms + device_ms - either_ms
    return Overlap(host_ms, device_ms, both_ms, max(step_ms - either_ms, 0.0))


def _measure_busy_ms(trace: Trace, division: StepAnalysis, mask: Bool) -> float:
    busy = measure_coverage(trace.start_ps[mask], trace.end_ps[mask], division.steps.spans)
    return division.average_ms(busy)


def measure_op_placement(ops: OpStats) -> OpPlacement:
    host, device = ops.sides == OpSide.HOST, ops.sides == OpSide.DEVICE
    return OpPlacement(
        host_ms=float(ops.self_ps[host].sum()) / _PS_PER_MS,
        device_ms=float(ops.self_ps[device].sum()) / _PS_PER_MS,
        host_ops=int(ops.counts[host].sum()),
        device_ops=int(ops.counts[device].sum()),
    )


def list_top_ops(ops: OpStats) -> list[OpRow]:
    """List the ops with the longest own time.

    Python functions contain ops and are listed only if there is nothing else. Functions made of
    lines have no time of their own, so those with the longest total time come along.
    """
    sums = {side: max(int(ops.self_ps[ops.sides == side].sum()), 1) for side in OpSide}
    rows = [at for at, side in enumerate(ops.sides.tolist()) if side != OpSide.PYTHON][:_MAX_OPS]
    if not rows:
        by_total = np.argsort(-ops.total_ps, kind="stable")[:_MAX_OPS].tolist()
        rows = list(dict.fromkeys([*range(min(len(ops.ops), _MAX_OPS)), *by_total]))
    return [
        OpRow(
            name=ops.ops[at].name,
            type=ops.ops[at].type,
            side="device" if ops.sides[at] == OpSide.DEVICE else "host",
            count=int(ops.counts[at]),
            total_ms=int(ops.total_ps[at]) / _PS_PER_MS,
            self_ms=int(ops.self_ps[at]) / _PS_PER_MS,
            share=int(ops.self_ps[at]) / sums[OpSide(int(ops.sides[at]))],
            event=int(ops.longest_event[at]),
        )
        for at in rows
    ]


def list_step_markers(trace: Trace) -> list[StepMarker]:
    """Events of the host that come again and again, those that fill most of the time first.

    Ops are left out: they are what steps are made of.
    """
    host = np.flatnonzero(~trace.on_device & ~trace.match_categories("cpu_op"))
    names = trace.name[host]
    counts = np.bincount(names, minlength=len(trace.names))
    took = np.bincount(names, trace.duration_ps[host].astype(float), len(trace.names))
    fits = np.flatnonzero((counts >= _MIN_MARKS) & (counts <= _MAX_MARKS) & (took > 0))
    order = fits[np.argsort(-took[fits], kind="stable")].tolist()
    marks = islice((at for at in order if parse_op_name(trace.names[at]) is None), _MAX_MARKERS)
    return [StepMarker(trace.names[at], int(counts[at])) for at in marks]


# Where a program ran: what its capture says of it, its devices and its threads.

_FRAMEWORK_NAMES: dict[Framework, str] = {
    "tensorflow": "TensorFlow",
    "torch": "PyTorch",
    "jax": "JAX",
    "python": "Python, sampled",
    "chrome": "a trace in Chrome's form",
}


def iter_environment(trace: Trace, framework: Framework) -> Iterator[tuple[str, str]]:
    """What is known of where a program ran, names and values."""
    yield "Written by", _FRAMEWORK_NAMES[framework]
    if trace.start_time_ns:
        began = datetime.fromtimestamp(trace.start_time_ns / 1e9, timezone.utc)
        yield "Began", began.strftime("%Y-%m-%d %H:%M:%S UTC")
    yield from _iter_devices(trace.devices)
    streams = sum(track.is_device for track in trace.tracks)
    yield "Threads of the host", f"{len(trace.tracks) - streams}"
    if streams:
        yield "Queues of devices", f"{streams}"
    _, budgets = trace.get_int_args("cpu_budget")
    if len(budgets):
        yield "Cores that tf.data plans with", f"{int(budgets.max())}"
    yield from trace.environment


def _iter_devices(devices: tuple[Device, ...]) -> Iterator[tuple[str, str]]:
    for device in dict.fromkeys(device for device in devices if device.name):
        count = devices.count(device)
        yield "Device", device.name if count == 1 else f"{count} of {device.name}"
        if device.memory_bytes:
            yield "Memory of the device", f"{device.memory_bytes / 2**30:.1f} GiB"
        if device.multiprocessors:
            yield "Multiprocessors", f"{device.multiprocessors}"
        if any(device.compute_capability):
            yield "Compute capability", ".".join(map(str, device.compute_capability))


# A capture at a glance: its steps, what their time went into, and what to do about it.

#: The type of the ops of a capture without a framework.
PYTHON_OP_TYPE = "Python"

#: How the sampler names functions: ``train (program.py:12)``.
_FUNCTION_NAME = re.compile(r" \([^()]+:\d+\)$")

_MAX_SHOWN_OPS = 5

#: Less than a sample takes is noise.
_MIN_SHOWN_MS = 0.05


class PrecisionTimes(msgspec.Struct):
    """How long devices computed in how many bits."""

    short_ms: float
    """In 16 bits or fewer."""
    long_ms: float
    unknown_ms: float
    short_share: float | None
    """Of what is known; null where nothing is."""


class ProfileSummary(msgspec.Struct):
    """What is said of one host's capture; ``rule`` tells how the steps were found."""

    events: int
    span_ms: float
    framework: Framework
    rule: str
    markers: list[StepMarker]
    steps: StepTimes
    parts: list[PartTime]
    overlap: Overlap | None
    placement: OpPlacement
    precision: PrecisionTimes
    ops: list[OpRow]
    environment: list[EnvironmentFact]
    findings: list[Finding]
    thresholds: list[ThresholdRow]
    """From where on something is told."""
    problems: list[str]


def summarize(trace: Trace, marker: str = "", rules: StepRules = "ours") -> ProfileSummary:
    return summarize_analysis(trace, analyze_steps(trace, marker, rules), compute_op_stats(trace))


def summarize_analysis(
    trace: Trace,
    analysis: StepAnalysis,
    op_stats: OpStats,
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS,
) -> ProfileSummary:
    """The same, of a trace that was divided, and whose ops were summed up, before."""
    precision = measure_precision(trace, analysis.event_parts)
    framework = detect_framework(trace)
    findings = list_findings(FindingInput(trace, analysis, precision, framework, thresholds))
    add_stage_advice(findings, trace, analysis)
    return ProfileSummary(
        events=len(trace),
        span_ms=float(trace.end_ps.max() - trace.start_ps.min()) / _PS_PER_MS
        if len(trace)
        else 0.0,
        framework=framework,
        rule=analysis.steps.rule,
        markers=list_step_markers(trace),
        steps=measure_steps(analysis),
        parts=measure_parts(analysis),
        overlap=measure_overlap(trace, analysis),
        placement=measure_op_placement(op_stats),
        precision=_make_precision_times(precision),
        ops=list_top_ops(op_stats),
        environment=[EnvironmentFact(*fact) for fact in iter_environment(trace, framework)],
        findings=findings,
        thresholds=[*iter_thresholds(thresholds)],
        problems=list(trace.problems),
    )


def _make_precision_times(it: Precision) -> PrecisionTimes:
    return PrecisionTimes(
        it.low_ps / _PS_PER_MS, it.full_ps / _PS_PER_MS, it.unknown_ps / _PS_PER_MS, it.low_share
    )


def iter_summary_lines(summary: ProfileSummary) -> Iterator[str]:
    """The same for people."""
    yield f"{summary.events:,} events; steps: {summary.rule}"
    yield f"{summary.steps.mean_ms:.3f} ms a step, of {summary.steps.averaged} steps"
    *parts, other = summary.parts
    shown = [part for part in parts if part.ms or part.hidden_ms]
    for part in [*sorted(shown, key=lambda part: -part.ms), other]:
        hidden = f", and {part.hidden_ms:.3f} ms hidden" if part.hidden_ms >= 0.0005 else ""
        yield f"  {100 * part.share:5.1f} %  {part.label}: {part.ms:.3f} ms{hidden}"
    if summary.precision.short_share is not None:
        yield f"{summary.precision.short_share:.0%} of what the device computes is in 16 bits"
    for finding in summary.findings:
        yield f"could win {format_ms(finding.win_ms)}: {finding.what}; {finding.advice}"
    if summary.ops and all(op.type == PYTHON_OP_TYPE for op in summary.ops):
        yield from _iter_python_lines(summary.ops)
    elif summary.ops:
        longest = [f"{_name_op(op)} {op.self_ms:.1f} ms" for op in summary.ops[:_MAX_SHOWN_OPS]]
        yield f"longest ops: {', '.join(longest)}"
    yield from summary.problems


def _iter_python_lines(ops: list[OpRow]) -> Iterator[str]:
    """List where a plain Python program spent its time, as functions and lines.

    In files of the user, the innermost events of the sampler are lines, and functions are made of
    them: a line is ranked by its own time, a function by its total time.
    """
    own = [op for op in ops if op.self_ms >= _MIN_SHOWN_MS][:_MAX_SHOWN_OPS]
    if own:
        yield "longest by own time:"
        yield from (f"  {op.self_ms:10.1f} ms  {100 * op.share:5.1f} %  {op.name}" for op in own)
    functions = [
        op for op in ops if _FUNCTION_NAME.search(op.name) and op.total_ms >= _MIN_SHOWN_MS
    ]
    functions.sort(key=lambda op: -op.total_ms)
    if functions:
        yield "longest functions, with what they call:"
        yield from (f"  {op.total_ms:10.1f} ms  {op.name}" for op in functions[:_MAX_SHOWN_OPS])


def _name_op(op: OpRow) -> str:
    """Name an op by its type, unless that says nothing."""
    return op.name if op.type in ("", PYTHON_OP_TYPE, "kernel") else op.type
