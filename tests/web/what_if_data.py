"""Data sets and models for browser tests of What-If."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.formats.media import encode_png
from tracklight.reader import create_catalog
from tracklight.server.app import Settings
from tracklight.server.serve import Board

ROWS = 400
SEED = 7


def make_people(rows: int = ROWS) -> dict[str, Any]:
    """Return people of whom the older and better educated have a higher income."""
    random = np.random.default_rng(SEED)
    age = random.integers(18, 80, rows)
    education = random.integers(6, 17, rows)
    signal = (age - 45) / 15 + (education - 11) / 3 + random.normal(size=rows)
    return {
        "age": age,
        "education": education,
        "hours": random.integers(10, 60, rows),
        "job": random.choice(["clerk", "cook", "nurse"], rows),
        "sex": random.choice(["f", "m"], rows, p=[0.4, 0.6]),
        "income": (signal > 0).astype(int),
    }


def predict_steep(columns: Any) -> Any:
    """Return a score that depends on age and education."""
    linear = (columns["age"] - 45) / 10 + (columns["education"] - 11) / 2
    return 1 / (1 + np.exp(-linear))


def predict_flat(columns: Any) -> Any:
    """Return a score that depends on age alone."""
    return 1 / (1 + np.exp(-(columns["age"] - 50) / 20))


def make_workspace(rows: int = ROWS) -> Workspace:
    """Return people with two models."""
    models = [wrap_model(predict_steep, "steep"), wrap_model(predict_flat, "flat")]
    features = ["age", "education", "hours", "job", "sex"]
    return Workspace(to_table(make_people(rows)), models, label="income", features=features)


def make_image_workspace() -> Workspace:
    """Return images with a model that measures their brightness."""
    random = np.random.default_rng(SEED)
    pixels = random.integers(0, 255, (6, 8, 8, 3), dtype=np.uint8)
    images = make_column("photo", [encode_png(image) for image in pixels])
    table = to_table({"brightness": pixels.mean(axis=(1, 2, 3))}).with_columns([images])
    return Workspace(
        table, [wrap_model(lambda columns: columns["brightness"], "bright", task="regression")]
    )


def make_sequence_workspace() -> Workspace:
    """Return rows with a vector and a sequence, and a model of the sum of the sequence."""
    random = np.random.default_rng(SEED)
    vectors = random.normal(size=(30, 4))
    table = to_table({"x": vectors[:, 0]}).with_columns(
        [
            make_column("vector", vectors.tolist()),
            make_column("speed", [[[float(row)], [2.0, 3.0], [5.0]] for row in range(30)]),
        ]
    )

    def add_up(columns: Any) -> Any:
        return [sum(sum(step) for step in row) for row in columns["speed"]]

    model = wrap_model(add_up, "total", task="regression", input="dict")
    return Workspace(table, [model], features=["speed"])


def make_film_workspace() -> Workspace:
    """Return sequences of three images, and a model of the brightness of the second."""
    random = np.random.default_rng(SEED)
    shades = random.integers(40, 200, (5, 3))
    films = [
        [[encode_png(np.full((8, 8, 3), shade, np.uint8))] for shade in row]
        for row in shades.tolist()
    ]
    table = to_table({"x": np.arange(5.0)}).with_columns([make_column("film", films)])

    def measure(columns: Any) -> Any:
        return [
            np.asarray(Image.open(io.BytesIO(film[1][0])), float).mean() for film in columns["film"]
        ]

    model = wrap_model(measure, "middle", task="regression", input="dict")
    return Workspace(table, [model], features=["film"])


def make_vector_workspace() -> Workspace:
    """Return rows whose vectors do not follow the feature of the model."""
    random = np.random.default_rng(SEED)
    x = np.linspace(-2, 2, 40)
    vectors = random.normal(size=(40, 3))
    table = to_table({"x": x}).with_columns([make_column("vector", vectors.tolist())])
    model = wrap_model(lambda columns: 1 / (1 + np.exp(-columns["x"])), "logistic")
    return Workspace(table, [model], features=["x"])


def make_class_workspace() -> Workspace:
    """Return rows of three classes with names, and a model with attributions."""
    random = np.random.default_rng(SEED)
    x = random.uniform(0, 3, 60)

    def predict(columns: Any) -> Any:
        scores = np.eye(3)[np.clip((columns["x"] + 0.3).astype(int), 0, 2)] * 0.8 + 0.2 / 3
        return {"predictions": scores, "attributions": {"x": columns["x"] - 1.5}}

    return Workspace(
        to_table({"x": x, "label": x.astype(int)}),
        [wrap_model(predict, "steps")],
        label="label",
        features=["x"],
        class_names=["low", "middle", "high"],
    )


@contextmanager
def serve_workspaces(
    folder: Path, workspaces: dict[str, Workspace], **access: Any
) -> Iterator[str]:
    """Serve an empty log with data sets that are already open; yield the URL of the board."""
    folder.mkdir(exist_ok=True)
    settings = Settings(port=0, access=DataAccess(workspaces=workspaces, **access))
    board = Board(create_catalog(folder, (), (), False, "1GB"), settings)
    try:
        yield board.url
    finally:
        board.close()
