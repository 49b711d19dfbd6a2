"""`tracklight.profile` in programs without a framework, and its error handling."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests.writer.event_files import read_scalars
from tracklight.analysis.profiles.captures import list_captures, open_capture
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.errors import UsageError, UsageWarning
from tracklight.logdir.access import Root

#: Many sampling intervals, so that a busy machine takes some samples as well.
WAIT_S = 0.15
MICROSECOND_PS = 1_000_000


def load() -> None:
    time.sleep(WAIT_S)


def train() -> int:
    end, iterations = time.perf_counter() + WAIT_S, 0
    while time.perf_counter() < end:
        iterations += 1
    return iterations


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
    directory = tmp_path_factory.mktemp("profiled")
    run_loop(directory, loops=5, steps=2, skip=1, first_step=100)
    return directory


def test_records_the_requested_steps(logdir: Path) -> None:
    steps = detect_steps(read(logdir))
    assert steps.names == ("ProfilerStep#101", "ProfilerStep#102")


def test_records_functions_and_lines_of_the_program(logdir: Path) -> None:
    trace = read(logdir)
    functions = {trace.names[name] for name in trace.name}
    first = load.__code__.co_firstlineno
    assert {
        f"load (test_recording.py:{first})",
        f"test_recording.py:{first + 1}: time.sleep(WAIT_S)",
    } < (functions)
    calls = np.flatnonzero(trace.match_names(lambda name: name.startswith("load (")))
    spans = detect_steps(trace).spans
    # No call extends into the next step, although it is called again before the next sample.
    step = np.searchsorted(spans[:, 0], trace.start_ps[calls], "right") - 1
    assert len(calls) > 0
    assert (trace.end_ps[calls] < spans[step, 1] + MICROSECOND_PS).all()
    assert trace.match_names(lambda name: name.startswith("run_loop (")).sum() == 1


def test_slowest_line_is_the_first_operation(tmp_path: Path) -> None:
    with tracklight.profile(tmp_path, framework="python", sample=False, strict=True):
        load()
        load()
    (first, *_) = summarize(read(tmp_path)).ops
    assert first.name.endswith(": time.sleep(WAIT_S)")


def test_profile_is_found_as_a_run(logdir: Path) -> None:
    (capture,) = list_captures([Root("", str(logdir))])
    assert (capture.run, bool(capture.host)) == (".", True)
    assert abs(read(logdir).start_time_ns / 1e9 - time.time()) < 3600


def test_logs_system_metrics(logdir: Path) -> None:
    tags = {tag for tag, _, _ in read_scalars(logdir)}
    assert "system/process_cpu_percent" in tags
    assert max(step for _, step, _ in read_scalars(logdir)) == 105


def test_unfinished_step_is_left_out(tmp_path: Path) -> None:
    assert len(detect_steps(run_loop(tmp_path, loops=2, steps=50, sample=False)).names) == 2
    assert not list(tmp_path.glob("events*"))


def test_block_without_steps_is_a_single_step(tmp_path: Path) -> None:
    with tracklight.profile(tmp_path, framework="python", sample=False, strict=True):
        load()
    assert detect_steps(read(tmp_path)).names == ("ProfilerStep#0",)


def test_exception_propagates_and_the_profile_is_written(tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        tracklight.profile(tmp_path, framework="python", sample=False, strict=True) as profiler,
    ):
        load()
        profiler.step()
        _ = 1 / 0
    assert len(detect_steps(read(tmp_path)).names) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "`steps` must be a number of steps, not 0"),
        ({"steps": "ten"}, "`steps` must be a number of steps, not 'ten'"),
        ({"skip": -1}, "`skip` must be a number of steps, not -1"),
        ({"framework": "caffe"}, "`profiler` does not support 'caffe'"),
    ],
)
def test_invalid_argument_warns_or_raises(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    arguments: dict[str, object] = {"framework": "python", "sample": False, **options}
    with (
        pytest.warns(UsageWarning, match=message),
        tracklight.profile(tmp_path, **arguments) as profiler,  # type: ignore[arg-type]
    ):
        profiler.step()
    assert not list(tmp_path.rglob("*.gz"))
    with pytest.raises(UsageError, match=message):
        tracklight.profile(tmp_path, strict=True, **arguments).__enter__()  # type: ignore[arg-type]


def test_remote_logdir_is_rejected() -> None:
    with (
        pytest.warns(UsageWarning, match="`logdir` must be a local directory"),
        tracklight.profile("memory://log", framework="python", sample=False),
    ):
        pass


def test_step_outside_of_the_block_warns(tmp_path: Path) -> None:
    profiler = tracklight.profile(tmp_path, framework="python", sample=False)
    with pytest.warns(UsageWarning, match="`step` must be called inside"):
        profiler.step()


def test_unwritable_logdir_warns(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("a file")
    with (
        pytest.warns(UsageWarning, match="profile logged nothing"),
        tracklight.profile(tmp_path / "run", framework="python", sample=False),
    ):
        pass
