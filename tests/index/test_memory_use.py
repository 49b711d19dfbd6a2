"""Following a log for a long time needs no more memory than its points."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from tests.index.logs import append, open_catalog, points, write

POINT_BYTES = 24
TAGS = 5


def resident_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.in_process
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_grows_only_with_points_while_following_log(tmp_path: Path) -> None:
    """Append ten thousand points, one by one, and refresh after each.

    What is kept by mistake is noticed if it is a few hundred bytes per refresh.
    """
    path = write(tmp_path, "run", b"")
    catalog = open_catalog(tmp_path)

    def follow(first: int, last: int) -> None:
        for step in range(first, last):
            append(path, b"".join(points([step], tag=f"t{n}") for n in range(TAGS)))
            catalog.refresh()

    follow(0, 2_000)
    before = resident_bytes()
    follow(2_000, 10_000)
    grown = resident_bytes() - before
    data = 8_000 * TAGS * POINT_BYTES
    assert len(catalog.scalar("run", "t0")) == 10_000
    assert grown < 2 * data + (3 << 20)
    catalog.close()
