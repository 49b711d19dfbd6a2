"""Tiles contain all events at every level, and long events exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.profiles.sample_captures import read_case
from tests.analysis.profiles.timeline.traces import Event, make_empty_trace, make_trace
from tracklight.analysis.profiles import NATIVE
from tracklight.analysis.profiles.timeline import (
    MAX_LEVELS,
    TILE_BITS,
    Entries,
    Tiles,
    Timeline,
    choose_level,
    compute_merge_levels,
    compute_merge_levels_in_numpy,
    list_tracks,
    make_tiles,
)

_EVENTS = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from("abc"), st.integers(-3000, 3000), st.integers(0, 300)
    ),
    min_size=1,
    max_size=80,
)


def make_all_tiles(timeline: Timeline, level: int) -> Tiles:
    size = 1 << (level + TILE_BITS)
    tiles = range(timeline.start_ps // size, timeline.end_ps // size + 1)
    return make_tiles(timeline, level, tiles, list(range(len(timeline.trace.tracks))))


@given(_EVENTS, st.integers(0, 13))
@settings(deadline=None)
def test_every_event_is_in_one_entry(events: list[Event], level: int) -> None:
    timeline = Timeline(make_trace(events))
    result = make_all_tiles(timeline, level)
    # Events that reach into the next tile are in both tiles.
    firsts = np.unique(np.column_stack([result.event, result.count]), axis=0)
    assert firsts[:, 1].sum() == len(events)


@given(_EVENTS, st.integers(0, 13))
@settings(deadline=None)
def test_events_longer_than_a_cell_are_exact(events: list[Event], level: int) -> None:
    timeline = Timeline(make_trace(events))
    trace, result = timeline.trace, make_all_tiles(timeline, level)
    for event in np.flatnonzero(trace.duration_ps >= 1 << level).tolist():
        at = np.flatnonzero((result.event == event) & (result.count == 1))
        assert len(at)
        assert result.start[at[0]] == trace.start_ps[event]
        assert result.duration[at[0]] == trace.duration_ps[event]


def test_merges_short_events_of_a_cell() -> None:
    events: list[Event] = [(0, "a", 0, 10), (0, "long", 20, 30), (0, "a", 90, 10)]
    result = make_all_tiles(Timeline(make_trace(events)), 10)
    assert result.count.tolist() == [3]
    assert (result.start[0], result.duration[0]) == (0, 100)
    assert result.event.tolist() == [1]
    assert result.busy.tolist() == [127]
    assert result.names.texts == []


def test_entries_are_ordered_by_tile_and_track() -> None:
    events: list[Event] = [(0, "a", 0, 900), (1, "b", 0, 10), (1, "b", 1500, 10)]
    timeline = Timeline(make_trace(events))
    result = make_tiles(timeline, 0, range(2), [1, 0])
    assert result.ends.tolist() == [1, 2, 3, 3]
    assert result.start.tolist() == [0, 0, 1500]
    assert dict(zip(result.names.ids.tolist(), result.names.texts, strict=True)) == {0: "a"}


def test_names_that_differ_in_numbers_share_a_hue() -> None:
    timeline = Timeline(make_trace([(0, "step 1", 0, 1), (0, "step 22", 2, 1), (0, "x", 4, 1)]))
    one, other, third = timeline.name_hues.tolist()
    assert one == other != third


def test_higher_levels_have_fewer_entries() -> None:
    timeline = Timeline(read_case("cnn"))
    counts = [len(make_all_tiles(timeline, level).lane) for level in (20, 26, 32, 38)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] / 50


@pytest.mark.parametrize("max_entries", [1_000, 100_000])
def test_chooses_level_with_at_most_max_entries(max_entries: int) -> None:
    timeline = Timeline(read_case("cnn"))
    level, tiles = choose_level(timeline, max_entries)
    result = make_tiles(timeline, level, tiles, list(range(len(timeline.trace.tracks))))
    assert len(result.lane) <= max_entries
    assert len(tiles) <= 130
    assert (tiles.start << (level + TILE_BITS)) <= timeline.start_ps
    assert (tiles.stop << (level + TILE_BITS)) > timeline.end_ps


@pytest.mark.parametrize("level", [0, 30, 59])
def test_tiles_outside_of_the_trace_are_empty(level: int) -> None:
    far = range(1 << 40, (1 << 40) + 1)
    assert make_tiles(Timeline(make_empty_trace()), level, far, []).ends.tolist() == []
    timeline = Timeline(make_trace([(0, "a", 0, 1)]))
    assert make_tiles(timeline, level, far, [0]).ends.tolist() == [0]


def test_tracks_are_ordered_main_devices_busiest() -> None:
    events: list[Event] = [(0, "k", 0, 1), (1, "f", 0, 2), (2, "f", 0, 50), (3, "f", 0, 9)]
    rows = list_tracks(Timeline(make_trace([*events, (3, "f", 20, 1)], devices=[0])))
    assert [row.id for row in rows] == [3, 0, 2, 1]
    assert [row.is_main for row in rows] == [True, False, False, False]
    assert rows[0].busy_ps == 10


_SPANS = st.tuples(
    st.integers(0, 2),
    st.integers(-(1 << 50), 1 << 55) | st.integers(-9, 99),
    st.integers(0, 1 << 54),
)


@pytest.mark.skipif(NATIVE is None, reason="the extension is not built")
@given(st.lists(_SPANS, max_size=30))
@settings(deadline=None)
def test_compiled_and_numpy_merge_levels_agree(rows: list[tuple[int, int, int]]) -> None:
    row, start, duration = np.array(sorted(rows), np.int64).reshape(-1, 3).T.copy()
    event = np.arange(len(row), dtype=np.int32)
    entries = Entries(
        row.astype(np.int32), start, start + duration, event, duration, event * 0 + 1, duration
    )
    levels = compute_merge_levels(entries)
    assert levels.tolist() == compute_merge_levels_in_numpy(entries).tolist()
    for at, level in enumerate(levels.tolist()):
        pair = row[at : at + 2], start[at : at + 2] >> level, duration[at : at + 2] >> level
        is_merged = pair[0][0] == pair[0][1] and pair[1][0] == pair[1][1] and not pair[2].any()
        assert is_merged or level == MAX_LEVELS
