"""The graphs of a log in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tracklight.errors import TracklightError
from tracklight.graphs import summary
from tracklight.graphs.dropped import read_dropped
from tracklight.graphs.logged import READERS, read_graph
from tracklight.graphs.summary import Summary, sum_up
from tracklight.inspect.listing import Chosen, printable
from tracklight.log import Log

FILE = "file"
"""The plugin of a graph that is a file of its own and was never logged."""


class FoundGraph(msgspec.Struct):
    """A graph that was logged; ``problem`` says why there is no summary."""

    run: str
    tag: str
    plugin: str
    summary: Summary | None
    problem: str | None


def sum_up_graphs(log: Log, chosen: Chosen) -> Iterator[FoundGraph]:
    """Of each tag that holds a graph, the one that was logged last."""
    for run, tags in chosen.items():
        for info in tags:
            if info.plugin in READERS:
                yield _sum_up_one(log, run, info.tag, info.plugin)


def sum_up_file(path: Path) -> FoundGraph:
    """Of a model's own file, such as an ONNX one."""
    graph = read_dropped(path.name, path.read_bytes())
    return FoundGraph(path.name, "", FILE, sum_up(graph), None)


def encode_json(graphs: Iterable[FoundGraph]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"graphs": list(graphs)}), indent=2)


def iter_lines(graphs: Iterable[FoundGraph]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in graphs:
        empty = False
        names = [printable(name) for name in (found.run, found.tag) if name]
        yield "  ".join([*names, f"({printable(found.plugin)})"])
        lines = summary.iter_lines(found.summary) if found.summary else [found.problem or ""]
        yield from (f"  {printable(line)}" for line in lines)
        yield ""
    if empty:
        yield "no graph was logged here"


def _sum_up_one(log: Log, run: str, tag: str, plugin: str) -> FoundGraph:
    try:
        data = log.tensors(run, tag)[-1].item()
        return FoundGraph(run, tag, plugin, sum_up(read_graph(plugin, data)), None)
    except TracklightError as error:
        return FoundGraph(run, tag, plugin, None, str(error))
