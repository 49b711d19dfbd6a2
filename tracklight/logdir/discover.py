"""What is a run, and what it is called.

A directory that directly holds a file with ``tfevents`` in its name is a run. Its name is its path
from the root, with ``/`` on every system; the root itself is ``.``; a named root adds its name in
front. Bytes of a directory's name that are no UTF-8 are shown as ``\\xNN``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from tracklight.logdir.filesystem import FileStat, FileSystem, ListedFile
from tracklight.logdir.globs import RunFilter
from tracklight.logdir.natural import natural_key
from tracklight.logdir.roots import Root

_MARK = "tfevents"

#: TensorFlow leaves such a file so that a directory with a profile in it counts as a run.
_UNREAD = ".profile-empty"


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


def is_event_file(name: str) -> bool:
    """Whether a file of this base name makes its directory a run."""
    return _MARK in name


def discover(
    root: Root, fs: FileSystem, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> Found:
    """Find the runs below a root; nothing at all if it does not exist (yet).

    ``include`` and ``exclude`` are globs over run names; see `tracklight.logdir.globs`.
    """
    choice = RunFilter.parse(include, exclude)

    def is_excluded(relative: str) -> bool:
        return choice.excludes(root.get_run_name(_show(relative)))

    listing = fs.list_files(root.path, is_event_file, is_excluded)
    by_run: dict[str, list[ListedFile]] = {}
    for file in listing.files:
        by_run.setdefault(root.get_run_name(_show(file.directory)), []).append(file)
    runs = sorted(filter(choice.wants, by_run), key=natural_key)
    return Found(
        runs=runs,
        files=[file for run in runs for file in _iter_read(run, by_run[run])],
        problems=listing.problems,
        unlisted=listing.unlisted,
        linked=frozenset(listing.linked),
    )


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
