from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis import jobs as module
from tracklight.analysis.embeddings.projections.tsne import TsneSettings, compute_tsne
from tracklight.analysis.jobs import JobProgress, Jobs, make_job_key
from tracklight.dashboards.projector.jobs import LayoutStore
from tracklight.errors import UsageError
from tracklight.types import Float32
from tracklight.util.file_cache import FileCache

LAYOUT = np.zeros((3, 2), np.float32)
UNEXPECTED = "unexpected error (ZeroDivisionError); see the server's terminal"


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs[Float32]]:
    jobs = Jobs(LayoutStore(FileCache(tmp_path / "cache")))
    yield jobs
    jobs.close()


def test_a_job_ends_with_its_layout(jobs: Jobs[Float32]) -> None:
    vectors, _ = make_clusters(40)
    settings = TsneSettings(iterations=20)
    job = jobs.start("a", lambda work: compute_tsne(vectors, settings, progress=work))
    assert job.wait(60)
    assert job.state == "done"
    assert (job.stage, job.done, job.total) == ("moving points", 20, 20)
    assert job.result is not None and job.result.shape == (40, 2)
    assert jobs.find("a") is job
    assert jobs.find("b") is None


def test_who_asks_again_gets_the_same_job(jobs: Jobs[Float32]) -> None:
    calls: list[JobProgress] = []

    def compute(work: JobProgress) -> Float32:
        calls.append(work)
        return LAYOUT

    first = jobs.start("a", compute)
    assert jobs.start("a", compute) is first
    assert first.wait(60)
    assert jobs.start("a", compute) is first
    assert len(calls) == 1


def test_a_layout_is_kept_for_another_day(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "cache")
    for compute in (lambda work: LAYOUT, lambda work: pytest.fail("is made again")):
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
    job = jobs.start("a", lambda work: LAYOUT)
    assert job.wait(60)
    jobs.close()
    assert job.result is LAYOUT
    assert cache.find("a") == _save(LAYOUT)


def test_a_job_shows_how_far_it_is_and_can_be_stopped(jobs: Jobs[Float32]) -> None:
    seen = threading.Event()

    def compute(work: JobProgress) -> Float32:
        work.show(LAYOUT)
        for done in range(10**9):
            work.step("counting", done, 10**9)
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
    again = jobs.start("a", lambda work: LAYOUT)
    assert again is not job
    assert again.wait(60) and again.state == "done"


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (UsageError("no sense"), "no sense"),
        (MemoryError(), "there is not enough memory"),
        (ZeroDivisionError("a fault"), UNEXPECTED),
    ],
)
def test_what_goes_wrong_is_told_and_ends_the_job(
    jobs: Jobs[Float32], error: Exception, problem: str
) -> None:
    def compute(work: JobProgress) -> Float32:
        raise error

    job = jobs.start("a", compute)
    assert job.wait(60)
    assert (job.state, job.problem) == ("failed", problem)


def test_only_some_jobs_are_remembered(
    jobs: Jobs[Float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_JOBS", 2)
    for key in "abcd":
        assert jobs.start(key, lambda work: LAYOUT).wait(60)
    assert [key for key in "abcd" if jobs.find(key)] == ["c", "d"]


def test_keys_differ_by_all_that_makes_a_layout() -> None:
    keys = {
        make_job_key("words", TsneSettings()),
        make_job_key("words", TsneSettings(seed=1)),
        make_job_key("words", TsneSettings(), b"rows"),
        make_job_key("pictures", TsneSettings()),
    }
    assert len(keys) == 4
    assert make_job_key("words", TsneSettings()) == make_job_key("words", TsneSettings())


def test_what_is_quickly_made_is_not_kept_for_another_day(tmp_path: Path) -> None:
    jobs = Jobs(LayoutStore(FileCache(tmp_path / "cache")))
    assert jobs.start("a", lambda work: LAYOUT, is_cached=False).wait(60)
    jobs.close()
    assert not (tmp_path / "cache").exists()
