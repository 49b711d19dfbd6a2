"""Exported Chrome traces, read back with a plain JSON parser."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from typing import Any

from tests.analysis.profiles.raw_captures import DEVICE_CATEGORIES, list_launched, read_raw
from tests.analysis.profiles.sample_captures import DATA, open_file
from tracklight.analysis.profiles.captures.chrome_trace import iter_chrome_trace


def export(name: str) -> list[dict[str, Any]]:
    content = b"".join(iter_chrome_trace(open_file(name)))
    events: list[dict[str, Any]] = json.loads(gzip.decompress(content))["traceEvents"]
    return events


def test_streams_have_a_process_of_their_own() -> None:
    events = export("tgpu.pt.trace.json.gz")
    pids = defaultdict(set)
    for event in events:
        if event["ph"] == "X":
            pids[event["cat"] in DEVICE_CATEGORIES].add(event["pid"])
    assert len(pids[True]) == len(pids[False]) == 1
    assert pids[True] != pids[False]
    names = {
        event["pid"]: event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "process_name"
    }
    assert names[next(iter(pids[True]))] == "GPU 0"


def test_flows_lead_from_launches_to_kernels() -> None:
    events = export("tgpu.pt.trace.json.gz")
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert starts.keys() == ends.keys()
    raw = read_raw(DATA / "tgpu.pt.trace.json.gz")
    assert len(starts) == sum(launch is not None for launch, _ in list_launched(raw))
    at = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "X"}
    for id, start in starts.items():
        end = ends[id]
        assert (start["pid"], start["tid"], start["ts"]) in at
        assert (end["pid"], end["tid"], end["ts"]) in at
        assert end["bp"] == "e" and end["ts"] >= start["ts"]
