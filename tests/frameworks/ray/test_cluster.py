"""A log in shards on Ray answers like one in this process, also after its actors were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import builders as b
from tests.frameworks.ray.conftest import OpenCluster
from tests.index import logs
from tests.index.cluster.test_equal_results import check_every_route, write_runs
from tests.server.test_http_api import open_client
from tests.server.waiting import wait_until
from tracklight.errors import RunNotFoundError, TagNotFoundError, UnavailableError
from tracklight.index.catalog import Catalog
from tracklight.index.downsampling import ExtentView
from tracklight.index.series_query import Curve, SeriesQuery, Smoothing


def test_every_route_answers_the_same(
    tmp_path: Path, open_cluster: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_every_route(tmp_path, monkeypatch, open_cluster)


def test_queries_answer_the_same(logdir: Path, open_cluster: OpenCluster) -> None:
    alone, cluster = logs.open_catalog(logdir), open_cluster(logdir)
    assert describe(alone) == describe(cluster)
    alone.close()


def describe(catalog: Catalog) -> dict[str, Any]:
    """Return the results of all kinds of queries."""
    runs = [run.name for run in catalog.runs()]
    keys = [(run, tag.tag) for run in runs for tag in catalog.tags(run) if tag.kind == "scalar"]
    smoothed = SeriesQuery("relative", Smoothing("ema", 0.9))
    return {
        "runs": catalog.runs(),
        "shared": catalog.shared_tags(runs),
        "files": [catalog.files(run) for run in runs],
        "scalars": [catalog.scalar(*key).value.tolist() for key in keys],
        "extents": [*map(repr, catalog.query(keys, smoothed, ExtentView()))],
        "summaries": catalog.summaries([*keys, ("missing", "loss")]),
        "last": catalog.last_points([*keys, ("missing", "loss")]),
        "hparams": list(catalog.plugin_data("_hparams_/session_start_info").items()),
        "pictures": catalog.read_many(catalog.locate("kinds", "picture"), [0]),
    }


def test_errors_are_those_of_one_process(logdir: Path, open_cluster: OpenCluster) -> None:
    catalog = open_cluster(logdir)
    with pytest.raises(RunNotFoundError, match='no run "run-9"; nearest: "run-7"'):
        catalog.tags("run-9")
    with pytest.raises(TagNotFoundError, match='no tag "los" in run "run-1"; nearest: "loss"'):
        catalog.scalar("run-1", "los")


def test_follows_growing_and_removed_runs(logdir: Path, open_cluster: OpenCluster) -> None:
    catalog = open_cluster(logdir)
    logs.append(logdir / "run-3/events.out.tfevents.1", b.scalar("loss", 900, 1.0))
    logs.write(logdir, "new", logs.points(range(3)))
    (logdir / "run-1/events.out.tfevents.1").unlink()
    delta = catalog.refresh()
    assert (delta.added, delta.removed, delta.changed) == (("new",), ("run-1",), ("run-3",))
    assert catalog.scalar("run-3", "loss").step[-1] == 900
    assert catalog.refresh().changed == ()


def list_processes(catalog: Catalog) -> dict[int, int]:
    """Return the process of each shard."""
    return {number: state.pid for number, state in catalog.describe_shards().items()}


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def test_a_killed_shard_is_replaced(logdir: Path, open_cluster: OpenCluster) -> None:
    catalog = open_cluster(logdir)
    before, pids = describe(catalog), list_processes(catalog)
    kill(pids[0])
    wait_until(lambda: list_processes(catalog).get(0) not in (None, pids[0]))
    wait_until(lambda: not catalog.missing_runs)
    assert describe(catalog) == before
    # The page is told to ask again for the runs of that shard only.
    changed = catalog.refresh().changed
    assert changed and len(changed) < len(before["runs"])
    assert catalog.refresh().changed == ()


def test_answers_with_what_is_there(logdir: Path, open_cluster: OpenCluster) -> None:
    catalog = open_cluster(logdir)
    names = [run.name for run in catalog.runs()]
    version = catalog.version
    missing = set[str]()
    kill(list_processes(catalog)[1])
    # The first query after the failure notices it.
    while not missing:
        shared = catalog.shared_tags(names)
        missing = set(catalog.missing_runs)
    assert catalog.version > version
    assert [run.name for run in catalog.runs()] == names
    assert any(missing.isdisjoint(tag.runs) for tag in shared) or not shared
    extents = catalog.query([(name, "loss") for name in names[-4:]], SeriesQuery(), ExtentView())
    assert len(extents) == 4
    (problem,) = [text for text in map(str, catalog.problems) if "runs are missing" in text]
    assert problem.startswith(f"{len(missing)} runs are missing until their shard is available")
    wait_until(lambda: not catalog.missing_runs)
    assert not [text for text in map(str, catalog.problems) if "missing" in text]


def test_survives_kills_during_load(tmp_path: Path, open_cluster: OpenCluster) -> None:
    """Query from several threads while the log grows and both shards are killed in turn."""
    logdir = tmp_path / "logs"
    write_runs(logdir)
    catalog = open_cluster(logdir)
    stopped, failures = threading.Event(), list[BaseException]()

    def load() -> None:
        keys = [(f"run-{number}", "loss") for number in range(8)]
        while not stopped.is_set():
            try:
                catalog.query(keys, SeriesQuery(), ExtentView())
                catalog.shared_tags([run for run, _ in keys])
                catalog.scalar("run-5", "loss")
            except UnavailableError:
                pass
            except BaseException as error:
                failures.append(error)
                return

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round in range(4):
        pids = list_processes(catalog)
        kill(pids[round % 2])
        for number in range(8):
            logs.append(
                logdir / f"run-{number}/events.out.tfevents.1", b.scalar("loss", 500 + round, 1.0)
            )
        catalog.refresh()
        number = round % 2
        wait_until(partial(is_replaced, catalog, number, pids[number]))
    stopped.set()
    for thread in threads:
        thread.join()
    assert failures == []
    wait_until(lambda: not catalog.missing_runs)
    catalog.refresh()
    alone = logs.open_catalog(logdir)
    assert describe(catalog) == describe(alone)
    alone.close()


def is_replaced(catalog: Catalog, number: int, pid: int) -> bool:
    return not catalog.missing_runs and list_processes(catalog).get(number) not in (None, pid)


class StallingView:
    """A view that does not return until a file exists."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, curve: Curve) -> int:
        wait_until(lambda: not len(curve) or self.path.exists())
        return len(curve)


