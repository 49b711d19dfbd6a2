"""What ends processes again and again, and what ends all of them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.frameworks.ray.conftest import OpenCluster
from tests.index import logs
from tests.index.cluster.test_equal_results import read_answer
from tests.server.waiting import wait_until
from tracklight.errors import TagNotFoundError
from tracklight.index.cluster import (
    Client,
    Files,
    Outcome,
    RefreshResult,
    ShardActor,
    connection,
)
from tracklight.index.downsampling import ExtentView
from tracklight.index.series_query import SeriesQuery


class CrashingActor(ShardActor):
    """Has not enough memory for two runs: it is killed for one, and cannot allocate for another."""

    def refresh(
        self, instance: str, updated: Mapping[str, Files], removed: Sequence[str] | None
    ) -> Outcome:
        if updated.get("run-5"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().refresh(instance, updated, removed)

    def _make_result(self, client: Client, changed: set[str]) -> RefreshResult:
        if client.files.get("run-2"):
            raise MemoryError
        return super()._make_result(client, changed)


def test_runs_without_enough_memory_are_excluded(
    logdir: Path, open_cluster: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ShardActor", CrashingActor)
    catalog = open_cluster(logdir)
    sentences = {
        f'run "run-{number}" is not read any more, because the process of its shard ended 3 times '
        "while reading it; restart tracklight to try again"
        for number in (2, 5)
    }
    wait_until(lambda: {*map(str, catalog.problems)} == sentences, timeout_s=240)
    assert catalog.missing_runs == ()
    alone = logs.open_catalog(logdir)
    keys = [(f"run-{number}", "loss") for number in range(8) if number not in (2, 5)]
    answers = [log.query(keys, SeriesQuery(), ExtentView()) for log in (catalog, alone)]
    assert repr(answers[0]) == repr(answers[1])
    assert [run.name for run in catalog.runs()] == [run.name for run in alone.runs()]
    assert catalog.tags("run-5") == ()
    with pytest.raises(TagNotFoundError):
        catalog.scalar("run-5", "loss")
    catalog.refresh()
    assert catalog.missing_runs == ()
    alone.close()


@contextmanager
def serve_ray_client(ray_address: str, port: int) -> Iterator[None]:
    """Start the server of Ray Client on a cluster, as ``ray start --head`` does."""
    command = [sys.executable, "-m", "ray.util.client.server", "--mode=legacy"]
    flags = ["--host=127.0.0.1", f"--port={port}", f"--address={ray_address}"]
    with subprocess.Popen([*command, *flags], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: accepts_connections(port), timeout_s=180)
            yield
        finally:
            process.kill()


def get_free_port() -> int:
    with socket.socket() as connection:
        connection.bind(("127.0.0.1", 0))
        port: int = connection.getsockname()[1]
        return port


def accepts_connections(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serve(logdir: Path, *flags: str) -> Iterator[httpx.Client]:
    """Serve a log in a process of its own."""
    command = [sys.executable, "-m", "tracklight", "--logdir", str(logdir), "--port=0", *flags]
    # Ray Client tries for so long to continue after a connection was lost.
    env = {**os.environ, "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            url = re.search(r"http://\S+", line)
            assert url is not None, line
            with httpx.Client(base_url=url[0], timeout=60) as client:
                yield client
        finally:
            process.terminate()


def test_connects_again_through_ray_client(logdir: Path, ray_address: str) -> None:
    with ExitStack() as stack:
        port = get_free_port()
        servers = stack.enter_context(ExitStack())
        servers.enter_context(serve_ray_client(ray_address, port))
        flags = ("--no-cache", "--no-token", "--memory=64MB", "--cluster-shards=1")
        cluster = f"--cluster=ray://127.0.0.1:{port}"
        client = stack.enter_context(serve(logdir, cluster, *flags))

        def get_tags() -> int:
            return client.get("/api/v1/tags", params={"run": "run-5"}).status_code

        wait_until(lambda: get_tags() == 200, timeout_s=180)
        before = client.get("/api/v1/runs").json()["runs"]
        servers.close()
        wait_until(lambda: get_tags() == 503, timeout_s=180)
        assert "runs are missing" in client.get("/api/v1/status").text
        assert client.get("/api/v1/runs").json()["runs"] == before
        servers.enter_context(serve_ray_client(ray_address, port))
        wait_until(lambda: get_tags() == 200, timeout_s=180)
        wait_until(
            lambda: "runs are missing" not in client.get("/api/v1/status").text, timeout_s=180
        )
        assert client.get("/api/v1/runs").json()["runs"] == before


@contextmanager
def start_nodes(port: int, count: int) -> Iterator[Any]:
    """Start a head without CPUs and some nodes, each with processes of its own."""
    from ray.cluster_utils import Cluster as SimulatedCluster

    node = {"num_cpus": 2, "object_store_memory": 80 << 20}
    head = {**node, "num_cpus": 0, "gcs_server_port": port, "include_dashboard": False}
    cluster = SimulatedCluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(count):
            cluster.add_node(**node)
        yield cluster
    finally:
        cluster.shutdown()


def list_processes(node: Any) -> list[psutil.Process]:
    """Return the scheduler of a node and the shards that it has started."""
    (raylet,) = node.all_processes["raylet"]
    process = psutil.Process(raylet.process.pid)
    return [process, *process.children(recursive=True)]


def test_lost_nodes(logdir: Path, ray_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is unreachable, and then another one is killed."""
    # Ray would wait for a minute until it gives an unreachable node up.
    monkeypatch.setenv("RAY_health_check_initial_delay_ms", "0")
    monkeypatch.setenv("RAY_health_check_period_ms", "500")
    monkeypatch.setenv("RAY_health_check_timeout_ms", "2000")
    monkeypatch.setenv("RAY_health_check_failure_threshold", "3")
    port = get_free_port()
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    flags = ("--no-cache", "--no-token", "--memory=64MB", "--cluster-shards=2")
    runs = [f"run-{number}" for number in range(8)]
    keys = {"runs": runs, "charts": [{"id": "0", "tags": ["loss"]}]}
    with ExitStack() as stack:
        cluster = stack.enter_context(start_nodes(port, 2))
        client = stack.enter_context(serve(logdir, "--cluster=auto", "--cluster-timeout=5", *flags))

        def get_chart() -> bytes:
            response = client.post("/api/v1/scalars/query", json=keys)
            status, content = read_answer(response)
            assert status == 200
            return content

        def get_problems() -> str:
            return client.get("/api/v1/status").text

        def is_complete() -> bool:
            return "runs are missing" not in get_problems() and get_chart() == before

        def check_loss(end: Callable[[], object]) -> None:
            end()
            wait_until(lambda: get_chart() != before and "runs are missing" in get_problems())
            listed = client.get("/api/v1/runs").json()["runs"]
            assert [run["name"] for run in listed] == names

        def stop(node: Any) -> None:
            for process in list_processes(node):
                process.suspend()

        wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
        names = [run["name"] for run in client.get("/api/v1/runs").json()["runs"]]
        before = get_chart()
        assert set(runs) <= set(names)
        first, second = cluster.worker_nodes
        check_loss(lambda: stop(first))
        wait_until(is_complete, timeout_s=180)
        # Both shards are on the second node now. The first one comes back without them.
        for process in list_processes(first):
            process.resume()
        cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
        check_loss(lambda: cluster.remove_node(second, allow_graceful=False))
        wait_until(is_complete, timeout_s=180)
