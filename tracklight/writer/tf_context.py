"""Query the state of TensorFlow in this thread without importing TensorFlow.

While a ``tf.function`` is traced, its Python code runs once with symbolic tensors, often after
AutoGraph has rewritten it into a generated file. In TensorFlow, name scopes are part of a tag.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

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
