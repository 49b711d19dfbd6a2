"""Counters in files: events of phase C in Chrome traces, and lines of counters in XSpaces."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.profiles.raw_captures import (
    COUNTER_LINE,
    get_fields,
    iter_message,
    read_content,
    read_names,
    read_raw,
)
from tests.analysis.profiles.sample_captures import get_sample, open_sample
from tests.analysis.profiles.trace_builder import open_chrome
from tests.analysis.profiles.xspace_builder import LineEvent, PlaneBuilder, make_tpu_space
from tracklight.analysis.profiles.captures import open_capture, parse_xplane
from tracklight.analysis.profiles.captures.chrome_trace import iter_chrome_trace
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.profile_data import AnalyzedTrace, ProfileData
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.timeline.details import (
    has_counters,
    list_counters,
    sample_counter,
)
from tracklight.analysis.profiles.trace import Trace

US = 1_000_000


def list_values(trace: Trace) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return times in microseconds and values by process and name."""
    return {
        (each.process, each.name): [
            *zip((each.times_ps / US).tolist(), each.values.tolist(), strict=True)
        ]
        for each in trace.counters
    }


def make_counter(name: str, ts: Any, args: Any, **fields: Any) -> dict[str, Any]:
    return {"ph": "C", "name": name, "ts": ts, "args": args, **fields}


#: As nvidia-smi samplers, Chromium and Perfetto's converters write them.
CHROME = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "trainer"}},
    {"name": "train_step", "ts": 1000, "dur": 400},
    make_counter("GPU power", 1100, {"W": 250.5}),
    make_counter("GPU power", 1000, {"W": 90}),
    make_counter("memory", 1200, {"used": 3, "free": "5"}),
    {"name": "train_step", "ts": 1400, "dur": 400},
    make_counter("memory", 1500, {"used": 6, "free": 2}),
    make_counter("queue", 1300, {"value": 1}, id="0x1", pid=2),
    make_counter("queue", 1300, {"value": 2}, id="0x2", pid=2),
]


def test_chrome_counters_have_a_series_per_argument(tmp_path: Path) -> None:
    trace = open_chrome(tmp_path / "trace.json", CHROME)
    assert len(trace) == 2 and trace.problems == ()
    assert list_values(trace) == {
        ("trainer", "GPU power"): [(0, 90), (100, 250.5)],
        ("trainer", "memory: used"): [(200, 3), (500, 6)],
        ("trainer", "memory: free"): [(200, 5), (500, 2)],
        ("2", "queue [0x1]"): [(300, 1)],
        ("2", "queue [0x2]"): [(300, 2)],
    }


@pytest.mark.parametrize("args", [None, [1], "4", {}, {"v": None}, {"v": "x"}, {"v": True}])
def test_values_that_are_no_numbers_are_left_out(tmp_path: Path, args: Any) -> None:
    events = [CHROME[1], make_counter("c", 1000, args), make_counter("c", "soon", {"v": 1})]
    trace = open_chrome(tmp_path / "trace.json", events)
    assert (len(trace), trace.counters) == (1, ())
    assert not has_counters(trace)


