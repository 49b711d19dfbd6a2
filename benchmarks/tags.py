"""Time to list very many tags.

tracklight: a new process opens the log without a cache and lists all tags. TensorBoard: the load
cycle of its data server plus one request for all tags with TensorBoard's client.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.peers import start_data_server
from benchmarks.probe import read_log
from benchmarks.read import warm_page_cache
from benchmarks.report import Row, alternate

MAX_LIST_S = 0.35


def measure(quick: bool) -> Iterator[Row]:
    shape = Scalars(2, 1_234, 10) if quick else Scalars(10, 12_345, 10)
    times = 2 if quick else 5
    logdir = get_scalars(shape)
    warm_page_cache(logdir)
    ours, theirs = alternate(
        times, lambda: _list_here(logdir, shape), lambda: _list_with_data_server(logdir, shape)
    )
    ratio = theirs.median_s / ours.median_s
    what = f"All tags listed, {shape}"
    yield Row(what, ours, theirs, ratio, "under 0.35 s", ours.median_s < MAX_LIST_S)


def _list_here(logdir: Path, shape: Scalars) -> float:
    opened = read_log(logdir)
    _check(opened.tags, shape)
    return opened.seconds


def _list_with_data_server(logdir: Path, shape: Scalars) -> float:
    with start_data_server(logdir) as server:
        start = time.perf_counter()
        tags = server.list_scalars()
        list_s = time.perf_counter() - start
    _check(sum(map(len, tags.values())), shape)
    return server.load_s + list_s


def _check(tags: int, shape: Scalars) -> None:
    if tags != shape.runs * shape.tags:
        raise RuntimeError(f"{tags} tags were listed of {shape.runs * shape.tags}")
