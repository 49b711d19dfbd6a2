"""The profilers of TensorFlow, JAX and PyTorch behind one interface.

The frameworks are only used if the program has loaded them. Steps are marked so that readers of the
profile find them.
"""

from __future__ import annotations

import inspect
import os
import socket
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from tracklight.writer.warnings import ArgumentError

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
