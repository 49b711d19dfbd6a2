"""Summaries of graphs, profiles and embeddings for ``tracklight inspect``, as text and JSON.

Each ``summarize_`` function yields structs, which `encode_json` encodes for programs and an
``iter_`` function formats for people. An item that cannot be read is reported in its ``problem`` or
``problems`` field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from tracklight.analysis.embeddings.discovery import discover_embeddings, list_file_embeddings
from tracklight.analysis.embeddings.loading import (
    Embedding,
    EmbeddingVersion,
    read_sprite_sheet,
    read_vectors,
)
from tracklight.analysis.embeddings.metadata import read_metadata
from tracklight.analysis.graphs import statistics
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_graph_file, parse_logged_graph
from tracklight.analysis.graphs.statistics import GraphSummary, summarize_graph
from tracklight.analysis.profiles import summary as profile_summary
from tracklight.analysis.profiles.captures.files import Capture, list_captures, open_capture
from tracklight.analysis.profiles.summary import ProfileSummary
from tracklight.errors import TracklightError
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.roots import Root
from tracklight.reader.listing import Selection, escape_unprintable
from tracklight.reader.log import Log

#: The plugin name of a graph that was read from a model file instead of a log.
FILE_PLUGIN = "file"
_MAX_LISTED_STEPS = 20


class InspectedGraph(msgspec.Struct):
    """A graph; ``problem`` says why there is no summary."""

    run: str
    tag: str
    plugin: str
    summary: GraphSummary | None
    problem: str | None


class InspectedProfile(msgspec.Struct):
    """A profiler capture; ``problem`` says why there is no summary."""

    run: str
    session: str
    host: str
    summary: ProfileSummary | None
    problem: str | None


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


def encode_json(**items: Sequence[object]) -> bytes:
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


def summarize_profiles(roots: Iterable[Root]) -> Iterator[InspectedProfile]:
    """Summarize every profiler capture below the roots."""
    for capture in list_captures(roots):
        yield _summarize_profile(capture)


def _summarize_profile(capture: Capture) -> InspectedProfile:
    names = capture.run, capture.session, capture.host
    try:
        summary = profile_summary.summarize(open_capture(capture.path))
        return InspectedProfile(*names, summary, None)
    except (TracklightError, OSError) as error:
        return InspectedProfile(*names, None, str(error))


def iter_profile_lines(profiles: Sequence[InspectedProfile]) -> Iterator[str]:
    """Format profiles for a terminal."""
    for profile in profiles:
        summary = profile.summary
        lines = profile_summary.iter_summary_lines(summary) if summary else [profile.problem]
        yield from _iter_block((profile.run, profile.session, profile.host), lines)
    if not profiles:
        yield "no profiles found"


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
