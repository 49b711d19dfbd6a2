"""The graphs of a log in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tracklight.errors import TracklightError
from tracklight.graphs import summary
from tracklight.graphs.logged import READERS, read_graph
from tracklight.graphs.summary import Summary, sum_up
from tracklight.inspect.listing import Chosen, printable
from tracklight.log import Log


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


def encode_json(graphs: Iterable[FoundGraph]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"graphs": list(graphs)}), indent=2)


def iter_lines(graphs: Iterable[FoundGraph]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in graphs:
        empty = False
        yield f"{printable(found.run)}  {printable(found.tag)}  ({printable(found.plugin)})"
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
