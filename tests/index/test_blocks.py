from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.formats.batch import Points, ScalarType
from tracklight.index import Block, make_header, merge_points

Rows = dict[int, list[tuple[int, float]]]

_ROWS = st.dictionaries(
    st.integers(0, 6),
    st.lists(st.tuples(st.integers(-5, 5), st.floats(allow_nan=False)), min_size=1, max_size=5),
    max_size=4,
)


def make_points(rows: Rows, numbers: dict[int, ScalarType] | None = None) -> Points:
    series = sorted(rows)
    lengths = [len(rows[s]) for s in series]
    flat = [row for s in series for row in rows[s]]
    number = [(numbers or {}).get(s, ScalarType.FLOAT) for s in series]
    return Points(
        series=np.array(series, np.int32),
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        scalar_type=np.array(number, np.uint8),
        step=np.array([step for step, _ in flat], np.int64),
        wall=np.array([step / 2 for step, _ in flat], np.float64),
        value=np.array([value for _, value in flat], np.float64),
    )


def to_rows(points: Points) -> Rows:
    rows = {}
    for at, series in enumerate(points.series.tolist()):
        where = slice(points.starts[at], points.starts[at + 1])
        steps, values = points.step[where].tolist(), points.value[where].tolist()
        rows[series] = list(zip(steps, values, strict=True))
    return rows


@given(st.lists(_ROWS.filter(bool), min_size=1, max_size=5))
def test_merging_keeps_all_rows_in_order(blocks: list[Rows]) -> None:
    expected: Rows = {}
    for block in blocks:
        for series, rows in block.items():
            expected.setdefault(series, []).extend(rows)
    merged = merge_points([make_points(block) for block in blocks])
    assert to_rows(merged) == expected
    assert merged.series.tolist() == sorted(expected)


@given(_ROWS.filter(bool))
def test_header_summarizes_each_series(rows: Rows) -> None:
    head = make_header(make_points(rows))
    for series, own in rows.items():
        at = head.find(series)
        assert at is not None
        steps = [step for step, _ in own]
        assert (head.first_step[at], head.last_step[at]) == (steps[0], steps[-1])
        assert head.is_increasing[at] == all(a < b for a, b in itertools.pairwise(steps))
    assert head.find(7) is None


@pytest.mark.parametrize("scale", [1, 100])
def test_merging_does_not_depend_on_the_number_of_rows(scale: int) -> None:
    lengths = [{0: 1, 2: 3, 5: 2}, {2: 4}, {0: 2, 1: 1, 5: 1}]
    blocks: list[Points] = []
    expected: Rows = {}
    number = itertools.count()
    for block in lengths:
        rows = {
            series: [(next(number), float(next(number))) for _ in range(count * scale)]
            for series, count in block.items()
        }
        blocks.append(make_points(rows))
        for series, own in rows.items():
            expected.setdefault(series, []).extend(own)
    merged = merge_points(blocks)
    assert to_rows(merged) == expected
    assert merged.wall.tolist() == (merged.step / 2).tolist()


def test_merging_keeps_large_integers_exact() -> None:
    big = 2**62 + 1
    parts = []
    for step in range(2):
        points = make_points({3: [(step, 0.0)]}, {3: ScalarType.INT})
        points.value.view(np.int64)[:] = big + step
        parts.append(points)
    merged = merge_points(parts)
    assert merged.scalar_type.tolist() == [ScalarType.INT]
    assert merged.value.view(np.int64).tolist() == [big, big + 1]


def test_merging_integers_and_floats_gives_floats() -> None:
    integers = make_points({0: [(0, 0.0)], 1: [(0, 0.5)]}, {0: ScalarType.INT})
    integers.value.view(np.int64)[0] = 7
    merged = merge_points([integers, make_points({0: [(1, 1.5)]})])
    assert merged.scalar_type.tolist() == [ScalarType.FLOAT, ScalarType.FLOAT]
    assert to_rows(merged) == {0: [(0, 7.0), (1, 1.5)], 1: [(0, 0.5)]}


def test_returns_rows_of_one_series() -> None:
    block = Block(make_points({2: [(1, 1.0)], 5: [(1, 2.0), (2, 3.0)]}))
    rows, where = block.get_series_rows(1)
    assert rows.value[where].tolist() == [2.0, 3.0]
    assert len(block) == 3
