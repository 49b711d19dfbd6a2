"""Assignment of events to lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.timeline.traces import Event, make_trace
from tracklight.analysis.profiles import NATIVE, timeline
from tracklight.analysis.profiles.timeline import MAX_LANES, assign_lanes

_EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.just("a"), st.integers(0, 50), st.integers(0, 20)), max_size=60
)


def test_lane_is_nesting_depth() -> None:
    trace = make_trace([(0, "a", 0, 100), (0, "b", 10, 50), (0, "c", 20, 5), (0, "b", 70, 10)])
    assert assign_lanes(trace).tolist() == [0, 1, 2, 1]


def test_overlapping_event_gets_next_free_lane() -> None:
    trace = make_trace([(0, "a", 0, 10), (0, "b", 5, 10), (0, "c", 16, 10), (0, "d", 17, 1)])
    assert assign_lanes(trace).tolist() == [0, 1, 0, 1]


def test_slightly_overlapping_neighbors_share_a_lane() -> None:
    ms = 1_000_000_000
    trace = make_trace([(0, "step", 0, 60 * ms), (0, "step", 60 * ms - 6_000, 60 * ms)])
    assert assign_lanes(trace).tolist() == [0, 0]


@given(_EVENTS)
@settings(deadline=None)
def test_events_of_a_lane_do_not_overlap(events: list[Event]) -> None:
    trace = make_trace(events)
    result = assign_lanes(trace)
    for track in range(len(trace.tracks)):
        for lane in range(result.max(initial=0) + 1):
            mine = np.flatnonzero((trace.track == track) & (result == lane))
            assert (trace.start_ps[mine[1:]] >= trace.end_ps[mine[:-1]]).all()


@given(_EVENTS)
@settings(deadline=None)
def test_event_is_below_its_enclosing_event(events: list[Event]) -> None:
    trace = make_trace(events)
    result, start, end = assign_lanes(trace), trace.start_ps, trace.end_ps
    for event in range(len(trace)):
        before = np.arange(event)
        around = before[
            (trace.track[before] == trace.track[event])
            & (start[event] < end[before])
            & (end[event] <= end[before])
        ]
        assert not len(around) or result[event] > result[around[-1]]


@pytest.mark.skipif(NATIVE is None, reason="the extension is not built")
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40), st.integers(0, 4)), max_size=80))
@settings(deadline=None)
def test_compiled_and_python_lanes_agree(events: list[tuple[int, int, int]]) -> None:
    rows = np.array(sorted(events), np.int64).reshape(-1, 3)
    start, duration, tolerance = (np.ascontiguousarray(column) for column in rows.T)
    columns = start, start + duration, np.minimum(tolerance, duration)
    assert NATIVE is not None
    result = NATIVE.assign_free_lanes(*columns, MAX_LANES)
    assert result.tolist() == timeline.assign_free_lanes_python(*columns).tolist()
    nested = NATIVE.assign_nested_lanes(*columns, MAX_LANES)
    expected = timeline.assign_nested_lanes_in_numpy(*columns)
    if expected is None:
        assert nested is None
    else:
        assert nested.tolist() == expected.tolist()


@pytest.mark.skipif(NATIVE is None, reason="the extension is not built")
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=40))
@settings(deadline=None)
def test_compiled_and_numpy_depths_agree(halves: list[tuple[int, int]]) -> None:
    """Of events that all nest: each fills a half, a quarter … of the first one."""
    events = {(at & -(1 << level % 5), (1 << level % 5) - 1) for at, level in halves}
    rows = np.array(sorted(events, key=lambda event: (event[0], -event[1])), np.int64)
    start, duration = rows.reshape(-1, 2).T.copy()
    columns = start, start + duration, np.zeros(len(start), np.int64)
    assert NATIVE is not None
    expected = timeline.assign_nested_lanes_in_numpy(*columns)
    assert expected is not None
    assert NATIVE.assign_nested_lanes(*columns, MAX_LANES).tolist() == expected.tolist()


def test_deep_nesting_is_limited_to_max_lanes() -> None:
    deep = 5_000
    trace = make_trace([(0, "f", at, 2 * (deep - at)) for at in range(deep)])
    lanes = assign_lanes(trace)
    assert lanes[:3].tolist() == [0, 1, 2]
    assert lanes.max() == MAX_LANES - 1


def test_lanes_of_real_captures() -> None:
    torch, tensorflow = open_file("tgpu.pt.trace.json.gz"), read_case("cnn_steps")
    assert assign_lanes(torch).max() == 6
    assert assign_lanes(tensorflow).max() < 10
