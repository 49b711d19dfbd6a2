"""What the page draws: entries of some tracks, in tiles of one level of detail."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.profiles.timeline.entries import Entries, join
from tracklight.profiles.timeline.timeline import Timeline
from tracklight.types import Float64, Int32

#: A tile is so many cells wide, as a power of two.
TILE_BITS = 10
#: From so many cells on there is room for a word.
_WIDE = 12
_LONGEST = 200
#: Nobody comes closer to a copy than so many times, as a power of two.
_CLOSEST = 6
#: No trace reaches so far.
_FAR = 1 << 61

UInt8 = NDArray[np.uint8]


class Words(msgspec.Struct):
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
    words: Words
    """The names of what is wide enough for them."""


def cut_tiles(timeline: Timeline, level: int, tiles: range, tracks: list[int]) -> Tiles:
    size = 1 << (level + TILE_BITS)
    spans = [(_clip(tile * size), _clip((tile + 1) * size)) for tile in tiles]
    parts = [
        timeline.pyramid.look(level, *span, timeline.rows_of(track))
        for span in spans
        for track in tracks
    ]
    ends = np.cumsum([len(part.row) for part in parts], dtype=np.int32)
    nothing = timeline.pyramid.look(level, 0, 0, range(0))
    return _describe(timeline, ends, join([nothing, *parts]), level)


def pick_level(timeline: Timeline, most: int) -> tuple[int, range]:
    """The finest level of which all tiles together have at most so many entries, and its tiles."""
    level = max(timeline.pyramid.find_level(most), _find_screen(timeline) - _CLOSEST)
    size = 1 << (level + TILE_BITS)
    return level, range(timeline.start_ps // size, timeline.end_ps // size + 1)


def _find_screen(timeline: Timeline) -> int:
    """The level at which the whole is about as wide as a screen."""
    return max(0, (timeline.end_ps - timeline.start_ps).bit_length() - TILE_BITS - 1)


def _clip(moment: int) -> int:
    return max(-_FAR, min(moment, _FAR))


def _describe(timeline: Timeline, ends: Int32, entries: Entries, level: int) -> Tiles:
    trace = timeline.trace
    name, duration = trace.name[entries.event], entries.end - entries.start
    wide = (entries.events == 1) & (duration >= _WIDE << level)
    return Tiles(
        ends,
        timeline.lane[entries.event].astype(np.uint8),
        entries.start.astype(np.float64),
        duration.astype(np.float64),
        entries.event,
        entries.events,
        name,
        timeline.hues[name],
        _share(entries),
        pick_words(timeline, np.unique(name[wide]).tolist()),
    )


def _share(entries: Entries) -> UInt8:
    span = np.maximum(entries.end - entries.start, 1)
    share: UInt8 = np.minimum(255 * (entries.busy / span), 255).astype(np.uint8)
    return share


def pick_words(timeline: Timeline, names: Iterable[int]) -> Words:
    ids = list(names)
    texts = [shorten(timeline.trace.names[each]) for each in ids]
    return Words(np.array(ids, np.int32), texts)


def shorten(name: str) -> str:
    """Names of kernels are templates that go on for pages."""
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}\N{HORIZONTAL ELLIPSIS}"
