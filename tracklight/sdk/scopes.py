"""The name scopes of TensorFlow, which are part of a tag there."""

from __future__ import annotations

import sys


def add_scope(name: str) -> str:
    """A name with the ``tf.name_scope`` that it is used in before it, if there is one."""
    # A program that has opened a scope has loaded TensorFlow; nobody else is to pay for it.
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not name:
        return name
    # Half imported, or an old one, it has no such function.
    get_scope = getattr(tensorflow, "get_current_name_scope", None)
    scope = get_scope() if get_scope is not None else ""
    return f"{scope}/{name}" if scope and isinstance(name, str) else name
