"""A capture at a glance: its steps, what their time went into, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from tracklight.profiles.durations import format_ms
from tracklight.profiles.findings.advice import Framework
from tracklight.profiles.findings.findings import Finding, Measured, find
from tracklight.profiles.findings.thresholds import USUAL, ThresholdRow, list_thresholds
from tracklight.profiles.input.analysis import name_stage
from tracklight.profiles.kernels.precision import Precision, measure_precision
from tracklight.profiles.ops.sums import Ops, sum_ops
from tracklight.profiles.steps.division import Division, Rules, divide_trace
from tracklight.profiles.summary.environment import iter_facts
from tracklight.profiles.summary.glance import (
    Fact,
    Marker,
    OpRow,
    Overlap,
    PartTime,
    Placement,
    StepTimes,
    find_framework,
    list_markers,
    list_ops,
    measure_overlap,
    measure_parts,
    measure_placement,
    measure_steps,
)
from tracklight.profiles.trace import Trace

_MS = 1e9

#: The type of the ops of a capture without a framework.
PYTHON = "Python"
#: How the sampler names functions: ``train (program.py:12)``.
_FUNCTION = re.compile(r" \([^()]+:\d+\)$")
_SHOWN_OPS = 5
#: Less than a sample takes is noise.
_SHORTEST_MS = 0.05


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
    markers: list[Marker]
    steps: StepTimes
    parts: list[PartTime]
    overlap: Overlap | None
    placement: Placement
    precision: PrecisionTimes
    ops: list[OpRow]
    environment: list[Fact]
    findings: list[Finding]
    thresholds: list[ThresholdRow]
    """From where on something is told."""
    problems: list[str]


def sum_up(trace: Trace, marker: str = "", rules: Rules = "ours") -> ProfileSummary:
    return sum_up_division(trace, divide_trace(trace, marker, rules), sum_ops(trace))


def sum_up_division(
    trace: Trace, division: Division, ops: Ops, thresholds: Mapping[str, float] = USUAL
) -> ProfileSummary:
    """The same, of a trace that was divided, and whose ops were summed up, before."""
    precision = measure_precision(trace, division.part)
    framework = find_framework(trace)
    findings = find(Measured(trace, division, precision, framework, thresholds))
    name_stage(findings, trace, division)
    return ProfileSummary(
        events=len(trace),
        span_ms=float(trace.end_ps.max() - trace.start_ps.min()) / _MS if len(trace) else 0.0,
        framework=framework,
        rule=division.steps.rule,
        markers=list_markers(trace),
        steps=measure_steps(division),
        parts=measure_parts(division),
        overlap=measure_overlap(trace, division),
        placement=measure_placement(ops),
        precision=_tell_precision(precision),
        ops=list_ops(ops),
        environment=[Fact(*fact) for fact in iter_facts(trace, framework)],
        findings=findings,
        thresholds=[*list_thresholds(thresholds)],
        problems=list(trace.problems),
    )


def _tell_precision(it: Precision) -> PrecisionTimes:
    return PrecisionTimes(it.short_ps / _MS, it.long_ps / _MS, it.unknown_ps / _MS, it.short_share)


def iter_lines(summary: ProfileSummary) -> Iterator[str]:
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
    if summary.ops and all(op.type == PYTHON for op in summary.ops):
        yield from _iter_python(summary.ops)
    elif summary.ops:
        longest = [f"{_name_op(op)} {op.self_ms:.1f} ms" for op in summary.ops[:_SHOWN_OPS]]
        yield f"longest ops: {', '.join(longest)}"
    yield from summary.problems


def _iter_python(ops: list[OpRow]) -> Iterator[str]:
    """List where a plain Python program spent its time, as functions and lines.

    In files of the user, the innermost events of the sampler are lines, and functions are made of
    them: a line is ranked by its own time, a function by its total time.
    """
    own = [op for op in ops if op.self_ms >= _SHORTEST_MS][:_SHOWN_OPS]
    if own:
        yield "longest by own time:"
        yield from (f"  {op.self_ms:10.1f} ms  {100 * op.share:5.1f} %  {op.name}" for op in own)
    functions = [op for op in ops if _FUNCTION.search(op.name) and op.total_ms >= _SHORTEST_MS]
    functions.sort(key=lambda op: -op.total_ms)
    if functions:
        yield "longest functions, with what they call:"
        yield from (f"  {op.total_ms:10.1f} ms  {op.name}" for op in functions[:_SHOWN_OPS])


def _name_op(op: OpRow) -> str:
    """Name an op by its type, unless that says nothing."""
    return op.name if op.type in ("", PYTHON, "kernel") else op.type
