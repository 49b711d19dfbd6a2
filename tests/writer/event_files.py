"""Read event files back with tracklight's strict reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tracklight.formats.summary import decode_event
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tfrecord import iter_records


def list_files(logdir: Path) -> list[Path]:
    return sorted(logdir.glob("events.out.tfevents.*"))


def iter_events(logdir: Path) -> Iterator[Any]:
    """Yield all events except for the file version, which must come first in every file."""
    for path in list_files(logdir):
        events = [decode_event(payload) for _, payload in iter_records(path.read_bytes())]
        assert events[0].file_version == b"brain.Event:2"
        yield from events[1:]


def read_values(logdir: Path) -> list[Any]:
    return [value for event in iter_events(logdir) for value in event.summary.value]


def read_scalars(logdir: Path) -> list[tuple[str, int, float]]:
    return [
        (value.tag.decode(), event.step, float(decode_tensor(value.tensor)))
        for event in iter_events(logdir)
        for value in event.summary.value
    ]
