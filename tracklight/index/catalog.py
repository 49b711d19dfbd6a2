"""The index of a whole log: finds its runs, distributes them over shards and queries the shards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, Union

import numpy as np

from tracklight.errors import Message, RunNotFoundError, UnavailableError
from tracklight.index.aggregation import CurveReduction
from tracklight.index.cache import DEFAULT_CACHE_BYTES, create_cache, find_cache_folder
from tracklight.index.series_query import SeriesQuery, View, apply
from tracklight.index.shard import SeriesKey, Shard, ValueReader
from tracklight.index.tags import merge_shared_tags
from tracklight.logdir import natural_key
from tracklight.logdir.access import Root, escapes_roots, fetch_local_copy, open_filesystem
from tracklight.logdir.discover import DiscoveredFile, Discovery, discover, iter_ancestors
from tracklight.logdir.filesystem import FileHandle, FileSystem
from tracklight.logdir.watch import Changes
from tracklight.types import (
    CaptureFile,
    DebugEventFile,
    Delta,
    EvaluationFile,
    FileInfo,
    Point,
    Progress,
    RunInfo,
    Series,
    SeriesSummary,
    SettingsFile,
    SharedTag,
    StudyFile,
    SummaryColumns,
    TagInfo,
    TensorFileEntry,
    ValueLocations,
)

if TYPE_CHECKING:
    # Few logs are on a cluster. The package takes a while to import.
    from tracklight.index.cluster import ActorState
    from tracklight.index.cluster.connection import Cluster
    from tracklight.index.cluster.remote_shard import RemoteShard

R = TypeVar("R")

AnyShard = Union[Shard, "RemoteShard"]

#: Threads that wait for shards, for each shard.
_THREADS_PER_SHARD = 8

DEFAULT_MEMORY_BYTES = 2 << 30

#: Settings files are read up to this size.
_MAX_SETTINGS_BYTES = 1 << 20


class Catalog:
    """The index of one log, which may consist of several directories.

    One thread at a time may refresh it; any number of threads may query it. It implements the
    `Source` that dashboards read from.

    Args:
        roots: The log directories.
        include: Patterns of runs to include, all if empty; see `tracklight.logdir`.
        exclude: Patterns of runs to exclude.
        cache: Whether to use the on-disk cache, or the folder of the cache.
        cache_bytes: Limit for the caches of all logs.
        memory_bytes: Limit for the rows in memory of this machine; on a cluster, of each shard.
        shards: Number of shards in this process.
        cluster: Start the shards there instead; closed with the catalog.
        shared_cache: URL or folder of a cache that is shared with other servers.

    If a shard of a cluster is unavailable, queries on many runs return what the others have, and
    ``problems`` lists the missing runs. Queries on one run raise UnavailableError.

    Example:
        >>> catalog = Catalog(parse_roots("logs"))
        >>> catalog.refresh().added
        ('eval', 'train')
        >>> catalog.scalar("train", "loss").value[-1]
        0.25
    """

    def __init__(
        self,
        roots: Sequence[Root],
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        cache: bool | Path = True,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        shards: int = 1,
        cluster: Cluster | None = None,
        shared_cache: str | None = None,
    ) -> None:
        self.roots = tuple(roots)
        self.version = 0
        self._include, self._exclude = tuple(include), tuple(exclude)
        self._filesystems = {root: open_filesystem(root.path)[0] for root in roots}
        self._version_lock = threading.Lock()
        #: Where the shards are, if they are not in this process.
        self.cluster = cluster
        paths = tuple(root.path for root in roots)
        self._shards: Sequence[AnyShard]
        self._remote_shards: Sequence[RemoteShard] = ()
        if cluster is None:
            self._shards = [
                Shard(create_cache(paths, cache, cache_bytes, shared_cache), memory_bytes // shards)
                for _ in range(shards)
            ]
        else:
            from tracklight.index.cluster import ShardSettings

            shard_bytes = memory_bytes // cluster.shards if cluster.is_local else memory_bytes
            folder = cache if isinstance(cache, bool) else cache.absolute()
            settings = ShardSettings(paths, folder, cache_bytes, shard_bytes, shared_cache)
            self._remote_shards = cluster.start_shards(settings, self._bump_version)
            self._shards = self._remote_shards
        # Started on first use.
        threads = _THREADS_PER_SHARD * len(self._shards)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-shards")
        self._values = ValueReader()
        base = None if isinstance(cache, bool) else cache
        self._cache_folder = find_cache_folder(paths, base) if cache else None
        self._discoveries: dict[Root, Discovery] = {}
        self._runs: dict[str, list[DiscoveredFile]] = {}
        self._by_path: dict[str, list[DiscoveredFile]] = {}
        self._shard_numbers: dict[str, int] = {}
        #: The names of all runs as the shards return them, and in natural order.
        self._run_order: tuple[list[str], list[str]] = ([], [])
        #: The runs that the shards have for other servers: assigned alike, they are read once.
        self._held_runs = {
            run: number
            for number, shard in enumerate(self._remote_shards)
            for run in shard.list_held_runs()
        }
        self._is_closed = False

    # ---- refresh

    def refresh(self, changes: Changes | None = None) -> Delta:
        """Read what is new.

        Args:
            changes: What may have changed, from a `Watcher`; None to list all roots.

        Returns:
            The runs that were added, removed or changed.
        """
        old_runs = self._runs
        changed: set[str] = set()
        roots = self.roots if changes is None else self._get_roots_to_list(changes)
        if roots:
            changed |= self._refresh_roots(roots)
        if changes is not None:
            changed |= self._refresh_files(changes.files)
        return self._make_delta(old_runs, changed)

    @property
    def cache_folder(self) -> Path | None:
        """A folder for cached results of this log; None if nothing may be written."""
        return self._cache_folder

    @property
    def linked(self) -> Mapping[Root, frozenset[str]]:
        """The targets of symbolic links below each root, which have to be watched as well."""
        return {root: found.linked for root, found in self._discoveries.items()}

    @property
    def progress(self) -> Progress:
        """The progress of the current refresh."""
        parts = [shard.progress for shard in self._shards]
        return Progress(
            files_done=sum(part.files_done for part in parts),
            files_total=sum(part.files_total for part in parts),
            bytes_done=sum(part.bytes_done for part in parts),
            bytes_total=sum(part.bytes_total for part in parts),
        )

    @property
    def problems(self) -> tuple[Message, ...]:
        """Messages about directories and files that could not be listed or read."""
        listing = [problem for found in self._discoveries.values() for problem in found.problems]
        return (*listing, *(problem for shard in self._shards for problem in shard.problems))

    @property
    def missing_runs(self) -> tuple[str, ...]:
        """The runs of shards that are restarting or too slow."""
        return tuple(run for shard in self._shards for run in shard.missing_runs)

    def describe_shards(self) -> dict[int, ActorState]:
        """Return the processes of the shards of a cluster that are available, by number."""
        states = (shard.state for shard in self._remote_shards)
        return {number: state for number, state in enumerate(states) if state is not None}

    @property
    def failed_roots(self) -> tuple[Message, ...]:
        """Messages about roots without any run because they could not be listed."""
        failed = (found for found in self._discoveries.values() if not found.runs)
        return tuple(problem for found in failed for problem in found.problems)

    def close(self) -> None:
        """Stop all threads and store what is not in the cache yet."""
        if self._is_closed:
            return
        self._is_closed = True
        if self.cluster is not None:
            self.cluster.stop_monitor()
        self._map_shards(lambda shard: shard.close(), [(shard,) for shard in self._shards])
        self._pool.shutdown()
        if self.cluster is not None:
            self.cluster.close()

    # ---- queries

    def runs(self) -> tuple[RunInfo, ...]:
        """Return all runs, in natural order."""
        parts = self._map_shards(lambda shard: shard.runs(), [(shard,) for shard in self._shards])
        # While a run moves from one shard to another, both have it.
        runs = {run.name: run for part in parts for run in part or ()}
        names = list(runs)
        if self._run_order[0] != names:
            self._run_order = names, sorted(names, key=natural_key)
        return tuple(runs[name] for name in self._run_order[1])

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        """Return the tags of a run, in natural order; raises RunNotFoundError."""
        return self._get_shard(run).tags(run)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """Return the tags of some runs together, each with the runs that have it in this order."""
        by_shard: dict[int, list[str]] = {}
        for run in runs:
            if (number := self._shard_numbers.get(run)) is not None:
                by_shard.setdefault(number, []).append(run)
        parts = self._map_shards(
            lambda shard, names: shard.shared_tags(names),
            [(self._shards[number], names) for number, names in by_shard.items()],
        )
        if len(parts) == 1:
            return parts[0] or ()
        return merge_shared_tags((tag for part in parts for tag in part or ()), runs)

    def files(self, run: str) -> tuple[FileInfo, ...]:
        """Return the event files of a run; raises RunNotFoundError."""
        return self._get_shard(run).files(run)

    def scalar(self, run: str, tag: str) -> Series:
        """Return all points of a scalar series, including overwritten ones.

        Raises:
            RunNotFoundError: There is no such run.
            TagNotFoundError: The run does not have the tag.
        """
        return self._get_shard(run).scalars([(run, tag)])[0]

    def query(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        """Apply a query and then a view to several series.

        Args:
            keys: The series, as pairs of run and tag.
            query: The x axis, smoothing and baseline.
            view: Called with each resulting curve, in a worker thread.

        Returns:
            The results of the view, in the order of the keys.
        """
        for run, _ in keys:
            self._get_shard(run)  # raises RunNotFoundError
        parts = self._split_by_shard(keys)
        results: dict[int, R] = {}
        for (_, shard_keys, indexes), part in zip(
            parts,
            self._map_shards(
                lambda shard, shard_keys, _: shard.query(shard_keys, query, view), parts
            ),
            strict=True,
        ):
            if part is None:
                part = [_apply_to_empty(key, query, view) for key in shard_keys]
            results.update(zip(indexes, part, strict=True))
        return [results[index] for index in range(len(keys))]

    def reduce(
        self, keys: Sequence[SeriesKey], query: SeriesQuery, reduction: CurveReduction[R]
    ) -> R:
        """Reduce several series to one result; each shard reduces its own.

        Args:
            keys: The series, as pairs of run and tag.
            query: The x axis, smoothing and baseline.
            reduction: Reduces curves, and merges the results of the shards. Series of shards that
                are unavailable are left out.
        """
        for run, _ in keys:
            self._get_shard(run)  # raises RunNotFoundError
        parts = self._split_by_shard(keys)
        results = self._map_shards(
            lambda shard, shard_keys, indexes: shard.reduce(shard_keys, indexes, query, reduction),
            parts,
        )
        return reduction.merge([result for result in results if result is not None])

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        """Return count, last point and extremes of several series; None for missing ones."""
        return self._collect(keys, lambda shard, shard_keys: shard.summaries(shard_keys))

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        """Return last, lowest and highest value of a scalar tag in many runs, as columns."""
        result = SummaryColumns(
            np.zeros(len(runs), np.bool_), *(np.full(len(runs), np.nan) for _ in range(4))
        )
        parts = self._split_by_shard([(run, tag) for run in runs])
        answers = self._map_shards(
            lambda shard, keys, _: shard.summary_columns([run for run, _ in keys], tag), parts
        )
        for (_, _, indexes), answer in zip(parts, answers, strict=True):
            for name in SummaryColumns.__slots__ if answer is not None else ():
                getattr(result, name)[indexes] = getattr(answer, name)
        return result

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        """Return the last written point of several series; None for missing and empty ones."""
        return self._collect(keys, lambda shard, shard_keys: shard.last_points(shard_keys))

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        """Return the plugin data in the metadata of a tag, by run."""
        parts = self._map_shards(
            lambda shard: shard.plugin_data(tag), [(shard,) for shard in self._shards]
        )
        found = {run: data for part in parts for run, data in (part or {}).items()}
        return {run: found[run] for run in self._runs if run in found}

    def locate(self, run: str, tag: str) -> ValueLocations:
        """Return steps, wall times and file positions of the non-scalar values of a tag."""
        return self._get_shard(run).locate(run, tag)

    def read(self, locations: ValueLocations, index: int) -> bytes:
        """Read one of these values from its event file.

        Raises:
            CorruptRecordError: The record fails its checksum, or the file has been replaced.
        """
        return self._values.read(locations, index)

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """Read several of these values, which is much faster than one after the other."""
        return self._values.read_many(locations, indexes)

    # ---- files other than event files

    def settings(self) -> tuple[SettingsFile, ...]:
        """Return the files with hyperparameters in or above the directories of runs."""
        return tuple(
            SettingsFile(file.run, file.path, repr(file.stat)) for file in self._iter_settings()
        )

    def read_settings(self, file: SettingsFile) -> bytes:
        """Read a settings file, truncated if it is too large.

        Raises:
            OSError: The file no longer exists, or is a link to a file outside the log directories.
        """
        self._check_inside_roots(file.path)
        return open_filesystem(file.path)[0].read(file.path, 0, _MAX_SETTINGS_BYTES)

    def captures(self) -> tuple[CaptureFile, ...]:
        """Return the profiler captures, by run and session."""
        return tuple(self._iter_captures())

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        """Return a local path of a capture; a remote one is downloaded for the ``with`` block."""
        self._check_inside_roots(capture.path)
        return fetch_local_copy(capture.path)

    def tensor_files(self) -> tuple[TensorFileEntry, ...]:
        """Return checkpoints, other files with tensors, and projector configurations."""
        return tuple(
            TensorFileEntry(file.run, file.path, repr(file.stat)) for file in self._iter_tensors()
        )

    def debug_files(self) -> tuple[DebugEventFile, ...]:
        """Return the files of debugger dumps."""
        return tuple(self._iter_debug_files())

    def open_debug_file(self, file: DebugEventFile) -> FileHandle:
        """Open such a file.

        Raises:
            OSError: The file no longer exists, or is a link to a file outside the log directories.
        """
        self._check_inside_roots(file.path)
        return open_filesystem(file.path)[0].open(file.path)

    def evaluation_files(self) -> tuple[EvaluationFile, ...]:
        """Return the files of evaluation folders of TensorFlow Model Analysis."""
        return tuple(
            EvaluationFile(file.run, file.path, repr(file.stat))
            for file in self._iter_evaluations()
        )

    def study_files(self) -> tuple[StudyFile, ...]:
        """Return storages of Optuna and result folders of other tuners, file by file."""
        return tuple(
            StudyFile(file.run, file.path, repr(file.stat)) for file in self._iter_studies()
        )

    def fetch_study_file(self, file: StudyFile) -> AbstractContextManager[Path]:
        """Return a local path of such a file; a remote one is downloaded for the ``with`` block.

        Raises:
            OSError: The file is a link to a file outside the log directories.
        """
        self._check_inside_roots(file.path)
        return fetch_local_copy(file.path)

    # ---- internals

    def _check_inside_roots(self, path: str) -> None:
        if escapes_roots(path, (root.path for root in self.roots)):
            raise PermissionError(f'"{path}" is outside the log directory')

    def _bump_version(self) -> None:
        """Make clients and caches request again, because a shard was lost or is back."""
        with self._version_lock:
            self.version += 1

    def _get_shard(self, run: str) -> AnyShard:
        number = self._shard_numbers.get(run)
        if number is None:
            raise RunNotFoundError(run, self._runs)
        return self._shards[number]

    def _split_by_shard(
        self, keys: Sequence[SeriesKey]
    ) -> list[tuple[AnyShard, list[SeriesKey], list[int]]]:
        """Return each shard with its keys and their indexes in ``keys``; skip unknown runs."""
        by_shard: dict[int, list[int]] = {}
        for index, (run, _) in enumerate(keys):
            if (number := self._shard_numbers.get(run)) is not None:
                by_shard.setdefault(number, []).append(index)
        return [
            (self._shards[number], [keys[index] for index in indexes], indexes)
            for number, indexes in by_shard.items()
        ]

    def _collect(
        self,
        keys: Sequence[SeriesKey],
        ask: Callable[[AnyShard, list[SeriesKey]], Sequence[R | None]],
    ) -> list[R | None]:
        """Ask the shards of some series; None for those that are missing or unavailable."""
        results: list[R | None] = [None] * len(keys)
        parts = self._split_by_shard(keys)
        answers = self._map_shards(lambda shard, shard_keys, _: ask(shard, shard_keys), parts)
        for (_, _, indexes), answer in zip(parts, answers, strict=True):
            for index, result in zip(indexes, answer or (), strict=answer is not None):
                results[index] = result
        return results

    def _map_shards(
        self, function: Callable[..., R], calls: Sequence[tuple[object, ...]]
    ) -> list[R | None]:
        """Call several shards at the same time; None for those that are unavailable."""

        def call(arguments: tuple[object, ...]) -> R | None:
            try:
                return function(*arguments)
            except UnavailableError:
                return None

        return list(map(call, calls) if len(calls) < 2 else self._pool.map(call, calls))

    def _iter_settings(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.settings)

    def _iter_captures(self) -> Iterator[CaptureFile]:
        return (capture for found in self._discoveries.values() for capture in found.captures)

    def _iter_tensors(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.tensors)

    def _iter_debug_files(self) -> Iterator[DebugEventFile]:
        return (file for found in self._discoveries.values() for file in found.debug_events)

    def _iter_evaluations(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.evaluations)

    def _iter_studies(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.studies)

    def _get_roots_to_list(self, changes: Changes) -> set[Root]:
        """Return the roots that changed, and those above changed files that are unknown."""
        unknown = [path for path in changes.files if path not in self._by_path]
        above = [root for root in self.roots if any(path.startswith(root.path) for path in unknown)]
        return {*changes.roots, *above}

    def _refresh_roots(self, roots: Iterable[Root]) -> set[str]:
        """List some roots and read what is new; return the names of the runs that changed."""
        old_settings = frozenset(self._iter_settings())
        old_captures = frozenset(self._iter_captures())
        old_tensors = frozenset(self._iter_tensors())
        old_debug_files = frozenset(self._iter_debug_files())
        old_evaluations = frozenset(self._iter_evaluations())
        old_studies = frozenset(self._iter_studies())
        for root in roots:
            self._discoveries[root] = self._discover(root, self._filesystems[root])
        self._runs = self._group_files()
        self._by_path = _group_by_path(self._runs)
        changed: set[str] = set()
        settings = {file.run for file in old_settings.symmetric_difference(self._iter_settings())}
        changed |= {run for run in self._runs if not settings.isdisjoint(iter_ancestors(run))}
        captures = {file.run for file in old_captures.symmetric_difference(self._iter_captures())}
        changed |= captures & self._runs.keys()
        debug_files = old_debug_files.symmetric_difference(self._iter_debug_files())
        changed |= {file.run for file in debug_files} & self._runs.keys()
        tensors = {file.run for file in old_tensors.symmetric_difference(self._iter_tensors())}
        changed |= self._runs.keys() & {self._find_run_above(directory) for directory in tensors}
        evaluations = old_evaluations.symmetric_difference(self._iter_evaluations())
        folders = {self._find_run_above(file.run) for file in evaluations}
        changed |= self._runs.keys() & folders
        # A log with such files only has no runs that could change.
        studies = old_studies.symmetric_difference(self._iter_studies())
        if tensors or evaluations or studies:
            self._bump_version()
        return changed | self._refresh_shards()

    def _refresh_shards(self) -> set[str]:
        """Assign all runs to shards and read what is new; return the names of changed runs."""
        sizes = {run: sum(file.stat.size for file in found) for run, found in self._runs.items()}
        old = self._shard_numbers or self._held_runs
        new = dict.fromkeys(sizes, 0)
        if len(self._shards) > 1:
            from tracklight.index.cluster import assign_runs

            new = assign_runs(sizes, old, len(self._shards))
        moved = {run: old[run] for run in new if old.get(run, new[run]) != new[run]}
        # A run that moves is read by its new shard before the old one gives it up.
        self._shard_numbers = {**new, **moved}
        changed = self._send_runs(new, moved)
        self._shard_numbers = new
        return changed | self._send_runs(new, {}) if moved else changed

    def _send_runs(self, numbers: Mapping[str, int], others: Mapping[str, int]) -> set[str]:
        runs: list[dict[str, list[DiscoveredFile]]] = [{} for _ in self._shards]
        for run, files in self._runs.items():
            runs[numbers[run]][run] = files
            if run in others:
                runs[others[run]][run] = files
        calls = list(zip(self._shards, runs, strict=True))
        results = self._map_shards(lambda shard, shard_runs: shard.refresh(shard_runs), calls)
        return {run for part in results for run in part or ()}

    def _discover(self, root: Root, fs: FileSystem) -> Discovery:
        """List a root; directories that cannot be listed now keep the files they had before."""
        found = discover(root, fs, self._include, self._exclude)
        old = self._discoveries.get(root)
        if old is not None and found.failed_directories:
            failed = tuple(path.rstrip("/") + "/" for path in found.failed_directories)
            files = [file for file in old.files if file.path.startswith(failed)]
            captures = [file for file in old.captures if file.path.startswith(failed)]
            found.files.extend(files)
            dumps = [file for file in old.debug_events if file.path.startswith(failed)]
            found.captures.extend(captures)
            found.debug_events.extend(dumps)
            runs = {file.run for group in (files, captures, dumps) for file in group}
            found.runs.extend(runs.difference(found.runs))
        return found

    def _group_files(self) -> dict[str, list[DiscoveredFile]]:
        runs: dict[str, list[DiscoveredFile]] = {}
        for found in self._discoveries.values():
            runs.update((run, runs.get(run, [])) for run in found.runs)
            for file in found.files:
                runs[file.run].append(file)
        return runs

    def _find_run_above(self, directory: str) -> str | None:
        return next((run for run in iter_ancestors(directory) if run in self._runs), None)

    def _refresh_files(self, paths: Iterable[str]) -> set[str]:
        """Read what is new in some known files; return the names of the runs that changed."""
        by_shard: dict[int, list[DiscoveredFile]] = {}
        for path in paths:
            stat = open_filesystem(path)[0].find_stat(path)
            if stat is None:
                continue
            for file in self._by_path.get(path, ()):
                number = self._shard_numbers[file.run]
                by_shard.setdefault(number, []).append(file._replace(stat=stat))
        results = self._map_shards(
            lambda shard, files: shard.read_new(files),
            [(self._shards[number], files) for number, files in by_shard.items()],
        )
        return {run for part in results for run in part or ()}

    def _make_delta(self, old_runs: Mapping[str, object], changed: set[str]) -> Delta:
        added, removed = self._runs.keys() - old_runs.keys(), old_runs.keys() - self._runs.keys()
        if added or removed or changed:
            self._bump_version()
        return Delta(self.version, *map(_sort_naturally, (added, removed, changed - added)))


def _group_by_path(runs: Mapping[str, Iterable[DiscoveredFile]]) -> dict[str, list[DiscoveredFile]]:
    """Group files by path; with overlapping roots, a file belongs to several runs."""
    by_path: dict[str, list[DiscoveredFile]] = {}
    for files in runs.values():
        for file in files:
            by_path.setdefault(file.path, []).append(file)
    return by_path


def _sort_naturally(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key))


def _apply_to_empty(key: SeriesKey, query: SeriesQuery, view: View[R]) -> R:
    """Return the result of a view for a series without points."""
    numbers = np.empty(0, np.float64)
    series = Series(*key, np.empty(0, np.int64), numbers, numbers, np.empty(0, np.bool_))
    return apply(series, query, view, None if query.metric is None else series)
