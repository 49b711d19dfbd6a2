"""What profilers leave beside event files, told by its place and name alone.

TensorFlow and JAX write ``<run>/plugins/profile/<time>/<host>.xplane.pb``, PyTorch
``<run>/<worker>.<time>.pt.trace.json``, packed or not. JAX saves profiles of memory under any name
that somebody gives; its documentation gives ``memory.prof``. None of them needs an event file.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from tracklight.logdir.filesystem import FileStat, FileSystem, ListedFile
from tracklight.logdir.names import RunFilter, natural_key
from tracklight.logdir.roots import Root
from tracklight.types import CaptureFile, CaptureKind

_XPLANE_SUFFIX = ".xplane.pb"

_TRACE_SUFFIXES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json")

_MEMORY_PROFILE = re.compile(r"(.*\.pprof|(.*[._-])?memory[^/]*\.prof)(\.gz)?")

_PROFILE_FOLDERS = ["plugins", "profile"]


class ListedCapture(NamedTuple):
    """A file by what its name says; those of one session are of several hosts."""

    directory: str
    """That of its run."""
    session: str
    host: str
    kind: CaptureKind
    file: ListedFile


def is_capture(name: str) -> bool:
    """Whether a file of this base name may be one."""
    return name.endswith((_XPLANE_SUFFIX, *_TRACE_SUFFIXES)) or _is_memory_profile(name)


def iter_captures(files: Iterable[ListedFile]) -> Iterator[ListedCapture]:
    """Those among some files; what JAX writes a second time for other viewers is left out."""
    folders: dict[str, list[ListedFile]] = defaultdict(list)
    for file in files:
        if is_capture(file.name):
            folders[file.directory].append(file)
    for directory, inside in folders.items():
        run, session = _split_session(directory)
        has_xplane = any(file.name.endswith(_XPLANE_SUFFIX) for file in inside)
        for file in inside:
            if session and not (has_xplane and file.name.endswith(_TRACE_SUFFIXES)):
                yield _parse_capture_name(file)._replace(directory=run, session=session)
            elif not session and not file.name.endswith(_XPLANE_SUFFIX):
                yield _parse_capture_name(file)


def _is_memory_profile(name: str) -> bool:
    return "prof" in name and _MEMORY_PROFILE.fullmatch(name) is not None


def _parse_capture_name(file: ListedFile) -> ListedCapture:
    """Take the name of a file apart; hosts may have dots in theirs."""
    if file.name.endswith(_XPLANE_SUFFIX):
        return ListedCapture(
            file.directory, "", file.name.removesuffix(_XPLANE_SUFFIX), "xplane", file
        )
    ending = next((ending for ending in _TRACE_SUFFIXES if file.name.endswith(ending)), None)
    if ending is None:
        return ListedCapture(file.directory, file.name, "", "pprof", file)
    stem = file.name.removesuffix(ending)
    host, _, session = stem.rpartition(".")
    if not session.isdigit():
        host, session = "", stem
    return ListedCapture(file.directory, session, host, "chrome", file)


def _split_session(directory: str) -> tuple[str, str]:
    """The run that a folder is of, and the session, if it is one that profiles are put in."""
    *run, first, second, session = ["", "", "", *directory.split("/")]
    return (
        ("/".join(run).strip("/"), session)
        if [first, second] == _PROFILE_FOLDERS
        else (directory, "")
    )


# Names of files that hold tensors, or say where some are, whatever framework wrote them.

#: What a projector is told of vectors in; TensorBoard's name for it.
PROJECTOR_CONFIG = "projector_config.pbtxt"

#: ``.index`` is that of a TensorFlow checkpoint.
TENSOR_SUFFIXES = (
    ".index",
    ".weights.h5",
    ".h5",
    ".hdf5",
    ".keras",
    ".safetensors",
    ".npy",
    ".npz",
    ".pt",
    ".pth",
    ".ckpt",
)

#: What a config may name: vectors as text or raw memory, and labels.
_COMPANION_SUFFIXES = (".tsv", ".bytes")


def is_tensor_companion(name: str) -> bool:
    """Whether a file of this base name may belong to one with tensors or to a config."""
    return name.endswith(_COMPANION_SUFFIXES)


def is_tensor_file(name: str) -> bool:
    """Whether a file of this base name may hold vectors, or names where they are."""
    return name == PROJECTOR_CONFIG or name.endswith(TENSOR_SUFFIXES)


# What is a run, and what it is called.
#
# A directory that directly holds a file with ``tfevents`` in its name is a run, and so is one that a
# profiler left something in. Its name is its path from the root, with ``/`` on every system; the root
# itself is ``.``; a named root adds its name in front. Bytes of a directory's name that are no UTF-8
# are shown as ``\xNN``.

_EVENT_FILE_MARKER = "tfevents"

#: TensorFlow leaves such a file so that a directory with a profile in it counts as a run.
_EMPTY_PROFILE_SUFFIX = ".profile-empty"

#: What programs call the file in which they keep what a run was given.
SETTINGS_FILE_NAMES = frozenset(
    {
        *("hparams.yaml", "hparams.yml", "hparams.json", "params.json"),
        *("args.yaml", "args.yml", "args.json", "config.yaml", "config.yml", "config.json"),
    }
)


class DiscoveredFile(NamedTuple):
    """An event file to be read, and the run it belongs to."""

    run: str
    path: str
    stat: FileStat


@dataclass(frozen=True, slots=True)
class Discovery:
    """All runs below one root at one moment."""

    #: In natural order. A run may have no file to be read.
    runs: list[str]
    #: By run, and within a run by file name, which is the order they were started in.
    files: list[DiscoveredFile]
    #: Sentences to show to the user.
    problems: list[str]
    #: Directories that could not be listed: runs known to be below them may well still be there.
    failed_directories: list[str]
    #: Real files and directories that links were followed to.
    linked: frozenset[str]
    #: Files with settings that lie in a run's directory or in one above it; ``run`` names that.
    settings: list[DiscoveredFile] = field(default_factory=list)
    #: What profilers left, by run and session.
    captures: list[CaptureFile] = field(default_factory=list)
    #: Files with tensors, or with names of such files; ``run`` is as for settings.
    tensors: list[DiscoveredFile] = field(default_factory=list)


def is_event_file(name: str) -> bool:
    """Whether a file of this base name makes its directory a run."""
    return _EVENT_FILE_MARKER in name


def iter_ancestors(run: str) -> Iterator[str]:
    """A run and those above it; a log directory that is itself a run is called ``.``."""
    yield run
    while run:
        run = run.rpartition("/")[0]
        yield from (run, f"{run}/.") if run else (".",)


def discover(
    root: Root, fs: FileSystem, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> Discovery:
    """Find the runs below a root; nothing at all if it does not exist (yet).

    ``include`` and ``exclude`` are globs over run names; see `tracklight.logdir.names`.
    """
    choice = RunFilter.parse(include, exclude)

    def is_excluded(relative: str) -> bool:
        return choice.excludes(root.get_run_name(_make_printable(relative)))

    listing = fs.list_files(root.path, _is_relevant, is_excluded)
    by_run: dict[str, list[ListedFile]] = {}
    for file in filter(_is_listed_event_file, listing.files):
        by_run.setdefault(root.get_run_name(_make_printable(file.directory)), []).append(file)
    captures = [it for it in _iter_capture_files(root, listing.files) if choice.matches(it.run)]
    profiled = {capture.run for capture in captures}
    runs = sorted({*filter(choice.matches, by_run), *profiled}, key=natural_key)
    return Discovery(
        runs=runs,
        files=[file for run in runs for file in _iter_event_files(run, by_run.get(run, []))],
        problems=listing.problems,
        failed_directories=listing.failed_directories,
        linked=frozenset(listing.linked),
        settings=list(_iter_settings_files(root, listing.files)),
        captures=captures,
        tensors=list(_iter_tensor_files(root, listing.files)),
    )


def _is_relevant(name: str) -> bool:
    is_beside = name in SETTINGS_FILE_NAMES or is_capture(name)
    return is_beside or is_event_file(name) or is_tensor_file(name) or is_tensor_companion(name)


def _is_listed_event_file(file: ListedFile) -> bool:
    return is_event_file(file.name)


def _iter_settings_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Those of directories with a run in or below them: others are settings of something else."""
    given = [file for file in files if file.name in SETTINGS_FILE_NAMES]
    if not given:
        return
    inhabited = {""}
    for file in filter(_is_listed_event_file, files):
        directory = file.directory
        while directory not in inhabited:
            inhabited.add(directory)
            directory = directory.rpartition("/")[0]
    for file in sorted(given, key=attrgetter("path")):
        if file.directory in inhabited:
            yield DiscoveredFile(
                root.get_run_name(_make_printable(file.directory)), file.path, file.stat
            )


def _iter_tensor_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Alone, what could be a companion of them is something else."""
    has_tensors = any(is_tensor_file(file.name) for file in files)
    for file in files:
        if has_tensors and (is_tensor_file(file.name) or is_tensor_companion(file.name)):
            yield DiscoveredFile(
                root.get_run_name(_make_printable(file.directory)), file.path, file.stat
            )


def _iter_capture_files(root: Root, files: list[ListedFile]) -> Iterator[CaptureFile]:
    for named in sorted(iter_captures(files), key=lambda it: [natural_key(at) for at in it[:3]]):
        _, session, host, kind, (_, _, path, stat) = named
        run = root.get_run_name(_make_printable(named.directory))
        written_s = stat.mtime_ns / 1e9
        yield CaptureFile(run, session, host, kind, path, stat.size, written_s, repr(stat))


def _iter_event_files(run: str, files: list[ListedFile]) -> Iterable[DiscoveredFile]:
    for file in sorted(files, key=attrgetter("name")):
        if not file.name.endswith(_EMPTY_PROFILE_SUFFIX):
            yield DiscoveredFile(run, file.path, file.stat)


def _make_printable(relative: str) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError:
        return os.fsencode(relative).decode("utf-8", "backslashreplace")
    return relative
