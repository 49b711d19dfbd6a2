"""Asks the Audio dashboard about a log on disk, without a server around it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tests.index import logs
from tracklight.dashboards.audio import Audio
from tracklight.formats import summary
from tracklight.formats.event import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.plugin import Context
from tracklight.types import Float64

TAG = "sound"


def write_clips(
    logdir: Path,
    clips: Sequence[bytes],
    labels: Sequence[str] = (),
    *,
    run: str = "a",
    steps: Sequence[int] = (0,),
) -> None:
    """A run that logged the same clips at each of these steps."""
    values = [summary.audio(TAG, list(clips), list(labels)) for _ in steps]
    pairs = zip(steps, values, strict=True)
    records = [encode_record(encode_event(1.7e9 + step, step, [value])) for step, value in pairs]
    logs.write(logdir, run, b"".join(records))


def sine(frequency_hz: float, *, rate: int = 8000, seconds: float = 1.0) -> Float64:
    return np.asarray(np.sin(2 * np.pi * frequency_hz * np.arange(int(rate * seconds)) / rate))


def ask(context: Context, path: str, /, **fields: object) -> Any:
    """The answer as it comes: a struct with arrays in it, or a file."""
    route = next(one for one in Audio(context).routes() if one.path == path)
    about = {} if route.method == "POST" else {"run": "a", "tag": TAG, "index": 0}
    return route.handler(msgspec.convert({**about, **fields}, route.request_type))
