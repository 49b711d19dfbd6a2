"""Interval sets, sums and unique values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.analysis.profiles import (
    NATIVE,
    attribute_time,
    intersect_intervals,
    locate_in_spans,
    locate_in_spans_in_numpy,
    map_unique,
    measure_intervals,
    merge_intervals,
    merge_spans,
    merge_spans_in_numpy,
    select_largest,
    split_intervals,
    split_intervals_in_numpy,
    subtract_intervals,
    sum_by_index,
    sum_by_index_in_numpy,
    union_intervals,
)

#: Start, duration and kind of events.
_EVENTS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 2)), max_size=30
)


def test_interval_sets() -> None:
    intervals = merge_intervals(np.array([[5, 7], [0, 3], [2, 4], [9, 9]]))
    assert intervals.tolist() == [[0, 4], [5, 7]]
    assert intersect_intervals(intervals, np.array([[3, 6]])).tolist() == [[3, 4], [5, 6]]
    assert intersect_intervals(intervals, np.empty((0, 2), np.int64)).tolist() == []
    assert measure_intervals(union_intervals([intervals, np.array([[4, 5]])])) == 7
    assert measure_intervals(union_intervals([])) == 0


@given(_EVENTS)
@settings(deadline=None)
def test_time_is_attributed_to_the_highest_kind(events: list[tuple[int, int, int]]) -> None:
    """Compare with a loop over every instant."""
    start, duration, kind = np.array(events, np.int64).reshape(-1, 3).T
    spans = np.array([[0, 10], [10, 10], [15, 40], [70, 90]])
    expected = np.zeros((len(spans), 3), np.int64)
    for row, (first, last) in zip(expected, spans.tolist(), strict=True):
        for at in range(first, last):
            running = [kind for start, length, kind in events if start <= at < start + length]
            if running:
                row[max(running)] += 1
    assert attribute_time(start, start + duration, kind, spans, 3).tolist() == expected.tolist()


@given(_EVENTS)
@settings(deadline=None)
def test_compiled_and_numpy_intervals_agree(events: list[tuple[int, int, int]]) -> None:
    start, duration, _ = np.array(events, np.int64).reshape(-1, 3).T
    expected = merge_spans_in_numpy(start, start + duration).tolist()
    assert merge_spans(start, start + duration).tolist() == expected


@pytest.mark.parametrize("seed", range(5))
def test_intervals_of_several_tracks_are_merged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tracks = [np.sort(rng.integers(0, 5000, count)) for count in (300, 1, 500, 200)]
    start = np.concatenate(tracks)
    end = start + rng.integers(0, 8, len(start))
    expected = merge_spans_in_numpy(start, end).tolist()
    assert merge_spans(start, end).tolist() == expected
    assert 1 < len(expected) < len(start)


def test_sums_of_integers_are_exact() -> None:
    index, values = np.array([2, 0, 2], np.int32), np.array([1, 5, 1 << 60])
    for sums in (sum_by_index(index, values, 4), sum_by_index_in_numpy(index, values, 4)):
        assert sums.tolist() == [5, 0, (1 << 60) + 1, 0]
    assert sum_by_index(index[:0], values[:0], 0).tolist() == []


@pytest.mark.skipif(NATIVE is None, reason="the extension is not built")
def test_compiled_sum_rejects_an_index_that_is_out_of_range() -> None:
    assert NATIVE is not None
    for wrong in (-1, 3):
        with pytest.raises(IndexError):
            NATIVE.sum_by_index(np.array([wrong], np.int32), np.ones(1, np.int64), 3)


@pytest.mark.parametrize("values", [[], [3, 1, 3], [-2, 5, -2], [1 << 40, 7]])
def test_unique_values_are_mapped_once(values: list[int]) -> None:
    seen: list[int] = []

    def number(value: int) -> int:
        seen.append(value)
        return len(seen) - 1

    mapped = map_unique(np.array(values, np.int64), number)
    assert seen == sorted(set(values))
    assert [seen[at] for at in mapped] == values


@given(_EVENTS, _EVENTS)
@settings(deadline=None)
def test_compiled_and_numpy_intersections_agree(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]]
) -> None:
    rows, spans = (
        merge_spans(*np.array([(at, at + length) for at, length, _ in events], np.int64)
        .reshape(-1, 2).T)
        for events in (one, other)
    )  # fmt: skip
    expected = split_intervals_in_numpy(rows, spans).tolist()
    assert split_intervals(rows, spans).tolist() == expected
    inside = {at for start, end in expected for at in range(start, end)}
    outside = {at for start, end in subtract_intervals(rows, spans) for at in range(start, end)}
    assert not inside & outside
    assert inside | outside == {at for start, end in rows for at in range(start, end)}


@given(st.lists(st.integers(-5, 5), max_size=40), st.integers(1, 10))
@settings(deadline=None)
def test_largest_values_are_found_in_order(values: list[int], count: int) -> None:
    expected = sorted(range(len(values)), key=lambda at: -values[at])[:count]
    assert select_largest(np.array(values, np.int64), count).tolist() == expected


@given(_EVENTS, st.lists(st.integers(-5, 90), max_size=40))
@settings(deadline=None)
def test_compiled_and_numpy_locations_agree(
    events: list[tuple[int, int, int]], times: list[int]
) -> None:
    start, duration, _ = np.array(events, np.int64).reshape(-1, 3).T
    spans, at = merge_spans(start, start + duration), np.array(times, np.int64)
    expected = locate_in_spans_in_numpy(spans, at).tolist()
    assert locate_in_spans(spans, at).tolist() == expected
