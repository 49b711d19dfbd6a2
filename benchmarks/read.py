"""Time to read all points of a log, without and with the cache.

Cold: a new process opens the log without a cache. TensorBoard's figure is the load cycle reported
by its data server, which by default verifies no checksums and keeps 1,000 points per tag;
tracklight verifies both checksums of each record and keeps every point. The log is in the page
cache for both.

Warm: a new process opens the same log with the cache of an earlier one. TensorBoard has no cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.peers import load_with_data_server
from benchmarks.probe import read_log
from benchmarks.report import Row, alternate, compare, repeat

#: Flags of TensorBoard's data server, and their description in the table.
PEERS = {
    (): "1,000 points a tag, no checksums",
    ("--checksum",): "1,000 points a tag",
    ("--samples-per-plugin=scalars=all",): "all points, no checksums",
}


def measure_cold(quick: bool) -> Iterator[Row]:
    shape = Scalars(4, 20, 2_000) if quick else Scalars(20, 20, 10_000)
    times = 2 if quick else 5
    logdir = get_scalars(shape)
    warm_page_cache(logdir)
    loads = [partial(load_with_data_server, logdir, *flags) for flags in PEERS]
    ours, *all_theirs = alternate(times, lambda: _open_all(logdir, shape), *loads)
    for (flags, note), theirs in zip(PEERS.items(), all_theirs, strict=True):
        least = None if "samples" in str(flags) else 10
        yield compare(f"Cold load, {shape}", ours, theirs, note, least)


def measure_warm(quick: bool) -> Iterator[Row]:
    shape = Scalars(10, 20, 2_000) if quick else Scalars(200, 20, 10_000)
    logdir = get_scalars(shape)
    warm_page_cache(logdir)
    load = partial(load_with_data_server, logdir)
    cold, theirs = alternate(1 if quick else 2, lambda: _open_all(logdir, shape), load)
    with tempfile.TemporaryDirectory() as cache:
        _open_all(logdir, shape, Path(cache))
        warm = repeat(5, lambda: _open_all(logdir, shape, Path(cache)))
    yield compare(f"Cold load, {shape}", cold, theirs, PEERS[()], 12)
    ratio = cold.median_s / warm.median_s
    what = f"Warm start beside our own cold load, {shape}"
    yield Row(what, str(warm), "has no cache", ratio, "at least 50x", ratio >= 50)


def warm_page_cache(logdir: Path) -> None:
    for path in logdir.rglob("*tfevents*"):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def _open_all(logdir: Path, shape: Scalars, cache: Path | None = None) -> float:
    opened = read_log(logdir, cache)
    if opened.points != shape.points:
        raise RuntimeError(f"{opened.points} points were read of {shape.points}")
    return opened.seconds
