"""Finds what profilers left below a log directory, and opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.logdir.discover import discover
from tracklight.logdir.local import LocalFiles
from tracklight.logdir.natural import natural_key
from tracklight.logdir.roots import Root
from tracklight.profiles.reading.clocks import set_clocks
from tracklight.profiles.reading.kineto import read_kineto
from tracklight.profiles.reading.xplane import read_xplane
from tracklight.profiles.trace import Trace

_XPLANE = ".xplane.pb"
#: Protobuf itself allows no more.
_LARGEST_XPLANE = 2 << 30


class Capture(NamedTuple):
    """One file; those of one run and session are of several hosts or workers."""

    run: str
    session: str
    host: str
    path: Path


def find_captures(roots: Iterable[Root]) -> list[Capture]:
    """Those with events; profiles of memory have none."""
    files = LocalFiles()
    found = (
        Capture(it.run, it.session, it.host, Path(it.path))
        for root in roots
        for it in discover(root, files).captures
        if it.kind != "pprof"
    )
    return sorted(found, key=lambda each: [natural_key(name) for name in each[:3]])


def open_capture(path: Path, tell: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a capture; FormatError says what is wrong with one that gives nothing.

    ``tell`` hears how much of it was read, as far as that is worth telling.
    """
    trace = set_clocks(_read(path, tell))
    if trace.problems and not len(trace):
        raise FormatError(f'cannot read "{path.name}": {trace.problems[0]}')
    return trace


def _read(path: Path, tell: Callable[[float], None]) -> Trace:
    if not path.name.endswith(_XPLANE):
        return read_kineto(path, tell)
    if path.stat().st_size > _LARGEST_XPLANE:
        raise FormatError(f'"{path.name}" is larger than a profile can be (2 GB)')
    return read_xplane(path.read_bytes())
