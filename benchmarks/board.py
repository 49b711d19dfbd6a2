"""Start tracklight's server the way a user does; `peers` does the same for TensorBoard."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.website import Website, start_website


@contextmanager
def start_tracklight(logdir: Path, *flags: str) -> Iterator[Website]:
    """Run ``tracklight --logdir`` with its own, empty cache."""
    command = [sys.executable, "-m", "tracklight", f"--logdir={logdir}", "--port=0", *flags]
    with tempfile.TemporaryDirectory() as cache:
        with start_website(command, {"XDG_CACHE_HOME": cache}) as site:
            yield site


def read_last_step(site: Website, run: str, tag: str) -> int:
    """Return the newest step that the page would show; -1 if the tag is unknown."""
    if run not in {row["name"] for row in site.get("api/v1/runs")["runs"]}:
        return -1
    rows = {row["tag"]: row for row in site.get("api/v1/tags", run=run)["tags"]}
    return int(rows[tag]["last"]["step"]) if tag in rows else -1
