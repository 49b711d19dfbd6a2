"""Asks of a trace all that any tool asks of one."""

from __future__ import annotations

from tracklight.profiles.kernels.kernels import find_kernels
from tracklight.profiles.memory.usage import find_memory
from tracklight.profiles.ops.naming import name_ops
from tracklight.profiles.ops.sums import sum_ops
from tracklight.profiles.steps.division import divide_trace
from tracklight.profiles.steps.steps import find_steps
from tracklight.profiles.summary.summary import iter_lines, sum_up
from tracklight.profiles.timeline.flows import find_flows
from tracklight.profiles.timeline.selection import sum_selection
from tracklight.profiles.timeline.telling import tell
from tracklight.profiles.timeline.tiles import cut_tiles
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.profiles.timeline.tracks import list_tracks
from tracklight.profiles.trace import Trace


def look_at(trace: Trace) -> list[str]:
    """What is said of it in words."""
    division = divide_trace(trace)
    parts = division.parts
    assert (parts.counted >= 0).all() and (parts.other >= 0).all()
    sum_ops(trace)
    find_kernels(trace, name_ops(trace))
    find_memory(trace, find_steps(trace))
    timeline, flows = Timeline(trace), find_flows(trace)
    tracks = [row.id for row in list_tracks(timeline)]
    cut_tiles(timeline, 30, range(2), tracks)
    sum_selection(timeline, 0, 1e15, tracks)
    if len(trace):
        tell(timeline, flows, len(trace) - 1)
    return list(iter_lines(sum_up(trace)))
