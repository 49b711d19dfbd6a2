from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.logdir.test_discover import add, discover_runs
from tracklight.logdir.discover import is_capture

SESSION = "plugins/profile/2026_11_15_00_37_55"


def test_directory_with_only_a_profile_is_a_run(tmp_path: Path) -> None:
    add(tmp_path / "keras" / "train" / SESSION, "host.with.dots.xplane.pb")
    add(tmp_path / "torch", "gpu.node_31.1790000000000000000.pt.trace.json.gz")
    add(tmp_path / "jax", "memory.prof")
    add(tmp_path / "elsewhere", "host.xplane.pb")
    found = discover_runs(tmp_path)
    assert found.runs == ["elsewhere", "jax", "keras/train", "torch"]
    assert found.files == []
    assert [(it.run, it.session, it.host, it.kind) for it in found.captures] == [
        ("elsewhere", "host", "host", "xplane"),
        ("jax", "memory.prof", "", "pprof"),
        ("keras/train", "2026_11_15_00_37_55", "host.with.dots", "xplane"),
        ("torch", "1790000000000000000", "gpu.node_31", "chrome"),
    ]


def test_skips_duplicate_trace_of_jax(tmp_path: Path) -> None:
    add(tmp_path / SESSION, "a.xplane.pb")
    add(tmp_path / SESSION, "a.trace.json.gz")
    add(tmp_path / "plugins/profile/ours", "a.trace.json.gz")
    found = discover_runs(tmp_path)
    assert found.runs == ["."]
    assert [(it.session, it.kind) for it in found.captures] == [
        ("2026_11_15_00_37_55", "xplane"),
        ("ours", "chrome"),
    ]


def test_skips_captures_of_excluded_runs(tmp_path: Path) -> None:
    add(tmp_path / "a" / SESSION, "host.xplane.pb")
    add(tmp_path / "b" / SESSION, "host.xplane.pb")
    assert [it.run for it in discover_runs(tmp_path, "b").captures] == ["b"]


@pytest.mark.parametrize("name", ["stats.prof", "model.pb", "data.json", "profile.txt"])
def test_ignores_other_files(name: str) -> None:
    assert not is_capture(name)


EVENTS = [{"ph": "X", "name": f"op{number}", "ts": number, "dur": 1} for number in range(40)]


@pytest.mark.parametrize(
    "content",
    [
        {"traceEvents": EVENTS},
        {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "H200"}],
            "traceEvents": EVENTS,
        },
        EVENTS,
    ],
)
def test_finds_traces_under_any_name(tmp_path: Path, content: object) -> None:
    data = json.dumps(content, indent=1).encode()
    add(tmp_path / "a", "step_100.json", data)
    add(tmp_path / "b", "rank0.json.gz", gzip.compress(data))
    found = discover_runs(tmp_path)
    assert [(it.run, it.session, it.kind) for it in found.captures] == [
        ("a", "step_100", "chrome"),
        ("b", "rank0", "chrome"),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b'{"text": "the key \\"traceEvents\\": [", "rows": [' + b"1, " * 300 + b"2]}",
        json.dumps([{"id": number, "phrase": "x"} for number in range(100)]).encode(),
        json.dumps({"trace": {"events": [1] * 300}}).encode(),
        b"\x1f\x8b" + b"\x00" * 1000,
        b"[" * 1000,
    ],
)
@pytest.mark.parametrize("name", ["data.json", "data.json.gz"])
def test_other_json_files_are_no_captures(tmp_path: Path, name: str, content: bytes) -> None:
    add(tmp_path, name, content)
    assert discover_runs(tmp_path).captures == []


def test_settings_files_are_no_captures(tmp_path: Path) -> None:
    add(tmp_path, "config.json", json.dumps({"traceEvents": EVENTS}).encode())
    assert discover_runs(tmp_path).captures == []
