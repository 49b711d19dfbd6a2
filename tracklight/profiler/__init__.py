"""Record profiles and graphs of a running program.

    with tracklight.profile("logs/run", steps=10) as profiler:
        for batch in data:
            train(batch)
            profiler.step()

`Profile` is the class behind `tracklight.profile`. It drives the profiler of the framework in use:
those of TensorFlow, JAX and PyTorch, and a sampling profiler, have one interface. They mark steps
so that readers of the profile find them.

The sampling profiler is for programs without a framework. A `StackSampler` records the call stacks
of all threads from a background thread, and a `SpanBuilder` merges the samples of a thread into
nested spans. The result is written as a Chrome trace in PyTorch's dialect.

`process` logs the use of CPU, memory and GPU as scalars, and collects what `tracklight.run`
records. `tracing` implements ``summary.trace_on`` and ``trace_export``, for which it collects the
functions that a framework runs.

May import `tracklight.writer`, `tracklight.formats` and, to read the graph of a PyTorch module,
`tracklight.torch`. Frameworks are never imported, only used if the program has loaded them.
"""

from __future__ import annotations

import gzip
import inspect
import json
import linecache
import os
import socket
import sys
import sysconfig
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple, Protocol

from tracklight.profiler.process import SystemMetricsLogger
from tracklight.writer import warnings
from tracklight.writer.warnings import ArgumentError, get_user_frame, warn_or_raise

__all__ = ["profile"]

# ---- profilers

#: Readers of xplane files recognize steps by this name.
_STEP_NAME = "train"
#: Where readers look for profiles below the directory of a run.
PROFILE_DIR = os.path.join("plugins", "profile")


class Profiler(Protocol):
    """Records a profile. Only one can be active in a process."""

    def start(self, run_dir: str) -> None:
        """Start recording; the files go to ``plugins/profile`` below ``run_dir``."""

    def mark(self, step: int) -> AbstractContextManager[Any]:
        """Return a context manager that marks a step."""

    def stop(self) -> None:
        """Stop recording and write the files."""


class TensorFlowProfiler:
    def start(self, run_dir: str) -> None:
        sys.modules["tensorflow"].profiler.experimental.start(run_dir)

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # _r=1 makes it a root event; without it, readers find no steps.
        trace = sys.modules["tensorflow"].profiler.experimental.Trace
        marker: AbstractContextManager[Any] = trace(_STEP_NAME, step_num=step, _r=1)
        return marker

    def stop(self) -> None:
        sys.modules["tensorflow"].profiler.experimental.stop()


class JaxProfiler:
    def start(self, run_dir: str) -> None:
        sys.modules["jax"].profiler.start_trace(run_dir)

    def mark(self, step: int) -> AbstractContextManager[Any]:
        annotation = sys.modules["jax"].profiler.StepTraceAnnotation
        marker: AbstractContextManager[Any] = annotation(_STEP_NAME, step_num=step)
        return marker

    def stop(self) -> None:
        sys.modules["jax"].profiler.stop_trace()


class TorchProfiler:
    def start(self, run_dir: str) -> None:
        self._run_dir = run_dir
        profile = sys.modules["torch"].profiler.profile
        # Newer versions warn about events lost between cycles unless this is set.
        has_acc_events = "acc_events" in inspect.signature(profile).parameters
        options = {"acc_events": True} if has_acc_events else {}
        self._profile = profile(record_shapes=True, profile_memory=True, **options)
        self._profile.start()

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # The name that PyTorch's own schedule gives to steps.
        record = sys.modules["torch"].profiler.record_function
        marker: AbstractContextManager[Any] = record(f"ProfilerStep#{step}")
        return marker

    def stop(self) -> None:
        self._profile.stop()
        self._profile.export_chrome_trace(create_profile_path(self._run_dir, ".pt.trace.json.gz"))


_PROFILERS: dict[str, Callable[[], Profiler]] = {
    "tensorflow": TensorFlowProfiler,
    "jax": JaxProfiler,
    "torch": TorchProfiler,
}


