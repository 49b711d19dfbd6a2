"""Thumbnails are small and sharp; originals are returned as logged."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.dashboards.images import samples
from tests.dashboards.images.conftest import Serve
from tests.dashboards.images.samples import load, noise, png, save, slope
from tracklight.dashboards.images.header import read_header
from tracklight.dashboards.images.raster import count_decoded_pixels, decode_image


@pytest.mark.parametrize(
    "data",
    [
        save(noise(8, 6, 3)),
        png(noise(8, 6, 1, dtype=np.uint16)),
        save(slope(8, 6), "JPEG"),
        save(slope(8, 6), "WEBP"),
    ],
)
def test_returns_small_images_unchanged(serve: Serve, data: bytes) -> None:
    board = serve([data])
    assert board.get("thumbnail", size=64).content == data
    assert board.get("picture").content == data


@pytest.mark.parametrize(
    ("width", "height", "size", "fitted"),
    [
        (300, 200, 64, (64, 43)),
        (300, 200, 256, (256, 171)),
        (1, 5000, 128, (1, 128)),
        (65, 65, 64, (64, 64)),
    ],
)
def test_scales_large_images(
    serve: Serve, width: int, height: int, size: int, fitted: tuple[int, int]
) -> None:
    response = serve([save(noise(height, width, 3))]).get("thumbnail", size=size)
    assert response.headers["content-type"] == "image/png"
    assert load(response.content).shape[:2] == fitted[::-1]


def test_thin_lines_stay_visible(serve: Serve) -> None:
    """Taking every fourth pixel would lose most of the lines."""
    pixels = np.zeros((256, 256), np.uint8)
    pixels[:, 1::16] = 255
    shown = load(serve([save(pixels)]).get("thumbnail", size=64).content)
    assert (shown.max(axis=0)[0::4] > 40).sum() >= 15


def test_photos_become_jpeg_and_others_png(serve: Serve) -> None:
    photo = save(slope(600, 900), "JPEG")
    board = serve([photo], [save(noise(600, 900, 4))])
    assert board.get("thumbnail").headers["content-type"] == "image/jpeg"
    transparent = board.get("thumbnail", 1)
    assert transparent.headers["content-type"] == "image/png"
    assert load(transparent.content).shape == (171, 256, 4)


@pytest.mark.parametrize("size", [64, 256, 1024])
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_counts_decoded_pixels(kind: str, size: int) -> None:
    data = save(slope(900, 1500), kind)
    header = read_header(data)
    width, height = decode_image(header, data, size).size
    assert count_decoded_pixels(header, size) == pytest.approx(width * height, rel=0.05)


def test_thumbnail_of_an_animation_is_its_first_frame(serve: Serve) -> None:
    data = samples.gif(3)
    board = serve([data])
    shown = load(board.get("thumbnail", size=64).content, "L")
    np.testing.assert_array_equal(shown, load(data, "L"))
    assert board.get("picture").content == data


def test_respects_the_exif_orientation(serve: Serve) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    shown = load(serve([save(slope(200, 400), "JPEG", exif=exif)]).get("thumbnail").content)
    assert shown.shape == (256, 128, 3)
    # The left edge, which is blue, is at the top.
    assert shown[4, 64, 2] > 200 > 50 > shown[-4, 64, 2]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (save(noise(5, 4, 3), "BMP"), noise(5, 4, 3)),
        (save(noise(5, 4, 3), "TIFF"), noise(5, 4, 3)),
        (save(np.array([[0.0, 0.5, 1.0]], np.float32), "TIFF"), [[0, 128, 255]]),
        (save(np.array([[-5.0, 0.0, 5.0]], np.float32), "TIFF"), [[0, 128, 255]]),
        (save(np.array([[np.nan, 0.0, np.inf]], np.float32), "TIFF"), [[0, 0, 255]]),
        (save(np.array([[7, 7]], np.int32), "TIFF"), [[0, 0]]),
    ],
)
def test_converts_unsupported_formats_to_png(serve: Serve, data: bytes, shown: np.ndarray) -> None:
    board = serve([data])
    for verb in ("picture", "thumbnail"):
        response = board.get(verb)
        assert response.headers["content-type"] == "image/png"
        np.testing.assert_array_equal(load(response.content), shown)


def test_converts_cmyk_to_rgb(serve: Serve) -> None:
    board = serve([save(Image.new("CMYK", (900, 900), (255, 0, 0, 0)), "JPEG")])
    red, green, blue = load(board.get("thumbnail").content)[9, 9]
    assert red < 30 and green > 130 and blue > 130


def test_videos_support_range_requests(serve: Serve) -> None:
    data = samples.mp4()
    board = serve([data])
    params = {"run": "a", "tag": "picture", "index": 0}
    response = board.client.get(
        "/api/v1/images/picture", params=params, headers={"range": "bytes=4-11"}
    )
    assert (response.status_code, response.content) == (206, data[4:12])


@pytest.mark.parametrize("verb", ["about", "picture", "thumbnail", "tile", "pixels", "file"])
def test_responses_with_a_fingerprint_are_immutable(serve: Serve, verb: str) -> None:
    board = serve([save(noise(8, 6, 3))])
    assert "immutable" in board.get(verb).headers["cache-control"]
    params = {"run": "a", "tag": "picture", "index": 0}
    plain = board.client.get(f"/api/v1/images/{verb}", params=params)
    assert plain.headers["cache-control"] == "no-store"
