"""The message in which graphs of functions are logged."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.profiler.framework_profilers import PROFILE_DIR, Profiler, create_profiler
from tracklight.profiler.graph_capture import (
    CAPTURE_CLASSES,
    GraphCapture,
    create_graph_capture,
)
from tracklight.writer import defaults, warnings
from tracklight.writer.values import build_graph_value
from tracklight.writer.warnings import warn_or_raise

__all__ = ["trace_export", "trace_off", "trace_on"]


def build_function_graphs(
    tag: str, graphs: Sequence[bytes], *, has_profile: bool = False
) -> Message:
    """A value that holds the graph of each of some functions."""
    functions = [proto.FunctionGraphs(pre_optimization_graph=graph) for graph in graphs]
    metadata = proto.RunMetadata(function_graphs=functions)
    plugin = "graph_run_metadata" if has_profile else "graph_run_metadata_graph"
    return build_graph_value(tag, plugin, metadata.SerializeToString())


# One trace, from when it is switched on to when it is written.


class _RunningProfiler(NamedTuple):
    framework: str
    profiler: Profiler
    #: Where its files are until it is known where they are to be.
    origin: str


class TraceSession:
    """Graphs and profiles of every framework that the program has loaded."""

    def __init__(self, *, graph: bool, profiler: bool) -> None:
        self.has_profile = profiler
        self._captures: dict[str, GraphCapture] = {}
        self._profiles: list[_RunningProfiler] = []
        self._graphs: dict[str, list[bytes]] = {}
        try:
            if graph or profiler:
                self._start_captures()
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
        while self._captures:
            framework, watch = self._captures.popitem()
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

    def _start_captures(self) -> None:
        for framework in CAPTURE_CLASSES:
            if framework in sys.modules:
                watch = create_graph_capture(framework)
                watch.start()
                self._captures[framework] = watch
        if not self._captures:
            names = ", ".join(CAPTURE_CLASSES)
            warn_or_raise("graph", f"cannot be had: none of {names} is loaded")

    def _start_profiles(self) -> None:
        failures = []
        for framework in self._captures:
            profiler = create_profiler(framework)
            origin = tempfile.mkdtemp(prefix="tracklight-profile-")
            try:
                profiler.start(origin)
            except Exception as error:  # some other part of the program may be profiling already
                failures.append(f"{type(error).__name__}: {error}")
                shutil.rmtree(origin, ignore_errors=True)
            else:
                self._profiles.append(_RunningProfiler(framework, profiler, origin))
        if failures and not self._profiles:
            warn_or_raise("profiler", f"cannot be had: {'; '.join(failures)}")


def _move_sessions(origin: Path, folder: Path, framework: str) -> None:
    for session in (origin / PROFILE_DIR).glob("*"):
        target = folder / PROFILE_DIR / session.name
        if target.exists():  # by another framework, within the same second
            target = target.with_name(f"{session.name}_{framework}")
        shutil.copytree(session, target, dirs_exist_ok=True)


# Traces of what a program runs: the words of ``tf.summary``, for any framework.
#
#     tracklight.summary.trace_on(graph=True, profiler=True)
#     my_function(x)
#     with writer.as_default():
#         tracklight.summary.trace_export("my_function", step=0, profiler_outdir="logs/run1")
#
# Functions of ``tf.function`` and ``jax.jit`` and modules of torch that are called while a trace is
# on become graphs; each framework that is loaded is watched.


if TYPE_CHECKING:
    pass

_lock = threading.Lock()

_session: TraceSession | None = None

_profiler_outdir: str | None = None


def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> bool:
    """Start a trace of graphs, and of time and memory too with ``profiler``.

    Where the profile is to go may be told here or when it is exported.
    """
    global _session, _profiler_outdir
    with warnings.catch_errors("summary.trace_on()", strict=warnings.is_strict()), _lock:
        pass

        if _session is not None:
            raise warnings.ArgumentError(
                "graph", "is traced already; call `trace_export` or `trace_off`"
            )
        _session = TraceSession(graph=graph, profiler=profiler)
        _profiler_outdir = None if profiler_outdir is None else os.fspath(profiler_outdir)
        return True
    return False


def trace_export(
    name: str, step: int | None = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> bool:
    """End the trace, log its graphs under ``name``, and write its profile, if it has one.

    The profile goes to ``profiler_outdir``, by default to the run of the default writer.
    """
    writer = defaults.find_active_writer()
    strict = warnings.is_strict() if writer is None else writer.strict
    with warnings.catch_errors(f"summary.trace_export({name!r:.100})", strict=strict):
        session, outdir = _take_session()
        if session is None:
            raise warnings.ArgumentError("name", "is of no trace; call `trace_on` before")
        try:
            graphs = session.stop()
            folder = profiler_outdir or outdir or (writer.logdir if writer else None)
            if folder is not None:
                session.move_profiles(os.fspath(folder))
        finally:
            session.discard()
        return writer is not None and _log_graphs(name, step, graphs, session.has_profile)
    return False


def trace_off() -> None:
    """End the trace and forget what it has."""
    with warnings.catch_errors("summary.trace_off()", strict=warnings.is_strict()):
        session, _ = _take_session()
        if session is not None:
            session.stop()
            session.discard()


def _take_session() -> tuple[TraceSession | None, str | None]:
    global _session, _profiler_outdir
    with _lock:
        taken = _session, _profiler_outdir
        _session = _profiler_outdir = None
        return taken


def _log_graphs(name: str, step: object, graphs: list[bytes], has_profile: bool) -> bool:
    from tracklight.writer.arguments import as_step, as_tag
    from tracklight.writer.tf_context import add_name_scope

    pass

    writer = defaults.find_active_writer()
    assert writer is not None
    at = as_step(defaults.step.get() if step is None else step)
    if not graphs:
        sentence = "is of an empty trace: nothing that was compiled ran while the trace was on"
        warnings.warn_or_raise("name", sentence)
    tag = add_name_scope(as_tag(name))
    return writer.add([build_function_graphs(tag, graphs, has_profile=has_profile)], at)
