"""A log of scalars with known values: three runs, NaN, restarts, spikes and long series."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests import builders as b
from tests.web.event_writer import append_records

START = 1_700_000_000.0
#: Wall time between two steps.
STEP_INTERVAL_S = 2.0
RUNS = ("conv/a", "conv/b", "vit")
STEPS = tuple(range(0, 600, 10))
LONG_COUNT = 20_000


def loss(run: str, steps: Sequence[int] = STEPS) -> list[float]:
    """Return a noisy loss, rounded to float32."""
    noise = random.Random(run)
    scale = 1.0 + RUNS.index(run)
    return [
        as_float32(scale * math.exp(-step / 200) + 0.2 * noise.random() + 0.1) for step in steps
    ]


def accuracy(run: str) -> list[float]:
    return [as_float32(1 - value / 5) for value in loss(run)]


def as_float32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def scalar_records(tag: str, steps: Iterable[int], values: Iterable[float]) -> list[bytes]:
    return [
        b.record(
            b.event(
                b.summary(b.value(tag, b.simple(value))),
                step=step,
                wall=START + STEP_INTERVAL_S * step,
            )
        )
        for step, value in zip(steps, values, strict=True)
    ]


def write_scalar_log(logdir: Path) -> None:
    for run in RUNS:
        append_records(
            logdir / run,
            *scalar_records("train/loss", STEPS, loss(run)),
            *scalar_records("train/accuracy", STEPS, accuracy(run)),
            *scalar_records("train/loss_2", STEPS[:5], loss(run)[:5]),
            *scalar_records("train/loss_10", STEPS[:5], loss(run)[:5]),
            *scalar_records("epoch", STEPS, [step // 100 for step in STEPS]),
        )
    append_records(
        logdir / "vit", *described_records("eval/bleu", 40, 0.25, "How well it **translates**.")
    )
    odd = [1.0, math.nan, 3.0, math.inf, 5.0]
    append_records(logdir / "conv/a", *scalar_records("odd", range(5), odd))
    restarted = [
        *scalar_records("restart", range(6), [1, 2, 3, 4, 5, 6]),
        *scalar_records("restart", [3], [40]),
    ]
    append_records(logdir / "conv/a", *restarted)
    append_records(
        logdir / "conv/b", *scalar_records("spike", range(100), [1.0] * 50 + [1000.0] + [2.0] * 49)
    )
    append_records(
        logdir / "vit",
        *scalar_records("long", range(LONG_COUNT), [float(at % 7) for at in range(LONG_COUNT)]),
    )


def described_records(tag: str, step: int, value: float, description: str) -> list[bytes]:
    """Return one point of a tag that has a description."""
    metadata = b.metadata("scalars", b.blob(3, description.encode()))
    fields = b.summary(b.value(tag, b.simple(value), metadata))
    return [b.record(b.event(fields, step=step, wall=START))]


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Return TensorBoard's debiased exponential moving average."""
    out, last, count = [], 0.0, 0
    for value in values:
        if not math.isfinite(value):
            out.append(value)
            continue
        last = weight * last + (1 - weight) * value
        count += 1
        out.append(last / (1 - weight**count))
    return out
