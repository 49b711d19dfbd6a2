"""Python code in the time in which nothing else was recorded."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import measure_union, read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file
from tests.analysis.profiles.trace_builder import EventSpec, make_trace
from tracklight.analysis.profiles.attribution import collect_gap_frames
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.steps import analyze_steps


def make_steps(*frames: EventSpec) -> list[EventSpec]:
    """Make steps of 100 µs, of which an op takes the first 40."""
    events = []
    for number in range(3):
        at = number * 100.0
        events.append(EventSpec(0, "train", at, at + 100, {"_r": 1, "step_num": number}))
        events.append(EventSpec(0, "MatMul:MatMul", at, at + 40))
        events += [
            frame._replace(start_us=at + frame.start_us, end_us=at + frame.end_us)
            for frame in frames
        ]
    return events


def test_names_the_line_that_runs_without_ops() -> None:
    frames = [
        EventSpec(0, "$train.py:3 main", 1, 99),
        EventSpec(0, "$log.py:7 write", 45, 95),
        EventSpec(0, "$os fsync", 50, 90),
    ]
    (finding,) = summarize(make_trace(*make_steps(*frames))).findings
    assert (finding.name, finding.title.text) == ("other", "Python code delays the step")
    assert "mostly os fsync" in str(finding.summary)
    assert finding.evidence[0].name == "$os fsync"
    assert finding.query == '"$os fsync"'


def test_without_frames_nothing_is_claimed() -> None:
    (finding,) = summarize(make_trace(*make_steps())).findings
    assert finding.summary.text == "60% of a step (60 µs) has no recorded events"


def test_share_of_frames_equals_raw_events() -> None:
    """PyTorch with stacks: Python frames cover what is left beside the ops."""
    trace = open_file("tcpu.pt.trace.json.gz")
    analysis = analyze_steps(trace)
    known = analysis.event_parts >= 0
    found = collect_gap_frames(trace, known, analysis.steps.spans)
    raw = read_raw(DATA / "tcpu.pt.trace.json.gz")
    frames = [(e.start_ps, e.end_ps) for e in raw if e.category == "python_function"]
    others = [
        (e.start_ps, e.end_ps)
        for e in raw
        if e.category not in ("python_function", "overhead", "Trace")
        and not e.name.startswith("ProfilerStep#")
    ]
    steps = [(e.start_ps, e.end_ps) for e in raw if e.name.startswith("ProfilerStep#")]
    gap = sum(end - start - measure_union(others, start, end) for start, end in steps)
    both = sum(end - start - measure_union(others + frames, start, end) for start, end in steps)
    assert found.share == pytest.approx(1 - both / gap, abs=0.1)
    assert found.longest >= 0 and not known[found.longest]
    assert np.isin(found.longest, np.flatnonzero(trace.match_categories("python_function")))
