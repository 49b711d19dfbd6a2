"""A capture in a few numbers: its steps, what their time went into, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.profiles.findings import Finding, Framework, Measured, find
from tracklight.profiles.hostops import sum_host_ops
from tracklight.profiles.parts import Part, divide_steps
from tracklight.profiles.precision import measure_precision
from tracklight.profiles.steps import find_steps
from tracklight.profiles.trace import Trace

#: Of more steps than this, the first and the last say little: one warms up, one may be cut short.
FEW_STEPS = 5
_MOST_OPS = 10
_MS = 1e9


class PartTime(msgspec.Struct):
    """Milliseconds of an average step."""

    name: str
    ms: float
    hidden_ms: float
    """What went on behind something that counts for more."""


class OpShare(msgspec.Struct):
    name: str
    type: str
    count: int
    self_ms: float


class ProfileSummary(msgspec.Struct):
    events: int
    rule: str
    """How the steps were found."""
    steps: int
    """How many the numbers are averages of."""
    step_ms: float
    parts: list[PartTime]
    other_ms: float
    short_share: float | None
    """How much of what devices computed was in 16 bits; null where that is not known."""
    findings: list[Finding]
    ops: list[OpShare]
    problems: list[str]


def sum_up(trace: Trace, marker: str = "") -> ProfileSummary:
    steps = find_steps(trace, marker)
    parts = divide_steps(trace, steps)
    inner = slice(1, -1) if len(steps.names) > FEW_STEPS else slice(None)
    total, counted, alone = parts.total[inner], parts.counted[inner], parts.alone[inner]
    count = max(len(total), 1)
    times = list(_iter_parts(counted.sum(axis=0) / count, alone.sum(axis=0) / count))
    measured = Measured(
        step_ms=float(total.sum()) / count / _MS,
        parts_ms={part.name: part.ms for part in times},
        other_ms=float(parts.other[inner].sum()) / count / _MS,
        precision=measure_precision(trace),
        framework=find_framework(trace),
    )
    return ProfileSummary(
        events=len(trace),
        rule=steps.rule,
        steps=len(total),
        step_ms=measured.step_ms,
        parts=times,
        other_ms=measured.other_ms,
        short_share=measured.precision.short_share,
        findings=find(measured),
        ops=list(_iter_ops(trace)),
        problems=list(trace.problems),
    )


def find_framework(trace: Trace) -> Framework:
    """Who wrote it: PyTorch tells categories apart, and JAX says which program an event is of."""
    if any(trace.categories):
        return "torch"
    return (
        "jax"
        if any("PjRt" in name or "pjit" in name.lower() for name in trace.names)
        else "tensorflow"
    )


def _iter_parts(counted: np.ndarray, alone: np.ndarray) -> Iterator[PartTime]:
    for part in Part:
        if alone[part] > 0:
            hidden = float(alone[part] - counted[part])
            yield PartTime(part.label, float(counted[part]) / _MS, hidden / _MS)


def _iter_ops(trace: Trace) -> Iterator[OpShare]:
    ops = sum_host_ops(trace).ops.items()
    for name, took in sorted(ops, key=lambda op: -op[1].self_ps)[:_MOST_OPS]:
        yield OpShare(name, took.type, took.count, took.self_ps / _MS)


def iter_lines(summary: ProfileSummary) -> Iterator[str]:
    """The same for people."""
    yield f"{summary.events:,} events; steps: {summary.rule}"
    yield f"{summary.step_ms:.3f} ms a step, of {summary.steps} steps"
    for part in sorted(summary.parts, key=lambda part: -part.ms):
        hidden = f", and {part.hidden_ms:.3f} ms hidden" if part.hidden_ms >= 0.0005 else ""
        yield f"  {_share(part.ms, summary)}  {part.name}: {part.ms:.3f} ms{hidden}"
    yield f"  {_share(summary.other_ms, summary)}  all others: {summary.other_ms:.3f} ms"
    if summary.short_share is not None:
        yield f"{summary.short_share:.0%} of what the device computes is in 16 bits"
    for finding in summary.findings:
        yield f"could win {finding.win_ms:.3g} ms: {finding.what}; {finding.advice}"
    if summary.ops:
        longest = [f"{op.type or op.name} {op.self_ms:.1f} ms" for op in summary.ops[:5]]
        yield f"ops of the host: {', '.join(longest)}"
    yield from summary.problems


def _share(ms: float, summary: ProfileSummary) -> str:
    return f"{100 * ms / summary.step_ms if summary.step_ms else 0:5.1f} %"