def test_counters_of_a_large_compressed_file(tmp_path: Path) -> None:
    """Counters are between the events of all chunks, and the file is cut off at its end."""
    events = []
    for number in range(30_000):
        events.append({"ph": "X", "pid": 1, "tid": 1, "name": "op", "ts": number, "dur": 0.5})
        events.append({"pid": 1, **make_counter("load", number, {"percent": number % 100})})
    text = json.dumps({"traceEvents": events})
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text.encode(), 1))
    (counter,) = open_capture(path).counters
    assert counter.times_ps.tolist() == [US * number for number in range(30_000)]
    assert counter.values.tolist() == [number % 100 for number in range(30_000)]
    path.write_bytes(gzip.compress(text[: len(text) // 2].encode(), 1))
    partial = open_capture(path)
    assert partial.is_partial
    assert len(partial.counters[0].values) == pytest.approx(15_000, abs=100)


def test_far_times_and_files_of_counters_alone(tmp_path: Path) -> None:
    events = [CHROME[1], make_counter("c", 1e18, {"v": 1}), make_counter("c", 1300, {"v": 2})]
    assert list_values(open_chrome(tmp_path / "far.json", events)) == {("1", "c"): [(300, 2)]}
    alone = open_chrome(tmp_path / "alone.json", [make_counter("c", 5, {"v": 1.5})])
    assert list_values(alone) == {("1", "c"): [(0, 1.5)]}
    assert ProfileData("", "", "", AnalyzedTrace(alone)).counters.to_records()[0]["mean"] == 1.5


def make_gpu_space() -> bytes:
    """Encode a GPU whose performance counters were sampled, as XLA's profiler writes it."""
    plane = PlaneBuilder("/device:GPU:0", {})
    plane.add_line(7, "Stream #7(Compute)", [LineEvent("gemm", 100, 900)])
    samples = [(100.0, 12.5), (300.0, 80.0), (500.0, float("nan")), (700.0, 42.0)]
    plane.add_line(
        1,
        "_counters_",
        [
            LineEvent(name, time, time, {name: factor * value})
            for time, value in samples
            for name, factor in (("SM Active %", 1.0), ("DRAM read bytes", 1e6))
        ],
    )
    return plane.build()


def test_sampled_performance_counters_of_a_gpu() -> None:
    trace = parse_xplane(make_gpu_space())
    assert [track.name for track in trace.tracks] == ["Stream #7(Compute)"]
    assert list_values(trace) == {
        ("/device:GPU:0", "SM Active %"): [(100, 12.5), (300, 80), (700, 42)],
        ("/device:GPU:0", "DRAM read bytes"): [(100, 12.5e6), (300, 80e6), (700, 42e6)],
    }
    summary = summarize(trace)
    assert (summary.events, summary.devices[0].total_ms) == (1, pytest.approx(0.8))


def read_raw_counters(data: bytes) -> dict[str, list[tuple[int, float]]]:
    """Return times in ps and values by name, decoded without the code under test."""
    rows: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for number, plane_bytes in iter_message(data):
        plane = get_fields(plane_bytes) if number == 1 else {3: []}
        for line in map(get_fields, plane[3]):
            if line[2] == [COUNTER_LINE]:
                names = read_names(plane[4])
                for event in map(get_fields, line[4]):
                    (value,) = get_fields(event[4][0])[2]
                    rows[names[event[1][0]]].append((1000 * line[3][0] + event[2][0], value))
    return rows


def test_counters_of_an_h200() -> None:
    """A real capture: cycles and memory traffic every 100 µs, while nine steps ran."""
    trace = open_sample("jax_counters")
    raw = read_raw_counters(read_content(get_sample("jax_counters")))
    assert (
        {each.name for each in trace.counters}
        == raw.keys()
        == {
            "sm__cycles_active.avg",
            "dram__bytes_read.sum",
        }
    )
    # Times of a trace are relative to its start, which all lines of the file share.
    first = min(event.start_ps for event in read_raw(get_sample("jax_counters")))
    base = first - int(trace.start_ps.min())
    for counter in trace.counters:
        assert counter.process == "/device:GPU:0"
        rows = sorted((time - base, value) for time, value in raw[counter.name])
        assert [*zip(counter.times_ps.tolist(), counter.values.tolist(), strict=True)] == rows
    # The multiprocessors are active where kernels ran, and only there.
    cycles = next(each for each in trace.counters if each.name.startswith("sm__"))
    work = np.flatnonzero(trace.is_device_work)
    first_work, last_work = trace.start_ps[work].min(), trace.end_ps[work].max()
    is_near = (cycles.times_ps >= first_work - 200 * US) & (cycles.times_ps <= last_work)
    assert cycles.values[is_near].any() and not cycles.values[~is_near].any()


def test_counters_of_a_tpu_have_a_series_per_stat() -> None:
    counters = PlaneBuilder("/device:TPU:0", {})
    events = [
        LineEvent("HBM", at, at, {"read": 3 * at, "write": at, "unit": "bytes"})
        for at in (2000, 1000)
    ]
    counters.add_line(9, "_counters_", events)
    trace = parse_xplane(make_tpu_space() + counters.build())
    assert list_values(trace) == {
        ("/device:TPU:0", "HBM: read"): [(1000, 3000), (2000, 6000)],
        ("/device:TPU:0", "HBM: write"): [(1000, 1000), (2000, 2000)],
    }
    (device,) = summarize(trace).devices
    assert (device.busy_ms, device.idle_ms) == (6, 4)


def test_track_begins_with_the_first_value(tmp_path: Path) -> None:
    trace = open_chrome(tmp_path / "trace.json", CHROME)
    counters = {each.name: each for each in list_counters(trace, detect_steps(trace))}
    used = sample_counter(counters["memory: used"], 0, 1000 * US, 100)
    assert (used.kind, used.process, used.peak, used.low) == ("recorded", "trainer", 6, 0)
    assert used.times.tolist() == [200 * US, 500 * US] and used.values.tolist() == [3, 6]
    later = sample_counter(counters["memory: used"], 300 * US, 400 * US, 100)
    assert (later.times.tolist(), later.values.tolist()) == ([300 * US], [3])
    negative = counters["memory: used"]._replace(values=np.array([-3.0, -1.0]))
    assert sample_counter(negative, 0, 1000 * US, 1).values.tolist() == [-1]
    assert sample_counter(negative, 0, 1000 * US, 1).low == -3


def test_tables_and_queries(tmp_path: Path) -> None:
    data = ProfileData("", "", "", AnalyzedTrace(open_chrome(tmp_path / "trace.json", CHROME)))
    rows = data.counters.to_records()
    power = next(row for row in rows if row["name"] == "GPU power")
    # 90 W for 100 of 800 microseconds.
    assert power == {
        "counter": power["counter"], "kind": "recorded", "process": "trainer", "name": "GPU power",
        "count": 2, "min": 90, "mean": pytest.approx((100 * 90 + 700 * 250.5) / 800),
        "max": 250.5, "last": 250.5,
    }  # fmt: skip
    values = [row for row in data.counter_values.to_records() if row["name"] == "GPU power"]
    assert [(row["time_ms"], row["value"]) for row in values] == [(0, 90), (0.1, 250.5)]
    pytest.importorskip("duckdb")
    result = data.query(
        "SELECT process, name, max(value) AS value FROM counters JOIN counter_values "
        "USING (counter, name) WHERE kind = 'recorded' GROUP BY ALL ORDER BY value DESC LIMIT 1"
    )
    assert result.to_records() == [{"process": "trainer", "name": "GPU power", "value": 250.5}]


def test_capture_without_counters_has_empty_tables(tmp_path: Path) -> None:
    data = ProfileData("", "", "", AnalyzedTrace(open_chrome(tmp_path / "t.json", CHROME[1:2])))
    assert (len(data.counters), len(data.counter_values)) == (0, 0)
    pytest.importorskip("duckdb")
    assert data.query("SELECT count(*) AS n FROM counter_values")["n"].tolist() == [0]


def test_export_keeps_counters(tmp_path: Path) -> None:
    trace = parse_xplane(make_gpu_space())
    path = tmp_path / "export.json.gz"
    path.write_bytes(b"".join(iter_chrome_trace(trace)))
    # The export begins with the first event, at 100 microseconds.
    assert list_values(open_capture(path)) == {
        key: [(time - 100, value) for time, value in rows]
        for key, rows in list_values(trace).items()
    }
