"""Parts of jobs run on Ray with the same results, progress and cancellation as in this process."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tests.analysis.profiles.sample_captures import DATA
from tests.dashboards.profile.client import open_client, put_file
from tests.dashboards.what_if.board import start_board
from tests.dashboards.what_if.test_dashboard import make_workspace
from tests.server.waiting import wait_until
from tracklight.analysis.embeddings.projections.manifold import TsneSettings, compute_tsne
from tracklight.analysis.jobs import LOCAL_TASKS, ClusterTasks, JobProgress, Jobs
from tracklight.analysis.source import DataAccess
from tracklight.analysis.what_if import performance
from tracklight.errors import LogError, UsageError
from tracklight.index.cluster.connection import Cluster, parse_cluster


@pytest.fixture(scope="module")
def tasks(ray_address: str) -> Iterator[ClusterTasks]:
    cluster = Cluster(parse_cluster("local:2"))
    yield ClusterTasks(cluster)
    cluster.close()


def test_layout_is_the_same(tasks: ClusterTasks) -> None:
    vectors, _ = make_clusters(200)
    settings = TsneSettings(iterations=50, perplexity=5)
    local = LOCAL_TASKS.run(compute_tsne, vectors, settings, progress=JobProgress())
    remote = tasks.run(compute_tsne, vectors, settings, progress=JobProgress())
    assert np.array_equal(local, remote)


def wait_for_file(path: Path, *, progress: JobProgress) -> int:
    """Report the process, show one result, and end when a file exists."""
    progress.step("waiting", os.getpid(), 0)
    progress.show("half")
    while not path.exists():
        time.sleep(0.01)
        progress.step("waiting", os.getpid(), 0)
    return os.getpid()


def test_progress_and_intermediate_results(tasks: ClusterTasks, tmp_path: Path) -> None:
    jobs = Jobs[object]()
    path = tmp_path / "go"
    job = jobs.start("key", lambda it: tasks.run(wait_for_file, path, progress=it))
    wait_until(lambda: job.result == "half" and job.stage == "waiting", timeout_s=60)
    pid = job.done
    assert pid != os.getpid()
    path.touch()
    assert job.wait(60)
    assert (job.state, job.result, job.revision) == ("done", pid, 2)
    jobs.close()


def test_cancelled_task_is_ended(tasks: ClusterTasks, tmp_path: Path) -> None:
    jobs = Jobs[object]()
    job = jobs.start("key", lambda it: tasks.run(wait_for_file, tmp_path / "go", progress=it))
    wait_until(lambda: job.stage == "waiting", timeout_s=60)
    job.cancel()
    assert job.wait(60)
    assert (job.state, job.result) == ("cancelled", "half")
    wait_until(lambda: not is_alive(job.done), timeout_s=60)
    jobs.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_hosts_of_a_profile_are_analyzed_on_the_cluster(
    tasks: ClusterTasks, tmp_path: Path
) -> None:
    """The answers are the same, and the server reads none of the files."""
    for worker in ("a_1", "b_1"):
        target = f"{worker}.1794790000000000000.pt.trace.json.gz"
        put_file(tmp_path, "ddp", DATA / "nccl.pt.trace.json.gz", target)
    put_file(tmp_path, "ddp", DATA / "nccl.pt.trace.json.gz", target.replace("b_1", "c_1"))
    (tmp_path / "ddp" / target.replace("b_1", "c_1")).write_bytes(b"no trace")
    with open_client(tmp_path) as alone, open_client(tmp_path, tasks) as client:
        for route in ("hosts", "communication/ranks"):
            answer = client.get(route, "ddp")
            expected = alone.get(route, "ddp")
            assert msgspec.json.encode(
                answer, enc_hook=lambda array: array.tolist()
            ) == msgspec.json.encode(expected, enc_hook=lambda array: array.tolist())
            assert len(answer.hosts if route == "hosts" else answer.ranks) >= 2
        assert client.get("opening", "ddp", host="a_1").state == "idle"
        assert alone.get("opening", "ddp", host="a_1").state == "ready"


@pytest.mark.parametrize("intervals", ["none", "bootstrap"])
def test_large_tables_are_evaluated_on_the_cluster(
    tasks: ClusterTasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, intervals: str
) -> None:
    processes: list[int] = []
    run = tasks.run

    def record(function: Any, *args: Any, progress: JobProgress) -> Any:
        pid, result = run(call_with_pid, function, args, progress=progress)
        processes.append(pid)
        return result

    monkeypatch.setattr(tasks, "run", record)
    answers = []
    for min_rows, access in ((1, tasks), (1000, tasks), (1, LOCAL_TASKS)):
        monkeypatch.setattr(performance, "MIN_TASK_ROWS", min_rows)
        workspace = make_workspace()
        workspace.predict()
        data = DataAccess(workspaces={"demo": workspace}, tasks=access)
        with start_board(tmp_path, data) as board:
            answers.append(
                board.post("performance", session="demo", slice_by=["job"], intervals=intervals)
            )
    assert answers[0] == answers[1] == answers[2]
    assert len(processes) == 1 and processes[0] != os.getpid()


def call_with_pid(
    function: Callable[..., object], args: Sequence[object], *, progress: JobProgress
) -> tuple[int, object]:
    return os.getpid(), function(*args, progress=progress)


def refuse(value: int, *, progress: JobProgress) -> None:
    raise UsageError("jobs.test", "{value} is too much", value=value)


def test_errors_arrive_as_they_were_raised(tasks: ClusterTasks) -> None:
    with pytest.raises(UsageError, match=r"^3 is too much$"):
        tasks.run(refuse, 3, progress=JobProgress())


def test_lost_process_is_reported(tasks: ClusterTasks, tmp_path: Path) -> None:
    pids: list[int] = []
    killed = threading.Event()

    def kill(stage: object, pid: int, total: int) -> None:
        if stage == "waiting" and not killed.is_set():
            killed.set()
            pids.append(pid)
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(LogError, match="was lost; start it again"):
        tasks.run(wait_for_file, tmp_path / "go", progress=JobProgress(kill))
    assert pids
