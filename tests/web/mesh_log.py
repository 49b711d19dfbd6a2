"""A log of meshes with known pixels, and locators of the Mesh dashboard."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.dashboards.mesh.scene import make_part
from tests.web.cards import card
from tracklight.formats import summary
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

RED, GREEN, BLUE = (230, 30, 30), (20, 180, 60), (40, 60, 240)
STEPS = {0: RED, 10: GREEN, 20: BLUE}
#: Colors as logged, without lighting.
UNLIT = {"material": {"cls": "MeshBasicMaterial"}}
#: View from the front, so that the center of the image is the center of the mesh.
FRONT_CAMERA = "&camera=0,0,1"

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float32)
QUADS = np.array(
    [
        [0, 1, 3, 2],
        [4, 6, 7, 5],
        [0, 4, 5, 1],
        [2, 3, 7, 6],
        [0, 2, 6, 4],
        [1, 5, 7, 3],
    ]
)
TRIANGLES = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])


def fill_color(points: NDArray[np.float32], color: tuple[int, int, int]) -> NDArray[np.uint8]:
    return np.broadcast_to(np.array(color, np.uint8), points.shape)


def make_cube(step: int, size: float = 1.0) -> list[Message]:
    colors = fill_color(CUBE, STEPS[step])[None]
    return summary.mesh("shape/cube", size * CUBE[None], TRIANGLES[None], colors, config=UNLIT)


def make_sheet(side: int = 300) -> list[Message]:
    """Build a square of 90,000 vertices, blue where the index exceeds 16 bits, else red."""
    x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    points = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3).astype(np.float32)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + side + 1], axis=1),
            np.stack([corner, corner + side + 1, corner + side], axis=1),
        ]
    )
    colors = np.where(np.arange(len(points))[:, None] > 0xFFFF, BLUE, RED).astype(np.uint8)
    return summary.mesh("large/sheet", points[None], faces[None], colors[None], config=UNLIT)


def make_sphere(count: int, seed: int = 0) -> NDArray[np.float32]:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def event_record(step: int, *values: Message) -> bytes:
    return encode_record(encode_event(1.7e9 + step, step, values))


def write_mesh_log(logdir: Path) -> None:
    """Write two runs with a cube that changes color; the first also has all other meshes."""
    for run in ("first", "second"):
        (logdir / run).mkdir(parents=True)
        records = [event_record(step, *make_cube(step)) for step in STEPS]
        if run == "first":
            records += [event_record(0, *values) for values in make_other_meshes()]
        (logdir / run / "events.out.tfevents.1").write_bytes(b"".join(records))


def make_other_meshes() -> list[list[Message]]:
    pair = np.stack([CUBE, CUBE])
    pair_colors = np.stack([fill_color(CUBE, RED), fill_color(CUBE, GREEN)])
    faces = np.stack([TRIANGLES, TRIANGLES])
    # int8 is supported as well and takes a quarter of the space.
    vertices = (make_sphere(1_050_000) * 100).round().astype(np.int8)
    return [
        make_sheet(),
        summary.mesh("batch/pair", pair, faces, pair_colors, config=UNLIT),
        summary.mesh("cloud/ball", make_sphere(2000)[None]),
        [make_part("cloud/many_VERTEX", vertices[None])],
        [make_part("odd/broken_VERTEX", np.zeros((1, 4, 1)))],
        [
            make_part("odd/torn_VERTEX", CUBE[None]),
            make_part("odd/torn_FACE", [[[0, 1, 2], [0, 1, 99]]]),
        ],
        summary.mesh("shape/grey", CUBE[None], TRIANGLES[None]),
    ]


def drawn_mesh(page: Page, mesh: str, run: str = "first") -> Locator:
    """Return the rendered mesh of a run once it is completely drawn."""
    locator = card(page, mesh).get_by_role("img", name=f"{mesh}, {run}")
    wait_until_drawn(locator)
    return locator


def wait_until_drawn(locator: Locator) -> None:
    """Wait until a mesh is completely drawn and no longer moves."""
    expect(locator).to_have_attribute("data-still", "true")
    expect(locator).to_have_attribute("data-drawn", "1")


_READ_PIXELS = """node => {
  const canvas = node.querySelector('canvas');
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const pen = copy.getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  let text = '';
  for (let at = 0; at < data.length; at += 8192) {
    text += String.fromCharCode(...data.subarray(at, at + 8192));
  }
  return [canvas.width, canvas.height, btoa(text)];
}"""


def read_pixels(locator: Locator) -> NDArray[np.uint8]:
    """Return the RGBA pixels of the canvas, with shape [height, width, 4]."""
    width, height, text = locator.evaluate(_READ_PIXELS)
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(height, width, 4)


def read_pixel(locator: Locator, across: float = 0.5, down: float = 0.5) -> tuple[int, ...]:
    """Return the RGB color at a point, or an empty tuple where nothing is drawn."""
    drawn = read_pixels(locator)
    height, width, _ = drawn.shape
    *rgb, alpha = drawn[int(down * height), int(across * width)].tolist()
    return tuple(rgb) if alpha else ()


def drawn_fraction(locator: Locator) -> float:
    """Return the fraction of pixels that are not transparent."""
    return float((read_pixels(locator)[..., 3] > 0).mean())


def opaque_colors(locator: Locator) -> set[tuple[int, ...]]:
    """Return the set of RGB colors of opaque pixels."""
    drawn = read_pixels(locator).reshape(-1, 4)
    return {tuple(row) for row in np.unique(drawn[drawn[:, 3] == 255][:, :3], axis=0).tolist()}
