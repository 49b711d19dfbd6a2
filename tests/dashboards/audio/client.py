"""Call the routes of the Audio dashboard on a log on disk, without a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tests.index import logs
from tracklight.dashboards.audio import Audio
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
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
    """Write a run that logs the same clips at each step."""
    values = [summary.audio(TAG, list(clips), list(labels)) for _ in steps]
    pairs = zip(steps, values, strict=True)
    records = [encode_record(encode_event(1.7e9 + step, step, [value])) for step, value in pairs]
    logs.write(logdir, run, b"".join(records))


def sine(frequency_hz: float, *, rate: int = 8000, seconds: float = 1.0) -> Float64:
    return np.asarray(np.sin(2 * np.pi * frequency_hz * np.arange(int(rate * seconds)) / rate))


def call_route(context: Context, path: str, /, **fields: object) -> Any:
    """Call a route and return its response before serialization."""
    route = next(route for route in Audio(context).routes() if route.path == path)
    defaults = {} if route.method == "POST" else {"run": "a", "tag": TAG, "index": 0}
    return route.handler(msgspec.convert({**defaults, **fields}, route.request_type))
