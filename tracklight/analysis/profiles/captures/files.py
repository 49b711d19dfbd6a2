"""Find capture files, group them into captures and open them.

A capture consists of one file per host or worker that recorded at the same time.
"""

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
from tracklight.formats.profiles import chrome_trace, xplane
from tracklight.logdir.access import Root
from tracklight.logdir.discover import discover
from tracklight.logdir.filesystem import LocalFileSystem
from tracklight.logdir.names import natural_key
from tracklight.types import MEMORY_KINDS, CaptureFile, CaptureKind
from tracklight.util.files import hash_key

#: Name of a session folder, in the local time of the machine that recorded it.
SESSION_FORMAT = "%Y_%m_%d_%H_%M_%S"

_XPLANE_SUFFIX = ".xplane.pb"
#: The limit of protobuf itself.
_MAX_XPLANE_BYTES = 2 << 30
#: Workers of one program finish recording within this time of each other.
_MAX_WORKER_GAP_S = 60.0
#: File names contain nanoseconds, in older versions milliseconds.
_SESSION_UNITS_PER_S = (1e9, 1e6, 1e3, 1.0)
_MIN_TIME_S, _MAX_TIME_S = 1e9, 1e10
#: Time zones are at most 26 hours apart, in steps of 15 minutes.
_MAX_ZONE_OFFSET_S, _ZONE_STEP_S = 26 * 3600, 900
#: A file is written at most this long after the time in the name of its session.
_MAX_WRITE_DELAY_S = 300

_GroupKey = tuple[str, ...]


class Capture(NamedTuple):
    """A capture file with a trace, or a memory snapshot."""

    run: str
    session: str
    host: str
    path: Path
    kind: CaptureKind


def list_captures(roots: Iterable[Root], *, with_snapshots: bool = False) -> list[Capture]:
    """List the capture files with a trace, sorted by run, session and host.

    Args:
        roots: The log directories.
        with_snapshots: Whether to list the memory snapshots of PyTorch as well. Other memory
            profiles are never listed.
    """
    file_system = LocalFileSystem()
    captures = (
        Capture(file.run, file.session, file.host, Path(file.path), file.kind)
        for root in roots
        for file in discover(root, file_system).captures
        if file.kind not in MEMORY_KINDS or (with_snapshots and file.kind == "snapshot")
    )
    return sorted(captures, key=lambda capture: [natural_key(name) for name in capture[:3]])


def open_capture(path: Path, on_progress: Callable[[float], None] = lambda share: None) -> Trace:
    """Read a capture file.

    Args:
        path: An XPlane protobuf (``.xplane.pb``) or a Chrome trace (``.json`` or ``.json.gz``).
        on_progress: Called with the share of the file that was read, from 0 to 1.

    Raises:
        FormatError: The file contains no readable event. Damaged files that do are read as far as
            possible; `Trace.problems` says what is missing.

    Example:
        >>> trace = open_capture(Path("logs/plugins/profile/run/host.xplane.pb"))
        >>> len(trace)
        12345
    """
    trace = align_device_clocks(_read_trace(path, on_progress))
    if trace.problems and not len(trace):
        raise FormatError(
            "files.unreadable_capture",
            'Cannot read "{name}": {reason}',
            name=path.name,
            reason=trace.problems[0],
        )
    return trace


def _read_trace(path: Path, on_progress: Callable[[float], None]) -> Trace:
    if not path.name.endswith(_XPLANE_SUFFIX):
        return read_chrome_trace(path, on_progress)
    if path.stat().st_size > _MAX_XPLANE_BYTES:
        raise FormatError(
            "profile.xplane_too_large",
            '"{name}" is larger than 2 GB, the limit of the XPlane format',
            name=path.name,
        )
    return parse_xplane(path.read_bytes())


def iter_capture_groups(files: Iterable[CaptureFile]) -> Iterator[tuple[str, list[CaptureFile]]]:
    """Group files into captures; yield the id and the files of each, by run and time."""
    by_run: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        by_run[file.run].append(file)
    for run, run_files in by_run.items():
        groups: dict[_GroupKey, list[CaptureFile]] = {}
        for file in sorted(run_files, key=get_capture_time_s):
            groups.setdefault(_get_group_key(groups, file), []).append(file)
        for key, group in groups.items():
            yield make_capture_id(run, *key), sorted(group, key=lambda file: file.host)


def make_capture_id(run: str, *group: str) -> str:
    """Return the id of a capture in URLs, which is stable across server restarts."""
    return hash_key(run, *group, size_bytes=8)


def get_capture_time_s(file: CaptureFile) -> float:
    """Return when a capture was recorded: the time in its name, or else when it was written."""
    if file.session.isdigit():
        times_s = (int(file.session) / unit for unit in _SESSION_UNITS_PER_S)
        valid_s = (time_s for time_s in times_s if _MIN_TIME_S <= time_s < _MAX_TIME_S)
        return next(valid_s, file.mtime_s)
    try:
        session_s = datetime.strptime(file.session, SESSION_FORMAT).timestamp()
    except (ValueError, OverflowError, OSError):
        return file.mtime_s
    return file.mtime_s if _is_written_at_session_time(file.mtime_s - session_s) else session_s


def read_start_time_s(path: Path, kind: CaptureKind) -> float | None:
    """Return when a capture began according to the file itself; None if it does not tell."""
    try:
        if kind == "xplane":
            with path.open("rb") as file:
                start_ns = xplane.read_start_time_ns(file)
        else:
            start_ns = chrome_trace.read_start_time_ns(path) if kind == "chrome" else 0
    except (OSError, FormatError):
        return None
    return start_ns / 1e9 if _MIN_TIME_S <= start_ns / 1e9 < _MAX_TIME_S else None


def _is_written_at_session_time(delay_s: float) -> bool:
    """Return whether a file was written right after the time in its name, in any time zone.

    Session folders are named in the local time of another machine, so the modification time is more
    reliable, unless the file was copied later.
    """
    zone_offset_s = delay_s // _ZONE_STEP_S * _ZONE_STEP_S
    return abs(zone_offset_s) <= _MAX_ZONE_OFFSET_S and delay_s - zone_offset_s <= (
        _MAX_WRITE_DELAY_S
    )


def _get_group_key(groups: dict[_GroupKey, list[CaptureFile]], file: CaptureFile) -> _GroupKey:
    """Return the group of a file: its session folder, or else workers that recorded together."""
    if file.kind != "chrome" or not file.session.isdigit():
        return file.kind, file.session
    for key, group in groups.items():
        is_near = get_capture_time_s(file) - get_capture_time_s(group[0]) <= _MAX_WORKER_GAP_S
        if key[0] == "near" and is_near and all(file.host != other.host for other in group):
            return key
    return "near", file.session, file.host
