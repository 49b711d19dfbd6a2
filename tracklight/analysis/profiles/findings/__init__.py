"""Findings: what to change in a program, by how much time of a step it would save at most.

A finding says what was measured, the threshold it exceeds, what to do about it in the framework
that wrote the capture, and which events prove it. Start with `list_findings`.

`advice` has the texts, `input_pipeline` examines tf.data, and `summary` combines all results of a
capture for the overview, and compares two captures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles import (
    locate_in_spans,
    merge_intervals,
    merge_spans,
    select_largest,
    split_by_spans,
    subtract_intervals,
)
from tracklight.analysis.profiles.attribution import collect_gap_frames
from tracklight.analysis.profiles.findings.advice import FINDING_TITLES, PYTHON_TITLE, get_advice
from tracklight.analysis.profiles.kernels import Precision
from tracklight.analysis.profiles.steps import StepAnalysis, StepPart, Steps
from tracklight.analysis.profiles.trace import Framework, Trace, format_ms
from tracklight.analysis.source import Sentence
from tracklight.errors import Message, UsageError
from tracklight.types import Bool, Int64

#: Minimum share of a step by finding. For precision, the minimum share of low precision.
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

_MAX_EVIDENCE_ROWS = 20
#: Precision does not matter if the device computes for less than this share of a step.
_MIN_DEVICE_SHARE = 0.1
#: Minimum speedup of matrix products in 16 bits on most devices.
_LOW_PRECISION_SPEEDUP = 2
#: In shorter gaps between kernels, the device waits for a launch and nothing else.
_MAX_LAUNCH_GAP_PS = 20_000_000
#: Python frames explain time without events if they cover at least this share of it.
_MIN_FRAME_SHARE = 0.5
#: Values of ``tf_function_call`` for calls that traced the function first.
_TRACED_CALLS = frozenset({"traced-xla", "traced-nonXla"})


# ---- thresholds


class ThresholdRow(msgspec.Struct):
    """Threshold of a finding, in percent of a step; for precision, of the device's compute time."""

    name: str
    title: Sentence
    percent: float
    default: float


def parse_thresholds(text: str) -> Mapping[str, float]:
    """Parse thresholds in percent, such as ``input:10,host:30``, over the defaults.

    Raises:
        UsageError: A part is not the name of a finding, a colon and a number from 0 to 100.
    """
    thresholds = dict(DEFAULT_THRESHOLDS)
    for part in filter(None, text.split(",")):
        name, _, percent = part.partition(":")
        share = _parse_share(percent)
        if name not in DEFAULT_THRESHOLDS or share is None:
            names = ", ".join(DEFAULT_THRESHOLDS)
            raise UsageError(
                "profile.invalid_threshold",
                'Invalid threshold "{part}". Use NAME:PERCENT, where NAME is one of {names}',
                part=part,
                names=names,
            )
        thresholds[name] = share
    return thresholds


def iter_thresholds(thresholds: Mapping[str, float]) -> Iterator[ThresholdRow]:
    for name, share in thresholds.items():
        default = DEFAULT_THRESHOLDS[name]
        title = Sentence.make(FINDING_TITLES[name])
        yield ThresholdRow(name, title, _to_percent(share), _to_percent(default))


def _parse_share(percent: str) -> float | None:
    try:
        share = float(percent) / 100
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def _to_percent(share: float) -> float:
    return round(100 * share, 6)


# ---- evidence


class EvidenceRow(msgspec.Struct):
    """An event that proves a finding, or with ``is_gap`` the time after it without events."""

    event: int
    is_gap: bool
    name: str
    track: str
    start_ps: int
    duration_ps: int


class Evidence(msgspec.Struct):
    """The longest events that prove a finding, and how to find all of them."""

    rows: list[EvidenceRow]
    events: int
    """Number of all such events."""
    query: str
    """A search for the name with the longest total time."""
    start_ps: int
    """Start and end of the step with the longest event."""
    end_ps: int


