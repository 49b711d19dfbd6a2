"""What the page draws: entries of some tracks, in tiles of one level of detail."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.profiles.timeline.layout import Timeline
from tracklight.analysis.profiles.timeline.pyramid import Entries, concat_entries
from tracklight.types import Float64, Int32

#: A tile is so many cells wide, as a power of two.
TILE_BITS = 10
#: From so many cells on there is room for a word.
_MIN_LABEL_CELLS = 12
_MAX_NAME_LENGTH = 200
#: Nobody comes closer to a copy than so many times, as a power of two.
_MAX_ZOOM_BITS = 6
#: No trace reaches so far.
_MAX_TIME_PS = 1 << 61

UInt8 = NDArray[np.uint8]


class NameTable(msgspec.Struct):
    ids: Int32
    texts: list[str]


class Tiles(msgspec.Struct):
    """Columns of what is seen, by tile, track, lane and start."""

    ends: Int32
    """Where each part ends: of the first tile each track, then of the next."""
    lane: UInt8
    start: Float64
    duration: Float64
    event: Int32
    """Of several in one, the longest."""
    count: Int32
    name: Int32
    hue: UInt8
    busy: UInt8
    """How much of the time something went on, of 255."""
    words: NameTable
    """The names of what is wide enough for them."""


def make_tiles(timeline: Timeline, level: int, tiles: range, tracks: list[int]) -> Tiles:
    size = 1 << (level + TILE_BITS)
    spans = [(_clip_time(tile * size), _clip_time((tile + 1) * size)) for tile in tiles]
    parts = [
        timeline.pyramid.query(level, *span, timeline.get_rows(track))
        for span in spans
        for track in tracks
    ]
    ends = np.cumsum([len(part.row) for part in parts], dtype=np.int32)
    nothing = timeline.pyramid.query(level, 0, 0, range(0))
    return _make_columns(timeline, ends, concat_entries([nothing, *parts]), level)


def choose_level(timeline: Timeline, max_entries: int) -> tuple[int, range]:
    """The finest level of which all tiles together have at most so many entries, and its tiles."""
    level = max(
        timeline.pyramid.get_level(max_entries), _get_screen_level(timeline) - _MAX_ZOOM_BITS
    )
    size = 1 << (level + TILE_BITS)
    return level, range(timeline.start_ps // size, timeline.end_ps // size + 1)


def _get_screen_level(timeline: Timeline) -> int:
    """The level at which the whole is about as wide as a screen."""
    return max(0, (timeline.end_ps - timeline.start_ps).bit_length() - TILE_BITS - 1)


def _clip_time(moment: int) -> int:
    return max(-_MAX_TIME_PS, min(moment, _MAX_TIME_PS))


def _make_columns(timeline: Timeline, ends: Int32, entries: Entries, level: int) -> Tiles:
    trace = timeline.trace
    name, duration = trace.name[entries.event], entries.end - entries.start
    wide = (entries.event_count == 1) & (duration >= _MIN_LABEL_CELLS << level)
    return Tiles(
        ends,
        timeline.lane[entries.event].astype(np.uint8),
        entries.start.astype(np.float64),
        duration.astype(np.float64),
        entries.event,
        entries.event_count,
        name,
        timeline.name_hues[name],
        _get_busy_share(entries),
        make_name_table(timeline, np.unique(name[wide]).tolist()),
    )


def _get_busy_share(entries: Entries) -> UInt8:
    span = np.maximum(entries.end - entries.start, 1)
    share: UInt8 = np.minimum(255 * (entries.busy_ps / span), 255).astype(np.uint8)
    return share


def make_name_table(timeline: Timeline, names: Iterable[int]) -> NameTable:
    ids = list(names)
    texts = [shorten_name(timeline.trace.names[each]) for each in ids]
    return NameTable(np.array(ids, np.int32), texts)


def shorten_name(name: str) -> str:
    """Names of kernels are templates that go on for pages."""
    return (
        name
        if len(name) <= _MAX_NAME_LENGTH
        else f"{name[:_MAX_NAME_LENGTH]}\N{HORIZONTAL ELLIPSIS}"
    )
