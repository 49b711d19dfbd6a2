"""The index of a whole log: finds its runs, distributes them over shards and queries the shards."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from tracklight.errors import Message
from tracklight.index.cache import DEFAULT_CACHE_BYTES, PackCache, find_cache_folder
from tracklight.index.series_query import SeriesQuery, View
from tracklight.index.shard import SeriesKey, Shard
from tracklight.index.tags import merge_shared_tags
from tracklight.logdir.access import escapes_roots, fetch_local_copy, open_filesystem
from tracklight.logdir.discover import DiscoveredFile, Discovery, discover, iter_ancestors
from tracklight.logdir.filesystem import FileHandle, FileSystem
from tracklight.logdir.names import natural_key
from tracklight.logdir.roots import Root
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
    TagInfo,
    TensorFileEntry,
    ValueLocations,
)

R = TypeVar("R")

DEFAULT_MEMORY_BYTES = 2 << 30

#: Settings files are read up to this size.
_MAX_SETTINGS_BYTES = 1 << 20


class Catalog:
    """The index of one log, which may consist of several directories.

    One thread at a time may refresh it; any number of threads may query it. It implements the
    `Source` that dashboards read from.

    Args:
        roots: The log directories.
        include: Patterns of runs to include, all if empty; see `tracklight.logdir.names`.
        exclude: Patterns of runs to exclude.
        cache: Whether to use the on-disk cache, or the folder of the cache.
        cache_bytes: Limit for the caches of all logs.
        memory_bytes: Limit for the rows in memory.
        shards: Number of shards.

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
    ) -> None:
        self.roots = tuple(roots)
        self.version = 0
        self._include, self._exclude = tuple(include), tuple(exclude)
        self._filesystems = {root: open_filesystem(root.path)[0] for root in roots}
        self._shards = [
            Shard(_make_cache(roots, cache, cache_bytes, number), memory_bytes // shards)
            for number in range(shards)
        ]
        self._cache_folder = _find_cache_folder(roots, cache, 0)
        self._discoveries: dict[Root, Discovery] = {}
        self._runs: dict[str, list[DiscoveredFile]] = {}
        self._by_path: dict[str, list[DiscoveredFile]] = {}

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
    def failed_roots(self) -> tuple[Message, ...]:
        """Messages about roots without any run because they could not be listed."""
        failed = (found for found in self._discoveries.values() if not found.runs)
        return tuple(problem for found in failed for problem in found.problems)

    def close(self) -> None:
        """Stop all threads and store what is not in the cache yet."""
        for shard in self._shards:
            shard.close()

    # ---- queries

    def runs(self) -> tuple[RunInfo, ...]:
        """Return all runs, in natural order."""
        runs = (run for shard in self._shards for run in shard.runs())
        return tuple(sorted(runs, key=lambda run: natural_key(run.name)))

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        """Return the tags of a run, in natural order; raises RunNotFoundError."""
        return self._get_shard(run).tags(run)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """Return the tags of some runs together, each with the runs that have it in this order."""
        by_shard: dict[int, list[str]] = {}
        for run in runs:
            by_shard.setdefault(self._get_shard_number(run), []).append(run)
        parts = [self._shards[number].shared_tags(names) for number, names in by_shard.items()]
        return merge_shared_tags((tag for part in parts for tag in part), runs)

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
        results: dict[int, R] = {}
        for shard, shard_keys, indexes in self._split_by_shard(keys):
            results.update(zip(indexes, shard.query(shard_keys, query, view), strict=True))
        return [results[index] for index in range(len(keys))]

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        """Return count, last point and extremes of several series; None for missing ones."""
        summaries: list[SeriesSummary | None] = [None] * len(keys)
        for shard, shard_keys, indexes in self._split_by_shard(keys):
            for index, summary in zip(indexes, shard.summaries(shard_keys), strict=True):
                summaries[index] = summary
        return summaries

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        """Return the last written point of several series; None for missing and empty ones."""
        points: list[Point | None] = [None] * len(keys)
        for shard, shard_keys, indexes in self._split_by_shard(keys):
            for index, point in zip(indexes, shard.last_points(shard_keys), strict=True):
                points[index] = point
        return points

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        """Return the plugin data in the metadata of a tag, by run."""
        return {run: data for shard in self._shards for run, data in shard.plugin_data(tag).items()}

    def locate(self, run: str, tag: str) -> ValueLocations:
        """Return steps, wall times and file positions of the non-scalar values of a tag."""
        return self._get_shard(run).locate(run, tag)

    def read(self, locations: ValueLocations, index: int) -> bytes:
        """Read one of these values from its event file.

        Raises:
            CorruptRecordError: The record fails its checksum, or the file has been replaced.
        """
        return self._get_shard(locations.run).read(locations, index)

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """Read several of these values, which is much faster than one after the other."""
        return self._get_shard(locations.run).read_many(locations, indexes)

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

    def _get_shard_number(self, run: str) -> int:
        return zlib.crc32(run.encode("utf-8", "surrogateescape")) % len(self._shards)

    def _get_shard(self, run: str) -> Shard:
        return self._shards[self._get_shard_number(run)]

    def _split_by_shard(
        self, keys: Sequence[SeriesKey]
    ) -> list[tuple[Shard, list[SeriesKey], list[int]]]:
        """Return each shard with its keys and their indexes in ``keys``."""
        by_shard: dict[int, list[int]] = {}
        for index, (run, _) in enumerate(keys):
            by_shard.setdefault(self._get_shard_number(run), []).append(index)
        return [
            (self._shards[number], [keys[index] for index in indexes], indexes)
            for number, indexes in by_shard.items()
        ]

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
        self.version += bool(tensors or evaluations or studies)
        for number, shard in enumerate(self._shards):
            shard_runs = {
                run: files
                for run, files in self._runs.items()
                if self._get_shard_number(run) == number
            }
            changed |= shard.refresh(shard_runs)
        return changed

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
                number = self._get_shard_number(file.run)
                by_shard.setdefault(number, []).append(file._replace(stat=stat))
        changed: set[str] = set()
        for number, files in by_shard.items():
            changed |= self._shards[number].read_new(files)
        return changed

    def _make_delta(self, old_runs: Mapping[str, object], changed: set[str]) -> Delta:
        added, removed = self._runs.keys() - old_runs.keys(), old_runs.keys() - self._runs.keys()
        if added or removed or changed:
            self.version += 1
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


def _make_cache(
    roots: Sequence[Root], cache: bool | Path, limit_bytes: int, shard: int
) -> PackCache | None:
    """Return the cache of a shard; each has its own folder, because it only caches its runs."""
    folder = _find_cache_folder(roots, cache, shard)
    return PackCache(folder, limit_bytes) if folder else None


def _find_cache_folder(roots: Sequence[Root], cache: bool | Path, shard: int) -> Path | None:
    base = None if isinstance(cache, bool) else cache
    return find_cache_folder([root.path for root in roots], base, shard) if cache else None
