"""What a trial logs beside its scalars: pictures, precision and recall."""

from __future__ import annotations

import numpy as np

from tracklight.cli.demo import glyphs
from tracklight.cli.demo.glyphs import draw_confusion_matrix
from tracklight.formats import summary
from tracklight.formats.media import encode_png
from tracklight.formats.proto import Message

_PICTURE_SIDE = 48
_PICTURES = 32
_PICTURES_PER_SHEET = 16


class Gallery:
    """The pictures that a trial shows after each evaluation: always the same, some always hard."""

    def __init__(self, rng: np.random.Generator) -> None:
        labels = rng.integers(0, len(glyphs.CLASSES), _PICTURES)
        self._pictures = [glyphs.draw_glyph(label, _PICTURE_SIDE, rng) for label in labels]
        self._difficulty = rng.uniform(0.05, 1.0, _PICTURES)
        self._rng = rng

    def make_summaries(self, accuracy: float, progress: float) -> list[Message]:
        confusion = glyphs.make_confusion(accuracy, self._rng)
        matrix = draw_confusion_matrix(confusion, glyphs.CLASSES)
        filters = glyphs.draw_filters(progress**0.5, self._rng)
        return [
            self._show_predictions(accuracy),
            _make_image_summary(
                "confusion_matrix", [matrix], "Rows are true classes, columns the guesses."
            ),
            _make_image_summary("conv1/kernels", [filters], "The 16 kernels of the first layer."),
            summary.tensor("confusion_counts", confusion),
        ]

    def _show_predictions(self, accuracy: float) -> Message:
        right = (accuracy > self._difficulty).tolist()
        sheets = []
        for first in range(0, _PICTURES, _PICTURES_PER_SHEET):
            part = slice(first, first + _PICTURES_PER_SHEET)
            sheets.append(glyphs.draw_predictions(right[part], self._pictures[part], 4))
        return _make_image_summary("predictions", sheets, "Green: told right. Red: **wrong**.")


def make_pr_curves(accuracy: float, rng: np.random.Generator) -> list[Message]:
    """Precision and recall of three classes; the scores of a good classifier lie further apart."""
    values = []
    for hardness, name in enumerate(("disc", "checks", "crescent")):
        truth = rng.random(600) < 0.25
        apart = 0.5 + 4 * accuracy**2 - 0.8 * hardness
        score = 1 / (1 + np.exp(-(rng.normal(0, 1.6, 600) + apart * (truth - 0.5))))
        values.append(summary.pr_curve(f"pr/{name}", truth, score, thresholds=101))
    return values


def _make_image_summary(tag: str, pictures: list[glyphs.Pixels], description: str) -> Message:
    height, width, _ = pictures[0].shape
    encoded = [encode_png(picture) for picture in pictures]
    return summary.images(tag, encoded, width, height, description=description)
