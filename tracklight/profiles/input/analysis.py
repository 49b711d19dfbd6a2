"""What a program waited for when it waited for its input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from tracklight.profiles.columns.intervals import merge
from tracklight.profiles.findings.advice import Framework
from tracklight.profiles.findings.findings import Finding
from tracklight.profiles.input.datasets import STAGE, Stage, find_pipelines
from tracklight.profiles.input.stages import WHAT, advise, find_work
from tracklight.profiles.steps.division import Division
from tracklight.profiles.steps.parts import Part
from tracklight.profiles.trace import Trace

_MS = 1e9
_LOADER = "enumerate(Data"
#: Shares of a step from which on a program is held up by its input much, or somewhat.
_MUCH, _SOME = 0.2, 0.05
_AHEAD = "End the pipeline with prefetch(tf.data.AUTOTUNE), so that it works while a step does."
_OF_INPUT = ("input", "copies")

_WHY: dict[Framework, str] = {
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


def explain_no_input(trace: Trace, division: Division, framework: Framework) -> str:
    """Why nothing can be said of a program's input; empty where something can."""
    named = any(name.startswith((STAGE, _LOADER)) for name in trace.names)
    return "" if named or (division.part == Part.INPUT).any() else _WHY[framework]


def analyse_input(
    trace: Trace, division: Division, framework: Framework, findings: Iterable[Finding]
) -> InputAnalysis:
    window = merge(division.steps.spans[division.inner])
    pipelines = [
        _tell_pipeline(number, stages, division)
        for number, stages in enumerate(find_pipelines(trace, window), 1)
    ]
    loaders = list(_iter_loaders(trace))
    step_ms = division.average_ms(division.parts.total) or 1.0
    ms = division.average_ms(division.parts.counted[:, Part.INPUT])
    return InputAnalysis(
        share=ms / step_ms,
        ms=ms,
        hidden_ms=division.average_ms(division.parts.alone[:, Part.INPUT]) - ms,
        verdict=_judge(ms / step_ms, pipelines),
        parts=list(_iter_parts(division, pipelines, loaders, step_ms)),
        pipelines=pipelines,
        loaders=loaders,
        findings=[finding for finding in findings if finding.name in _OF_INPUT],
        why="" if pipelines or loaders else _WHY[framework],
    )


def name_stage(findings: Iterable[Finding], trace: Trace, division: Division) -> None:
    """Say of a finding about input which stage of a pipeline it is, and what helps that one."""
    about = [finding for finding in findings if finding.name == "input"]
    window = merge(division.steps.spans[division.inner])
    stages = [stage for found in find_pipelines(trace, window) for stage in found] if about else []
    slowest = max(stages, key=lambda stage: stage.critical_ps, default=None)
    if slowest is not None and slowest.critical_ps:
        share = slowest.critical_ps / max(sum(stage.critical_ps for stage in stages), 1)
        said = f"{100 * share:.0f} % of that is the stage {slowest.op}. {advise(slowest.op)}"
        ahead = "" if any(stage.op == "Prefetch" for stage in stages) else _AHEAD
        about[0].advice = f"{said} {ahead}".strip()


def _tell_pipeline(number: int, stages: list[Stage], division: Division) -> PipelineRow:
    ms = _MS * max(division.averaged, 1)
    slowest = max(stage.critical_ps for stage in stages)
    step_ms = division.average_ms(division.parts.total)
    matters = sum(stage.critical_ps for stage in stages) / ms >= _SOME * step_ms
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
            parallel=stage.parallel,
            is_slowest=stage.critical_ps == slowest > 0,
            advice=advise(stage.op) if matters else "",
            event=stage.longest,
        )
        for place, stage in enumerate(stages)
    ]
    return PipelineRow(f"pipeline {number}", rows)


def _iter_loaders(trace: Trace) -> Iterator[LoaderRow]:
    events = np.flatnonzero(trace.find_names(lambda name: name.startswith(_LOADER)))
    for name in np.unique(trace.name[events]).tolist():
        mine = events[trace.name[events] == name]
        took = trace.duration_ps[mine] / _MS
        yield LoaderRow(
            name=trace.names[name],
            calls=len(mine),
            total_ms=float(took.sum()),
            mean_ms=float(took.mean()),
            max_ms=float(took.max()),
            event=int(mine[np.argmax(took)]),
        )


def _iter_parts(
    division: Division, pipelines: list[PipelineRow], loaders: list[LoaderRow], step_ms: float
) -> Iterator[InputPart]:
    """What was waited for, by kinds of work, in the order in which a batch comes along."""
    waited: dict[str, float] = defaultdict(float)
    for pipeline in pipelines:
        for stage in pipeline.stages:
            waited[find_work(stage.op)] += stage.critical_ms
    if loaders:
        waited["loading"] = division.average_ms(division.parts.counted[:, Part.INPUT])
    waited["copying"] = division.average_ms(division.parts.counted[:, Part.HOST_TO_DEVICE])
    for name, what in WHAT.items():
        if waited[name]:
            yield InputPart(name, what, waited[name], waited[name] / step_ms)


def _judge(share: float, pipelines: list[PipelineRow]) -> str:
    percent = f"{100 * share:.1f} %"
    if share < _SOME:
        return f"Input is no matter here: a step waits for it {percent} of its time."
    much = "much" if share >= _MUCH else "somewhat"
    said = f"The program is held up {much} by its input: {percent} of a step is spent waiting."
    stages = [stage for pipeline in pipelines for stage in pipeline.stages if stage.is_slowest]
    slowest = max(stages, key=lambda stage: stage.critical_ms, default=None)
    return f"{said} Most of that is the stage {slowest.op}." if slowest else said
