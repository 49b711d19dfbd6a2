from __future__ import annotations

from tests.index.series_builder import series
from tracklight.index.downsampling import MAX_OVERWRITTEN_PARTS, get_overwritten_parts
from tracklight.index.series_query import SeriesQuery, compute_curve
from tracklight.types import Series


def faded(one: Series, axis: str = "step", most: int = 100) -> list[list[float]]:
    return [
        piece.x.tolist()
        for piece in get_overwritten_parts(compute_curve(one, SeriesQuery(axis)), most)
    ]


def test_no_parts_without_overwritten_points() -> None:
    assert faded(series([0, 1], [0.0, 1.0])) == []


def test_each_restart_gives_one_part() -> None:
    # Two restarts; only step 0 of the first session is not overwritten.
    one = series([0, 1, 2, 3, 1, 2, 1, 2, 3], range(9), overwritten=[1, 2, 3, 4, 5])
    assert faded(one) == [[1, 2, 3], [1, 2]]
    assert faded(one, "relative") == [[1, 2, 3], [4, 5]]
    assert faded(one, "index") == [[1, 2, 3], [1, 2]]


def test_splits_parts_at_gaps() -> None:
    one = series([0, 5, 1, 9, 2], range(5), overwritten=[1, 3])
    assert faded(one) == [[5], [9]]


def test_reduces_long_parts_and_keeps_extremes() -> None:
    values = [0.0] * 1000
    values[500] = 7.0
    one = series([*range(1000), 0], [*values, 0.0], overwritten=range(1000))
    (piece,) = get_overwritten_parts(compute_curve(one, SeriesQuery()), 10)
    assert len(piece.x) <= 10 and piece.y.max() == 7.0


def test_returns_only_last_of_many_parts() -> None:
    steps = [0, 1] * (MAX_OVERWRITTEN_PARTS + 50)
    one = series(steps, [0.0] * len(steps), overwritten=range(len(steps) - 2))
    assert len(faded(one)) == MAX_OVERWRITTEN_PARTS
