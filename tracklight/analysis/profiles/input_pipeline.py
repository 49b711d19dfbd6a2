"""What a program waited for when it waited for its input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from tracklight.analysis.profiles.arrays import (
    compute_parents,
    intersect_intervals,
    measure_intervals,
    merge_intervals,
    union_intervals,
)
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.steps import StepAnalysis, StepPart
from tracklight.analysis.profiles.trace import Framework, Trace
from tracklight.types import Int64

# What kinds of datasets do for a pipeline, and what makes a slow one faster.

StageWork = Literal["reading", "preparing", "gathering", "handing over"]

INPUT_PART_DESCRIPTIONS: dict[str, str] = {
    "reading": "Files are read, or other sources asked.",
    "preparing": "Functions of the pipeline are run on examples.",
    "gathering": "Examples are shuffled and put into batches.",
    "handing over": "Waiting for what other threads prepare, and taking it from them.",
    "copying": "Batches are copied to the device, and nothing is computed meanwhile.",
    "loading": "The program waits in its loader.",
}

_WORK_BY_PREFIX: tuple[tuple[StageWork, tuple[str, ...]], ...] = (
    ("reading", ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO")),
    ("reading", ("ArrayRecord", "CSV", "Generator", "TensorSlice", "FromTensor", "Range")),
    ("reading", ("FileCache", "MemoryCache", "MemoryReader", "DataService", "Load", "List")),
    ("gathering", ("Batch", "PaddedBatch", "Shuffle", "Unbatch", "Rebatch", "Window", "Group")),
    ("handing over", ("Root", "Prefetch", "Model", "MaxIntraOp", "PrivateThread", "Options")),
)

_PARALLEL_ADVICE = (
    "It already runs in parallel: do less in it, run it on batches instead of single examples, or "
    "cache() what it gives."
)

_ADVICE_BY_PREFIX: tuple[tuple[str, str], ...] = (
    ("MapAndBatch", _PARALLEL_ADVICE),
    ("ParallelMap", _PARALLEL_ADVICE),
    ("ParallelInterleave", "Read more files at once: a larger cycle_length."),
    ("Map", "Give map() num_parallel_calls=tf.data.AUTOTUNE, and cache() what does not change."),
    ("Interleave", "Give interleave() num_parallel_calls=tf.data.AUTOTUNE."),
    ("FlatMap", "Use interleave() with num_parallel_calls=tf.data.AUTOTUNE instead of flat_map()."),
    ("Generator", "A generator runs in Python, one example at a time: read files with tf.data."),
    ("TFRecord", "Read several files at once with interleave(), and cache() what fits in memory."),
    ("TextLine", "Read several files at once with interleave(), and cache() what fits in memory."),
    ("PaddedBatch", "Batch examples of about one length together, and prefetch() afterwards."),
    ("Batch", "Give batch() num_parallel_calls=tf.data.AUTOTUNE, and end with prefetch()."),
    ("Shuffle", "A smaller buffer is sooner full; shuffle before what makes examples large."),
    ("Filter", "Filter once, and keep what is left: cache(), or other files."),
    ("Prefetch", "What feeds it is not ready in time: look at the stages below it."),
    ("Root", "End the pipeline with prefetch(tf.data.AUTOTUNE)."),
)


def classify_stage(op: str) -> StageWork:
    """What a kind of dataset does; those of which nothing is known prepare."""
    parallel = op.removeprefix("Parallel")
    found = (work for work, starts in _WORK_BY_PREFIX if parallel.startswith(starts))
    return "preparing" if op.startswith("MapAndBatch") else next(found, "preparing")


def get_stage_advice(op: str) -> str:
    return next((advice for start, advice in _ADVICE_BY_PREFIX if op.startswith(start)), "")


# The stages of tf.data pipelines, and which of them a program really waited for.
#
# Each iterator says whose input it is. While a stage is waited for and one that feeds it works, on
# whichever thread, it is that one that is waited for; what is left is the stage's own. So what is
# prefetched while the program computes costs nothing, however long it takes.

STAGE_PREFIX = "Iterator::"

#: Iterators that are made anew for each pass have numbers; what is read from them is one stage.
_ITERATION_INDEX = re.compile(r"(?<=Repeat)\[\d+\]|(?<=FlatMap)\[\d+\]|(?<=Interleave)\[\d+\]")

_INPUT_INDEX = re.compile(r"\[\d+\]\Z")


class PipelineStage(NamedTuple):
    """One dataset of a pipeline; times are sums in ps."""

    path: str
    parent: int | None
    """Its place among the stages, the one that it feeds."""
    calls: int
    total_ps: int
    self_ps: int
    """Without the stages that it called on its own thread."""
    critical_ps: int
    """How long the program waited for nothing else."""
    parallelism: int | None
    """How many of its calls may run at once, where it says so."""
    longest_event: int
    """The event that took longest."""

    @property
    def op(self) -> str:
        """The kind of dataset: ``Map``, ``BatchV2``, ``Prefetch``."""
        return self.path.rpartition("::")[2].partition("[")[0]


def list_pipelines(trace: Trace, window: Int64) -> list[list[PipelineStage]]:
    """Each pipeline's stages, those that are fed before those that feed them.

    ``window`` are the times, as a set, in which waiting counts.
    """
    mask = trace.match_names(lambda name: name.startswith(STAGE_PREFIX))
    events = np.flatnonzero(mask)
    if len(window):
        inside = (trace.end_ps[events] > window[0, 0]) & (trace.start_ps[events] < window[-1, 1])
        events = events[inside]
    if not len(events):
        return []
    roots = _get_root_ids(trace, events)
    return [
        _PipelineAnalyzer(trace, events[roots == root], window).measure()
        for root in np.unique(roots)
    ]


def _get_root_ids(trace: Trace, events: Int64) -> Int64:
    """Of each event, which root iterator it works for; all of one where iterators say nothing."""
    ids, parents = _get_int_args(trace, "id"), _get_int_args(trace, "parent_id")
    above = {ids[event]: parents[event] for event in parents if event in ids}
    found: dict[int, int] = {}
    for event in events.tolist():
        at = ids.get(event, 0)
        if at not in found:
            found[at] = _get_root(at, above)
    return np.array([found[ids.get(event, 0)] for event in events.tolist()], np.int64)


def _get_root(at: int, above: dict[int, int]) -> int:
    met = {at}
    while at in above and above[at] not in met:
        at = above[at]
        met.add(at)
    return at


def _get_int_args(trace: Trace, key: str) -> dict[int, int]:
    events, numbers = trace.get_int_args(key)
    return dict(zip(events.tolist(), numbers.tolist(), strict=True))


class _PipelineAnalyzer:
    def __init__(self, trace: Trace, events: Int64, window: Int64) -> None:
        self._trace = trace
        self._window = window
        self._events: dict[str, list[int]] = defaultdict(list)
        for event in events.tolist():
            self._events[_ITERATION_INDEX.sub("", trace.names[trace.name[event]])].append(event)
        self._paths = sorted(self._events, key=lambda path: (path.count("::"), path))
        self._alone = _measure_self_time(trace, events)
        self._parallel = _get_int_args(trace, "parallelism")

    def measure(self) -> list[PipelineStage]:
        waited = self._find_waited()
        return [self._make(path, waited) for path in self._paths]

    def _find_waited(self) -> dict[str, Int64]:
        """When each stage was waited for, by the program or by who is waited for."""
        waited: dict[str, Int64] = {}
        for path in self._paths:
            events = np.array(self._events[path])
            spans = np.column_stack([self._trace.start_ps[events], self._trace.end_ps[events]])
            above = self._find_parent(path)
            within = self._window if above is None else waited[above]
            waited[path] = intersect_intervals(merge_intervals(spans), within)
        return waited

    def _find_parent(self, path: str) -> str | None:
        """The nearest stage above, as some leave no events; a number says which input it is."""
        while "::" in path:
            path = _INPUT_INDEX.sub("", path.rpartition("::")[0])
            if path in self._events:
                return path
        return None

    def _make(self, path: str, waited: dict[str, Int64]) -> PipelineStage:
        events = np.array(self._events[path])
        took = self._trace.duration_ps[events]
        parent = self._find_parent(path)
        below = (waited[other] for other in self._paths if self._find_parent(other) == path)
        parallel = [self._parallel[e] for e in self._events[path] if e in self._parallel]
        return PipelineStage(
            path=path,
            parent=None if parent is None else self._paths.index(parent),
            calls=len(events),
            total_ps=int(took.sum()),
            self_ps=sum(self._alone[event] for event in self._events[path]),
            critical_ps=measure_intervals(waited[path]) - measure_intervals(union_intervals(below)),
            parallelism=parallel[-1] if parallel else None,
            longest_event=int(events[np.argmax(took)]),
        )


def _measure_self_time(trace: Trace, events: Int64) -> dict[int, int]:
    """How long each call of a stage took without those that it made on its own thread."""
    alone: dict[int, int] = {}
    for mine in _iter_tracks(trace, events):
        took = trace.duration_ps[mine].copy()
        parents = compute_parents(trace.end_ps[mine])
        inner = parents >= 0
        np.subtract.at(took, parents[inner], trace.duration_ps[mine][inner])
        alone.update(zip(mine.tolist(), took.tolist(), strict=True))
    return alone


def _iter_tracks(trace: Trace, events: Int64) -> Iterator[Int64]:
    yield from np.split(events, np.flatnonzero(np.diff(trace.track[events])) + 1)


# What a program waited for when it waited for its input.

_PS_PER_MS = 1e9

_LOADER_PREFIX = "enumerate(Data"

#: Shares of a step from which on a program is held up by its input much, or somewhat.
_HIGH_SHARE, _MODERATE_SHARE = 0.2, 0.05

_PREFETCH_ADVICE = (
    "End the pipeline with prefetch(tf.data.AUTOTUNE), so that it works while a step does."
)

_INPUT_FINDINGS = ("input", "copies")

_EMPTY_REASONS: dict[Framework, str] = {
    "tensorflow": "No tf.data pipeline ran while this was recorded.",
    "torch": "No DataLoader was asked for a batch while this was recorded.",
    "jax": "JAX records nothing of how Python loads batches: put "
    'jax.profiler.TraceAnnotation("IteratorGetNext") around it.',
    "python": "A sampler of Python cannot tell loading from other work.",
    "chrome": "Nothing in this trace is known to load batches.",
}


class InputPart(msgspec.Struct):
    """Milliseconds of an average step that were waited for this and nothing else."""

    name: str
    what: str
    ms: float
    share: float


class StageRow(msgspec.Struct):
    """One stage of a pipeline; milliseconds of an average step, on all threads together."""

    id: int
    name: str
    op: str
    parent: int | None
    calls: int
    total_ms: float
    self_ms: float
    critical_ms: float
    """How long the program waited for this stage and nothing else."""
    parallel: int | None
    is_slowest: bool
    advice: str
    event: int
    """The call that took longest."""


class PipelineRow(msgspec.Struct):
    name: str
    stages: list[StageRow]


class LoaderRow(msgspec.Struct):
    """A loader of PyTorch, and the batches that were waited for."""

    name: str
    calls: int
    total_ms: float
    mean_ms: float
    max_ms: float
    event: int


class InputAnalysis(msgspec.Struct):
    """``ms`` of an average step wait for input; ``hidden_ms`` more were behind other work."""

    share: float
    ms: float
    hidden_ms: float
    verdict: str
    parts: list[InputPart]
    pipelines: list[PipelineRow]
    loaders: list[LoaderRow]
    findings: list[Finding]
    why: str
    """Why there is neither a pipeline nor a loader."""


def explain_no_input(trace: Trace, analysis: StepAnalysis, framework: Framework) -> str:
    """Why nothing can be said of a program's input; empty where something can."""
    named = any(name.startswith((STAGE_PREFIX, _LOADER_PREFIX)) for name in trace.names)
    return (
        "" if named or (analysis.event_parts == StepPart.INPUT).any() else _EMPTY_REASONS[framework]
    )


