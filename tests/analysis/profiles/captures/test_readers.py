"""Traces as they are read: whole ones, odd ones and broken ones."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import CASES, DATA, open_file, read_bytes, read_case
from tracklight.analysis.profiles.captures.chrome_trace import read_chrome_trace
from tracklight.analysis.profiles.captures.files import open_capture
from tracklight.analysis.profiles.captures.xplane import parse_xplane
from tracklight.analysis.profiles.summary import summarize
from tracklight.errors import FormatError
from tracklight.formats import wire_format
from tracklight.formats.profiles import chrome_trace, xplane
from tracklight.formats.profiles.xplane import parse_xspace

_xplane = pytest.importorskip("tracklight.formats._xplane")
_SCANS = {"scan_line": xplane, "scan_fields": wire_format, "scan_names": xplane}


def test_both_readers_of_lines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = read_bytes("customloop")
    compiled = [line for plane in parse_xspace(data).planes for line in plane.lines]
    names = [(plane.name, plane.event_names) for plane in parse_xspace(data).planes]
    for name, where in _SCANS.items():
        monkeypatch.setattr(xplane, name, getattr(where, f"{name}_in_python"))
    plain = [line for plane in parse_xspace(data).planes for line in plane.lines]
    assert len(compiled) == 5
    assert names == [(plane.name, plane.event_names) for plane in parse_xspace(data).planes]
    for one, other in zip(compiled, plain, strict=True):
        assert one[:3] == other[:3]
        np.testing.assert_array_equal(one.events, other.events)
        np.testing.assert_array_equal(one.stats, other.stats)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_both_readers_of_lines_agree_on_anything(data: bytes) -> None:
    answers = []
    for scan in (_xplane.scan_line, xplane.scan_xline_in_python):
        try:
            answers.append([rows.tolist() for rows in scan(data, 0, len(data))])
        except FormatError:
            answers.append([])
    assert answers[0] == answers[1]
    (one, one_whole), (other, other_whole) = (
        scan(data, 0, len(data))
        for scan in (_xplane.scan_fields, wire_format.scan_fields_in_python)
    )
    assert one_whole == other_whole
    np.testing.assert_array_equal(one, other)


@given(st.sampled_from(CASES), st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_file_with_other_bytes_in_it_gives_something_or_says_why(
    case: str, at: int, noise: bytes
) -> None:
    data = read_bytes(case)
    at %= len(data)
    trace = parse_xplane(data[:at] + noise + data[at + len(noise) :])
    assert len(trace) or trace.problems or not trace.tracks
    summarize(trace)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_breaks_off_gives_what_stands_before(share: float) -> None:
    data = read_bytes("cnn")
    trace = parse_xplane(data[: int(share * len(data))])
    assert len(trace) <= len(read_case("cnn"))
    assert not trace.problems if not share else "breaks off" in trace.problems[0]


def test_what_is_said_of_events() -> None:
    trace = open_file("jax_bf16.xplane.pb")
    kernel = np.flatnonzero(trace.on_device)[0]
    told = trace.get_args(int(kernel))
    assert str(told["kernel_details"]).startswith("regs:")
    assert isinstance(told["correlation_id"], int)


def test_a_kernel_of_torch() -> None:
    trace = open_file("torch_bf16.pt.trace.json.gz")
    names = {trace.names[name] for name in trace.name[trace.on_device]}
    assert any("bf16" in name for name in names)
    kernels = np.flatnonzero(trace.match_categories("kernel"))
    assert {"correlation", "grid", "block", "registers"} <= trace.get_args(int(kernels[0])).keys()


def write_json(path: Path, events: list[object], tail: str = "]}") -> Path:
    text = '{"traceEvents": [' + ",\n".join(json.dumps(event) for event in events) + tail
    path.write_text(text, encoding="utf-8")
    return path


def event(start_us: float, duration_us: float, name: str = "work") -> dict[str, object]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": start_us, "dur": duration_us}


def test_a_file_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "CHUNK_BYTES", 512)
    args = {"args": {"list": [{"a": 1}, {"b": "}, {"}], "correlation": 7}}
    events = [event(10.0 * n, 5.0) | args for n in range(200)]
    trace = read_chrome_trace(write_json(tmp_path / "a.pt.trace.json", [*events]))
    assert len(trace) == 200
    assert trace.get_int_args("correlation")[1].tolist() == [7] * 200
    assert trace.start_ps[-1] == 1_990_000_000 and not trace.problems


@pytest.mark.parametrize("tail", ["", "]", '], "traceName": "}]"}', ', {"ph": "X", "na'])
def test_ends_of_files(tmp_path: Path, tail: str) -> None:
    trace = read_chrome_trace(
        write_json(tmp_path / "a.pt.trace.json", [event(1, 2), event(3, 4)], tail)
    )
    assert trace.duration_ps.tolist() == [2_000_000, 4_000_000]


def test_a_bare_list_with_beginnings_and_ends_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    marks = [
        {"ph": "B", "name": "outer", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 2, "ts": "2.5"},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 3},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 9},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 10},
    ]
    path.write_text(json.dumps(marks), encoding="utf-8")
    trace = read_chrome_trace(path)
    assert [trace.names[name] for name in trace.name] == ["outer", "inner"]
    assert trace.duration_ps.tolist() == [8_000_000, 500_000]


def test_what_json_forbids_and_profilers_write(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(
        b'{"traceEvents": [{"ph":"X","name":"a\x01\xff","pid":1,"tid":1,"ts":1,"dur":2,'
        b'"args":{"x": N/A, "y": nan}}, {"ph":"X","name":"b","pid":1,"tid":1,"ts":NaN,"dur":2}]}'
    )
    trace = read_chrome_trace(path)
    assert [trace.names[name] for name in trace.name] == ["a\x01\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is no list of events"),
        (b"{}", "there is no list of events"),
        (gzip.compress(b"{" + b" " * 100, mtime=0)[:-10], "there is no list of events"),
        (b"\x1f\x8b nothing packed", "cannot be unpacked"),
    ],
    ids=["empty", "no list", "torn", "not packed"],
)
def test_files_that_are_none(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "a.pt.trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=said):
        open_capture(path)


def test_every_capture_here_is_opened() -> None:
    files = [file for file in DATA.iterdir() if file.name.endswith((".pb", ".json.gz"))]
    assert len(files) == 8
    for file in files:
        assert len(open_file(file.name)) > 100
