"""Writes the same calls by a framework's own writer and by tracklight's, to be compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.writer.event_files import iter_events


def iter_summaries(logdir: Path) -> Iterator[tuple[int, bytes]]:
    """Step and summary, as bytes, of all events but those of other kinds."""
    for event in iter_events(logdir):
        if event.WhichOneof("what") == "summary":
            yield event.step, event.summary.SerializeToString()


def list_contents(logdir: Path) -> list[tuple[str, list[Any]]]:
    """For every folder below a log directory that has event files, the values in them."""
    folders = {path.parent for path in logdir.rglob("events.out.tfevents.*")}
    return sorted(
        (str(folder.relative_to(logdir)), list(iter_summaries(folder))) for folder in folders
    )