def _collect_evidence(trace: Trace, mask: Bool, steps: Steps) -> Evidence:
    """Return the longest of some events that start in a step."""
    events = np.flatnonzero(mask)
    events = events[_locate_steps(steps, trace.start_ps[events]) >= 0]
    if not len(events):
        return Evidence([], 0, "", *_get_total_span(steps))
    longest = events[select_largest(trace.duration_ps[events], _MAX_EVIDENCE_ROWS)]
    rows = [_make_evidence_row(trace, event) for event in longest.tolist()]
    name_time = np.bincount(trace.name[events], trace.duration_ps[events].astype(float))
    query = f'"{trace.names[int(np.argmax(name_time))]}"'
    return Evidence(rows, len(events), query, *_get_step_span(steps, rows[0].start_ps))


def _collect_gap_evidence(trace: Trace, known: Bool, steps: Steps) -> Evidence:
    """Return the longest gaps in steps without any known event, each with the event before it.

    A gap ends with its step. The one at the start of a capture has no event before it, but the
    first one after it.
    """
    events = np.flatnonzero(known)
    events = events[np.argsort(trace.start_ps[events], kind="stable")]
    if not len(events):
        return Evidence([], 0, "", *_get_total_span(steps))
    start, latest_end = trace.start_ps[events], np.maximum.accumulate(trace.end_ps[events])
    busy = merge_spans(start, trace.end_ps[events])
    gaps, _ = split_by_spans(subtract_intervals(merge_intervals(steps.spans), busy), steps.spans)
    longest = select_largest(gaps[:, 1] - gaps[:, 0], _MAX_EVIDENCE_ROWS)
    last = _get_last_ending(trace.end_ps[events], latest_end)
    rows = []
    for gap_start, gap_end in gaps[longest].tolist():
        before = max(int(np.searchsorted(start, gap_start, "right")) - 1, 0)
        event = int(events[last[before]])
        rows.append(
            EvidenceRow(
                event=event,
                is_gap=True,
                name=trace.names[trace.name[event]],
                track=_format_track(trace, event),
                start_ps=gap_start,
                duration_ps=gap_end - gap_start,
            )
        )
    span = _get_step_span(steps, rows[0].start_ps) if rows else _get_total_span(steps)
    return Evidence(rows, len(gaps), "", *span)


def _locate_steps(steps: Steps, times_ps: Int64) -> Int64:
    """Return the step that contains each time, -1 for none."""
    return locate_in_spans(steps.spans, times_ps)


def _make_evidence_row(trace: Trace, event: int) -> EvidenceRow:
    return EvidenceRow(
        event=event,
        is_gap=False,
        name=trace.names[trace.name[event]],
        track=_format_track(trace, event),
        start_ps=int(trace.start_ps[event]),
        duration_ps=int(trace.duration_ps[event]),
    )


def _get_last_ending(end: Int64, latest_end: Int64) -> Int64:
    """Return, for each position, the index of the event so far that ends last."""
    return np.maximum.accumulate(np.where(end == latest_end, np.arange(len(end)), 0))


def _format_track(trace: Trace, event: int) -> str:
    track = trace.tracks[trace.track[event]]
    return f"{track.process} {track.name}".strip()


def _get_step_span(steps: Steps, time_ps: int) -> tuple[int, int]:
    step = int(_locate_steps(steps, np.array([time_ps]))[0])
    start, end = steps.spans[step].tolist() if step >= 0 else _get_total_span(steps)
    return int(start), int(end)


def _get_total_span(steps: Steps) -> tuple[int, int]:
    return (int(steps.spans[0, 0]), int(steps.spans[-1, 1])) if len(steps.spans) else (0, 0)


# ---- findings


