from __future__ import annotations

from tests.index.series_builder import series
from tracklight.index.downsampling import MAX_OVERWRITTEN_PARTS, get_overwritten_parts
from tracklight.index.series_query import SeriesQuery, compute_curve
from tracklight.types import Series


def list_overwritten_x(
    data: Series, axis: str = "step", max_points: int = 100
) -> list[list[float]]:
    return [
        part.x.tolist()
        for part in get_overwritten_parts(compute_curve(data, SeriesQuery(axis)), max_points)
    ]


def test_no_parts_without_overwritten_points() -> None:
    assert list_overwritten_x(series([0, 1], [0.0, 1.0])) == []


def test_each_restart_gives_one_part() -> None:
    # Two restarts; only step 0 of the first session is not overwritten.
    data = series([0, 1, 2, 3, 1, 2, 1, 2, 3], range(9), overwritten=[1, 2, 3, 4, 5])
    assert list_overwritten_x(data) == [[1, 2, 3], [1, 2]]
    assert list_overwritten_x(data, "relative") == [[1, 2, 3], [4, 5]]
    assert list_overwritten_x(data, "index") == [[1, 2, 3], [1, 2]]


def test_splits_parts_at_gaps() -> None:
    data = series([0, 5, 1, 9, 2], range(5), overwritten=[1, 3])
    assert list_overwritten_x(data) == [[5], [9]]


def test_reduces_long_parts_and_keeps_extremes() -> None:
    values = [0.0] * 1000
    values[500] = 7.0
    data = series([*range(1000), 0], [*values, 0.0], overwritten=range(1000))
    (part,) = get_overwritten_parts(compute_curve(data, SeriesQuery()), 10)
    assert len(part.x) <= 10 and part.y.max() == 7.0


def test_returns_only_last_of_many_parts() -> None:
    steps = [0, 1] * (MAX_OVERWRITTEN_PARTS + 50)
    data = series(steps, [0.0] * len(steps), overwritten=range(len(steps) - 2))
    assert len(list_overwritten_x(data)) == MAX_OVERWRITTEN_PARTS
