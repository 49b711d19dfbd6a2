"""Drop-in replacement for ``tensorboard.program``, for scripts that start TensorBoard from Python.

Users import it as ``from tracklight import program``. New code should use `tracklight.serve`.

    board = program.TensorBoard()
    board.configure(argv=[None, "--logdir", "logs"])
    url = board.launch()
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from tracklight.cli import main
from tracklight.cli.flags import parse_flags
from tracklight.cli.logdir_arg import create_catalog
from tracklight.cli.serve import parse_settings
from tracklight.errors import UsageError
from tracklight.server.serve import Board

__all__ = ["TensorBoard"]


class TensorBoard:
    """A server configured by command-line flags.

    Attributes:
        board: The running server; None until `launch` is called.
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
