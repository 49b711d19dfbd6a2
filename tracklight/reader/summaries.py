"""Summaries of one kind of data, such as graphs, for ``tracklight inspect``, as text and JSON.

Each ``summarize_`` function yields structs, which `encode_json` encodes for programs and an
``iter_`` function formats for people. An item that cannot be read is reported in its ``problem`` or
``problems`` field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tracklight.analysis.debugger import HealthAlert
from tracklight.analysis.debugger.library import Analysis, DebuggerLibrary
from tracklight.analysis.debugger.recording import RecordingAnalysis
from tracklight.analysis.embeddings import (
    Embedding,
    EmbeddingVersion,
    read_sprite_sheet,
    read_vectors,
)
from tracklight.analysis.embeddings.discovery import discover_embeddings, list_file_embeddings
from tracklight.analysis.embeddings.metadata import read_metadata
from tracklight.analysis.evaluation.report import rank_gaps
from tracklight.analysis.evaluation.slices import OVERALL, format_slice
from tracklight.analysis.fairness import EvaluationEntry, EvaluationLibrary
from tracklight.analysis.fairness.tfma_folder import ModelEvaluation
from tracklight.analysis.graphs import statistics
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_graph_file, parse_logged_graph
from tracklight.analysis.graphs.statistics import GraphSummary, summarize_graph
from tracklight.analysis.profiles.captures import Capture, list_captures
from tracklight.analysis.profiles.findings import summary as profile_summary
from tracklight.analysis.profiles.findings.summary import ProfileSummary
from tracklight.analysis.profiles.profile_data import load_profile
from tracklight.analysis.profiles.roofline import Utilization
from tracklight.errors import TracklightError
from tracklight.logdir import escape_unprintable
from tracklight.logdir.access import ConfinedFiles, Root
from tracklight.reader.log import Log
from tracklight.types import TagInfo
from tracklight.util.files import to_json_number
from tracklight.util.html import format_count
from tracklight.util.memory import format_bytes

#: The selected tags of each selected run.
Selection = Mapping[str, Sequence[TagInfo]]

#: The plugin name of a graph that was read from a model file instead of a log.
FILE_PLUGIN = "file"
_MAX_LISTED_STEPS = 20
_MAX_LISTED_GAPS = 10
_MAX_LISTED_VALUES = 20


class InspectedGraph(msgspec.Struct):
    """A graph; ``problem`` says why there is no summary."""

    run: str
    tag: str
    plugin: str
    summary: GraphSummary | None
    problem: str | None


class InspectedProfile(msgspec.Struct, omit_defaults=True):
    """A profiler capture; ``problem`` says why it cannot be read.

    The tables are those of `ProfileData`, one object per row. Unknown numbers are null. Memory
    snapshots have no summary.
    """

    run: str
    session: str
    host: str
    summary: ProfileSummary | None
    problem: str | None
    steps: list[dict[str, Any]] | None = None
    devices: list[dict[str, Any]] | None = None
    ops: list[dict[str, Any]] | None = None
    operators: list[dict[str, Any]] | None = None
    kernels: list[dict[str, Any]] | None = None
    memory: list[dict[str, Any]] | None = None
    memory_at_peak: list[dict[str, Any]] | None = None
    program_memory: list[dict[str, Any]] | None = None
    counters: list[dict[str, Any]] | None = None
    utilization: Utilization | None = None


class InspectedEmbedding(msgspec.Struct):
    """An embedding at its last step."""

    run: str
    name: str
    vectors: int = 0
    dimensions: int = 0
    steps: list[int] = []
    labels: list[str] = []
    has_images: bool = False
    problems: list[str] = []


def encode_json(**items: Sequence[object] | Mapping[str, object]) -> bytes:
    """Encode items under the name of their kind: ``encode_json(graphs=graphs)``."""
    return msgspec.json.format(msgspec.json.encode(items), indent=2)


def summarize_graphs(log: Log, selection: Selection) -> Iterator[InspectedGraph]:
    """Summarize the last graph of each selected tag that holds graphs."""
    for run, tags in selection.items():
        for info in tags:
            if info.plugin in GRAPH_PARSERS:
                yield _summarize_graph(log, run, info.tag, info.plugin)


def summarize_graph_file(path: Path) -> InspectedGraph:
    """Summarize a model file, such as ONNX.

    Raises:
        FormatError: The file holds no graph of a known format.
    """
    graph = parse_graph_file(path.name, path.read_bytes())
    return InspectedGraph(path.name, "", FILE_PLUGIN, summarize_graph(graph), None)


def _summarize_graph(log: Log, run: str, tag: str, plugin: str) -> InspectedGraph:
    try:
        graph = parse_logged_graph(plugin, log.tensors(run, tag)[-1].item())
        return InspectedGraph(run, tag, plugin, summarize_graph(graph), None)
    except TracklightError as error:
        return InspectedGraph(run, tag, plugin, None, str(error))


def iter_graph_lines(graphs: Sequence[InspectedGraph]) -> Iterator[str]:
    """Format graphs for a terminal."""
    for graph in graphs:
        lines = statistics.iter_summary_lines(graph.summary) if graph.summary else [graph.problem]
        yield from _iter_block((graph.run, graph.tag, f"({graph.plugin})"), lines)
    if not graphs:
        yield "no graphs found"


def summarize_profiles(
    roots: Iterable[Root], *, with_tables: bool = False
) -> Iterator[InspectedProfile]:
    """Summarize every profiler capture below the roots, memory snapshots included.

    Args:
        roots: The log directories.
        with_tables: Whether to include the tables of steps, devices, ops, kernels, memory and
            counters. Those of memory snapshots are always included.
    """
    for capture in list_captures(roots, with_snapshots=True):
        yield _summarize_profile(capture, with_tables)


def _summarize_profile(capture: Capture, with_tables: bool) -> InspectedProfile:
    names = capture.run, capture.session, capture.host
    try:
        data = load_profile(*names, capture.path, capture.kind)
        if capture.kind == "snapshot":
            return InspectedProfile(
                *names,
                None,
                None,
                memory=data.memory.to_records(),
                memory_at_peak=data.memory_at_peak.to_records(),
            )
        profile = InspectedProfile(*names, data.summary, None)
        if with_tables:
            profile.steps, profile.devices = data.steps.to_records(), data.devices.to_records()
            profile.ops, profile.kernels = data.ops.to_records(), data.kernels.to_records()
            profile.operators = data.operators().to_records()
            profile.memory = data.memory.to_records()
            profile.memory_at_peak = data.memory_at_peak.to_records()
            profile.program_memory = data.program_memory.to_records()
            profile.counters = data.counters.to_records()
            profile.utilization = data.utilization
        return profile
    except (TracklightError, OSError) as error:
        return InspectedProfile(*names, None, str(error))


def iter_profile_lines(profiles: Sequence[InspectedProfile]) -> Iterator[str]:
    """Format profiles for a terminal."""
    for profile in profiles:
        if profile.summary:
            lines: Iterable[str | None] = profile_summary.iter_summary_lines(profile.summary)
        else:
            lines = [profile.problem] if profile.problem else _iter_snapshot_lines(profile)
        yield from _iter_block((profile.run, profile.session, profile.host), lines)
    if not profiles:
        yield "no profiles found"


def _iter_snapshot_lines(profile: InspectedProfile) -> Iterator[str]:
    for device in profile.memory or []:
        in_use, reserved = device["peak_bytes"], int(device["reserved_bytes"])
        yield (
            f"{device['allocator']}: at most {format_bytes(in_use)} in use, "
            f"{format_bytes(reserved)} reserved"
        )
        categories: Counter[str] = Counter()
        for row in profile.memory_at_peak or []:
            if row["allocator"] == device["allocator"]:
                categories[row["category"]] += row["bytes"]
        for category, size in categories.most_common():
            yield f"  {100 * size / max(in_use, 1):5.1f} %  {category}: {format_bytes(size)}"


def summarize_embeddings(roots: Sequence[Root]) -> Iterator[InspectedEmbedding]:
    """Summarize every embedding below the roots, with its vectors, labels and sprite sheet."""
    files = ConfinedFiles([root.path for root in roots])
    for embedding in discover_embeddings(files, roots):
        yield _summarize_embedding(files, embedding)


def summarize_tensor_file(path: str) -> Iterator[InspectedEmbedding]:
    """Summarize every tensor of a file that can be used as vectors."""
    files, embeddings = list_file_embeddings(path)
    for embedding in embeddings:
        yield _summarize_embedding(files, embedding)


def _summarize_embedding(files: ConfinedFiles, embedding: Embedding) -> InspectedEmbedding:
    steps = [version.step for version in embedding.versions if version.step is not None]
    result = InspectedEmbedding(embedding.run, embedding.name, steps=steps)
    if not embedding.versions:
        result.problems.append(str(embedding.problem))
        return result
    try:
        _read_embedding(files, embedding.versions[-1], result)
    except (TracklightError, OSError) as error:
        result.problems.append(str(error))
    return result


def _read_embedding(
    files: ConfinedFiles, version: EmbeddingVersion, result: InspectedEmbedding
) -> None:
    """Fill in ``result`` file by file; the first file that cannot be read raises."""
    vectors = read_vectors(files, version)
    result.vectors, result.dimensions = vectors.values.shape
    result.problems += map(str, vectors.problems)
    if version.metadata_path:
        with files.open(version.metadata_path) as file:
            metadata = read_metadata(file, result.vectors)
        result.labels = list(metadata.columns)
        result.problems += map(str, metadata.problems)
    if version.sprite_path:
        with files.open(version.sprite_path) as file:
            read_sprite_sheet(file, version.sprite_size, result.vectors)
        result.has_images = True


def iter_embedding_lines(embeddings: Sequence[InspectedEmbedding]) -> Iterator[str]:
    """Format embeddings for a terminal."""
    for embedding in embeddings:
        yield from _iter_block((embedding.run, embedding.name), _iter_facts(embedding))
    if not embeddings:
        yield "no embeddings found"


def _iter_facts(embedding: InspectedEmbedding) -> Iterator[str]:
    if embedding.vectors:
        yield f"{embedding.vectors} vectors of {embedding.dimensions} dimensions"
    if len(embedding.steps) > 1:
        listed = ", ".join(map(str, embedding.steps[:_MAX_LISTED_STEPS]))
        more = len(embedding.steps) - _MAX_LISTED_STEPS
        yield f"steps {listed}" + (f" and {more} more" if more > 0 else "")
    if embedding.labels:
        yield f"labels: {', '.join(embedding.labels)}"
    if embedding.has_images:
        yield "one image per vector"
    yield from embedding.problems


def _iter_block(names: Sequence[str], lines: Iterable[str | None]) -> Iterator[str]:
    """Yield a heading of names and indented lines; names and texts of a log may hold anything."""
    yield "  ".join(escape_unprintable(name) for name in names if name)
    yield from (f"  {escape_unprintable(line or '')}" for line in lines)
    yield ""


class InspectedDump(msgspec.Struct):
    """A dump or a recording, for ``tracklight inspect --debugger``."""

    framework: str = ""
    version: str = ""
    executions: int = 0
    graph_executions: int = 0
    graphs: int = 0
    source_files: int = 0
    steps: int = 0
    tensors: int = 0
    alerts: list[dict[str, Any]] = []
    root_cause: dict[str, Any] | None = None
    damaged: list[dict[str, Any]] = []
    problem: str | None = None


def summarize_debugger(library: DebuggerLibrary) -> dict[str, InspectedDump]:
    """Summarize all dumps and recordings, by name."""
    summaries = {}
    for name in library.list_names():
        try:
            summaries[name] = _summarize_analysis(library.get(name))
        except TracklightError as error:
            summaries[name] = InspectedDump(problem=str(error))
    return summaries


def _summarize_analysis(analysis: Analysis) -> InspectedDump:
    cause = analysis.root_cause
    summary = InspectedDump(
        alerts=[_alert_object(alert) for alert in analysis.alerts],
        root_cause=None if cause is None else msgspec.to_builtins(cause),
    )
    if isinstance(analysis, RecordingAnalysis):
        layout = analysis.recording.layout
        summary.framework, summary.version = layout.framework, layout.version
        summary.steps, summary.tensors = len(analysis.recording.step), len(layout.tensors)
        return summary
    dump = analysis.dump
    summary.framework, summary.version = dump.framework, dump.metadata.tensorflow_version
    summary.executions = len(dump.executions.offset)
    summary.graph_executions = len(dump.traces.offset)
    summary.graphs, summary.source_files = len(dump.graphs), len(dump.source_files)
    summary.damaged = [
        {"file": item.file, "offset": item.offset, "bytes": item.bytes, "reason": item.reason.text}
        for item in dump.damage
    ]
    return summary


def _alert_object(alert: HealthAlert) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(alert)
    return fields


def iter_debugger_lines(summaries: dict[str, InspectedDump]) -> Iterator[str]:
    """Format summaries for a terminal."""
    for name, dump in summaries.items():
        program = f"{dump.framework} {dump.version}".strip()
        yield escape_unprintable(f"{name}  ({program})" if program else name)
        if dump.problem:
            yield f"  {escape_unprintable(dump.problem)}"
            yield ""
            continue
        if dump.steps:
            tensors = format_count(dump.tensors, "tensor")
            yield f"  {format_count(dump.steps, 'step')} of {tensors}"
        else:
            yield (
                f"  {dump.executions:,} executions, {dump.graph_executions:,} graph executions, "
                f"{dump.graphs:,} graphs, {dump.source_files:,} source files"
            )
        counts: dict[str, int] = {}
        for alert in dump.alerts:
            counts[alert["kind"]] = counts.get(alert["kind"], 0) + 1
        listed = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
        alerts = format_count(len(dump.alerts), "alert")
        yield f"  {alerts}: {listed}" if listed else f"  {alerts}"
        if dump.root_cause:
            yield f"  {escape_unprintable(dump.root_cause['message'])}"
            if dump.root_cause["hint"]:
                yield f"  {dump.root_cause['hint']}"
        for damage in dump.damaged:
            file = escape_unprintable(damage["file"])
            yield f"  {file}, byte {damage['offset']:,}: {damage['reason']}"
        yield ""
    if not summaries:
        yield "no debugger data found"


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
        yield from (_summarize_evaluation(entry, model) for model in models)


def _summarize_evaluation(entry: EvaluationEntry, model: ModelEvaluation) -> InspectedEvaluation:
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
            for gap in rank_gaps(result.difference(OVERALL), limit=_MAX_LISTED_GAPS)
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


def iter_evaluation_lines(evaluations: Sequence[InspectedEvaluation]) -> Iterator[str]:
    """Format evaluations for a terminal."""
    for item in evaluations:
        at = [] if item.step is None else [f"step {item.step}"]
        names = [item.run, item.tag, *at, *([f"model {item.model}"] if item.model else [])]
        yield from _iter_block(names, _iter_evaluation_facts(item))
    if not evaluations:
        yield "no evaluations found"


def _iter_evaluation_facts(item: InspectedEvaluation) -> Iterator[str]:
    if item.slices:
        yield f"{item.task}, {item.rows:,} rows, {len(item.slices):,} slices"
        yield f"metrics: {', '.join(item.metrics[:_MAX_LISTED_VALUES])}"
        if item.thresholds:
            yield f"thresholds: {', '.join(f'{t:g}' for t in item.thresholds[:_MAX_LISTED_VALUES])}"
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
