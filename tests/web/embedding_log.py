"""Vectors whose places tests know: two groups left and right of one point in the middle."""

from __future__ import annotations

import io
import json
from pathlib import Path
from re import Pattern

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.web.waiting import get_stable_box
from tracklight.types import Float64

GROUP_SIZE = 20
POINT_COUNT = 2 * GROUP_SIZE + 1
DIMENSIONS = 4
GROUP_OFFSET = np.array([10, 0])
SPRITE_PX = 8
SECOND_RUN_COUNT = 30
LABELS_FIELD = 'metadata_path: "labels.tsv"'
#: Views as TensorBoard keeps them.
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
]
#: The colours of the two largest groups.
BLUE, ORANGE = (0x42, 0x69, 0xD0), (0xDD, 0x79, 0x00)


def write_embedding_log(logdir: Path) -> None:
    """A run with an embedding of two steps and labels, one with pictures, one whose points follow
    each other, and one that does not fit; and a second run with most of the points in it."""
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
    """From the last point on, so that labels tell which are the same and numbers do not."""
    run.mkdir()
    write_vectors(run / "v.tsv", -2 * make_vectors()[::-1][:SECOND_RUN_COUNT])
    names, *labels = format_labels().splitlines()
    (run / "labels.tsv").write_text("\n".join([names, *labels[::-1][:SECOND_RUN_COUNT]]))
    (run / "projector_config.pbtxt").write_text(_config_block("moved", "v.tsv", LABELS_FIELD))


def _config_block(name: str, path: str, rest: str) -> str:
    return f'embeddings {{ tensor_name: "{name}" tensor_path: "{path}" {rest} }}\n'


def make_vectors() -> Float64:
    """Rings around two middles; all are as far on one side as on the other."""
    angles = np.linspace(0, 2 * np.pi, GROUP_SIZE, endpoint=False)
    ring = np.stack([2 * np.cos(angles), 3 * np.sin(angles)], axis=1)
    flat = np.concatenate([[[0.0, 0.0]], ring - GROUP_OFFSET, ring + GROUP_OFFSET])
    return np.pad(flat, ((0, 0), (0, DIMENSIONS - 2)))


def rotate(vectors: Float64, angle: float) -> Float64:
    """The same in a plane that the first two axes have turned out of."""
    moved = vectors.copy()
    moved[:, 2] = vectors[:, 1] * np.sin(angle)
    moved[:, 1] = vectors[:, 1] * np.cos(angle)
    return moved


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
    """Seven pictures a row: those of the west are red, those of the east green."""
    colours = [(90, 90, 90), *[(230, 20, 20)] * GROUP_SIZE, *[(20, 200, 20)] * GROUP_SIZE]
    rows = -(-POINT_COUNT // 7)
    sheet = np.zeros((rows * SPRITE_PX, 7 * SPRITE_PX, 3), np.uint8)
    for at, colour in enumerate(colours):
        top, left = SPRITE_PX * (at // 7), SPRITE_PX * (at % 7)
        sheet[top : top + SPRITE_PX, left : left + SPRITE_PX] = colour
    Image.fromarray(sheet).save(path)


def drawn_points(page: Page) -> Locator:
    """The points, once all of them are drawn and nothing moves."""
    found = page.get_by_role("application")
    expect(found).to_have_attribute("data-drawn", "1")
    expect(found).to_have_attribute("aria-busy", "false")
    return found


def take_screenshot(found: Locator) -> NDArray[np.int_]:
    """What is seen of the points, with names and lines."""
    picture = Image.open(io.BytesIO(found.screenshot())).convert("RGB")
    return np.asarray(picture).astype(int)


def count_pixels(found: Locator, colour: tuple[int, int, int]) -> int:
    """How many pixels of the points are about this colour."""
    off = np.abs(take_screenshot(found) - colour).max(axis=2)
    return int(np.count_nonzero(off < 12))


def drag(page: Page, *shares: tuple[float, float]) -> None:
    """Along places in the picture, told as shares of its width and height."""
    place = get_stable_box(drawn_points(page))
    page.mouse.move(*place.at(*shares[0]))
    page.mouse.down()
    for share in shares[1:]:
        page.mouse.move(*place.at(*share), steps=3)
    page.mouse.up()


def choose_vectors(page: Page, name: str | Pattern[str]) -> None:
    """Chooses other vectors above."""
    page.get_by_role("button", name="Choose vectors").click()
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary").get_by_role("region", name=name, exact=True)


def combobox(page: Page, name: str) -> Locator:
    """A choice with its name beside it."""
    return page.get_by_role("combobox", name=name, exact=True)
