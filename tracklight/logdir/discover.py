"""What is a run, and what it is called.

A directory that directly holds a file with ``tfevents`` in its name is a run, and so is one that a
profiler left something in. Its name is its path from the root, with ``/`` on every system; the root
itself is ``.``; a named root adds its name in front. Bytes of a directory's name that are no UTF-8
are shown as ``\\xNN``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from tracklight.logdir.captures import is_capture, iter_captures
from tracklight.logdir.filesystem import FileStat, FileSystem, ListedFile
from tracklight.logdir.globs import RunFilter
from tracklight.logdir.natural import natural_key
from tracklight.logdir.roots import Root
from tracklight.logdir.tensors import is_companion, is_tensor_file
from tracklight.types import CaptureFile

_MARK = "tfevents"

#: TensorFlow leaves such a file so that a directory with a profile in it counts as a run.
_UNREAD = ".profile-empty"

#: What programs call the file in which they keep what a run was given.
SETTINGS_NAMES = frozenset(
    {
        *("hparams.yaml", "hparams.yml", "hparams.json", "params.json"),
        *("args.yaml", "args.yml", "args.json", "config.yaml", "config.yml", "config.json"),
    }
)


class FoundFile(NamedTuple):
    """An event file to be read, and the run it belongs to."""

    run: str
    path: str
    stat: FileStat


@dataclass(frozen=True, slots=True)
class Found:
    """All runs below one root at one moment."""

    #: In natural order. A run may have no file to be read.
    runs: list[str]
    #: By run, and within a run by file name, which is the order they were started in.
    files: list[FoundFile]
    #: Sentences to show to the user.
    problems: list[str]
    #: Directories that could not be listed: runs known to be below them may well still be there.
    unlisted: list[str]
    #: Real files and directories that links were followed to.
    linked: frozenset[str]
    #: Files with settings that lie in a run's directory or in one above it; ``run`` names that.
    settings: list[FoundFile] = field(default_factory=list)
    #: What profilers left, by run and session.
    captures: list[CaptureFile] = field(default_factory=list)
    #: Files with tensors, or with names of such files; ``run`` is as for settings.
    tensors: list[FoundFile] = field(default_factory=list)


def is_event_file(name: str) -> bool:
    """Whether a file of this base name makes its directory a run."""
    return _MARK in name


def iter_upwards(run: str) -> Iterator[str]:
    """A run and those above it; a log directory that is itself a run is called ``.``."""
    yield run
    while run:
        run = run.rpartition("/")[0]
        yield from (run, f"{run}/.") if run else (".",)


def discover(
    root: Root, fs: FileSystem, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> Found:
    """Find the runs below a root; nothing at all if it does not exist (yet).

    ``include`` and ``exclude`` are globs over run names; see `tracklight.logdir.globs`.
    """
    choice = RunFilter.parse(include, exclude)

    def is_excluded(relative: str) -> bool:
        return choice.excludes(root.get_run_name(_show(relative)))

    listing = fs.list_files(root.path, _is_wanted, is_excluded)
    by_run: dict[str, list[ListedFile]] = {}
    for file in filter(_is_of_run, listing.files):
        by_run.setdefault(root.get_run_name(_show(file.directory)), []).append(file)
    captures = [it for it in _iter_captures(root, listing.files) if choice.wants(it.run)]
    profiled = {capture.run for capture in captures}
    runs = sorted({*filter(choice.wants, by_run), *profiled}, key=natural_key)
    return Found(
        runs=runs,
        files=[file for run in runs for file in _iter_read(run, by_run.get(run, []))],
        problems=listing.problems,
        unlisted=listing.unlisted,
        linked=frozenset(listing.linked),
        settings=list(_iter_settings(root, listing.files)),
        captures=captures,
        tensors=list(_iter_tensors(root, listing.files)),
    )


def _is_wanted(name: str) -> bool:
    is_beside = name in SETTINGS_NAMES or is_capture(name)
    return is_beside or is_event_file(name) or is_tensor_file(name) or is_companion(name)


def _is_of_run(file: ListedFile) -> bool:
    return is_event_file(file.name)


def _iter_settings(root: Root, files: list[ListedFile]) -> Iterator[FoundFile]:
    """Those of directories with a run in or below them: others are settings of something else."""
    given = [file for file in files if file.name in SETTINGS_NAMES]
    if not given:
        return
    inhabited = {""}
    for file in filter(_is_of_run, files):
        directory = file.directory
        while directory not in inhabited:
            inhabited.add(directory)
            directory = directory.rpartition("/")[0]
    for file in sorted(given, key=attrgetter("path")):
        if file.directory in inhabited:
            yield FoundFile(root.get_run_name(_show(file.directory)), file.path, file.stat)


def _iter_tensors(root: Root, files: list[ListedFile]) -> Iterator[FoundFile]:
    """Alone, what could be a companion of them is something else."""
    has_tensors = any(is_tensor_file(file.name) for file in files)
    for file in files:
        if has_tensors and (is_tensor_file(file.name) or is_companion(file.name)):
            yield FoundFile(root.get_run_name(_show(file.directory)), file.path, file.stat)


def _iter_captures(root: Root, files: list[ListedFile]) -> Iterator[CaptureFile]:
    for named in sorted(iter_captures(files), key=lambda it: [natural_key(at) for at in it[:3]]):
        _, session, host, kind, (_, _, path, stat) = named
        run = root.get_run_name(_show(named.directory))
        written_s = stat.mtime_ns / 1e9
        yield CaptureFile(run, session, host, kind, path, stat.size, written_s, repr(stat))


def _iter_read(run: str, files: list[ListedFile]) -> Iterable[FoundFile]:
    for file in sorted(files, key=attrgetter("name")):
        if not file.name.endswith(_UNREAD):
            yield FoundFile(run, file.path, file.stat)


def _show(relative: str) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError:
        return os.fsencode(relative).decode("utf-8", "backslashreplace")
    return relative
