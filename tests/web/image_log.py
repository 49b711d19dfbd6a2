"""A log of images with known pixels, and locators of the Images dashboard."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests import builders as b
from tests.web.cards import card
from tests.web.event_writer import append_records
from tests.web.waiting import get_stable_box

START = 1_700_000_000.0
RUNS = ("conv", "vit")
STEPS = (0, 10, 20, 30)
HUGE_SHAPE = (4200, 4300)

#: JavaScript that returns height, width and base64-encoded RGBA pixels of an image element.
READ_PIXELS = """async image => {
  await image.decode()
  const { naturalWidth: width, naturalHeight: height } = image
  const paper = new OffscreenCanvas(width, height).getContext('2d')
  paper.drawImage(image, 0, 0)
  const { data } = paper.getImageData(0, 0, width, height)
  let text = ''
  for (let at = 0; at < data.length; at += 8192)
    text += String.fromCharCode(...data.subarray(at, at + 8192))
  return [height, width, btoa(text)]
}"""


def make_digit(run: str, step: int, part: int) -> NDArray[np.uint8]:
    """Return an 8 x 8 grayscale image that is unique to its run, step and index."""
    base = np.arange(64, dtype=np.int64).reshape(8, 8) * 3
    return (base + 7 * step + 40 * part + 90 * RUNS.index(run)).astype(np.uint8)


def make_photo(run: str, step: int) -> NDArray[np.uint8]:
    """Return a 40 x 60 RGB image whose blue channel depends on the run and the step."""
    y, x = np.mgrid[0:40, 0:60]
    red, green = 4 * x, 6 * y
    blue = np.full_like(x, step + 100 * RUNS.index(run))
    return np.stack([red, green, blue], axis=-1).astype(np.uint8)


def make_16bit_image() -> NDArray[np.uint16]:
    """Return a 16-bit grayscale image whose neighboring pixels are equal when cut to 8 bits."""
    return (np.arange(256, dtype=np.uint16) + 40_000).reshape(16, 16)


def make_translucent_image() -> NDArray[np.uint8]:
    pixels = np.zeros((12, 18, 4), np.uint8)
    pixels[..., 0] = 200
    pixels[:, 9:, 3] = 255
    return pixels


def make_huge_image() -> NDArray[np.uint8]:
    y, x = np.mgrid[0 : HUGE_SHAPE[0], 0 : HUGE_SHAPE[1]]
    return ((x ^ y) & 255).astype(np.uint8)


def encode_image(pixels: NDArray[Any], kind: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


def make_animation() -> bytes:
    frames = [Image.fromarray(np.full((20, 20, 3), 60 * at, np.uint8)) for at in range(4)]
    stream = io.BytesIO()
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:], duration=80, loop=0)
    return stream.getvalue()


def image_record(tag: str, step: int, *encoded: bytes) -> bytes:
    """Return a record with all images of one step."""
    value = b.value(tag, b.metadata("images"), b.image_tensor(*encoded))
    return b.record(b.event(b.summary(value), step=step, wall=START + step))


def run_records(run: str, steps: Iterable[int]) -> list[bytes]:
    return [
        record
        for step in steps
        for record in (
            image_record(
                "samples/digits",
                step,
                *(encode_image(make_digit(run, step, at)) for at in range(4)),
            ),
            image_record("samples/photo", step, encode_image(make_photo(run, step))),
        )
    ]


def write_image_log(logdir: Path) -> None:
    for run in RUNS:
        append_records(logdir / run, *run_records(run, STEPS))
    append_records(
        logdir / "conv",
        image_record("odd/deep", 0, encode_image(make_16bit_image())),
        image_record("odd/glass", 0, encode_image(make_translucent_image())),
        image_record("odd/moving", 0, make_animation()),
        image_record("odd/damaged", 0, encode_image(make_photo("conv", 0))[:80]),
        image_record("odd/huge", 0, encode_image(make_huge_image())),
    )


# ---- locators


def image_strip(page: Page, title: str, run: str) -> Locator:
    """Return the images of a run in a card."""
    return card(page, title).get_by_role("group", name=run, exact=True)


def images_at_step(page: Page, title: str, run: str, step: int) -> Locator:
    """Wait until a run shows the images of this step and return them."""
    expect(image_strip(page, title, run).locator("[data-step]")).to_have_attribute(
        "data-step", str(step)
    )
    images = image_strip(page, title, run).locator("img")
    expect(images.first).to_be_visible()
    return images


def read_pixels(image: Locator) -> NDArray[np.uint8]:
    """Return the RGBA pixels of an image on the page, with shape [height, width, 4]."""
    height, width, data = image.evaluate(READ_PIXELS)
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)


def as_rgba(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert a logged array to the RGBA pixels that a browser draws."""
    flat = pixels[..., None] if pixels.ndim == 2 else pixels
    channels = np.repeat(flat, 3, axis=-1) if flat.shape[-1] == 1 else flat
    if channels.shape[-1] == 4:
        return channels
    return np.concatenate([channels, np.full((*channels.shape[:2], 1), 255, np.uint8)], axis=-1)


def image_pane(page: Page, label: str) -> Locator:
    """Return an image in the full-screen viewer."""
    return page.locator("article.full").get_by_role("img", name=label, exact=True)


def hover_at(page: Page, target: Locator, x: float, y: float) -> None:
    """Move the mouse to a point, given as fractions of the target's width and height."""
    box = get_stable_box(target)
    across, down = box.at(x, y)
    page.mouse.move(across - 2, down)
    page.mouse.move(across, down)


def read_zoom(page: Page) -> float:
    """Return the zoom factor: screen pixels per image pixel."""
    label = page.get_by_role("status", name="Zoom level").inner_text()
    return float(label.removesuffix("%").replace(",", "")) / 100
