"""A capture in a few numbers: its steps, what their time went into, and the ops that took most."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tracklight.profiles.hostops import sum_host_ops
from tracklight.profiles.parts import Part, divide_steps
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
    ops: list[OpShare]
    problems: list[str]


def sum_up(trace: Trace, marker: str = "") -> ProfileSummary:
    steps = find_steps(trace, marker)
    parts = divide_steps(trace, steps)
    inner = slice(1, -1) if len(steps.names) > FEW_STEPS else slice(None)
    total, counted, alone = parts.total[inner], parts.counted[inner], parts.alone[inner]
    count = max(len(total), 1)
    return ProfileSummary(
        events=len(trace),
        rule=steps.rule,
        steps=len(total),
        step_ms=float(total.sum()) / count / _MS,
        parts=list(_iter_parts(counted.sum(axis=0) / count, alone.sum(axis=0) / count)),
        other_ms=float(parts.other[inner].sum()) / count / _MS,
        ops=list(_iter_ops(trace)),
        problems=list(trace.problems),
    )


def _iter_parts(counted: np.ndarray, alone: np.ndarray) -> Iterator[PartTime]:
    for part in Part:
        if alone[part] > 0:
            name = part.name.lower().replace("_", " ")
            hidden = float(alone[part] - counted[part])
            yield PartTime(name, float(counted[part]) / _MS, hidden / _MS)


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
    if summary.ops:
        longest = [f"{op.type or op.name} {op.self_ms:.1f} ms" for op in summary.ops[:5]]
        yield f"ops of the host: {', '.join(longest)}"
    yield from summary.problems


def _share(ms: float, summary: ProfileSummary) -> str:
    return f"{100 * ms / summary.step_ms if summary.step_ms else 0:5.1f} %"
