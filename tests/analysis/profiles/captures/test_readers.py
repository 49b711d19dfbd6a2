"""Reading of complete, unusual and damaged traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import CASES, DATA, open_file, read_bytes, read_case
from tracklight.analysis.profiles.captures import open_capture, parse_xplane
from tracklight.analysis.profiles.captures.chrome_trace import read_chrome_trace
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.profiles import chrome_trace, xplane
from tracklight.formats.profiles.xplane import parse_xspace

_xplane = pytest.importorskip("tracklight.formats._xplane")
_SCANNERS = {"scan_xline": xplane, "scan_fields": proto, "scan_metadata_names": xplane}


def test_compiled_and_python_scanners_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = read_bytes("customloop")
    compiled = [line for plane in parse_xspace(data).planes for line in plane.lines]
    names = [(plane.name, plane.event_names) for plane in parse_xspace(data).planes]
    for name, module in _SCANNERS.items():
        monkeypatch.setattr(xplane, name, getattr(module, f"{name}_in_python"))
    python = [line for plane in parse_xspace(data).planes for line in plane.lines]
    assert len(compiled) == 5
    assert names == [(plane.name, plane.event_names) for plane in parse_xspace(data).planes]
    for one, other in zip(compiled, python, strict=True):
        assert one[:3] == other[:3]
        np.testing.assert_array_equal(one.events, other.events)
        np.testing.assert_array_equal(one.stats, other.stats)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_compiled_and_python_scanners_agree_on_arbitrary_bytes(data: bytes) -> None:
    results = []
    for scan in (_xplane.scan_xline, xplane.scan_xline_in_python):
        try:
            results.append([rows.tolist() for rows in scan(data, 0, len(data))])
        except FormatError:
            results.append([])
    assert results[0] == results[1]
    (one, one_complete), (other, other_complete) = (
        scan(data, 0, len(data)) for scan in (_xplane.scan_fields, proto.scan_fields_in_python)
    )
    assert one_complete == other_complete
    np.testing.assert_array_equal(one, other)


@given(st.sampled_from(CASES), st.integers(0, 10**6), st.binary(min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_corrupted_xplane_is_read_or_reported(case: str, at: int, noise: bytes) -> None:
    data = read_bytes(case)
    at %= len(data)
    trace = parse_xplane(data[:at] + noise + data[at + len(noise) :])
    assert len(trace) or trace.problems or not trace.tracks
    summarize(trace)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_xplane_is_read_up_to_the_truncation(share: float) -> None:
    data = read_bytes("cnn")
    trace = parse_xplane(data[: int(share * len(data))])
    assert len(trace) <= len(read_case("cnn"))
    assert not trace.problems if not share else "truncated" in str(trace.problems[0])


def test_reads_arguments_of_xplane_events() -> None:
    trace = open_file("jax_bf16.xplane.pb")
    kernel = np.flatnonzero(trace.on_device)[0]
    args = trace.get_args(int(kernel))
    assert str(args["kernel_details"]).startswith("regs:")
    assert isinstance(args["correlation_id"], int)


def test_reads_arguments_of_torch_kernels() -> None:
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


def test_reads_file_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome_trace, "CHUNK_BYTES", 512)
    args = {"args": {"list": [{"a": 1}, {"b": "}, {"}], "correlation": 7}}
    events = [event(10.0 * n, 5.0) | args for n in range(200)]
    trace = read_chrome_trace(write_json(tmp_path / "a.pt.trace.json", [*events]))
    assert len(trace) == 200
    assert trace.get_int_args("correlation")[1].tolist() == [7] * 200
    assert trace.start_ps[-1] == 1_990_000_000 and not trace.problems


@pytest.mark.parametrize("tail", ["", "]", '], "traceName": "}]"}', ', {"ph": "X", "na'])
def test_reads_unterminated_files(tmp_path: Path, tail: str) -> None:
    trace = read_chrome_trace(
        write_json(tmp_path / "a.pt.trace.json", [event(1, 2), event(3, 4)], tail)
    )
    assert trace.duration_ps.tolist() == [2_000_000, 4_000_000]


def test_pairs_begin_and_end_events_in_bare_list(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    events = [
        {"ph": "B", "name": "outer", "pid": 1, "tid": 2, "ts": 1},
        {"ph": "B", "name": "inner", "pid": 1, "tid": 2, "ts": "2.5"},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 3},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 9},
        {"ph": "E", "pid": 1, "tid": 2, "ts": 10},
    ]
    path.write_text(json.dumps(events), encoding="utf-8")
    trace = read_chrome_trace(path)
    assert [trace.names[name] for name in trace.name] == ["outer", "inner"]
    assert trace.duration_ps.tolist() == [8_000_000, 500_000]


def test_reads_invalid_json_that_profilers_write(tmp_path: Path) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(
        b'{"traceEvents": [{"ph":"X","name":"a\x01\xff","pid":1,"tid":1,"ts":1,"dur":2,'
        b'"args":{"x": N/A, "y": nan}}, {"ph":"X","name":"b","pid":1,"tid":1,"ts":NaN,"dur":2}]}'
    )
    trace = read_chrome_trace(path)
    assert [trace.names[name] for name in trace.name] == ["a\x01\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "contains no list of events"),
        (b"{}", "contains no list of events"),
        (gzip.compress(b"{" + b" " * 100, mtime=0)[:-10], "contains no list of events"),
        (b"\x1f\x8b nothing packed", "cannot be unpacked"),
    ],
    ids=["empty", "no list", "truncated", "not compressed"],
)
def test_rejects_files_without_events(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.pt.trace.json.gz"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        open_capture(path)


def test_opens_all_sample_captures() -> None:
    files = [file for file in DATA.iterdir() if file.name.endswith((".pb", ".json.gz"))]
    assert len(files) == 12
    for file in files:
        assert len(open_file(file.name)) > 100
