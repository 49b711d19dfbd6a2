"""The name scopes of TensorFlow, which are part of a tag there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_ignored: ContextVar[bool] = ContextVar("tracklight_ignore_scopes", default=False)


def add_scope(name: str) -> str:
    """Return ``name`` prefixed with the current ``tf.name_scope``, if there is one."""
    # A program that has opened a scope has imported TensorFlow; no other program pays for it.
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not name or _is_ignored.get():
        return name
    # Half imported, or an old version, it has no such function.
    get_scope = getattr(tensorflow, "get_current_name_scope", None)
    scope = get_scope() if get_scope is not None else ""
    return f"{scope}/{name}" if scope and isinstance(name, str) else name


@contextmanager
def ignore_scopes() -> Iterator[None]:
    """Take names as they are, for tags that have their scope already."""
    token = _is_ignored.set(True)
    try:
        yield
    finally:
        _is_ignored.reset(token)