def create_profiler(framework: str) -> Profiler:
    """Return the profiler of a framework.

    Raises:
        ArgumentError: The framework is unknown or not loaded.
    """
    if framework not in _PROFILERS or framework not in sys.modules:
        known = ", ".join(_PROFILERS)
        raise ArgumentError(
            "profiler", f"does not support {framework!r}, or it is not imported; supported: {known}"
        )
    return _PROFILERS[framework]()


def create_profile_path(run_dir: str, suffix: str) -> str:
    """Create a session directory for a profile recorded now; return the path for its file."""
    session = os.path.join(run_dir, PROFILE_DIR, time.strftime("%Y_%m_%d_%H_%M_%S"))
    os.makedirs(session, exist_ok=True)
    worker = f"{socket.gethostname()}_{os.getpid()}"
    return os.path.join(session, f"{worker}.{time.time_ns()}{suffix}")


class StepMarker:
    """Mark steps whose begin and end are reported by separate calls."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._marker: AbstractContextManager[Any] = nullcontext()

    def begin(self, step: int) -> None:
        self.end()
        self._marker = self._profiler.mark(step)
        self._marker.__enter__()

    def end(self) -> None:
        marker, self._marker = self._marker, nullcontext()
        marker.__exit__(None, None, None)


# ---- sampling

#: Python's thread switch interval; shorter intervals bring no new samples.
_INTERVAL_S = 0.005
#: A thread that was ready to run for a smaller share of the interval counts as waiting.
_MIN_READY_SHARE = 0.5
_JOIN_TIMEOUT_S = 5.0
_THREAD_NAME_PREFIX = "tracklight-"
_PROC_TASK_DIR = Path("/proc/self/task")
_RUNNING = "Running"
_WAITING_FOR_CORE = "Waiting for a core"
#: Added to thread ids for the tracks that show when a thread was running; above any real id.
_RUNNING_TRACK_OFFSET = 1 << 32

_MAX_STACK_FRAMES = 200
_MAX_LINE_CHARS = 80
_LIBRARY_DIRS = (
    *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")),
    os.path.dirname(__file__),
)
_LIBRARY_PREFIXES = tuple(os.path.join(directory, "") for directory in _LIBRARY_DIRS)


class Span(NamedTuple):
    """A call, from the first to the last sample that contains it."""

    name: str
    start_ns: int
    end_ns: int


class SpanBuilder:
    """Merges the stack samples of one thread into spans.

    A function in two consecutive samples is assumed to be the shared_depth call.
    """

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._open: list[tuple[str, int]] = []

    def add_sample(self, names: list[str], now_ns: int) -> None:
        """Add a sample: the names of the running calls, outermost first."""
        shared_depth = 0
        for (open_name, _), name in zip(self._open, names, strict=False):
            if open_name != name:
                break
            shared_depth += 1
        self.close_below(shared_depth, now_ns)
        self._open += [(name, now_ns) for name in names[shared_depth:]]

    def close_below(self, depth: int, now_ns: int) -> None:
        """End all calls below ``depth``. They may have started after ``now_ns``."""
        while len(self._open) > depth:
            name, start = self._open.pop()
            self.spans.append(Span(name, start, max(start, now_ns)))


def format_stack(frame: FrameType | None) -> list[str]:
    """Return the functions on a stack, outermost first, with the current lines in user code."""
    frames: list[FrameType] = []
    while frame is not None and len(frames) < _MAX_STACK_FRAMES:
        frames.append(frame)
        frame = frame.f_back
    return [name for outer in reversed(frames) for name in _iter_frame_names(outer)]


def _iter_frame_names(frame: FrameType) -> Iterator[str]:
    yield _format_function(frame.f_code)
    if _is_user_file(frame.f_code.co_filename):
        yield _format_line(frame.f_code.co_filename, frame.f_lineno or 0)


@lru_cache(maxsize=16_384)
def _format_function(code: CodeType) -> str:
    name = getattr(code, "co_qualname", code.co_name)  # new in Python 3.11
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


@lru_cache(maxsize=16_384)
def _format_line(file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    location = f"{os.path.basename(file)}:{line}"
    return f"{location}: {source[:_MAX_LINE_CHARS]}" if source else location


@lru_cache(maxsize=4_096)
def _is_user_file(file: str) -> bool:
    """Return whether a file belongs to neither a library nor generated code."""
    return not file.startswith((*_LIBRARY_PREFIXES, "<"))


class StackSampler:
    """Samples the calls of all threads of this process, by native thread id.

    Waiting threads are left out, except for the thread that created the sampler. Times are those
    of `time.perf_counter_ns`.
    """

    def __init__(self) -> None:
        self.calls: dict[int, SpanBuilder] = defaultdict(SpanBuilder)
        self.running: dict[int, SpanBuilder] = defaultdict(SpanBuilder)
        """When threads ran or waited for a core; empty if the system does not report it."""
        self.names: dict[int, str] = {}
        self._times: dict[int, tuple[int, int, int]] = {}
        """Time on a core and in the run queue at the last sample, and its time."""
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._owner = threading.get_native_id()
        self._thread = threading.Thread(
            target=self._run, name=f"{_THREAD_NAME_PREFIX}stacks", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(_JOIN_TIMEOUT_S)
        now = time.perf_counter_ns()
        for builder in (*self.calls.values(), *self.running.values()):
            builder.close_below(0, now)

    def close_below(self, thread: int, depth: int, now_ns: int) -> None:
        """End the open calls of a thread below ``depth``."""
        with self._lock:
            if not self._stopping.is_set():
                self.calls[thread].close_below(depth, now_ns)

    def _run(self) -> None:
        while not self._stopping.wait(_INTERVAL_S):
            with self._lock:
                self.sample(time.perf_counter_ns())

    def sample(self, now_ns: int) -> None:
        """Take a sample. Frames are not kept: they would keep local variables alive."""
        frames = sys._current_frames()
        seen = set()
        for thread in threading.enumerate():
            number, frame = thread.native_id, frames.get(thread.ident or 0)
            if (
                number is not None
                and frame is not None
                and not thread.name.startswith(_THREAD_NAME_PREFIX)
            ):
                seen.add(number)
                self.names[number] = thread.name
                self._record(number, thread.ident or 0, frame, now_ns)
        for number in self.calls.keys() - seen:
            self.calls[number].close_below(0, now_ns)
            self.running[number].close_below(0, now_ns)

    def _record(self, number: int, ident: int, frame: FrameType, now_ns: int) -> None:
        """Record the stack of a thread if it is running or created the sampler."""
        is_ready = self._record_state(number, ident, now_ns)
        if is_ready or number == self._owner:
            self.calls[number].add_sample(format_stack(frame), now_ns)
        else:
            self.calls[number].close_below(0, now_ns)

    def _record_state(self, number: int, ident: int, now_ns: int) -> bool:
        """Return whether a thread ran, or could have run, since the last sample; True if unknown.

        A thread that could run but waits for a core is not computing: the two states are recorded
        separately.
        """
        times = _read_thread_times(number, ident)
        if times is None:
            return True
        on_cpu, in_queue = times
        last_on_cpu, last_in_queue, last_ns = self._times.get(number, (on_cpu, in_queue, now_ns))
        self._times[number] = on_cpu, in_queue, now_ns
        elapsed_ns = now_ns - last_ns
        ran, waited = on_cpu - last_on_cpu, in_queue - last_in_queue
        is_ready = elapsed_ns > 0 and (ran + waited) / elapsed_ns >= _MIN_READY_SHARE
        state = _RUNNING if ran >= waited else _WAITING_FOR_CORE
        # The reading covers the time since the last sample.
        self.running[number].add_sample([state] if is_ready else [], last_ns)
        return is_ready


def _read_thread_times(number: int, ident: int) -> tuple[int, int] | None:
    """Return how long a thread was on a core and in the run queue, in ns; None if unknown.

    Linux reports both. Other systems have a clock per thread, but do not report the queue. psutil
    reports thread times in clock ticks of 10 ms, twice the sampling interval.
    """
    try:
        on_cpu, in_queue, *_ = (_PROC_TASK_DIR / str(number) / "schedstat").read_text().split()
        return int(on_cpu), int(in_queue)
    except (OSError, ValueError):  # not Linux, or the thread has just ended
        pass
    try:
        return time.clock_gettime_ns(time.pthread_getcpuclockid(ident)), 0
    except (AttributeError, OSError):  # Windows and macOS
        return None


class StackSamplingProfiler:
    """Implements `Profiler`."""

    def start(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._owner = threading.get_native_id()
        self._steps: list[Span] = []
        self._sampler = StackSampler()
        self._sampler.start()

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # The function that contains the loop stays open between steps.
        return self._mark_step(
            f"ProfilerStep#{step}", len(format_stack(get_user_frame().f_back)) + 1
        )

    def stop(self) -> None:
        """Stop sampling and write the trace. An unfinished step is left out."""
        self._sampler.stop()
        trace = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": time.time_ns() - time.perf_counter_ns(),
            "traceEvents": list(self._iter_events()),
        }
        path = create_profile_path(self._run_dir, ".trace.json.gz")
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=5) as file:
            json.dump(trace, file, separators=(",", ":"))

    @contextmanager
    def _mark_step(self, name: str, depth: int) -> Iterator[None]:
        sampler, start = self._sampler, time.perf_counter_ns()
        try:
            yield
        finally:
            now = time.perf_counter_ns()
            self._steps.append(Span(name, start, now))
            sampler.close_below(self._owner, depth, now)

    def _iter_events(self) -> Iterator[dict[str, Any]]:
        yield _build_name_event("process_name", 0, "python")
        yield from _iter_span_events(self._steps, self._owner, "user_annotation")
        for thread, name in self._sampler.names.items():
            yield _build_name_event("thread_name", thread, name)
            yield from _iter_span_events(
                self._sampler.calls[thread].spans, thread, "python_function"
            )
            runs = self._sampler.running[thread].spans
            if runs:
                yield _build_name_event(
                    "thread_name", thread + _RUNNING_TRACK_OFFSET, f"{name}: state"
                )
            yield from _iter_span_events(runs, thread + _RUNNING_TRACK_OFFSET, "thread_state")


def _build_name_event(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def _iter_span_events(spans: list[Span], thread: int, category: str) -> Iterator[dict[str, Any]]:
    # Inner calls end first, but readers treat the first of two equal spans as the outer one.
    for name, start_ns, end_ns in reversed(spans):
        yield {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": os.getpid(),
            "tid": thread,
            "ts": start_ns / 1000,
            "dur": (end_ns - start_ns) / 1000,
        }


# ---- tracklight.profile

_STACK_SAMPLING = "python"
#: In order of preference: JAX programs often load data with one of the others, and PyTorch programs
#: may import TensorFlow only to write logs.
_FRAMEWORKS = ("jax", "torch", "tensorflow")


class Profile:
    """Record a profile of a ``with`` block, or of some of its steps.

    Call `step` at the end of each step. A step includes the time spent waiting for data before it.
    A block without calls of `step` is a single step.

    Args:
        logdir: Directory of the run.
        steps: Number of steps to record, None for all. Later steps run at full speed.
        skip: Number of steps to skip before recording. The first steps are not typical, as they
            compile functions and fill caches.
        first_step: Number of the first step, if the training was resumed.
        framework: ``"torch"``, ``"jax"``, ``"tensorflow"``, or ``"python"`` for the sampling
            profiler. By default, the framework that the program has imported.
        sample: Whether to log CPU, memory and GPU use each second (extra ``system``).
        strict: Whether misuse raises an exception instead of a warning.

    Raises:
        UsageError: An argument is invalid. Only in strict mode; otherwise a warning is issued and
            nothing is recorded.

    Example:
        >>> with tracklight.profile("logs/run1", steps=10, skip=3) as profiler:
        ...     for batch in data:
        ...         train(batch)
        ...         profiler.step()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        steps: int | None = None,
        *,
        skip: int = 0,
        first_step: int = 0,
        framework: str | None = None,
        sample: bool = True,
        strict: bool | None = None,
    ) -> None:
        self._run_dir = os.path.expanduser(os.fspath(logdir))
        self._strict = warnings.is_strict() if strict is None else strict
        self._framework = framework
        self._start_after = self._stop_after = None
        self._profiler: Profiler | None = None
        self._system_metrics: SystemMetricsLogger | None = None
        self._first_step, self._finished_steps = first_step, 0
        self._is_active = False
        with self._catch_errors():
            self._start_after, self._stop_after = _as_range(steps, skip)
            if sample:
                self._system_metrics = SystemMetricsLogger(self._run_dir, strict=self._strict)

    @property
    def is_recording(self) -> bool:
        """Whether steps are being recorded now."""
        return self._profiler is not None

    def __enter__(self) -> Profile:
        self._is_active = True
        with self._catch_errors():
            if self._system_metrics is not None:
                self._system_metrics.start()
        self._begin_step()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_active = False
        with self._catch_errors():
            self._stop(is_within_step=self._finished_steps > 0)
        with self._catch_errors():
            if self._system_metrics is not None:
                self._system_metrics.stop()

    def step(self) -> None:
        """End the current step and begin the next one.

        Raises:
            UsageError: The profile is strict, and it is not inside its `with` block or cannot
                start. Otherwise a warning is issued.
        """
        with self._catch_errors():
            if not self._is_active:
                warn_or_raise("step", "must be called inside the `with` block of the profile")
                return
            self._finished_steps += 1
            if self._system_metrics is not None:
                self._system_metrics.step = self._first_step + self._finished_steps
            if self._finished_steps == self._stop_after:
                self._stop(is_within_step=False)
        self._begin_step()

    def _begin_step(self) -> None:
        with self._catch_errors():
            if self._finished_steps == self._start_after:
                self._start()
            if self._profiler is not None:
                self._step_marker.begin(self._first_step + self._finished_steps)

    def _start(self) -> None:
        framework = self._framework or _detect_framework()
        if "://" in self._run_dir:
            raise ArgumentError("logdir", f"must be a local directory, not {self._run_dir}")
        profiler = (
            StackSamplingProfiler() if framework == _STACK_SAMPLING else create_profiler(framework)
        )
        profiler.start(self._run_dir)
        self._profiler, self._step_marker = profiler, StepMarker(profiler)

    def _stop(self, is_within_step: bool) -> None:
        """Stop recording. An unfinished step is left out: it would look like a short one."""
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        if not is_within_step:
            self._step_marker.end()
        profiler.stop()
        if is_within_step:
            self._step_marker.end()

    def _catch_errors(self) -> warnings.catch_errors:
        return warnings.catch_errors("profile", strict=self._strict)


def _as_range(steps: Any, skip: Any) -> tuple[int, int | None]:
    """Return after how many steps recording starts and stops."""
    for name, value in (("steps", 1 if steps is None else steps), ("skip", skip)):
        if type(value) is not int or value < (name == "steps"):
            raise ArgumentError(name, f"must be a number of steps, not {value!r:.100}")
    return skip, None if steps is None else skip + steps


def _detect_framework() -> str:
    """Return the framework that the program uses; the backend of Keras if Keras is loaded."""
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "backend"):
        backend = str(keras.backend.backend())
        return backend if backend in _FRAMEWORKS else _STACK_SAMPLING
    return next((name for name in _FRAMEWORKS if name in sys.modules), _STACK_SAMPLING)


profile = Profile
