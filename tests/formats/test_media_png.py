from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from tracklight.errors import UsageError
from tracklight.formats.media import encode_png


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 2), (5, 7, 3), (5, 7, 4), (1, 1)])
def test_round_trip(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)

    with Image.open(io.BytesIO(encode_png(pixels))) as image:
        again = np.asarray(image)

    np.testing.assert_array_equal(again, pixels.squeeze(2) if shape[2:] == (1,) else pixels)


@pytest.mark.parametrize("pixels", [np.zeros((2, 2)), np.zeros((2, 2, 5), np.uint8)])
def test_invalid_array_raises(pixels: np.ndarray) -> None:  # type: ignore[type-arg]
    with pytest.raises(UsageError, match="is not an image"):
        encode_png(pixels)
