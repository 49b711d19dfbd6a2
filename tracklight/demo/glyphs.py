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


def tile(pictures: Sequence[Pixels], columns: int) -> Pixels:
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
    return tile(framed, columns)


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
    return enlarge(tile(kernels, 4), 6)


def make_confusion(accuracy: float, rng: np.random.Generator) -> Int64:
    """What 100 samples of each class were taken for; shapes of like outline are mixed up more."""
    count = len(CLASSES)
    likeness = np.exp(-0.8 * abs(np.subtract.outer(np.arange(count), np.arange(count))))
    np.fill_diagonal(likeness, 0)
    chance = (1 - accuracy) * likeness / likeness.sum(1, keepdims=True) + accuracy * np.eye(count)
    return np.array([rng.multinomial(100, row / row.sum()) for row in chance])