def analyze_input(
    trace: Trace, analysis: StepAnalysis, framework: Framework, findings: Iterable[Finding]
) -> InputAnalysis:
    window = merge_intervals(analysis.steps.spans[analysis.averaged_slice])
    pipelines = [
        _make_pipeline_row(number, stages, analysis)
        for number, stages in enumerate(list_pipelines(trace, window), 1)
    ]
    loaders = list(_iter_loaders(trace))
    step_ms = analysis.average_ms(analysis.breakdown.total_ps) or 1.0
    ms = analysis.average_ms(analysis.breakdown.exclusive_ps[:, StepPart.INPUT])
    return InputAnalysis(
        share=ms / step_ms,
        ms=ms,
        hidden_ms=analysis.average_ms(analysis.breakdown.inclusive_ps[:, StepPart.INPUT]) - ms,
        verdict=_make_verdict(ms / step_ms, pipelines),
        parts=list(_iter_input_parts(analysis, pipelines, loaders, step_ms)),
        pipelines=pipelines,
        loaders=loaders,
        findings=[finding for finding in findings if finding.name in _INPUT_FINDINGS],
        why="" if pipelines or loaders else _EMPTY_REASONS[framework],
    )


def add_stage_advice(findings: Iterable[Finding], trace: Trace, analysis: StepAnalysis) -> None:
    """Say of a finding about input which stage of a pipeline it is, and what helps that one."""
    about = [finding for finding in findings if finding.name == "input"]
    window = merge_intervals(analysis.steps.spans[analysis.averaged_slice])
    stages = [stage for found in list_pipelines(trace, window) for stage in found] if about else []
    slowest = max(stages, key=lambda stage: stage.critical_ps, default=None)
    if slowest is not None and slowest.critical_ps:
        share = slowest.critical_ps / max(sum(stage.critical_ps for stage in stages), 1)
        said = (
            f"{100 * share:.0f} % of that is the stage {slowest.op}. {get_stage_advice(slowest.op)}"
        )
        ahead = "" if any(stage.op == "Prefetch" for stage in stages) else _PREFETCH_ADVICE
        about[0].advice = f"{said} {ahead}".strip()


