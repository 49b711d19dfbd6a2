"""Names that examples in the documentation and in docstrings use without defining them."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

import tracklight

GIVEN: dict[str, Any] = {
    "clips": np.zeros((2, 800, 1)),
    "weights": np.arange(10.0),
    "pictures": np.zeros((2, 8, 8, 3)),
    "figure": Image.new("RGB", (8, 8)),
    "vertices": np.zeros((1, 3, 3)),
    "faces": np.array([[[0, 1, 2]]]),
    "colors": np.zeros((1, 3, 3), np.uint8),
    "labels": np.array([True, False]),
    "predictions": np.array([0.9, 0.2]),
    "generate": lambda: "words",
    "words": ["a", "b"],
    "vectors": np.eye(2),
    "frame": {
        "approved": np.arange(60) % 2,
        "score": np.linspace(0, 1, 60),
        "sex": ["F", "F", "M"] * 20,
        "region": ["north", "south"] * 30,
        "age": np.arange(20, 80),
        "hours_per_week": np.arange(60),
        "income": np.arange(60) > 30,
    },
    "classifier": lambda table: np.asarray(table["hours_per_week"]) / 60,
    "people": {"sex": ["F", "M"]},
    "epochs": 2,
    "train_one_epoch": lambda model: None,
    "model": lambda x: np.array([0.9, 0.2]),
    "x": np.zeros(2),
    "data": range(20),
    "train": lambda batch: None,
    "tracklight": tracklight,
}
