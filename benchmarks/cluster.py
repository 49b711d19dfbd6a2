"""Shards on Ray: overhead of a query, recovery of a killed node, and how costs grow.

The nodes are simulated by `ray.cluster_utils.Cluster`: each has its own scheduler and workers, all
on this machine. Time that more machines would save does not show here. What each process does
shows: CPU time of the server, and CPU time and memory of the largest shard, are fitted to the
number of runs and of runs per shard, and compared with a larger log that was not fitted.
"""

from __future__ import annotations

import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import psutil
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
_NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}
_CHART_RUNS = 16
_REPEATS = 50
#: How long to wait until a killed node is noticed, and until all runs answer again.
_MAX_NOTICE_S = 60.0
_MAX_RECOVERY_S = 180.0
#: On a busy machine, Ray may not start within the 30 s that it gives itself.
_START_ATTEMPTS = 3

_MODEL_TAGS, _MODEL_STEPS = 20, 100
#: Numbers of runs and shards that the model is fitted to, and those that it predicts.
_FITTED = tuple((runs, shards) for runs in (1000, 2000, 4000) for shards in (1, 2, 4))
_PREDICTED = (12_000, 2)
#: All points are kept.
_MODEL_MEMORY_BYTES = 8 << 30
_MAX_MODEL_ERROR = 0.25


def measure(quick: bool) -> Iterator[Row]:
    shape = Scalars(runs=20, tags=5, steps=200) if quick else Scalars(runs=200, tags=20, steps=1000)
    folder = get_scalars(shape)
    alone = Catalog(parse_roots(str(folder)), cache=False)
    alone.refresh()
    names = [run.name for run in alone.runs()][:_CHART_RUNS]
    keys = [(name, alone.tags(name)[0].tag) for name in names]
    expected = [*map(to_text, read_chart(alone, keys))]
    alone_s = time_median(lambda: read_chart(alone, keys))
    alone.close()
    what = f"a chart of {len(keys)} runs"
    yield Row(f"Cluster: {what} in one process", format_s(alone_s))
    for nodes in (1, 2) if quick else (1, 2, 4):
        with start_nodes(nodes) as cluster, open_log(folder, nodes) as catalog:
            is_same = [*map(to_text, read_chart(catalog, keys))] == expected
            median_s = time_median(lambda catalog=catalog: read_chart(catalog, keys))
            overhead_s = median_s - alone_s
            yield Row(
                f"… overhead with {nodes} simulated Ray node{'s' * (nodes > 1)}",
                format_s(max(0.0, overhead_s)),
                must=f"the same answer, at most {format_s(_MAX_OVERHEAD_S)}",
                reached=is_same and overhead_s <= _MAX_OVERHEAD_S,
            )
            if nodes == 2:
                yield measure_kill(cluster, catalog, keys, expected)
            if nodes == 4 or quick:
                yield from measure_model(quick)


