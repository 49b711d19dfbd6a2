from __future__ import annotations

import pytest

from tests.server.memory_source import MemorySource
from tracklight.server import changelog as recent_module
from tracklight.server.changelog import TagTracker
from tracklight.types import Delta


@pytest.fixture
def recent(source: MemorySource) -> TagTracker:
    """One that has seen the runs come at version 1."""
    recent = TagTracker(source)
    recent.record(source.refresh())
    return recent


def tags(recent: TagTracker, version: int, *runs: str) -> list[tuple[str, str]]:
    news = recent.get_changes(version, Delta(99, (), (), runs))
    return [(new.run, new.tag) for new in news.tags]


def test_all_of_a_run_that_came_is_new(recent: TagTracker) -> None:
    news = recent.get_changes(0, Delta(1, ("conv", "vit"), (), ()))
    assert [(new.run, new.tag, new.kind) for new in news.tags] == [
        ("conv", "loss", "scalar"),
        ("conv", "acc", "scalar"),
        ("vit", "loss", "scalar"),
    ]
    assert news.points["conv"] == {"loss": (2, 12.0, "NaN", 3), "acc": (0, 10.0, 0.5, 1)}
    assert not news.tags_more and not news.points_more


def test_only_what_grew_has_a_last_point(recent: TagTracker, source: MemorySource) -> None:
    source.logged["conv"]["loss"].append(1.5)
    recent.record(source.refresh())
    news = recent.get_changes(1, Delta(2, (), (), ("conv",)))
    assert news.points == {"conv": {"loss": (3, 13.0, 1.5, 4)}}
    assert news.tags == []


def test_a_tag_is_new_for_who_has_not_seen_it(recent: TagTracker, source: MemorySource) -> None:
    source.logged["conv"]["lr"] = [0.1]
    recent.record(source.refresh())
    source.logged["conv"]["lr"].append(0.2)
    recent.record(source.refresh())
    assert tags(recent, 1, "conv") == [("conv", "lr")]
    assert tags(recent, 2, "conv") == []


def test_of_too_many_it_is_said_that_there_are_more(
    source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_module, "MAX_POINTS", 2)
    recent = TagTracker(source)
    recent.record(source.refresh())
    news = recent.get_changes(0, Delta(1, ("conv", "vit"), (), ()))
    assert news.tags_more and news.points_more


def test_a_run_with_very_many_tags_is_listed_once_only(
    source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_module, "MAX_POINTS", 1)
    recent = TagTracker(source)
    recent.record(source.refresh())
    listed: list[str] = []
    monkeypatch.setattr(source, "tags", lambda run: listed.append(run) or ())
    recent.record(Delta(2, (), (), ("conv", "vit")))
    assert listed == ["vit"]
    assert recent.get_changes(1, Delta(2, (), (), ("conv",))).tags_more
    recent.record(Delta(3, (), ("conv",), ()))
    recent.record(Delta(4, ("conv",), (), ()))
    assert listed == ["vit", "conv"]


def test_what_was_forgotten_is_told_whole(
    recent: TagTracker, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_module, "_MAX_TRACKED_TAGS", 1)
    source.logged["vit"]["loss"].append(1.0)
    recent.record(source.refresh())
    news = recent.get_changes(1, Delta(2, (), (), ("vit", "conv")))
    assert news.tags_more and news.points_more  # conv is not remembered
    source.logged["conv"]["acc"].append(1.0)
    recent.record(source.refresh())
    assert recent.get_changes(0, Delta(3, (), (), ("conv",))).tags_more
