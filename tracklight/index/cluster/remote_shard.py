"""The server's side of a shard that is a Ray actor.

Ray restarts an actor whose process or node has died, but the new process has no runs. A process
therefore gives every server an identifier, its instance, which callers pass. After a failure, a
timeout or a call that reaches another instance, the shard is unavailable and its methods raise
`UnavailableError` at once. `ShardMonitor` waits until the actor answers again, and has a new
instance read all runs of the shard before it becomes available. Refreshes do not wait for that,
so that a shard that is slow or lost does not hold up the updates of the others.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from tracklight.errors import Message, UnavailableError
from tracklight.index.aggregation import CurveReduction
from tracklight.index.cluster import (
    ActorState,
    Outcome,
    RefreshResult,
    StaleInstanceError,
    merge_files,
)
from tracklight.index.series_query import SeriesQuery, View
from tracklight.index.shard import SeriesKey
from tracklight.logdir.discover import DiscoveredFile
from tracklight.logdir.object_store import METER
from tracklight.types import (
    FileInfo,
    Point,
    Progress,
    RunInfo,
    Series,
    SeriesSummary,
    SharedTag,
    SummaryColumns,
    TagInfo,
    ValueLocations,
)

R = TypeVar("R")

DEFAULT_QUERY_TIMEOUT_S = 30.0

#: How often actors are checked, and how often those that are unavailable.
_CHECK_INTERVAL_S = 2.0
_RETRY_INTERVAL_S = 0.2
_CLOSE_TIMEOUT_S = 10.0
_PROGRESS_INTERVAL_S = 0.25

#: A run that has ended so many processes of its shard is not read any more.
_MAX_CRASHES = 3
_SUSPECT_BATCHES = 8

#: Names of missing runs in a message.
_MAX_LISTED_RUNS = 10

_log = logging.getLogger(__name__)


class Connection:
    """Calls of Ray, which end with an error of Ray while this process is not connected.

    Args:
        ray: The module.
    """

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.exceptions = ray.exceptions
        self._condition = threading.Condition()
        self._calls = 0
        self._is_open = True

    def call(self, function: Callable[..., R], *args: Any, **options: Any) -> R:
        """Call a function of Ray, and raise its own error if the connection is lost.

        Ray Client raises ConnectionError at first, and plain exceptions after that.
        """
        with self._condition:
            if not self._is_open:
                raise self.exceptions.RaySystemError("there is no connection to the cluster")
            self._calls += 1
        try:
            return function(*args, **options)
        except self.exceptions.RayError:
            raise
        except Exception as error:
            is_lost = isinstance(error, ConnectionError) or not self.ray.is_initialized()
            if is_lost or type(error) is Exception:
                raise self.exceptions.RaySystemError(str(error)) from error
            raise
        finally:
            with self._condition:
                self._calls -= 1
                self._condition.notify_all()

    def get(self, reference: Any, timeout: float | None = None) -> Any:
        return self.call(self.ray.get, reference, timeout=timeout)

    def has_ended(self, reference: Any, timeout_s: float) -> bool:
        """Wait for a call of an actor; return whether it has ended."""
        return bool(self.call(self.ray.wait, [reference], timeout=timeout_s)[0])

    def kill(self, actor: Any) -> None:
        self.call(self.ray.kill, actor)

    def close(self, timeout_s: float) -> None:
        """Refuse calls from now on, and wait until those that were started have ended."""
        with self._condition:
            self._is_open = False
            self._condition.wait_for(lambda: self._calls == 0, timeout_s)

    def open(self) -> None:
        """Allow calls again."""
        with self._condition:
            self._is_open = True


class CrashIsolation:
    """Finds the run that ends the process of a shard whenever it is read, and excludes it.

    After a crash, the runs that were read at that moment are suspects, which are read in several
    batches. The next crash leaves one batch, until a single run has ended three processes.
    """

    def __init__(self) -> None:
        self.excluded: frozenset[str] = frozenset()
        self._suspects: frozenset[str] = frozenset()
        self._reading: frozenset[str] = frozenset()
        #: How many processes in a row ended while they read the suspects.
        self._crashes = 0

    def split(self, runs: Collection[str]) -> list[list[str]]:
        """Divide runs into the batches in which they should be read."""
        suspects = [run for run in runs if run in self._suspects]
        others = [run for run in runs if run not in self._suspects]
        size = max(1, -(-len(suspects) // _SUSPECT_BATCHES))
        batches = [suspects[start : start + size] for start in range(0, len(suspects), size)]
        return [others, *batches] if others or not batches else batches

    def begin(self, runs: Iterable[str]) -> None:
        """Note which runs are being read from now on."""
        self._reading = frozenset(runs) - self.excluded

    def end(self) -> None:
        """Note that none is being read."""
        self._reading = frozenset()

    def clear(self) -> None:
        """Note that all runs have been read."""
        self._reading = self._suspects = frozenset()
        self._crashes = 0

    def crash(self) -> str | None:
        """Note that the process has ended; return the run that is excluded because of it."""
        reading = self._reading
        if not reading:
            return None
        self._crashes = self._crashes + 1 if reading <= self._suspects else 1
        is_same = reading == self._suspects
        self._suspects, self._reading = reading, frozenset()
        if len(reading) > 1 or not is_same or self._crashes < _MAX_CRASHES:
            return None
        self.excluded |= reading
        self.clear()
        return next(iter(reading))


class RemoteShard:
    """Some runs of a log in another process; has the methods of `Shard`.

    Args:
        connection: The connection to Ray.
        create_actor: Starts the actor and returns its handle.
        query_timeout_s: How long a query may take before the shard counts as unavailable.
        on_change: Called when the shard becomes unavailable or available again.
    """

    def __init__(
        self,
        connection: Connection,
        create_actor: Callable[[], Any],
        query_timeout_s: float,
        on_change: Callable[[], None],
    ) -> None:
        self._ray = connection
        self._create_actor = create_actor
        self._query_timeout_s = query_timeout_s
        self._on_change = on_change
        self._client = secrets.token_hex(8)
        self._actor = create_actor()
        self._lock = threading.Lock()
        self._refresh_lock = threading.RLock()
        self._state: ActorState | None = None
        self._is_available = False
        self._failed = threading.Event()
        self._assigned: dict[str, Sequence[DiscoveredFile]] = {}
        #: The runs that the instance knows, unless `_must_read_all`.
        self._sent: dict[str, Sequence[DiscoveredFile]] = {}
        self._must_read_all = False
        self._run_infos: dict[str, RunInfo] = {}
        #: Grows when a refresh changed something, and the version that `_run_infos` is of.
        self._version = 0
        self._run_infos_version = -1
        self._is_refreshing = False
        self._read_again: set[str] = set()
        self._crashes = CrashIsolation()
        self._problems: tuple[Message, ...] = ()
        self._progress = Progress(0, 0, 0, 0)

    # ---- life cycle

    def start(self, timeout_s: float) -> ActorState:
        """Wait until the actor runs; raises what Ray raises if it cannot."""
        state: ActorState = self._ray.get(self._start("describe", self._client), timeout=timeout_s)
        self._state, self._is_available = state, True
        return state

    @property
    def state(self) -> ActorState | None:
        """The process of the shard; None while it is unavailable."""
        return self._state if self._is_available else None

    def wait_for_failure(self, timeout_s: float) -> bool:
        """Block until the shard becomes unavailable or `wake` is called; return whether it did."""
        return self._failed.wait(timeout_s)

    def wake(self) -> None:
        """Let `wait_for_failure` return."""
        self._failed.set()

    def check(self) -> None:
        """Ask the actor for a sign of life; if it is a new one, let it read all runs."""
        try:
            state: ActorState = self._ray.get(
                self._start("describe", self._client), timeout=self._query_timeout_s
            )
        except self._ray.exceptions.ActorUnavailableError:  # Ray is restarting it
            self._lose("it is restarting")
        except self._ray.exceptions.RayActorError as error:
            self._lose(error)
            try:
                self._ray.call(self.create_actor)
            except self._ray.exceptions.RayError as failure:
                _log.warning("a shard could not be started again: %s", failure)
        except self._ray.exceptions.RayError as error:
            self._lose(error)
        else:
            if self._state is None or state.instance != self._state.instance:
                self._lose("it was restarted, or has forgotten this server")
                self._read_all(state)
            elif self._must_read_all:
                self._read_all(state)
            elif not self._is_available:
                self._set_available()

    def create_actor(self) -> None:
        """Create another actor, because Ray has given this one up or is a new cluster."""
        self._actor = self._create_actor()

    def close(self) -> None:
        """Give the shard up; its actor ends, unless other servers use it."""
        instance = "" if self._state is None else self._state.instance
        is_unused = True
        try:
            is_unused = self._ray.get(self._start("close", instance), timeout=_CLOSE_TIMEOUT_S)
        except self._ray.exceptions.RayError as error:
            _log.warning("a shard could not store its cache: %s", error)
        if is_unused:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(self._actor)

    def list_held_runs(self) -> tuple[str, ...]:
        """Return the runs that the actor has for other servers as well; none if it is lost."""
        try:
            return self._query("list_runs")  # type: ignore[no-any-return]
        except UnavailableError:
            return ()

    @property
    def missing_runs(self) -> tuple[str, ...]:
        """The runs that cannot be queried now."""
        return () if self._is_available else tuple(self._assigned)

    # ---- refresh

    def refresh(self, runs: Mapping[str, Sequence[DiscoveredFile]]) -> set[str]:
        """Replace the runs of the shard and read what is new; only differences are sent.

        Returns:
            The names of the runs that changed, including those that a new actor read again. If the
            shard is unavailable, the runs are read once it is available.
        """
        runs = self._without_excluded(runs)
        with self._lock:
            self._assigned = dict(runs)
            if not self._is_available:
                self._must_read_all |= self._assigned != self._sent
                return set()
        with self._refresh_lock:
            updated, removed = _compare_runs(self._sent, runs)
            changed = self._refresh("refresh", updated, removed)
            if updated or removed:
                self._version += 1
            self._sent = dict(runs)
            with self._lock:
                changed |= self._read_again & runs.keys()
                self._read_again.clear()
            return changed

    def read_new(self, found: Iterable[DiscoveredFile]) -> set[str]:
        files = [file for file in found if file.run not in self._crashes.excluded]
        with self._lock:
            if not self._is_available:
                self._assigned = merge_files(
                    [self._assigned, *({item.run: [item]} for item in files)]
                )
                self._must_read_all = True
                return set()
        with self._refresh_lock:
            return self._refresh("read_new", files)

    @property
    def progress(self) -> Progress:
        return self._progress

    @property
    def problems(self) -> tuple[Message, ...]:
        """Messages about files that could not be read, and about runs that are unavailable."""
        missing, problems = self.missing_runs, list(self._problems)
        for run in sorted(self._crashes.excluded & self._assigned.keys()):
            problems.append(
                Message.format(
                    "cluster.excluded_run",
                    'run "{run}" is not read any more, because the process of its shard ended '
                    "{count} times while reading it; restart tracklight to try again",
                    run=run,
                    count=_MAX_CRASHES,
                )
            )
        if not missing:
            return tuple(problems)
        names = ", ".join(missing[:_MAX_LISTED_RUNS])
        more = len(missing) - _MAX_LISTED_RUNS
        message = Message.format(
            "cluster.missing_runs",
            "{count} runs are missing until their shard is available again: {runs}",
            count=len(missing),
            runs=f"{names}, … (+{more})" if more > 0 else names,
        )
        return (*problems, message)

    # ---- queries; see `Catalog`

    def runs(self) -> tuple[RunInfo, ...]:
        """Return the runs; if the shard is unavailable, as they were when it last answered.

        They are fetched again only after a refresh that changed something, and during a refresh.
        """
        version = self._version
        if self._is_available and not self._is_refreshing and self._run_infos_version == version:
            return tuple(self._run_infos.values())
        try:
            infos: tuple[RunInfo, ...] = self._query("runs")
        except UnavailableError:
            known = self._run_infos
            return tuple(known.get(run) or _make_unread_run(run) for run in self._assigned)
        # Other servers may have found runs that this one has not.
        self._run_infos = {info.name: info for info in infos if info.name in self._assigned}
        if not self._is_refreshing:
            self._run_infos_version = version
        return tuple(self._run_infos.values())

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return self._query("tags", run)  # type: ignore[no-any-return]

    def shared_tags(self, runs: Iterable[str]) -> tuple[SharedTag, ...]:
        return self._query("shared_tags", list(runs))  # type: ignore[no-any-return]

    def files(self, run: str) -> tuple[FileInfo, ...]:
        return self._query("files", run)  # type: ignore[no-any-return]

    def scalars(self, keys: Sequence[SeriesKey]) -> tuple[Series, ...]:
        return self._query("scalars", keys)  # type: ignore[no-any-return]

    def query(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        return self._query("query", keys, query, view)  # type: ignore[no-any-return]

    def reduce(
        self,
        keys: Sequence[SeriesKey],
        indexes: Sequence[int],
        query: SeriesQuery,
        reduction: CurveReduction[R],
    ) -> R:
        return self._query("reduce", keys, indexes, query, reduction)  # type: ignore[no-any-return]

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        return self._query("summaries", keys)  # type: ignore[no-any-return]

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        return self._query("summary_columns", runs, tag)  # type: ignore[no-any-return]

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        return self._query("last_points", keys)  # type: ignore[no-any-return]

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        return self._query("plugin_data", tag)  # type: ignore[no-any-return]

    def locate(self, run: str, tag: str) -> ValueLocations:
        return self._query("locate", run, tag)  # type: ignore[no-any-return]

    # ---- internals

    def _start(self, method: str, *args: object) -> Any:
        """Call a method of the actor and return the reference to its result."""
        return self._ray.call(getattr(self._actor, method).remote, *args)

    def _query(self, method: str, *args: object) -> Any:
        state = self.state
        if state is None:
            raise _make_unavailable_error()
        exceptions = self._ray.exceptions
        try:
            reference = self._start("query", state.instance, method, args)
            outcome: Outcome = self._ray.get(reference, timeout=self._query_timeout_s)
            return outcome.get()
        except StaleInstanceError:
            self._lose("it was restarted")
        except exceptions.RayTaskError:  # a plugin's view that cannot be sent or imported
            raise
        except exceptions.RayError as error:
            self._lose(self._describe(error))
        raise _make_unavailable_error()

    def _refresh(self, method: str, *args: object) -> set[str]:
        """Call a method that reads files; it may take minutes."""
        state = self.state
        if state is None:
            self._must_read_all = True
            return set()
        self._crashes.begin(self._assigned)
        try:
            changed = self._wait(state.instance, self._start(method, state.instance, *args))
        except StaleInstanceError:
            self._lose("it was restarted")
        except self._ray.exceptions.RayError as error:
            # The call may or may not have reached the actor.
            self._must_read_all = True
            self._lose(self._describe(error))
            self._note_crash(error)
        else:
            self._crashes.clear()
            return changed
        finally:
            self._crashes.end()
        return set()

    def _wait(self, instance: str, reference: Any) -> set[str]:
        """Wait for a refresh and follow its progress.

        Raises:
            GetTimeoutError: The actor has not even reported its progress in time.
        """
        self._is_refreshing = True
        try:
            while not self._ray.has_ended(reference, _PROGRESS_INTERVAL_S):
                self._progress = self._ray.get(
                    self._start("progress", instance), timeout=self._query_timeout_s
                )
            result: RefreshResult = self._ray.get(reference).get()
            if result.changed:
                self._version += 1
        finally:
            self._is_refreshing = False
        self._problems, self._progress = result.problems, result.progress
        METER.set_shard(result.process, result.requests)
        return result.changed

    def _read_all(self, state: ActorState) -> None:
        """Let a new instance read all runs; it is available when it has."""
        with self._refresh_lock:
            sent: Mapping[str, Sequence[DiscoveredFile]] | None = None
            while True:
                with self._lock:
                    assigned = self._assigned = self._without_excluded(self._assigned)
                updated, removed = _compare_runs(sent, assigned)
                try:
                    self._read_batches(state.instance, updated, removed)
                except StaleInstanceError:
                    return
                except self._ray.exceptions.RayError as error:
                    # It ended as well, or is too slow; the next check tries again.
                    self._note_crash(error)
                    return
                finally:
                    self._crashes.end()
                sent = assigned
                with self._lock:
                    if assigned is self._assigned:  # not replaced meanwhile
                        self._state, self._sent = state, assigned
                        self._read_again.update(assigned)
                        self._version += 1
                        self._must_read_all = False
                        self._is_available = True
                        self._failed.clear()
                        self._crashes.clear()
                        break
        self._on_change()

    def _read_batches(
        self,
        instance: str,
        updated: Mapping[str, Sequence[DiscoveredFile]],
        removed: Sequence[str] | None,
    ) -> None:
        """Let an instance read runs: all at once, unless one of them may end its process."""
        for batch in self._crashes.split(updated):
            self._crashes.begin(batch)
            files = {run: updated[run] for run in batch}
            self._wait(instance, self._start("refresh", instance, files, removed))
            removed = ()

    def _note_crash(self, error: Exception) -> None:
        """Find out which run ended the process, unless it is too slow or the connection is lost."""
        exceptions = self._ray.exceptions
        if isinstance(error, (exceptions.GetTimeoutError, exceptions.RaySystemError)):
            return
        run = self._crashes.crash()
        if run is not None:
            _log.warning("the process of a shard always ends while it reads this run: %s", run)
            self._on_change()

    def _without_excluded(
        self, runs: Mapping[str, Sequence[DiscoveredFile]]
    ) -> dict[str, Sequence[DiscoveredFile]]:
        """Return the runs, those that are excluded without files."""
        excluded = self._crashes.excluded
        return {run: () if run in excluded else files for run, files in runs.items()}

    def _describe(self, error: Exception) -> str:
        if isinstance(error, self._ray.exceptions.GetTimeoutError):
            return f"it did not answer within {self._query_timeout_s:g} s"
        return str(error)

    def _lose(self, reason: object) -> None:
        with self._lock:
            was_available, self._is_available = self._is_available, False
            self._failed.set()
        if was_available:
            first_line = str(reason).strip().partition("\n")[0]
            _log.warning("a shard with %d runs is lost: %s", len(self._assigned), first_line)
            self._on_change()

    def _set_available(self) -> None:
        with self._lock:
            self._is_available = True
            self._failed.clear()
        self._on_change()


class ShardMonitor:
    """Check the actors of some shards, each in a thread, until closed."""

    def __init__(self, shards: Sequence[RemoteShard]) -> None:
        self._shards = shards
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._watch, args=(shard,), name="tracklight-shard", daemon=True
            )
            for shard in shards
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stopped.set()
        for shard in self._shards:
            shard.wake()
        for thread in self._threads:
            thread.join(_CLOSE_TIMEOUT_S)

    def _watch(self, shard: RemoteShard) -> None:
        while not self._stopped.is_set():
            if shard.wait_for_failure(_CHECK_INTERVAL_S):
                self._stopped.wait(_RETRY_INTERVAL_S)
            if not self._stopped.is_set():
                try:
                    shard.check()
                except Exception:
                    _log.exception("checking a shard failed")
                    self._stopped.wait(_CHECK_INTERVAL_S)


def _compare_runs(
    known: Mapping[str, Sequence[DiscoveredFile]] | None,
    runs: Mapping[str, Sequence[DiscoveredFile]],
) -> tuple[dict[str, Sequence[DiscoveredFile]], list[str] | None]:
    """Return the runs whose files differ and those to remove; None for all others."""
    if known is None:
        return dict(runs), None
    updated = {run: files for run, files in runs.items() if known.get(run) != files}
    return updated, [run for run in known if run not in runs]


def _make_unavailable_error() -> UnavailableError:
    return UnavailableError(
        "cluster.unavailable", "the shard with this run is restarting or too slow"
    )


def _make_unread_run(name: str) -> RunInfo:
    return RunInfo(name, None, None, files=0, bytes=0, tags=0, points=0, damaged=0)