def measure_kill(
    cluster: Any, catalog: Catalog, keys: Sequence[tuple[str, str]], expected: Sequence[str]
) -> Row:
    """Kill a node while two threads query, and compare all answers with those of one process."""
    load = Load(lambda: read_chart(catalog, keys), expected)
    threads = [threading.Thread(target=load.run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        recovery_s = time_recovery(cluster, catalog)
    finally:
        load.stopped.set()
        for thread in threads:
            thread.join()
    is_same = [*map(to_text, read_chart(catalog, keys))] == expected
    return Row(
        f"… from the kill of one of two nodes until all runs answer again ({load.queries:,} "
        f"queries meanwhile, {load.partial:,} without its runs, {load.wrong:,} wrong)",
        format_s(recovery_s),
        must="no wrong line, and afterwards the same answers",
        reached=is_same and load.partial > 0 and load.wrong == 0,
    )


class Load:
    """Queries that are repeated until stopped, and how many answers were partial or wrong."""

    def __init__(self, query: Callable[[], list[Line]], expected: Sequence[str]) -> None:
        self.stopped = threading.Event()
        self.queries = self.partial = self.wrong = 0
        self._query = query
        self._expected = expected

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                answer = self._query()
            except Exception:
                self.wrong += 1
                continue
            differing = [
                line
                for line, expected in zip(answer, self._expected, strict=True)
                if to_text(line) != expected
            ]
            self.queries += 1
            self.partial += bool(differing)
            # The line of a missing run has no points.
            self.wrong += any(line.points for line in differing)


@dataclass(frozen=True)
class Costs:
    """CPU time of a first reading in the server and in the largest shard, and memory of that.

    The memory of the server is too small to be measured in a process that does other things.
    """

    server_s: float
    shard_s: float
    shard_mb: float


def measure_model(quick: bool) -> Iterator[Row]:
    """Fit the costs of a first reading to the size of a log, and predict those of a larger one.

    The costs of the server grow with the runs, those of a shard with its own runs.
    """
    fitted = ((100, 1), (200, 1), (200, 2)) if quick else _FITTED
    runs, shards = (400, 2) if quick else _PREDICTED
    costs = [measure_costs(*size) for size in fitted]
    measured = measure_costs(runs, shards)
    for field in fields(Costs):
        process, _, unit = field.name.partition("_")
        divisor = 1 if process == "server" else shards
        sizes = [size if process == "server" else size / parts for size, parts in fitted]
        slope, base = np.polyfit(sizes, [getattr(it, field.name) for it in costs], 1)
        expected = base + slope * runs / divisor
        actual = float(getattr(measured, field.name))
        format_cost = format_s if unit == "s" else "{:.0f} MB".format
        where = "the server" if process == "server" else "a shard"
        kind = "CPU time" if unit == "s" else "more memory"
        per_run = format_s(slope) if unit == "s" else f"{1000 * slope:.1f} kB"
        error = abs(expected / actual - 1)
        yield Row(
            f"… {kind} of {where}, first reading of {runs:,} runs of {_MODEL_TAGS} x "
            f"{_MODEL_STEPS} points in {shards} shards (model: {format_cost(expected)}, "
            f"{format_cost(max(0.0, float(base)))} and {per_run} per run"
            f"{' of the shard' * (process == 'shard')})",
            format_cost(actual),
            must=f"within {_MAX_MODEL_ERROR:.0%} of the model",
            reached=bool(error <= _MAX_MODEL_ERROR),
        )


def measure_costs(runs: int, shards: int) -> Costs:
    folder = get_scalars(Scalars(runs, _MODEL_TAGS, _MODEL_STEPS))
    cluster = Cluster(parse_cluster(f"local:{shards}"))
    roots = parse_roots(str(folder))
    with closing(
        Catalog(roots, cache=False, memory_bytes=_MODEL_MEMORY_BYTES, cluster=cluster)
    ) as catalog:
        gc.collect()
        server = psutil.Process()
        workers = [psutil.Process(state.pid) for state in catalog.describe_shards().values()]
        before = [*map(_measure_process, (server, *workers))]
        catalog.refresh()
        catalog.runs()
        gc.collect()
        after = [*map(_measure_process, (server, *workers))]
    spent = [(a - b, c - d) for (a, c), (b, d) in zip(after, before, strict=True)]
    return Costs(spent[0][0], max(s for s, _ in spent[1:]), max(mb for _, mb in spent[1:]))


def _measure_process(process: psutil.Process) -> tuple[float, float]:
    """Return CPU time in seconds, and memory that only this process uses, in megabytes."""
    times = process.cpu_times()
    return times.user + times.system, process.memory_full_info().uss / 1e6


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
    options = {"log_to_driver": False, "logging_level": "ERROR"}
    cluster = None
    try:
        for attempt in range(1, _START_ATTEMPTS + 1):
            # The head runs no shards, so that any of the nodes can be killed.
            head = {**_NODE, "num_cpus": 0, "include_dashboard": False}
            cluster = SimulatedCluster(initialize_head=True, head_node_args=head)
            try:
                for _ in range(count):
                    cluster.add_node(**_NODE)
                ray.init(address=cluster.address, **options)
                break
            except Exception:
                if attempt == _START_ATTEMPTS:
                    raise
                ray.shutdown()
                cluster.shutdown()
        yield cluster
    finally:
        ray.shutdown()
        if cluster is not None:
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


def to_text(line: Line) -> str:
    """Return all values of a line as text, to compare them."""
    with np.printoptions(threshold=sys.maxsize):
        return repr(line)


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
    cluster.add_node(**_NODE)
    while not catalog.missing_runs and time.perf_counter() - start_s < _MAX_NOTICE_S:
        time.sleep(0.05)
    while catalog.missing_runs:
        if time.perf_counter() - start_s > _MAX_RECOVERY_S:
            raise RuntimeError(f"runs are still missing {_MAX_RECOVERY_S:.0f} s after the kill")
        time.sleep(0.05)
    return time.perf_counter() - start_s
