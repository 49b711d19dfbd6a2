"""A log of embeddings with known positions: a center point and a group on either side."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from re import Pattern

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.web.waiting import get_stable_box, get_stable_url
from tracklight.types import Float64

GROUP_SIZE = 20
POINT_COUNT = 2 * GROUP_SIZE + 1
DIMENSIONS = 4
GROUP_OFFSET = np.array([10, 0])
SPRITE_PX = 8
SECOND_RUN_COUNT = 30
LABELS_FIELD = 'metadata_path: "labels.tsv"'
#: Bookmarks in TensorBoard's format.
TENSORBOARD_BOOKMARKS = [
    {
        "label": "From TensorBoard",
        "selectedProjection": "pca",
        "dataSetDimensions": [POINT_COUNT, DIMENSIONS],
        "pcaComponentDimensions": [1, 0],
        "cameraDef": {
            "orthographic": True,
            "position": [0.2, 0, 4],
            "target": [0.2, 0, 0],
            "zoom": 2,
        },
        "selectedColorOptionName": "side",
        "selectedLabelOption": "side",
        "selectedPoints": [0, 1, 2],
        "filteredPoints": [*range(GROUP_SIZE + 1)],
    },
    {
        "label": "",
        "selectedProjection": "tsne",
        "dataSetDimensions": [POINT_COUNT, DIMENSIONS],
        "tSNEis3d": True,
        "tSNEPerplexity": 7,
        "cameraDef": {
            "orthographic": False,
            "position": [0.45, 0.9, 1.6],
            "target": [0, 0, 0],
            "zoom": 1,
        },
    },
    # Left out, with a note: a number as text.
    {"label": "Damaged", "tSNEPerplexity": "many"},
]
#: The colors of the two largest groups.
BLUE, ORANGE = (0x5F, 0x8D, 0xD3), (0xDD, 0x79, 0x00)


def write_embedding_log(logdir: Path) -> None:
    """Write two runs.

    The first has an embedding with labels at two steps, one with sprites, one whose points form
    a sequence, and one whose metadata does not match. The second has most of the same points.
    """
    run = logdir / "run"
    run.mkdir(parents=True)
    vectors = make_vectors()
    for step, turn in ((0, 0.0), (10, 0.5)):
        write_vectors(run / f"v{step}.tsv", rotate(vectors, turn))
    (run / "labels.tsv").write_text(format_labels())
    write_sprite(run / "sheet.png")
    write_vectors(run / "few.tsv", vectors[:5])
    blocks = [
        _config_block(
            f"places:{step:05d}", f"v{step}.tsv", f'{LABELS_FIELD} bookmarks_path: "state.json"'
        )
        for step in (0, 10)
    ]
    sprite = f'image_path: "sheet.png" single_image_dim: {SPRITE_PX} single_image_dim: {SPRITE_PX}'
    blocks.append(_config_block("seen", "v0.tsv", f"sprite {{ {sprite} }}"))
    blocks.append(_config_block("too_few", "few.tsv", LABELS_FIELD))
    blocks.append(_config_block("walk", "chain.tsv", 'metadata_path: "chain_labels.tsv"'))
    (run / "projector_config.pbtxt").write_text("".join(blocks))
    (run / "state.json").write_text(json.dumps(TENSORBOARD_BOOKMARKS))
    write_vectors(run / "chain.tsv", vectors[1 : GROUP_SIZE + 1])
    links = [f"link-{at}\t{at + 1 if at < GROUP_SIZE - 1 else ''}" for at in range(GROUP_SIZE)]
    (run / "chain_labels.tsv").write_text("\n".join(["word\t__seq_next__", *links]))
    _write_second_run(logdir / "second")


def _write_second_run(run: Path) -> None:
    """Write the points in reverse order, so that only labels identify the same points."""
    run.mkdir()
    write_vectors(run / "v.tsv", -2 * make_vectors()[::-1][:SECOND_RUN_COUNT])
    names, *labels = format_labels().splitlines()
    (run / "labels.tsv").write_text("\n".join([names, *labels[::-1][:SECOND_RUN_COUNT]]))
    (run / "projector_config.pbtxt").write_text(_config_block("moved", "v.tsv", LABELS_FIELD))


def _config_block(name: str, path: str, rest: str) -> str:
    return f'embeddings {{ tensor_name: "{name}" tensor_path: "{path}" {rest} }}\n'


def make_vectors() -> Float64:
    """Return a ring of points around each of two centers, symmetric about the origin."""
    angles = np.linspace(0, 2 * np.pi, GROUP_SIZE, endpoint=False)
    ring = np.stack([2 * np.cos(angles), 3 * np.sin(angles)], axis=1)
    flat = np.concatenate([[[0.0, 0.0]], ring - GROUP_OFFSET, ring + GROUP_OFFSET])
    return np.pad(flat, ((0, 0), (0, DIMENSIONS - 2)))


def rotate(vectors: Float64, angle: float) -> Float64:
    """Rotate the vectors about the first axis, from the second into the third dimension."""
    rotated = vectors.copy()
    rotated[:, 2] = vectors[:, 1] * np.sin(angle)
    rotated[:, 1] = vectors[:, 1] * np.cos(angle)
    return rotated


def write_vectors(path: Path, vectors: Float64) -> None:
    np.savetxt(path, vectors, delimiter="\t", fmt="%.6f")


def format_labels() -> str:
    lines = ["word\tside\tweight", "middle\tnone\t0"]
    for side in ("west", "east"):
        lines += [
            f"{side}-{at}\t{side}\t{(at - GROUP_SIZE / 2) / 10:.1f}" for at in range(GROUP_SIZE)
        ]
    return "\n".join(lines) + "\n"


def write_sprite(path: Path) -> None:
    """Write a sprite sheet with seven images per row: red for west, green for east."""
    colors = [(90, 90, 90), *[(230, 20, 20)] * GROUP_SIZE, *[(20, 200, 20)] * GROUP_SIZE]
    rows = -(-POINT_COUNT // 7)
    sheet = np.zeros((rows * SPRITE_PX, 7 * SPRITE_PX, 3), np.uint8)
    for at, color in enumerate(colors):
        top, left = SPRITE_PX * (at // 7), SPRITE_PX * (at % 7)
        sheet[top : top + SPRITE_PX, left : left + SPRITE_PX] = color
    Image.fromarray(sheet).save(path)


#: Height of the selection tools; whether their text has subpixels depends on the compositor.
TOOLS_PX = 48


def drawn_points(page: Page) -> Locator:
    """Return the canvas once all points are drawn and no animation runs."""
    locator = page.get_by_role("application")
    expect(locator).to_have_attribute("data-drawn", "1")
    expect(locator).to_have_attribute("aria-busy", "false")
    return locator


def take_screenshot(locator: Locator) -> NDArray[np.int_]:
    """Return the RGB pixels of the canvas with labels and lines, below the selection tools."""
    screenshot = Image.open(io.BytesIO(locator.screenshot())).convert("RGB")
    return np.asarray(screenshot).astype(int)[TOOLS_PX:]


def count_pixels(locator: Locator, *colors: tuple[int, int, int]) -> int:
    """Return how many pixels have approximately this color; of several colors, the rarest."""
    pixels = take_screenshot(locator)
    return min(int((np.abs(pixels - color).max(axis=2) < 12).sum()) for color in colors)


def drag(page: Page, *points: tuple[float, float]) -> None:
    """Drag along points of the canvas, given as fractions of its width and height."""
    box = get_stable_box(drawn_points(page))
    page.mouse.move(*box.at(*points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*box.at(*point), steps=3)
    page.mouse.up()


def select_embedding(page: Page, name: str | Pattern[str]) -> None:
    """Select another embedding in the toolbar."""
    page.get_by_role("button", name="Select an embedding").click()
    page.get_by_role("dialog").get_by_role("option", name=name).click()


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary").get_by_role("region", name=name, exact=True)


def combobox(page: Page, name: str) -> Locator:
    """Return the select box with this label."""
    return page.get_by_role("combobox", name=name, exact=True)


def selected_points(page: Page) -> Locator:
    """Return the text that says how many points are selected."""
    return page.get_by_role("status", name="Selected points")


def point_search(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search points")


def matching_points(page: Page) -> Locator:
    """Return the points that the search lists."""
    return page.get_by_role("list", name="Matching points").get_by_role("button")


def read_camera(page: Page) -> list[float]:
    """Return yaw, pitch, zoom and target from the URL, or an empty list."""
    match = re.search(r"orbit=([^&]*)", get_stable_url(page))
    return [float(part) for part in match[1].split(",")] if match else []


def read_settings(page: Page) -> dict[str, str]:
    """Return all parameters in the URL except the selected vectors."""
    settings = parse_query(get_stable_url(page).partition("?")[2])
    return {name: text for name, text in settings.items() if not name.startswith("embedding")}


def parse_query(query: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in query.split("&"))
