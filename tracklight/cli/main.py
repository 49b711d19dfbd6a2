"""Runs a command, and turns whatever goes wrong into one sentence and an exit status."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from tracklight.cli.flags import parse_flags
from tracklight.errors import TracklightError, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """0 if all went well, 1 if something could not be done, 2 if it made no sense."""
    try:
        flags = parse_flags(sys.argv[1:] if argv is None else argv)
        for flag in flags.unneeded:
            print(f"tracklight: note: {flag} is not needed here and does nothing", file=sys.stderr)
        _find_command(flags.command)(flags)
        sys.stdout.flush()
    except UsageError as error:
        return _fail(error, 2)
    except TracklightError as error:
        return _fail(error, 1)
    except BrokenPipeError:
        # Who reads has seen enough; the interpreter's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _find_command(name: str) -> Callable[[Namespace], None]:
    # Reading a log needs no web server, and serving one no tables.
    if name == "serve":
        from tracklight.cli.serve import serve

        return serve
    from tracklight.cli import commands

    return {"inspect": commands.inspect, "export": commands.export, "demo": commands.demo}[name]


def _fail(error: object, status: int) -> int:
    print(f"tracklight: {error}", file=sys.stderr)
    return status
