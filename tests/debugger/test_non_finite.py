"""Which non-finite tensors of a step are problems, and histograms of values."""

from __future__ import annotations

import numpy as np
import pytest

from tracklight.formats.tensor_health import (
    HISTOGRAM_BINS,
    STATS,
    WatchedTensor,
    compute_histogram,
    get_histogram_edges,
    list_non_finite,
    trace_origin,
)
from tracklight.types import Float32


def make_health(*nan_counts: float) -> Float32:
    health = np.zeros((len(nan_counts), len(STATS)), np.float32)
    health[:, 0] = np.arange(len(nan_counts))
    health[:, 1] = nan_counts
    return health


INPUT = WatchedTensor("x", "input")
CONSTANT = WatchedTensor("nan", "output", "convert_element_type")


@pytest.mark.parametrize("given", [INPUT, CONSTANT])
def test_non_finite_value_that_is_not_used_is_no_problem(given: WatchedTensor) -> None:
    tensors = [given, WatchedTensor("y", "output", "where", inputs=(0,))]
    assert list_non_finite(make_health(3, 0), tensors).tolist() == []
    assert list_non_finite(make_health(3, 1), tensors).tolist() == [0, 1]


def test_input_of_which_no_use_is_recorded_is_a_problem() -> None:
    tensors = [INPUT, WatchedTensor("y", "output", "Linear")]
    assert list_non_finite(make_health(3, 0), tensors).tolist() == [0]
    health = make_health(3, 0)
    health[1, 0] = np.nan  # not computed in this step
    tensors = [INPUT, WatchedTensor("y", "output", "Linear", inputs=(0,))]
    assert list_non_finite(health, tensors).tolist() == [0]


def test_input_that_makes_the_gradient_of_a_weight_non_finite_is_a_problem() -> None:
    tensors = [
        INPUT,
        WatchedTensor("w", "parameter"),
        WatchedTensor("y", "output", "Dense", inputs=(0, 1)),
        WatchedTensor("w", "gradient", of=1),
    ]
    health = make_health(1, 0, 0, 8)
    rows = list_non_finite(health, tensors)
    assert rows.tolist() == [0, 3]
    assert trace_origin(health, tensors, rows) == 0
    assert list_non_finite(make_health(1, 0, 0, 0), tensors).tolist() == []


def test_origin_is_computed_from_finite_tensors() -> None:
    tensors = [
        INPUT,
        WatchedTensor("log", "output", "log", inputs=(0,)),
        WatchedTensor("sum", "output", "sum", inputs=(1,)),
    ]
    health = make_health(0, 2, 1)
    assert trace_origin(health, tensors, list_non_finite(health, tensors)) == 1


def test_gradients_of_a_skipped_step_are_no_problem() -> None:
    tensors = [WatchedTensor("w", "gradient")]
    assert list_non_finite(make_health(1), tensors, is_skipped=True).tolist() == []
    assert list_non_finite(make_health(1), tensors).tolist() == [0]


def test_histogram_agrees_with_numpy() -> None:
    values = np.random.default_rng(0).normal(size=5000).astype(np.float32) ** 3
    expected = np.histogram(values, get_histogram_edges())[0]
    found = compute_histogram(values)
    assert len(found) == HISTOGRAM_BINS
    np.testing.assert_allclose(found / 255, expected / len(values), atol=1 / 255)
    assert (found > 0).tolist() == (expected > 0).tolist(), "rare values are visible"


def test_histogram_counts_zeros_and_extreme_values() -> None:
    middle = HISTOGRAM_BINS // 2
    tiny = float(np.finfo(np.float32).tiny)
    values = np.array([0, -0.0, tiny, -tiny, 1e38, -1e38, np.nan, np.inf], np.float32)
    found = compute_histogram(values)
    assert found[[0, middle, -1]].tolist() == [43, 170, 43]
    assert not compute_histogram(np.array([np.nan], np.float32)).any()
    assert not compute_histogram(np.empty(0, np.float32)).any()
