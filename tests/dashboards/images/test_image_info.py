"""The format and size of an image come from its bytes, not from the log."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.dashboards.images import samples
from tests.dashboards.images.conftest import Serve
from tests.dashboards.images.samples import noise, png, save, slope

GREY_16 = noise(4, 6, 1, dtype=np.uint16)
PALETTE = Image.fromarray(noise(4, 6, 3)).convert("P")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (save(noise(4, 6, 3)), ("PNG", "image/png", 6, 4, "RGB", 3, 8)),
        (save(noise(4, 6, 4)), ("PNG", "image/png", 6, 4, "RGBA", 4, 8)),
        (save(noise(1, 1, 1)), ("PNG", "image/png", 1, 1, "L", 1, 8)),
        (png(noise(4, 6, 2)), ("PNG", "image/png", 6, 4, "LA", 2, 8)),
        (png(GREY_16), ("PNG", "image/png", 6, 4, "I;16", 1, 16)),
        (png(noise(4, 6, 3, dtype=np.uint16)), ("PNG", "image/png", 6, 4, "RGB;16", 3, 16)),
        (save(PALETTE), ("PNG", "image/png", 6, 4, "P", 1, 8)),
        (save(Image.new("1", (6, 4))), ("PNG", "image/png", 6, 4, "1", 1, 1)),
        (save(slope(4, 6), "JPEG"), ("JPEG", "image/jpeg", 6, 4, "RGB", 3, 8)),
        (save(Image.new("CMYK", (6, 4)), "JPEG"), ("JPEG", "image/jpeg", 6, 4, "CMYK", 4, 8)),
        (save(slope(4, 6), "WEBP"), ("WebP", "image/webp", 6, 4, "RGB", 3, 8)),
        (save(slope(4, 6), "BMP"), ("BMP", "image/png", 6, 4, "RGB", 3, 8)),
        (save(np.ones((4, 6), np.float32), "TIFF"), ("TIFF", "image/png", 6, 4, "F", 1, 32)),
        (samples.mp4(), ("MP4", "video/mp4", 320, 240, "", 0, 0)),
        (samples.mp4(track_bytes=80), ("MP4", "video/mp4", 0, 0, "", 0, 0)),
        (samples.WEBM, ("WebM", "video/webm", 0, 0, "", 0, 0)),
    ],
)
def test_describes_formats(serve: Serve, data: bytes, expected: tuple[Any, ...]) -> None:
    (part,) = serve([data]).about()
    names = ("format", "media_type", "width", "height", "mode", "channels", "bits")
    assert tuple(part[name] for name in names) == expected
    assert (part["problem"], part["bytes"]) == (None, len(data))
    assert part["video"] == expected[1].startswith("video/")


def test_describes_every_image_of_a_value(serve: Serve) -> None:
    board = serve([save(noise(side, 9, 3)) for side in (2, 3, 4)], [b"no picture"])
    assert [part["height"] for part in board.about()] == [2, 3, 4]
    (bad,) = board.about(1)
    assert bad["format"] == "unknown"
    assert bad["problem"]["message"].startswith("Unknown image format: 10 bytes")


def test_limits_the_described_images(serve: Serve) -> None:
    board = serve([save(noise(1, 1, 3))] * 1200)
    info = board.get("about").json()
    assert (info["total"], len(info["parts"])) == (1200, 1000)
    assert board.get("thumbnail", part=1199).status_code == 200


@pytest.mark.parametrize(
    ("data", "frames", "duration_ms"),
    [
        (samples.gif(5, duration_ms=50), 5, 250),
        (samples.gif(1), 1, 0),
        # Browsers show frames without a duration for 100 ms.
        (samples.gif(3, duration_ms=0), 3, 300),
        (samples.endless_gif(30_000), 30_000, 30_000 * 50),
        (
            save(
                Image.new("RGB", (4, 4)),
                save_all=True,
                append_images=[Image.new("RGB", (4, 4), "red")],
                duration=200,
            ),
            2,
            400,
        ),
        (
            save(
                Image.new("RGB", (4, 4)),
                "WEBP",
                save_all=True,
                append_images=[Image.new("RGB", (4, 4), "red")],
                duration=80,
            ),
            2,
            160,
        ),
        (save(noise(3, 3, 3)), 1, 0),
        (samples.mp4(duration_ms=1500), 1, 1500),
        (samples.mp4(duration_ms=1500, long=True), 1, 1500),
    ],
)
def test_describes_animations(serve: Serve, data: bytes, frames: int, duration_ms: int) -> None:
    (part,) = serve([data]).about()
    assert (part["frames"], part["duration_ms"]) == (frames, duration_ms)


def test_size_respects_the_exif_orientation(serve: Serve) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    (part,) = serve([save(slope(8, 24), "JPEG", exif=exif)]).about()
    assert (part["width"], part["height"]) == (8, 24)


@pytest.mark.parametrize(
    ("width", "height", "tiled"), [(4096, 3, False), (4097, 3, True), (4000, 4001, True)]
)
def test_large_images_are_tiled(serve: Serve, width: int, height: int, tiled: bool) -> None:
    (part,) = serve([save(Image.new("L", (width, height)))]).about()
    assert part["tiled"] is tiled
