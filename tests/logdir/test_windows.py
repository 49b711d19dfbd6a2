"""Behavior on Windows, as far as it can be simulated elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.index import logs
from tracklight.logdir.access import Root, parse_roots
from tracklight.logdir.discover import discover
from tracklight.logdir.filesystem import LocalFileSystem
from tracklight.logdir.watch import PollIntervals, Watcher


def test_recognizes_root_file_for_any_listing_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.write(tmp_path, "conv", logs.points([1]))
    file = tmp_path / "conv" / "events.out.tfevents.1"

    def fail(path: str) -> None:
        raise OSError(22, "Invalid name", path)

    monkeypatch.setattr(os, "scandir", fail)
    found = discover(Root("", str(file)), LocalFileSystem())
    assert (found.runs, found.problems) == (["."], [])


def test_polls_because_growth_is_not_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Root("", str(tmp_path))
    for name, is_asked_again in {"posix": False, "nt": True}.items():
        with Watcher([root], PollIntervals(local_s=60.0, network_s=0.01)) as watcher:
            assert watcher.wait().roots == {root}
            monkeypatch.setattr("tracklight.logdir.watch.os.name", name)
            assert bool(watcher.wait(60 if is_asked_again else 0.5).roots) is is_asked_again
            monkeypatch.undo()


def test_drive_letter_is_not_a_name() -> None:
    (root,) = parse_roots(r"E:\tf20\keras_log")
    assert root.name == "" and root.path.endswith(r"E:\tf20\keras_log")
    one, other = parse_roots(r"base:E:\tf20\keras_log,D:\new")
    assert (one.name, other.name) == ("base", "new")
