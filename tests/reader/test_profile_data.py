"""``log.profile()`` and the tables of ``inspect --profile --json``, against raw events."""

from __future__ import annotations

import json
import lzma
import math
import pickle
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.analysis.profiles.raw_captures import is_work, measure_union, read_raw
from tests.analysis.profiles.sample_captures import DATA
from tracklight.analysis.profiles.profile_data import ProfileData
from tracklight.cli import main
from tracklight.errors import FormatError, LogError, RunNotFoundError, UsageError

TORCH, JAX = "torch_f32.pt.trace.json.gz", "jax_bf16.xplane.pb"
MS = 1e9


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "torch").mkdir()
    for worker in ("a", "b"):
        name = f"{worker}.1794790000000000000.pt.trace.json.gz"
        shutil.copyfile(DATA / TORCH, tmp_path / "torch" / name)
    for session in ("2026_11_15_00_00_00", "2026_11_16_00_00_00"):
        folder = tmp_path / "jax" / "plugins" / "profile" / session
        folder.mkdir(parents=True)
        shutil.copyfile(DATA / JAX, folder / "vm.xplane.pb")
    return tmp_path


def load(logs: Path, run: str, *args: Any, **kwargs: Any) -> ProfileData:
    with tracklight.open(logs) as log:
        return log.profile(run, *args, **kwargs)


def test_chooses_session_and_host(logs: Path) -> None:
    assert load(logs, "jax").session == "2026_11_16_00_00_00"
    assert load(logs, "jax", "2026_11_15_00_00_00").session == "2026_11_15_00_00_00"
    assert load(logs, "torch", host="b").host == "b"
    with tracklight.open(logs) as log:
        assert log["torch"].profile().host == "a"
    with pytest.raises(LogError, match=r"no capture \"x\". It has 1794790000000000000 \(a\)"):
        load(logs, "torch", "x")
    with pytest.raises(RunNotFoundError):
        load(logs, "tensorflow")


def test_kernels_are_those_of_the_file(logs: Path) -> None:
    table = load(logs, "torch").kernels
    raw = [event for event in read_raw(DATA / TORCH) if event.category == "kernel"]
    counts = Counter(event.name for event in raw)
    total = Counter[str]()
    for event in raw:
        total[event.name] += event.end_ps - event.start_ps
    rows = table.to_records()
    assert {name: sum(r["count"] for r in rows if r["name"] == name) for name in counts} == counts
    for name in counts:
        ms = sum(row["total_ms"] for row in rows if row["name"] == name)
        assert ms == pytest.approx(total[name] / MS, rel=1e-3)


def test_steps_and_devices_add_up(logs: Path) -> None:
    profile = load(logs, "torch")
    steps = profile.steps.to_records()
    raw = read_raw(DATA / TORCH)
    markers = sorted(
        (e.start_ps, e.name) for e in raw if e.name.startswith("ProfilerStep#") and not e.on_device
    )
    assert [row["name"].rpartition("#")[2] for row in steps] == [
        name.rpartition("#")[2] for _, name in markers
    ]
    for row in steps:
        parts = sum(
            row[key] for key in row if key.endswith("_ms") and key not in ("start_ms", "total_ms")
        )
        assert parts == pytest.approx(row["total_ms"])
    (device,) = profile.devices.to_records()
    work = [(e.start_ps, e.end_ps) for e in raw if is_work(e)]
    busy = measure_union(work, min(work)[0], max(end for _, end in work))
    assert device["total_ms"] == pytest.approx(busy / MS)
    averaged = [row["total_ms"] for row in steps if row["is_averaged"]]
    mean = sum(averaged) / len(averaged)
    assert device["busy_ms"] + device["idle_ms"] == pytest.approx(mean)
    assert profile.summary.steps.mean_ms == pytest.approx(mean)


def test_flops_and_bytes_follow_from_shapes(logs: Path) -> None:
    ops = {(row["name"], row["side"]): row for row in load(logs, "torch").ops.to_records()}
    row = ops["aten::mm (1024x512, 512x1024)", "device"]
    assert row["flops"] == 4 * 2 * 1024 * 512 * 1024
    assert row["bytes"] == 4 * 4 * (1024 * 512 + 512 * 1024 + 1024 * 1024)
    jax = {
        row["name"]: row for row in load(logs, "jax").ops.to_records() if row["side"] == "device"
    }
    assert jax["gemm_fusion_dot.1"]["flops"] > 1e9
    assert any(math.isnan(row["flops"]) for row in ops.values())


def test_events_are_all_events(logs: Path) -> None:
    profile = load(logs, "torch")
    raw = read_raw(DATA / TORCH)
    assert len(profile.events) == len(raw) == profile.summary.events
    assert Counter(profile.events["name"].tolist()) == Counter(event.name for event in raw)
    frame = profile.events.to_pandas()
    assert frame["duration_ms"].sum() == pytest.approx(sum(e.end_ps - e.start_ps for e in raw) / MS)


