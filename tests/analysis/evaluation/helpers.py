"""Data sets that ship with scikit-learn, with scores of a simple model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Example:
    """Labels, scores and columns to slice by."""

    labels: NDArray[Any]
    scores: NDArray[Any]
    columns: dict[str, NDArray[Any]]


def _score(features: NDArray[Any]) -> NDArray[Any]:
    """Return a deterministic score in (0, 1) from the first columns."""
    standard = (features - features.mean(axis=0)) / features.std(axis=0)
    return 1 / (1 + np.exp(-standard @ np.linspace(1, -0.5, features.shape[1])))


@cache
def load_breast_cancer() -> Example:
    from sklearn import datasets

    data = datasets.load_breast_cancer()
    group = np.where(data.data[:, 1] > np.median(data.data[:, 1]), "rough", "smooth")
    size = np.digitize(data.data[:, 0], [12, 15])
    scores = 1 - _score(data.data[:, [0, 2, 4, 6]])
    return Example(data.target, scores, {"texture": group, "size": size, "radius": data.data[:, 0]})


@cache
def load_wine() -> Example:
    from sklearn import datasets

    data = datasets.load_wine()
    raw = np.stack([_score(data.data[:, [k, k + 1, k + 5]]) for k in range(3)], axis=1)
    group = np.where(data.data[:, 4] > 100, "high", "low")
    return Example(data.target, raw / raw.sum(axis=1, keepdims=True), {"magnesium": group})


@cache
def load_diabetes() -> Example:
    from sklearn import datasets

    data = datasets.load_diabetes()
    scores = 150 + 900 * data.data[:, 2] + 100 * data.data[:, 8]
    return Example(data.target, scores, {"sex": np.where(data.data[:, 1] > 0, "1", "2")})


@cache
def make_groups(rows: int = 4000, seed: int = 0) -> Example:
    """Return scores whose quality depends on the group, with ties."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    labels = (rng.random(rows) < np.where(group == "a", 0.5, 0.3)).astype(int)
    spread = np.where(group == "c", 0.35, 0.2)
    scores = np.clip(rng.normal(0.35 + 0.3 * labels, spread), 0, 1).round(3)
    region = rng.choice(["north", "south"], rows)
    return Example(
        labels, scores, {"group": group, "region": region, "age": rng.integers(18, 90, rows)}
    )
