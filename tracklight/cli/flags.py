"""The flags of every command.

TensorBoard's spellings work as well: a ``_`` in a flag is as good as a ``-``, and flags of its that
say nothing to tracklight are passed over with a note.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from tracklight import __version__
from tracklight.errors import UsageError

COMMANDS = ("serve", "inspect", "export", "demo")

_UNNEEDED = (
    "--reload-interval",
    "--reload-task",
    "--reload-multifile",
    "--reload-multifile-inactive-secs",
    "--max-reload-threads",
    "--samples-per-plugin",
    "--load-fast",
    "--generic-data",
    "--purge-orphaned-data",
    "--detect-file-replacement",
    "--reuse-port",
    "--extra-data-server-flags",
    "--window-title",
    "--verbosity",
)


def parse_flags(argv: Sequence[str]) -> argparse.Namespace:
    """What was asked for; a command line that makes no sense is a UsageError."""
    words = [_normalize(word) for word in argv]
    if "--inspect" in words:  # TensorBoard's way to say it
        words.remove("--inspect")
        words.insert(0, "inspect")
    if not words or words[0] not in (*COMMANDS, "-h", "--help", "--version"):
        words.insert(0, "serve")
    return _create_parser().parse_args(words)


def _normalize(word: str) -> str:
    if not word.startswith("--"):
        return word
    flag, equals, value = word.partition("=")
    return flag.replace("_", "-") + equals + value


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` tells what there is")


class _Unneeded(argparse.Action):
    """Remembers that a flag was given, and forgets its value."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.unneeded = [*namespace.unneeded, option]


def _create_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tracklight",
        description="A board for training runs: reads any TensorBoard log directory.",
        epilog="`tracklight --logdir DIR` is short for `tracklight serve --logdir DIR`.",
    )
    parser.add_argument("--version", action="version", version=f"tracklight {__version__}")
    parser.set_defaults(unneeded=[])
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_serve(commands.add_parser("serve", help="show a log in the browser (the default)"))
    _add_inspect(commands.add_parser("inspect", help="list files, damage, runs and tags"))
    _add_export(commands.add_parser("export", help="write scalars, or a copy of the board"))
    _add_demo(commands.add_parser("demo", help="write a log to try things on"))
    return parser


def _add_log(parser: argparse.ArgumentParser, *, cache: bool) -> None:
    add = parser.add_argument
    add("directories", nargs="*", metavar="LOGDIR", help="the same as --logdir")
    add("--logdir", help="directory or URL; several as name:path,name2:path2")
    add("--logdir-spec", help="the same as --logdir")
    add("--include", action="append", default=[], metavar="GLOB", help="read only such runs")
    add("--exclude", action="append", default=[], metavar="GLOB", help="leave such runs out")
    add("--memory", default="2GB", help="points beyond it are kept on disk (%(default)s)")
    add("--cache", action=argparse.BooleanOptionalAction, default=cache,
        help="keep what was read, outside of the log directory, for the next time")  # fmt: skip
    add("--cache-size", default="8GB", help="bound of what is kept (%(default)s)")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    add = parser.add_argument
    add("--host", help="address to listen at (localhost)")
    add("--bind-all", action="store_true", help="listen at all addresses of this machine")
    add("--port", type=_parse_port, help="0 for any; without it 6006, or the next that is free")
    add("--path-prefix", default="", help="path below which the board is served")
    add("--trusted-host", action="append", default=[], metavar="NAME",
        help="name under which a reverse proxy shows the board")  # fmt: skip
    add("--alert", action="append", default=[], metavar="RULE",
        help='alarm as in "loss above 5", "*/loss nan" or "acc stalled 500 max"')  # fmt: skip
    add("--alert-webhook", metavar="URL", help="where new alarms are sent to as JSON")
    add("--no-token", action="store_true", help="let everybody in who can reach the address")
    parser.set_defaults(unneeded=[])
    for flag in _UNNEEDED:
        add(flag, action=_Unneeded, nargs="?", help=argparse.SUPPRESS)


def _add_choice(parser: argparse.ArgumentParser) -> None:
    for noun in ("run", "tag"):
        parser.add_argument(
            f"--{noun}", action="append", help="name, glob or re:REGEX; may be given several times"
        )


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    # What is said of files must come from the files: no cache unless asked for.
    _add_log(parser, cache=False)
    _add_choice(parser)
    parser.add_argument("--graph", action="store_true", help="sum up the graphs of models instead")
    parser.add_argument("--json", action="store_true", help="for programs")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    _add_choice(parser)
    add = parser.add_argument
    add("--kind", default="scalars", help="what to export: scalars")
    add("--format", choices=("csv", "json", "parquet"))
    add("--out", metavar="FILE", help="- for the standard output")
    add("--overwritten", action="store_true", help="overwritten points, too, in a marked column")
    add("--static", type=Path, metavar="OUT",
        help="copy the board into a new directory or .html file that needs no server")  # fmt: skip
    add("--view", default="", metavar="URL", help="address of the page that is to be copied")


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, help="a directory that is new or empty")


def _parse_port(text: str) -> int | None:
    if text == "default":
        return None
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port; ports are 0 to 65535")
    return port