class Finding(msgspec.Struct):
    """Something to change in the program."""

    name: str
    title: Sentence
    summary: Sentence
    """What was measured."""
    share: float
    """Share of a step."""
    threshold: Sentence
    """The values for which it is reported."""
    advice: list[Sentence]
    code: str
    """Lines to paste; empty if there are none."""
    savings_ms: float
    """Time of a step that would be saved if all of it went away."""
    evidence: list[EvidenceRow]
    """The longest events, at most twenty."""
    events: int
    query: str
    """A search of the trace for the events with the longest total time."""
    start_ps: int
    """Start and end of the step with the longest event."""
    end_ps: int


class FindingInput(NamedTuple):
    """What findings are derived from."""

    trace: Trace
    analysis: StepAnalysis
    precision: Precision
    framework: Framework
    thresholds: Mapping[str, float] = DEFAULT_THRESHOLDS

    @property
    def step_ms(self) -> float:
        return self.analysis.average_ms(self.analysis.breakdown.total_ps)

    def get_part_ms(self, *parts: StepPart) -> float:
        """Return the time of an average step in some parts."""
        part_ps = self.analysis.breakdown.exclusive_ps[:, list(parts)].sum(axis=1)
        return self.analysis.average_ms(part_ps)

    def mask_parts(self, *parts: StepPart) -> Bool:
        return np.isin(self.analysis.event_parts, parts)

    def exceeds_threshold(self, name: str, time_ms: float) -> bool:
        return time_ms / self.step_ms >= self.thresholds[name]


def list_findings(data: FindingInput) -> list[Finding]:
    """List the findings, those that save most time first."""
    if not data.step_ms:
        return []
    findings = (finding for finding in _iter_findings(data) if finding.savings_ms > 0)
    return sorted(findings, key=lambda finding: -finding.savings_ms)


def _iter_findings(data: FindingInput) -> Iterator[Finding]:
    trace = data.trace
    # Nothing follows from what the readable part of a file does not contain.
    is_complete = not trace.is_partial
    yield from _check_parts(data, "input", StepPart.INPUT)
    yield from _check_parts(data, "kernel launch", StepPart.KERNEL_LAUNCH)
    yield from _check_parts(data, "copies", StepPart.HOST_TO_DEVICE, StepPart.OUTPUT)
    yield from _check_parts(data, "collectives", StepPart.COLLECTIVES)
    if trace.on_device.any() and is_complete:
        yield from _check_parts(data, "host", StepPart.HOST_COMPUTE)
    yield from _check_parts(data, "compilation", StepPart.COMPILATION)
    yield from _check_events(data, "retracing", _mask_retraced(trace))
    yield from _check_events(data, "eager", _mask_eager(trace))
    if is_complete:
        yield from _check_small_kernels(data)
        yield from _check_other(data)
        yield from _check_precision(data)


def _check_parts(data: FindingInput, name: str, *parts: StepPart) -> Iterator[Finding]:
    time_ms = data.get_part_ms(*parts)
    if data.exceeds_threshold(name, time_ms):
        evidence = _collect_evidence(data.trace, data.mask_parts(*parts), data.analysis.steps)
        yield _make_finding(data, name, time_ms, evidence)


def _check_events(data: FindingInput, name: str, mask: Bool) -> Iterator[Finding]:
    """Check the total duration of some events of one thread, which are not a part of their own."""
    if not mask.any():
        return
    steps = data.analysis.steps
    step = _locate_steps(steps, data.trace.start_ps)
    events = mask & (step >= 0)
    time_ps = np.zeros(len(steps.names), np.int64)
    np.add.at(time_ps, step[events], data.trace.duration_ps[events])
    time_ms = data.analysis.average_ms(time_ps)
    if data.exceeds_threshold(name, time_ms):
        evidence = _collect_evidence(data.trace, mask, steps)
        yield _make_finding(data, name, time_ms, evidence)


