"""Vectors whose places tests know: two groups left and right of one point in the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tracklight.types import Float64

EACH = 20
COUNT = 2 * EACH + 1
DIMENSIONS = 4
AWAY = np.array([10, 0])
CELL = 8
#: The colours of the two largest groups.
BLUE, ORANGE = (0x42, 0x69, 0xD0), (0xDD, 0x79, 0x00)


def write_points(logdir: Path) -> None:
    """A run with an embedding of two steps and labels, one with pictures, and a broken one."""
    run = logdir / "run"
    run.mkdir(parents=True)
    vectors = make_vectors()
    for step, turn in ((0, 0.0), (10, 0.5)):
        write_vectors(run / f"v{step}.tsv", turned(vectors, turn))
    (run / "labels.tsv").write_text(format_labels())
    write_sheet(run / "sheet.png")
    write_vectors(run / "few.tsv", vectors[:5])
    blocks = [
        _block(f"places:{step:05d}", f"v{step}.tsv", 'metadata_path: "labels.tsv"')
        for step in (0, 10)
    ]
    sprite = f'image_path: "sheet.png" single_image_dim: {CELL} single_image_dim: {CELL}'
    blocks.append(_block("seen", "v0.tsv", f"sprite {{ {sprite} }}"))
    blocks.append(_block("too_few", "few.tsv", 'metadata_path: "labels.tsv"'))
    (run / "projector_config.pbtxt").write_text("".join(blocks))


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


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary").get_by_role("region", name=name, exact=True)


def pick(page: Page, name: str) -> Locator:
    """A choice with its name beside it."""
    return page.get_by_role("combobox", name=name, exact=True)
