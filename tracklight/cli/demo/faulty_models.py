"""Two models with problems: one diverges (for the debugger), one is unfair (for Fairness, What-If).

There are two training runs that were recorded by ``tracklight.debugger``. With the larger learning
rate, activations grow until the softmax saturates and the logarithm of a probability that is
exactly zero makes the loss infinite.

A credit model is evaluated per group after each epoch; it serves one group worse.
``lending/applications.csv`` has the rows of the last evaluation, for What-If.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

import tracklight
from tracklight.analysis.predictors import PROBABILITIES
from tracklight.cli.demo.writers import EventFile
from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.formats.summary import make_metadata
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    PLUGIN,
    REPORT_TAG,
    SOURCE_FILES_TAG,
    STAT_INDEX,
    STATS,
    VALUES_TAG,
    HealthLayout,
    HealthReport,
    RecordedSourceFile,
    SourceLocation,
    WatchedTensor,
    compute_histogram,
    make_tag,
)
from tracklight.types import Float32, Float64

# ---- divergence

STEPS = 120
_SECONDS_PER_STEP = 0.4
_HISTOGRAM_STEPS = 3
_BATCH = 32
_CLASSES = 10
_SOURCE = "/home/ada/digits/train.py"
_PROGRAM = """\
import torch
from torch import nn


class DigitModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.relu2 = nn.ReLU()
        self.fc1 = nn.Linear(64 * 14 * 14, 128)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        # Probability of each digit
        x = self.conv1(x)
        x = self.relu1(x)
        x = self.conv2(x)
        x = self.relu2(x)
        # Images to vectors
        x = self.fc1(x.flatten(1))
        x = self.relu3(x)
        x = self.fc2(x)
        p = torch.softmax(x, 1)
        return p


def step(model, batch):
    # Loss of a batch
    x, y = batch
    p, rows = model(x), torch.arange(len(y))
    loss = -torch.log(p)[rows, y].mean()
    return loss


def train(model, batches):
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.5, momentum=0.9
    )
    with debugger.watch(model, "logs/lr=0.5"):
        for batch in batches:
            optimizer.zero_grad()
            # Once the softmax saturates, a probability is exactly 0 and its
            # logarithm -Inf; cross_entropy of the scores would stay finite.
            loss = step(model, batch)
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    from digits import load_batches
    from tracklight import debugger

    model = DigitModel()
    batches = load_batches()
    train(model, batches)