def _make_pipeline_row(
    number: int, stages: list[PipelineStage], division: StepAnalysis
) -> PipelineRow:
    ms = _PS_PER_MS * max(division.averaged_count, 1)
    slowest = max(stage.critical_ps for stage in stages)
    step_ms = division.average_ms(division.breakdown.total_ps)
    matters = sum(stage.critical_ps for stage in stages) / ms >= _MODERATE_SHARE * step_ms
    rows = [
        StageRow(
            id=place,
            name=stage.path.removeprefix("Iterator::"),
            op=stage.op,
            parent=stage.parent,
            calls=stage.calls,
            total_ms=stage.total_ps / ms,
            self_ms=stage.self_ps / ms,
            critical_ms=stage.critical_ps / ms,
            parallel=stage.parallelism,
            is_slowest=stage.critical_ps == slowest > 0,
            advice=get_stage_advice(stage.op) if matters else "",
            event=stage.longest_event,
        )
        for place, stage in enumerate(stages)
    ]
    return PipelineRow(f"pipeline {number}", rows)


def _iter_loaders(trace: Trace) -> Iterator[LoaderRow]:
    events = np.flatnonzero(trace.match_names(lambda name: name.startswith(_LOADER_PREFIX)))
    for name in np.unique(trace.name[events]).tolist():
        mine = events[trace.name[events] == name]
        took = trace.duration_ps[mine] / _PS_PER_MS
        yield LoaderRow(
            name=trace.names[name],
            calls=len(mine),
            total_ms=float(took.sum()),
            mean_ms=float(took.mean()),
            max_ms=float(took.max()),
            event=int(mine[np.argmax(took)]),
        )


