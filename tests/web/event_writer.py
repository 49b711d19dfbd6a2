"""Append records to event files as a training program does."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from pathlib import Path

from tests import builders as b

EVENT_FILE_NAME = "events.out.tfevents.1700000000.host.1.0"


def append_records(run: Path, *records: bytes) -> None:
    """Append records to the run's event file in one write."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / EVENT_FILE_NAME).open("ab") as file:
        file.write(b"".join(records))


def loss_records(tag: str, steps: Iterable[int], *, scale: float = 1.0) -> list[bytes]:
    """Return a decreasing loss curve with the current wall time."""
    now = time.time()
    return [
        b.record(
            b.event(
                b.summary(b.value(tag, b.simple(scale * math.exp(-step / 20)))), step=step, wall=now
            )
        )
        for step in steps
    ]


def write_sweep(logdir: Path) -> None:
    """Write three runs, two with a common prefix, and tags in two sections and in none."""
    for name, scale in (("conv/lr1e-3", 1.0), ("conv/lr3e-4", 2.0), ("vit", 3.0)):
        records = [
            *loss_records("train/loss", range(50), scale=scale),
            *loss_records("train/loss_2", range(5), scale=scale),
            *loss_records("train/loss_10", range(5), scale=scale),
            *loss_records("eval/loss", range(0, 50, 10), scale=scale),
            *loss_records("lr", range(50)),
        ]
        append_records(logdir / name, *records)
    image_value = b.value("samples", b.image(b"not looked at"), b.metadata("images"))
    append_records(
        logdir / "vit", b.record(b.event(b.summary(image_value), step=3, wall=time.time()))
    )
