"""Finds what profilers left below a log directory, and opens it.

TensorFlow and JAX write ``<run>/plugins/profile/<time>/<host>.xplane.pb``, PyTorch
``<run>/<worker>.<time>.pt.trace.json`` or the same packed. Neither needs an event file beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.logdir.local import LocalFiles
from tracklight.logdir.natural import natural_key
from tracklight.logdir.roots import Root
from tracklight.profiles.kineto import read_kineto
from tracklight.profiles.trace import Trace
from tracklight.profiles.xplane import read_xplane

_XPLANE = ".xplane.pb"
_KINETO = (".pt.trace.json", ".pt.trace.json.gz")
_FOLDERS = ["plugins", "profile"]
#: Protobuf itself allows no more.
_LARGEST_XPLANE = 2 << 30


class Capture(NamedTuple):
    """One file; those of one run and session are of several hosts or workers."""

    run: str
    session: str
    host: str
    path: Path


def find_captures(roots: Iterable[Root]) -> list[Capture]:
    found = [capture for root in roots for capture in _iter_root(root)]
    return sorted(found, key=lambda each: [natural_key(name) for name in each[:3]])


def open_capture(path: Path) -> Trace:
    """Read a capture; FormatError says what is wrong with one that gives nothing."""
    trace = _read(path)
    if trace.problems and not len(trace):
        raise FormatError(f"{path.name}: {trace.problems[0]}")
    return trace


def _read(path: Path) -> Trace:
    if not path.name.endswith(_XPLANE):
        return read_kineto(path)
    if path.stat().st_size > _LARGEST_XPLANE:
        raise FormatError(f"{path.name} is larger than a profile can be (2 GB)")
    return read_xplane(path.read_bytes())


def is_capture(name: str) -> bool:
    return name.endswith((_XPLANE, *_KINETO))


def _iter_root(root: Root) -> Iterator[Capture]:
    for file in LocalFiles().list_files(root.path, is_capture, lambda _: False).files:
        host, _, session = _stem(file.name).partition(".")
        run = file.directory
        if file.name.endswith(_XPLANE):
            host, (run, *folders, session) = _stem(file.name), _split(file.directory)
            if folders != _FOLDERS:
                continue
        yield Capture(root.get_run_name(run), session, host, Path(file.path))


def _split(directory: str) -> tuple[str, ...]:
    """A run, the two folders that profiles are in below it, and the session."""
    *run, first, second, session = ["", "", "", *directory.split("/")]
    return "/".join(run).strip("/"), first, second, session


def _stem(name: str) -> str:
    ending = next(ending for ending in (_XPLANE, *_KINETO) if name.endswith(ending))
    return name[: -len(ending)]
