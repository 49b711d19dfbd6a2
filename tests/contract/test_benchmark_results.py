"""Results of benchmarks: which rows count as slower, and how growth is fitted."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.compare import find_regressions
from benchmarks.report import Figure, Row, Timing, fit_growth


def make_result(*seconds: float, reached: bool | None = None) -> dict[str, Any]:
    return {"rows": [Row("Cold load", Timing(seconds), reached=reached).to_json()]}


@pytest.mark.parametrize(
    ("new", "is_slower"),
    [
        pytest.param((1.5, 1.6, 1.7), True, id="all repetitions are slower"),
        pytest.param((1.15, 1.6, 1.7), False, id="the repetitions overlap"),
        pytest.param((1.22, 1.22, 1.22), True, id="a tenth slower"),
        pytest.param((0.5, 0.6, 0.7), False, id="faster"),
    ],
)
def test_only_differences_beyond_noise_are_regressions(
    new: tuple[float, ...], is_slower: bool
) -> None:
    base = make_result(1.0, 1.1, 1.2)
    assert bool([*find_regressions(base, make_result(*new))]) == is_slower


def test_small_slowdown_is_no_regression_even_without_noise() -> None:
    assert not [*find_regressions(make_result(1.0), make_result(1.05))]


def test_requirement_that_is_no_longer_met_is_a_regression() -> None:
    base, new = make_result(1.0, reached=True), make_result(1.0, reached=False)
    assert [*find_regressions(base, new)] == ["Cold load: 1 s, must be "]
    assert not [*find_regressions(new, base)]


def test_new_rows_are_not_compared() -> None:
    assert not [*find_regressions({"rows": []}, make_result(1.0, reached=False))]


def test_exponent_is_that_of_the_last_decade() -> None:
    sizes_s = {10: 1.0, 100: 1.0, 1000: 10.0}
    (growth,) = fit_growth(
        [Figure("runs", size, "read", s) for size, s in reversed(sizes_s.items())]
    )
    assert growth.sizes == (10, 100, 1000)
    assert growth.exponent == pytest.approx(1)
    assert "worse than linear" not in str(growth)


def test_growth_worse_than_linear_is_marked() -> None:
    (growth,) = fit_growth([Figure("runs", size, "read", size**2) for size in (10, 100)])
    assert growth.exponent == pytest.approx(2)
    assert "worse than linear" in str(growth)
