"""Runs a command, and turns whatever goes wrong into one sentence and an exit status."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tracklight.cli.flags import parse_flags
from tracklight.cli.parser import EXIT_BIND, EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE
from tracklight.errors import BindError, TracklightError, UsageError

#: Does what the flags say; one that gives no exit status has done it.
Command = Callable[[Namespace], int | None]

#: Where each command is: reading a log needs no web server, and serving one no tables.
_COMMAND_MODULES = {
    "serve": "tracklight.cli.serve",
    "demo": "tracklight.cli.demo_command",
    "inspect": "tracklight.cli.export",
    "export": "tracklight.cli.export",
    "doctor": "tracklight.cli.doctor",
    "password": "tracklight.cli.password",
    "completion": "tracklight.cli.completion",
}


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of the command that ``argv`` asks for."""
    try:
        with _pause_gc():
            flags = parse_flags(sys.argv[1:] if argv is None else argv)
            run_command = _get_command(flags.command)
        for note in flags.notes:
            print(f"tracklight: note: {note}", file=sys.stderr)
        status = run_command(flags)
        sys.stdout.flush()
        return status or 0
    except BindError as error:
        return _fail(error, EXIT_BIND)
    except UsageError as error:
        return _fail(error, EXIT_USAGE)
    except TracklightError as error:
        return _fail(error, EXIT_FAILURE)
    except BrokenPipeError:
        # Who reads has seen enough; the interpreter's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", EXIT_FAILURE)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _get_command(name: str) -> Command:
    command: Command = getattr(importlib.import_module(_COMMAND_MODULES[name]), name)
    return command


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Turn the garbage collector off, and exempt from it what is created meanwhile.

    What modules create while they are imported is not garbage. Looking for garbage meanwhile, and
    once more right after, takes 10 % of the CPU time until the server answers (40 ms).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def _fail(error: object, status: int) -> int:
    print(f"tracklight: {error}", file=sys.stderr)
    return status
