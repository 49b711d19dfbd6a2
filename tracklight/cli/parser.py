"""The commands and their flags."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from tracklight import __version__
from tracklight.cli.unneeded import add_unneeded
from tracklight.errors import UsageError

#: Every command, in the order in which help lists them.
COMMANDS = {
    "serve": "show a log in the browser (the default)",
    "demo": "show a log that has something of everything",
    "inspect": "list files, damage, runs and tags",
    "export": "write values as tables or files, or a copy of the board",
    "doctor": "say what is installed, what was found, and what is not shown",
    "password": "make what --auth takes, from a password",
    "completion": "print what makes bash, zsh or fish complete commands and flags",
}
SHELLS = ("bash", "zsh", "fish")

_OVERVIEW = f"""\
usage: tracklight [COMMAND] LOGDIR [FLAGS]

A board for training runs: opens any TensorBoard log directory.

{{commands}}

What is asked for most:
  --logdir DIR       directory or URL; several as name:path,name2:path2
  --port N           0 for any; without it 6006, or the next that is free
  --bind_all         listen at all addresses, and let in who has the token
  --path_prefix P    path below which a proxy shows the board
  --include GLOB     read only such runs; --exclude leaves some out
  --open             open the browser

`tracklight COMMAND --help` tells the rest. All flags of TensorBoard work.
Settings may stand in tracklight.toml. This is tracklight {__version__}.
"""


class Parser(argparse.ArgumentParser):
    """Raises what is wrong, and keeps help narrow enough for any terminal."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _Narrow)
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` tells what there is")


class _Narrow(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


class _Overview(Parser):
    def format_help(self) -> str:
        lines = (f"  {name:<12}{help_}" for name, help_ in COMMANDS.items())
        return _OVERVIEW.format(commands="\n".join(lines))


def create_parsers() -> tuple[Parser, dict[str, Parser]]:
    """The parser of all, and that of each command."""
    parser = _Overview(prog="tracklight")
    parser.add_argument("--version", action="version", version=f"tracklight {__version__}")
    places = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    known: dict[str, Parser] = {}
    for name, add_flags in _FLAGS.items():
        usage = f"tracklight {name} {_USAGE.get(name, 'LOGDIR [FLAGS]')}"
        known[name] = places.add_parser(name, help=COMMANDS[name], usage=usage)
        known[name].set_defaults(notes=[])
        add_flags(known[name])
    return parser, known


def _add_log(parser: argparse.ArgumentParser, *, cache: bool) -> None:
    parser.add_argument("directories", nargs="*", metavar="LOGDIR", help="the same as --logdir")
    add = parser.add_argument_group("what is read").add_argument
    add("--logdir", help="directory or URL; several as name:path,name2:path2")
    add("--logdir-spec", help=argparse.SUPPRESS)
    add("--include", action="append", default=[], metavar="GLOB", help="read only such runs")
    add("--exclude", action="append", default=[], metavar="GLOB", help="leave such runs out")
    add("--memory", default="2GB", metavar="SIZE",
        help="points beyond it are kept on disk (%(default)s)")  # fmt: skip
    add("--cache", action=argparse.BooleanOptionalAction, default=cache,
        help="keep what was read for the next time")  # fmt: skip
    add("--cache-dir", type=Path, metavar="DIR", help="where; never in the log directory")
    add("--cache-size", default="8GB", metavar="SIZE", help="bound of what is kept (%(default)s)")
    add("--config", metavar="FILE", help="settings, instead of those in tracklight.toml")
    add("--no-config", action="store_true", help="take no settings from files")


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    _add_address(parser)
    add = parser.add_argument_group("how it is shown").add_argument
    add("--window-title", default="", metavar="TEXT", help="title of the browser's window")
    add("--reload-interval", type=_parse_seconds, metavar="S",
        help="pause where changes are not reported; 0 reads once")  # fmt: skip
    add("--optuna", action="append", default=[], metavar="URL",
        help="show the studies of a storage, such as sqlite:///study.db")  # fmt: skip
    add("--alert", action="append", default=[], metavar="RULE",
        help='alarm as in "loss above 5", "*/loss nan"')  # fmt: skip
    add("--alert-webhook", metavar="URL", help="where new alarms are sent to as JSON")
    add_unneeded(parser)


def _add_address(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("where, and to whom").add_argument
    add("--host", help="address to listen at (localhost)")
    add("--bind-all", action="store_true", help="listen at all addresses of this machine")
    add("--port", type=_parse_port, metavar="N",
        help="0 for any; without it 6006, or the next that is free")  # fmt: skip
    add("--reuse-port", type=_parse_bool, nargs="?", const=True, default=False, metavar="BOOL",
        help="let several servers share the port")  # fmt: skip
    add("--path-prefix", default="", metavar="PATH", help="path below which the board is served")
    add("--open", action="store_true", help="open the browser")
    add("--trusted-host", action="append", default=[], metavar="NAME",
        help="name under which a reverse proxy shows the board")  # fmt: skip
    add("--no-token", action="store_true", help="let everybody in who can reach the address")
    add("--auth", action="append", default=[], metavar="USER:HASH", help="let in who knows this")
    add("--tls-cert", type=Path, metavar="FILE", help="certificate, to be reached by https://")
    add("--tls-key", type=Path, metavar="FILE", help="the key that belongs to it")
    add("--read-only", action="store_true", help="nobody may change notes, layouts or rules")


def _add_choice(parser: argparse.ArgumentParser) -> None:
    for noun in ("run", "tag"):
        parser.add_argument(
            f"--{noun}", action="append", help="name, glob or re:REGEX; may be given several times"
        )


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    # What is said of files must come from the files: no cache unless asked for.
    _add_log(parser, cache=False)
    _add_choice(parser)
    add = parser.add_argument
    add("--event-file", metavar="FILE", help="one event file instead of a log directory")
    add(
        "--graph",
        action="store_true",
        help="sum up graphs instead, of a log or of a model file such as ONNX",
    )
    add("--profile", action="store_true", help="sum up captures of profilers instead")
    add(
        "--embeddings",
        action="store_true",
        help="list vectors for the projector instead, of a log or of a file of weights",
    )
    add("--json", action="store_true", help="for programs")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    _add_choice(parser)
    add = parser.add_argument
    add("--kind", default="scalars", metavar="KIND",
        choices=("scalars", "histograms", "images", "audio", "text", "hparams"),
        help="scalars (default), histograms, images, audio, text or hparams")  # fmt: skip
    add("--format", choices=("csv", "json", "jsonl", "parquet"),
        help="by default what the suffix of --out says")  # fmt: skip
    add("--out", metavar="FILE",
        help="- for the standard output; images and audio: a folder or .zip file")  # fmt: skip
    add("--overwritten", action="store_true", help="overwritten points, too, in a marked column")
    add("--static", type=Path, metavar="OUT",
        help="copy the board into a new directory or .html file that needs no server")  # fmt: skip
    add("--view", default="", metavar="URL", help="address of the page that is to be copied")


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("directory", nargs="?", type=Path, metavar="DIRECTORY",
        help="write the log there, and end; else it is shown, and gone after")  # fmt: skip
    add("--port", type=_parse_port, metavar="N", help="0 for any; without it 6006 or the next")
    add("--open", action="store_true", help="open the browser")


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=False)
    parser.add_argument("--json", action="store_true", help="for programs")


def _add_password(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", nargs="?", metavar="USER", help="whom to let in (you)")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _parse_port(text: str) -> int | None:
    if text == "default":
        return None
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port; ports are 0 to 65535")
    return port


def _parse_seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return seconds


def _parse_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"say true or false, not {text}")
    return text.lower() == "true"


_FLAGS = {
    "serve": _add_serve,
    "demo": _add_demo,
    "inspect": _add_inspect,
    "export": _add_export,
    "doctor": _add_doctor,
    "password": _add_password,
    "completion": _add_completion,
}
_USAGE = {
    "demo": "[DIRECTORY] [FLAGS]",
    "password": "[USER]",
    "completion": "{bash,zsh,fish}",
    "doctor": "[LOGDIR] [FLAGS]",
}
