"""Captures of programs without a framework, and what is wrong with a call."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests.writer.event_files import read_scalars
from tracklight.analysis.profiles.captures.files import list_captures, open_capture
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.summary import summarize
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import UsageError, UsageWarning
from tracklight.logdir.roots import Root

#: Many times what lies between two samples, so that there are some on a busy machine as well.
WAIT_S = 0.15
MICROSECOND_PS = 1_000_000


def load() -> None:
    time.sleep(WAIT_S)


def train() -> int:
    end, rounds = time.perf_counter() + WAIT_S, 0
    while time.perf_counter() < end:
        rounds += 1
    return rounds


def read(logdir: Path) -> Trace:
    (path,) = logdir.glob("plugins/profile/*/*.trace.json.gz")
    return open_capture(path)


def run_loop(logdir: Path, loops: int, **options: int | None) -> Trace:
    with tracklight.profile(logdir, framework="python", strict=True, **options) as profiler:
        for _ in range(loops):
            load()
            train()
            profiler.step()
    return read(logdir)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captured")
    run_loop(folder, loops=5, steps=2, skip=1, first_step=100)
    return folder


def test_steps_are_those_that_were_asked_for(logdir: Path) -> None:
    steps = detect_steps(read(logdir))
    assert steps.names == ("ProfilerStep#101", "ProfilerStep#102")


def test_functions_and_lines_of_the_program_are_seen(logdir: Path) -> None:
    trace = read(logdir)
    functions = {trace.names[name] for name in trace.name}
    first = load.__code__.co_firstlineno
    assert {
        f"load (test_profile.py:{first})",
        f"test_profile.py:{first + 1}: time.sleep(WAIT_S)",
    } < (functions)
    calls = np.flatnonzero(trace.match_names(lambda name: name.startswith("load (")))
    spans = detect_steps(trace).spans
    # None goes on into the next step, though the loop calls it again before anybody looks.
    step = np.searchsorted(spans[:, 0], trace.start_ps[calls], "right") - 1
    assert len(calls) > 0
    assert (trace.end_ps[calls] < spans[step, 1] + MICROSECOND_PS).all()
    assert trace.match_names(lambda name: name.startswith("run_loop (")).sum() == 1


def test_the_line_that_took_the_time_is_told_first(tmp_path: Path) -> None:
    with tracklight.profile(tmp_path, framework="python", sample=False, strict=True):
        load()
        load()
    (first, *_) = summarize(read(tmp_path)).ops
    assert first.name.endswith(": time.sleep(WAIT_S)")


def test_it_is_found_as_a_run_of_the_log(logdir: Path) -> None:
    (capture,) = list_captures([Root("", str(logdir))])
    assert (capture.run, bool(capture.host)) == (".", True)
    assert abs(read(logdir).start_time_ns / 1e9 - time.time()) < 3600


def test_the_machine_is_sampled_beside(logdir: Path) -> None:
    tags = {tag for tag, _, _ in read_scalars(logdir)}
    assert "system/process_cpu_percent" in tags
    assert max(step for _, step, _ in read_scalars(logdir)) == 105


def test_a_loop_that_ends_early_has_no_half_step(tmp_path: Path) -> None:
    assert len(detect_steps(run_loop(tmp_path, loops=2, steps=50, sample=False)).names) == 2
    assert not list(tmp_path.glob("events*"))


def test_a_block_without_steps_is_one(tmp_path: Path) -> None:
    with tracklight.profile(tmp_path, framework="python", sample=False, strict=True):
        load()
    assert detect_steps(read(tmp_path)).names == ("ProfilerStep#0",)


def test_what_the_block_raises_gets_out_and_the_capture_is_kept(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        tracklight.profile(tmp_path, framework="python", sample=False, strict=True) as profiler,
    ):
        load()
        profiler.step()
        _ = 1 / 0
    assert len(detect_steps(read(tmp_path)).names) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"steps": 0}, "`steps` must be a number of steps, not 0"),
        ({"steps": "ten"}, "`steps` must be a number of steps, not 'ten'"),
        ({"skip": -1}, "`skip` must be a number of steps, not -1"),
        ({"framework": "caffe"}, "`profiler` is not there for 'caffe'"),
    ],
)
def test_misuse_is_told_and_costs_no_training(
    options: dict[str, object], said: str, tmp_path: Path
) -> None:
    given: dict[str, object] = {"framework": "python", "sample": False, **options}
    with (
        pytest.warns(UsageWarning, match=said),
        tracklight.profile(tmp_path, **given) as profiler,  # type: ignore[arg-type]
    ):
        profiler.step()
    assert not list(tmp_path.rglob("*.gz"))
    with pytest.raises(UsageError, match=said):
        tracklight.profile(tmp_path, strict=True, **given).__enter__()  # type: ignore[arg-type]


def test_a_folder_elsewhere_is_refused() -> None:
    with (
        pytest.warns(UsageWarning, match="`logdir` must be a folder of this machine"),
        tracklight.profile("memory://log", framework="python", sample=False),
    ):
        pass


def test_a_step_outside_is_told(tmp_path: Path) -> None:
    profiler = tracklight.profile(tmp_path, framework="python", sample=False)
    with pytest.warns(UsageWarning, match="`step` belongs inside"):
        profiler.step()


def test_a_place_that_cannot_be_written_costs_no_training(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with (
        pytest.warns(UsageWarning, match="profile logged nothing"),
        tracklight.profile(tmp_path / "run", framework="python", sample=False),
    ):
        pass
