"""Captures under other names and places, and the time at which they were recorded."""

from __future__ import annotations

import gzip
import json
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import ProfileClient, put_xplane

TORCH = DATA / "torch_f32.pt.trace.json.gz"


@pytest.mark.parametrize(
    "name", ["trace.json", "my_trace.json.gz", "trace_3.json", "Kineto.json", "step5.xplane.pb"]
)
def test_finds_captures_by_common_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).write_bytes(make_content(name))
    client = ProfileClient(tmp_path)
    assert [row.run for row in client.rows()] == ["run"]
    assert client.get("overview", "run").steps.count == 4
    client.close()


@pytest.mark.parametrize("name", ["a.json.gz", "a.json", "a.xplane.pb", "a.pt.trace.json.gz"])
def test_opens_a_single_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(make_content(name))
    (tmp_path / "other.json").write_text("{}")
    client = ProfileClient(path)
    (row,) = client.rows()
    assert client.get("overview", row.run).steps.count == 4
    client.close()


def make_content(name: str) -> bytes:
    if name.endswith(".pb"):
        return (DATA / "jax_f32.xplane.pb").read_bytes()
    content = TORCH.read_bytes()
    return content if name.endswith(".gz") else gzip.decompress(content)


def test_other_json_files_are_no_captures(tmp_path: Path) -> None:
    for name in ("config.json", "data.json.gz", "backtrace.json", "hparams.json"):
        (tmp_path / name).write_bytes(b"{}")
    client = ProfileClient(tmp_path)
    assert client.rows() == []
    client.close()


def test_time_of_an_xplane_is_that_of_the_profiler(tmp_path: Path) -> None:
    """The file was copied years later, and its session folder has another name."""
    path = put_xplane(tmp_path, "run", read_bytes("jax_tf"), session="best")
    os.utime(path, (2e9, 2e9))
    client = ProfileClient(tmp_path)
    (row,) = client.rows()
    recorded = datetime.fromtimestamp(row.wall_s, timezone.utc)
    assert (recorded.year, recorded.month, recorded.day) == (2026, 11, 17)
    client.close()


def test_time_of_a_kineto_trace_is_that_of_its_events(tmp_path: Path) -> None:
    (tmp_path / "trace.json.gz").write_bytes(TORCH.read_bytes())
    os.utime(tmp_path / "trace.json.gz", (2e9, 2e9))
    document = json.loads(gzip.decompress(TORCH.read_bytes()))
    first_us = min(event["ts"] for event in document["traceEvents"] if event["ph"] == "X")
    expected_s = document["baseTimeNanoseconds"] / 1e9 + first_us / 1e6
    client = ProfileClient(tmp_path)
    (row,) = client.rows()
    assert row.wall_s == pytest.approx(expected_s, abs=1)
    client.close()
