"""Shards of the index as Ray actors, on this machine or on a cluster.

May import `tracklight.index`, but not its `catalog`, which uses this package. Ray is an optional
dependency (extra ``ray``) and is imported when `--cluster` is given.

- `connection`: parses ``--cluster``, connects to Ray and starts the shards; start reading there.
- `remote_shard`: the side of the server. A `RemoteShard` has the methods of `Shard`; a
  `ShardMonitor` finds actors that died or hang and has the runs of a new one read again.

This module decides which shard has which run (`assign_runs`) and has the process of a shard
(`ShardActor`): a `Shard` behind the methods that `RemoteShard` calls. Every method returns an
`Outcome`. An exception that a method raises would reach the server wrapped by Ray; in an outcome it
arrives as it was raised, and any error of Ray means that the actor itself failed.

Several servers may use one actor. Each is a *client* with an identifier, its instance, which
differs for every process of the actor. A shard has the runs of all clients. A client that was not
heard from for a while is forgotten: when it returns, it gets another instance and sends its runs
again, as after a restart of the actor. An actor of a cluster ends when it has no clients.
"""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracklight import __version__
from tracklight.errors import Message
from tracklight.index.cache import create_cache
from tracklight.index.shard import Shard
from tracklight.logdir.discover import DiscoveredFile
from tracklight.logdir.object_store import METER, RequestCounts
from tracklight.types import Progress
from tracklight.util.memory import limit_memory_retention

#: Added to the size of each run, so that many small runs are spread as well.
_RUN_OVERHEAD_BYTES = 16 << 10

#: Runs move only if the largest shard exceeds the mean by this share and by this many bytes,
#: because the new shard has to read them again.
_MAX_EXCESS = 0.5
_MIN_EXCESS_BYTES = 256 << 20


def assign_runs(
    sizes: Mapping[str, int], current: Mapping[str, int], shards: int
) -> dict[str, int]:
    """Return the number of the shard of each run.

    Runs stay where they are. New ones, the largest first, go to the shard with the fewest bytes.
    If a shard has grown far above the mean, its runs move to the smallest one.

    Args:
        sizes: The size of each run in bytes.
        current: The shard of the runs that have one.
        shards: The number of shards.

    Example:
        >>> assign_runs({"a": 900_000, "b": 500_000, "c": 300_000}, {}, 2)
        {'a': 0, 'b': 1, 'c': 1}
    """
    if shards == 1:
        return dict.fromkeys(sizes, 0)
    costs = {run: size + _RUN_OVERHEAD_BYTES for run, size in sizes.items()}
    assigned = {run: current[run] for run in sizes if run in current}
    loads = [0] * shards
    for run, shard in assigned.items():
        loads[shard] += costs[run]
    new = (run for run in sizes if run not in assigned)
    for run in sorted(new, key=lambda run: (-costs[run], run)):
        shard = loads.index(min(loads))
        assigned[run] = shard
        loads[shard] += costs[run]
    _balance(assigned, costs, loads)
    return {run: assigned[run] for run in sizes}


def _balance(assigned: dict[str, int], costs: Mapping[str, int], loads: list[int]) -> None:
    """Move runs from the largest shard to the smallest one while that makes them more equal."""
    mean = sum(loads) / len(loads)
    limit = mean + max(_MAX_EXCESS * mean, _MIN_EXCESS_BYTES)
    while max(loads) > limit:
        source, target = loads.index(max(loads)), loads.index(min(loads))
        gap = loads[source] - loads[target]
        fitting = [run for run, shard in assigned.items() if shard == source and costs[run] < gap]
        if not fitting:
            return
        run = min(fitting, key=lambda run: (abs(gap - 2 * costs[run]), run))
        assigned[run] = target
        loads[source] -= costs[run]
        loads[target] += costs[run]


# ---- the process of a shard

#: Threads of an actor. Every server has one refresh and up to eight queries at a time. Ray's
#: concurrency groups would separate them, but cannot be used through Ray Client.
MAX_CONCURRENCY = 32

#: A client that was not heard from for so long is forgotten. Servers ask every two seconds.
CLIENT_TIMEOUT_S = 120.0

Files = Sequence[DiscoveredFile]

_log = logging.getLogger(__name__)


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
    """Identifies the client and the process. A restarted actor has none of the runs of the one
    before, nor has one that has forgotten the client."""
    version: str
    pid: int
    node: str


@dataclass(frozen=True)
class RefreshResult:
    """The runs that a refresh changed, and the state of the shard after it."""

    process: str
    changed: set[str]
    problems: tuple[Message, ...]
    progress: Progress
    requests: RequestCounts
    """The requests to object stores since the process started."""


class StaleInstanceError(Exception):
    """The caller knows another process of this actor, or has been forgotten."""


@dataclass
class Client:
    """A server that uses the actor."""

    instance: str
    seen_s: float
    files: dict[str, Files] = field(default_factory=dict)
    """The files of its runs."""
    changed: set[str] = field(default_factory=set)
    """Runs in which a refresh of another client read something new."""


