"""What is asked about a timeline: found events, stretches, arrows and single events."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.analysis.profiles.timeline.traces import make_empty_trace, make_trace
from tests.analysis.profiles.trace_builder import Made
from tests.analysis.profiles.trace_builder import make_trace as make_said
from tracklight.analysis.profiles.timeline.details import (
    collect_flows,
    get_event_details,
    select_flow_arrows,
    summarize_selection,
)
from tracklight.analysis.profiles.timeline.layout import Timeline
from tracklight.analysis.profiles.timeline.search import make_word_matcher, search_events
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
def test_events_are_found_by_words_in_their_names(query: str, names: list[str]) -> None:
    found = search_events(Timeline(_TRACE), make_word_matcher(query))
    assert sorted(row.text for row in found.names) == sorted(names)


def test_all_found_events_come_in_time_and_say_where_they_are() -> None:
    found = search_events(Timeline(_TRACE), make_word_matcher("matmul"))
    assert (found.count, found.total_ps) == (3, 90)
    assert found.event.tolist() == [1, 3, 4]
    assert found.start.tolist() == [10, 50, 60]
    assert found.lane.tolist() == [1, 1, 0]
    assert [(row.text, row.count, row.longest) for row in found.names] == [
        ("MatMul", 2, 1),
        ("matmul kernel", 1, 4),
    ]
    assert np.flatnonzero(found.marks).tolist() == [100, 500, 600]
    assert search_events(Timeline(_TRACE), make_word_matcher("matmul"), 2).event.tolist() == [4]


def test_events_are_found_by_what_is_said_of_them() -> None:
    timeline = Timeline(
        make_said(
            Made(0, "aten::mm", 0, 10, {"input_dims": "[[64, 64]]", "external": 7}),
            Made(0, "aten::mm", 20, 30, {"input_dims": "[[8, 8]]", "external": 8}),
            Made(0, "eight", 40, 50),
        )
    )
    words = make_word_matcher("dims 8,")
    assert search_events(timeline, words).count == 0
    found = search_events(timeline, words, include_args=True)
    assert (found.event.tolist(), found.ids.tolist()) == ([1], [])
    assert np.unpackbits(found.told, bitorder="little", count=3).tolist() == [0, 1, 0]
    exact = search_events(timeline, make_word_matcher('"external=7"'), include_args=True)
    assert exact.event.tolist() == [0]
    assert search_events(
        timeline, make_word_matcher("eight"), include_args=True
    ).event.tolist() == [2]


def test_what_is_said_often_is_looked_at_once() -> None:
    events = [Made(0, "a", at, at + 1, {"stream": 7, "device": at % 2}) for at in range(9)]
    texts = Timeline(make_said(*events)).arg_index.texts
    assert sorted(texts) == ["device=0", "device=1", "stream=7"]


def test_a_stretch_is_summed_up_as_far_as_events_lie_in_it() -> None:
    summed = summarize_selection(Timeline(_TRACE), 20, 60, [0])
    told = {row.text: (row.count, row.total_ps, row.self_ps) for row in summed.names}
    # Of the first multiplication 20 to 40 is in it, without what Add took before.
    assert told == {"train": (1, 40, 10), "MatMul": (2, 30, 30)}
    assert [(row.track, row.busy_ps) for row in summed.tracks] == [(0, 40)]
    assert summed.names[1].max_ps == 30


def test_an_event_is_told_with_what_it_is_in_what_is_in_it_and_its_like() -> None:
    told = get_event_details(Timeline(_TRACE), collect_flows(_TRACE), 1)
    assert [row.name for row in told.stack] == ["train"]
    assert [(row.text, row.total_ps) for row in told.children] == [("Add", 5)]
    assert (told.self_ps, told.row.lane) == (25, 1)
    same = told.same
    assert (same.count, same.total_ps, same.mean_ps) == (2, 50, 25)
    assert (same.place, same.rank, same.previous, same.next, same.longest) == (0, 0, None, 3, 1)


def test_an_event_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="has 5"):
        get_event_details(Timeline(_TRACE), collect_flows(_TRACE), 5)


def test_arguments_of_a_real_kernel_are_told_and_the_call_that_launched_it() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    kernel = int(np.flatnonzero(trace.match_categories("kernel"))[0])
    told = get_event_details(Timeline(trace), collect_flows(trace), kernel)
    assert {"grid", "block", "correlation"} <= {argument.key for argument in told.arguments}
    assert [row.name for row in told.came_from] == ["cudaLaunchKernelExC"]
    assert told.came_from[0].start_ps < told.row.start_ps


def test_every_kernel_of_a_jax_capture_has_an_arrow_from_the_host() -> None:
    trace = open_file("jax_f32.xplane.pb")
    flows = collect_flows(trace)
    assert set(np.flatnonzero(trace.on_device).tolist()) <= set(flows.target.tolist())
    assert not trace.on_device[flows.source].any()


def test_work_that_is_handed_on_between_threads_has_arrows() -> None:
    trace = read_case("cnn_steps")
    flows = collect_flows(trace)
    crossing = trace.track[flows.source] != trace.track[flows.target]
    assert crossing.sum() > 100


def test_only_arrows_between_shown_tracks_that_cross_the_stretch_are_shown() -> None:
    trace = open_file("tgpu.pt.trace.json.gz")
    timeline, flows = Timeline(trace), collect_flows(trace)
    everything = list(range(len(trace.tracks)))
    arrows = select_flow_arrows(timeline, flows, 0, float(timeline.end_ps), everything)
    assert arrows.count == len(flows.source) == len(arrows.source)
    assert select_flow_arrows(timeline, flows, 0, float(timeline.end_ps), [0]).count == 0
    early = select_flow_arrows(timeline, flows, 0, float(arrows.target_ps[0]) + 1, everything)
    assert 0 < early.count < arrows.count


def test_nothing_can_be_asked_as_well() -> None:
    timeline = Timeline(make_empty_trace())
    assert search_events(timeline, make_word_matcher("a"), include_args=True).count == 0
    assert summarize_selection(timeline, 0, 1, []).names == []
    assert len(collect_flows(timeline.trace).source) == 0
