"""Read summaries as bytes, to compare those of different writers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.writer.event_files import iter_events


def iter_summaries(logdir: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the step and the serialized summary of all summary events."""
    for event in iter_events(logdir):
        if event.WhichOneof("what") == "summary":
            yield event.step, event.summary.SerializeToString()


def list_contents(logdir: Path) -> list[tuple[str, list[Any]]]:
    """Return the summaries of each directory below a log directory that has event files."""
    run_dirs = {path.parent for path in logdir.rglob("events.out.tfevents.*")}
    return sorted(
        (str(run_dir.relative_to(logdir)), list(iter_summaries(run_dir))) for run_dir in run_dirs
    )
