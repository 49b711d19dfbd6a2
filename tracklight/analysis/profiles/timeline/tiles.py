"""Tiles: what the viewer draws of some tracks in a range of time, at one level of detail."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.arrays import unique_inverse
from tracklight.analysis.profiles.timeline.layout import Timeline
from tracklight.analysis.profiles.timeline.pyramid import Entries, concat_entries
from tracklight.types import Float64, Int32

#: A tile is ``2 ** TILE_BITS`` cells wide.
TILE_BITS = 10
#: Entries of at least this many cells have room for a label.
_MIN_LABEL_CELLS = 12
_MAX_NAME_LENGTH = 200
#: In a static export, one can zoom in at most ``2 ** _MAX_ZOOM_BITS`` times.
_MAX_ZOOM_BITS = 6
_MAX_TIME_PS = 1 << 61

UInt8 = NDArray[np.uint8]


class NameTable(msgspec.Struct):
    """Names by their id."""

    ids: Int32
    texts: list[str]


class Tiles(msgspec.Struct):
    """Columns of the visible entries, sorted by tile, track, lane and start."""

    ends: Int32
    """Where the entries of each track end: all tracks of the first tile, then of the next."""
    lane: UInt8
    start: Float64
    duration: Float64
    event: Int32
    """The longest event of the entry."""
    count: Int32
    name: Int32
    hue: UInt8
    busy: UInt8
    """Share of the time in which an event ran, from 0 to 255."""
    names: NameTable
    """Names of the entries that are wide enough for a label."""


def make_tiles(timeline: Timeline, level: int, tiles: range, tracks: list[int]) -> Tiles:
    """Return the entries of some tracks in some tiles of a level."""
    width = 1 << (level + TILE_BITS)
    spans = [(_clip_time(tile * width), _clip_time((tile + 1) * width)) for tile in tiles]
    parts = [
        timeline.pyramid.query(level, *span, timeline.get_rows(track))
        for span in spans
        for track in tracks
    ]
    ends = np.cumsum([len(part.row) for part in parts], dtype=np.int32)
    empty = timeline.pyramid.query(level, 0, 0, range(0))
    return _make_columns(timeline, ends, concat_entries([empty, *parts]), level)


def choose_level(timeline: Timeline, max_entries: int) -> tuple[int, range]:
    """Return the finest level with at most ``max_entries`` in all its tiles, and those tiles."""
    min_level = _get_screen_level(timeline) - _MAX_ZOOM_BITS
    level = max(timeline.pyramid.get_level(max_entries), min_level)
    width = 1 << (level + TILE_BITS)
    return level, range(timeline.start_ps // width, timeline.end_ps // width + 1)


def make_name_table(timeline: Timeline, ids: Iterable[int]) -> NameTable:
    ids = list(ids)
    texts = [shorten_name(timeline.trace.names[id]) for id in ids]
    return NameTable(np.array(ids, np.int32), texts)


def shorten_name(name: str) -> str:
    """Truncate a name. Kernels that are C++ templates have names of several kilobytes."""
    if len(name) <= _MAX_NAME_LENGTH:
        return name
    return f"{name[:_MAX_NAME_LENGTH]}\N{HORIZONTAL ELLIPSIS}"


def _get_screen_level(timeline: Timeline) -> int:
    """Return the level at which the whole trace is about as wide as a screen."""
    return max(0, (timeline.end_ps - timeline.start_ps).bit_length() - TILE_BITS - 1)


def _clip_time(time_ps: int) -> int:
    return max(-_MAX_TIME_PS, min(time_ps, _MAX_TIME_PS))


def _make_columns(timeline: Timeline, ends: Int32, entries: Entries, level: int) -> Tiles:
    trace = timeline.trace
    name, duration = trace.name[entries.event], entries.end - entries.start
    has_label = (entries.event_count == 1) & (duration >= _MIN_LABEL_CELLS << level)
    return Tiles(
        ends=ends,
        lane=timeline.lane[entries.event].astype(np.uint8),
        start=entries.start.astype(np.float64),
        duration=duration.astype(np.float64),
        event=entries.event,
        count=entries.event_count,
        name=name,
        hue=timeline.name_hues[name],
        busy=_get_busy_share(entries),
        names=make_name_table(timeline, unique_inverse(name[has_label])[0].tolist()),
    )


def _get_busy_share(entries: Entries) -> UInt8:
    span = np.maximum(entries.end - entries.start, 1)
    share: UInt8 = np.minimum(255 * (entries.busy_ps / span), 255).astype(np.uint8)
    return share
