"""``trace_on``, ``trace_export`` and ``trace_off`` of `tracklight.summary`, for any framework.

    tracklight.summary.trace_on(graph=True, profiler=True)
    my_function(x)
    with writer.as_default():
        tracklight.summary.trace_export("my_function", step=0, profiler_outdir="logs/run1")

All frameworks that the program has loaded are traced: functions of ``tf.function`` and ``jax.jit``
and PyTorch modules that are called while the trace is on are logged as graphs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tracklight.profiler.framework_profilers import PROFILE_DIR, Profiler, create_profiler
from tracklight.profiler.graph_capture import CAPTURE_CLASSES, GraphCapture, create_graph_capture
from tracklight.writer import event_writer, warnings
from tracklight.writer.warnings import ArgumentError, warn_or_raise

if TYPE_CHECKING:
    from tracklight.formats.proto import Message

__all__ = ["trace_export", "trace_off", "trace_on"]


class _RunningProfiler(NamedTuple):
    framework: str
    profiler: Profiler
    #: The destination is only known when the trace is exported.
    temporary_dir: str


class TraceSession:
    """Graph captures and profilers of all frameworks that the program has loaded.

    Args:
        graph: Capture graphs.
        profiler: Capture graphs and record profiles.
    """

    def __init__(self, *, graph: bool, profiler: bool) -> None:
        self.has_profile = profiler
        self._captures: dict[str, GraphCapture] = {}
        self._profilers: list[_RunningProfiler] = []
        self._graphs: dict[str, list[bytes]] = {}
        try:
            if graph or profiler:
                self._start_captures()
            if profiler:
                self._start_profilers()
        except BaseException:
            self.stop()
            self.discard()
            raise

    def stop(self) -> list[bytes]:
        """Stop capturing and return the serialized graphs."""
        for running in self._profilers:
            running.profiler.stop()
        while self._captures:
            framework, capture = self._captures.popitem()
            self._graphs[framework] = capture.stop()
        return [graph for graphs in self._graphs.values() for graph in graphs]

    def save_profiles(self, directory: str) -> None:
        """Copy the profiles to a run directory, except those of frameworks that ran nothing."""
        active = {framework for framework, graphs in self._graphs.items() if graphs}
        for running in self._profilers:
            if running.framework in active or not active:
                _copy_profiles(Path(running.temporary_dir), Path(directory), running.framework)

    def discard(self) -> None:
        """Delete the temporary files."""
        for running in self._profilers:
            shutil.rmtree(running.temporary_dir, ignore_errors=True)
        self._profilers = []

    def _start_captures(self) -> None:
        for framework in CAPTURE_CLASSES:
            if framework in sys.modules:
                capture = create_graph_capture(framework)
                capture.start()
                self._captures[framework] = capture
        if not self._captures:
            names = ", ".join(CAPTURE_CLASSES)
            warn_or_raise("graph", f"cannot be traced: none of {names} is imported")

    def _start_profilers(self) -> None:
        failures = []
        for framework in self._captures:
            profiler = create_profiler(framework)
            temporary_dir = tempfile.mkdtemp(prefix="tracklight-profile-")
            try:
                profiler.start(temporary_dir)
            except Exception as error:  # another part of the program may be profiling already
                failures.append(f"{type(error).__name__}: {error}")
                shutil.rmtree(temporary_dir, ignore_errors=True)
            else:
                self._profilers.append(_RunningProfiler(framework, profiler, temporary_dir))
        if failures and not self._profilers:
            warn_or_raise("profiler", f"could not be started: {'; '.join(failures)}")


def _copy_profiles(source: Path, run_dir: Path, framework: str) -> None:
    for session in (source / PROFILE_DIR).glob("*"):
        target = run_dir / PROFILE_DIR / session.name
        if target.exists():  # of another framework, recorded within the same second
            target = target.with_name(f"{session.name}_{framework}")
        shutil.copytree(session, target, dirs_exist_ok=True)


_lock = threading.Lock()
_session: TraceSession | None = None
_profiler_outdir: str | None = None


def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> bool:
    """Start tracing. There is one trace at a time.

    Args:
        graph: Trace the graphs of functions and modules.
        profiler: Record a profile of time and memory, and trace graphs.
        profiler_outdir: Directory of the run for the profile; can also be passed to `trace_export`.

    Returns:
        Whether the trace was started.

    Raises:
        UsageError: A trace is running, or the profiler could not be started. Only in strict mode;
            otherwise a warning is issued.

    Example:
        >>> tracklight.summary.trace_on(graph=True)
        True
    """
    global _session, _profiler_outdir
    with warnings.catch_errors("summary.trace_on()", strict=warnings.is_strict()), _lock:
        if _session is not None:
            raise ArgumentError(
                "graph", "is being traced already; call `trace_export` or `trace_off` first"
            )
        _session = TraceSession(graph=graph, profiler=profiler)
        _profiler_outdir = None if profiler_outdir is None else os.fspath(profiler_outdir)
        return True
    return False


def trace_export(
    name: str, step: int | None = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> bool:
    """Stop tracing, log the graphs to the default writer and save the profile.

    Args:
        name: Tag of the graphs.
        step: Step of the graphs; by default the default step.
        profiler_outdir: Directory of the run for the profile; by default that of `trace_on`, or of
            the default writer.

    Returns:
        Whether the graphs were logged.

    Raises:
        UsageError: No trace is running. Only in strict mode; otherwise a warning is issued.

    Example:
        >>> with writer.as_default():
        ...     tracklight.summary.trace_export("train_step", step=0)
        True
    """
    writer = event_writer.find_active_writer()
    strict = warnings.is_strict() if writer is None else writer.strict
    with warnings.catch_errors(f"summary.trace_export({name!r:.100})", strict=strict):
        session, outdir = _end_session()
        if session is None:
            raise ArgumentError("name", "has no trace; call `trace_on` first")
        try:
            graphs = session.stop()
            directory = profiler_outdir or outdir or (writer.logdir if writer else None)
            if directory is not None:
                session.save_profiles(os.fspath(directory))
        finally:
            session.discard()
        return writer is not None and _log_graphs(name, step, graphs, session.has_profile)
    return False


def trace_off() -> None:
    """Stop tracing and discard the trace. Does nothing if no trace is running."""
    with warnings.catch_errors("summary.trace_off()", strict=warnings.is_strict()):
        session, _ = _end_session()
        if session is not None:
            session.stop()
            session.discard()


def build_function_graphs(
    tag: str, graphs: Sequence[bytes], *, has_profile: bool = False
) -> Message:
    """Build the value that holds the graphs of some functions.

    Args:
        tag: Tag of the value.
        graphs: Serialized GraphDef messages.
        has_profile: Whether a profile was recorded along with the graphs.
    """
    from tracklight.formats import proto
    from tracklight.writer.values import build_graph_value

    functions = [proto.FunctionGraphs(pre_optimization_graph=graph) for graph in graphs]
    metadata = proto.RunMetadata(function_graphs=functions)
    plugin = "graph_run_metadata" if has_profile else "graph_run_metadata_graph"
    return build_graph_value(tag, plugin, metadata.SerializeToString())


def _end_session() -> tuple[TraceSession | None, str | None]:
    global _session, _profiler_outdir
    with _lock:
        session, outdir = _session, _profiler_outdir
        _session = _profiler_outdir = None
        return session, outdir


def _log_graphs(name: str, step: object, graphs: list[bytes], has_profile: bool) -> bool:
    from tracklight.writer.arguments import as_step, as_tag
    from tracklight.writer.warnings import add_name_scope

    writer = event_writer.find_active_writer()
    assert writer is not None
    step_number = as_step(event_writer.step.get() if step is None else step)
    if not graphs:
        warn_or_raise("name", "has an empty trace: no compiled function ran while tracing was on")
    tag = add_name_scope(as_tag(name))
    return writer.add([build_function_graphs(tag, graphs, has_profile=has_profile)], step_number)
