"""The ``tracklight`` command.

`main` parses the command line (`flags`, built on `parser`), runs one command and turns errors into
exit codes. Commands are `serve`, `inspect`, `export`, `doctor`, `completion`, `demo` and `tour`.
Each is a function that takes the parsed flags and returns an exit status; its module is imported
only when needed.

`tracklight.program` is this module as well: `TensorBoard` replaces the class of
``tensorboard.program``.

The package may import everything except `tracklight.notebook`.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracklight.cli.flags import parse_flags
from tracklight.cli.parser import EXIT_BIND, EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE
from tracklight.errors import BindError, TracklightError, UsageError

if TYPE_CHECKING:
    from tracklight.server.serve import Board

#: A command takes the parsed flags and returns an exit status; None means 0.
Command = Callable[[Namespace], int | None]

#: The module that defines each command, as a function of the same name. Modules are imported when
#: their command runs: `inspect` needs no web server, and `serve` needs no export code.
_COMMAND_MODULES = {
    "serve": "tracklight.cli.serve",
    "demo": "tracklight.cli.demo",
    "tour": "tracklight.cli.demo",
    "inspect": "tracklight.cli.inspect",
    "export": "tracklight.cli.export",
    "doctor": "tracklight.cli.doctor",
    "password": "tracklight.cli.serve",
    "completion": "tracklight.cli.completion",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given by ``argv`` (default: ``sys.argv[1:]``) and return its exit status.

    Expected errors are printed as one line to standard error.
    """
    try:
        with _pause_gc():
            flags = parse_flags(sys.argv[1:] if argv is None else argv)
            run_command = _load_command(flags.command)
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
        # The reader of our output, such as `head`, has exited. Redirect stdout, so that the
        # interpreter's flush at exit does not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILURE
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"{error.strerror or error}{where}", EXIT_FAILURE)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _load_command(name: str) -> Command:
    command: Command = getattr(importlib.import_module(_COMMAND_MODULES[name]), name)
    return command


#: An index has millions of objects that live as long as the server. With Python's defaults, full
#: collections take a third of the time in which 100,000 runs are read.
_GC_THRESHOLDS = (100_000, 50, 50)


@contextmanager
def _pause_gc() -> Iterator[None]:
    """Disable garbage collection, and exempt the objects created meanwhile from later collections.

    Objects created by imports are not garbage. Scanning them takes 10 % of the CPU time until the
    server answers its first request (40 ms).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
        if was_enabled:
            gc.enable()


def _fail(error: object, status: int) -> int:
    print(f"tracklight: {error}", file=sys.stderr)
    return status


# ---- the API of tensorboard.program


class TensorBoard:
    """A server configured by command-line flags; replaces ``tensorboard.program.TensorBoard``.

    For scripts that start TensorBoard from Python, which import `tracklight.program`. New code
    should use `tracklight.serve`.

    Attributes:
        board: The running server; None until `launch` is called.

    Example:
        >>> board = program.TensorBoard()
        >>> board.configure(argv=[None, "--logdir", "logs"])
        >>> url = board.launch()
    """

    def __init__(self) -> None:
        self.board: Board | None = None
        self._arguments: list[str] = []

    def configure(self, argv: Sequence[str | None] = (None,), **flags: object) -> None:
        """Set the flags of the server.

        Args:
            argv: Arguments as in ``sys.argv``; the first one is ignored.
            **flags: Flags by name, such as ``logdir="logs"`` or ``bind_all=True``.

        Raises:
            UsageError: A flag is unknown or invalid.
        """
        arguments = [str(word) for word in argv[1:]]
        for name, value in flags.items():
            if value is not None and value is not False:
                arguments.append(f"--{name}" if value is True else f"--{name}={value}")
        _parse(arguments)
        self._arguments = arguments

    def launch(self) -> str:
        """Start the server in a background thread and return its URL.

        Raises:
            BindError: The address or port is not available.
        """
        # Imported on use, as for the commands.
        from tracklight.cli.logdir_arg import create_catalog
        from tracklight.cli.serve import parse_settings
        from tracklight.server.serve import Board

        flags = _parse(self._arguments)
        self.board = Board(create_catalog(flags), parse_settings(flags))
        return self.board.url

    def main(self) -> int:
        """Serve until Ctrl-C, and return the exit status of the ``tracklight`` command."""
        return main(self._arguments)


def _parse(arguments: Sequence[str]) -> Namespace:
    flags = parse_flags(arguments)
    if flags.command != "serve":
        raise UsageError(
            f"program.TensorBoard only serves logs; run `tracklight {flags.command}` in a shell"
        )
    return flags
