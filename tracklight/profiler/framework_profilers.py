"""Profiles by the framework that is in use, with every step marked so that it can be found."""

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

#: Readers take what starts with this for the whole of a step.
_STEP_NAME = "train"
#: Where readers look for profiles, inside of the folder of a run.
PROFILE_DIR = os.path.join("plugins", "profile")


class Profiler(Protocol):
    """Records what a program does; there is one at a time in a process."""

    def start(self, folder: str) -> None:
        """Record from now on; files go into ``plugins/profile`` in ``folder``."""

    def mark(self, step: int) -> AbstractContextManager[Any]:
        """What runs inside a ``with`` is this step."""

    def stop(self) -> None:
        """End, and write the files."""


class TensorFlowProfiler:
    def start(self, folder: str) -> None:
        sys.modules["tensorflow"].profiler.experimental.start(folder)

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # Without _r the marker is one event among many, and no step is found.
        trace = sys.modules["tensorflow"].profiler.experimental.Trace
        marker: AbstractContextManager[Any] = trace(_STEP_NAME, step_num=step, _r=1)
        return marker

    def stop(self) -> None:
        sys.modules["tensorflow"].profiler.experimental.stop()


class JaxProfiler:
    def start(self, folder: str) -> None:
        sys.modules["jax"].profiler.start_trace(folder)

    def mark(self, step: int) -> AbstractContextManager[Any]:
        annotation = sys.modules["jax"].profiler.StepTraceAnnotation
        marker: AbstractContextManager[Any] = annotation(_STEP_NAME, step_num=step)
        return marker

    def stop(self) -> None:
        sys.modules["jax"].profiler.stop_trace()


class TorchProfiler:
    def start(self, folder: str) -> None:
        self._folder = folder
        profile = sys.modules["torch"].profiler.profile
        # There is one cycle, but newer versions warn of what would be lost between two.
        known = "acc_events" in inspect.signature(profile).parameters
        keeps = {"acc_events": True} if known else {}
        self._profile = profile(record_shapes=True, profile_memory=True, **keeps)
        self._profile.start()

    def mark(self, step: int) -> AbstractContextManager[Any]:
        # The name that torch's own schedule gives to steps, which readers look for.
        record = sys.modules["torch"].profiler.record_function
        marker: AbstractContextManager[Any] = record(f"ProfilerStep#{step}")
        return marker

    def stop(self) -> None:
        self._profile.stop()
        self._profile.export_chrome_trace(create_profile_path(self._folder, ".pt.trace.json.gz"))


_PROFILERS: dict[str, Callable[[], Profiler]] = {
    "tensorflow": TensorFlowProfiler,
    "jax": JaxProfiler,
    "torch": TorchProfiler,
}


def create_profiler(framework: str) -> Profiler:
    """The profiler of a framework, which must be loaded."""
    if framework not in _PROFILERS or framework not in sys.modules:
        known = ", ".join(_PROFILERS)
        raise ArgumentError(
            "profiler", f"is not there for {framework!r}; there are those of {known}"
        )
    return _PROFILERS[framework]()


def create_profile_path(folder: str, ending: str) -> str:
    """Make the folder of a capture that was taken just now; gives the file to write in it."""
    session = os.path.join(folder, PROFILE_DIR, time.strftime("%Y_%m_%d_%H_%M_%S"))
    os.makedirs(session, exist_ok=True)
    worker = f"{socket.gethostname()}_{os.getpid()}"
    return os.path.join(session, f"{worker}.{time.time_ns()}{ending}")


class StepMarker:
    """Marks steps whose begin and end are told apart by two calls."""

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
