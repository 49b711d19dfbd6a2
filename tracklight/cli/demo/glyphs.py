"""The classifier's data set: small pictures of ten shapes, drawn from formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64, Int64

Pixels = NDArray[np.uint8]

CLASSES = (
    "disc",
    "ring",
    "square",
    "frame",
    "triangle",
    "cross",
    "diamond",
    "stripes",
    "checks",
    "crescent",
)

#: A formula is positive inside its shape; x and y run from -1 to 1.
_FORMULAS: tuple[Callable[[Float64, Float64], Float64], ...] = (
    lambda x, y: 0.7 - np.hypot(x, y),
    lambda x, y: 0.2 - abs(np.hypot(x, y) - 0.55),
    lambda x, y: 0.6 - np.maximum(abs(x), abs(y)),
    lambda x, y: 0.15 - abs(np.maximum(abs(x), abs(y)) - 0.55),
    lambda x, y: np.minimum(0.6 - y, 0.35 + 0.5 * y - abs(x) * 0.95),
    lambda x, y: np.minimum(0.75 - np.maximum(abs(x), abs(y)), 0.2 - np.minimum(abs(x), abs(y))),
    lambda x, y: 0.75 - abs(x) - abs(y),
    lambda x, y: np.minimum(0.75 - abs(x), np.sin(y * 9) * 0.2),
    lambda x, y: np.minimum(0.75 - np.maximum(abs(x), abs(y)), np.sin(x * 6) * np.sin(y * 6) * 0.2),
    lambda x, y: np.minimum(0.7 - np.hypot(x, y), np.hypot(x - 0.35, y + 0.1) - 0.5),
)


def draw_glyph(label: int | np.integer[Any], size: int, rng: np.random.Generator) -> Pixels:
    """One sample of a class: turned, moved and coloured."""
    angle = rng.normal(0, 0.25)
    line = np.linspace(-1.1, 1.1, size)
    x, y = np.meshgrid(line + rng.normal(0, 0.06), line + rng.normal(0, 0.06))
    turned = x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)
    # The width of a pixel decides how soft the edge is.
    cover = np.clip(_FORMULAS[label](*turned) * size / 2.2 + 0.5, 0, 1)[..., np.newaxis]
    ink = 0.45 + 0.5 * rng.random(3)
    paper = 0.12 + 0.1 * rng.random(3)
    return to_bytes(paper + (ink - paper) * cover)


def to_bytes(picture: Float64) -> Pixels:
    """Intensities in [0, 1] as bytes."""
    return np.asarray(np.clip(picture * 255 + 0.5, 0, 255), np.uint8)


def tile_images(pictures: Sequence[Pixels], columns: int) -> Pixels:
    """Put pictures of one size side by side, row by row."""
    rows = [np.concatenate(pictures[i : i + columns], 1) for i in range(0, len(pictures), columns)]
    return np.concatenate(rows, 0)


def enlarge(picture: Pixels, times: int) -> Pixels:
    return picture.repeat(times, 0).repeat(times, 1)


def draw_predictions(right: Sequence[bool], pictures: Sequence[Pixels], columns: int) -> Pixels:
    """Pictures in a frame each: green where the class was told right, red where not."""
    framed = []
    for is_right, picture in zip(right, pictures, strict=True):
        side = len(picture) + 6
        cell = np.full((side, side, 3), (52, 168, 83) if is_right else (217, 48, 37), np.uint8)
        cell[3:-3, 3:-3] = picture
        framed.append(cell)
    return tile_images(framed, columns)


def draw_filters(phase: float, rng: np.random.Generator) -> Pixels:
    """The first layer's kernels: noise at ``phase`` 0, edges and blobs of colour at 1."""
    line = np.linspace(-1, 1, 7)
    x, y = np.meshgrid(line, line)
    kernels = []
    for i in range(16):
        angle, frequency = i * np.pi / 8, 2.0 + i % 4
        wave = np.cos(frequency * (x * np.cos(angle) + y * np.sin(angle)) + i)
        learned = (wave * np.exp(-(x**2) - y**2))[..., np.newaxis] * (0.4 + rng.random(3))
        kernel = phase * learned + (1 - phase) * rng.normal(0, 0.5, (7, 7, 3))
        kernels.append(np.pad(to_bytes(0.5 + 0.45 * kernel), ((0, 1), (0, 1), (0, 0))))
    return enlarge(tile_images(kernels, 4), 6)


def make_confusion(accuracy: float, rng: np.random.Generator) -> Int64:
    """What 100 samples of each class were taken for; shapes of like outline are mixed up more."""
    count = len(CLASSES)
    likeness = np.exp(-0.8 * abs(np.subtract.outer(np.arange(count), np.arange(count))))
    np.fill_diagonal(likeness, 0)
    chance = (1 - accuracy) * likeness / likeness.sum(1, keepdims=True) + accuracy * np.eye(count)
    return np.array([rng.multinomial(100, row / row.sum()) for row in chance])


# A confusion matrix as people draw it: shades, counts, and the names of the classes.

_CELL = 40

_MARGIN = 70

_WHITE, _BLUE = np.array([255, 255, 255]), np.array([8, 48, 107])

_INK = (60, 64, 72)


def draw_confusion_matrix(counts: Int64, names: Sequence[str]) -> Pixels:
    """Rows are true classes, from white (never) to dark blue (always)."""
    from PIL import Image, ImageDraw, ImageFont

    side = _MARGIN + _CELL * len(names)
    image = Image.new("RGB", (side + 4, side + 4), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    share = counts / counts.sum(1, keepdims=True)
    for row, name in enumerate(names):
        top = row * _CELL
        _draw_text(draw, font, name, (_MARGIN - 8, top + _CELL // 2), anchor_right=True)
        for column in range(len(names)):
            left = _MARGIN + column * _CELL
            shade = float(share[row, column]) ** 0.6
            colour = tuple((_WHITE + (_BLUE - _WHITE) * shade).astype(int).tolist())
            draw.rectangle((left, top, left + _CELL, top + _CELL), colour, (222, 224, 230))
            if counts[row, column]:
                middle = left + _CELL // 2, top + _CELL // 2
                ink = "white" if shade > 0.55 else _INK
                _draw_text(draw, font, str(counts[row, column]), middle, ink)
    for column, name in enumerate(names):
        label = Image.new("RGB", (_MARGIN - 8, _CELL), "white")
        middle = (_MARGIN - 16, _CELL // 2)
        _draw_text(ImageDraw.Draw(label), font, name, middle, anchor_right=True)
        place = _MARGIN + column * _CELL, len(names) * _CELL + 8
        image.paste(label.transpose(Image.Transpose.ROTATE_90), place)
    return np.asarray(image)


def _draw_text(
    draw: Any,
    font: Any,
    text: str,
    place: tuple[int, int],
    ink: Any = _INK,
    *,
    anchor_right: bool = False,
) -> None:
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    x = place[0] - right if anchor_right else place[0] - (left + right) / 2
    draw.text((x, place[1] - (top + bottom) / 2), text, fill=ink, font=font)
