"""What the projector needs: vectors of the data set with labels and pictures, and of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tracklight.demo import glyphs
from tracklight.demo.eventfile import EventFile
from tracklight.demo.words import write_words
from tracklight.formats import summary
from tracklight.formats.png import encode_png
from tracklight.types import Int64

_POINTS = 400  # a square number: the sprite must have as many rows as columns
_DIMENSIONS = 24
_PICTURE_SIDE = 28

_CONFIG = f"""\
embeddings {{
  tensor_name: "penultimate_layer"
  tensor_shape: {_POINTS}
  tensor_shape: {_DIMENSIONS}
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
  sprite {{
    image_path: "sprite.png"
    single_image_dim: {_PICTURE_SIDE}
    single_image_dim: {_PICTURE_SIDE}
  }}
}}
"""


def write_embeddings(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 103])
    labels = np.arange(_POINTS) % len(glyphs.CLASSES)
    # A run is a folder with an event file in it; without one, no reader would look here.
    with EventFile(run, now - 120) as file:
        text = f"{_POINTS} pictures as the last layer but one of `lr=0.03,bn` sees them."
        file.log(now - 120, 6000, summary.text("about", text))
    _write_vectors(run / "tensors.tsv", labels, rng)
    _write_labels(run / "metadata.tsv", labels)
    pictures = [glyphs.draw_glyph(label, _PICTURE_SIDE, rng) for label in labels]
    sprite = glyphs.tile(pictures, int(_POINTS**0.5))
    (run / "sprite.png").write_bytes(encode_png(sprite))
    config = _CONFIG + write_words(run, seed=seed)
    (run / "projector_config.pbtxt").write_text(config, encoding="utf-8")


def _write_vectors(path: Path, labels: Int64, rng: np.random.Generator) -> None:
    centers = rng.normal(0, 1, (len(glyphs.CLASSES), _DIMENSIONS))
    vectors = centers[labels] + rng.normal(0, 0.35, (_POINTS, _DIMENSIONS))
    rows = ("\t".join(f"{number:.5f}" for number in vector) for vector in vectors)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_labels(path: Path, labels: Int64) -> None:
    rows = ["shape\tindex\tsplit"]
    for index, label in enumerate(labels):
        split = "validation" if index % 5 == 0 else "train"
        rows.append(f"{glyphs.CLASSES[label]}\t{index}\t{split}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