def _check_small_kernels(data: FindingInput) -> Iterator[Finding]:
    """Check the short gaps between kernels, which are the overhead of launches."""
    trace, steps = data.trace, data.analysis.steps
    is_kernel = trace.on_device & (data.analysis.event_parts == StepPart.DEVICE_COMPUTE)
    kernels = np.flatnonzero(is_kernel)
    if len(kernels) < 2:
        return
    before, after = kernels[:-1], kernels[1:]
    gap = trace.start_ps[after] - trace.end_ps[before]
    same_track = trace.track[after] == trace.track[before]
    is_overhead = same_track & (gap > 0) & (gap < _MAX_LAUNCH_GAP_PS)
    step = _locate_steps(steps, trace.start_ps[after])
    in_step = is_overhead & (step >= 0)
    time_ps = np.zeros(len(steps.names), np.int64)
    np.add.at(time_ps, step[in_step], gap[in_step])
    time_ms = data.analysis.average_ms(time_ps)
    if data.exceeds_threshold("small kernels", time_ms):
        mask = np.zeros(len(trace), bool)
        mask[after[is_overhead]] = True
        evidence = _collect_evidence(trace, mask, steps)
        yield _make_finding(data, "small kernels", time_ms, evidence)


def _check_other(data: FindingInput) -> Iterator[Finding]:
    """Check the time without events, and name the Python code that ran in it if it was recorded."""
    time_ms = data.analysis.average_ms(data.analysis.breakdown.other_ps)
    if not data.exceeds_threshold("other", time_ms):
        return
    has_part = data.analysis.event_parts >= 0
    evidence = _collect_gap_evidence(data.trace, has_part, data.analysis.steps)
    finding = _make_finding(data, "other", time_ms, evidence)
    frames = collect_gap_frames(data.trace, has_part, data.analysis.steps.spans)
    if frames.share >= _MIN_FRAME_SHARE:
        line = data.trace.names[data.trace.name[frames.longest]].removeprefix("$")
        what = Message.format(
            "profile.finding_other_python",
            "{percent}% of a step ({time}) is Python code without recorded ops, mostly {line}",
            percent=f"{100 * finding.share:.0f}",
            time=format_ms(time_ms),
            line=line,
        )
        finding.title = Sentence.make(PYTHON_TITLE)
        finding.summary = Sentence.make(what)
        finding.evidence = [_make_evidence_row(data.trace, frames.longest), *evidence.rows][
            :_MAX_EVIDENCE_ROWS
        ]
        finding.query = f'"{data.trace.names[data.trace.name[frames.longest]]}"'
    yield finding


def _check_precision(data: FindingInput) -> Iterator[Finding]:
    low_share, device_ms = data.precision.low_share, data.get_part_ms(StepPart.DEVICE_COMPUTE)
    threshold = data.thresholds["precision"]
    is_device_idle = device_ms < _MIN_DEVICE_SHARE * data.step_ms
    if low_share is None or low_share >= threshold or is_device_idle:
        return
    is_kernel = data.trace.on_device & data.mask_parts(StepPart.DEVICE_COMPUTE)
    evidence = _collect_evidence(data.trace, is_kernel, data.analysis.steps)
    savings_ms = device_ms * (1 - 1 / _LOW_PRECISION_SPEEDUP)
    what = Message.format(
        "profile.finding_precision_measured",
        "{percent}% of device compute time ({time} per step) is in 16 bits",
        percent=f"{100 * low_share:.0f}",
        time=format_ms(device_ms),
    )
    reported = Message.format(
        "profile.finding_precision_threshold",
        "below {percent}%, if the device computes for at least {device_percent}% of a step",
        percent=f"{100 * threshold:.3g}",
        device_percent=f"{100 * _MIN_DEVICE_SHARE:.0f}",
    )
    finding = _make_finding(data, "precision", savings_ms, evidence)
    finding.summary, finding.threshold = Sentence.make(what), Sentence.make(reported)
    yield finding


