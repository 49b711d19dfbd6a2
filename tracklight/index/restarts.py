"""Which points were overwritten: by a later point at the same or an earlier step, or by a restart.

Points are kept in the order written: file by file, and within a file session by session. Files of
one run that were written at the same time are several workers, not a restart, so they never
overwrite each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tracklight.types import Bool, Float64, Int64

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Part:
    """One series' rows of one session of one file."""

    file: int
    session_start: int | None
    """Step of the SessionLog.START that opened the session."""
    step: Int64
    wall: Float64
    rises: bool
    file_since: float
    """When the file's first row of any series was written."""


@dataclass(slots=True)
class _Floor:
    """The lowest step that was written, or restarted from, after some moment of one file."""

    step: int
    since: float


def overwritten(parts: Sequence[Part]) -> Bool:
    """One mark for each point of the parts, which stand in the order written."""
    if len(parts) == 1 and parts[0].rises:
        return np.zeros(len(parts[0].step), np.bool_)
    marks = [np.zeros(0, np.bool_)]
    floors: dict[int, _Floor] = {}
    ends: dict[int, float] = {}
    several = len({part.file for part in parts}) > 1
    for part in parts if several else ():  # times are only read where files have to be compared
        ends[part.file] = max(ends.get(part.file, -np.inf), _latest(part.wall))
    for part in reversed(parts):
        marks.append(_mark(part, _floor_above(part.file, ends.get(part.file, -np.inf), floors)))
        _lower(floors, part, _since(part) if several else part.file_since)
    return np.concatenate(marks[:0:-1]) if len(marks) > 1 else marks[0]


def _mark(part: Part, floor: int) -> Bool:
    if part.rises:
        return part.step >= floor
    lowest_after = np.empty_like(part.step)
    lowest_after[-1:] = floor
    np.minimum.accumulate(part.step[:0:-1], out=lowest_after[-2::-1])
    np.minimum(lowest_after, floor, out=lowest_after)
    return part.step >= lowest_after


def _floor_above(file: int, end: float, floors: dict[int, _Floor]) -> int:
    """The lowest step that came later: in the rest of the file, or in files begun after its end."""
    return min(
        (floor.step for other, floor in floors.items() if other == file or not floor.since < end),
        default=_NEVER,
    )


def _since(part: Part) -> float:
    return _earliest(part.wall) if len(part.wall) else part.file_since


def _lower(floors: dict[int, _Floor], part: Part, since: float) -> None:
    step = int(part.step.min()) if len(part.step) else _NEVER
    if part.session_start is not None:
        step = min(step, part.session_start)
    known = floors.get(part.file)
    if known is not None:
        step, since = min(step, known.step), min(since, known.since)
    floors[part.file] = _Floor(step, since)


def _earliest(wall: Float64) -> float:
    return float(np.fmin.reduce(wall, initial=np.inf))


def _latest(wall: Float64) -> float:
    return float(np.fmax.reduce(wall, initial=-np.inf))
