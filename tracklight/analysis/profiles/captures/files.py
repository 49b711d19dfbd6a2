"""Finds what profilers left below a log directory, and opens it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tracklight.analysis.profiles.captures.chrome_trace import read_chrome_trace
from tracklight.analysis.profiles.captures.timestamps import align_device_clocks
from tracklight.analysis.profiles.captures.xplane import parse_xplane
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import FormatError
from tracklight.logdir.discover import discover
from tracklight.logdir.local import LocalFileSystem
from tracklight.logdir.names import natural_key
from tracklight.logdir.roots import Root
from tracklight.types import CaptureFile
from tracklight.util.hashing import hash_key

_XPLANE_SUFFIX = ".xplane.pb"

#: Protobuf itself allows no more.
_MAX_XPLANE_BYTES = 2 << 30


class Capture(NamedTuple):
    """One file; those of one run and session are of several hosts or workers."""

    run: str
    session: str
    host: str
    path: Path


def list_captures(roots: Iterable[Root]) -> list[Capture]:
    """Those with events; profiles of memory have none."""
    files = LocalFileSystem()
    found = (
        Capture(it.run, it.session, it.host, Path(it.path))
        for root in roots
        for it in discover(root, files).captures
        if it.kind != "pprof"
    )
    return sorted(found, key=lambda each: [natural_key(name) for name in each[:3]])


def open_capture(path: Path, on_progress: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a capture; FormatError says what is wrong with one that gives nothing.

    ``tell`` hears how much of it was read, as far as that is worth telling.
    """
    trace = align_device_clocks(_read_trace(path, on_progress))
    if trace.problems and not len(trace):
        raise FormatError(f'cannot read "{path.name}": {trace.problems[0]}')
    return trace


def _read_trace(path: Path, on_progress: Callable[[float], None]) -> Trace:
    if not path.name.endswith(_XPLANE_SUFFIX):
        return read_chrome_trace(path, on_progress)
    if path.stat().st_size > _MAX_XPLANE_BYTES:
        raise FormatError(f'"{path.name}" is larger than a profile can be (2 GB)')
    return parse_xplane(path.read_bytes())


# Which files are one capture: what several hosts recorded at one time.

#: Workers of one program end what they record within this time of one another.
_MAX_WORKER_GAP_S = 60.0

SESSION_FORMAT = "%Y_%m_%d_%H_%M_%S"

#: Names hold times in nanoseconds, or of older versions in milliseconds.
_SESSION_UNITS_PER_S = (1e9, 1e6, 1e3, 1.0)

_VALID_TIME_RANGE_S = (1e9, 1e10)

#: How far apart clocks on walls are, in what steps, and how long after its name a file is written.
_WIDEST_ZONE_S, _ZONE_S, _SOON_S = 26 * 3600, 900, 300

_GroupKey = tuple[str, ...]


def iter_capture_groups(files: Iterable[CaptureFile]) -> Iterator[tuple[str, list[CaptureFile]]]:
    """The files of each capture under a name that stays, by run and time."""
    by_run: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        by_run[file.run].append(file)
    for run, own in by_run.items():
        groups: dict[_GroupKey, list[CaptureFile]] = {}
        for file in sorted(own, key=get_capture_time_s):
            groups.setdefault(_get_group_key(groups, file), []).append(file)
        for key, group in groups.items():
            yield make_capture_id(run, *key), sorted(group, key=lambda file: file.host)


def get_capture_time_s(file: CaptureFile) -> float:
    """When it was taken: what its name says, else when it was written."""
    if file.session.isdigit():
        times = (int(file.session) / unit for unit in _SESSION_UNITS_PER_S)
        return next(
            (at for at in times if _VALID_TIME_RANGE_S[0] <= at < _VALID_TIME_RANGE_S[1]),
            file.mtime_s,
        )
    try:
        named_s = datetime.strptime(file.session, SESSION_FORMAT).timestamp()
    except (ValueError, OverflowError, OSError):
        return file.mtime_s
    return file.mtime_s if _is_written_at_session_time(file.mtime_s - named_s) else named_s


def _is_written_at_session_time(after_s: float) -> bool:
    """Whether a file was written a moment after its name says, by a clock of any zone.

    Folders are named by the clock on the wall, wherever that hung, so the file knows better; unless
    it was copied since.
    """
    zones_s = after_s // _ZONE_S * _ZONE_S
    return abs(zones_s) <= _WIDEST_ZONE_S and after_s - zones_s <= _SOON_S


def _get_group_key(groups: dict[_GroupKey, list[CaptureFile]], file: CaptureFile) -> _GroupKey:
    """The folder is the group; where there is none, workers that recorded at about one time."""
    if file.kind != "chrome" or not file.session.isdigit():
        return file.kind, file.session
    for key, group in groups.items():
        is_near = get_capture_time_s(file) - get_capture_time_s(group[0]) <= _MAX_WORKER_GAP_S
        if key[0] == "near" and is_near and all(file.host != other.host for other in group):
            return key
    return "near", file.session, file.host


def make_capture_id(run: str, *group: str) -> str:
    """Return the id of a capture in URLs."""
    return hash_key(run, *group, size_bytes=8)
