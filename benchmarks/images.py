"""Log of large images: time to open it, and bytes read.

tracklight skips large records and reads an image on demand. TensorBoard's data server reads all of
them, by default without verifying checksums, and keeps ten per tag. Measured with a warm and with a
cold page cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.make_logs import Images, count_bytes, get_images
from benchmarks.peers import load_with_data_server
from benchmarks.probe import read_log
from benchmarks.read import warm_page_cache
from benchmarks.report import Row, Timing, repeat


def measure(quick: bool) -> Iterator[Row]:
    shape = Images(2, 20, 400) if quick else Images(7, 100, 1_000)
    logdir = get_images(shape)
    name = f"{count_bytes(logdir) / 1e9:.2g} GB log opened, {shape}"
    for where, prepare in (("page cache", warm_page_cache), ("disk", empty_page_cache)):
        ours, theirs = _measure_both(logdir, prepare, 2 if quick else 5)
        ratio = theirs.median_s / ours.median_s
        what = f"{name}, from {where}"
        yield Row(what, ours, theirs, ratio, "under 1 s", ours.median_s < 1)
    read_mb = read_log(logdir).read_bytes / 1e6
    yield Row("Bytes read for that", f"{read_mb:.2f} MB", "all of them")


def _measure_both(
    logdir: Path, prepare: Callable[[Path], None], times: int
) -> tuple[Timing, Timing]:
    def open_here() -> float:
        prepare(logdir)
        return read_log(logdir).seconds

    def open_there() -> float:
        prepare(logdir)
        return load_with_data_server(logdir)

    return repeat(times, open_here), repeat(times, open_there)


def empty_page_cache(logdir: Path) -> None:
    for path in logdir.rglob("*tfevents*"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
