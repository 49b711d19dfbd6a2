"""Tiles put together again are the picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.dashboards.images.conftest import Serve
from tests.dashboards.images.samples import load, noise, png, save, slope
from tracklight.dashboards.images import raster
from tracklight.dashboards.images.raster import (
    TILE_SIZE_PX,
    Raster,
    compute_tile_box,
    count_levels,
    halve_size,
)
from tracklight.errors import UsageError

sides = st.integers(1, 20_000)


@given(sides, sides, st.data())
def test_tiles_cover_every_level_once(width: int, height: int, data: st.DataObject) -> None:
    levels = count_levels((width, height))
    level = data.draw(st.integers(0, levels - 1))
    across, down = -(-width // 2**level), -(-height // 2**level)
    xs = [compute_tile_box((width, height), level, x, 0) for x in range(-(-across // TILE_SIZE_PX))]
    ys = [compute_tile_box((width, height), level, 0, y) for y in range(-(-down // TILE_SIZE_PX))]
    assert [tile[0] for tile in xs] == [0, *(tile[2] for tile in xs[:-1])]
    assert [tile[1] for tile in ys] == [0, *(tile[3] for tile in ys[:-1])]
    assert (xs[-1][2], ys[-1][3]) == (across, down)
    with pytest.raises(UsageError):
        compute_tile_box((width, height), level, len(xs), 0)
    with pytest.raises(UsageError):
        compute_tile_box((width, height), level, 0, len(ys))


@given(sides, sides)
def test_the_last_level_is_one_tile(width: int, height: int) -> None:
    last = count_levels((width, height)) - 1
    left, top, right, bottom = compute_tile_box((width, height), last, 0, 0)
    assert (left, top) == (0, 0)
    assert max(right, bottom) <= TILE_SIZE_PX
    assert last == 0 or 2 * max(right, bottom) > TILE_SIZE_PX
    with pytest.raises(UsageError):
        compute_tile_box((width, height), last + 1, 0, 0)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 4), st.integers(0, 9))
def test_a_level_is_the_mean_of_its_pixels(width: int, height: int, level: int, seed: int) -> None:
    """Against a plain mean; each halving may round by half a shade."""
    pixels = noise(height, width, seed=seed)
    found = np.asarray(Raster(Image.fromarray(pixels)).get_level(level)).astype(float)
    size = width, height
    for _ in range(level):
        size = halve_size(size)
    assert found.shape == size[::-1]
    scale = 2**level
    if width % scale == height % scale == 0:
        blocks = pixels.reshape(size[1], scale, size[0], scale)
        assert abs(found - blocks.mean(axis=(1, 3))).max() <= 0.5 * level + 1e-9


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_picture_is_put_together_again(serve: Serve, channels: int) -> None:
    pixels = noise(700, 1100, channels)
    board = serve([png(pixels)])
    rows = [
        np.concatenate(
            [np.atleast_3d(load(board.get("tile", x=x, y=y).content)) for x in range(3)], axis=1
        )
        for y in range(2)
    ]
    np.testing.assert_array_equal(np.concatenate(rows), pixels)


def test_what_has_sixteen_bits_is_shown_in_eight(serve: Serve) -> None:
    grey, colours = noise(9, 9, 1, dtype=np.uint16), noise(9, 9, 3, dtype=np.uint16)
    board = serve([png(grey), png(colours)])
    np.testing.assert_array_equal(load(board.get("tile").content), grey[:, :, 0] >> 8)
    np.testing.assert_array_equal(load(board.get("tile", part=1).content), colours >> 8)


def test_photographs_stay_such(serve: Serve) -> None:
    pixels = slope(600, 900)
    board = serve([save(pixels, "JPEG", quality=100, subsampling=0)])
    tile = board.get("tile", level=1)
    assert tile.headers["content-type"] == "image/jpeg"
    smaller = pixels.reshape(300, 2, 450, 2, 3).mean(axis=(1, 3))
    assert abs(load(tile.content) - smaller).max() < 8


def test_a_large_picture_is_decoded_once(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def decode(*arguments: object) -> Raster:
        decoded.append(1)
        return original(*arguments)  # type: ignore[arg-type]

    original = raster.decode_image
    monkeypatch.setattr(raster, "decode_image", decode)
    board = serve([save(Image.new("RGB", (5000, 1700), "teal"))])
    for level, x in ((0, 0), (0, 9), (1, 3), (4, 0)):
        assert board.get("tile", level=level, x=x).status_code == 200
    board.get("pixels", x=4999)
    board.get("thumbnail")
    assert len(decoded) == 1