def test_operators_are_grouped(logs: Path) -> None:
    profile = load(logs, "torch")
    assert len(profile.operators("shape")) > len(profile.operators())
    with pytest.raises(UsageError, match='group_by="color" is not one of "name"'):
        profile.operators("color")  # type: ignore[arg-type]


def test_json_has_the_same_tables(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(logs), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["profiles"]
    torch = next(row for row in rows if row["host"] == "a")
    profile = load(logs, "torch")
    assert torch["steps"] == profile.steps.to_records()
    assert torch["devices"] == profile.devices.to_records()
    assert len(torch["operators"]) == len(profile.operators())
    unknown = next(row for row in torch["ops"] if row["flops"] is None)
    assert unknown["count"] > 0
    assert torch["summary"]["findings"] and torch["summary"]["problems"] == []
    use = profile.utilization
    assert use is not None and torch["utilization"]["flops_per_s"] == use.flops_per_s
    assert torch["utilization"]["peak_flops_per_s"] in (67e12, 495e12)
    jax = next(row for row in rows if row["run"] == "jax")
    (allocator,) = (row for row in jax["memory"] if row["is_device"])
    assert allocator["peak_bytes"] == pytest.approx(14.7e6, rel=0.01)
    assert {row["tensor_cores"] for row in jax["kernels"]} == {"yes", "no"}


def read_live_bytes(content: dict[str, Any]) -> list[int]:
    """Return the memory in use after each call of the first device of a snapshot.

    The recording began with an empty allocator.
    """
    live: dict[int, int] = {}
    totals = [0]
    for call in content["device_traces"][0]:
        if call["action"] == "alloc":
            live[call["addr"]] = call["size"]
        elif call["action"] == "free_completed":
            live.pop(call["addr"])
        totals.append(sum(live.values()))
    return totals


def test_memory_snapshot_has_its_peak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = lzma.decompress((DATA / "torch_memory_snapshot.pickle.xz").read_bytes())
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "memory_snapshot.pickle").write_bytes(data)
    profile = load(tmp_path, "torch")
    peak = max(read_live_bytes(pickle.loads(data)))
    (device,) = profile.memory.to_records()
    assert (device["allocator"], device["peak_bytes"]) == ("GPU 0", peak)
    assert device["reserved_bytes"] >= peak and device["peak_ms"] > 0
    assert math.isnan(device["capacity_bytes"])
    at_peak = profile.memory_at_peak.to_records()
    assert sum(row["bytes"] for row in at_peak) == peak
    assert {"weights", "gradients", "optimizer"} <= {row["category"] for row in at_peak}
    assert len(profile.steps) == len(profile.ops) == len(profile.counters) == 0
    assert "a memory snapshot" in repr(profile)

    assert main(["inspect", "--profile", "--logdir", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["profiles"]
    assert (row["session"], row["summary"], row["problem"]) == (
        "memory_snapshot.pickle",
        None,
        None,
    )
    assert row["memory"][0]["peak_bytes"] == peak and row["memory_at_peak"] == at_peak
    assert main(["inspect", "--profile", "--logdir", str(tmp_path)]) == 0
    assert f"GPU 0: at most {peak / 1e6:.0f} MB in use" in capsys.readouterr().out


def test_snapshot_beside_a_trace_is_taken_by_name(logs: Path) -> None:
    data = lzma.decompress((DATA / "torch_memory_snapshot.pickle.xz").read_bytes())
    (logs / "torch" / "memory_snapshot.pickle").write_bytes(data)
    assert load(logs, "torch").session == "1794790000000000000"
    assert len(load(logs, "torch", "memory_snapshot.pickle").memory) == 1
    (logs / "torch" / "memory_snapshot.pickle").write_bytes(b"cut")
    with pytest.raises(FormatError):
        load(logs, "torch", "memory_snapshot.pickle")


def test_memory_at_peak_of_a_trace_is_its_peak(logs: Path) -> None:
    profile = load(logs, "jax")
    for allocator in profile.memory.to_records():
        rows = [
            row
            for row in profile.memory_at_peak.to_records()
            if row["allocator"] == allocator["allocator"]
        ]
        assert sum(row["bytes"] for row in rows) == pytest.approx(allocator["peak_bytes"], rel=0.01)
    programs = profile.program_memory.to_records()
    assert programs and all(row["peak_bytes"] <= row["allocated_bytes"] for row in programs)


def test_counters_are_in_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "name": "step", "ts": 0, "dur": 100},
        {"ph": "C", "pid": 1, "name": "power", "ts": 0, "args": {"W": 100}},
        {"ph": "C", "pid": 1, "name": "power", "ts": 50, "args": {"W": 300}},
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    assert main(["inspect", "--profile", "--logdir", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["profiles"]
    assert row["counters"] == [
        {
            "counter": 0, "kind": "recorded", "process": "1", "name": "power", "count": 2,
            "min": 100, "mean": 200, "max": 300, "last": 300,
        }
    ]  # fmt: skip
