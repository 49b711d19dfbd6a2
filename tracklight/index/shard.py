"""A shard owns some runs of a log: it reads their files, keeps their rows and answers queries.

All arguments and results are plain values and arrays, so that a shard could run in another process.
One thread at a time may refresh it; any number of threads may query it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from tracklight.errors import Message, RunNotFoundError
from tracklight.index import SegmentOrigin
from tracklight.index.aggregation import (
    CompactCurve,
    CurveReduction,
    compute_compact_curve,
    make_compact_curve,
)
from tracklight.index.cache import PackCache, SegmentStore
from tracklight.index.event_file import (
    EventFile,
    EventFileReader,
    RecordSlice,
    read_value,
    read_values,
)
from tracklight.index.pack import CorruptPackError, release_pages
from tracklight.index.run import RunIndex, list_plugin_data
from tracklight.index.series_query import CacheableView, SeriesQuery, View, apply
from tracklight.index.tags import (
    SummaryTable,
    get_last_points,
    list_shared_tags,
    list_tags,
    summarize,
)
from tracklight.logdir.access import open_filesystem
from tracklight.logdir.discover import DiscoveredFile
from tracklight.logdir.filesystem import FileSystem
from tracklight.logdir.tail import FileChange, classify_change, detect_change, free_buffers
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
from tracklight.util.memory import LruCache

T = TypeVar("T")
R = TypeVar("R")

#: A series: its run and its tag.
SeriesKey = tuple[str, str]

RunVersion = tuple[tuple[EventFile, int], ...]

#: Up to this many items, a loop is faster than handing them over to threads.
_MIN_PARALLEL_ITEMS = 16

#: Only loops over points run in parallel. With fewer points in all, threads would mostly wait for
#: the interpreter lock, and keep it from other requests.
_MIN_PARALLEL_POINTS = 200_000

#: Memory for results of queries, and how long they are kept after the last query.
_MAX_RESULT_BYTES = 32 << 20
_RESULT_IDLE_S = 60.0
#: Memory for curves of groups of runs, of which most do not change between two updates.
_MAX_CURVE_BYTES = 64 << 20

#: Threads that read files of object stores and web servers, and mostly wait for responses.
_REMOTE_THREADS = 16

#: The table of summaries is kept from this many runs on.
_MIN_CACHED_RUNS = 1000


class Shard:
    """Some runs of a log.

    Args:
        cache: The on-disk cache of the shard, if it has one.
        memory_bytes: Limit for the rows in memory.
        threads: Number of threads that read files, and of threads that run queries.
    """

    def __init__(
        self, cache: PackCache | None, memory_bytes: int, threads: int | None = None
    ) -> None:
        self._lock = threading.RLock()
        self._runs: dict[str, RunIndex] = {}
        self._by_run_and_path: dict[tuple[str, str], EventFile] = {}
        self._reader = EventFileReader(self._lock)
        threads = threads or min(8, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-read")
        # Both are started on first use.
        self._remote_pool = ThreadPoolExecutor(
            max(threads, _REMOTE_THREADS), thread_name_prefix="tracklight-read"
        )
        self._workers = WorkerPool(threads)
        self._store = SegmentStore(cache, memory_bytes, threads, self._lock)
        self._filesystems = FileSystems()
        self._problems: dict[str, Message] = {}
        self._progress = Progress(0, 0, 0, 0)
        self._generation = 0
        """Grows with every change of the rows."""
        self._summaries: tuple[int, SummaryTable] | None = None
        self._shared_tags: tuple[tuple[int, list[str]], tuple[SharedTag, ...]] | None = None
        self._results = ResultCache()
        self._curves = LruCache[str, dict[SeriesKey, tuple[RunVersion, CompactCurve]]](
            max_bytes=_MAX_CURVE_BYTES, idle_s=_RESULT_IDLE_S
        )

    # ---- refresh

    def refresh(self, runs: Mapping[str, Sequence[DiscoveredFile]]) -> set[str]:
        """Replace the runs and files of the shard and read what is new in them.

        Returns:
            The names of the runs that changed.
        """
        changed = self._update_runs(runs)
        return changed | self.read_new([file for files in runs.values() for file in files])

    def read_new(self, found: Iterable[DiscoveredFile]) -> set[str]:
        """Read what is new in some files of the shard; return the names of runs that changed."""
        jobs = [job for file in found if (job := self._find_job(file)) is not None]
        jobs.sort(key=lambda job: job[1].stat.size - job[0].origin.end, reverse=True)
        unread = (found.stat.size - file.origin.end for file, found in jobs)
        self._progress = Progress(0, len(jobs), 0, sum(max(0, size) for size in unread))
        is_remote = any("://" in found.path for _, found in jobs)
        pool = self._remote_pool if is_remote else self._pool
        results = pool.map(lambda job: self._read(*job), jobs)
        changed = {
            found.run for (_, found), is_changed in zip(jobs, results, strict=True) if is_changed
        }
        free_buffers()
        self._store.store_if_due(self._list_files())
        return changed

    @property
    def progress(self) -> Progress:
        return self._progress

    @property
    def problems(self) -> tuple[Message, ...]:
        """Messages about files that could not be read."""
        return tuple(self._problems.values())

    @property
    def missing_runs(self) -> tuple[str, ...]:
        """The runs that cannot be queried now: none, unlike those of a shard of a cluster."""
        return ()

    def close(self) -> None:
        """Stop the threads and store the rows that are not in the cache yet."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._remote_pool.shutdown(wait=True, cancel_futures=True)
        self._workers.close()
        self._store.close(self._list_files())

    # ---- queries; see `Catalog` for those without a docstring

    def runs(self) -> tuple[RunInfo, ...]:
        return self._retry_if_corrupt(lambda: tuple(run.info() for run in self._runs.values()))

    def list_runs(self) -> tuple[str, ...]:
        """Return the names of the runs."""
        with self._lock:
            return tuple(self._runs)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return self._retry_if_corrupt(lambda: list_tags(self._get_run(run)))

    def shared_tags(self, runs: Iterable[str]) -> tuple[SharedTag, ...]:
        """Return the tags of some runs together; unknown runs are ignored."""
        return self._retry_if_corrupt(lambda: self._list_shared_tags(list(runs)))

    def files(self, run: str) -> tuple[FileInfo, ...]:
        return self._retry_if_corrupt(
            lambda: tuple(file.info() for file in self._get_run(run).files)
        )

    def scalars(self, keys: Sequence[SeriesKey]) -> tuple[Series, ...]:
        return self._retry_if_corrupt(
            lambda: tuple(self._get_run(run).scalar(tag) for run, tag in keys)
        )

    def query(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        # Baselines are of other runs, which may change. Lines along a metric are not sorted.
        is_kept = query.baselines is None and query.metric is None
        if not is_kept or not isinstance(view, CacheableView):
            return self._compute(keys, query, view)
        versions = self._get_versions(keys)
        results = self._results.lookup(keys, versions, query, view)
        missing = [index for index, result in enumerate(results) if result is None]
        missing_keys = [keys[index] for index in missing]
        computed = self._compute(missing_keys, query, view) if missing else []
        for index, result in zip(missing, computed, strict=True):
            results[index] = result
        self._results.store(missing_keys, versions, query, view, computed)
        return results

    def reduce(
        self,
        keys: Sequence[SeriesKey],
        indexes: Sequence[int],
        query: SeriesQuery,
        reduction: CurveReduction[R],
    ) -> R:
        """Reduce several curves to one result; ``indexes`` are their positions in the request."""
        return reduction.reduce(np.array(indexes, np.int64), self._get_curves(keys, query))

    def _get_curves(self, keys: Sequence[SeriesKey], query: SeriesQuery) -> list[CompactCurve]:
        """Return curves, of which those of runs that have not changed since are kept."""
        is_kept = query.baselines is None and query.metric is None
        if not is_kept:
            return self._compute(keys, query, make_compact_curve)
        versions = self._get_versions(keys)
        name = str(query)
        kept = self._curves.find(name) or {}
        curves = [
            entry[1] if (entry := kept.get(key)) and entry[0] == versions[key[0]] else None
            for key in keys
        ]
        missing = [at for at, curve in enumerate(curves) if curve is None]
        if missing:
            missing_keys = [keys[at] for at in missing]
            computed = [
                compute_compact_curve(series, query) for series in self.scalars(missing_keys)
            ]
            release_pages()
            for at, curve in zip(missing, computed, strict=True):
                curves[at] = curve
            added = {
                key: (versions[key[0]], curve)
                for key, curve in zip(missing_keys, computed, strict=True)
            }
            merged = {**kept, **added}
            size_bytes = sum(curve.count_bytes() for _, curve in merged.values())
            if size_bytes > _MAX_CURVE_BYTES:
                merged, size_bytes = added, sum(curve.count_bytes() for curve in computed)
            self._curves.put(name, merged, size_bytes)
        return [curve for curve in curves if curve is not None]

    def _get_versions(self, keys: Sequence[SeriesKey]) -> dict[str, RunVersion]:
        with self._lock:
            return {run: self._get_run(run).get_version() for run in {run for run, _ in keys}}

    def _compute(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        all_series = self.scalars(keys)
        metrics = self._get_axis_metrics(keys, query)

        def compute(series: Series) -> R:
            return apply(series, query, view, metrics.get(series.run))

        if sum(map(len, all_series)) < _MIN_PARALLEL_POINTS:
            results = [compute(series) for series in all_series]
        else:
            results = self._workers.map(compute, all_series)
        release_pages()
        return results

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        summaries = self._retry_if_corrupt(lambda: [self._find_summary(*key) for key in keys])
        release_pages()
        return summaries

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        columns = self._retry_if_corrupt(lambda: self._get_summary_table(runs).summarize(runs, tag))
        release_pages()
        return columns

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        if len(keys) < _MIN_CACHED_RUNS:
            return self._retry_if_corrupt(lambda: [*self._iter_last_points(keys)])
        runs_of_tag: dict[str, dict[str, None]] = {}
        for run, tag in keys:
            runs_of_tag.setdefault(tag, {})[run] = None
        points = {
            tag: dict(zip(runs, self._read_last_points([*runs], tag), strict=True))
            for tag, runs in runs_of_tag.items()
        }
        return [points[tag][run] for run, tag in keys]

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        with self._lock:
            return list_plugin_data(self._runs.values(), tag)

    def locate(self, run: str, tag: str) -> ValueLocations:
        return self._retry_if_corrupt(lambda: self._get_run(run).locate(tag))

    # ---- internals

    def _retry_if_corrupt(self, query: Callable[[], R]) -> R:
        """Run a query under the lock; if the cache is corrupt, read the logs again and retry."""
        with self._lock:
            try:
                return query()
            except CorruptPackError as error:
                self._reread(error)
                return query()

    def _get_axis_metrics(self, keys: Sequence[SeriesKey], query: SeriesQuery) -> dict[str, Series]:
        """Return the series on the x axis by run, if the axis is a metric."""
        tag = query.metric
        if tag is None:
            return {}
        runs = {run for run, _ in keys}
        return self._retry_if_corrupt(
            lambda: {run: self._get_run(run).scalar_or_empty(tag) for run in runs}
        )

    def _get_summary_table(self, runs: Sequence[str]) -> SummaryTable:
        """Return a table of some runs; that for long lists is kept until a run changes."""
        if len(runs) < _MIN_CACHED_RUNS:
            return SummaryTable({run: self._runs[run] for run in runs if run in self._runs})
        if self._summaries is None or self._summaries[0] != self._generation:
            self._summaries = self._generation, SummaryTable(self._runs)
        return self._summaries[1]

    def _list_shared_tags(self, names: list[str]) -> tuple[SharedTag, ...]:
        """List the tags of some runs; those of the last long list are kept until a run changes."""
        key = self._generation, names
        if self._shared_tags is not None and self._shared_tags[0] == key:
            return self._shared_tags[1]
        shared = list_shared_tags([self._runs[name] for name in names if name in self._runs])
        if len(names) >= _MIN_CACHED_RUNS:
            self._shared_tags = key, shared
        return shared

    def _read_last_points(self, runs: Sequence[str], tag: str) -> list[Point | None]:
        return self._retry_if_corrupt(
            lambda: self._get_summary_table(runs).get_last_points(runs, tag)
        )

    def _get_run(self, name: str) -> RunIndex:
        try:
            return self._runs[name]
        except KeyError:
            raise RunNotFoundError(name, self._runs) from None

    def _find_summary(self, name: str, tag: str) -> SeriesSummary | None:
        run = self._runs.get(name)
        return None if run is None or tag not in run.sources() else summarize(run.scalar(tag))

    def _iter_last_points(self, keys: Sequence[SeriesKey]) -> Iterator[Point | None]:
        for name, run_keys in groupby(keys, key=itemgetter(0)):
            run, tags = self._runs.get(name), [tag for _, tag in run_keys]
            yield from [None] * len(tags) if run is None else get_last_points(run, tags)

    def _list_files(self) -> list[EventFile]:
        return [file for run in self._runs.values() for file in run.files]

    def _update_runs(self, runs: Mapping[str, Sequence[DiscoveredFile]]) -> set[str]:
        """Replace the runs and their files; return the names of runs with other files."""
        changed = set()
        with self._lock:
            updated = {}
            for name, found in runs.items():
                run = updated[name] = self._runs.get(name) or RunIndex(name)
                files = [self._get_file(name, file.path) for file in found]
                if files != run.files:
                    changed.add(name)
                    run.files = files
            self._runs = updated
            self._generation += 1
            self._forget_all_but({(name, f.path) for name, files in runs.items() for f in files})
        return changed

    def _get_file(self, run: str, path: str) -> EventFile:
        file = self._by_run_and_path.get((run, path))
        if file is None:
            file = self._by_run_and_path[run, path] = EventFile(path)
        return file

    def _forget_all_but(self, kept: set[tuple[str, str]]) -> None:
        for key in self._by_run_and_path.keys() - kept:
            self._reader.forget(self._by_run_and_path.pop(key))

    def _find_job(self, found: DiscoveredFile) -> tuple[EventFile, DiscoveredFile] | None:
        """Return the file to read, or None if its stat shows that there is nothing new."""
        file = self._by_run_and_path.get((found.run, found.path))
        if file is None:
            return None
        origin = self._trace_origin(file)
        if (
            origin is None
            or classify_change(origin.stat, origin.end, found.stat) is not FileChange.UNCHANGED
        ):
            return file, found
        self._load_stored(file)
        return None

    def _trace_origin(self, file: EventFile) -> SegmentOrigin | None:
        """Return what was read of a file before, by this process or another one."""
        if file.is_read:
            return file.origin
        return self._store.find_origin(file.path)

    def _load_stored(self, file: EventFile) -> None:
        if not file.is_read:
            with self._lock:
                for segment in self._store.get_segments(file.path):
                    file.add_stored_segment(segment)

    def _read(self, file: EventFile, found: DiscoveredFile) -> bool:
        """Read what is new in one file; return whether anything changed."""
        try:
            fs = self._filesystems.get(file.path)
            origin = self._trace_origin(file)
            is_replaced = False
            if origin is not None and origin.fingerprint is not None:
                change = detect_change(fs, file.path, origin.stat, origin.fingerprint, found.stat)
                is_replaced = change is FileChange.REPLACED and file.is_read
                if is_replaced:
                    file = self._replace(file, found.run)
                elif change is not FileChange.REPLACED:
                    self._load_stored(file)
            has_new = self._reader.read(
                fs, file, found.stat, lambda done_bytes: self._on_progress(file, done_bytes)
            )
            self._problems.pop(file.path, None)
            return has_new or is_replaced
        except OSError as error:
            self._problems[file.path] = Message.format(
                "files.cannot_read",
                'cannot read "{path}": {reason}',
                path=file.path,
                reason=error.strerror or error,
            )
            return False
        finally:
            self._advance(files=1)

    def _replace(self, file: EventFile, run: str) -> EventFile:
        """Replace a file by an unread one with the same path."""
        new = EventFile(file.path)
        with self._lock:
            self._reader.forget(file)
            files = self._runs[run].files
            files[files.index(file)] = new
            self._by_run_and_path[run, file.path] = new
        return new

    def _on_progress(self, file: EventFile, done_bytes: int) -> None:
        self._advance(done_bytes=done_bytes)
        self._store.store_if_large(file)

    def _advance(self, files: int = 0, done_bytes: int = 0) -> None:
        with self._lock:
            self._generation += 1
            progress = self._progress
            self._progress = Progress(
                progress.files_done + files,
                progress.files_total,
                min(progress.bytes_done + done_bytes, progress.bytes_total),
                progress.bytes_total,
            )

    def _reread(self, error: CorruptPackError) -> None:
        """Discard a corrupt pack and read the files again that have rows in it."""
        self._store.discard_pack(error.path)
        for run in self._runs.values():
            for file in [file for file in run.files if file.uses_pack(error.path)]:
                stat = file.origin.stat
                new = self._replace(file, run.name)
                self._reader.read(self._filesystems.get(new.path), new, stat, lambda _: None)


class ResultCache:
    """Results of queries on runs that have not changed since; most runs of a live log do not."""

    def __init__(self) -> None:
        self._cache = LruCache[tuple[str, str, str], tuple[RunVersion, Any]](
            max_bytes=_MAX_RESULT_BYTES, idle_s=_RESULT_IDLE_S
        )

    def lookup(
        self,
        keys: Sequence[SeriesKey],
        versions: Mapping[str, RunVersion],
        query: SeriesQuery,
        view: CacheableView,
    ) -> list[Any]:
        """Return the stored result of each series, or None."""
        names = [(name, f"{query} {name}") for name in view.get_lookup_keys()]

        def find_one(run: str, tag: str) -> Any | None:
            for name, full_name in names:
                entry = self._cache.find((run, tag, full_name))
                if entry is not None and entry[0] == versions[run] and view.accepts(name, entry[1]):
                    return entry[1]
            return None

        return [find_one(run, tag) for run, tag in keys]

    def store(
        self,
        keys: Sequence[SeriesKey],
        versions: Mapping[str, RunVersion],
        query: SeriesQuery,
        view: CacheableView,
        results: Sequence[Any],
    ) -> None:
        prefix = str(query)
        for (run, tag), result in zip(keys, results, strict=True):
            key = run, tag, f"{prefix} {view.get_store_key(result)}"
            self._cache.put(key, (versions[run], result), view.count_bytes(result))


class FileSystems:
    """Open file systems, one for each store."""

    def __init__(self) -> None:
        self._by_store: dict[str, FileSystem] = {}

    def get(self, path: str) -> FileSystem:
        store = "/".join(path.split("/", 3)[:3]) if "://" in path else ""
        if store not in self._by_store:
            self._by_store[store] = open_filesystem(path)[0]
        return self._by_store[store]


class ValueReader:
    """Read values other than scalars from their event files, at locations that a shard returned."""

    def __init__(self) -> None:
        self._filesystems = FileSystems()

    def read(self, locations: ValueLocations, index: int) -> bytes:
        path = locations.paths[locations.file[index]]
        return read_value(self._filesystems.get(path), path, _make_record_slice(locations, index))

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """Read several values; each file is opened once."""
        by_file: dict[int, list[int]] = {}
        for index in indexes:
            by_file.setdefault(int(locations.file[index]), []).append(index)
        values: dict[int, bytes] = {}
        for file, file_indexes in by_file.items():
            path = locations.paths[file]
            slices = [_make_record_slice(locations, index) for index in file_indexes]
            file_values = read_values(self._filesystems.get(path), path, slices)
            values.update(zip(file_indexes, file_values, strict=True))
        return [values[index] for index in indexes]


class WorkerPool:
    """Threads for computations, started on first use.

    They are separate from the threads that read files, which may be busy for minutes while a user
    waits for a chart.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-query")

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return ``function(item)`` for each item, in order."""
        if self._threads == 1 or len(items) <= _MIN_PARALLEL_ITEMS:
            return [function(item) for item in items]
        size = max(1, len(items) // (4 * self._threads))
        chunks = [items[start : start + size] for start in range(0, len(items), size)]
        results = self._pool.map(lambda chunk: [function(item) for item in chunk], chunks)
        return [result for chunk in results for result in chunk]

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


def _make_record_slice(locations: ValueLocations, index: int) -> RecordSlice:
    columns = locations.record, locations.start, locations.size
    return RecordSlice(*(int(column[index]) for column in columns))
