"""Numbers that Keras keeps about a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracklight.keras.variables import read_number


def as_logs(logs: Any) -> dict[str, Any]:
    """Metrics by name; nothing where a step of the user's own returned something else."""
    return dict(logs) if isinstance(logs, Mapping) else {}


def find_iterations(optimizer: Any) -> int | None:
    """How many batches an optimizer has seen."""
    iterations = getattr(optimizer, "iterations", None)
    return None if iterations is None else int(read_number(iterations, "iterations"))


def find_learning_rates(optimizer: Any) -> dict[str, float]:
    """The learning rate, or one for each of several optimizers."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # one that scales the loss
    several = getattr(optimizer, "optimizers", None)
    if several is not None:
        return {f"learning_rate_{each.name}": _read_rate(each) for each in several}
    return {"learning_rate": _read_rate(optimizer)} if hasattr(optimizer, "learning_rate") else {}


def _read_rate(optimizer: Any) -> float:
    return read_number(optimizer.learning_rate, "learning_rate")
