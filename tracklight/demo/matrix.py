"""A confusion matrix as people draw it: shades, counts, and the names of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracklight.demo.glyphs import Pixels
from tracklight.types import Int64

_CELL = 40
_MARGIN = 70
_WHITE, _BLUE = np.array([255, 255, 255]), np.array([8, 48, 107])
_INK = (60, 64, 72)


def draw_matrix(counts: Int64, names: Sequence[str]) -> Pixels:
    """Rows are true classes, from white (never) to dark blue (always)."""
    from PIL import Image, ImageDraw, ImageFont

    side = _MARGIN + _CELL * len(names)
    image = Image.new("RGB", (side + 4, side + 4), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    share = counts / counts.sum(1, keepdims=True)
    for row, name in enumerate(names):
        top = row * _CELL
        _write(draw, font, name, (_MARGIN - 8, top + _CELL // 2), anchor_right=True)
        for column in range(len(names)):
            left = _MARGIN + column * _CELL
            shade = float(share[row, column]) ** 0.6
            colour = tuple((_WHITE + (_BLUE - _WHITE) * shade).astype(int).tolist())
            draw.rectangle((left, top, left + _CELL, top + _CELL), colour, (222, 224, 230))
            if counts[row, column]:
                middle = left + _CELL // 2, top + _CELL // 2
                ink = "white" if shade > 0.55 else _INK
                _write(draw, font, str(counts[row, column]), middle, ink)
    for column, name in enumerate(names):
        label = Image.new("RGB", (_MARGIN - 8, _CELL), "white")
        middle = (_MARGIN - 16, _CELL // 2)
        _write(ImageDraw.Draw(label), font, name, middle, anchor_right=True)
        place = _MARGIN + column * _CELL, len(names) * _CELL + 8
        image.paste(label.transpose(Image.Transpose.ROTATE_90), place)
    return np.asarray(image)


def _write(
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
