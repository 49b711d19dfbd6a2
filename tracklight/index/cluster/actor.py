"""The process of a shard: a `Shard` behind the methods that `RemoteShard` calls.

Every method returns an `Outcome`. An exception that a method raises would reach the server wrapped
by Ray; in an outcome it arrives as it was raised, and any error of Ray means that the actor itself
failed.
"""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracklight import __version__
from tracklight.errors import Message
from tracklight.index.cluster.shared_cache import create_cache
from tracklight.index.shard import Shard
from tracklight.logdir.discover import DiscoveredFile
from tracklight.logdir.stores.requests import METER, RequestCounts
from tracklight.types import Progress


@dataclass(frozen=True)
class ShardSettings:
    """What a shard is created with."""

    roots: tuple[str, ...]
    cache: bool | Path
    cache_bytes: int
    memory_bytes: int
    shared_cache: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The result of a method, or the exception that it raised."""

    value: Any = None
    error: Exception | None = None

    def get(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True)
class ActorState:
    """What `ShardActor.describe` returns."""

    instance: str
    """Differs for every process: a restarted actor has none of the runs of the one before."""
    version: str
    pid: int
    node: str


@dataclass(frozen=True)
class RefreshResult:
    """The runs that a refresh changed, and the state of the shard after it."""

    instance: str
    changed: set[str]
    problems: tuple[Message, ...]
    progress: Progress
    requests: RequestCounts
    """The requests to object stores since the process started."""


class StaleInstanceError(Exception):
    """The caller knows another process of this actor, which has ended."""


class ShardActor:
    """A shard in a process of its own; created with ``ray.remote``.

    Queries, refreshes and control methods run in separate threads (concurrency groups), so that a
    query does not wait for a refresh.
    """

    def __init__(self, settings: ShardSettings) -> None:
        self._instance = secrets.token_hex(8)
        cache = create_cache(
            settings.roots, settings.cache, settings.cache_bytes, settings.shared_cache
        )
        self._shard = Shard(cache, settings.memory_bytes)
        self._files: dict[str, Sequence[DiscoveredFile]] = {}

    def describe(self) -> ActorState:
        """Return which process this is; runs in the threads of queries, to notice if they hang."""
        return ActorState(self._instance, __version__, os.getpid(), platform.node())

    def progress(self) -> Progress:
        return self._shard.progress

    def refresh(
        self,
        instance: str,
        updated: Mapping[str, Sequence[DiscoveredFile]],
        removed: Sequence[str],
    ) -> Outcome:
        """Add, replace and remove runs, and read what is new in all runs of the shard."""

        def read() -> set[str]:
            for run in removed:
                self._files.pop(run, None)
            self._files.update(updated)
            return self._shard.refresh(self._files)

        return self._run(instance, lambda: self._make_result(read()))

    def read_new(self, instance: str, files: Sequence[DiscoveredFile]) -> Outcome:
        return self._run(instance, lambda: self._make_result(self._shard.read_new(files)))

    def query(self, instance: str, method: str, args: Sequence[Any]) -> Outcome:
        """Call a method of the shard."""
        return self._run(instance, lambda: getattr(self._shard, method)(*args))

    def close(self) -> None:
        self._shard.close()

    def _make_result(self, changed: set[str]) -> RefreshResult:
        shard = self._shard
        return RefreshResult(
            self._instance, changed, shard.problems, shard.progress, METER.get_own()
        )

    def _run(self, instance: str, function: Callable[[], Any]) -> Outcome:
        if instance != self._instance:
            return Outcome(error=StaleInstanceError())
        try:
            return Outcome(function())
        except Exception as error:
            return Outcome(error=error)


#: Threads of an actor by concurrency group.
CONCURRENCY_GROUPS = {"refresh": 1, "query": 8, "control": 1}

#: The concurrency group of each method.
METHOD_GROUPS = {
    "describe": "query",
    "query": "query",
    "refresh": "refresh",
    "read_new": "refresh",
    "progress": "control",
    "close": "control",
}
