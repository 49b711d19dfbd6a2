"""The demo log, which tests of several files read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracklight.cli.demo import write_demo


def get_demo_log(tmp_path_factory: pytest.TempPathFactory, now: float | None = None) -> Path:
    """Return the demo log, which all workers of a test run share and must not change.

    Writing it takes five seconds.

    Args:
        tmp_path_factory: Knows the folder of the test run.
        now: When the last run ended; by default when the log was written.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    shared = folder / f"demo-log-{now}"
    if not shared.exists():
        written = tmp_path_factory.mktemp("demo") / "logs"
        write_demo(written, now=now)
        try:
            written.rename(shared)
        except OSError:  # Another worker was faster.
            assert shared.exists()
    return shared
