"""Memory after loading a log and serving one chart.

Compares the process of ``tracklight --logdir`` with ``tensorboard --logdir`` and its data server,
by default and with all points kept. RSS is compared, PSS is reported. TensorFlow is hidden from
TensorBoard, which would import it and take another gigabyte.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from benchmarks import board, peers
from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.report import Row
from benchmarks.website import Memory, Website

TAG = "metric/00000"
#: Lets both programs become idle; TensorBoard reloads every five seconds.
REST_S = 6.0
#: Flags of TensorBoard, their description, and the required ratio.
PEERS = (
    ((), "1,000 points a tag", 0.5),
    (("--samples_per_plugin=scalars=10000000",), "all points", 0.15),
)


def measure(quick: bool) -> Iterator[Row]:
    shape = Scalars(4, 20, 2_000) if quick else Scalars(20, 20, 10_000)
    logdir = get_scalars(shape)
    with board.start_tracklight(logdir) as site:
        _wait(site, board.read_last_step, shape)
        site.post("api/v1/scalars/query", {"charts": [{"id": TAG, "tags": [TAG]}]})
        ours = _weigh(site)
    for flags, note, limit in PEERS:
        with peers.start_tensorboard(logdir, *flags) as site:
            _wait(site, peers.read_last_step, shape)
            theirs = _weigh(site)
        ratio = ours.rss_mib / theirs.rss_mib
        what = f"Memory held, {shape}"
        yield Row(what, str(ours), f"{theirs}, {note}", ratio, f"at most {limit}x", ratio <= limit)


def _wait(site: Website, read_last_step: Callable[..., int], shape: Scalars) -> None:
    """Wait until all runs are read, and request one chart."""
    for run in shape.run_names:
        while read_last_step(site, run, TAG) < shape.steps - 1:
            time.sleep(0.1)


def _weigh(site: Website) -> Memory:
    time.sleep(REST_S)
    return site.measure_memory()
