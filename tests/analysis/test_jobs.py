from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis import jobs as module
from tracklight.analysis.embeddings.projections.manifold import TsneSettings, compute_tsne
from tracklight.analysis.jobs import JobProgress, Jobs, TaskActor, TaskState, make_job_key
from tracklight.dashboards.projector.layouts import LayoutStore
from tracklight.errors import UsageError
from tracklight.types import Float32
from tracklight.util.files import FileCache

LAYOUT = np.zeros((3, 2), np.float32)
UNEXPECTED = "unexpected error (ZeroDivisionError); see the server's terminal"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs[Float32]]:
    jobs = Jobs(LayoutStore(FileCache(tmp_path / "cache")))
    yield jobs
    jobs.close()


def test_job_ends_with_its_result(jobs: Jobs[Float32]) -> None:
    vectors, _ = make_clusters(40)
    settings = TsneSettings(iterations=20)
    job = jobs.start("a", lambda progress: compute_tsne(vectors, settings, progress=progress))
    assert job.wait(60)
    assert job.state == "done"
    assert (job.stage, job.done, job.total) == ("optimizing layout", 20, 20)
    assert job.result is not None and job.result.shape == (40, 2)
    assert jobs.find("a") is job
    assert jobs.find("b") is None


def test_start_returns_the_running_job_of_the_same_key(jobs: Jobs[Float32]) -> None:
    calls: list[JobProgress] = []

    def compute(progress: JobProgress) -> Float32:
        calls.append(progress)
        return LAYOUT

    first = jobs.start("a", compute)
    assert jobs.start("a", compute) is first
    assert first.wait(60)
    assert jobs.start("a", compute) is first
    assert len(calls) == 1


def test_result_is_read_from_the_store_after_a_restart(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "cache")
    for compute in (lambda progress: LAYOUT, lambda progress: pytest.fail("computed again")):
        jobs = Jobs(LayoutStore(cache))
        job = jobs.start("a", compute)
        assert job.wait(60)
        jobs.close()
        assert job.result is not None and np.array_equal(job.result, LAYOUT)


def _save(array: NDArray[Any], allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"\x93NUMPY\x01\x00v\x00",
        _save(LAYOUT)[:-1],
        _save(np.zeros(3)),
        _save(np.array([{}]), allow_pickle=True),
    ],
)
def test_damaged_layout_is_computed_again(tmp_path: Path, content: bytes) -> None:
    cache = FileCache(tmp_path)
    cache.put("a", content)
    jobs = Jobs(LayoutStore(cache))
    job = jobs.start("a", lambda progress: LAYOUT)
    assert job.wait(60)
    jobs.close()
    assert job.result is LAYOUT
    assert cache.find("a") == _save(LAYOUT)


def test_job_reports_progress_and_can_be_cancelled(jobs: Jobs[Float32]) -> None:
    seen = threading.Event()

    def compute(progress: JobProgress) -> Float32:
        progress.show(LAYOUT)
        for done in range(10**9):
            progress.step("counting", done, 10**9)
            seen.set()
        return LAYOUT

    job = jobs.start("a", compute)
    waiting = jobs.start("b", compute)
    assert seen.wait(60)
    assert (job.state, job.stage, waiting.state) == ("running", "counting", "waiting")
    assert job.result is LAYOUT
    waiting.cancel()
    job.cancel()
    assert job.wait(60) and waiting.wait(60)
    assert (job.state, waiting.state) == ("cancelled", "cancelled")
    again = jobs.start("a", lambda progress: LAYOUT)
    assert again is not job
    assert again.wait(60) and again.state == "done"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (UsageError("bad settings"), "bad settings"),
        (MemoryError(), "out of memory"),
        (ZeroDivisionError("a fault"), UNEXPECTED),
    ],
)
def test_error_ends_the_job_with_a_message(
    jobs: Jobs[Float32], error: Exception, problem: str
) -> None:
    def compute(progress: JobProgress) -> Float32:
        raise error

    job = jobs.start("a", compute)
    assert job.wait(60)
    assert (job.state, job.problem) == ("failed", problem)


def test_only_recent_jobs_are_remembered(
    jobs: Jobs[Float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_JOBS", 2)
    for key in "abcd":
        assert jobs.start(key, lambda progress: LAYOUT).wait(60)
    assert [key for key in "abcd" if jobs.find(key)] == ["c", "d"]


def test_keys_differ_by_data_and_settings() -> None:
    keys = {
        make_job_key("words", TsneSettings()),
        make_job_key("words", TsneSettings(seed=1)),
        make_job_key("words", TsneSettings(), b"rows"),
        make_job_key("images", TsneSettings()),
    }
    assert len(keys) == 4
    assert make_job_key("words", TsneSettings()) == make_job_key("words", TsneSettings())


def test_uncached_results_are_not_stored(tmp_path: Path) -> None:
    jobs = Jobs(LayoutStore(FileCache(tmp_path / "cache")))
    assert jobs.start("a", lambda progress: LAYOUT, is_cached=False).wait(60)
    jobs.close()
    assert not (tmp_path / "cache").exists()


def test_a_task_of_a_cluster_reports_what_is_new() -> None:
    actor = TaskActor()
    states: list[TaskState] = []

    def compute(start: int, *, progress: JobProgress, count: int) -> int:
        progress.step("adding", 1, count)
        states.append(actor.poll(0))
        progress.show(start)
        states.append(actor.poll(0))
        states.append(actor.poll(1))
        return start + count

    assert actor.run(compute, [3], {"count": 4}).get() == 7
    assert [(state.stage, state.done, state.total) for state in states] == [("adding", 1, 4)] * 3
    # The last poll knows the result of the first revision already.
    assert [(state.revision, state.result) for state in states] == [(0, None), (1, 3), (1, None)]
    failed = actor.run(lambda progress: 1 / 0, [], {})
    with pytest.raises(ZeroDivisionError):
        failed.get()
