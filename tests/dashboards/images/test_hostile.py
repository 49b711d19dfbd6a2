"""Hostile files give an error message, run nothing, and do not exhaust memory."""

from __future__ import annotations

import os
import threading
import warnings
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.dashboards.images import samples
from tests.dashboards.images.conftest import Serve
from tests.dashboards.images.samples import noise, png, save, slope
from tracklight.dashboards.images import describe_image
from tracklight.dashboards.images.header import read_header
from tracklight.dashboards.images.raster import decode_image
from tracklight.errors import FormatError
from tracklight.server import responses

HOSTILE = samples.hostile()
#: These have a valid header, but cannot be decoded.
FOUND_LATE = {"other bits"}


@pytest.mark.parametrize("name", HOSTILE)
def test_reports_invalid_images(serve: Serve, name: str) -> None:
    board = serve([HOSTILE[name]])
    (part,) = board.about()
    assert (part["problem"] is None) == (name in FOUND_LATE)
    for verb in ("tile", "pixels") if name in FOUND_LATE else ("thumbnail", "tile", "pixels"):
        response = board.get(verb)
        assert response.status_code == 422, verb
        message = response.json()["error"]["message"]
        assert message.endswith(".") and len(message) < 200
        if part["problem"]:
            assert message == part["problem"]["message"]
    assert board.get("picture").status_code == (200 if name in FOUND_LATE else 422)
    saved = board.get("file")
    assert saved.content == HOSTILE[name]
    assert saved.headers["content-disposition"].startswith("attachment")
    assert saved.headers["content-type"] == "application/octet-stream"


def test_rejects_decompression_bombs(serve: Serve) -> None:
    (part,) = serve([HOSTILE["bomb of PNG"]]).about()
    assert (
        "2,147,483,647 x 2,147,483,647 pixels; images with more than 200,000,000"
        in part["problem"]["message"]
    )


def test_never_serves_svg_as_a_document(serve: Serve) -> None:
    board = serve([samples.SVG])
    assert "SVG" in board.about()[0]["problem"]["message"]
    for verb in ("picture", "thumbnail", "file"):
        assert "svg" not in board.get(verb).headers["content-type"]


@pytest.mark.parametrize("verb", ["picture", "thumbnail", "tile", "file"])
def test_images_have_a_strict_content_security_policy(serve: Serve, verb: str) -> None:
    headers = serve([save(noise(8, 8, 3))]).get(verb).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "fields",
    [
        {"part": 1},
        {"part": -1},
        {"part": "x"},
        {"index": 7},
        {"run": "b"},
        {"tag": "other"},
        {"fingerprint": 3},
    ],
)
@pytest.mark.parametrize("verb", ["picture", "thumbnail", "tile", "pixels", "file"])
def test_returns_404_for_unknown_values(serve: Serve, verb: str, fields: dict[str, Any]) -> None:
    board = serve([save(noise(8, 8, 3))])
    params = {"run": "a", "tag": "picture", "index": 0, **fields}
    response = board.client.get(f"/api/v1/images/{verb}", params=params)
    assert response.status_code in (400, 404)
    assert response.json()["error"]["message"].endswith(".")


@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("thumbnail", {"size": 100}),
        ("tile", {"level": 1}),
        ("tile", {"x": 1}),
        ("tile", {"level": 10**9}),
        ("pixels", {"width": 65}),
        ("pixels", {"width": 0}),
        ("pixels", {"x": 8}),
        ("pixels", {"y": 2**40}),
    ],
)
def test_returns_an_error_for_unknown_tiles_and_pixels(
    serve: Serve, verb: str, fields: dict[str, Any]
) -> None:
    response = serve([save(noise(8, 8, 3))]).get(verb, **fields)
    assert response.status_code in (400, 404)


def test_videos_have_no_thumbnails_and_pixels(serve: Serve) -> None:
    board = serve([samples.mp4()])
    assert board.get("picture").headers["content-type"] == "video/mp4"
    for verb in ("thumbnail", "tile", "pixels"):
        assert "Videos have no" in board.get(verb).json()["error"]["message"]


def test_limits_concurrent_decoding(serve: Serve) -> None:
    """Of six requests for tiles, one decodes the image and the others wait for it."""
    board = serve([save(Image.new("RGB", (5000, 1700), "teal"))])
    answers: list[int] = []

    def fetch_tile(x: int) -> None:
        answers.append(board.get("tile", x=x).status_code)

    threads = [threading.Thread(target=fetch_tile, args=(x,)) for x in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 6


def test_accepts_large_text_chunks(serve: Serve) -> None:
    """Compressed text chunks may expand to any size; they are ignored."""
    text = b"zTXt", b"Comment\0\0" + zlib.compress(bytes(4 << 20), 9)
    data = png(noise(4, 4, 3), extra=samples.chunk(*text))
    board = serve([data])
    assert board.get("pixels").status_code in (200, 422)


HONEST = {
    "PNG": save(noise(20, 30, 3)),
    "PNG 16": png(noise(20, 30, 2, dtype=np.uint16)),
    "JPEG": save(slope(20, 30), "JPEG"),
    "GIF": samples.gif(3),
    "WebP": save(slope(20, 30), "WEBP"),
    "TIFF": save(noise(20, 30, 3), "TIFF"),
    "BMP": save(noise(20, 30, 3), "BMP"),
    "MP4": samples.mp4(),
}


@pytest.mark.parametrize("kind", HONEST)
@settings(max_examples=int(os.environ.get("TRACKLIGHT_EXAMPLES", "60")), deadline=None)
@given(changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6))
def test_any_bytes_give_an_image_or_a_format_error(
    kind: str, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(HONEST[kind])
    for place, byte in changes:
        data[place % len(data)] = byte
    mangled = bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about unusual files
        describe_image(0, mangled, responses.describe_error)
        try:
            header = read_header(mangled)
            if not header.format.is_video and header.width * header.height < 10**6:
                raster = decode_image(header, mangled)
                raster.to_display()
                raster.read_values((0, 0, 1, 1))
        except FormatError:
            pass
