"""What to change, with its evidence and by how much it could win."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles.advice import FINDING_TITLES, get_advice
from tracklight.analysis.profiles.kernels import Precision
from tracklight.analysis.profiles.steps import StepAnalysis, StepPart, Steps
from tracklight.analysis.profiles.trace import Framework, Trace, format_ms
from tracklight.errors import UsageError
from tracklight.types import Bool, Int64

# From which share of a step on each thing is told, and how somebody says otherwise.

#: Shares of a step; of precision, the share of 16 bits below which something is said.
DEFAULT_THRESHOLDS: Mapping[str, float] = {
    "input": 0.05,
    "kernel launch": 0.15,
    "host": 0.2,
    "small kernels": 0.1,
    "precision": 0.1,
    "copies": 0.05,
    "collectives": 0.15,
    "compilation": 0.05,
    "retracing": 0.05,
    "eager": 0.1,
    "other": 0.15,
}


class ThresholdRow(msgspec.Struct):
    """Percent of a step, or for precision of what the device computes."""

    name: str
    title: str
    percent: float
    usual: float


def parse_thresholds(text: str) -> Mapping[str, float]:
    """Those of a text such as ``input:10,host:30``, in percent; what it does not name is usual."""
    chosen = dict(DEFAULT_THRESHOLDS)
    for part in filter(None, text.split(",")):
        name, _, percent = part.partition(":")
        share = _parse_share(percent)
        if name not in DEFAULT_THRESHOLDS or share is None:
            raise UsageError(
                f'"{part}" is no threshold; write one of {", ".join(DEFAULT_THRESHOLDS)}, a colon and a percent'
            )
        chosen[name] = share
    return chosen


def _parse_share(percent: str) -> float | None:
    try:
        share = float(percent) / 100
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def iter_thresholds(chosen: Mapping[str, float]) -> Iterator[ThresholdRow]:
    for name, share in chosen.items():
        yield ThresholdRow(
            name, FINDING_TITLES[name], _to_percent(share), _to_percent(DEFAULT_THRESHOLDS[name])
        )


def _to_percent(share: float) -> float:
    return round(100 * share, 6)


# The very events that something was found out from, so that they can be looked at.

_MAX_ROWS = 20


class EvidenceRow(msgspec.Struct):
    """An event by its place in the trace."""

    event: int
    name: str
    track: str
    start_ps: int
    duration_ps: int


class Evidence(msgspec.Struct):
    """The longest of some events, and how to find all of them."""

    rows: list[EvidenceRow]
    events: int
    """How many there are."""
    query: str
    """Finds those of the name that took longest in all."""
    start_ps: int
    end_ps: int
    """The step with the longest of them."""


def collect_evidence(trace: Trace, mask: Bool, steps: Steps) -> Evidence:
    """Of the events that a mask is true of, those inside of steps."""
    events = np.flatnonzero(mask)
    events = events[locate_steps(steps, trace.start_ps[events]) >= 0]
    if not len(events):
        return Evidence([], 0, "", *_get_total_span(steps))
    longest = events[np.argsort(-trace.duration_ps[events], kind="stable")][:_MAX_ROWS]
    took = np.bincount(trace.name[events], trace.duration_ps[events].astype(float))
    query = f'"{trace.names[int(np.argmax(took))]}"'
    rows = [make_evidence_row(trace, event) for event in longest.tolist()]
    return Evidence(rows, len(events), query, *_get_step_span(steps, rows[0].start_ps))


def collect_gap_evidence(trace: Trace, known: Bool, steps: Steps) -> Evidence:
    """The longest stretches of steps in which nothing was recorded, each after some event."""
    events = np.flatnonzero(known)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    start, end = trace.start_ps[events], np.maximum.accumulate(trace.end_ps[events])
    last = _get_last_ending(trace.end_ps[events], end)
    gap = start[1:] - end[:-1]
    inside = locate_steps(steps, end[:-1])
    inside = (inside >= 0) & (inside == locate_steps(steps, start[1:])) & (gap > 0)
    places = np.flatnonzero(inside)
    places = places[np.argsort(-gap[places], kind="stable")][:_MAX_ROWS]
    rows = [
        EvidenceRow(
            event=(event := int(events[last[place]])),
            name=f"nothing, after {trace.names[trace.name[event]]}",
            track=_format_track(trace, event),
            start_ps=int(end[place]),
            duration_ps=int(gap[place]),
        )
        for place in places.tolist()
    ]
    window = _get_step_span(steps, rows[0].start_ps) if rows else _get_total_span(steps)
    return Evidence(rows, int(inside.sum()), "", *window)


def locate_steps(steps: Steps, at_ps: Int64) -> Int64:
    """Which step each time is in; -1: in none."""
    which = np.searchsorted(steps.spans[:, 0], at_ps, "right") - 1
    if not len(steps.spans):
        return np.full(len(at_ps), -1, np.int64)
    return np.where((which >= 0) & (at_ps < steps.spans[which, 1]), which, -1)


def make_evidence_row(trace: Trace, event: int) -> EvidenceRow:
    return EvidenceRow(
        event,
        trace.names[trace.name[event]],
        _format_track(trace, event),
        int(trace.start_ps[event]),
        int(trace.duration_ps[event]),
    )


def _get_last_ending(ends: Int64, reached: Int64) -> Int64:
    """Of each place the event up to there that ends last."""
    is_last = ends == reached
    return np.maximum.accumulate(np.where(is_last, np.arange(len(ends)), 0))


def _format_track(trace: Trace, event: int) -> str:
    track = trace.tracks[trace.track[event]]
    return f"{track.process} {track.name}".strip()


def _get_step_span(steps: Steps, at_ps: int) -> tuple[int, int]:
    which = int(locate_steps(steps, np.array([at_ps]))[0])
    start, end = steps.spans[which].tolist() if which >= 0 else _get_total_span(steps)
    return int(start), int(end)


def _get_total_span(steps: Steps) -> tuple[int, int]:
    return (int(steps.spans[0, 0]), int(steps.spans[-1, 1])) if len(steps.spans) else (0, 0)


# What to change, by how many milliseconds of a step it could win at most.
#
# Each finding says what was measured, from which threshold on it is told, what to do about it in the
# framework that wrote the capture, and by which events it can be checked.

#: What a device computes for less of a step is not worth a word about its precision.
_MIN_DEVICE_SHARE = 0.1

#: What products of matrices gain from 16 bits on most devices, at the least.
_LOW_PRECISION_SPEEDUP = 2

#: Between two kernels that lie closer, the device waits for a launch and not for anything else.
_MAX_LAUNCH_GAP_PS = 20_000_000

_TRACED_CALLS = frozenset({"traced-xla", "traced-nonXla"})


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


class FindingInput(NamedTuple):
    """What findings are made from."""

    trace: Trace
    analysis: StepAnalysis
    precision: Precision
    framework: Framework
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS

    @property
    def step_ms(self) -> float:
        return self.analysis.average_ms(self.analysis.breakdown.total_ps)

    def get_part_ms(self, *parts: StepPart) -> float:
        return self.analysis.average_ms(
            self.analysis.breakdown.exclusive_ps[:, list(parts)].sum(axis=1)
        )

    def exceeds_threshold(self, name: str, took_ms: float) -> bool:
        return took_ms / self.step_ms >= self.thresholds[name]

    def mask_parts(self, *parts: StepPart) -> Bool:
        return np.isin(self.analysis.event_parts, parts)


def list_findings(measured: FindingInput) -> list[Finding]:
    """The findings, those that could win most first."""
    if not measured.step_ms:
        return []
    found = (finding for finding in _iter_findings(measured) if finding.win_ms > 0)
    return sorted(found, key=lambda finding: -finding.win_ms)


def _iter_findings(it: FindingInput) -> Iterator[Finding]:
    yield from _check_parts(it, "input", (StepPart.INPUT,), "waits for its input")
    yield from _check_parts(it, "kernel launch", (StepPart.KERNEL_LAUNCH,), "launches kernels")
    copies = (StepPart.HOST_TO_DEVICE, StepPart.OUTPUT)
    yield from _check_parts(it, "copies", copies, "copies to or from the device, unhidden")
    yield from _check_parts(it, "collectives", (StepPart.COLLECTIVES,), "exchanges between devices")
    if it.trace.on_device.any():
        does = "is work of the host, for which the device waits"
        yield from _check_parts(it, "host", (StepPart.HOST_COMPUTE,), does)
    yield from _check_parts(it, "compilation", (StepPart.COMPILATION,), "compiles")
    yield from _check_events(it, "retracing", _mask_retraced(it.trace), "traces functions anew")
    does = "runs ops one by one, in no function"
    yield from _check_events(it, "eager", _mask_eager(it.trace), does)
    yield from _check_small_kernels(it)
    yield from _check_other(it)
    yield from _check_precision(it)


def _check_parts(
    it: FindingInput, name: str, parts: tuple[StepPart, ...], does: str
) -> Iterator[Finding]:
    took_ms = it.get_part_ms(*parts)
    if it.exceeds_threshold(name, took_ms):
        evidence = collect_evidence(it.trace, it.mask_parts(*parts), it.analysis.steps)
        yield _make_finding(it, name, took_ms, does, evidence)


def _check_events(it: FindingInput, name: str, mask: Bool, does: str) -> Iterator[Finding]:
    """For what is no part of its own: the time of some calls of one thread, within steps."""
    if not mask.any():
        return
    steps = it.analysis.steps
    which = locate_steps(steps, it.trace.start_ps)
    took = np.zeros(len(steps.names), np.int64)
    mine = mask & (which >= 0)
    np.add.at(took, which[mine], it.trace.duration_ps[mine])
    took_ms = it.analysis.average_ms(took)
    if it.exceeds_threshold(name, took_ms):
        yield _make_finding(it, name, took_ms, does, collect_evidence(it.trace, mask, steps))


def _check_small_kernels(it: FindingInput) -> Iterator[Finding]:
    """Where kernels follow one another closely, what lies between them is the cost of launches."""
    trace = it.trace
    kernels = np.flatnonzero(trace.on_device & (it.analysis.event_parts == StepPart.DEVICE_COMPUTE))
    if len(kernels) < 2:
        return
    gap = trace.start_ps[kernels[1:]] - trace.end_ps[kernels[:-1]]
    same = trace.track[kernels[1:]] == trace.track[kernels[:-1]]
    waits = same & (gap > 0) & (gap < _MAX_LAUNCH_GAP_PS)
    which = locate_steps(it.analysis.steps, trace.start_ps[kernels[1:]])
    took = np.zeros(len(it.analysis.steps.names), np.int64)
    np.add.at(took, which[waits & (which >= 0)], gap[waits & (which >= 0)])
    took_ms = it.analysis.average_ms(took)
    if it.exceeds_threshold("small kernels", took_ms):
        mask = np.zeros(len(trace), bool)
        mask[kernels[1:][waits]] = True
        evidence = collect_evidence(trace, mask, it.analysis.steps)
        does = "lies between kernels that follow one another within 20 µs"
        yield _make_finding(it, "small kernels", took_ms, does, evidence)


def _check_other(it: FindingInput) -> Iterator[Finding]:
    took_ms = it.analysis.average_ms(it.analysis.breakdown.other_ps)
    if it.exceeds_threshold("other", took_ms):
        evidence = collect_gap_evidence(it.trace, it.analysis.event_parts >= 0, it.analysis.steps)
        does = "does nothing that was recorded"
        yield _make_finding(it, "other", took_ms, does, evidence)


def _check_precision(it: FindingInput) -> Iterator[Finding]:
    share, device_ms = it.precision.low_share, it.get_part_ms(StepPart.DEVICE_COMPUTE)
    least = it.thresholds["precision"]
    if share is None or share >= least or device_ms < _MIN_DEVICE_SHARE * it.step_ms:
        return
    kernels = it.trace.on_device & it.mask_parts(StepPart.DEVICE_COMPUTE)
    made = _make_finding(
        it,
        "precision",
        device_ms * (1 - 1 / _LOW_PRECISION_SPEEDUP),
        "",
        collect_evidence(it.trace, kernels, it.analysis.steps),
    )
    made.what = (
        f"{100 * share:.0f} % of what the device computes is in 16 bits "
        f"({format_ms(device_ms)} a step)"
    )
    made.threshold = (
        f"below {100 * least:.3g} %, where the device computes "
        f"{100 * _MIN_DEVICE_SHARE:.0f} % of a step"
    )
    yield made


def _make_finding(
    it: FindingInput, name: str, took_ms: float, does: str, evidence: Evidence
) -> Finding:
    share = took_ms / it.step_ms
    advice = get_advice(name, it.framework)
    return Finding(
        name=name,
        title=FINDING_TITLES[name],
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


def _mask_retraced(trace: Trace) -> Bool:
    """Calls of TensorFlow's functions for which these had to be traced first."""
    mask = np.zeros(len(trace), bool)
    for event, call in zip(*trace.get_text_args("tf_function_call"), strict=True):
        mask[event] = call in _TRACED_CALLS
    return mask


def _mask_eager(trace: Trace) -> Bool:
    """Ops of TensorFlow that Python ran by themselves."""
    events, is_function = trace.get_int_args("is_func")
    mask = np.zeros(len(trace), bool)
    mask[events[is_function == 0]] = True
    return mask
