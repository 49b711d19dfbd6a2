"""Events in lanes: those that nest below each other, and none on another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.timeline.traces import Event, make_trace
from tracklight.analysis.profiles.arrays import NATIVE
from tracklight.analysis.profiles.timeline import lanes
from tracklight.analysis.profiles.timeline.lanes import MAX_LANES, assign_lanes

_EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.just("a"), st.integers(0, 50), st.integers(0, 20)), max_size=60
)


def test_a_lane_is_how_deep_an_event_is_nested() -> None:
    trace = make_trace([(0, "a", 0, 100), (0, "b", 10, 50), (0, "c", 20, 5), (0, "b", 70, 10)])
    assert assign_lanes(trace).tolist() == [0, 1, 2, 1]


def test_what_only_reaches_into_another_goes_below_it_and_what_follows_comes_up_again() -> None:
    trace = make_trace([(0, "a", 0, 10), (0, "b", 5, 10), (0, "c", 16, 10), (0, "d", 17, 1)])
    assert assign_lanes(trace).tolist() == [0, 1, 0, 1]


def test_neighbours_that_overlap_by_a_hair_stay_in_one_lane() -> None:
    ms = 1_000_000_000
    trace = make_trace([(0, "step", 0, 60 * ms), (0, "step", 60 * ms - 6_000, 60 * ms)])
    assert assign_lanes(trace).tolist() == [0, 0]


@given(_EVENTS)
@settings(deadline=None)
def test_no_event_lies_on_another(events: list[Event]) -> None:
    trace = make_trace(events)
    found = assign_lanes(trace)
    for track in range(len(trace.tracks)):
        for lane in range(found.max(initial=0) + 1):
            mine = np.flatnonzero((trace.track == track) & (found == lane))
            assert (trace.start_ps[mine[1:]] >= trace.end_ps[mine[:-1]]).all()


@given(_EVENTS)
@settings(deadline=None)
def test_an_event_is_below_the_one_that_it_is_directly_inside_of(events: list[Event]) -> None:
    trace = make_trace(events)
    found, start, end = assign_lanes(trace), trace.start_ps, trace.end_ps
    for event in range(len(trace)):
        before = np.arange(event)
        around = before[
            (trace.track[before] == trace.track[event])
            & (start[event] < end[before])
            & (end[event] <= end[before])
        ]
        assert not len(around) or found[event] > found[around[-1]]


@pytest.mark.skipif(NATIVE is None, reason="the kernel is not built")
@given(st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40), st.integers(0, 4)), max_size=80))
@settings(deadline=None)
def test_the_compiled_loop_finds_the_same_lanes(events: list[tuple[int, int, int]]) -> None:
    rows = np.array(sorted(events), np.int64).reshape(-1, 3)
    start, took, hair = (np.ascontiguousarray(column) for column in rows.T)
    ends = start, start + took, np.minimum(hair, took)
    assert NATIVE is not None
    found = NATIVE.assign_free_lanes(*ends, MAX_LANES)
    assert found.tolist() == lanes.assign_free_lanes_python(*ends).tolist()


def test_a_trace_that_is_nested_without_end_has_an_end() -> None:
    deep = 5_000
    trace = make_trace([(0, "f", at, 2 * (deep - at)) for at in range(deep)])
    lanes = assign_lanes(trace)
    assert lanes[:3].tolist() == [0, 1, 2]
    assert lanes.max() == MAX_LANES - 1


def test_threads_of_real_captures_are_as_deep_as_their_calls() -> None:
    torch, tensorflow = open_file("tgpu.pt.trace.json.gz"), read_case("cnn_steps")
    assert assign_lanes(torch).max() == 6
    assert assign_lanes(tensorflow).max() < 10
