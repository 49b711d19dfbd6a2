"""Routes of the trace viewer."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tests.analysis.profiles.sample_captures import open_file, read_case
from tests.dashboards.profile.client import ProfileClient
from tracklight.errors import UsageError


def test_timeline_has_tracks_and_steps(client: ProfileClient) -> None:
    response = client.get("timeline", "keras/slow")
    trace = read_case("inputbound")
    assert response.events == len(trace) == sum(track.events for track in response.tracks)
    assert response.end_ps == trace.end_ps.max()
    assert response.tracks[0].is_main
    assert (
        len(response.steps.names) == len(response.steps.start_ps) == len(response.steps.end_ps) == 6
    )
    assert response.flows > 0


def test_evidence_event_is_in_timeline(client: ProfileClient) -> None:
    evidence = client.get("overview", "keras/slow").findings[0].evidence[0]
    response = client.get("timeline/event", "keras/slow", event=str(evidence.event))
    assert (response.row.name, response.row.start_ps) == (evidence.name, evidence.start_ps)


@pytest.mark.parametrize(
    ("path", "params", "message"),
    [
        ("timeline/tiles", {"last": "100"}, "at most 64"),
        ("timeline/event", {"event": "99999999"}, "No event 99999999"),
        ("timeline/search", {"query": "(", "regex": "true"}, "regular expression"),
    ],
)
def test_rejects_invalid_requests(
    client: ProfileClient, path: str, params: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        client.get(path, "keras/slow", **params)


def test_rejects_level_out_of_range(client: ProfileClient) -> None:
    with pytest.raises(msgspec.ValidationError):
        client.get("timeline/tiles", "keras/slow", level="99")


def test_static_timeline_has_all_tracks_and_names(client: ProfileClient) -> None:
    row = client.row("keras/fast")
    exported = dict(client.profile.export_static(["keras/fast"]))
    static: Any = exported[f"timeline?capture={row.id}"]
    tracks = len(static.timeline.tracks)
    range_ = static.timeline.exported
    assert len(static.tiles.ends) == tracks * (range_.last - range_.first + 1)
    assert set(static.tiles.name.tolist()) == set(static.tiles.names.ids.tolist())
    assert static.timeline.events == len(read_case("cnn"))


def test_static_timeline_has_counters(client: ProfileClient) -> None:
    row = client.row("torch")
    static: Any = dict(client.profile.export_static(["torch"]))[f"timeline?capture={row.id}"]
    start, end = (str(time) for time in (static.timeline.start_ps, static.timeline.end_ps))
    served = client.get("timeline/counters", "torch", start=start, end=end, cells="4000")
    assert served.counters and len(static.counters.counters) == len(served.counters)
    for exported, counter in zip(static.counters.counters, served.counters, strict=True):
        assert (exported.kind, exported.name) == (counter.kind, counter.name)
        assert exported.times.tolist() == counter.times.tolist()
        assert exported.values.tolist() == counter.values.tolist()


def test_searches_torch_kernels(client: ProfileClient) -> None:
    trace = open_file("torch_input.pt.trace.json.gz")
    found = client.get("timeline/search", "torch", query="gemm")
    assert found.count == trace.match_names(lambda name: "gemm" in name.lower()).sum() > 0
    assert trace.on_device[found.event].all()


def test_searches_with_regular_expressions(client: ProfileClient) -> None:
    params = {"query": r"^(Iterator::.*Map|ParallelMap)", "regex": "true"}
    found = client.get("timeline/search", "keras/slow", **params)
    names = read_case("inputbound").names
    expected = {
        at for at, name in enumerate(names) if re.search(params["query"], name, re.IGNORECASE)
    }
    assert set(found.name_ids.tolist()) == expected != set()

    params = {"query": r"^is_func=1$", "regex": "true", "arguments": "true"}
    found = client.get("timeline/search", "keras/slow", **params)
    events, is_function = read_case("inputbound").get_int_args("is_func")
    assert found.count == (is_function == 1).sum() > 0
    assert set(found.event.tolist()) == set(events[is_function == 1].tolist())
    assert len(found.name_ids) == 0
    assert client.get("timeline/search", "keras/slow", query="", regex="true").count == 0
