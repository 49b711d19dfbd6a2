"""Calls of ``SummaryWriter`` methods, to compare PyTorch, tensorboardX and tracklight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

WALL = 1716780000.0


def make_images(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random(shape).astype(np.float32)


def make_numbers(count: int = 500) -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).standard_normal(count)


def make_bytes(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)


def make_range(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


def make_labels() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    labels = np.random.default_rng(4).integers(0, 2, 100)
    scores = np.clip(labels * 0.4 + np.random.default_rng(5).random(100) * 0.6, 0, 1)
    return labels, scores


def make_figures(count: int) -> list[Any]:
    figure = pytest.importorskip("matplotlib.figure")
    figures = [figure.Figure(figsize=(1.5, 1)) for _ in range(count)]
    for item in figures:
        item.subplots().plot([1, 3, 2])
    return figures


RAW_HISTOGRAM = {
    "min": -1.0,
    "max": 2.0,
    "num": 3,
    "sum": 1.5,
    "sum_squares": 4.5,
    "bucket_limits": [0.0, 1.0, 2.0],
    "bucket_counts": [1, 0, 2],
}
ROWS = [np.array([3.0, 2.0, 1.0]) * row for row in range(1, 7)]
CUBE = torch.arange(24, dtype=torch.float32).reshape(1, 8, 3)

CALLS: dict[str, Callable[[Any], None]] = {
    "scalar": lambda w: w.add_scalar("a/b", 0.1, 3, WALL),
    "scalar int": lambda w: w.add_scalar("a", 7, 3),
    "scalar tensor": lambda w: w.add_scalar("a", torch.tensor([[0.25]]), torch.tensor(4)),
    "scalar numpy": lambda w: w.add_scalar("a", np.float64(1) / 3, np.int64(2)),
    "scalar no step": lambda w: w.add_scalar("a", float("nan")),
    "scalar new": lambda w: w.add_scalar("a", 1 / 7, 1, new_style=True),
    "scalar new twice": lambda w: [w.add_scalar("a", k, k, new_style=True) for k in (1, 2)],
    "scalar new double": lambda w: w.add_scalar("a", 1 / 7, 1, WALL, True, True),
    "scalar double": lambda w: w.add_scalar("a", 1 / 7, 1, double_precision=True),
    "scalars": lambda w: w.add_scalars("a/b", {"x": 1.0, "y z": torch.tensor(2.0)}, 5),
    "scalar with gradient": lambda w: w.add_scalar("a", torch.tensor([0.5], requires_grad=True)),
    "tensor float": lambda w: w.add_tensor("t", torch.tensor([[1.0, 2.0]]), 1),
    "tensor int": lambda w: w.add_tensor("t", torch.arange(4), 1),
    "tensor short": lambda w: w.add_tensor("t", torch.arange(4, dtype=torch.int16), 1),
    "tensor bool": lambda w: w.add_tensor("t", torch.tensor([True, False]), 1),
    "tensor double": lambda w: w.add_tensor("t", torch.tensor(0.1, dtype=torch.float64), 1),
    "tensor empty": lambda w: w.add_tensor("t", torch.empty(0), 1),
    "tensor complex": lambda w: w.add_tensor("t", torch.tensor([1 + 2j]), 1),
    "histogram raw": lambda w: w.add_histogram_raw("h", **RAW_HISTOGRAM, global_step=2),
    "image": lambda w: w.add_image("i", make_images(3, 8, 12), 1),
    "image double": lambda w: w.add_image("i", make_images(3, 8, 12).astype(float), 1),
    "image bytes": lambda w: w.add_image("i", make_bytes(8, 12, 3), 1, dataformats="HWC"),
    "image flat": lambda w: w.add_image("i", make_images(8, 12), 1, dataformats="WH"),
    "image gray": lambda w: w.add_image("i", torch.tensor(make_images(1, 8, 12)), 1),
    "image alpha": lambda w: w.add_image("i", make_images(4, 8, 12), 1),
    "images": lambda w: w.add_images("i", make_images(11, 3, 8, 12), 1),
    "images gray": lambda w: w.add_images("i", make_images(3, 8, 12, 1), 1, None, "NHWC"),
    "boxes": lambda w: w.add_image_with_boxes(
        "i", make_images(3, 64, 64), torch.tensor([[10, 10, 40, 40], [20, 30, 60, 60]]), 1
    ),
    "boxes with names": lambda w: w.add_image_with_boxes(
        "i", make_images(3, 64, 64), torch.tensor([[5.0, 10, 40, 40]]), 1, labels=["cat"]
    ),
    "figure": lambda w: w.add_figure("f", make_figures(1)[0], 1),
    "figures": lambda w: w.add_figure("f", make_figures(3), 1),
    "audio": lambda w: w.add_audio("a", torch.sin(torch.arange(800) / 9)[None], 1, 8000),
    "audio double": lambda w: w.add_audio("a", np.sin(np.arange(800) / 9), 1),
    "text": lambda w: w.add_text("t", "**é** \U0001f600", 1),
    "pr curve": lambda w: w.add_pr_curve("p", *make_labels(), 1),
    "pr curve float32": lambda w: w.add_pr_curve("p", *map(torch.tensor, make_labels()), 1, 17),
    "pr curve weights": lambda w: w.add_pr_curve("p", *make_labels(), weights=np.arange(100)),
    "pr curve many": lambda w: w.add_pr_curve("p", *make_labels(), num_thresholds=500),
    "pr curve raw": lambda w: w.add_pr_curve_raw("p", *ROWS, 1, num_thresholds=3),
    "multiline": lambda w: w.add_custom_scalars_multilinechart(["a", "b/.*"], "c", "t"),
    "margin": lambda w: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "layout": lambda w: w.add_custom_scalars(
        {"x": {"y": ["Multiline", ["a"]]}, "z": {"y": ["Margin", ["a", "b", "c"]]}}
    ),
    "mesh": lambda w: w.add_mesh("m", CUBE, CUBE.int(), (CUBE % 8).int(), {"b": 1, "a": {}}, 1),
    "points": lambda w: w.add_mesh("m", CUBE),
    "hparams": lambda w: w.add_hparams(
        {"lr": 0.1}, {"m": 1, "n": 2.0}, run_name="trial", global_step=3
    ),
    "hparams domain": lambda w: w.add_hparams(
        {"opt": "sgd"}, {}, {"opt": ["sgd", "adam"]}, run_name="."
    ),
    "hparams bool": lambda w: w.add_hparams({"bn": True, "none": None}, {"m": 1}, run_name="t"),
}

#: What is added up in another order differs in the last digits of the sums.
HISTOGRAMS: dict[str, Callable[[Any], None]] = {
    "normal": lambda w: w.add_histogram("h", make_numbers(), 1),
    "one number": lambda w: w.add_histogram("h", np.array([3.5]), 1),
    "zeros": lambda w: w.add_histogram("h", torch.zeros(5, 5), 1),
    "whole": lambda w: w.add_histogram("h", torch.arange(50).reshape(5, 10).T, 1),
    "half": lambda w: w.add_histogram("h", torch.arange(50).half(), 1),
    "positive": lambda w: w.add_histogram("h", np.abs(make_numbers()), 1),
    "auto": lambda w: w.add_histogram("h", make_numbers(), 1, bins="auto"),
    "fd": lambda w: w.add_histogram("h", make_numbers(), 1, bins="fd"),
    "count": lambda w: w.add_histogram("h", make_numbers(), 1, bins=7),
    "edges": lambda w: w.add_histogram("h", make_numbers(), 1, bins=[-9, -1, 0, 0.5, 9, 10]),
    "bfloat16": lambda w: w.add_histogram("h", torch.arange(50, dtype=torch.bfloat16), 1),
    "doane": lambda w: w.add_histogram("h", np.arange(1024.0), 1, bins="doane", max_bins=5),
    "merged auto": lambda w: w.add_histogram("h", np.arange(1024.0), 1, bins="auto", max_bins=5),
    "merged fd": lambda w: w.add_histogram("h", np.arange(1024.0), 1, bins="fd", max_bins=5),
    "merged": lambda w: w.add_histogram("h", make_numbers(), 1, max_bins=50),
    "merged unevenly": lambda w: w.add_histogram("h", make_numbers(), 1, bins=33, max_bins=10),
}

#: Images with values outside of [0, 1], which PyTorch clips.
CLIPPED_IMAGES: dict[str, Callable[[Any], None]] = {
    "image": lambda w: w.add_image("i", make_range(1, 8, 8), 1),
    "image flat": lambda w: w.add_image("i", make_range(8, 8), 1, dataformats="HW"),
    "images": lambda w: w.add_images("i", make_range(2, 3, 8, 8) - 9, 1),
    "images gray": lambda w: w.add_images("i", make_range(2, 1, 8, 8), 1),
    "boxes": lambda w: w.add_image_with_boxes(
        "i", make_range(3, 32, 32), np.array([[10, 10, 40, 40]]), 1
    ),
}
