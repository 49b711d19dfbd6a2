"""uvicorn's server without its command line.

The package imports its own command, and click with it, as soon as any part of it is used: a
megabyte and a half of every board at rest, for a command that a board never runs. Here it is
imported when somebody asks for it, as another program in this process may.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_COMMAND = "uvicorn.main"
#: What the package takes from there.
_TAKEN = ("Server", "main", "run")


def _import_without_command() -> None:
    stand_in = ModuleType(_COMMAND)
    stand_in.__dict__.update(dict.fromkeys(_TAKEN))
    sys.modules[_COMMAND] = stand_in
    try:
        package = import_module("uvicorn")
    finally:
        del sys.modules[_COMMAND]
    for name in _TAKEN:
        delattr(package, name)
    vars(package)["__getattr__"] = _find


def _find(name: str) -> Any:
    """The package's ``__getattr__``: the first of these names brings all of them."""
    if name not in _TAKEN:
        raise AttributeError(f"module 'uvicorn' has no attribute {name!r}")
    command = import_module(_COMMAND)
    vars(sys.modules["uvicorn"]).update({each: getattr(command, each) for each in _TAKEN})
    return getattr(command, name)


if "uvicorn" not in sys.modules:
    _import_without_command()

from uvicorn.config import Config  # noqa: E402  only now without the command
from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: E402
from uvicorn.server import Server  # noqa: E402

__all__ = ["Config", "H11Protocol", "Server"]
