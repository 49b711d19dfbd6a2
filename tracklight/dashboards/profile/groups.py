"""Which files are one capture: what several hosts recorded at one time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime

from tracklight.types import CaptureFile
from tracklight.util.hashing import hash_key

#: Workers of one program end what they record within this time of one another.
_TOGETHER_S = 60.0
SESSION = "%Y_%m_%d_%H_%M_%S"
#: Names hold times in nanoseconds, or of older versions in milliseconds.
_UNITS = (1e9, 1e6, 1e3, 1.0)
_SANE_S = (1e9, 1e10)
#: How far apart clocks on walls are, in what steps, and how long after its name a file is written.
_WIDEST_ZONE_S, _ZONE_S, _SOON_S = 26 * 3600, 900, 300

_Key = tuple[str, ...]


def group_files(files: Iterable[CaptureFile]) -> Iterator[tuple[str, list[CaptureFile]]]:
    """The files of each capture under a name that stays, by run and time."""
    by_run: dict[str, list[CaptureFile]] = defaultdict(list)
    for file in files:
        by_run[file.run].append(file)
    for run, own in by_run.items():
        groups: dict[_Key, list[CaptureFile]] = {}
        for file in sorted(own, key=find_time_s):
            groups.setdefault(_find_group(groups, file), []).append(file)
        for key, group in groups.items():
            yield name_capture(run, *key), sorted(group, key=lambda file: file.host)


def find_time_s(file: CaptureFile) -> float:
    """When it was taken: what its name says, else when it was written."""
    if file.session.isdigit():
        times = (int(file.session) / unit for unit in _UNITS)
        return next((at for at in times if _SANE_S[0] <= at < _SANE_S[1]), file.mtime_s)
    try:
        named_s = datetime.strptime(file.session, SESSION).timestamp()
    except (ValueError, OverflowError, OSError):
        return file.mtime_s
    return file.mtime_s if _is_written_then(file.mtime_s - named_s) else named_s


def _is_written_then(after_s: float) -> bool:
    """Whether a file was written a moment after its name says, by a clock of any zone.

    Folders are named by the clock on the wall, wherever that hung, so the file knows better; unless
    it was copied since.
    """
    zones_s = after_s // _ZONE_S * _ZONE_S
    return abs(zones_s) <= _WIDEST_ZONE_S and after_s - zones_s <= _SOON_S


def _find_group(groups: dict[_Key, list[CaptureFile]], file: CaptureFile) -> _Key:
    """The folder is the group; where there is none, workers that recorded at about one time."""
    if file.kind != "chrome" or not file.session.isdigit():
        return file.kind, file.session
    for key, group in groups.items():
        is_near = find_time_s(file) - find_time_s(group[0]) <= _TOGETHER_S
        if key[0] == "near" and is_near and all(file.host != other.host for other in group):
            return key
    return "near", file.session, file.host


def name_capture(run: str, *group: str) -> str:
    """Return the id of a capture in URLs."""
    return hash_key(run, *group, size_bytes=8)
