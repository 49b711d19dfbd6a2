"""Shards on Ray: the overhead of a query with 1, 2 and 4 nodes, and recovery of a killed node.

The nodes are simulated by `ray.cluster_utils.Cluster`: each has its own scheduler and workers, all
on this machine. Time that more machines would save does not show here.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.make_logs import Scalars, get_scalars
from benchmarks.peers import PeerNotAvailableError
from benchmarks.report import Row, format_s
from tests.shard_pool import patch_ray_path
from tracklight.index.catalog import Catalog
from tracklight.index.cluster.connection import Cluster, parse_cluster
from tracklight.index.downsampling import Line, LineView
from tracklight.index.series_query import SeriesQuery
from tracklight.logdir.access import parse_roots

_MAX_OVERHEAD_S = 0.015
_MEMORY_BYTES = 256 << 20
_CHART_RUNS = 16
_REPEATS = 50
#: How long to wait until a killed node is noticed, and until all runs answer again.
_MAX_NOTICE_S = 60.0
_MAX_RECOVERY_S = 180.0


def measure(quick: bool) -> Iterator[Row]:
    shape = Scalars(runs=20, tags=5, steps=200) if quick else Scalars(runs=200, tags=20, steps=1000)
    folder = get_scalars(shape)
    alone = Catalog(parse_roots(str(folder)), cache=False)
    alone.refresh()
    names = [run.name for run in alone.runs()][:_CHART_RUNS]
    keys = [(name, alone.tags(name)[0].tag) for name in names]
    expected = to_text(read_chart(alone, keys))
    alone_s = time_median(lambda: read_chart(alone, keys))
    alone.close()
    what = f"a chart of {len(keys)} runs"
    yield Row(f"Cluster: {what} in one process", format_s(alone_s))
    for nodes in (1, 2) if quick else (1, 2, 4):
        with start_nodes(nodes) as cluster, open_log(folder, nodes) as catalog:
            is_same = to_text(read_chart(catalog, keys)) == expected
            median_s = time_median(lambda catalog=catalog: read_chart(catalog, keys))
            overhead_s = median_s - alone_s
            yield Row(
                f"… overhead with {nodes} simulated Ray node{'s' * (nodes > 1)}",
                format_s(max(0.0, overhead_s)),
                must=f"the same answer, at most {format_s(_MAX_OVERHEAD_S)}",
                reached=is_same and overhead_s <= _MAX_OVERHEAD_S,
            )
            if nodes == 2:
                recovery_s = time_recovery(cluster, catalog)
                is_same = to_text(read_chart(catalog, keys)) == expected
                yield Row(
                    "… from the kill of one of two nodes until all runs answer again",
                    format_s(recovery_s),
                    must="the same answers as before",
                    reached=is_same,
                )


@contextmanager
def start_nodes(count: int) -> Iterator[Any]:
    """Start a simulated cluster with one CPU per node, and connect to it."""
    try:
        import ray
        from ray.cluster_utils import Cluster as SimulatedCluster
    except ImportError as error:
        raise PeerNotAvailableError("Ray is not installed") from error
    patch = pytest.MonkeyPatch()
    patch_ray_path(patch)
    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    # The head runs no shards, so that any of the nodes can be killed.
    cluster = SimulatedCluster(initialize_head=True, head_node_args={**node, "num_cpus": 0})
    try:
        del node["include_dashboard"]
        for _ in range(count):
            cluster.add_node(**node)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        patch.undo()


@contextmanager
def open_log(folder: Path, shards: int) -> Iterator[Catalog]:
    cluster = Cluster(parse_cluster("auto", shards))
    roots = parse_roots(str(folder))
    catalog = Catalog(roots, cache=False, memory_bytes=_MEMORY_BYTES, cluster=cluster)
    catalog.refresh()
    yield catalog
    catalog.close()


def read_chart(catalog: Catalog, keys: Sequence[tuple[str, str]]) -> list[Line]:
    """Query the lines of a chart of 800 pixels, as the page does."""
    view = LineView(np.linspace(0, 1000, 801), max_points=1600)
    return catalog.query(keys, SeriesQuery(), view)


def to_text(lines: Sequence[Line]) -> str:
    """Return all values of some lines as text, to compare them."""
    with np.printoptions(threshold=sys.maxsize):
        return repr(lines)


def time_median(call: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        start_s = time.perf_counter()
        call()
        times.append(time.perf_counter() - start_s)
    return statistics.median(times)


def time_recovery(cluster: Any, catalog: Catalog) -> float:
    """Kill a node, add another one, and return the seconds until no run is missing."""
    victim = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    start_s = time.perf_counter()
    cluster.remove_node(victim, allow_graceful=False)
    cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    while not catalog.missing_runs and time.perf_counter() - start_s < _MAX_NOTICE_S:
        time.sleep(0.05)
    while catalog.missing_runs:
        if time.perf_counter() - start_s > _MAX_RECOVERY_S:
            raise RuntimeError(f"runs are still missing {_MAX_RECOVERY_S:.0f} s after the kill")
        time.sleep(0.05)
    return time.perf_counter() - start_s
