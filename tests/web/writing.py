"""A writer that appends to event files as a training program does."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from pathlib import Path

from tests import builders as b

NAME = "events.out.tfevents.1700000000.host.1.0"


def append(run: Path, *records: bytes) -> None:
    """Add records to the run's event file, all at once."""
    run.mkdir(parents=True, exist_ok=True)
    with (run / NAME).open("ab") as file:
        file.write(b"".join(records))


def scalars(tag: str, steps: Iterable[int], *, scale: float = 1.0) -> list[bytes]:
    """A curve that falls as a loss does, logged just now."""
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
    """Three runs, two of them under one prefix, with tags in two sections and without any."""
    for name, scale in (("conv/lr1e-3", 1.0), ("conv/lr3e-4", 2.0), ("vit", 3.0)):
        records = [
            *scalars("train/loss", range(50), scale=scale),
            *scalars("train/loss_2", range(5), scale=scale),
            *scalars("train/loss_10", range(5), scale=scale),
            *scalars("eval/loss", range(0, 50, 10), scale=scale),
            *scalars("lr", range(50)),
        ]
        append(logdir / name, *records)
    picture = b.value("samples", b.image(b"not looked at"), b.metadata("images"))
    append(logdir / "vit", b.record(b.event(b.summary(picture), step=3, wall=time.time())))
