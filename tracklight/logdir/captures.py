"""What profilers leave beside event files, told by its place and name alone.

TensorFlow and JAX write ``<run>/plugins/profile/<time>/<host>.xplane.pb``, PyTorch
``<run>/<worker>.<time>.pt.trace.json``, packed or not. JAX saves profiles of memory under any name
that somebody gives; its documentation gives ``memory.prof``. None of them needs an event file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tracklight.logdir.filesystem import ListedFile
from tracklight.types import CaptureKind

_XPLANE = ".xplane.pb"
_TRACES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json")
_MEMORY = re.compile(r"(.*\.pprof|(.*[._-])?memory[^/]*\.prof)(\.gz)?")
_FOLDERS = ["plugins", "profile"]


class Named(NamedTuple):
    """A file by what its name says; those of one session are of several hosts."""

    directory: str
    """That of its run."""
    session: str
    host: str
    kind: CaptureKind
    file: ListedFile


def is_capture(name: str) -> bool:
    """Whether a file of this base name may be one."""
    return name.endswith((_XPLANE, *_TRACES)) or _is_memory(name)


def iter_captures(files: Iterable[ListedFile]) -> Iterator[Named]:
    """Those among some files; what JAX writes a second time for other viewers is left out."""
    folders: dict[str, list[ListedFile]] = defaultdict(list)
    for file in files:
        if is_capture(file.name):
            folders[file.directory].append(file)
    for directory, inside in folders.items():
        run, session = _split(directory)
        has_xplane = any(file.name.endswith(_XPLANE) for file in inside)
        for file in inside:
            if session and not (has_xplane and file.name.endswith(_TRACES)):
                yield _name(file)._replace(directory=run, session=session)
            elif not session and not file.name.endswith(_XPLANE):
                yield _name(file)


def _is_memory(name: str) -> bool:
    return "prof" in name and _MEMORY.fullmatch(name) is not None


def _name(file: ListedFile) -> Named:
    """Take the name of a file apart; hosts may have dots in theirs."""
    if file.name.endswith(_XPLANE):
        return Named(file.directory, "", file.name.removesuffix(_XPLANE), "xplane", file)
    ending = next((ending for ending in _TRACES if file.name.endswith(ending)), None)
    if ending is None:
        return Named(file.directory, file.name, "", "pprof", file)
    stem = file.name.removesuffix(ending)
    host, _, session = stem.rpartition(".")
    if not session.isdigit():
        host, session = "", stem
    return Named(file.directory, session, host, "chrome", file)


def _split(directory: str) -> tuple[str, str]:
    """The run that a folder is of, and the session, if it is one that profiles are put in."""
    *run, first, second, session = ["", "", "", *directory.split("/")]
    return ("/".join(run).strip("/"), session) if [first, second] == _FOLDERS else (directory, "")
