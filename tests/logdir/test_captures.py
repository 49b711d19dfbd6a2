from __future__ import annotations

from pathlib import Path

import pytest

from tests.logdir.test_discover import add, look
from tracklight.logdir.discover import is_capture

SESSION = "plugins/profile/2026_11_15_00_37_55"


def test_a_run_with_nothing_but_a_profile_is_a_run(tmp_path: Path) -> None:
    add(tmp_path / "keras" / "train" / SESSION, "host.with.dots.xplane.pb")
    add(tmp_path / "torch", "gpu.node_31.1790000000000000000.pt.trace.json.gz")
    add(tmp_path / "jax", "memory.prof")
    add(tmp_path / "elsewhere", "host.xplane.pb")
    found = look(tmp_path)
    assert found.runs == ["jax", "keras/train", "torch"]
    assert found.files == []
    assert [(it.run, it.session, it.host, it.kind) for it in found.captures] == [
        ("jax", "memory.prof", "", "pprof"),
        ("keras/train", "2026_11_15_00_37_55", "host.with.dots", "xplane"),
        ("torch", "1790000000000000000", "gpu.node_31", "chrome"),
    ]


def test_what_jax_writes_a_second_time_for_other_viewers_is_left_out(tmp_path: Path) -> None:
    add(tmp_path / SESSION, "a.xplane.pb")
    add(tmp_path / SESSION, "a.trace.json.gz")
    add(tmp_path / "plugins/profile/ours", "a.trace.json.gz")
    found = look(tmp_path)
    assert found.runs == ["."]
    assert [(it.session, it.kind) for it in found.captures] == [
        ("2026_11_15_00_37_55", "xplane"),
        ("ours", "chrome"),
    ]


def test_profiles_of_runs_that_are_not_wanted_are_not_found(tmp_path: Path) -> None:
    add(tmp_path / "a" / SESSION, "host.xplane.pb")
    add(tmp_path / "b" / SESSION, "host.xplane.pb")
    assert [it.run for it in look(tmp_path, "b").captures] == ["b"]


@pytest.mark.parametrize("name", ["stats.prof", "model.pb", "trace.json", "profile.txt"])
def test_files_of_other_programs_are_none(name: str) -> None:
    assert not is_capture(name)
