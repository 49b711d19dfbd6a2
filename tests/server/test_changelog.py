from __future__ import annotations

import pytest

from tests.server.memory_source import MemorySource
from tracklight.server import source as server_source
from tracklight.server.source import TagTracker
from tracklight.types import Delta


@pytest.fixture
def tracker(source: MemorySource) -> TagTracker:
    """A tracker that has recorded the runs at version 1."""
    tracker = TagTracker(source)
    tracker.record(source.refresh())
    return tracker


def tags(tracker: TagTracker, version: int, *runs: str) -> list[tuple[str, str]]:
    changes = tracker.get_changes(version, Delta(99, (), (), runs))
    return [(new.run, new.tag) for new in changes.tags]


def test_all_tags_of_a_new_run_are_new(tracker: TagTracker) -> None:
    changes = tracker.get_changes(0, Delta(1, ("conv", "vit"), (), ()))
    assert [(new.run, new.tag, new.kind) for new in changes.tags] == [
        ("conv", "loss", "scalar"),
        ("conv", "acc", "scalar"),
        ("vit", "loss", "scalar"),
    ]
    assert changes.points["conv"] == {"loss": (2, 12.0, "NaN", 3), "acc": (0, 10.0, 0.5, 1)}
    assert not changes.tags_truncated and not changes.points_truncated


def test_only_grown_scalars_have_last_points(tracker: TagTracker, source: MemorySource) -> None:
    source.logged["conv"]["loss"].append(1.5)
    tracker.record(source.refresh())
    changes = tracker.get_changes(1, Delta(2, (), (), ("conv",)))
    assert changes.points == {"conv": {"loss": (3, 13.0, 1.5, 4)}}
    assert changes.tags == []


def test_tag_is_new_until_its_version(tracker: TagTracker, source: MemorySource) -> None:
    source.logged["conv"]["lr"] = [0.1]
    tracker.record(source.refresh())
    source.logged["conv"]["lr"].append(0.2)
    tracker.record(source.refresh())
    assert tags(tracker, 1, "conv") == [("conv", "lr")]
    assert tags(tracker, 2, "conv") == []


def test_too_many_changes_are_truncated(
    source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_source, "MAX_POINTS", 2)
    tracker = TagTracker(source)
    tracker.record(source.refresh())
    changes = tracker.get_changes(0, Delta(1, ("conv", "vit"), (), ()))
    assert changes.tags_truncated and changes.points_truncated


def test_tags_of_large_runs_are_listed_once(
    source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_source, "MAX_POINTS", 1)
    tracker = TagTracker(source)
    tracker.record(source.refresh())
    listed: list[str] = []
    monkeypatch.setattr(source, "tags", lambda run: listed.append(run) or ())
    tracker.record(Delta(2, (), (), ("conv", "vit")))
    assert listed == ["vit"]
    assert tracker.get_changes(1, Delta(2, (), (), ("conv",))).tags_truncated
    tracker.record(Delta(3, (), ("conv",), ()))
    tracker.record(Delta(4, ("conv",), (), ()))
    assert listed == ["vit", "conv"]


def test_evicted_runs_are_truncated(
    tracker: TagTracker, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_source, "_MAX_TRACKED_TAGS", 1)
    source.logged["vit"]["loss"].append(1.0)
    tracker.record(source.refresh())
    changes = tracker.get_changes(1, Delta(2, (), (), ("vit", "conv")))
    assert changes.tags_truncated and changes.points_truncated  # conv was evicted
    source.logged["conv"]["acc"].append(1.0)
    tracker.record(source.refresh())
    assert tracker.get_changes(0, Delta(3, (), (), ("conv",))).tags_truncated