def _make_finding(data: FindingInput, name: str, time_ms: float, evidence: Evidence) -> Finding:
    share = time_ms / data.step_ms
    advice = get_advice(name, data.framework, is_one_program=_runs_one_program(data))
    threshold = Message.format(
        "profile.finding_threshold",
        "at {percent}% or more",
        percent=f"{100 * data.thresholds[name]:.3g}",
    )
    return Finding(
        name=name,
        title=Sentence.make(FINDING_TITLES[name]),
        summary=Sentence.make(_describe_time(name, f"{100 * share:.0f}", format_ms(time_ms))),
        share=share,
        threshold=Sentence.make(threshold),
        advice=[Sentence.make(advice.text)],
        code=advice.code,
        savings_ms=time_ms,
        evidence=evidence.rows,
        events=evidence.events,
        query=evidence.query,
        start_ps=evidence.start_ps,
        end_ps=evidence.end_ps,
    )


def _runs_one_program(data: FindingInput) -> bool:
    """Return whether each step executes exactly one compiled program."""
    events, _ = data.trace.get_int_args("run_id")
    events = events[~data.trace.on_device[events]]
    step = locate_in_spans(data.analysis.steps.host_spans, data.trace.start_ps[events])
    counts = np.bincount(step[step >= 0], minlength=len(data.analysis.steps.names))
    return bool(len(counts)) and bool((counts[data.analysis.averaged_slice] == 1).all())


def _describe_time(name: str, percent: str, time: str) -> Message | str:
    """Return what a finding measured: the share of a step and the time."""
    match name:
        case "input":
            return Message.format(
                "profile.finding_input_measured",
                "{percent}% of a step ({time}) is spent waiting for input",
                percent=percent,
                time=time,
            )
        case "kernel launch":
            return Message.format(
                "profile.finding_kernel_launch_measured",
                "{percent}% of a step ({time}) is spent launching kernels",
                percent=percent,
                time=time,
            )
        case "copies":
            return Message.format(
                "profile.finding_copies_measured",
                "{percent}% of a step ({time}) is spent on copies to or from the device that do "
                "not overlap other work",
                percent=percent,
                time=time,
            )
        case "collectives":
            return Message.format(
                "profile.finding_collectives_measured",
                "{percent}% of a step ({time}) is spent on communication between devices",
                percent=percent,
                time=time,
            )
        case "host":
            return Message.format(
                "profile.finding_host_measured",
                "{percent}% of a step ({time}) is host work while the device waits",
                percent=percent,
                time=time,
            )
        case "compilation":
            return Message.format(
                "profile.finding_compilation_measured",
                "{percent}% of a step ({time}) is spent compiling",
                percent=percent,
                time=time,
            )
        case "retracing":
            return Message.format(
                "profile.finding_retracing_measured",
                "{percent}% of a step ({time}) is spent tracing functions",
                percent=percent,
                time=time,
            )
        case "eager":
            return Message.format(
                "profile.finding_eager_measured",
                "{percent}% of a step ({time}) is spent on ops outside of compiled functions",
                percent=percent,
                time=time,
            )
        case "small kernels":
            return Message.format(
                "profile.finding_small_kernels_measured",
                "{percent}% of a step ({time}) is gaps of less than 20 µs between kernels",
                percent=percent,
                time=time,
            )
        case "other":
            return Message.format(
                "profile.finding_other_measured",
                "{percent}% of a step ({time}) has no recorded events",
                percent=percent,
                time=time,
            )
    return ""


def _mask_retraced(trace: Trace) -> Bool:
    """Return a mask of the calls of a tf.function that traced it first."""
    mask = np.zeros(len(trace), bool)
    for event, call in zip(*trace.get_text_args("tf_function_call"), strict=True):
        mask[event] = call in _TRACED_CALLS
    return mask


def _mask_eager(trace: Trace) -> Bool:
    """Return a mask of the TensorFlow ops that Python ran one by one."""
    events, is_function = trace.get_int_args("is_func")
    mask = np.zeros(len(trace), bool)
    mask[events[is_function == 0]] = True
    return mask
