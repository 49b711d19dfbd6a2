"""Values of variables, and rendering of weights as images; does not need Keras."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tracklight.keras.model import read_number, render_weight


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((), (1, 1)),
        ((5,), (1, 5)),
        ((64,), (4, 64)),
        ((3, 7), (3, 7)),
        ((7, 3), (3, 7)),
        ((3, 3, 1, 4), (7, 7)),  # four filters of 3 by 3, with a line between
        ((3, 3, 2, 2), (7, 7)),
        ((3, 8, 5), (7, 26)),  # five of 3 by 8, three in a row
        ((2, 2, 2, 1, 3), (5, 8)),  # six of 2 by 2, three in a row
        ((5000, 4), (4, 1000)),
        ((1, 1), (1, 1)),
    ],
)
def test_renders_every_rank(shape: tuple[int, ...], size: tuple[int, int]) -> None:
    pixels = render_weight(np.ones(shape, np.float32))
    assert pixels.shape == size
    assert pixels.max() == 255


def test_large_weights_are_downsampled() -> None:
    assert max(render_weight(np.zeros((3, 3, 512, 512), np.float32)).shape) <= 1024
    assert max(render_weight(np.zeros((4000, 300, 2), np.float32)).shape) <= 1024


def test_zero_is_gray_and_signs_are_opposite() -> None:
    pixels = render_weight(np.array([[-2.0, 0.0, 1.0, 2.0]]))
    assert pixels[0].tolist() == [1, 128, 192, 255]


def test_nan_and_infinities_are_gray() -> None:
    pixels = render_weight(np.array([[np.nan, np.inf, 1.0], [-np.inf, 0.0, -1.0]]))
    assert pixels.tolist() == [[128, 128, 255], [128, 128, 1]]


def test_filters_are_arranged_in_a_grid() -> None:
    kernel = np.zeros((2, 2, 1, 2), np.float32)
    kernel[..., 0, 1] = 1
    assert render_weight(kernel).tolist() == [[128, 128, 0, 255, 255]] * 2


def test_variable_of_any_backend_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    read = SimpleNamespace(convert_to_numpy=lambda variable: np.float32(variable.value))
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(ops=read))
    assert read_number(SimpleNamespace(value=0.25), "learning rate") == 0.25