"""


#: Frames of the callers of all layers, see `_make_frames`.
_CALLERS = (0, 1)


class _Layer(NamedTuple):
    name: str
    type: str
    shape: tuple[int, ...]
    weights: tuple[int, ...] = ()
    channels: int = 0
    line: int = 0
    code: str = ""


_LAYERS = (
    _Layer("conv1", "Conv2d", (_BATCH, 32, 28, 28), (32, 1, 3, 3), 0, 18, "x = self.conv1(x)"),
    _Layer("relu1", "ReLU", (_BATCH, 32, 28, 28), (), 32, 19, "x = self.relu1(x)"),
    _Layer("conv2", "Conv2d", (_BATCH, 64, 14, 14), (64, 32, 3, 3), 0, 20, "x = self.conv2(x)"),
    _Layer("relu2", "ReLU", (_BATCH, 64, 14, 14), (), 64, 21, "x = self.relu2(x)"),
    _Layer("fc1", "Linear", (_BATCH, 128), (128, 12544), 0, 23, "x = self.fc1(x.flatten(1))"),
    _Layer("relu3", "ReLU", (_BATCH, 128), (), 128, 24, "x = self.relu3(x)"),
    _Layer("fc2", "Linear", (_BATCH, _CLASSES), (_CLASSES, 128), 0, 25, "x = self.fc2(x)"),
    _Layer("softmax", "softmax", (_BATCH, _CLASSES), (), 0, 26, "p = torch.softmax(x, 1)"),
    _Layer("log", "log", (_BATCH, _CLASSES), (), 0, 34, "loss = -torch.log(p)[rows, y].mean()"),
)


def write_divergence(folder: Path, *, seed: int = 0, now: float) -> None:
    """Write a run that becomes infinite, and the same training with a smaller learning rate."""
    write_recording(folder / "lr=0.5", seed=seed, now=now, diverges_at=97)
    write_recording(folder / "lr=0.05", seed=seed, now=now, diverges_at=None)


def write_recording(run: Path, *, seed: int, now: float, diverges_at: int | None) -> None:
    """Write the recording of one run; ``diverges_at`` is the step of the first infinite value."""
    random = np.random.default_rng(seed)
    tensors = _make_tensors()
    steps = STEPS if diverges_at is None else diverges_at + 4
    start = now - steps * _SECONDS_PER_STEP
    layout = HealthLayout("torch", "2.9.0", 0, tensors, frames=_make_frames())
    with EventFile(run, start) as file:
        file.log(start, 0, _make_value(LAYOUT_TAG, msgspec.json.encode(layout)))
        program = msgspec.json.encode(RecordedSourceFile(_SOURCE, _PROGRAM))
        file.log(start, 0, _make_value(SOURCE_FILES_TAG, program))
        for step in range(steps):
            wall_time = start + step * _SECONDS_PER_STEP
            growth = 1.0 if diverges_at is None else float(np.exp(step / diverges_at * 9.0 - 2.0))
            health = _simulate(tensors, step, max(growth, 1.0), random)
            is_bad = diverges_at is not None and step >= diverges_at
            if is_bad:
                _spoil(tensors, health, step == diverges_at)
            loss = 2.3 * np.exp(-step / 45) + 0.08 * random.random() + 0.002 * growth
            value = float("inf") if is_bad else float(loss)
            scalar = summary.scalar("train/loss", value)
            file.log(wall_time, step, scalar, _make_value(HEALTH_TAG, health))
            if step % _HISTOGRAM_STEPS == 0 or (is_bad and step == diverges_at):
                histograms = _make_histograms(tensors, health, random)
                file.log(wall_time, step, _make_value(HISTOGRAM_TAG, histograms))
            if is_bad and step == diverges_at:
                _write_report(file, wall_time, step, tensors, random)


def _make_tensors() -> tuple[WatchedTensor, ...]:
    """Return inputs and outputs in the order of computation, then parameters and gradients."""
    tensors = [WatchedTensor("input", "input", "", "float32", _BATCH * 784, (_BATCH, 1, 28, 28))]
    for row, (layer, source) in enumerate(zip(_LAYERS, _make_frames()[2:], strict=True)):
        size = int(np.prod(layer.shape))
        inputs = (len(tensors) - 1,)
        tensors.append(
            WatchedTensor(
                layer.name, "output", layer.type, "float32", size, layer.shape,
                layer.channels, inputs, source=source, stack=(*_CALLERS, 2 + row),
            )
        )  # fmt: skip
    tensors.append(WatchedTensor("loss", "loss", "", "float32", 1, (), 0, (len(tensors) - 1,)))
    for layer in _LAYERS:
        if not layer.weights:
            continue
        name, size, of = f"{layer.name}.weight", int(np.prod(layer.weights)), len(tensors)
        shape = layer.weights
        tensors.append(WatchedTensor(name, "gradient", "", "float32", size, shape, of=of + 1))
        tensors.append(WatchedTensor(name, "parameter", "", "float32", size, shape))
        tensors.append(WatchedTensor(name, "update", "", "float32", size, shape, of=of + 1))
    return tuple(tensors)


def _make_frames() -> tuple[SourceLocation, ...]:
    """Return the frames of the callers and then those of the layers."""
    layers = (
        SourceLocation(
            _SOURCE, layer.line, "step" if layer.name == "log" else "forward", layer.code
        )
        for layer in _LAYERS
    )
    return (
        SourceLocation(_SOURCE, 58, "<module>", "train(model, batches)"),
        SourceLocation(_SOURCE, 47, "train", "loss = step(model, batch)"),
        *layers,
    )


def _make_histograms(
    tensors: tuple[WatchedTensor, ...], health: Float32, random: np.random.Generator
) -> NDArray[np.uint8]:
    """Return histograms of normal distributions with the recorded range."""
    columns = [STAT_INDEX[name] for name in ("min", "max", "mean", "std")]
    rows = []
    for tensor, row in zip(tensors, health, strict=True):
        low, high, mean, std = row[columns].tolist()
        has_finite = row[1:4].sum() < tensor.size
        values = np.clip(random.normal(mean, std, 256 if has_finite else 0), low, high)
        rows.append(compute_histogram(values.astype(np.float32)))
    return np.stack(rows)


def _simulate(
    tensors: tuple[WatchedTensor, ...], step: int, growth: float, random: np.random.Generator
) -> Float32:
    health: Float32 = np.zeros((len(tensors), len(STATS)), np.float32)
    for row, tensor in enumerate(tensors):
        scale = {
            "input": 0.3,
            "output": 0.8 * growth,
            "loss": 1.0,
            "gradient": 0.02 * growth * np.exp(-step / 90),
            "parameter": 0.05 * growth**0.5,
            "update": 0.0004 * growth,
        }[tensor.role] * float(random.lognormal(0, 0.08))
        is_positive = tensor.role == "input" or tensor.type in ("ReLU", "softmax")
        low, high = (0.0 if is_positive else -3.1 * scale), 3.2 * scale
        if tensor.type == "softmax":
            low, high, scale = 0.02 / growth**2, min(1.0, 0.3 * growth), 0.1
        if tensor.type == "log":
            low, high, scale = -3.0 - np.log(growth), -0.05, 1.2
        values = {
            "order": row,
            "zeros": tensor.size * (0.5 if tensor.channels else 0),
            "negatives": 0 if is_positive else tensor.size // 2,
            "min": low,
            "max": high,
            "mean": (low + high) / 3,
            "std": scale,
            "norm": scale * np.sqrt(tensor.size),
            "dead": min(tensor.channels, int(tensor.channels * 0.03 * growth**0.4)),
        }
        for name, value in values.items():
            health[row, STAT_INDEX[name]] = value
    return health


def _spoil(tensors: tuple[WatchedTensor, ...], health: Float32, is_first: bool) -> None:
    """Make the logarithm infinite, and everything that is computed from it."""
    log = next(row for row, item in enumerate(tensors) if item.name == "log")
    softmax = log - 1
    health[softmax, STAT_INDEX["min"]] = 0
    health[softmax, STAT_INDEX["zeros"]] = 3
    for row, tensor in enumerate(tensors):
        is_forward = tensor.role in ("output", "loss")
        if row < log and (is_first or tensor.role == "input"):
            continue
        column = STAT_INDEX["nan"]
        count = tensor.size
        if is_first and is_forward:
            column = STAT_INDEX["pos_inf" if tensor.role == "loss" else "neg_inf"]
            count = 1 if tensor.role == "loss" else 3
        health[row, column] = count
        if count == tensor.size:
            health[row, STAT_INDEX["min"] : STAT_INDEX["norm"] + 1] = 0


def _write_report(
    file: EventFile,
    wall_time: float,
    step: int,
    tensors: tuple[WatchedTensor, ...],
    random: np.random.Generator,
) -> None:
    row = next(row for row, tensor in enumerate(tensors) if tensor.name == "log")
    probabilities = random.dirichlet(np.full(_CLASSES, 0.05), _BATCH).astype(np.float32)
    probabilities = np.maximum(probabilities, np.float32(1e-30))
    probabilities[[4, 11, 27], [1, 7, 3]] = 0
    with np.errstate(divide="ignore"):
        result = np.log(probabilities)
    values = {"softmax": probabilities, "log": result}
    for name, value in values.items():
        file.log(wall_time, step, _make_value(f"{VALUES_TAG}/{name}", value))
    frames = _make_frames()
    stack = tuple(frames[item] for item in tensors[row].stack)
    message = (
        f'step {step}: "log" produced 3 -Inf of {_BATCH * _CLASSES} values from finite inputs '
        "between 0 and 1, train.py:34 in step"
    )
    tags = {name: make_tag(f"{VALUES_TAG}/{name}") for name in values}
    report = HealthReport(step, row, message, stack, tags, {"torch": "", "numpy": ""})
    file.log(wall_time, step, _make_value(REPORT_TAG, msgspec.json.encode(report)))


def _make_value(tag: str, value: bytes | NDArray[Any]) -> Message:
    name = make_tag(tag).encode()
    return proto.Value(tag=name, tensor=encode_tensor(value), metadata=make_metadata(PLUGIN))


# ---- lending

_DATA_FILE = "applications.csv"
_ROWS = 6_000
_EPOCHS = 5
_EPOCH_S = 60.0


def write_lending(folder: Path, *, seed: int, now: float) -> None:
    """Write evaluations of five epochs."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "sex": rng.choice(["female", "male"], _ROWS),
        "region": rng.choice(["north", "south", "east", "west"], _ROWS, p=[0.4, 0.3, 0.28, 0.02]),
    }
    signal = rng.normal(size=_ROWS)
    blurred = signal + rng.normal(scale=0.5, size=(2, _ROWS))
    columns["income"] = np.round(np.exp(10.4 + 0.35 * blurred[0]), -2)
    columns["debt_ratio"] = np.round(np.clip(0.4 - 0.1 * blurred[1], 0.02, 0.95), 3)
    columns["years_employed"] = rng.poisson(np.exp(1.5 + 0.3 * signal))
    columns["repaid"] = (rng.random(_ROWS) < _sigmoid(2 * signal)).astype(int)
    # The features of one region are noisier.
    noise = np.where(columns["region"] == "east", 1.6, 0.4) * rng.normal(size=_ROWS)
    started = now - (_EPOCHS + 1) * _EPOCH_S
    with EventFile(folder, started) as file:
        for epoch in range(_EPOCHS):
            # The model learns to ignore noise, but never enough in the noisy region.
            scores = _sigmoid(2 * (signal + (1 + 2 * 0.5**epoch) * noise) + 0.5**epoch)
            columns[PROBABILITIES] = np.round(scores, 4)
            result = tracklight.fairness.evaluate(
                columns,
                label="repaid",
                prediction=PROBABILITIES,
                slices=["sex", "region", ["sex", "region"]],
                thresholds=[0.25, 0.5, 0.75],
                seed=seed,
            )
            # The file has the predictions of the last epoch.
            path = f"{folder.name}/{_DATA_FILE}" if epoch == _EPOCHS - 1 else None
            summary = result.to_summary(data_path=path)
            file.log(started + (epoch + 1) * _EPOCH_S, epoch, summary)
    with open(folder / _DATA_FILE, "w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))


def _sigmoid(x: Float64) -> Float64:
    result: Float64 = 1 / (1 + np.exp(-x))
    return result
