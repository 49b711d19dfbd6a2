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


def test_a_line_that_kept_nothing_back_has_no_pieces() -> None:
    assert faded(series([0, 1], [0.0, 1.0])) == []


def test_each_stretch_that_was_taken_back_is_a_piece() -> None:
    # Two restarts, and a first session of which step 0 still stands.
    one = series([0, 1, 2, 3, 1, 2, 1, 2, 3], range(9), overwritten=[1, 2, 3, 4, 5])
    assert faded(one) == [[1, 2, 3], [1, 2]]
    assert faded(one, "relative") == [[1, 2, 3], [4, 5]]
    assert faded(one, "index") == [[1, 2, 3], [1, 2]]


def test_points_that_do_not_follow_each_other_are_apart() -> None:
    one = series([0, 5, 1, 9, 2], range(5), overwritten=[1, 3])
    assert faded(one) == [[5], [9]]


def test_long_pieces_are_thinned_with_their_extremes() -> None:
    values = [0.0] * 1000
    values[500] = 7.0
    one = series([*range(1000), 0], [*values, 0.0], overwritten=range(1000))
    (piece,) = get_overwritten_parts(compute_curve(one, SeriesQuery()), 10)
    assert len(piece.x) <= 10 and piece.y.max() == 7.0


def test_only_the_last_of_very_many_pieces_are_told() -> None:
    steps = [0, 1] * (MAX_OVERWRITTEN_PARTS + 50)
    one = series(steps, [0.0] * len(steps), overwritten=range(len(steps) - 2))
    assert len(faded(one)) == MAX_OVERWRITTEN_PARTS
