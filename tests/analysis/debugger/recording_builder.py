"""Write recordings of the debugger with given contents, also damaged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tracklight.formats import proto
from tracklight.formats.summary import encode_event, make_metadata
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    LAYOUT_TAG,
    PLUGIN,
    STAT_INDEX,
    STATS,
    HealthLayout,
    WatchedTensor,
    make_tag,
)
from tracklight.formats.tfrecord import encode_record
from tracklight.types import Float32

START = 1.7e9


def make_health(*rows: dict[str, float] | None) -> Float32:
    """Return the health matrix of a step; None is a tensor that was not computed."""
    health: Float32 = np.full((len(rows), len(STATS)), np.nan, np.float32)
    for index, row in enumerate(rows):
        if row is not None:
            health[index] = 0
            for name, value in {"order": index, "max": 1, "norm": 1, **row}.items():
                health[index, STAT_INDEX[name]] = value
    return health


class RecordingWriter:
    """Writes the event file of one process."""

    def __init__(self, run: Path, tensors: list[WatchedTensor], rank: int = 0) -> None:
        run.mkdir(parents=True, exist_ok=True)
        self._path = run / f"events.out.tfevents.1700000000.host.{rank}.0"
        self._rank = rank
        self.write_text(LAYOUT_TAG, HealthLayout("torch", "2", rank, tuple(tensors)))

    def write_text(self, tag: str, content: bytes | msgspec.Struct, step: int = 0) -> None:
        text = content if isinstance(content, bytes) else msgspec.json.encode(content)
        self.write(tag, text, step)

    def write_health(self, step: int, *rows: dict[str, float] | None) -> None:
        self.write(HEALTH_TAG, make_health(*rows), step)

    def write(self, tag: str, value: Any, step: int = 0) -> None:
        self.write_tensor(tag, encode_tensor(value), step)

    def write_tensor(self, tag: str, tensor: proto.Message, step: int = 0) -> None:
        name = make_tag(tag, self._rank).encode()
        value = proto.Value(tag=name, tensor=tensor, metadata=make_metadata(PLUGIN))
        with self._path.open("ab") as file:
            file.write(encode_record(encode_event(START + step, step, [value])))
