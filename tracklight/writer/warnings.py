"""Report misuse as a warning that points at the user's line, or as an exception in strict mode.

Logging must not break training: a bad argument costs a value, never the run. There is one warning
per line of the user's program, not one per step. Strict mode is meant for tests. It is enabled by
``strict=True`` when a writer is created, or everywhere by TRACKLIGHT_STRICT=1.

The state of TensorFlow in this thread is queried here too, without importing TensorFlow. While a
``tf.function`` is traced, its Python code runs once with symbolic tensors, often after AutoGraph
has rewritten it into a generated file. In TensorFlow, name scopes are part of a tag.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, TypeVar

from tracklight.errors import UsageError, UsageWarning

# ---- the state of TensorFlow

F = TypeVar("F", bound=Callable[..., Any])


def is_tracing() -> bool:
    """Return whether this thread is tracing a ``tf.function``."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return False
    try:
        # In this order because `executing_eagerly` is three times as fast.
        return not tensorflow.executing_eagerly() and bool(tensorflow.inside_function())
    except AttributeError:  # an old version, or another thread is importing TensorFlow
        return False


def is_compiled_by_xla() -> bool:
    """Return whether the function being traced is compiled by XLA, or is part of one that is.

    XLA cannot compile operations that call Python. TensorFlow has no public API for this; where the
    private one is missing, the result is False.
    """
    graph = sys.modules["tensorflow"].compat.v1.get_default_graph()
    while graph is not None:
        context = getattr(graph, "_get_control_flow_context", lambda: None)()
        while context is not None:
            if getattr(context, "IsXLAContext", lambda: False)():
                return True
            context = getattr(context, "outer_context", None)
        graph = getattr(graph, "outer_graph", None)
    return False


def find_replica_id() -> int | None:
    """Return the id of the replica that ``Strategy.run`` is tracing; None outside of one."""
    tensorflow = sys.modules["tensorflow"]
    distribute = tensorflow.distribute
    if not distribute.has_strategy() or distribute.in_cross_replica_context():
        return None
    replica = distribute.get_replica_context().replica_id_in_sync_group
    # Strategies for TPUs only know it when the function runs.
    return int(tensorflow.get_static_value(replica) or 0)


def find_traced_line(traceback: Any, skipped_dirs: tuple[str, ...]) -> tuple[str, int] | None:
    """Return file and line of the innermost frame of user code in an operation's traceback.

    TensorFlow maps the frames of a traceback back from AutoGraph's generated files to the source.
    """
    skipped = (*skipped_dirs, *_list_framework_dirs())
    for frame in reversed(list(traceback)):
        if not frame.filename.startswith(skipped):
            return frame.filename, frame.lineno
    return None


def skip_autograph(function: F) -> F:
    """Keep AutoGraph from rewriting a function that is called in a ``tf.function``.

    This is the mark that ``tf.autograph.experimental.do_not_convert`` sets; that decorator needs
    TensorFlow.
    """
    function.autograph_info__ = {}  # type: ignore[attr-defined]
    return function


def _list_framework_dirs() -> list[str]:
    modules = [sys.modules.get(name) for name in ("tensorflow", "keras", "tf_keras")]
    paths = [getattr(module, "__file__", None) for module in modules]
    return [os.path.join(os.path.dirname(path), "") for path in paths if path]


_is_name_scope_ignored: ContextVar[bool] = ContextVar("tracklight_ignore_scopes", default=False)


def add_name_scope(name: str) -> str:
    """Return ``name`` prefixed with the current ``tf.name_scope``, if there is one."""
    # Only a program that has imported TensorFlow can have opened a scope.
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not name or _is_name_scope_ignored.get():
        return name
    # Missing in old versions, and while another thread is importing TensorFlow.
    get_scope = getattr(tensorflow, "get_current_name_scope", None)
    scope = get_scope() if get_scope is not None else ""
    return f"{scope}/{name}" if scope and isinstance(name, str) else name


