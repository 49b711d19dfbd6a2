"""What ends processes again and again, and what ends all of them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.frameworks.ray.conftest import OpenCluster
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight.errors import TagNotFoundError
from tracklight.index.cluster import Files, Outcome, ShardActor, connection
from tracklight.index.downsampling import ExtentView
from tracklight.index.series_query import SeriesQuery


class CrashingActor(ShardActor):
    """Ends when it has to read one of the runs, as if the memory were not enough for it."""

    def refresh(
        self, instance: str, updated: Mapping[str, Files], removed: Sequence[str] | None
    ) -> Outcome:
        if updated.get("run-5"):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().refresh(instance, updated, removed)


def test_run_that_ends_its_shard_is_excluded(
    logdir: Path, open_cluster: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "ShardActor", CrashingActor)
    catalog = open_cluster(logdir)
    sentence = (
        'run "run-5" is not read any more, because the process of its shard ended 3 times while '
        "reading it; restart tracklight to try again"
    )
    wait_until(lambda: [*map(str, catalog.problems)] == [sentence], timeout_s=240)
    assert catalog.missing_runs == ()
    alone = logs.open_catalog(logdir)
    keys = [(f"run-{number}", "loss") for number in range(8) if number != 5]
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
