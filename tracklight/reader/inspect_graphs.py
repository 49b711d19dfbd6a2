"""The graphs of a log in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tracklight.analysis.graphs import statistics
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_graph_file, parse_logged_graph
from tracklight.analysis.graphs.statistics import GraphSummary, summarize_graph
from tracklight.errors import TracklightError
from tracklight.reader import Log
from tracklight.reader.listing import Selection, escape_unprintable

FILE_PLUGIN = "file"
"""The plugin of a graph that is a file of its own and was never logged."""


class InspectedGraph(msgspec.Struct):
    """A graph that was logged; ``problem`` says why there is no summary."""

    run: str
    tag: str
    plugin: str
    summary: GraphSummary | None
    problem: str | None


def summarize_graphs(log: Log, chosen: Selection) -> Iterator[InspectedGraph]:
    """Of each tag that holds a graph, the one that was logged last."""
    for run, tags in chosen.items():
        for info in tags:
            if info.plugin in GRAPH_PARSERS:
                yield _summarize_graph(log, run, info.tag, info.plugin)


def summarize_graph_file(path: Path) -> InspectedGraph:
    """Of a model's own file, such as an ONNX one."""
    graph = parse_graph_file(path.name, path.read_bytes())
    return InspectedGraph(path.name, "", FILE_PLUGIN, summarize_graph(graph), None)


def encode_graphs(graphs: Iterable[InspectedGraph]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"graphs": list(graphs)}), indent=2)


def iter_graph_lines(graphs: Iterable[InspectedGraph]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in graphs:
        empty = False
        names = [escape_unprintable(name) for name in (found.run, found.tag) if name]
        yield "  ".join([*names, f"({escape_unprintable(found.plugin)})"])
        lines = (
            statistics.iter_summary_lines(found.summary) if found.summary else [found.problem or ""]
        )
        yield from (f"  {escape_unprintable(line)}" for line in lines)
        yield ""
    if empty:
        yield "no graph was logged here"


def _summarize_graph(log: Log, run: str, tag: str, plugin: str) -> InspectedGraph:
    try:
        data = log.tensors(run, tag)[-1].item()
        return InspectedGraph(
            run, tag, plugin, summarize_graph(parse_logged_graph(plugin, data)), None
        )
    except TracklightError as error:
        return InspectedGraph(run, tag, plugin, None, str(error))
