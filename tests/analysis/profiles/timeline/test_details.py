"""Search, selection, flows and event details."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.timeline.traces import make_empty_trace, make_trace
from tests.analysis.profiles.trace_builder import EventSpec
from tests.analysis.profiles.trace_builder import make_trace as make_trace_with_args
from tracklight.analysis.profiles.timeline import Timeline
from tracklight.analysis.profiles.timeline.details import (
    EventBox,
    collect_flows,
    get_event_details,
    make_word_matcher,
    search_events,
    select_flow_arrows,
    summarize_events,
    summarize_selection,
)
from tracklight.errors import UsageError

_TRACE = make_trace(
    [
        (0, "train", 0, 100),
        (0, "MatMul", 10, 30),
        (0, "Add", 15, 5),
        (0, "MatMul", 50, 20),
        (1, "matmul kernel", 60, 40),
    ],
    devices=[1],
)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("matmul", ["MatMul", "matmul kernel"]),
        ("KERNEL matmul", ["matmul kernel"]),
        ("m*l", ["MatMul", "matmul kernel"]),
        ("u*k", ["matmul kernel"]),
        ('"MatMul"', ["MatMul"]),
        ('"matmul"', []),
        ("", []),
    ],
)
def test_searches_names_for_words(query: str, names: list[str]) -> None:
    result = search_events(Timeline(_TRACE), make_word_matcher(query))
    assert sorted(row.text for row in result.names) == sorted(names)


def test_search_returns_events_by_start() -> None:
    result = search_events(Timeline(_TRACE), make_word_matcher("matmul"))
    assert (result.count, result.total_ps) == (3, 90)
    assert result.event.tolist() == [1, 3, 4]
    assert result.start.tolist() == [10, 50, 60]
    assert result.lane.tolist() == [1, 1, 0]
    assert [(row.text, row.count, row.longest) for row in result.names] == [
        ("MatMul", 2, 1),
        ("matmul kernel", 1, 4),
    ]
    assert np.flatnonzero(result.marks).tolist() == [100, 500, 600]
    assert search_events(Timeline(_TRACE), make_word_matcher("matmul"), 2).event.tolist() == [4]


def test_searches_arguments() -> None:
    timeline = Timeline(
        make_trace_with_args(
            EventSpec(0, "aten::mm", 0, 10, {"input_dims": "[[64, 64]]", "external": 7}),
            EventSpec(0, "aten::mm", 20, 30, {"input_dims": "[[8, 8]]", "external": 8}),
            EventSpec(0, "eight", 40, 50),
        )
    )
    words = make_word_matcher("dims 8,")
    assert search_events(timeline, words).count == 0
    result = search_events(timeline, words, include_args=True)
    assert (result.event.tolist(), result.name_ids.tolist()) == ([1], [])
    assert np.unpackbits(result.matches, bitorder="little", count=3).tolist() == [0, 1, 0]
    exact = search_events(timeline, make_word_matcher('"external=7"'), include_args=True)
    assert exact.event.tolist() == [0]
    assert search_events(
        timeline, make_word_matcher("eight"), include_args=True
    ).event.tolist() == [2]


def test_equal_arguments_are_indexed_once() -> None:
    events = [EventSpec(0, "a", at, at + 1, {"stream": 7, "device": at % 2}) for at in range(9)]
    texts = Timeline(make_trace_with_args(*events)).arg_index.texts
    assert sorted(texts) == ["device=0", "device=1", "stream=7"]


def test_selection_counts_events_only_inside_the_range() -> None:
    selection = summarize_selection(Timeline(_TRACE), 20, 60, [0])
    names = {row.text: (row.count, row.total_ps, row.self_ps) for row in selection.names}
    # The range contains 20 to 40 of the first product, but not the Add nested in it.
    assert names == {"train": (1, 40, 10), "MatMul": (2, 30, 30)}
    assert [(row.track, row.busy_ps) for row in selection.tracks] == [(0, 40)]
    assert selection.names[1].max_ps == 30


def test_selected_events_are_summed_up_whole() -> None:
    """Self times are without children, selected or not."""
    found = summarize_events(Timeline(_TRACE), [4, 1, 3, 99])
    assert (found.count, found.total_ps, found.self_ps) == (3, 90, 85)
    names = {row.text: (row.count, row.total_ps, row.self_ps) for row in found.names}
    assert names == {"MatMul": (2, 50, 45), "matmul kernel": (1, 40, 40)}
    assert found.event.tolist() == [1, 3, 4]
    assert found.track.tolist() == [0, 0, 1]
    assert found.lane.tolist() == [1, 1, 0]
    assert found.start_ps.tolist() == [10, 50, 60]
    assert found.duration_ps.tolist() == [30, 20, 40]


def test_boxes_select_what_they_touch() -> None:
    timeline = Timeline(_TRACE)
    lanes = EventBox(start=40, end=55, track=0, first_lane=1, last_lane=2)
    assert summarize_events(timeline, [], [lanes]).event.tolist() == [1, 3]
    # An event in a box that is also given by its number is left out.
    assert summarize_events(timeline, [3, 4], [lanes]).event.tolist() == [1, 4]
    whole = EventBox(start=0, end=100, track=0, first_lane=0, last_lane=9)
    both = summarize_events(timeline, [], [lanes, whole])
    assert (both.count, both.unique_names) == (4, 3)
    nothing = EventBox(start=0, end=100, track=7, first_lane=0, last_lane=9)
    assert summarize_events(timeline, [], [nothing]).count == 0


@pytest.mark.parametrize("name", ["tgpu.pt.trace.json.gz", "jax_f32.xplane.pb"])
def test_boxes_equal_a_loop_over_all_events(name: str) -> None:
    trace = open_file(name)
    timeline = Timeline(trace)
    start, end = (float(np.quantile(trace.start_ps, share)) for share in (0.3, 0.6))
    tracks = np.unique(trace.track).tolist()
    boxes = [EventBox(start, end, track, 0, 1) for track in tracks]
    expected = [
        event
        for event in range(len(trace))
        if trace.start_ps[event] <= end
        and trace.start_ps[event] + trace.duration_ps[event] >= start
        and timeline.lane[event] <= 1
    ]
    found = summarize_events(timeline, [], boxes)
    assert sorted(found.event.tolist()) == expected and found.count > 5
    assert found.total_ps == sum(int(trace.duration_ps[event]) for event in expected)


def test_details_include_stack_children_and_same_name() -> None:
    details = get_event_details(Timeline(_TRACE), collect_flows(_TRACE), 1)
    assert [row.name for row in details.stack] == ["train"]
    assert [(row.text, row.total_ps) for row in details.children] == [("Add", 5)]
    assert (details.self_ps, details.row.lane) == (25, 1)
    same = details.same_name
    assert (same.count, same.total_ps, same.mean_ps) == (2, 50, 25)
    assert (same.index, same.rank, same.previous, same.next, same.longest) == (0, 0, None, 3, 1)


def test_rejects_unknown_event() -> None:
    with pytest.raises(UsageError, match="has 5"):
        get_event_details(Timeline(_TRACE), collect_flows(_TRACE), 5)


def test_details_of_kernel_include_arguments_and_launch() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    kernel = int(np.flatnonzero(trace.match_categories("kernel"))[0])
    details = get_event_details(Timeline(trace), collect_flows(trace), kernel)
    assert {"grid", "block", "correlation"} <= {argument.key for argument in details.arguments}
    assert [row.name for row in details.incoming] == ["cudaLaunchKernelExC"]
    assert details.incoming[0].start_ps < details.row.start_ps


def test_every_jax_kernel_has_a_flow_from_the_host() -> None:
    trace = open_file("jax_f32.xplane.pb")
    flows = collect_flows(trace)
    assert set(np.flatnonzero(trace.on_device).tolist()) <= set(flows.target.tolist())
    assert not trace.on_device[flows.source].any()


def test_thread_handoffs_have_flows() -> None:
    trace = read_case("cnn_steps")
    flows = collect_flows(trace)
    crossing = trace.track[flows.source] != trace.track[flows.target]
    assert crossing.sum() > 100


def test_selects_arrows_between_shown_tracks_in_range() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    timeline, flows = Timeline(trace), collect_flows(trace)
    everything = list(range(len(trace.tracks)))
    arrows = select_flow_arrows(timeline, flows, 0, float(timeline.end_ps), everything)
    assert arrows.count == len(flows.source) == len(arrows.source)
    assert select_flow_arrows(timeline, flows, 0, float(timeline.end_ps), [0]).count == 0
    early = select_flow_arrows(timeline, flows, 0, float(arrows.target_ps[0]) + 1, everything)
    assert 0 < early.count < arrows.count


def test_queries_of_empty_trace_are_empty() -> None:
    timeline = Timeline(make_empty_trace())
    assert search_events(timeline, make_word_matcher("a"), include_args=True).count == 0
    assert summarize_selection(timeline, 0, 1, []).names == []
    assert len(collect_flows(timeline.trace).source) == 0
