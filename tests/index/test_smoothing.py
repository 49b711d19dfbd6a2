"""Compare smoothing with a plain implementation of TensorBoard's rule and with pandas."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.series_builder import series
from tracklight.index.series_query import SeriesQuery, Smoothing, SmoothingKind, compute_curve

RNG = np.random.default_rng(3)
NOISE = RNG.normal(size=500)
GAPS = np.where(RNG.random(500) < 0.1, math.nan, NOISE)
KINDS: list[tuple[SmoothingKind, float]] = [
    ("ema", 0.9),
    ("time_ema", 7.0),
    ("mean", 5),
    ("median", 4),
    ("gaussian", 2.5),
]


def smooth(values: object, kind: SmoothingKind, amount: float, steps: object = None) -> np.ndarray:
    values = np.asarray(values, np.float64)
    steps = np.arange(len(values)) if steps is None else steps
    query = SeriesQuery(smoothing=Smoothing(kind, amount))
    return compute_curve(series(list(steps), list(values)), query).smoothed  # type: ignore[call-overload]


def tensorboard_ema(values: list[float], weight: float) -> list[float]:
    """TensorBoard's rule: skip non-finite values, average the others, correct the bias."""
    if all(value == values[0] for value in values):
        return values
    last, accumulated, smoothed = 0.0, 0, []
    for value in values:
        if not math.isfinite(value):
            smoothed.append(value)
            continue
        last = last * weight + (1 - weight) * value
        accumulated += 1
        smoothed.append(last / (1 if weight == 1 else 1 - weight**accumulated))
    return smoothed


def test_ema_of_known_tensorboard_example() -> None:
    found = smooth([1, 2, 3, math.nan, 5], "ema", 0.6)
    assert found == pytest.approx([1, 1.625, 2.326531, math.nan, 3.555147], abs=1e-6, nan_ok=True)


@given(
    st.lists(
        st.one_of(st.floats(-1e9, 1e9), st.sampled_from([math.nan, math.inf, -math.inf])),
        min_size=1,
        max_size=100,
    ),
    st.floats(0, 0.999),
)
def test_ema_matches_tensorboard(values: list[float], weight: float) -> None:
    scale = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    found = smooth(values, "ema", weight)
    # Subnormal numbers have few significant bits.
    tolerance = 1e-12 * scale + sys.float_info.min
    np.testing.assert_allclose(found, tensorboard_ema(values, weight), rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.9, 0.999])
def test_ema_matches_pandas(weight: float) -> None:
    expected = pd.Series(NOISE).ewm(alpha=1 - weight, adjust=True).mean()
    np.testing.assert_allclose(smooth(NOISE, "ema", weight), expected, rtol=1e-9)


def test_ema_has_no_denormal_slowdown() -> None:
    """The remaining weight of the start soon becomes denormal, which would be slow."""
    values = np.append(NOISE, np.zeros(20_000))
    expected = pd.Series(values).ewm(alpha=0.5, adjust=True).mean()
    np.testing.assert_allclose(smooth(values, "ema", 0.5), expected, rtol=1e-9, atol=1e-300)


def test_time_ema_matches_pandas() -> None:
    steps = np.cumsum(RNG.integers(1, 50, size=len(NOISE)))
    times = pd.to_datetime(steps, unit="s")
    expected = pd.Series(NOISE).ewm(halflife="20s", times=times).mean()
    np.testing.assert_allclose(smooth(NOISE, "time_ema", 20, steps), expected, rtol=1e-9)


def test_time_ema_with_even_steps_matches_ema() -> None:
    np.testing.assert_allclose(
        smooth(GAPS[~np.isnan(GAPS)], "time_ema", 3),
        smooth(GAPS[~np.isnan(GAPS)], "ema", 0.5 ** (1 / 3)),
        rtol=1e-9,
    )


@pytest.mark.parametrize("window", [1, 2, 5, 6, 499, 2000])
@pytest.mark.parametrize("kind", ["mean", "median"])
def test_windows_match_pandas(kind: SmoothingKind, window: int) -> None:
    rolling = pd.Series(GAPS).rolling(window, center=True, min_periods=1)
    expected = getattr(rolling, kind)().where(~np.isnan(GAPS))
    np.testing.assert_allclose(smooth(GAPS, kind, window), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("deviation", [0.4, 3.0, 400.0])
def test_gaussian_ignores_missing_values(deviation: float) -> None:
    distance = np.arange(len(GAPS))[:, None] - np.arange(len(GAPS))
    weights = np.exp(-0.5 * (distance / deviation) ** 2)
    weights[np.abs(distance) > math.ceil(4 * deviation)] = 0
    weights[:, np.isnan(GAPS)] = 0
    expected = weights @ np.nan_to_num(GAPS) / weights.sum(axis=1)
    expected[np.isnan(GAPS)] = math.nan
    np.testing.assert_allclose(smooth(GAPS, "gaussian", deviation), expected, rtol=1e-9)


@pytest.mark.parametrize(("kind", "amount"), KINDS)
def test_constant_series_is_unchanged(kind: SmoothingKind, amount: float) -> None:
    values = [0.1, math.nan, 0.1, math.inf, 0.1]
    assert repr(smooth(values, kind, amount).tolist()) == repr(values)


@pytest.mark.parametrize(("kind", "amount"), KINDS)
def test_non_finite_values_stay_and_do_not_affect_others(
    kind: SmoothingKind, amount: float
) -> None:
    found = smooth([1.0, math.inf, 2.0, math.nan, -math.inf, 3.0], kind, amount)
    assert repr(found[[1, 3, 4]].tolist()) == "[inf, nan, -inf]"
    assert np.isfinite(found[[0, 2, 5]]).all()


@pytest.mark.parametrize(("kind", "amount"), KINDS)
def test_smooths_empty_series(kind: SmoothingKind, amount: float) -> None:
    assert smooth([], kind, amount).tolist() == []
    assert smooth([7.0], kind, amount).tolist() == [7.0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.sampled_from(KINDS))
def test_smoothed_values_stay_between_extremes(
    values: list[float], how: tuple[SmoothingKind, float]
) -> None:
    found = smooth(values, *how)
    slack = 1e-9 * max(map(abs, values))
    assert (found >= min(values) - slack).all() and (found <= max(values) + slack).all()


@pytest.mark.parametrize(
    ("kind", "amount"),
    [("ema", 1.0), ("ema", -0.1), ("mean", 0), ("median", 1e6), ("gaussian", 0), ("time_ema", 0)],
)
def test_rejects_amount_out_of_range(kind: SmoothingKind, amount: float) -> None:
    with pytest.raises(ValueError, match=f'smoothing "{kind}" takes amounts from'):
        Smoothing(kind, amount)
