"""Two captures side by side: what became of the parts of a step, of ops and of findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.ops import OpSide, OpStats
from tracklight.analysis.profiles.summary import ProfileSummary
from tracklight.analysis.profiles.trace import format_ms

_PS_PER_MS = 1e9
_MAX_OPS = 200
#: Less than this is no difference.
_SAME_TOLERANCE = 0.05
#: Functions of Python stand around ops, which would be counted twice.
_SIDES: dict[int, Literal["host", "device"]] = {OpSide.HOST: "host", OpSide.DEVICE: "device"}

_OpKey = tuple[str, str, Literal["host", "device"]]


class StepPair(msgspec.Struct):
    """How long an average step took."""

    before_ms: float
    after_ms: float


class PartPair(msgspec.Struct):
    """A part of an average step, in milliseconds."""

    name: str
    label: str
    before_ms: float
    after_ms: float
    before_hidden_ms: float
    after_hidden_ms: float


class OpPair(msgspec.Struct):
    """An op by itself, in milliseconds a step; one that did not run took none."""

    name: str
    type: str
    side: Literal["host", "device"]
    before_count: float
    after_count: float
    """How often it ran in a step."""
    before_ms: float
    after_ms: float
    delta_ms: float


class FindingPair(msgspec.Struct):
    """What became of a finding, by what it could win."""

    name: str
    title: str
    state: Literal["gone", "new", "less", "more", "same"]
    before_ms: float
    after_ms: float


class FactPair(msgspec.Struct):
    """Something about where programs ran that is not the same."""

    name: str
    before: str
    after: str


class Comparison(msgspec.Struct):
    """What changed from one capture to another; ops by how much they did, at most 200."""

    verdict: str
    step: StepPair
    parts: list[PartPair]
    ops: list[OpPair]
    findings: list[FindingPair]
    environment: list[FactPair]


class ComparedCapture(NamedTuple):
    """One of the two."""

    summary: ProfileSummary
    op_stats: OpStats


def compare_captures(before: ComparedCapture, after: ComparedCapture) -> Comparison:
    one, other = before.summary, after.summary
    parts = [
        PartPair(a.name, a.label, a.ms, b.ms, a.hidden_ms, b.hidden_ms)
        for a, b in zip(one.parts, other.parts, strict=True)
    ]
    return Comparison(
        verdict=_make_verdict(one, other, parts),
        step=StepPair(one.steps.mean_ms, other.steps.mean_ms),
        parts=parts,
        ops=_pair_ops(before, after),
        findings=list(_iter_findings(one.findings, other.findings)),
        environment=list(_iter_environment(one, other)),
    )


def _make_verdict(before: ProfileSummary, after: ProfileSummary, parts: list[PartPair]) -> str:
    was_ms, is_ms = before.steps.mean_ms, after.steps.mean_ms
    if not was_ms or not is_ms:
        return "Steps were not found in both of them, so times of steps cannot be compared."
    took = f"A step takes {format_ms(is_ms)}; it took {format_ms(was_ms)}"
    if abs(is_ms - was_ms) < _SAME_TOLERANCE * was_ms:
        return f"{took}, which is about the same."
    if is_ms < was_ms:
        most = min(parts, key=lambda part: part.after_ms - part.before_ms)
        won_ms = most.before_ms - most.after_ms
        how = f"{was_ms / is_ms:.1f} times as fast"
        return f"{took}: {how}. Largest gain: {most.label} ({format_ms(won_ms)})."
    most = max(parts, key=lambda part: part.after_ms - part.before_ms)
    lost_ms = most.after_ms - most.before_ms
    how = f"{is_ms / was_ms:.1f} times as slow"
    return f"{took}: {how}. Largest loss: {most.label} ({format_ms(lost_ms)})."


def _pair_ops(before: ComparedCapture, after: ComparedCapture) -> list[OpPair]:
    one, other = _get_ops_per_step(before), _get_ops_per_step(after)
    pairs = []
    for name, kind, side in one.keys() | other.keys():
        was_count, was_ms = one.get((name, kind, side), (0.0, 0.0))
        count, ms = other.get((name, kind, side), (0.0, 0.0))
        pairs.append(OpPair(name, kind, side, was_count, count, was_ms, ms, ms - was_ms))
    pairs.sort(key=lambda pair: (-abs(pair.delta_ms), pair.name, pair.side))
    return pairs[:_MAX_OPS]


def _get_ops_per_step(it: ComparedCapture) -> dict[_OpKey, tuple[float, float]]:
    """How often each op ran in a step, and its own milliseconds."""
    steps = max(it.summary.steps.count, 1)
    ops = it.op_stats
    rows = zip(ops.ops, ops.sides.tolist(), ops.counts.tolist(), ops.self_ps.tolist(), strict=True)
    return {
        (op.name, op.type, _SIDES[side]): (count / steps, own / _PS_PER_MS / steps)
        for op, side, count, own in rows
        if side in _SIDES
    }


def _iter_findings(before: list[Finding], after: list[Finding]) -> Iterator[FindingPair]:
    one, other = ({it.name: it for it in found} for found in (before, after))
    for name in dict.fromkeys([*one, *other]):
        was_ms, ms = (found[name].win_ms if name in found else 0.0 for found in (one, other))
        title = (one.get(name) or other[name]).title
        yield FindingPair(name, title, _get_change(was_ms, ms), was_ms, ms)


def _get_change(was_ms: float, ms: float) -> Literal["gone", "new", "less", "more", "same"]:
    if not ms:
        return "gone"
    if not was_ms:
        return "new"
    if abs(ms - was_ms) < _SAME_TOLERANCE * was_ms:
        return "same"
    return "less" if ms < was_ms else "more"


def _iter_environment(before: ProfileSummary, after: ProfileSummary) -> Iterator[FactPair]:
    one, other = ({it.name: it.value for it in each.environment} for each in (before, after))
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            yield FactPair(name, one.get(name, ""), other.get(name, ""))
