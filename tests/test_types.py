from __future__ import annotations

import numpy as np
import pytest

from tracklight.types import Point, Series


@pytest.fixture
def series() -> Series:
    steps = np.array([0, 1, 1, 2])
    marks = np.array([False, True, False, False])
    return Series("train", "loss", steps, steps + 1.7e9, np.array([4.0, 3.0, 2.0, 1.0]), marks)


def test_series_is_a_sequence_of_points(series: Series) -> None:
    assert len(series) == 4
    assert series[-1] == Point(2, 1.7e9 + 2, 1.0)
    assert [point.value for point in series] == [4, 3, 2, 1]
    with pytest.raises(IndexError):
        series[4]
    with pytest.raises(TypeError):
        series["loss"]  # type: ignore[call-overload]


def test_slice_is_a_series(series: Series) -> None:
    part = series[1:3]

    assert (part.run, part.tag) == ("train", "loss")
    assert (part.step.tolist(), part.value.tolist()) == ([1, 1], [3, 2])
    assert part.overwritten.tolist() == [True, False]
    assert series[::-1].step.tolist() == [2, 1, 1, 0]
    assert series[series.value < 3].value.tolist() == [2, 1]
    assert series.without_overwritten().value.tolist() == [4, 2, 1]


def test_integers_stay_integers() -> None:
    big = (1 << 63) + 1
    value = np.array([big], np.uint64)
    one = np.zeros(1)
    series = Series("a", "n", one.astype(np.int64), one, value, one.astype(bool))

    assert series[0].value == big
    assert [point.value for point in series] == [big]


def test_series_has_short_repr(series: Series) -> None:
    assert repr(series) == (
        '<Series "loss" of run "train": 4 points, steps 0 to 2, 1 overwritten, last value 1>'
    )
    assert repr(series[:0]) == '<Series "loss" of run "train": no points>'


def test_to_pandas_has_steps_as_index(series: Series) -> None:
    pytest.importorskip("pandas")
    frame = series.to_pandas()

    assert frame.index.name == "step" and frame.index.tolist() == [0, 1, 1, 2]
    assert frame["value"].tolist() == [4, 3, 2, 1]
    assert frame["wall_time"].iloc[1].isoformat() == "2023-11-14T22:13:21+00:00"
    assert frame["overwritten"].tolist() == [False, True, False, False]
