"""Listing of captures: grouping, time and step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.dashboards.profile.client import SESSION, ProfileClient, put_xplane
from tests.index import logs
from tracklight.analysis.profiles.captures import get_capture_time_s, iter_capture_groups
from tracklight.types import CaptureFile


def trace(host: str, ns: int, run: str = "torch") -> CaptureFile:
    path = f"/logs/{run}/{host}.{ns}.pt.trace.json"
    return CaptureFile(run, str(ns), host, "chrome", path, 10, 0.0, f"{ns}")


def test_groups_workers_that_recorded_together(client: ProfileClient) -> None:
    row = client.row("torch")
    assert [host.name for host in row.hosts] == ["a_1", "b_1"]
    assert row.bytes == sum(host.bytes for host in row.hosts)
    assert row.wall_s == 1_794_790_000


def test_separates_captures_of_one_worker() -> None:
    second = 1_000_000_000
    start = 1_794_790_000 * second
    files = [trace("a", start), trace("b", start + second), trace("a", start + 9 * second)]
    grouped = dict(
        iter_capture_groups([*files, trace("b", start + 10 * second), trace("a", start, "r2")])
    )
    assert [[file.host for file in group] for group in grouped.values()] == [
        ["a", "b"],
        ["a", "b"],
        ["a"],
    ]
    # The id of a capture does not change when the file of another worker arrives.
    assert next(iter(dict(iter_capture_groups(files[:1])))) == next(iter(grouped))


def test_lists_captures_by_run_and_time(client: ProfileClient) -> None:
    rows = [(row.run, row.kind, row.title) for row in client.rows()]
    taken = "2026-11-15 00:37:55"
    assert [row[:2] for row in rows] == [
        ("broken", "xplane"),
        ("keras/fast", "xplane"),
        ("keras/slow", "xplane"),
        ("torch", "chrome"),
    ]
    assert {row[2] for row in rows[:3]} == {taken}


@pytest.mark.parametrize(
    ("hours", "delay_s", "source"),
    [(0, 5, "file"), (9, 5, "file"), (-5.5, 5, "file"), (0, 500, "name"), (400, 5, "name")],
)
def test_modification_time_corrects_time_zone_of_session(
    hours: float, delay_s: float, source: str
) -> None:
    file = CaptureFile("r", SESSION, "vm", "xplane", "p", 1, 0.0, "")
    named_s = get_capture_time_s(file)
    written_s = named_s + hours * 3600 + delay_s
    at = CaptureFile("r", SESSION, "vm", "xplane", "p", 1, written_s, "")
    assert get_capture_time_s(at) == (written_s if source == "file" else named_s)


def test_capture_has_last_logged_step(tmp_path: Path) -> None:
    logs.write(tmp_path, "run", logs.points(range(0, 50, 10), since=1_700_000_000))
    path = put_xplane(tmp_path, "run", b"", session="mine")
    os.utime(path, (1_700_000_002.5, 1_700_000_002.5))
    early = put_xplane(tmp_path, "run", b"", session="early")
    os.utime(early, (1_600_000_000, 1_600_000_000))
    client = ProfileClient(tmp_path)
    assert [(row.title, row.step) for row in client.rows()] == [("early", None), ("mine", 20)]
    client.close()


def test_new_capture_changes_its_run(tmp_path: Path) -> None:
    logs.write(tmp_path, "run", logs.points(range(3)))
    client = ProfileClient(tmp_path)
    assert client.rows() == []
    path = put_xplane(tmp_path, "run", b"\x00")
    put_xplane(tmp_path, "other", b"\x00")
    delta = client.catalog.refresh()
    assert (delta.added, delta.changed) == (("other",), ("run",))
    mark = client.row("run").version
    path.write_bytes(b"\x00\x00")
    assert client.catalog.refresh().changed == ("run",)
    assert client.row("run").version != mark
    path.unlink()
    assert client.catalog.refresh().changed == ("run",)
    assert [row.run for row in client.rows()] == ["other"]
    client.close()
