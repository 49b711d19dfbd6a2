"""`Profile`, the class behind `tracklight.profile`: record a profile of some training steps."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

from tracklight.profiler.framework_profilers import (
    Profiler,
    StackSamplingProfiler,
    StepMarker,
    create_profiler,
)
from tracklight.profiler.system_metrics import SystemMetricsLogger
from tracklight.writer import warnings
from tracklight.writer.warnings import ArgumentError, warn_or_raise

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
        """End the current step and begin the next one."""
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
