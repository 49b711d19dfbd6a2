"""Truncated and damaged Kineto files: what can be read, and what is reported."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.findings.summary import iter_summary_lines, summarize
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import FormatError

CONTENT = gzip.decompress((DATA / "tgpu.pt.trace.json.gz").read_bytes())
MISSING = "truncated or damaged"


def open_bytes(folder: Path, content: bytes, name: str = "a.pt.trace.json") -> Trace:
    path = folder / name
    path.write_bytes(content)
    return open_capture(path)


def count_complete_events(text: str) -> int:
    """Count the events of the beginning of a file with a decoder that needs complete objects."""
    decoder, at, count = json.JSONDecoder(), text.index("[", text.index("traceEvents")) + 1, 0
    while True:
        at += len(text[at:]) - len(text[at:].lstrip(" \t\r\n,"))
        try:
            event, at = decoder.raw_decode(text, at)
        except ValueError:
            return count
        is_shown = event.get("pid") not in ("Spans", "Traces", "", -1)
        count += event["ph"] in ("X", "i") and is_shown


def test_complete_files_have_no_problem(tmp_path: Path) -> None:
    trace = open_bytes(tmp_path, CONTENT)
    assert (trace.problems, trace.is_partial) == ((), False)


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.77, 0.99])
def test_cut_json_is_reported(tmp_path: Path, share: float) -> None:
    cut = CONTENT[: int(share * len(CONTENT))]
    trace = open_bytes(tmp_path, cut)
    assert trace.is_partial
    assert MISSING in str(trace.problems[0])
    assert len(trace) == count_complete_events(cut.decode())


def test_json_cut_between_events_is_reported(tmp_path: Path) -> None:
    cut = CONTENT[: CONTENT.index(b"},", len(CONTENT) // 2) + 2]
    assert MISSING in str(open_bytes(tmp_path, cut).problems[0])


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_cut_gzip_is_reported(tmp_path: Path, share: float) -> None:
    packed = (DATA / "tgpu.pt.trace.json.gz").read_bytes()
    trace = open_bytes(tmp_path, packed[: int(share * len(packed))], "a.pt.trace.json.gz")
    assert trace.is_partial
    assert MISSING in str(trace.problems[0])
    assert len(trace) > 50


def test_absence_in_a_cut_file_is_no_finding(tmp_path: Path) -> None:
    """The kernels of the last steps are missing, and perhaps others."""
    packed = (DATA / "torch_bf16.pt.trace.json.gz").read_bytes()
    trace = open_bytes(tmp_path, packed[:20_000], "a.pt.trace.json.gz")
    assert trace.is_partial and trace.on_device.any()
    names = {finding.name for finding in summarize(trace).findings}
    whole = {
        finding.name
        for finding in summarize(open_capture(DATA / "torch_bf16.pt.trace.json.gz")).findings
    }
    assert names == {"input"} and whole == {"input", "host"}
    first = next(iter_summary_lines(summarize(trace)))
    assert MISSING in first


def test_events_before_the_damage_are_read(tmp_path: Path) -> None:
    at = CONTENT.index(b"},", len(CONTENT) // 2) + 2
    trace = open_bytes(tmp_path, CONTENT[:at] + b"\x00{]\x00" * 50 + CONTENT[at:])
    assert trace.is_partial
    assert len(trace) == count_complete_events(CONTENT[:at].decode())


def test_counts_events_without_a_duration(tmp_path: Path) -> None:
    document = json.loads(CONTENT)
    complete = [event for event in document["traceEvents"] if event["ph"] == "X"]
    for event in complete[:7]:
        event["dur"] = float("nan")
    trace = open_bytes(tmp_path, json.dumps(document).encode())
    assert [str(problem) for problem in trace.problems] == [
        "Ignored events without a valid time or duration: 7"
    ]
    assert not trace.is_partial


def test_bracket_at_the_end_of_a_bare_list_is_optional(tmp_path: Path) -> None:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    text = json.dumps([event, event])
    assert open_bytes(tmp_path, text[:-1].encode()).problems == ()
    assert open_bytes(tmp_path, text[:-9].encode()).is_partial


def test_files_without_any_complete_event_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=MISSING):
        open_bytes(tmp_path, b'{"traceEvents": [{"ph": "X", "na')