def test_a_slow_shard_times_out(tmp_path: Path, open_cluster: OpenCluster) -> None:
    write_runs(tmp_path / "logs")
    catalog = open_cluster(tmp_path / "logs", timeout_s=8.0)
    marker = tmp_path / "go"
    keys = [("run-7", "loss")]
    assert catalog.query(keys, SeriesQuery(), StallingView(marker)) == [0]
    assert "run-7" in catalog.missing_runs or not catalog.missing_runs
    marker.touch()
    wait_until(lambda: not catalog.missing_runs)
    assert catalog.query(keys, SeriesQuery(), StallingView(marker)) == [145]


def test_refresh_does_not_wait_for_a_stopped_shard(logdir: Path, open_cluster: OpenCluster) -> None:
    catalog = open_cluster(logdir, timeout_s=8.0)
    names = {f"run-{number}" for number in range(8)}
    pid = list_processes(catalog)[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        for name in names:
            path = logdir / name / "events.out.tfevents.1"
            logs.append(path, b.scalar("loss", 900, 1.0))
        changed = set(catalog.refresh().changed)
        missing = set(catalog.missing_runs) & names
        assert missing and changed == names - missing
        (logdir / min(missing) / "events.out.tfevents.1").unlink()
        assert catalog.refresh().removed == (min(missing),)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not catalog.missing_runs)
    assert missing - {min(missing)} <= set(catalog.refresh().changed)
    assert list_processes(catalog)[0] == pid
    alone = logs.open_catalog(logdir)
    assert describe(catalog) == describe(alone)
    alone.close()


def test_status_lists_missing_runs(logdir: Path, open_cluster: OpenCluster, tmp_path: Path) -> None:
    catalog = open_cluster(logdir)
    with open_client(catalog, tmp_path) as client:
        kill(list_processes(catalog)[0])
        wait_until(lambda: "runs are missing" in client.get("/api/v1/status").text)
        wait_until(lambda: "runs are missing" not in client.get("/api/v1/status").text)
        runs = client.get("/api/v1/runs").json()["runs"]
        assert len(runs) == len(catalog.runs())


def run_command(tmp_path: Path, *flags: str, program: str = "", **env: str) -> str:
    """Serve a log and return what the command printed before it failed."""
    logs.write(tmp_path / "logs", "a", logs.points(range(3)))
    main = f"{program}\nfrom tracklight.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", main, str(tmp_path / "logs"), "--port=0", *flags]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env={**os.environ, **env}
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_reports_a_wrong_address(tmp_path: Path) -> None:
    error = run_command(
        tmp_path, "--cluster=ray://127.0.0.1:9", RAY_CLIENT_RECONNECT_GRACE_PERIOD="1"
    )
    expected = "--cluster ray://127.0.0.1:9: there is no Ray cluster at 127.0.0.1:9"
    assert error.splitlines()[-1] == f"tracklight: {expected}"
    assert "Traceback" not in error


def test_reports_that_no_cluster_runs_here(tmp_path: Path) -> None:
    error = run_command(
        tmp_path, "--cluster=auto", RAY_ADDRESS="127.0.0.1:9", RAY_TMPDIR="/nowhere"
    )
    assert "Traceback" not in error
    expected = "--cluster auto: there is no Ray cluster at 127.0.0.1:9"
    assert error.splitlines()[-1] == f"tracklight: {expected}"


def test_reports_another_version_of_ray(tmp_path: Path, ray_address: str) -> None:
    other = "import ray; ray.__version__ = '1.0.0'; import ray._private.utils"
    error = run_command(tmp_path, "--cluster=auto", program=other, RAY_ADDRESS=ray_address)
    assert "Traceback" not in error
    assert "runs another version of Ray or Python than this server" in error.splitlines()[-1]
