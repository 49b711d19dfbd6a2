"""Summaries of evaluations for ``tracklight inspect --fairness``, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from tracklight.analysis.evaluation.report import rank_gaps
from tracklight.analysis.evaluation.slices import OVERALL, format_slice
from tracklight.analysis.fairness.library import EvaluationEntry, EvaluationLibrary
from tracklight.analysis.fairness.tfma_folder import ModelEvaluation
from tracklight.errors import TracklightError
from tracklight.reader.listing import Selection, escape_unprintable
from tracklight.reader.log import Log
from tracklight.util.json_number import to_json_number

_MAX_GAPS = 10
_MAX_LISTED = 20


class InspectedGap(msgspec.Struct):
    """A difference of a slice to the overall slice."""

    slice: str
    metric: str
    difference: float
    significant: bool


class InspectedEvaluation(msgspec.Struct):
    """One model of one evaluation; ``problems`` says what could not be read.

    ``overall`` has the values of the overall slice, by metric and threshold.
    """

    run: str
    tag: str
    step: int | None
    kind: str
    model: str = ""
    task: str = ""
    rows: int = 0
    slices: list[str] = []
    omitted: list[str] = []
    metrics: list[str] = []
    thresholds: list[float] = []
    method: str = ""
    confidence: float = 0.95
    overall: dict[str, float | str] = {}
    gaps: list[InspectedGap] = []
    validation: bool | None = None
    warnings: list[str] = []
    problems: list[str] = []


class _Report(msgspec.Struct):
    evaluations: list[InspectedEvaluation]


def summarize_evaluations(log: Log, selection: Selection) -> Iterator[InspectedEvaluation]:
    """Summarize the evaluations of the selected runs and tags, and all evaluation folders."""
    library = EvaluationLibrary(log.catalog)
    tags = {(run, tag.tag) for run, infos in selection.items() for tag in infos}
    for entry in library.list_entries():
        if entry.kind != "folder" and (entry.run, entry.tag) not in tags:
            continue
        try:
            models = library.load(entry)
        except TracklightError as error:
            yield InspectedEvaluation(
                entry.run, entry.tag, entry.step, entry.kind, problems=[str(error)]
            )
            continue
        yield from (_summarize(entry, model) for model in models)


def _summarize(entry: EvaluationEntry, model: ModelEvaluation) -> InspectedEvaluation:
    result = model.stored.result
    overall = result.find_slice(OVERALL)
    values = {}
    gaps = []
    if overall is not None:
        values = {
            column.label: to_json_number(float(result.value[overall, at]))
            for at, column in enumerate(result.columns)
        }
        gaps = [
            InspectedGap(
                result.slice_names[gap.slice_at],
                result.columns[gap.column_at].label,
                gap.difference,
                gap.is_significant,
            )
            for gap in rank_gaps(result.difference(OVERALL), limit=_MAX_GAPS)
        ]
    return InspectedEvaluation(
        run=entry.run,
        tag=entry.tag,
        step=entry.step,
        kind=entry.kind,
        model=model.stored.model,
        task=model.stored.task,
        rows=int(result.counts.max()) if len(result.counts) else 0,
        slices=result.slice_names,
        omitted=[format_slice(key) for key in result.omitted],
        metrics=list(dict.fromkeys(column.metric for column in result.columns)),
        thresholds=sorted({c.threshold for c in result.columns if c.threshold is not None}),
        method=result.resampling.method,
        confidence=result.resampling.confidence,
        overall=values,
        gaps=gaps,
        validation=None if model.validation is None else model.validation.is_ok,
        warnings=[str(message) for message in result.warnings],
        problems=[str(message) for message in model.problems],
    )


def encode_json(evaluations: Sequence[InspectedEvaluation]) -> bytes:
    """Return evaluations as JSON."""
    return msgspec.json.encode(_Report(list(evaluations)))


def iter_evaluation_lines(evaluations: Sequence[InspectedEvaluation]) -> Iterator[str]:
    """Format evaluations for a terminal."""
    for item in evaluations:
        at = [] if item.step is None else [f"step {item.step}"]
        names = [item.run, item.tag, *at, *([f"model {item.model}"] if item.model else [])]
        yield "  ".join(escape_unprintable(name) for name in names)
        yield from (f"  {escape_unprintable(line)}" for line in _iter_facts(item))
        yield ""
    if not evaluations:
        yield "no evaluations found"


def _iter_facts(item: InspectedEvaluation) -> Iterator[str]:
    if item.slices:
        yield f"{item.task}, {item.rows:,} rows, {len(item.slices):,} slices"
        yield f"metrics: {', '.join(item.metrics[:_MAX_LISTED])}"
        if item.thresholds:
            yield f"thresholds: {', '.join(f'{t:g}' for t in item.thresholds[:_MAX_LISTED])}"
        intervals = "none" if item.method == "none" else f"{item.confidence:.0%}, {item.method}"
        yield f"intervals: {intervals}"
    if item.validation is not None:
        yield f"validation: {'passed' if item.validation else 'failed'}"
    for gap in item.gaps:
        if gap.significant:
            yield f"{gap.slice}: {gap.metric} {gap.difference:+.3f} from Overall"
    if item.omitted:
        yield f"{len(item.omitted):,} slices below the minimum size were left out"
    yield from item.warnings
    yield from item.problems
