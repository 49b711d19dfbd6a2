"""Loading and caching of captures, and errors."""

from __future__ import annotations

import pickle
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import ProfileClient, open_client, put_xplane
from tracklight.analysis.jobs import JobProgress
from tracklight.analysis.profiles.captures import open_capture
from tracklight.dashboards.profile import store
from tracklight.errors import FormatError, LogError


def test_concurrent_requests_read_a_capture_once(
    profiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def record(path: Path, *args: object) -> object:
        read.append(path)
        return open_capture(path, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "open_capture", record)
    client = ProfileClient(profiled)
    paths = ["overview", "steps", "input", "tools"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda path: client.get(path, "keras/fast"), paths))
    assert len(read) == 1
    client.close()


def test_results_are_cached_outside_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir, cache = tmp_path / "logs", tmp_path / "cache"
    path = put_xplane(logdir, "run", read_bytes("cnn"))
    before = sorted(logdir.rglob("*"))
    first = ProfileClient(logdir, cache)
    responses = [first.get(name, "run") for name in ("overview", "steps", "input")]
    first.close()
    assert sorted(logdir.rglob("*")) == before

    with monkeypatch.context() as patch:
        patch.setattr(store, "open_capture", None)
        second = ProfileClient(logdir, cache)
        overview, steps, response = (
            second.get(name, "run") for name in ("overview", "steps", "input")
        )
    assert (overview, response) == (responses[0], responses[2])
    assert steps.total_ms.tolist() == responses[1].total_ms.tolist()
    assert steps.averaged == responses[1].averaged

    path.write_bytes(read_bytes("inputbound"))
    second.catalog.refresh()
    assert second.get("overview", "run").steps.mean_ms == pytest.approx(49.3, abs=0.05)
    second.close()


def test_damaged_cache_is_recomputed(tmp_path: Path) -> None:
    logdir, cache = tmp_path / "logs", tmp_path / "cache"
    put_xplane(logdir, "run", read_bytes("cnn"))
    client = ProfileClient(logdir, cache)
    expected = client.get("overview", "run")
    cached = [path for path in cache.rglob("profiles/*") if path.is_file()]
    assert cached
    for path in cached:
        path.write_bytes(b"\x93nothing")
    assert client.get("overview", "run") == expected
    client.close()


def test_reports_progress_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(DATA / "tgpu.pt.trace.json.gz", tmp_path / "w.17.pt.trace.json.gz")
    client = ProfileClient(tmp_path)
    is_halfway, can_continue = threading.Event(), threading.Event()

    def read_slowly(path: Path, on_progress: object) -> object:
        on_progress(0.5)  # type: ignore[operator]
        is_halfway.set()
        assert can_continue.wait(60)
        return open_capture(path)

    monkeypatch.setattr(store, "open_capture", read_slowly)
    assert client.get("opening", ".").state == "idle"
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(client.get, "overview", ".")
        assert is_halfway.wait(60)
        opening = client.get("opening", ".")
        assert (opening.state, opening.share) == ("opening", 0.5)
        can_continue.set()
        assert response.result().events > 0
    assert client.get("opening", ".").state == "ready"
    client.close()


def test_rejects_damaged_capture(client: ProfileClient) -> None:
    with pytest.raises(FormatError, match=r"vm\.xplane\.pb"):
        client.get("overview", "broken")
    opening = client.get("opening", "broken")
    assert opening.state == "failed"
    assert "vm.xplane.pb" in opening.problem.message


def test_rejects_unknown_capture_and_host(client: ProfileClient) -> None:
    with pytest.raises(LogError, match="Reload the page"):
        client.get("overview", "torch", capture="unknown")
    with pytest.raises(LogError, match='no host "c"'):
        client.get("overview", "torch", host="c")


def test_does_not_follow_symlink_out_of_the_log(tmp_path: Path) -> None:
    outside = tmp_path / "secret.xplane.pb"
    outside.write_bytes(read_bytes("cnn"))
    link = put_xplane(tmp_path / "logs", "run", b"")
    link.unlink()
    link.symlink_to(outside)
    client = ProfileClient(tmp_path / "logs")
    with pytest.raises(PermissionError, match="outside the log directory"):
        client.get("overview", "run")
    client.close()


def test_heap_profile_explains_missing_times(tmp_path: Path) -> None:
    (tmp_path / "memory.prof").write_bytes(b"")
    client = ProfileClient(tmp_path)
    tools = {tool.name: tool for tool in client.get("tools", ".").tools}
    assert "memory" in tools["overview"].empty_reason.text
    assert tools["overview"].hint
    client.close()


class PickledTasks:
    """Runs functions as another process would: on copies of their arguments."""

    is_local = False
    parallelism = 2

    def __init__(self) -> None:
        self.paths: list[str] = []

    def run(
        self, function: Callable[..., Any], *args: Any, progress: JobProgress, **options: Any
    ) -> Any:
        self.paths.append(args[0].path)
        function, args, options = pickle.loads(pickle.dumps((function, args, options)))
        return pickle.loads(pickle.dumps(function(*args, progress=JobProgress(), **options)))


@pytest.mark.parametrize("route", ["hosts", "communication/ranks"])
def test_hosts_are_analyzed_as_tasks(route: str, tmp_path: Path) -> None:
    """The answers are those of one process, which does not read the files itself."""
    for worker, data in (("a_1", None), ("b_1", None), ("c_1", b"no trace")):
        path = tmp_path / "ddp" / f"{worker}.1794790000000000000.pt.trace.json.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data or (DATA / "nccl.pt.trace.json.gz").read_bytes())
    tasks = PickledTasks()
    with open_client(tmp_path) as alone, open_client(tmp_path, tasks) as client:
        answers = [
            msgspec.json.encode(each.get(route, "ddp"), enc_hook=lambda array: array.tolist())
            for each in (alone, client)
        ]
        assert answers[0] == answers[1]
        assert b"a_1" in answers[0] and b"b_1" in answers[0]
        assert len(tasks.paths) == 3
        assert client.get("opening", "ddp", host="a_1").state == "idle"
        # A capture that the server has read already is not read again.
        client.get("overview", "ddp", host="a_1")
        client.get("communication/ranks", "ddp")
        assert sum("a_1" in path for path in tasks.paths) == 1


def test_task_reads_no_file_outside_the_log(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    link = tmp_path / "logs" / "run" / "a_1.1794790000000000000.pt.trace.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(secret)
    with open_client(tmp_path / "logs", PickledTasks()) as client:
        (host,) = client.get("hosts", "run").hosts
        assert host.step_ms is None and "outside the log directory" in host.problem.message
