from __future__ import annotations

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
