"""`StackSampler` with fake scheduler statistics of the system."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tracklight import profiler
from tracklight.profiler import Span, StackSampler

_MS = 1_000_000


class Tasks:
    """Fake /proc/self/task directory with scheduler statistics."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def set(self, thread: int, on_cpu_ms: float, in_queue_ms: float = 0) -> None:
        (self._directory / str(thread)).mkdir(exist_ok=True)
        text = f"{int(on_cpu_ms * _MS)} {int(in_queue_ms * _MS)} 1\n"
        (self._directory / str(thread) / "schedstat").write_text(text)


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tasks:
    monkeypatch.setattr(profiler, "_PROC_TASK_DIR", tmp_path)
    return Tasks(tmp_path)


def test_waiting_for_a_core_is_not_running(tasks: Tasks) -> None:
    own, sampler = threading.get_native_id(), StackSampler()
    shares = [(0, 0), (9, 0), (9, 8), (10, 9), (20, 9)]
    for index, (on_cpu, in_queue) in enumerate(shares):
        tasks.set(own, on_cpu, in_queue)
        sampler.sample(10 * index * _MS)
    sampler.running[own].close_below(0, 40 * _MS)
    assert sampler.running[own].spans == [
        Span("Running", 0, 10 * _MS),
        Span("Waiting for a core", 10 * _MS, 20 * _MS),
        Span("Running", 30 * _MS, 40 * _MS),
    ]


def test_waiting_of_other_threads_is_left_out(tasks: Tasks) -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait, name="other")
    other.start()
    number = other.native_id
    assert number is not None
    sampler = StackSampler()
    for index, on_cpu in enumerate((0, 0, 9, 9)):
        tasks.set(number, on_cpu)
        sampler.sample(10 * index * _MS)
    done.set()
    other.join()
    assert {(span.start_ns, span.end_ns) for span in sampler.calls[number].spans} == {
        (20 * _MS, 30 * _MS)
    }
    assert sampler.calls[threading.get_native_id()].spans == []  # still open


def test_all_threads_count_as_running_without_scheduler_statistics(tasks: Tasks) -> None:
    sampler = StackSampler()
    sampler.sample(0)
    own = threading.get_native_id()
    sampler.calls[own].close_below(0, 5)
    assert {(span.start_ns, span.end_ns) for span in sampler.calls[own].spans} == {(0, 5)}
    assert sampler.running[own].spans == []
