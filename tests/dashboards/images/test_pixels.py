"""Pixel values are those that were logged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.dashboards.images.conftest import Board, Serve
from tests.dashboards.images.samples import noise, png, save, slope
from tests.server.columns_decoder import read_columns
from tracklight.server.responses import COLUMNS_MEDIA_TYPE


def read(board: Board, **fields: Any) -> NDArray[Any]:
    response = board.client.get(
        "/api/v1/images/pixels",
        params={"run": "a", "tag": "picture", "index": 0, **fields},
        headers={"accept": COLUMNS_MEDIA_TYPE},
    )
    pixels = read_columns(response.content)
    shape = pixels["height"], pixels["width"], len(pixels["channels"])
    return np.asarray(pixels["values"]).reshape(shape)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_returns_exact_values(serve: Serve, channels: int, dtype: type) -> None:
    pixels = noise(40, 50, channels, dtype=dtype)
    board = serve([png(pixels)])
    np.testing.assert_array_equal(read(board, width=64, height=64), pixels)
    cut = read(board, x=45, y=7, width=9, height=3)
    np.testing.assert_array_equal(cut, pixels[7:10, 45:])


def test_returns_channel_names_and_bits(serve: Serve) -> None:
    board = serve([png(noise(3, 3, 4, dtype=np.uint16))])
    pixels = board.get("pixels", x=1, y=2, width=5, height=5).json()
    assert pixels["channels"] == ["red", "green", "blue", "alpha"]
    assert (pixels["bits"], pixels["x"], pixels["y"], pixels["width"], pixels["height"]) == (
        16,
        1,
        2,
        2,
        1,
    )


def test_returns_floats(serve: Serve) -> None:
    floats = np.array([[0.25, -7.5], [np.nan, 1e30]], np.float32)
    board = serve([save(floats, "TIFF")])
    np.testing.assert_array_equal(read(board, width=2, height=2)[:, :, 0], floats)


def test_resolves_palettes(serve: Serve) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putdata([0, 1])
    assert read(serve([save(image)]), width=2).tolist() == [[[10, 20, 30], [40, 50, 60]]]


def test_returns_transparency(serve: Serve) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([10, 20, 30, 40, 50, 60])
    image.putdata([0, 1])
    clear = save(image, transparency=0)
    board = serve([clear], [save(noise(1, 1, 3), transparency=(1, 2, 3))])
    assert read(board, width=2).tolist() == [[[10, 20, 30, 0], [40, 50, 60, 255]]]
    assert board.get("pixels", 1).json()["channels"][-1] == "alpha"


def test_returns_cmyk_values(serve: Serve) -> None:
    board = serve([save(Image.new("CMYK", (8, 8), (10, 20, 30, 40)), "JPEG", quality=100)])
    assert board.get("pixels").json()["channels"] == ["cyan", "magenta", "yellow", "black"]
    assert abs(read(board)[0, 0].astype(int) - [10, 20, 30, 40]).max() <= 2


def test_respects_the_exif_orientation(serve: Serve) -> None:
    pixels = slope(8, 24)
    exif = Image.Exif()
    exif[0x0112] = 6
    board = serve([save(pixels, "JPEG", quality=100, subsampling=0, exif=exif)])
    turned = np.rot90(pixels, -1).astype(int)
    assert abs(read(board, width=8, height=24) - turned).max() < 12
