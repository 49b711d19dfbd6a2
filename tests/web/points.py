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

from tests.web.patience import place_at_rest
from tracklight.types import Float64

EACH = 20
COUNT = 2 * EACH + 1
DIMENSIONS = 4
AWAY = np.array([10, 0])
CELL = 8
MOVED = 30
LABELLED = 'metadata_path: "labels.tsv"'
#: Views as TensorBoard keeps them.
SAVED = [
    {
        "label": "From TensorBoard",
        "selectedProjection": "pca",
        "dataSetDimensions": [COUNT, DIMENSIONS],
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
        "filteredPoints": [*range(EACH + 1)],
    },
    {
        "label": "",
        "selectedProjection": "tsne",
        "dataSetDimensions": [COUNT, DIMENSIONS],
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


def write_points(logdir: Path) -> None:
    """A run with an embedding of two steps and labels, one with pictures, one whose points follow
    each other, and one that does not fit; and a second run with most of the points in it."""
    run = logdir / "run"
    run.mkdir(parents=True)
    vectors = make_vectors()
    for step, turn in ((0, 0.0), (10, 0.5)):
        write_vectors(run / f"v{step}.tsv", turned(vectors, turn))
    (run / "labels.tsv").write_text(format_labels())
    write_sheet(run / "sheet.png")
    write_vectors(run / "few.tsv", vectors[:5])
    blocks = [
        _block(f"places:{step:05d}", f"v{step}.tsv", f'{LABELLED} bookmarks_path: "state.json"')
        for step in (0, 10)
    ]
    sprite = f'image_path: "sheet.png" single_image_dim: {CELL} single_image_dim: {CELL}'
    blocks.append(_block("seen", "v0.tsv", f"sprite {{ {sprite} }}"))
    blocks.append(_block("too_few", "few.tsv", LABELLED))
    blocks.append(_block("walk", "chain.tsv", 'metadata_path: "chain_labels.tsv"'))
    (run / "projector_config.pbtxt").write_text("".join(blocks))
    (run / "state.json").write_text(json.dumps(SAVED))
    write_vectors(run / "chain.tsv", vectors[1 : EACH + 1])
    links = [f"link-{at}\t{at + 1 if at < EACH - 1 else ''}" for at in range(EACH)]
    (run / "chain_labels.tsv").write_text("\n".join(["word\t__seq_next__", *links]))
    _write_moved(logdir / "second")


def _write_moved(run: Path) -> None:
    """From the last point on, so that labels tell which are the same and numbers do not."""
    run.mkdir()
    write_vectors(run / "v.tsv", -2 * make_vectors()[::-1][:MOVED])
    names, *labels = format_labels().splitlines()
    (run / "labels.tsv").write_text("\n".join([names, *labels[::-1][:MOVED]]))
    (run / "projector_config.pbtxt").write_text(_block("moved", "v.tsv", LABELLED))


def _block(name: str, path: str, rest: str) -> str:
    return f'embeddings {{ tensor_name: "{name}" tensor_path: "{path}" {rest} }}\n'


def make_vectors() -> Float64:
    """Rings around two middles; all are as far on one side as on the other."""
    angles = np.linspace(0, 2 * np.pi, EACH, endpoint=False)
    ring = np.stack([2 * np.cos(angles), 3 * np.sin(angles)], axis=1)
    flat = np.concatenate([[[0.0, 0.0]], ring - AWAY, ring + AWAY])
    return np.pad(flat, ((0, 0), (0, DIMENSIONS - 2)))


def turned(vectors: Float64, angle: float) -> Float64:
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
        lines += [f"{side}-{at}\t{side}\t{(at - EACH / 2) / 10:.1f}" for at in range(EACH)]
    return "\n".join(lines) + "\n"


def write_sheet(path: Path) -> None:
    """Seven pictures a row: those of the west are red, those of the east green."""
    colours = [(90, 90, 90), *[(230, 20, 20)] * EACH, *[(20, 200, 20)] * EACH]
    rows = -(-COUNT // 7)
    sheet = np.zeros((rows * CELL, 7 * CELL, 3), np.uint8)
    for at, colour in enumerate(colours):
        top, left = CELL * (at // 7), CELL * (at % 7)
        sheet[top : top + CELL, left : left + CELL] = colour
    Image.fromarray(sheet).save(path)


def cloud(page: Page) -> Locator:
    """The points, once all of them are drawn and nothing moves."""
    found = page.get_by_role("application")
    expect(found).to_have_attribute("data-drawn", "1")
    expect(found).to_have_attribute("aria-busy", "false")
    return found


def picture_of(found: Locator) -> NDArray[np.int_]:
    """What is seen of the points, with names and lines."""
    picture = Image.open(io.BytesIO(found.screenshot())).convert("RGB")
    return np.asarray(picture).astype(int)


def count_pixels(found: Locator, colour: tuple[int, int, int]) -> int:
    """How many pixels of the points are about this colour."""
    off = np.abs(picture_of(found) - colour).max(axis=2)
    return int(np.count_nonzero(off < 12))


def drag(page: Page, *shares: tuple[float, float]) -> None:
    """Along places in the picture, told as shares of its width and height."""
    place = place_at_rest(cloud(page))
    page.mouse.move(*place.at(*shares[0]))
    page.mouse.down()
    for share in shares[1:]:
        page.mouse.move(*place.at(*share), steps=3)
    page.mouse.up()


def open_vectors(page: Page, name: str | Pattern[str]) -> None:
    """Chooses other vectors above."""
    page.get_by_role("button", name="Choose vectors").click()
    page.get_by_role("dialog").get_by_role("button", name=name).click()


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary").get_by_role("region", name=name, exact=True)


def pick(page: Page, name: str) -> Locator:
    """A choice with its name beside it."""
    return page.get_by_role("combobox", name=name, exact=True)
