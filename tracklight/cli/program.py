"""``program.TensorBoard`` as scripts know it, which says in two steps what `tracklight.serve` does.

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
    """A board by the flags of the command line; ``board`` is it once it is launched."""

    def __init__(self) -> None:
        self.board: Board | None = None
        self._arguments: list[str] = []

    def configure(self, argv: Sequence[str | None] = (None,), **flags: object) -> None:
        """Take flags: words as in ``sys.argv``, the first of which counts for nothing, or names."""
        words = [str(word) for word in argv[1:]]
        for name, value in flags.items():
            if value is not None and value is not False:
                words.append(f"--{name}" if value is True else f"--{name}={value}")
        _parse(words)
        self._arguments = words

    def launch(self) -> str:
        """Serve from a thread of this program, and say where."""
        flags = _parse(self._arguments)
        self.board = Board(create_catalog(flags), parse_settings(flags))
        return self.board.url

    def main(self) -> int:
        """Serve until Ctrl-C; the exit status of the command ``tracklight``."""
        return main(self._arguments)


def _parse(words: Sequence[str]) -> Namespace:
    flags = parse_flags(words)
    if flags.command != "serve":
        raise UsageError(f"a program shows boards; `tracklight {flags.command}` is a command")
    return flags
