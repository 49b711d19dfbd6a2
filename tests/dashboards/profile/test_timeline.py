"""The timeline's routes, as the page asks: from the whole to single events, and wrong questions."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.dashboards.profile.client import Asked
from tracklight.errors import UsageError


def test_the_whole_says_what_there_is_and_its_steps(asked: Asked) -> None:
    told = asked.get("timeline", "keras/slow")
    trace = read_case("inputbound")
    assert told.events == len(trace) == sum(track.events for track in told.tracks)
    assert told.end_ps == trace.end_ps.max()
    assert told.tracks[0].is_main
    assert len(told.steps.names) == len(told.steps.start) == len(told.steps.end) == 6
    assert told.flows > 0


def test_an_event_that_a_finding_names_is_the_one_that_the_timeline_tells_of(asked: Asked) -> None:
    evidence = asked.get("overview", "keras/slow").findings[0].evidence[0]
    told = asked.get("timeline/event", "keras/slow", event=str(evidence.event))
    assert (told.row.name, told.row.start_ps) == (evidence.name, evidence.start_ps)


@pytest.mark.parametrize(
    ("path", "ask", "why"),
    [
        ("timeline/tiles", {"last": "100"}, "at most 64 tiles"),
        ("timeline/event", {"event": "99999999"}, "no event 99999999"),
        ("timeline/search", {"query": "(", "regex": "true"}, "regular expression"),
    ],
)
def test_wrong_questions_are_answered_with_a_sentence(
    asked: Asked, path: str, ask: dict[str, str], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        asked.get(path, "keras/slow", **ask)


def test_a_level_that_no_time_has_is_refused(asked: Asked) -> None:
    with pytest.raises(msgspec.ValidationError):
        asked.get("timeline/tiles", "keras/slow", level="99")


def test_a_copy_carries_all_tracks_with_all_names(asked: Asked) -> None:
    row = asked.row("keras/fast")
    copies = dict(asked.profile.export_static(["keras/fast"]))
    carried: Any = copies[f"timeline?capture={row.id}"]
    tracks = len(carried.timeline.tracks)
    assert len(carried.tiles.ends) == tracks * (carried.last - carried.first + 1)
    assert set(carried.tiles.name.tolist()) == set(carried.tiles.words.ids.tolist())
    assert carried.timeline.events == len(read_case("cnn"))


def test_a_trace_of_torch_has_its_kernels_found_and_summed_up(asked: Asked) -> None:
    trace = open_file("torch_input.pt.trace.json.gz")
    found = asked.get("timeline/search", "torch", query="gemm")
    assert found.count == trace.match_names(lambda name: "gemm" in name.lower()).sum() > 0
    assert trace.on_device[found.event].all()


def test_expressions_are_found_in_names_and_in_arguments(asked: Asked) -> None:
    ask = {"query": r"^(Iterator::.*Map|ParallelMap)", "regex": "true"}
    found = asked.get("timeline/search", "keras/slow", **ask)
    names = read_case("inputbound").names
    expected = {at for at, name in enumerate(names) if re.search(ask["query"], name, re.IGNORECASE)}
    assert set(found.ids.tolist()) == expected != set()

    ask = {"query": r"^is_func=1$", "regex": "true", "arguments": "true"}
    found = asked.get("timeline/search", "keras/slow", **ask)
    events, is_function = read_case("inputbound").get_int_args("is_func")
    assert found.count == (is_function == 1).sum() > 0
    assert set(found.event.tolist()) == set(events[is_function == 1].tolist())
    assert len(found.ids) == 0
    assert asked.get("timeline/search", "keras/slow", query="", regex="true").count == 0
