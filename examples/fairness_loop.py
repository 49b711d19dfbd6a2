"""Evaluate a model per group after each epoch of a plain training loop.

    python examples/fairness_loop.py
    tracklight --logdir logs/fairness

The model is logistic regression in NumPy on generated loan applications, in which one group has
noisier features, so that the model serves it worse.
"""

from __future__ import annotations

import sys

import numpy as np

import tracklight
from tracklight.fairness import Buckets, SliceSpec

ROWS = 20_000
EPOCHS = 5


def make_data(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return features, labels and the columns to slice by."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B", "C"], ROWS, p=[0.6, 0.3, 0.1])
    age = rng.integers(18, 80, ROWS)
    features = rng.normal(size=(ROWS, 4))
    logits = features @ [1.5, -1.0, 0.5, 0.0]
    labels = (rng.random(ROWS) < 1 / (1 + np.exp(-logits))).astype(int)
    noise = np.where(group == "C", 1.5, 0.2)[:, None]
    return features + noise * rng.normal(size=features.shape), labels, {"group": group, "age": age}


def main(logdir: str = "logs/fairness") -> None:
    features, labels, _ = make_data(0)
    test_features, test_labels, people = make_data(1)
    weights = np.zeros(features.shape[1])
    writer = tracklight.summary.create_file_writer(logdir)
    for epoch in range(EPOCHS):
        for rows in np.array_split(np.arange(ROWS), 100):
            scores = 1 / (1 + np.exp(-features[rows] @ weights))
            weights -= 0.1 * features[rows].T @ (scores - labels[rows]) / len(rows)
        result = tracklight.fairness.evaluate(
            people,
            label=test_labels,
            prediction=1 / (1 + np.exp(-test_features @ weights)),
            slices=[
                "group",
                SliceSpec("age", buckets={"age": Buckets(edges=[30, 60])}),
                "group = 'C' and age >= 60",
            ],
        )
        result.write(writer, step=epoch)
        recall = [
            f"{name} {result.get('recall', name, threshold=0.5):.3f}" for name in result.slices
        ]
        print(f"epoch {epoch}: recall at 0.5: {', '.join(recall)}")
    writer.close()
    print(result.to_markdown(baseline="group:A"))


if __name__ == "__main__":
    main(*sys.argv[1:])