@contextmanager
def ignore_name_scopes() -> Iterator[None]:
    """Make `add_name_scope` a no-op, for tags that already include their scope."""
    token = _is_name_scope_ignored.set(True)
    try:
        yield
    finally:
        _is_name_scope_ignored.reset(token)


# ---- warnings

#: Directories whose code is not the user's: tracklight, and frameworks that call it.
_skipped_dirs: tuple[str, ...] = (os.path.dirname(os.path.dirname(__file__)) + os.sep,)


class Location:
    """A line of the user's program."""

    __slots__ = ("filename", "line", "module")

    def __init__(self, filename: str, line: int, module: str) -> None:
        self.filename = filename
        self.line = line
        self.module = module


_strict: ContextVar[bool] = ContextVar("tracklight_strict", default=False)
_location: ContextVar[Location | None] = ContextVar("tracklight_location", default=None)
_reported: set[tuple[str, int, str]] = set()


class ArgumentError(UsageError):
    """An argument of a logging call is invalid.

    Args:
        argument: Its name.
        problem: The rest of the sentence: what is wrong with it, and what is valid.
    """

    def __init__(self, argument: str, problem: str) -> None:
        super().__init__(f"`{argument}` {problem}")
        self.argument = argument


def is_strict() -> bool:
    """Return whether strict mode is enabled for the whole process."""
    return os.environ.get("TRACKLIGHT_STRICT", "") not in ("", "0")


class catch_errors:
    """Context manager around the body of a public function that turns exceptions into warnings.

    Args:
        call: The call to name in the warning.
        strict: Let exceptions through, and turn `warn_or_raise` into exceptions.
    """

    def __init__(self, call: str, *, strict: bool) -> None:
        self._call = call
        self._is_strict = strict

    def __enter__(self) -> None:
        self._token = _strict.set(self._is_strict)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        _strict.reset(self._token)
        # Invalid arguments may raise any Exception. Interrupts are not Exceptions and pass.
        if self._is_strict or not isinstance(error, Exception):
            return False
        argument = error.argument if isinstance(error, ArgumentError) else ""
        cause = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
        warn_once(argument, f"{self._call} logged nothing: {cause}")
        return True


def skip_frames_in(directory: str) -> None:
    """Treat code in ``directory`` as a framework's, so that warnings point at its caller."""
    global _skipped_dirs
    _skipped_dirs = (*_skipped_dirs, os.path.join(directory, ""))


def warn_or_raise(argument: str, problem: str) -> None:
    """Warn about an argument that is corrected and used; raise `ArgumentError` in strict mode."""
    error = ArgumentError(argument, problem)
    if _strict.get():
        raise error
    warn_once(argument, str(error))


@contextmanager
def warn_at(location: Location) -> Iterator[None]:
    """Make warnings point at ``location``, for code that runs after the user's call."""
    token = _location.set(location)
    try:
        yield
    finally:
        _location.reset(token)


def warn_once(argument: str, text: str) -> None:
    """Warn about an argument once per line of the user's program, in strict mode as well."""
    location = _location.get() or get_user_location()
    key = (location.filename, location.line, argument)
    if key in _reported:
        return
    _reported.add(key)
    warnings.warn_explicit(text, UsageWarning, location.filename, location.line, location.module)


def get_user_location() -> Location:
    """Return the line of the user's program that is running or being traced by TensorFlow."""
    if is_tracing():
        return get_operation_location(sys.modules["tensorflow"].no_op().traceback)
    frame = get_user_frame()
    module = frame.f_globals.get("__name__", "<unknown>")
    return Location(frame.f_code.co_filename, frame.f_lineno, module)


def get_operation_location(traceback: Any) -> Location:
    """Return the line of the user's program in the traceback of a TensorFlow operation."""
    line = find_traced_line(traceback, _skipped_dirs)
    return Location(*(line or ("<unknown>", 0)), "__main__")


def get_user_frame() -> FrameType:
    """Return the innermost frame of the user's code."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_skipped_dirs):
        frame = frame.f_back
    return frame
