"""Does the same to many things at once, on as many threads as there are processors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from typing import TypeVar

from tracklight.errors import RunNotFoundError
from tracklight.index.blocks import SegmentOrigin
from tracklight.index.cache import PackCache, SegmentStore
from tracklight.index.event_file import (
    EventFile,
    EventFileReader,
    RecordSlice,
    read_value,
    read_values,
)
from tracklight.index.pack import CorruptPackError, release_pages
from tracklight.index.run import RunIndex
from tracklight.index.series_query import SeriesQuery, View, apply
from tracklight.index.tags import get_last_points, list_shared_tags, list_tags, summarize
from tracklight.logdir.access import open_filesystem
from tracklight.logdir.discover import DiscoveredFile
from tracklight.logdir.file_changes import FileChange, classify_change, detect_change
from tracklight.logdir.filesystem import FileSystem
from tracklight.types import (
    FileInfo,
    Point,
    Progress,
    RunInfo,
    Series,
    SeriesSummary,
    SharedTag,
    TagInfo,
    ValueLocations,
)

T = TypeVar("T")

R = TypeVar("R")

#: Fewer things are done sooner than they are handed over.
_MIN_PARALLEL_ITEMS = 16


class WorkerPool:
    """Threads that are started when they are first needed; not those that read files, which may
    be busy for minutes while somebody waits for a chart."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-look")

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What ``work`` makes of each thing, in order."""
        if self._threads == 1 or len(items) <= _MIN_PARALLEL_ITEMS:
            return [function(thing) for thing in items]
        size = max(1, len(items) // (4 * self._threads))
        parts = [items[at : at + size] for at in range(0, len(items), size)]
        done = self._pool.map(lambda part: [function(thing) for thing in part], parts)
        return [result for part in done for result in part]

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)


# A shard owns some runs: it follows their files, holds their columns and answers with columns.
#
# Its methods take and give plain values and arrays, so that a shard may as well live in another
# process. One thread at a time refreshes it; any number may ask.

#: A series: its run and its tag.
SeriesKey = tuple[str, str]


class Shard:
    """Some runs of a log."""

    def __init__(
        self, cache: PackCache | None, memory_bytes: int, threads: int | None = None
    ) -> None:
        self._lock = threading.RLock()
        self._runs: dict[str, RunIndex] = {}
        self._by_run_and_path: dict[tuple[str, str], EventFile] = {}  # by run and path
        self._reader = EventFileReader(self._lock)
        threads = threads or min(8, os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="tracklight-read")
        self._workers = WorkerPool(threads)
        self._store = SegmentStore(cache, memory_bytes, threads, self._lock)
        self._filesystems: dict[str, FileSystem] = {}
        self._problems: dict[str, str] = {}
        self._progress = Progress(0, 0, 0, 0)

    # ---- following the files

    def refresh(self, runs: Mapping[str, Sequence[DiscoveredFile]]) -> set[str]:
        """Take these to be all runs and files there are; read what is new; name what changed."""
        changed = self._update_runs(runs)
        return changed | self.read_new([file for files in runs.values() for file in files])

    def read_new(self, found: Iterable[DiscoveredFile]) -> set[str]:
        """Read what is new in some files of the shard's runs; name the runs that changed."""
        work = [job for file in found if (job := self._find_work(file)) is not None]
        work.sort(key=lambda job: job[1].stat.size - job[0].origin.end, reverse=True)
        unread = (found.stat.size - file.origin.end for file, found in work)
        self._progress = Progress(0, len(work), 0, sum(max(0, size) for size in unread))
        changed = self._pool.map(lambda job: self._read(*job), work)
        names = {found.run for (_, found), news in zip(work, changed, strict=True) if news}
        self._store.store_if_due(self._files())
        return names

    @property
    def progress(self) -> Progress:
        return self._progress

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on files that could not be read."""
        return tuple(self._problems.values())

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._workers.close()
        self._store.close(self._files())

    # ---- answering

    def runs(self) -> tuple[RunInfo, ...]:
        return self._retry_if_corrupt(lambda: tuple(run.info() for run in self._runs.values()))

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return self._retry_if_corrupt(lambda: list_tags(self._get_run(run)))

    def shared_tags(self, runs: Iterable[str]) -> tuple[SharedTag, ...]:
        """The tags of some runs together; a run that is gone has none."""
        return self._retry_if_corrupt(
            lambda: list_shared_tags([self._runs[r] for r in runs if r in self._runs])
        )

    def files(self, run: str) -> tuple[FileInfo, ...]:
        return self._retry_if_corrupt(
            lambda: tuple(file.info() for file in self._get_run(run).files)
        )

    def scalars(self, keys: Sequence[SeriesKey]) -> tuple[Series, ...]:
        return self._retry_if_corrupt(
            lambda: tuple(self._get_run(run).scalar(tag) for run, tag in keys)
        )

    def query(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        """What a view shows of some series through a lens."""
        series = self.scalars(keys)
        metrics = self._get_axis_metrics(keys, query)
        seen = self._workers.map(lambda one: apply(one, query, view, metrics.get(one.run)), series)
        release_pages()
        return seen

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        """Some series in a few numbers each; None for one that is not there."""
        found = self._retry_if_corrupt(lambda: [self._find_summary(*key) for key in keys])
        release_pages()
        return found

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        """The points of some series that were written last; None for one without any."""
        return self._retry_if_corrupt(lambda: [*self._iter_last_points(keys)])

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        """What the metadata of a tag holds for its plugin, for every run that has the tag."""
        with self._lock:
            return {
                name: run.describe(sources)[0].content
                for name, run in self._runs.items()
                if (sources := run.sources().get(tag))
            }

    def locate(self, run: str, tag: str) -> ValueLocations:
        return self._retry_if_corrupt(lambda: self._get_run(run).locate(tag))

    def read(self, locations: ValueLocations, index: int) -> bytes:
        """The bytes of one value, from the log itself."""
        path = locations.paths[locations.file[index]]
        return read_value(self._get_filesystem(path), path, _make_record_slice(locations, index))

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """The bytes of several values, for which each file is opened once."""
        by_file: dict[int, list[int]] = {}
        for index in indexes:
            by_file.setdefault(int(locations.file[index]), []).append(index)
        found: dict[int, bytes] = {}
        for file, own in by_file.items():
            path = locations.paths[file]
            places = [_make_record_slice(locations, index) for index in own]
            values = read_values(self._get_filesystem(path), path, places)
            found.update(zip(own, values, strict=True))
        return [found[index] for index in indexes]

    # ---- inside

    def _retry_if_corrupt(self, query: Callable[[], R]) -> R:
        """Answer under the lock; where the cache proves damaged, read the logs again first."""
        with self._lock:
            try:
                return query()
            except CorruptPackError as damaged:
                self._reread(damaged)
                return query()

    def _get_axis_metrics(self, keys: Sequence[SeriesKey], lens: SeriesQuery) -> dict[str, Series]:
        """Of each run the tag that stands on the axis, if one does."""
        tag = lens.metric
        if tag is None:
            return {}
        runs = {run for run, _ in keys}
        return self._retry_if_corrupt(
            lambda: {run: self._get_run(run).scalar_or_empty(tag) for run in runs}
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
        for name, own in groupby(keys, key=itemgetter(0)):
            run, tags = self._runs.get(name), [tag for _, tag in own]
            yield from [None] * len(tags) if run is None else get_last_points(run, tags)

    def _files(self) -> list[EventFile]:
        return [file for run in self._runs.values() for file in run.files]

    def _get_filesystem(self, path: str) -> FileSystem:
        place = "/".join(path.split("/", 3)[:3]) if "://" in path else ""
        if place not in self._filesystems:
            self._filesystems[place] = open_filesystem(path)[0]
        return self._filesystems[place]

    def _update_runs(self, runs: Mapping[str, Sequence[DiscoveredFile]]) -> set[str]:
        """Make the runs and their files those that were found."""
        changed = set()
        with self._lock:
            arranged = {}
            for name, found in runs.items():
                run = arranged[name] = self._runs.get(name) or RunIndex(name)
                files = [self._get_file(name, file.path) for file in found]
                if files != run.files:
                    changed.add(name)
                    run.files = files
            self._runs = arranged
            self._forget_all_but({(name, f.path) for name, files in runs.items() for f in files})
        return changed

    def _get_file(self, run: str, path: str) -> EventFile:
        return self._by_run_and_path.setdefault((run, path), EventFile(path))

    def _forget_all_but(self, places: set[tuple[str, str]]) -> None:
        for place in self._by_run_and_path.keys() - places:
            self._reader.forget(self._by_run_and_path.pop(place))

    def _find_work(self, found: DiscoveredFile) -> tuple[EventFile, DiscoveredFile] | None:
        """The file, unless a look at its size and time shows that there is nothing to read."""
        file = self._by_run_and_path.get((found.run, found.path))
        if file is None:
            return None
        origin = self._find_origin(file)
        if (
            origin is None
            or classify_change(origin.stat, origin.end, found.stat) is not FileChange.UNCHANGED
        ):
            return file, found
        self._load_stored(file)
        return None

    def _find_origin(self, file: EventFile) -> SegmentOrigin | None:
        """What was read of a file before, by this process or another."""
        if file.is_read:
            return file.origin
        chain = self._store.get_segments(file.path)
        return chain[-1].origin if chain else None

    def _load_stored(self, file: EventFile) -> None:
        if not file.is_read:
            with self._lock:
                for segment in self._store.get_segments(file.path):
                    file.add_stored_segment(segment)

    def _read(self, file: EventFile, found: DiscoveredFile) -> bool:
        """Bring one file up to date; say whether that changed anything."""
        try:
            fs = self._get_filesystem(file.path)
            origin = self._find_origin(file)
            replaced = False
            if origin is not None and origin.fingerprint is not None:
                change = detect_change(fs, file.path, origin.stat, origin.fingerprint, found.stat)
                replaced = change is FileChange.REPLACED and file.is_read
                if replaced:
                    file = self._replace(file, found.run)
                elif change is not FileChange.REPLACED:
                    self._load_stored(file)
            news = self._reader.read(
                fs, file, found.stat, lambda done: self._on_progress(file, done)
            )
            self._problems.pop(file.path, None)
            return news or replaced
        except OSError as error:
            self._problems[file.path] = f'cannot read "{file.path}": {error.strerror or error}'
            return False
        finally:
            self._advance(files=1)

    def _replace(self, file: EventFile, run: str) -> EventFile:
        """Forget all that was read of a file."""
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
            now = self._progress
            self._progress = Progress(
                now.files_done + files,
                now.files_total,
                min(now.bytes_done + done_bytes, now.bytes_total),
                now.bytes_total,
            )

    def _reread(self, damaged: CorruptPackError) -> None:
        """A pack is not what was written: forget all that came from it, and read the logs."""
        self._store.discard_pack(damaged.path)
        for run in self._runs.values():
            for file in [file for file in run.files if file.uses_pack(damaged.path)]:
                stat = file.origin.stat
                new = self._replace(file, run.name)
                self._reader.read(self._get_filesystem(new.path), new, stat, lambda done: None)


def _make_record_slice(located: ValueLocations, index: int) -> RecordSlice:
    columns = located.record, located.start, located.size
    return RecordSlice(*(int(column[index]) for column in columns))
