"""Following a log for a long time needs no more memory than its points."""

from __future__ import annotations

import gc
import os
import subprocess
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


def follow_log(folder: Path) -> int:
    """Append ten thousand points, one by one, and refresh after each; return the growth."""
    path = write(folder, "run", b"")
    catalog = open_catalog(folder)

    def follow(first: int, last: int) -> None:
        for step in range(first, last):
            append(path, b"".join(points([step], tag=f"t{n}") for n in range(TAGS)))
            catalog.refresh()

    follow(0, 2_000)
    before = resident_bytes()
    follow(2_000, 10_000)
    grown = resident_bytes() - before
    assert len(catalog.scalar("run", "t0")) == 10_000
    catalog.close()
    return grown


@pytest.mark.in_process
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_grows_only_with_points_while_following_log(tmp_path: Path) -> None:
    """What is kept by mistake is noticed if it is a few hundred bytes per refresh."""
    # In a process of its own: threads that earlier tests left need memory at any time.
    done = subprocess.run(
        [sys.executable, "-m", "tests.index.test_memory_use", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    data = 8_000 * TAGS * POINT_BYTES
    assert int(done.stdout) < 2 * data + (3 << 20)


if __name__ == "__main__":
    print(follow_log(Path(sys.argv[1])))
