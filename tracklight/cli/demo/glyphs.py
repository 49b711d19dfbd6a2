"""Images of the demo sweep: a data set of ten shapes, predictions, kernels, confusion matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.formats import summary
from tracklight.formats.media import encode_png
from tracklight.formats.proto import Message
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

_IMAGE_SIDE_PX = 48
_IMAGES = 32
_IMAGES_PER_SHEET = 16

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
    """Draw a sample of a class with random rotation, offset and colors."""
    angle = rng.normal(0, 0.25)
    line = np.linspace(-1.1, 1.1, size)
    x, y = np.meshgrid(line + rng.normal(0, 0.06), line + rng.normal(0, 0.06))
    rotated = x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)
    # Antialiasing: the edge is one pixel wide.
    coverage = np.clip(_FORMULAS[label](*rotated) * size / 2.2 + 0.5, 0, 1)[..., np.newaxis]
    ink = 0.45 + 0.5 * rng.random(3)
    paper = 0.12 + 0.1 * rng.random(3)
    return to_bytes(paper + (ink - paper) * coverage)


def to_bytes(image: Float64) -> Pixels:
    """Convert intensities in [0, 1] to bytes."""
    return np.asarray(np.clip(image * 255 + 0.5, 0, 255), np.uint8)


def tile_images(images: Sequence[Pixels], columns: int) -> Pixels:
    """Arrange images of the same size in a grid, row by row."""
    rows = [np.concatenate(images[i : i + columns], 1) for i in range(0, len(images), columns)]
    return np.concatenate(rows, 0)


def enlarge(image: Pixels, times: int) -> Pixels:
    return image.repeat(times, 0).repeat(times, 1)


def draw_predictions(right: Sequence[bool], images: Sequence[Pixels], columns: int) -> Pixels:
    """Draw a grid of framed images: green for correct predictions, red for wrong ones."""
    framed = []
    for is_right, image in zip(right, images, strict=True):
        side = len(image) + 6
        cell = np.full((side, side, 3), (52, 168, 83) if is_right else (217, 48, 37), np.uint8)
        cell[3:-3, 3:-3] = image
        framed.append(cell)
    return tile_images(framed, columns)


def draw_filters(phase: float, rng: np.random.Generator) -> Pixels:
    """Draw the kernels of the first layer: noise at ``phase`` 0, edges and blobs at 1."""
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
    """Return a confusion matrix of 100 samples per class; similar shapes are confused more."""
    count = len(CLASSES)
    similarity = np.exp(-0.8 * abs(np.subtract.outer(np.arange(count), np.arange(count))))
    np.fill_diagonal(similarity, 0)
    probability = (1 - accuracy) * similarity / similarity.sum(
        1, keepdims=True
    ) + accuracy * np.eye(count)
    return np.array([rng.multinomial(100, row / row.sum()) for row in probability])


_CELL_PX = 40
_MARGIN_PX = 70
_WHITE, _BLUE = np.array([255, 255, 255]), np.array([8, 48, 107])
_INK = (60, 64, 72)


def draw_confusion_matrix(counts: Int64, names: Sequence[str]) -> Pixels:
    """Draw a confusion matrix with counts and labels; rows are true classes."""
    from PIL import Image, ImageDraw, ImageFont

    side = _MARGIN_PX + _CELL_PX * len(names)
    image = Image.new("RGB", (side + 4, side + 4), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    share = counts / counts.sum(1, keepdims=True)
    for row, name in enumerate(names):
        top = row * _CELL_PX
        _draw_text(draw, font, name, (_MARGIN_PX - 8, top + _CELL_PX // 2), anchor_right=True)
        for column in range(len(names)):
            left = _MARGIN_PX + column * _CELL_PX
            shade = float(share[row, column]) ** 0.6
            color = tuple((_WHITE + (_BLUE - _WHITE) * shade).astype(int).tolist())
            draw.rectangle((left, top, left + _CELL_PX, top + _CELL_PX), color, (222, 224, 230))
            if counts[row, column]:
                middle = left + _CELL_PX // 2, top + _CELL_PX // 2
                ink = "white" if shade > 0.55 else _INK
                _draw_text(draw, font, str(counts[row, column]), middle, ink)
    for column, name in enumerate(names):
        label = Image.new("RGB", (_MARGIN_PX - 8, _CELL_PX), "white")
        middle = (_MARGIN_PX - 16, _CELL_PX // 2)
        _draw_text(ImageDraw.Draw(label), font, name, middle, anchor_right=True)
        corner = _MARGIN_PX + column * _CELL_PX, len(names) * _CELL_PX + 8
        image.paste(label.transpose(Image.Transpose.ROTATE_90), corner)
    return np.asarray(image)


def _draw_text(
    draw: Any,
    font: Any,
    text: str,
    position: tuple[int, int],
    ink: Any = _INK,
    *,
    anchor_right: bool = False,
) -> None:
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    x = position[0] - right if anchor_right else position[0] - (left + right) / 2
    draw.text((x, position[1] - (top + bottom) / 2), text, fill=ink, font=font)


class Gallery:
    """The images that a trial logs after each evaluation. Each has a fixed difficulty."""

    def __init__(self, rng: np.random.Generator) -> None:
        labels = rng.integers(0, len(CLASSES), _IMAGES)
        self._images = [draw_glyph(label, _IMAGE_SIDE_PX, rng) for label in labels]
        self._difficulty = rng.uniform(0.05, 1.0, _IMAGES)
        self._rng = rng

    def make_summaries(self, accuracy: float, progress: float) -> list[Message]:
        confusion = make_confusion(accuracy, self._rng)
        matrix = draw_confusion_matrix(confusion, CLASSES)
        filters = draw_filters(progress**0.5, self._rng)
        return [
            self._make_predictions(accuracy),
            _make_image_summary(
                "confusion_matrix", [matrix], "Rows are true classes, columns predictions."
            ),
            _make_image_summary("conv1/kernels", [filters], "The 16 kernels of the first layer."),
            summary.tensor("confusion_counts", confusion),
        ]

    def _make_predictions(self, accuracy: float) -> Message:
        is_right = (accuracy > self._difficulty).tolist()
        sheets = []
        for first in range(0, _IMAGES, _IMAGES_PER_SHEET):
            part = slice(first, first + _IMAGES_PER_SHEET)
            sheets.append(draw_predictions(is_right[part], self._images[part], 4))
        return _make_image_summary("predictions", sheets, "Green: correct. Red: **wrong**.")


def make_pr_curves(accuracy: float, rng: np.random.Generator) -> list[Message]:
    """Return PR curves of three classes; a higher accuracy separates the scores more."""
    values = []
    for difficulty, name in enumerate(("disc", "checks", "crescent")):
        truth = rng.random(600) < 0.25
        separation = 0.5 + 4 * accuracy**2 - 0.8 * difficulty
        score = 1 / (1 + np.exp(-(rng.normal(0, 1.6, 600) + separation * (truth - 0.5))))
        values.append(summary.pr_curve(f"pr/{name}", truth, score, thresholds=101))
    return values


def _make_image_summary(tag: str, images: list[Pixels], description: str) -> Message:
    height, width, _ = images[0].shape
    encoded = [encode_png(image) for image in images]
    return summary.images(tag, encoded, width, height, description=description)
