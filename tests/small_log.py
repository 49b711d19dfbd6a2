"""A small log with values of every kind, for tests of everything above the index."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests import builders as b
from tracklight.formats import summary
from tracklight.formats.media import encode_png, encode_wav
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

NAME = "events.out.tfevents.1.host"
PIXELS = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
PICTURE = encode_png(PIXELS)
CLIP = encode_wav(np.array([0.0, 0.5]), 8000)


def write_small_log(folder: Path) -> None:
    """Write the runs ``run2/train`` (resumed at step 3), ``run10/train`` and ``kinds``."""
    first = [b.scalar("loss", step, 1 / (step + 1)) for step in range(5)]
    resumed = [b.scalar("loss", step, step) for step in (3, 4, 5)]
    count = b.value("count", b.tensor(b.INT64, b.integer(10, 1 << 60)))
    write(folder / "run2/train", *first, *resumed, b.record(b.event(b.summary(count), step=2)))
    write(folder / "run10/train", b.scalar("loss", 0, 2.5), b.scalar("acc", 0, 0.5))
    write(folder / "kinds", *_make_every_kind())


def write(folder: Path, *records: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_bytes(b"".join(records))
    return path


def _make_every_kind() -> list[bytes]:
    values = [
        (0, summary.images("picture", [PICTURE, PICTURE], 2, 2)),
        (0, summary.audio("clip", [CLIP], ["a **note**"])),
        (0, summary.text("words", "hello")),
        (5, summary.text("words", ["a", "b"])),
        (5, summary.text("words", "again")),
        (0, summary.histogram("spread", [1.0, 2.0, 2.0])),
        (0, summary.tensor("matrix", np.eye(2))),
        (0, summary.tensor("mixed", np.ones(3))),
        (1, summary.tensor("mixed", np.float32(1.5))),
        (2, summary.tensor("mixed", np.zeros(2))),
    ]
    events = [encode_event(1.7e9 + at, step, [value]) for at, (step, value) in enumerate(values)]
    graph = b.record(b.event(b.blob(4, b"graph"), step=0, wall=1.7e9))
    return [*map(encode_record, events), graph]
