"""Several servers share the process of a shard."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import builders as b
from tests.index import logs
from tracklight.index.cluster import (
    RefreshResult,
    ShardActor,
    ShardSettings,
    StaleInstanceError,
    merge_files,
)
from tracklight.logdir.access import Root, open_filesystem
from tracklight.logdir.discover import DiscoveredFile, discover
from tracklight.logdir.filesystem import FileStat

SETTINGS = ShardSettings(("logs",), False, 1 << 20, 1 << 20)


def list_runs(logdir: Path) -> dict[str, list[DiscoveredFile]]:
    fs, path = open_filesystem(str(logdir))
    runs: dict[str, list[DiscoveredFile]] = {}
    for file in discover(Root("", path), fs).files:
        runs.setdefault(file.run, []).append(file)
    return runs


@pytest.fixture
def actor() -> Iterator[ShardActor]:
    actor = ShardActor(SETTINGS)
    yield actor
    actor.close("")


def refresh(
    actor: ShardActor, client: str, runs: dict[str, list[DiscoveredFile]], *removed: str
) -> set[str]:
    outcome = actor.refresh(actor.describe(client).instance, runs, removed)
    result: RefreshResult = outcome.get()
    return result.changed


def query_runs(actor: ShardActor, client: str) -> list[str]:
    names: tuple[str, ...] = actor.query(actor.describe(client).instance, "list_runs", ()).get()
    return sorted(names)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        logs.write(tmp_path / "logs", name, logs.points(range(3)))
    return tmp_path / "logs"


def test_has_the_runs_of_all_clients(actor: ShardActor, logdir: Path) -> None:
    runs = list_runs(logdir)
    assert actor.describe("one").instance != actor.describe("two").instance
    assert refresh(actor, "one", {"a": runs["a"]}) == {"a"}
    assert refresh(actor, "two", runs) == {"a", "b"}
    assert query_runs(actor, "one") == ["a", "b"]
    assert refresh(actor, "two", {}, "a", "b") == set()
    assert query_runs(actor, "one") == ["a"]


def test_every_client_learns_what_changed(actor: ShardActor, logdir: Path) -> None:
    for client in ("one", "two"):
        refresh(actor, client, list_runs(logdir))
        refresh(actor, client, {})
    refresh(actor, "one", {})
    logs.append(logdir / "a/events.out.tfevents.1", b.scalar("loss", 9, 1.0))
    runs = list_runs(logdir)
    assert refresh(actor, "one", runs) == {"a"}
    assert refresh(actor, "two", {}) == {"a"}
    assert refresh(actor, "two", runs) == set()
    # An older listing of another client does not make the file appear truncated.
    assert refresh(actor, "one", {}) == set()


def test_silent_client_is_forgotten(logdir: Path) -> None:
    actor = ShardActor(SETTINGS, client_timeout_s=0.0)
    instance = actor.describe("one").instance
    assert actor.describe("one").instance != instance
    with pytest.raises(StaleInstanceError):
        actor.query(instance, "list_runs", ()).get()
    actor.close("")


def test_ends_with_its_last_client(actor: ShardActor) -> None:
    one, two = (actor.describe(client).instance for client in ("one", "two"))
    assert not actor.close(one)
    with pytest.raises(StaleInstanceError):
        actor.query(one, "list_runs", ()).get()
    assert actor.query(two, "list_runs", ()).get() == ()
    assert actor.close(two)


def test_ends_when_all_clients_are_silent() -> None:
    ended = threading.Event()
    actor = ShardActor(SETTINGS, client_timeout_s=0.05, on_unused=ended.set)
    actor.describe("one")
    assert ended.wait(60)


def test_newer_state_of_a_file_counts() -> None:
    old, new, replaced = (
        DiscoveredFile("run", "path", FileStat(size, mtime_ns, ""))
        for size, mtime_ns in ((10, 1), (20, 1), (5, 2))
    )
    assert merge_files([{"run": [old]}, {"run": [new]}]) == {"run": [new]}
    assert merge_files([{"run": [new]}, {"run": [old]}]) == {"run": [new]}
    assert merge_files([{"run": [replaced]}, {"run": [new]}]) == {"run": [replaced]}
    other = old._replace(path="other")
    assert merge_files([{"run": [old]}, {"run": [other]}]) == {"run": [old, other]}
