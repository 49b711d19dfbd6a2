"""tracklight's own server, seen from outside as TensorBoard is in ``peers``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.website import Website, start_website


@contextmanager
def start_tracklight(logdir: Path) -> Iterator[Website]:
    """Run ``tracklight --logdir`` as its users do, with a cache that is empty and its own."""
    command = [sys.executable, "-m", "tracklight", f"--logdir={logdir}", "--port=0"]
    with tempfile.TemporaryDirectory() as cache:
        with start_website(command, {"XDG_CACHE_HOME": cache}) as site:
            yield site


def read_last_step(site: Website, run: str, tag: str) -> int:
    """The newest step that the page would show; -1 while it does not know the tag."""
    if run not in {row["name"] for row in site.get("api/v1/runs")["runs"]}:
        return -1
    rows = {row["tag"]: row for row in site.get("api/v1/tags", run=run)["tags"]}
    return int(rows[tag]["last"]["step"]) if tag in rows else -1
