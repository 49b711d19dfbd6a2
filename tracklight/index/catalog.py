"""All runs of a log: finds them, spreads them over shards, and asks the shards about them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from tracklight.index.cache import DEFAULT_CACHE_BYTES, PackCache, find_cache_folder
from tracklight.index.series_query import SeriesQuery, View
from tracklight.index.shard import SeriesKey, Shard
from tracklight.index.tags import merge_shared_tags
from tracklight.logdir.access import escapes_roots, fetch_local_copy, open_filesystem
from tracklight.logdir.discover import DiscoveredFile, Discovery, discover, iter_ancestors
from tracklight.logdir.filesystem import FileSystem
from tracklight.logdir.names import natural_key
from tracklight.logdir.roots import Root
from tracklight.logdir.watch import Changes
from tracklight.types import (
    CaptureFile,
    Delta,
    FileInfo,
    Point,
    Progress,
    RunInfo,
    Series,
    SeriesSummary,
    SettingsFile,
    SharedTag,
    TagInfo,
    TensorFileEntry,
    ValueLocations,
)

R = TypeVar("R")

DEFAULT_MEMORY_BYTES = 2 << 30

#: More is no file that somebody keeps settings in.
_MAX_SETTINGS_BYTES = 1 << 20


class Catalog:
    """The index of one log, which may be several directories.

    One thread at a time refreshes it; any number may ask.
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
        self._cache_folder = _find_cache(roots, cache, 0)
        self._discoveries: dict[Root, Discovery] = {}
        self._runs: dict[str, list[DiscoveredFile]] = {}
        self._by_path: dict[str, list[DiscoveredFile]] = {}

    # ---- keeping up to date

    def refresh(self, changes: Changes | None = None) -> Delta:
        """Read what is new; ``changes`` saves looking where nothing happened."""
        before = self._runs
        changed: set[str] = set()
        roots = self.roots if changes is None else self._roots_to_list(changes)
        if roots:
            changed |= self._refresh_roots(roots)
        if changes is not None:
            changed |= self._refresh_files(changes.files)
        return self._make_delta(before, changed)

    @property
    def cache_folder(self) -> Path | None:
        """Where what takes long to make of this log may be kept; None where nothing may be."""
        return self._cache_folder

    @property
    def linked(self) -> Mapping[Root, frozenset[str]]:
        """Directories that links below the roots lead to, for who watches them."""
        return {root: found.linked for root, found in self._discoveries.items()}

    @property
    def progress(self) -> Progress:
        """How far the refresh under way has come."""
        counts = [shard.progress for shard in self._shards]
        return Progress(
            files_done=sum(p.files_done for p in counts),
            files_total=sum(p.files_total for p in counts),
            bytes_done=sum(p.bytes_done for p in counts),
            bytes_total=sum(p.bytes_total for p in counts),
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on what could not be listed or read."""
        listing = [problem for found in self._discoveries.values() for problem in found.problems]
        return (*listing, *(problem for shard in self._shards for problem in shard.problems))

    @property
    def failed_roots(self) -> tuple[str, ...]:
        """Sentences on roots in which no run was found because they could not be listed."""
        failed = (found for found in self._discoveries.values() if not found.runs)
        return tuple(problem for found in failed for problem in found.problems)

    def close(self) -> None:
        for shard in self._shards:
            shard.close()

    # ---- answering

    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, in natural order."""
        runs = (run for shard in self._shards for run in shard.runs())
        return tuple(sorted(runs, key=lambda run: natural_key(run.name)))

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return self._get_shard(run).tags(run)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """The tags of some runs together, each with those that have it in the order given."""
        own: dict[int, list[str]] = {}
        for run in runs:
            own.setdefault(self._get_shard_number(run), []).append(run)
        parts = [self._shards[shard].shared_tags(names) for shard, names in own.items()]
        return merge_shared_tags((share for part in parts for share in part), runs)

    def files(self, run: str) -> tuple[FileInfo, ...]:
        return self._get_shard(run).files(run)

    def scalar(self, run: str, tag: str) -> Series:
        return self._get_shard(run).scalars([(run, tag)])[0]

    def query(self, keys: Sequence[SeriesKey], query: SeriesQuery, view: View[R]) -> list[R]:
        """Apply ``view`` to several series (run, tag) after axis, smoothing and baseline.

        Shards return only the result of the view, however many points a series has.
        """
        found: dict[int, R] = {}
        for shard, asked, own in self._split_by_shard(keys):
            found.update(zip(own, shard.query(asked, query, view), strict=True))
        return [found[place] for place in range(len(keys))]

    def summaries(self, keys: Sequence[SeriesKey]) -> list[SeriesSummary | None]:
        """Some series in a few numbers each; None for one that is not there."""
        found: list[SeriesSummary | None] = [None] * len(keys)
        for shard, asked, own in self._split_by_shard(keys):
            for place, digest in zip(own, shard.summaries(asked), strict=True):
                found[place] = digest
        return found

    def last_points(self, keys: Sequence[SeriesKey]) -> list[Point | None]:
        """The points of some series that were written last; None for one without any."""
        found: list[Point | None] = [None] * len(keys)
        for shard, asked, own in self._split_by_shard(keys):
            for place, point in zip(own, shard.last_points(asked), strict=True):
                found[place] = point
        return found

    def plugin_data(self, tag: str) -> dict[str, bytes]:
        """What the metadata of a tag holds for its plugin, for every run that has the tag."""
        return {run: data for shard in self._shards for run, data in shard.plugin_data(tag).items()}

    def settings(self) -> tuple[SettingsFile, ...]:
        """The files beside runs, or above them, that may hold what they were given."""
        return tuple(
            SettingsFile(file.run, file.path, repr(file.stat)) for file in self._iter_settings()
        )

    def read_settings(self, file: SettingsFile) -> bytes:
        """Such a file, or the first part of one that is far too large; OSError if it has gone.

        One that is only a link to a file elsewhere is not read, as anything could be there.
        """
        self._check_inside_roots(file.path)
        return open_filesystem(file.path)[0].read(file.path, 0, _MAX_SETTINGS_BYTES)

    def captures(self) -> tuple[CaptureFile, ...]:
        """What profilers left, by run and session."""
        return tuple(self._iter_captures())

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        """Such a file on this machine, which may be a copy for as long as it is looked at."""
        self._check_inside_roots(capture.path)
        return fetch_local_copy(capture.path)

    def tensor_files(self) -> tuple[TensorFileEntry, ...]:
        """The files that hold tensors, or say where some are."""
        return tuple(
            TensorFileEntry(file.run, file.path, repr(file.stat)) for file in self._iter_tensors()
        )

    def locate(self, run: str, tag: str) -> ValueLocations:
        return self._get_shard(run).locate(run, tag)

    def read(self, locations: ValueLocations, index: int) -> bytes:
        """The bytes of one value that `located` tells the place of, from the log itself."""
        return self._get_shard(locations.run).read(locations, index)

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """Several of these values at once, which is much sooner done than one after the other."""
        return self._get_shard(locations.run).read_many(locations, indexes)

    # ---- inside

    def _check_inside_roots(self, path: str) -> None:
        if escapes_roots(path, (root.path for root in self.roots)):
            raise PermissionError(f'"{path}" leads out of the log directory')

    def _get_shard_number(self, run: str) -> int:
        return zlib.crc32(run.encode("utf-8", "surrogateescape")) % len(self._shards)

    def _split_by_shard(
        self, keys: Sequence[SeriesKey]
    ) -> list[tuple[Shard, list[SeriesKey], list[int]]]:
        """For each shard that owns some of the keys: these keys, and their places among all."""
        places: dict[int, list[int]] = {}
        for place, (run, _) in enumerate(keys):
            places.setdefault(self._get_shard_number(run), []).append(place)
        return [(self._shards[n], [keys[p] for p in own], own) for n, own in places.items()]

    def _get_shard(self, run: str) -> Shard:
        return self._shards[self._get_shard_number(run)]

    def _discover(self, root: Root, fs: FileSystem) -> Discovery:
        """What is below a root now; where it could not be listed, what was there before."""
        found = discover(root, fs, self._include, self._exclude)
        known = self._discoveries.get(root)
        if known is not None and found.failed_directories:
            hidden = tuple(path.rstrip("/") + "/" for path in found.failed_directories)
            kept = [file for file in known.files if file.path.startswith(hidden)]
            profiles = [file for file in known.captures if file.path.startswith(hidden)]
            found.files.extend(kept)
            found.captures.extend(profiles)
            runs = {*(file.run for file in kept), *(file.run for file in profiles)}
            found.runs.extend(runs.difference(found.runs))
        return found

    def _group_files(self) -> dict[str, list[DiscoveredFile]]:
        runs: dict[str, list[DiscoveredFile]] = {}
        for found in self._discoveries.values():
            runs.update((run, runs.get(run, [])) for run in found.runs)
            for file in found.files:
                runs[file.run].append(file)
        return runs

    def _iter_settings(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.settings)

    def _iter_captures(self) -> Iterator[CaptureFile]:
        return (capture for found in self._discoveries.values() for capture in found.captures)

    def _iter_tensors(self) -> Iterator[DiscoveredFile]:
        return (file for found in self._discoveries.values() for file in found.tensors)

    def _roots_to_list(self, changes: Changes) -> set[Root]:
        """A file that changed and is not known has come by another way than its name tells."""
        unknown = [path for path in changes.files if path not in self._by_path]
        beside = [root for root in self.roots if any(p.startswith(root.path) for p in unknown)]
        return {*changes.roots, *beside}

    def _refresh_roots(self, roots: Iterable[Root]) -> set[str]:
        """Look at some roots as a whole."""
        settings, captures = frozenset(self._iter_settings()), frozenset(self._iter_captures())
        tensors = frozenset(self._iter_tensors())
        for root in roots:
            self._discoveries[root] = self._discover(root, self._filesystems[root])
        self._runs = self._group_files()
        self._by_path = _group_by_path(self._runs)
        written = {file.run for file in settings.symmetric_difference(self._iter_settings())}
        changed = {run for run in self._runs if not written.isdisjoint(iter_ancestors(run))}
        profiled = {it.run for it in captures.symmetric_difference(self._iter_captures())}
        changed |= profiled & self._runs.keys()
        saved = {file.run for file in tensors.symmetric_difference(self._iter_tensors())}
        changed |= self._runs.keys() & {self._find_run_above(run) for run in saved}
        # They may be all there is, and then it is no run that tells of them.
        self.version += bool(saved)
        for number, shard in enumerate(self._shards):
            own = {
                run: files
                for run, files in self._runs.items()
                if self._get_shard_number(run) == number
            }
            changed |= shard.refresh(own)
        return changed

    def _find_run_above(self, directory: str) -> str | None:
        return next((run for run in iter_ancestors(directory) if run in self._runs), None)

    def _refresh_files(self, paths: Iterable[str]) -> set[str]:
        """Look at some files only."""
        wanted: dict[int, list[DiscoveredFile]] = {}
        for path in paths:
            stat = open_filesystem(path)[0].find_stat(path)
            if stat is None:
                continue
            for file in self._by_path.get(path, ()):
                wanted.setdefault(self._get_shard_number(file.run), []).append(
                    file._replace(stat=stat)
                )
        changed: set[str] = set()
        for number, files in wanted.items():
            changed |= self._shards[number].read_new(files)
        return changed

    def _make_delta(self, before: Mapping[str, object], changed: set[str]) -> Delta:
        added, removed = self._runs.keys() - before.keys(), before.keys() - self._runs.keys()
        if added or removed or changed:
            self.version += 1
        return Delta(self.version, *map(_sort_naturally, (added, removed, changed - added)))


def _group_by_path(runs: Mapping[str, Iterable[DiscoveredFile]]) -> dict[str, list[DiscoveredFile]]:
    """Overlapping roots give one file to several runs."""
    found: dict[str, list[DiscoveredFile]] = {}
    for files in runs.values():
        for file in files:
            found.setdefault(file.path, []).append(file)
    return found


def _sort_naturally(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=natural_key))


def _make_cache(
    roots: Sequence[Root], cache: bool | Path, limit_bytes: int, shard: int
) -> PackCache | None:
    """Shards have a folder each, as each reads and writes its own runs only."""
    folder = _find_cache(roots, cache, shard)
    return PackCache(folder, limit_bytes) if folder else None


def _find_cache(roots: Sequence[Root], cache: bool | Path, shard: int) -> Path | None:
    base = None if isinstance(cache, bool) else cache
    return find_cache_folder([root.path for root in roots], base, shard) if cache else None
