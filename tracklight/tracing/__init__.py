"""Traces of what a program runs: the words of ``tf.summary``, for any framework.

    tracklight.summary.trace_on(graph=True, profiler=True)
    my_function(x)
    with writer.as_default():
        tracklight.summary.trace_export("my_function", step=0, profiler_outdir="logs/run1")

Functions of ``tf.function`` and ``jax.jit`` and modules of torch that are called while a trace is
on become graphs; each framework that is loaded is watched.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from tracklight.sdk import lenient, state

if TYPE_CHECKING:
    from tracklight.tracing.session import Session

__all__ = ["trace_export", "trace_off", "trace_on"]

_lock = threading.Lock()
_session: Session | None = None
_outdir: str | None = None


def trace_on(
    graph: bool = True,
    profiler: bool = False,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> bool:
    """Start a trace of graphs, and of time and memory too with ``profiler``.

    Where the profile is to go may be told here or when it is exported.
    """
    global _session, _outdir
    with lenient.guard("summary.trace_on()", strict=lenient.is_strict()), _lock:
        from tracklight.tracing.session import Session

        if _session is not None:
            raise lenient.Misuse("graph", "is traced already; call `trace_export` or `trace_off`")
        _session = Session(graph=graph, profiler=profiler)
        _outdir = None if profiler_outdir is None else os.fspath(profiler_outdir)
        return True
    return False


def trace_export(
    name: str, step: int | None = None, profiler_outdir: str | os.PathLike[str] | None = None
) -> bool:
    """End the trace, log its graphs under ``name``, and write its profile, if it has one.

    The profile goes to ``profiler_outdir``, by default to the run of the default writer.
    """
    writer = state.find_active_writer()
    strict = lenient.is_strict() if writer is None else writer.strict
    with lenient.guard(f"summary.trace_export({name!r:.100})", strict=strict):
        session, outdir = _take_session()
        if session is None:
            raise lenient.Misuse("name", "is of no trace; call `trace_on` before")
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
    with lenient.guard("summary.trace_off()", strict=lenient.is_strict()):
        session, _ = _take_session()
        if session is not None:
            session.stop()
            session.discard()


def _take_session() -> tuple[Session | None, str | None]:
    global _session, _outdir
    with _lock:
        taken = _session, _outdir
        _session = _outdir = None
        return taken


def _log_graphs(name: str, step: object, graphs: list[bytes], has_profile: bool) -> bool:
    from tracklight.sdk.arrays import as_step
    from tracklight.sdk.names import as_name
    from tracklight.sdk.scopes import add_scope
    from tracklight.tracing.run_metadata import build_graphs

    writer = state.find_active_writer()
    assert writer is not None
    at = as_step(state.step.get() if step is None else step)
    if not graphs:
        sentence = "is of an empty trace: nothing that was compiled ran while the trace was on"
        lenient.complain("name", sentence)
    tag = add_scope(as_name(name))
    return writer.add([build_graphs(tag, graphs, has_profile=has_profile)], at)
