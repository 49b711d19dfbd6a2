"""What is in a file is what PyTorch's own writer puts there, byte for byte where it can be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frameworks.originals import list_contents
from tests.sdk.reading import iter_events, read_values

pytest.importorskip("torch")
original = pytest.importorskip("torch.utils.tensorboard")

import torch  # noqa: E402

from tracklight.torch import SummaryWriter  # noqa: E402

WALL = 1716780000.0


def make_pictures(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random(shape).astype(np.float32)


def make_numbers(count: int = 500) -> np.ndarray[Any, Any]:
    return np.random.default_rng(2).standard_normal(count)


def make_bytes(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)


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


COUNTED = {
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
    "tensor float": lambda w: w.add_tensor("t", torch.tensor([[1.0, 2.0]]), 1),
    "tensor int": lambda w: w.add_tensor("t", torch.arange(4), 1),
    "tensor short": lambda w: w.add_tensor("t", torch.arange(4, dtype=torch.int16), 1),
    "tensor bool": lambda w: w.add_tensor("t", torch.tensor([True, False]), 1),
    "tensor double": lambda w: w.add_tensor("t", torch.tensor(0.1, dtype=torch.float64), 1),
    "tensor complex": lambda w: w.add_tensor("t", torch.tensor([1 + 2j]), 1),
    "histogram raw": lambda w: w.add_histogram_raw("h", **COUNTED, global_step=2),
    "image": lambda w: w.add_image("i", make_pictures(3, 8, 12), 1),
    "image double": lambda w: w.add_image("i", make_pictures(3, 8, 12).astype(float), 1),
    "image bytes": lambda w: w.add_image("i", make_bytes(8, 12, 3), 1, dataformats="HWC"),
    "image flat": lambda w: w.add_image("i", make_pictures(8, 12), 1, dataformats="WH"),
    "image grey": lambda w: w.add_image("i", torch.tensor(make_pictures(1, 8, 12)), 1),
    "image alpha": lambda w: w.add_image("i", make_pictures(4, 8, 12), 1),
    "images": lambda w: w.add_images("i", make_pictures(11, 3, 8, 12), 1),
    "images grey": lambda w: w.add_images("i", make_pictures(3, 8, 12, 1), 1, None, "NHWC"),
    "boxes": lambda w: w.add_image_with_boxes(
        "i", make_pictures(3, 64, 64), torch.tensor([[10, 10, 40, 40], [20, 30, 60, 60]]), 1
    ),
    "boxes with names": lambda w: w.add_image_with_boxes(
        "i", make_pictures(3, 64, 64), torch.tensor([[5.0, 10, 40, 40]]), 1, labels=["cat"]
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


def write_both(tmp_path: Path, call: Callable[[Any], None]) -> tuple[Path, Path]:
    with original.SummaryWriter(tmp_path / "original") as writer:
        call(writer)
    with SummaryWriter(tmp_path / "ours", strict=True) as writer:
        call(writer)
    return tmp_path / "original", tmp_path / "ours"


@pytest.mark.parametrize("name", CALLS)
def test_same_bytes(tmp_path: Path, name: str) -> None:
    theirs, ours = map(list_contents, write_both(tmp_path, CALLS[name]))
    assert any(values for _, values in theirs)
    assert ours == theirs


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
    "joined": lambda w: w.add_histogram("h", make_numbers(), 1, max_bins=50),
    "joined unevenly": lambda w: w.add_histogram("h", make_numbers(), 1, bins=33, max_bins=10),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_same_histograms(tmp_path: Path, name: str) -> None:
    theirs, ours = map(read_values, write_both(tmp_path, HISTOGRAMS[name]))
    for mine, other in zip(ours, theirs, strict=True):
        # What they add up in another order differs in the last digits. All else is the same.
        for total in ("sum", "sum_squares"):
            added, expected = getattr(mine.histo, total), getattr(other.histo, total)
            assert added == pytest.approx(expected, rel=1e-12)
            setattr(mine.histo, total, expected)
        assert mine == other


def test_same_order_of_hparams_is_not_asked_for(tmp_path: Path) -> None:
    hparams = {"lr": 0.1, "opt": "sgd", "layers": 3}
    theirs, ours = map(
        read_values,
        write_both(tmp_path, lambda w: w.add_hparams(hparams, {"m": 1}, run_name=".")),
    )
    assert [value.tag for value in ours] == [value.tag for value in theirs]
    assert ours[0] == theirs[0]
    lengths = [len(value.metadata.plugin_data.content) for value in ours]
    assert lengths == [len(value.metadata.plugin_data.content) for value in theirs]


def test_same_files_of_embeddings(tmp_path: Path) -> None:
    matrix = torch.tensor(make_pictures(7, 5))

    def call(writer: Any) -> None:
        writer.add_embedding(matrix, list("abcdefg"), torch.rand(7, 3, 6, 6, generator=seed()), 2)
        writer.add_embedding(matrix * 2, [[1, "x"]] * 7, None, 3, "a/b%\\", ["number", "text"])
        writer.add_embedding(matrix.numpy())

    theirs, ours = (read_files(logdir) for logdir in write_both(tmp_path, call))
    assert len(theirs) == 7
    assert ours == theirs


def seed() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def read_files(logdir: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(logdir)): path.read_bytes()
        for path in logdir.rglob("*")
        if path.is_file() and "tfevents" not in path.name
    }


def test_same_marks_of_a_restart(tmp_path: Path) -> None:
    original.SummaryWriter(tmp_path / "original", purge_step=6).close()
    SummaryWriter(tmp_path / "ours", purge_step=6).close()
    theirs, ours = (list(iter_events(tmp_path / name)) for name in ("original", "ours"))
    for event in [*theirs, *ours]:
        event.ClearField("wall_time")
    assert len(ours) == 2
    assert ours == theirs


def test_takes_messages_of_tensorboard(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from torch.utils.tensorboard.summary import hparams, scalar

    def call(writer: Any) -> None:
        for summary in hparams({"lr": 0.1}, {"m": 1}):
            writer.file_writer.add_summary(summary)
        writer.file_writer.add_summary(scalar("a", 1.5), 3, WALL)
        writer.file_writer.add_event(Event(summary=scalar("b", 2.5)), 4)
        writer.file_writer.event_writer.add_event(Event(step=7, summary=scalar("c", 3.5)))

    theirs, ours = map(list_contents, write_both(tmp_path, call))
    assert len(theirs[0][1]) == 6
    assert ours == theirs
