"""Run every analysis on a trace, to test that none of them fails."""

from __future__ import annotations

from tracklight.analysis.profiles.findings.summary import iter_summary_lines, summarize
from tracklight.analysis.profiles.kernels import list_kernels
from tracklight.analysis.profiles.memory import analyze_memory
from tracklight.analysis.profiles.ops import assign_ops, compute_op_stats
from tracklight.analysis.profiles.steps import analyze_steps, detect_steps
from tracklight.analysis.profiles.timeline import Timeline, list_tracks, make_tiles
from tracklight.analysis.profiles.timeline.details import (
    collect_flows,
    get_event_details,
    summarize_selection,
)
from tracklight.analysis.profiles.trace import Trace


def run_all_analyses(trace: Trace) -> list[str]:
    """Run all analyses and return the summary as lines."""
    breakdown = analyze_steps(trace).breakdown
    assert (breakdown.exclusive_ps >= 0).all() and (breakdown.other_ps >= 0).all()
    compute_op_stats(trace)
    list_kernels(trace, assign_ops(trace))
    analyze_memory(trace, detect_steps(trace))
    timeline, flows = Timeline(trace), collect_flows(trace)
    tracks = [row.id for row in list_tracks(timeline)]
    make_tiles(timeline, 30, range(2), tracks)
    summarize_selection(timeline, 0, 1e15, tracks)
    if len(trace):
        get_event_details(timeline, flows, len(trace) - 1)
    return list(iter_summary_lines(summarize(trace)))