def _iter_input_parts(
    division: StepAnalysis, pipelines: list[PipelineRow], loaders: list[LoaderRow], step_ms: float
) -> Iterator[InputPart]:
    """What was waited for, by kinds of work, in the order in which a batch comes along."""
    waited: dict[str, float] = defaultdict(float)
    for pipeline in pipelines:
        for stage in pipeline.stages:
            waited[classify_stage(stage.op)] += stage.critical_ms
    if loaders:
        waited["loading"] = division.average_ms(division.breakdown.exclusive_ps[:, StepPart.INPUT])
    waited["copying"] = division.average_ms(
        division.breakdown.exclusive_ps[:, StepPart.HOST_TO_DEVICE]
    )
    for name, what in INPUT_PART_DESCRIPTIONS.items():
        if waited[name]:
            yield InputPart(name, what, waited[name], waited[name] / step_ms)


def _make_verdict(share: float, pipelines: list[PipelineRow]) -> str:
    percent = f"{100 * share:.1f} %"
    if share < _MODERATE_SHARE:
        return f"Input is no matter here: a step waits for it {percent} of its time."
    much = "much" if share >= _HIGH_SHARE else "somewhat"
    said = f"The program is held up {much} by its input: {percent} of a step is spent waiting."
    stages = [stage for pipeline in pipelines for stage in pipeline.stages if stage.is_slowest]
    slowest = max(stages, key=lambda stage: stage.critical_ms, default=None)
    return f"{said} Most of that is the stage {slowest.op}." if slowest else said
