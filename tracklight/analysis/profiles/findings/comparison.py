"""Compare two captures: step time, its parts, ops, findings and environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import hypot, sqrt
from typing import Literal, NamedTuple

import msgspec

from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.findings.summary import ProfileSummary, StepTimes
from tracklight.analysis.profiles.ops import OpSide, OpStats
from tracklight.analysis.profiles.trace import PS_PER_MS, format_ms
from tracklight.analysis.source import Sentence
from tracklight.errors import Message

_MAX_OPS = 200
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
    return pairs[:_MAX_OPS]


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
