"""One trace, from when it is switched on to when it is written."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from tracklight.sdk.lenient import complain
from tracklight.tracing.jax_calls import JaxWatch
from tracklight.tracing.profilers import SESSIONS, Profiler, create_profiler
from tracklight.tracing.tensorflow_calls import TensorFlowWatch
from tracklight.tracing.torch_calls import TorchWatch


class Watch(Protocol):
    """Collects the graphs of what a framework runs."""

    def start(self) -> None: ...

    def stop(self) -> list[bytes]:
        """End, and return a GraphDef for each function or module that was called."""


_WATCHES: dict[str, Callable[[], Watch]] = {
    "tensorflow": TensorFlowWatch,
    "jax": JaxWatch,
    "torch": TorchWatch,
}


def create_watch(framework: str) -> Watch:
    """What watches a framework, which must be loaded."""
    return _WATCHES[framework]()


class _Profile(NamedTuple):
    framework: str
    profiler: Profiler
    #: Where its files are until it is known where they are to be.
    origin: str


class Session:
    """Graphs and profiles of every framework that the program has loaded."""

    def __init__(self, *, graph: bool, profiler: bool) -> None:
        self.has_profile = profiler
        self._watches: dict[str, Watch] = {}
        self._profiles: list[_Profile] = []
        self._graphs: dict[str, list[bytes]] = {}
        try:
            if graph or profiler:
                self._start_watches()
            if profiler:
                self._start_profiles()
        except BaseException:
            self.stop()
            self.discard()
            raise

    def stop(self) -> list[bytes]:
        """End all; return the graphs."""
        for profile in self._profiles:
            profile.profiler.stop()
        while self._watches:
            framework, watch = self._watches.popitem()
            self._graphs[framework] = watch.stop()
        return [graph for graphs in self._graphs.values() for graph in graphs]

    def move_profiles(self, folder: str) -> None:
        """Bring the files of the profiles to a folder; of frameworks that did nothing, none."""
        busy = {framework for framework, graphs in self._graphs.items() if graphs}
        for profile in self._profiles:
            if profile.framework in busy or not busy:
                _move_sessions(Path(profile.origin), Path(folder), profile.framework)

    def discard(self) -> None:
        for profile in self._profiles:
            shutil.rmtree(profile.origin, ignore_errors=True)
        self._profiles = []

    def _start_watches(self) -> None:
        for framework in _WATCHES:
            if framework in sys.modules:
                watch = create_watch(framework)
                watch.start()
                self._watches[framework] = watch
        if not self._watches:
            names = ", ".join(_WATCHES)
            complain("graph", f"cannot be had: none of {names} is loaded")

    def _start_profiles(self) -> None:
        failures = []
        for framework in self._watches:
            profiler = create_profiler(framework)
            origin = tempfile.mkdtemp(prefix="tracklight-profile-")
            try:
                profiler.start(origin)
            except Exception as error:  # some other part of the program may be profiling already
                failures.append(f"{type(error).__name__}: {error}")
                shutil.rmtree(origin, ignore_errors=True)
            else:
                self._profiles.append(_Profile(framework, profiler, origin))
        if failures and not self._profiles:
            complain("profiler", f"cannot be had: {'; '.join(failures)}")


def _move_sessions(origin: Path, folder: Path, framework: str) -> None:
    for session in (origin / SESSIONS).glob("*"):
        target = folder / SESSIONS / session.name
        if target.exists():  # by another framework, within the same second
            target = target.with_name(f"{session.name}_{framework}")
        shutil.copytree(session, target, dirs_exist_ok=True)
