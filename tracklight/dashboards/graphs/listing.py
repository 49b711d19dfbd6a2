"""The graphs that a log holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from tracklight.dashboards.graphs.answers import GraphRow, StepRow
from tracklight.graphs.logged import READERS
from tracklight.media.steps import make_marks
from tracklight.plugin import Source
from tracklight.types import TagInfo
from tracklight.util.hashing import hash_key

#: The tag under which a run's own graph stands.
RUN_GRAPH = "__run_graph__"
#: What a tag of this plugin holds is no graph but lies over the graph of its run.
PROFILE = "graph_tagged_run_metadata"

Kind = Literal["op", "profile", "conceptual"]
_KINDS: dict[str, Kind] = {"graph_keras_model": "conceptual", "graph_run_metadata": "profile"}


def iter_graphs(log: Source, runs: Sequence[str] | None = None) -> Iterator[GraphRow]:
    """Every tag with graphs; of runs that are there."""
    names = [run.name for run in log.runs()] if runs is None else runs
    for run in names:
        tags = log.tags(run)
        profiles = [info.tag for info in tags if info.plugin == PROFILE]
        for info in tags:
            if info.plugin in READERS:
                yield _make_row(log, run, info, profiles)


def _make_row(log: Source, run: str, info: TagInfo, profiles: list[str]) -> GraphRow:
    located = log.located(run, info.tag)
    kept = np.flatnonzero(~located.overwritten)
    marks = make_marks(located)
    kind = _KINDS.get(info.plugin, "op")
    return GraphRow(
        id=name_graph(run, info.tag, info.plugin),
        run=run,
        tag=info.tag,
        title="Graph of the run" if info.tag == RUN_GRAPH else info.display_name or info.tag,
        kind=kind,
        plugin=info.plugin,
        bytes=int(located.size[kept[-1]]) if len(kept) else 0,
        steps=[
            StepRow(at, int(located.step[at]), float(located.wall_time[at]), int(marks[at]))
            for at in kept.tolist()
        ],
        profiles=[] if kind == "conceptual" else profiles,
    )


def name_graph(run: str, tag: str, plugin: str) -> str:
    """Return the id of a graph in URLs."""
    return hash_key(run, tag, plugin, size_bytes=8)
