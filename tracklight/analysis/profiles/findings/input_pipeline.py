"""Input pipelines: which stage of a tf.data pipeline, or which DataLoader, the program waits for.

Each tf.data iterator names the iterator that it feeds. While the program waits for a stage, and a
stage that feeds it works on any thread, it waits for the latter; the rest is the stage's own. So
work that is prefetched while the program computes costs nothing, however long it takes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles import (
    compute_parents,
    intersect_intervals,
    measure_intervals,
    merge_intervals,
    subtract_intervals,
    union_intervals,
)
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.findings.advice import PREFETCH_ADVICE, find_stage_advice
from tracklight.analysis.profiles.steps import StepAnalysis, StepPart
from tracklight.analysis.profiles.trace import PS_PER_MS, Framework, Trace
from tracklight.analysis.source import Sentence
from tracklight.errors import Message
from tracklight.types import Bool, Int64

#: Names of the events of tf.data stages start with this.
STAGE_PREFIX = "Iterator::"

#: What a stage does. Unknown stages are "preparing".
StageWork = Literal["reading", "preparing", "gathering", "handing over"]

#: Labels and descriptions of the parts of the time that a program waits for input.
_INPUT_PARTS: dict[str, tuple[Message, Message]] = {
    "reading": (
        Message("profile.input_reading", "reading"),
        Message("profile.input_reading_description", "Reading files or other sources."),
    ),
    "preparing": (
        Message("profile.input_preparing", "preprocessing"),
        Message(
            "profile.input_preparing_description", "Running functions of the pipeline on examples."
        ),
    ),
    "gathering": (
        Message("profile.input_gathering", "batching"),
        Message("profile.input_gathering_description", "Shuffling and batching examples."),
    ),
    "handing over": (
        Message("profile.input_handing_over", "prefetching"),
        Message(
            "profile.input_handing_over_description",
            "Waiting for examples that other threads prepare.",
        ),
    ),
    "loading": (
        Message("profile.input_loading", "loading"),
        Message("profile.input_loading_description", "Waiting for the data loader."),
    ),
    "other": (
        Message("profile.input_other", "other"),
        Message(
            "profile.input_other_description", "Waiting while no stage of a pipeline was running."
        ),
    ),
}

_WORK_BY_PREFIX: tuple[tuple[StageWork, tuple[str, ...]], ...] = (
    ("reading", ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO")),
    ("reading", ("ArrayRecord", "CSV", "Generator", "TensorSlice", "FromTensor", "Range")),
    ("reading", ("FileCache", "MemoryCache", "MemoryReader", "DataService", "Load", "List")),
    ("gathering", ("Batch", "PaddedBatch", "Shuffle", "Unbatch", "Rebatch", "Window", "Group")),
    ("handing over", ("Root", "Prefetch", "Model", "MaxIntraOp", "PrivateThread", "Options")),
)

#: Iterators created for each pass are numbered; all passes are one stage.
_ITERATION_INDEX = re.compile(r"(?<=Repeat)\[\d+\]|(?<=FlatMap)\[\d+\]|(?<=Interleave)\[\d+\]")
#: A stage with several inputs numbers them.
_INPUT_INDEX = re.compile(r"\[\d+\]\Z")
_LOADER_PREFIX = "enumerate(Data"
#: Shares of a step from which on a program is highly or moderately input-bound.
_HIGH_SHARE, _MODERATE_SHARE = 0.2, 0.05
#: A smaller rest of the waiting time is due to rounding.
_MIN_OTHER_SHARE = 1e-9
_INPUT_FINDINGS = ("input", "copies")

_EMPTY_REASONS: dict[Framework, Message] = {
    "tensorflow": Message(
        "profile.no_input_tensorflow",
        "No tf.data pipeline ran during the capture.",
    ),
    "torch": Message(
        "profile.no_input_torch",
        "No DataLoader was used during the capture.",
    ),
    "jax": Message(
        "profile.no_input_jax",
        "JAX does not record how Python loads batches. Wrap the loading in "
        'jax.profiler.TraceAnnotation("IteratorGetNext").',
    ),
    "python": Message(
        "profile.no_input_python",
        "The Python sampler cannot tell loading from other work.",
    ),
    "chrome": Message(
        "profile.no_input_chrome",
        "This trace has no events that are known to load batches.",
    ),
}


# ---- stages of tf.data pipelines


class PipelineStage(NamedTuple):
    """A dataset of a pipeline. Times are totals over all calls."""

    path: str
    parent: int | None
    """Index of the stage that it feeds."""
    calls: int
    total_ps: int
    self_ps: int
    """Time without the stages that it called on its own thread."""
    critical_ps: int
    """How long the program waited for this stage and no other."""
    parallelism: int | None
    """How many of its calls may run at once, if recorded."""
    longest_event: int

    @property
    def op(self) -> str:
        """The kind of dataset: ``Map``, ``BatchV2``, ``Prefetch``."""
        return self.path.rpartition("::")[2].partition("[")[0]


def classify_stage(op: str) -> StageWork:
    """Return what a kind of dataset does."""
    if op.startswith("MapAndBatch"):
        return "preparing"
    sequential_op = op.removeprefix("Parallel")
    works = (work for work, prefixes in _WORK_BY_PREFIX if sequential_op.startswith(prefixes))
    return next(works, "preparing")


def list_pipelines(trace: Trace, window: Int64) -> list[list[PipelineStage]]:
    """List the stages of each pipeline, parents before the stages that feed them.

    Args:
        trace: The trace.
        window: Interval set of the times in which waiting counts.
    """
    events = np.flatnonzero(trace.match_names(lambda name: name.startswith(STAGE_PREFIX)))
    if len(window):
        inside = (trace.end_ps[events] > window[0, 0]) & (trace.start_ps[events] < window[-1, 1])
        events = events[inside]
    if not len(events):
        return []
    roots = _get_root_ids(trace, events)
    return [
        _PipelineAnalyzer(trace, events[roots == root], window).list_stages()
        for root in np.unique(roots)
    ]


def _get_root_ids(trace: Trace, events: Int64) -> Int64:
    """Return the root iterator of each event; 0 for all if iterators have no ids."""
    ids, parent_ids = _get_int_args(trace, "id"), _get_int_args(trace, "parent_id")
    parent_of = {ids[event]: parent_ids[event] for event in parent_ids if event in ids}
    roots: dict[int, int] = {}
    for event in events.tolist():
        id = ids.get(event, 0)
        if id not in roots:
            roots[id] = _get_root(id, parent_of)
    return np.array([roots[ids.get(event, 0)] for event in events.tolist()], np.int64)


def _get_root(id: int, parent_of: dict[int, int]) -> int:
    visited = {id}
    while id in parent_of and parent_of[id] not in visited:
        id = parent_of[id]
        visited.add(id)
    return id


def _get_int_args(trace: Trace, key: str) -> dict[int, int]:
    events, values = trace.get_int_args(key)
    return dict(zip(events.tolist(), values.tolist(), strict=True))


class _PipelineAnalyzer:
    def __init__(self, trace: Trace, events: Int64, window: Int64) -> None:
        self._trace = trace
        self._window = window
        self._events: dict[str, list[int]] = defaultdict(list)
        for event in events.tolist():
            path = _ITERATION_INDEX.sub("", trace.names[trace.name[event]])
            self._events[path].append(event)
        self._paths = sorted(self._events, key=lambda path: (path.count("::"), path))
        self._self_ps = _measure_self_time(trace, events)
        self._parallelism = _get_int_args(trace, "parallelism")

    def list_stages(self) -> list[PipelineStage]:
        waited = self._get_waited()
        return [self._make_stage(path, waited) for path in self._paths]

    def _get_waited(self) -> dict[str, Int64]:
        """Return when the program, or a stage it waited for, waited for each stage."""
        waited: dict[str, Int64] = {}
        for path in self._paths:
            events = np.array(self._events[path])
            spans = np.column_stack([self._trace.start_ps[events], self._trace.end_ps[events]])
            parent = self._find_parent(path)
            parent_waited = self._window if parent is None else waited[parent]
            waited[path] = intersect_intervals(merge_intervals(spans), parent_waited)
        return waited

    def _find_parent(self, path: str) -> str | None:
        """Return the nearest stage above, as some stages record no events."""
        while "::" in path:
            path = _INPUT_INDEX.sub("", path.rpartition("::")[0])
            if path in self._events:
                return path
        return None

    def _make_stage(self, path: str, waited: dict[str, Int64]) -> PipelineStage:
        events = np.array(self._events[path])
        duration = self._trace.duration_ps[events]
        parent = self._find_parent(path)
        children = (waited[other] for other in self._paths if self._find_parent(other) == path)
        parallelism = [
            self._parallelism[event] for event in self._events[path] if event in self._parallelism
        ]
        return PipelineStage(
            path=path,
            parent=None if parent is None else self._paths.index(parent),
            calls=len(events),
            total_ps=int(duration.sum()),
            self_ps=sum(self._self_ps[event] for event in self._events[path]),
            critical_ps=measure_intervals(waited[path])
            - measure_intervals(union_intervals(children)),
            parallelism=parallelism[-1] if parallelism else None,
            longest_event=int(events[np.argmax(duration)]),
        )


def _measure_self_time(trace: Trace, events: Int64) -> dict[int, int]:
    """Return the time of each call without the calls that it made on its own thread."""
    self_ps: dict[int, int] = {}
    track_changes = np.flatnonzero(np.diff(trace.track[events])) + 1
    for track_events in np.split(events, track_changes):
        duration = trace.duration_ps[track_events]
        parents = compute_parents(trace.end_ps[track_events])
        has_parent = parents >= 0
        time = duration.copy()
        np.subtract.at(time, parents[has_parent], duration[has_parent])
        self_ps.update(zip(track_events.tolist(), time.tolist(), strict=True))
    return self_ps


# ---- input analysis


class InputPart(msgspec.Struct):
    """Time of an average step in which the program waited for this kind of work only.

    The parts add up to the waiting time of the step.
    """

    name: str
    label: Sentence
    description: Sentence
    ms: float
    share: float


class StageRow(msgspec.Struct):
    """A stage of a pipeline; times per average step, summed over all threads."""

    id: int
    name: str
    op: str
    parent: int | None
    calls: int
    total_ms: float
    self_ms: float
    critical_ms: float
    """How long the program waited for this stage and no other."""
    parallelism: int | None
    is_slowest: bool
    advice: Sentence | None
    event: int
    """The longest call."""


class PipelineRow(msgspec.Struct):
    number: int
    """From 1."""
    stages: list[StageRow]


class LoaderRow(msgspec.Struct):
    """A PyTorch DataLoader and the waits for its batches."""

    name: str
    calls: int
    total_ms: float
    mean_ms: float
    max_ms: float
    event: int
    """The longest wait."""


class InputAnalysis(msgspec.Struct):
    """How long an average step waits for input (``ms``), and behind other work (``hidden_ms``).

    ``copy_ms`` is the time of copying data to the device while nothing is computed, which is not
    part of ``ms``.
    """

    share: float
    ms: float
    hidden_ms: float
    copy_ms: float
    verdict: list[Sentence]
    parts: list[InputPart]
    pipelines: list[PipelineRow]
    loaders: list[LoaderRow]
    findings: list[Finding]
    empty_reason: Sentence | None
    """Why there is neither a pipeline nor a loader; null if there is one."""


def explain_no_input(trace: Trace, analysis: StepAnalysis, framework: Framework) -> Message | None:
    """Return why there is nothing to analyze; None if there is something."""
    has_input = any(name.startswith((STAGE_PREFIX, _LOADER_PREFIX)) for name in trace.names)
    if has_input or (analysis.event_parts == StepPart.INPUT).any():
        return None
    return _EMPTY_REASONS[framework]


def analyze_input(
    trace: Trace, analysis: StepAnalysis, framework: Framework, findings: Iterable[Finding]
) -> InputAnalysis:
    """Return how long steps waited for input, and for which stage.

    Args:
        trace: The trace.
        analysis: Its steps.
        framework: The framework that wrote it.
        findings: All findings, of which those about input are kept.
    """
    pipelines = [
        _make_pipeline_row(number, stages, analysis)
        for number, stages in enumerate(list_pipelines(trace, _get_window(analysis)), 1)
    ]
    loaders = list(_iter_loaders(trace))
    breakdown = analysis.breakdown
    step_ms = analysis.average_ms(breakdown.total_ps) or 1.0
    ms = analysis.average_ms(breakdown.exclusive_ps[:, StepPart.INPUT])
    inclusive_ms = analysis.average_ms(breakdown.inclusive_ps[:, StepPart.INPUT])
    return InputAnalysis(
        share=ms / step_ms,
        ms=ms,
        hidden_ms=inclusive_ms - ms,
        copy_ms=analysis.average_ms(breakdown.exclusive_ps[:, StepPart.HOST_TO_DEVICE]),
        verdict=_make_verdict(ms / step_ms, pipelines),
        parts=list(_iter_input_parts(trace, analysis, bool(loaders), ms)),
        pipelines=pipelines,
        loaders=loaders,
        findings=[finding for finding in findings if finding.name in _INPUT_FINDINGS],
        empty_reason=None if pipelines or loaders else Sentence.make(_EMPTY_REASONS[framework]),
    )


def add_stage_advice(findings: Iterable[Finding], trace: Trace, analysis: StepAnalysis) -> None:
    """Replace the advice of a finding about input by that on the slowest stage of its pipeline."""
    finding = next((finding for finding in findings if finding.name == "input"), None)
    if finding is None:
        return
    pipelines = list_pipelines(trace, _get_window(analysis))
    stages = [stage for pipeline in pipelines for stage in pipeline]
    slowest = max(stages, key=lambda stage: stage.critical_ps, default=None)
    if slowest is not None and slowest.critical_ps:
        share = slowest.critical_ps / max(sum(stage.critical_ps for stage in stages), 1)
        has_prefetch = any(stage.op == "Prefetch" for stage in stages)
        sentences = [
            Message.format(
                "profile.stage_share",
                "{percent}% of that is the stage {stage}.",
                percent=f"{100 * share:.0f}",
                stage=slowest.op,
            ),
            find_stage_advice(slowest.op),
            None if has_prefetch else PREFETCH_ADVICE,
        ]
        finding.advice = [Sentence.make(sentence) for sentence in sentences if sentence]


def _get_window(analysis: StepAnalysis) -> Int64:
    return merge_intervals(analysis.steps.spans[analysis.averaged_slice])


def _make_pipeline_row(
    number: int, stages: list[PipelineStage], analysis: StepAnalysis
) -> PipelineRow:
    ps_per_step_ms = PS_PER_MS * max(analysis.averaged_count, 1)
    slowest_ps = max(stage.critical_ps for stage in stages)
    waited_ms = sum(stage.critical_ps for stage in stages) / ps_per_step_ms
    step_ms = analysis.average_ms(analysis.breakdown.total_ps)
    needs_advice = waited_ms >= _MODERATE_SHARE * step_ms
    rows = [
        StageRow(
            id=id,
            name=stage.path.removeprefix(STAGE_PREFIX),
            op=stage.op,
            parent=stage.parent,
            calls=stage.calls,
            total_ms=stage.total_ps / ps_per_step_ms,
            self_ms=stage.self_ps / ps_per_step_ms,
            critical_ms=stage.critical_ps / ps_per_step_ms,
            parallelism=stage.parallelism,
            is_slowest=stage.critical_ps == slowest_ps > 0,
            advice=_make_advice(stage.op) if needs_advice else None,
            event=stage.longest_event,
        )
        for id, stage in enumerate(stages)
    ]
    return PipelineRow(number, rows)


def _make_advice(op: str) -> Sentence | None:
    advice = find_stage_advice(op)
    return None if advice is None else Sentence.make(advice)


def _iter_loaders(trace: Trace) -> Iterator[LoaderRow]:
    events = np.flatnonzero(trace.match_names(lambda name: name.startswith(_LOADER_PREFIX)))
    for name in np.unique(trace.name[events]).tolist():
        waits = events[trace.name[events] == name]
        duration_ms = trace.duration_ps[waits] / PS_PER_MS
        yield LoaderRow(
            name=trace.names[name],
            calls=len(waits),
            total_ms=float(duration_ms.sum()),
            mean_ms=float(duration_ms.mean()),
            max_ms=float(duration_ms.max()),
            event=int(waits[np.argmax(duration_ms)]),
        )


def _iter_input_parts(
    trace: Trace, analysis: StepAnalysis, has_loaders: bool, total_ms: float
) -> Iterator[InputPart]:
    """Yield the waiting time by kind of work, in the order in which a batch is made.

    Args:
        trace: The trace.
        analysis: Its steps.
        has_loaders: Whether the program uses data loaders, which record no stages.
        total_ms: The waiting time of an average step, to which the parts add up.
    """
    waited_ms: dict[str, float] = defaultdict(float)
    ps_per_step_ms = PS_PER_MS * max(analysis.averaged_count, 1)
    for stages in list_pipelines(trace, _get_waiting(trace, analysis)):
        for stage in stages:
            waited_ms[classify_stage(stage.op)] += stage.critical_ps / ps_per_step_ms
    known_ms = sum(waited_ms.values())
    if known_ms > total_ms:  # several pipelines that the program waits for at the same time
        waited_ms.update({work: ms * total_ms / known_ms for work, ms in waited_ms.items()})
    elif total_ms - known_ms > _MIN_OTHER_SHARE * total_ms:
        waited_ms["loading" if has_loaders else "other"] = total_ms - known_ms
    step_ms = analysis.average_ms(analysis.breakdown.total_ps) or 1.0
    for name, (label, description) in _INPUT_PARTS.items():
        if waited_ms[name]:
            yield InputPart(
                name=name,
                label=Sentence.make(label),
                description=Sentence.make(description),
                ms=waited_ms[name],
                share=waited_ms[name] / step_ms,
            )


def _get_waiting(trace: Trace, analysis: StepAnalysis) -> Int64:
    """Return when steps wait for input: no part that counts before it runs."""

    def get_spans(mask: Bool) -> Int64:
        return merge_intervals(np.column_stack([trace.start_ps[mask], trace.end_ps[mask]]))

    waiting = intersect_intervals(
        get_spans(analysis.event_parts == StepPart.INPUT), _get_window(analysis)
    )
    return subtract_intervals(waiting, get_spans(analysis.event_parts > StepPart.INPUT))


def _make_verdict(share: float, pipelines: list[PipelineRow]) -> list[Sentence]:
    percent = f"{100 * share:.1f}"
    if share < _MODERATE_SHARE:
        message = Message.format(
            "profile.input_not_bound",
            "The program is not input-bound: {percent}% of a step is spent waiting for input.",
            percent=percent,
        )
        return [Sentence.make(message)]
    if share >= _HIGH_SHARE:
        message = Message.format(
            "profile.input_highly_bound",
            "The program is highly input-bound: {percent}% of a step is spent waiting for input.",
            percent=percent,
        )
    else:
        message = Message.format(
            "profile.input_moderately_bound",
            "The program is moderately input-bound: {percent}% of a step is spent waiting for "
            "input.",
            percent=percent,
        )
    stages = [stage for pipeline in pipelines for stage in pipeline.stages if stage.is_slowest]
    slowest = max(stages, key=lambda stage: stage.critical_ms, default=None)
    if slowest is None:
        return [Sentence.make(message)]
    cause = Message.format(
        "profile.input_slowest", "Most of it is the stage {stage}.", stage=slowest.op
    )
    return [Sentence.make(message), Sentence.make(cause)]
