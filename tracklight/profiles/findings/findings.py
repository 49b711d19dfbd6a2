"""What to change, by how many milliseconds of a step it could win at most.

Each finding says what was measured, from which threshold on it is told, what to do about it in the
framework that wrote the capture, and by which events it can be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.profiles.durations import format_ms
from tracklight.profiles.findings.advice import TITLES, Framework, give_advice
from tracklight.profiles.findings.evidence import (
    Evidence,
    EvidenceRow,
    find_step,
    gather,
    gather_gaps,
)
from tracklight.profiles.findings.thresholds import USUAL
from tracklight.profiles.kernels.precision import Precision
from tracklight.profiles.steps.division import Division
from tracklight.profiles.steps.parts import Part
from tracklight.profiles.trace import Trace
from tracklight.types import Bool

#: What a device computes for less of a step is not worth a word about its precision.
_DEVICE_SHARE = 0.1
#: What products of matrices gain from 16 bits on most devices, at the least.
_SPEED_UP = 2
#: Between two kernels that lie closer, the device waits for a launch and not for anything else.
_LAUNCH_GAP_PS = 20_000_000
_FRESH = frozenset({"traced-xla", "traced-nonXla"})


class Finding(msgspec.Struct):
    name: str
    title: str
    what: str
    share: float
    """Of a step."""
    threshold: str
    advice: str
    code: str
    """Lines to paste; empty where there are none."""
    win_ms: float
    """What a step could win if all of it went away."""
    evidence: list[EvidenceRow]
    """The longest of the events, at most twenty."""
    events: int
    query: str
    """What to search the trace for, to find those that took longest together."""
    start_ps: int
    end_ps: int
    """The step with the longest event."""


class Measured(NamedTuple):
    """What findings are made from."""

    trace: Trace
    division: Division
    precision: Precision
    framework: Framework
    thresholds: Mapping[str, float] = USUAL

    @property
    def step_ms(self) -> float:
        return self.division.average_ms(self.division.parts.total)

    def part_ms(self, *parts: Part) -> float:
        return self.division.average_ms(self.division.parts.counted[:, list(parts)].sum(axis=1))

    def is_worth_telling(self, name: str, took_ms: float) -> bool:
        return took_ms / self.step_ms >= self.thresholds[name]

    def is_part(self, *parts: Part) -> Bool:
        return np.isin(self.division.part, parts)


def find(measured: Measured) -> list[Finding]:
    """The findings, those that could win most first."""
    if not measured.step_ms:
        return []
    found = (finding for finding in _iter_findings(measured) if finding.win_ms > 0)
    return sorted(found, key=lambda finding: -finding.win_ms)


def _iter_findings(it: Measured) -> Iterator[Finding]:
    yield from _check_parts(it, "input", (Part.INPUT,), "waits for its input")
    yield from _check_parts(it, "kernel launch", (Part.KERNEL_LAUNCH,), "launches kernels")
    copies = (Part.HOST_TO_DEVICE, Part.OUTPUT)
    yield from _check_parts(it, "copies", copies, "copies to or from the device, unhidden")
    yield from _check_parts(it, "collectives", (Part.COLLECTIVES,), "exchanges between devices")
    if it.trace.on_device.any():
        does = "is work of the host, for which the device waits"
        yield from _check_parts(it, "host", (Part.HOST_COMPUTE,), does)
    yield from _check_parts(it, "compilation", (Part.COMPILATION,), "compiles")
    yield from _check_events(it, "retracing", _find_retraced(it.trace), "traces functions anew")
    does = "runs ops one by one, in no function"
    yield from _check_events(it, "eager", _find_eager(it.trace), does)
    yield from _check_small_kernels(it)
    yield from _check_other(it)
    yield from _check_precision(it)


def _check_parts(it: Measured, name: str, parts: tuple[Part, ...], does: str) -> Iterator[Finding]:
    took_ms = it.part_ms(*parts)
    if it.is_worth_telling(name, took_ms):
        evidence = gather(it.trace, it.is_part(*parts), it.division.steps)
        yield _make(it, name, took_ms, does, evidence)


def _check_events(it: Measured, name: str, mask: Bool, does: str) -> Iterator[Finding]:
    """For what is no part of its own: the time of some calls of one thread, within steps."""
    if not mask.any():
        return
    steps = it.division.steps
    which = find_step(steps, it.trace.start_ps)
    took = np.zeros(len(steps.names), np.int64)
    mine = mask & (which >= 0)
    np.add.at(took, which[mine], it.trace.duration_ps[mine])
    took_ms = it.division.average_ms(took)
    if it.is_worth_telling(name, took_ms):
        yield _make(it, name, took_ms, does, gather(it.trace, mask, steps))


def _check_small_kernels(it: Measured) -> Iterator[Finding]:
    """Where kernels follow one another closely, what lies between them is the cost of launches."""
    trace = it.trace
    kernels = np.flatnonzero(trace.on_device & (it.division.part == Part.DEVICE_COMPUTE))
    if len(kernels) < 2:
        return
    gap = trace.start_ps[kernels[1:]] - trace.end_ps[kernels[:-1]]
    same = trace.track[kernels[1:]] == trace.track[kernels[:-1]]
    waits = same & (gap > 0) & (gap < _LAUNCH_GAP_PS)
    which = find_step(it.division.steps, trace.start_ps[kernels[1:]])
    took = np.zeros(len(it.division.steps.names), np.int64)
    np.add.at(took, which[waits & (which >= 0)], gap[waits & (which >= 0)])
    took_ms = it.division.average_ms(took)
    if it.is_worth_telling("small kernels", took_ms):
        mask = np.zeros(len(trace), bool)
        mask[kernels[1:][waits]] = True
        evidence = gather(trace, mask, it.division.steps)
        does = "lies between kernels that follow one another within 20 µs"
        yield _make(it, "small kernels", took_ms, does, evidence)


def _check_other(it: Measured) -> Iterator[Finding]:
    took_ms = it.division.average_ms(it.division.parts.other)
    if it.is_worth_telling("other", took_ms):
        evidence = gather_gaps(it.trace, it.division.part >= 0, it.division.steps)
        does = "does nothing that was recorded"
        yield _make(it, "other", took_ms, does, evidence)


def _check_precision(it: Measured) -> Iterator[Finding]:
    share, device_ms = it.precision.short_share, it.part_ms(Part.DEVICE_COMPUTE)
    least = it.thresholds["precision"]
    if share is None or share >= least or device_ms < _DEVICE_SHARE * it.step_ms:
        return
    kernels = it.trace.on_device & it.is_part(Part.DEVICE_COMPUTE)
    made = _make(
        it,
        "precision",
        device_ms * (1 - 1 / _SPEED_UP),
        "",
        gather(it.trace, kernels, it.division.steps),
    )
    made.what = (
        f"{100 * share:.0f} % of what the device computes is in 16 bits "
        f"({format_ms(device_ms)} a step)"
    )
    made.threshold = (
        f"below {100 * least:.3g} %, where the device computes "
        f"{100 * _DEVICE_SHARE:.0f} % of a step"
    )
    yield made


def _make(it: Measured, name: str, took_ms: float, does: str, evidence: Evidence) -> Finding:
    share = took_ms / it.step_ms
    advice = give_advice(name, it.framework)
    return Finding(
        name=name,
        title=TITLES[name],
        what=f"{100 * share:.0f} % of a step ({format_ms(took_ms)}) {does}",
        share=share,
        threshold=f"from {100 * it.thresholds[name]:.3g} % on",
        advice=advice.text,
        code=advice.code,
        win_ms=took_ms,
        evidence=evidence.rows,
        events=evidence.events,
        query=evidence.query,
        start_ps=evidence.start_ps,
        end_ps=evidence.end_ps,
    )


def _find_retraced(trace: Trace) -> Bool:
    """Calls of TensorFlow's functions for which these had to be traced first."""
    mask = np.zeros(len(trace), bool)
    for event, call in zip(*trace.find_texts("tf_function_call"), strict=True):
        mask[event] = call in _FRESH
    return mask


def _find_eager(trace: Trace) -> Bool:
    """Ops of TensorFlow that Python ran by themselves."""
    events, is_function = trace.find_numbers("is_func")
    mask = np.zeros(len(trace), bool)
    mask[events[is_function == 0]] = True
    return mask