class ShardActor:
    """A shard in a process of its own; created with ``ray.remote``.

    Calls run in `MAX_CONCURRENCY` threads, so that a query does not wait for a refresh. Of several
    refreshes, only one reads at a time.

    Args:
        settings: What the shard is created with.
        client_timeout_s: When a client that is silent is forgotten.
        on_unused: Called when there are no clients any more; None to wait for others.
    """

    def __init__(
        self,
        settings: ShardSettings,
        client_timeout_s: float = CLIENT_TIMEOUT_S,
        on_unused: Callable[[], None] | None = None,
    ) -> None:
        self._process = secrets.token_hex(8)
        limit_memory_retention()
        cache = create_cache(
            settings.roots, settings.cache, settings.cache_bytes, settings.shared_cache
        )
        self._shard = Shard(cache, settings.memory_bytes)
        self._lock = threading.Lock()
        self._refresh_lock = threading.Lock()
        self._clients: dict[str, Client] = {}
        self._client_timeout_s = client_timeout_s
        self._closed = threading.Event()
        if on_unused is not None:
            threading.Thread(target=self._wait_until_unused, args=(on_unused,), daemon=True).start()

    def describe(self, client: str) -> ActorState:
        """Return which process this is; waits for a thread like a query, to notice if they hang."""
        with self._lock:
            self._forget_silent_clients()
            known = self._clients.get(client)
            if known is None:
                instance = f"{self._process}-{secrets.token_hex(4)}"
                known = self._clients[client] = Client(instance, time.monotonic())
            known.seen_s = time.monotonic()
        return ActorState(known.instance, __version__, os.getpid(), platform.node())

    def progress(self, instance: str) -> Progress:
        self._find_client(instance)
        return self._shard.progress

    def refresh(
        self, instance: str, updated: Mapping[str, Files], removed: Sequence[str] | None
    ) -> Outcome:
        """Add, replace and remove runs of a client, and read what is new in all runs.

        Args:
            instance: Identifies the client.
            updated: New runs, and runs with other files than before.
            removed: Runs to remove; None for all that are not in ``updated``.
        """

        def read(client: Client) -> RefreshResult:
            for run in [*client.files] if removed is None else removed:
                client.files.pop(run, None)
            client.files.update(updated)
            with self._lock:
                clients = list(self._clients.values())
            changed = self._shard.refresh(merge_files(item.files for item in clients))
            return self._make_result(client, changed)

        with self._refresh_lock:
            return self._run(instance, read)

    def read_new(self, instance: str, files: Files) -> Outcome:
        with self._refresh_lock:
            return self._run(
                instance, lambda client: self._make_result(client, self._shard.read_new(files))
            )

    def query(self, instance: str, method: str, args: Sequence[Any]) -> Outcome:
        """Call a method of the shard."""
        return self._run(instance, lambda client: getattr(self._shard, method)(*args))

    def close(self, instance: str) -> bool:
        """Forget a client; return whether it was the last one, after which the actor can end."""
        with self._lock:
            self._clients = {
                name: client
                for name, client in self._clients.items()
                if client.instance != instance
            }
            self._forget_silent_clients()
            if self._clients:
                return False
        self._closed.set()
        self._shard.close()
        return True

    def _find_client(self, instance: str) -> Client | None:
        with self._lock:
            found = (item for item in self._clients.values() if item.instance == instance)
            client = next(found, None)
            if client is not None:
                client.seen_s = time.monotonic()
            return client

    def _forget_silent_clients(self) -> None:
        oldest_s = time.monotonic() - self._client_timeout_s
        self._clients = {
            name: client for name, client in self._clients.items() if client.seen_s >= oldest_s
        }

    def _wait_until_unused(self, on_unused: Callable[[], None]) -> None:
        while not self._closed.wait(self._client_timeout_s):
            with self._lock:
                self._forget_silent_clients()
                is_unused = not self._clients
            if is_unused:
                self._shard.close()
                on_unused()
                return

    def _make_result(self, client: Client, changed: set[str]) -> RefreshResult:
        with self._lock:
            for other in self._clients.values():
                if other is not client:
                    other.changed |= changed
            changed = (changed | client.changed) & client.files.keys()
            client.changed = set()
        shard = self._shard
        return RefreshResult(
            self._process, changed, shard.problems, shard.progress, METER.get_own()
        )

    def _run(self, instance: str, function: Callable[[Client], Any]) -> Outcome:
        client = self._find_client(instance)
        if client is None:
            return Outcome(error=StaleInstanceError())
        try:
            return Outcome(function(client))
        except MemoryError:  # a failure of the process, not an answer of the shard
            raise
        except Exception as error:
            return Outcome(error=error)


def merge_files(parts: Iterable[Mapping[str, Files]]) -> dict[str, Files]:
    """Return the runs of several clients; of a file that both have listed, the newer state."""
    merged: dict[str, Files] = {}
    for part in parts:
        for run, files in part.items():
            known = merged.get(run, files)
            merged[run] = files if known == files else _merge_run(known, files)
    return merged


def _merge_run(*parts: Files) -> Files:
    newest: dict[str, DiscoveredFile] = {}
    for file in (file for part in parts for file in part):
        known = newest.setdefault(file.path, file)
        if (file.stat.mtime_ns, file.stat.size) > (known.stat.mtime_ns, known.stat.size):
            newest[file.path] = file
    return list(newest.values())


class SharedShardActor(ShardActor):
    """The actor of several servers, which ends itself when none of them uses it any more."""

    def __init__(self, settings: ShardSettings) -> None:
        super().__init__(settings, on_unused=_end_actor)


def _end_actor() -> None:
    import ray

    _log.warning("no server uses this shard any more; it ends")
    ray.kill(ray.get_runtime_context().current_actor, no_restart=True)
