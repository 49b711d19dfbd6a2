"""Definition of the command-line interface: commands, flags and exit codes.

Messages and exit codes are documented in ``docs/cli.md``. TensorBoard flags that have no
counterpart are accepted and ignored, or rejected with an explanation.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NoReturn

from tracklight import __version__
from tracklight.errors import UsageError

# ---- flags of TensorBoard

_TAILED = "all event files are tailed as they grow"
_ONE_READER = "there is a single reader, which reads all files in parallel"

#: Ignored flags that take a value, with the reason.
IGNORED_WITH_VALUE = {
    "--samples-per-plugin": "all points are kept; nothing is sampled",
    "--load-fast": _ONE_READER,
    "--max-reload-threads": _ONE_READER,
    "--extra-data-server-flags": _ONE_READER,
    "--generic-data": _ONE_READER,
    "--grpc-creds-type": _ONE_READER,
    "--reload-task": _TAILED,
    "--reload-multifile": _TAILED,
    "--reload-multifile-inactive-secs": _TAILED,
    "--detect-file-replacement": "replaced files are always detected",
    "--purge-orphaned-data": "overwritten points are kept, and hidden by default",
    "--tag": "it only applies to --inspect",
    "--event-file": "it only applies to --inspect; to serve one file, use `tracklight FILE`",
    "--verbosity": "warnings and errors are always printed, and nothing else is",
    "--stderrthreshold": "warnings and errors are always printed, and nothing else is",
}
#: Ignored flags without a value, with the reason.
IGNORED_WITHOUT_VALUE = {
    "--db-import": "there is no database to import into",
    "--logtostderr": "messages already go to standard error",
    "--alsologtostderr": "messages already go to standard error",
}

#: Rejected flags, with the reason: they name a data source that cannot be read.
UNSUPPORTED = {
    "--db": "tracklight reads event files, not databases; use --logdir",
    "--grpc-data-provider": "tracklight reads event files itself; use --logdir",
}


class IgnoredFlag(argparse.Action):
    """Add a note that the flag has no effect."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.notes = [*namespace.notes, f"{option} is ignored: {self.const}"]


class UnsupportedFlag(argparse.Action):
    """Raise a UsageError that explains why the flag is not supported."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if values:  # TensorBoard's default is an empty value
            raise UsageError(f"{option}: {self.const}")


def add_ignored_flags(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(notes=[])
    for flag, reason in IGNORED_WITH_VALUE.items():
        _add_hidden(parser, flag, reason, IgnoredFlag, "?")
    for flag, reason in IGNORED_WITHOUT_VALUE.items():
        _add_hidden(parser, flag, reason, IgnoredFlag, 0)
    for flag, reason in UNSUPPORTED.items():
        _add_hidden(parser, flag, reason, UnsupportedFlag, "?")


def _add_hidden(
    parser: argparse.ArgumentParser,
    flag: str,
    reason: str,
    action: type[argparse.Action],
    nargs: str | int,
) -> None:
    parser.add_argument(
        flag,
        action=action,
        nargs=nargs,
        const=reason,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
        dest="ignored",
    )


# ---- commands

#: Every command, in the order in which help lists them.
COMMANDS = {
    "serve": "serve a log to the browser (the default)",
    "demo": "serve a demo log with data for every dashboard",
    "tour": "serve the demo log with a guided tour for first-time users",
    "inspect": "list files, corrupt records, runs and tags",
    "export": "export values as tables or files, or a static copy of the board",
    "doctor": "check the installation and a log directory",
    "password": "hash a password for --auth",
    "completion": "print a completion script for your shell",
}

SHELLS = ("bash", "zsh", "fish", "powershell")
EXIT_FAILURE = 1
EXIT_USAGE = 2  #: The command line or the settings file is invalid.
EXIT_BIND = 3  #: The server cannot listen on the address and port.
EXIT_UNHEALTHY = 4  #: ``tracklight doctor`` found errors.
EXIT_INTERRUPTED = 130

_OVERVIEW = f"""\
usage: tracklight [COMMAND] LOGDIR [FLAGS]

A dashboard for training runs that opens any TensorBoard log directory.

{{commands}}

Common flags:
  --logdir DIR       directory or URL; several as name:path,name2:path2
  --port N           port, or 0 for any; default: 6006 or the next free one
  --bind_all         listen on all interfaces; clients need the printed token
  --path_prefix P    URL path under which a proxy serves the board
  --include PATTERN  read only matching runs; --exclude leaves runs out
  --open             open the browser

See `tracklight COMMAND --help` for all flags. TensorBoard's flags work too.
Defaults can be set in tracklight.toml. This is tracklight {__version__}.
"""


#: The group of flags that ``--help`` leaves out and ``--helpfull`` shows.
_LARGE_DEPLOYMENTS = "large deployments"
_FULL_HELP = f"also show flags for {_LARGE_DEPLOYMENTS}"


class Parser(argparse.ArgumentParser):
    """Raise errors as UsageError, and format help for 80 columns."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", _NarrowFormatter)
        super().__init__(**options)

    def format_help(self) -> str:
        groups = self._action_groups
        self._action_groups = [group for group in groups if group.title != _LARGE_DEPLOYMENTS]
        try:
            return super().format_help()
        finally:
            self._action_groups = groups

    def format_full_help(self) -> str:
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


class _FullHelpAction(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
        assert isinstance(parser, Parser)
        print(parser.format_full_help(), end="")
        parser.exit()


class _NarrowFormatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=80)


class _OverviewParser(Parser):
    def format_help(self) -> str:
        lines = (f"  {name:<12}{help_}" for name, help_ in COMMANDS.items())
        return _OVERVIEW.format(commands="\n".join(lines))


def create_parsers() -> tuple[Parser, dict[str, Parser]]:
    """Return the top-level parser, and the parser of each command by name."""
    parser = _OverviewParser(prog="tracklight")
    parser.add_argument("--version", action="version", version=f"tracklight {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    parsers: dict[str, Parser] = {}
    for name, add_flags in _ADD_FLAGS.items():
        usage = f"tracklight {name} {_USAGE.get(name, 'LOGDIR [FLAGS]')}"
        parsers[name] = subparsers.add_parser(name, help=COMMANDS[name], usage=usage)
        parsers[name].set_defaults(notes=[])
        parsers[name].add_argument(
            "--helpfull",
            action=_FullHelpAction,
            nargs=0,
            default=argparse.SUPPRESS,
            help=f"also show flags for {_LARGE_DEPLOYMENTS}"
            if name == "serve"
            else argparse.SUPPRESS,
        )
        add_flags(parsers[name])
    return parser, parsers


def _add_log(parser: argparse.ArgumentParser, *, cache: bool) -> argparse._ArgumentGroup:
    parser.add_argument("directories", nargs="*", metavar="LOGDIR", help="the same as --logdir")
    group = parser.add_argument_group("log")
    add = group.add_argument
    add("--logdir", help="directory or URL; several as name:path,name2:path2")
    add("--logdir-spec", help=argparse.SUPPRESS)
    add("--include", action="append", default=[], metavar="PATTERN",
        help="read only runs that match this glob or re:REGEX")  # fmt: skip
    add("--exclude", action="append", default=[], metavar="PATTERN",
        help="skip runs that match this glob or re:REGEX")  # fmt: skip
    add("--memory", default="2GB", metavar="SIZE",
        help="memory for points; the rest stays on disk (%(default)s)")  # fmt: skip
    add("--cache", action=argparse.BooleanOptionalAction, default=cache,
        help="cache the index on disk, for a faster start")  # fmt: skip
    add(
        "--cache-dir",
        type=Path,
        metavar="DIR",
        help="cache directory, outside the log directory",
    )
    add(
        "--cache-size",
        default="8GB",
        metavar="SIZE",
        help="maximum size of the cache (%(default)s)",
    )
    add("--config", metavar="FILE", help="settings file, instead of tracklight.toml")
    add("--no-config", action="store_true", help="ignore settings files")
    return group


def _add_serve(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    _add_address(parser)
    add = parser.add_argument_group("display").add_argument
    add("--window-title", default="", metavar="TEXT", help="title of the browser window")
    add("--reload-interval", type=_parse_seconds, metavar="S",
        help="seconds between polls; 0 reads the log once")  # fmt: skip
    add("--optuna", action="append", default=[], metavar="URL",
        help="also show Optuna studies, as in sqlite:///study.db")  # fmt: skip
    add("--alert", action="append", default=[], metavar="RULE",
        help='alert rule, as in "loss above 5" or "*/loss nan"')  # fmt: skip
    add("--alert-webhook", metavar="URL", help="send new alerts to this URL as JSON")
    add("--debugger-alerts", metavar="LIST",
        help='debugger alerts to raise, as in "nan,dead_units"')  # fmt: skip
    add = parser.add_argument_group("What-If").add_argument
    add("--data-dir", action="append", default=[], type=Path, metavar="DIR",
        help="directory with data files; can be repeated")  # fmt: skip
    add("--whatif-data-dir", dest="data_dir", action="append", type=Path, help=argparse.SUPPRESS)
    add("--model-host", action="append", default=[], metavar="HOST",
        help="host of model servers, besides this machine; * for any")  # fmt: skip
    add("--allow-model-execution", action="store_true",
        help="allow running model files, which may contain code")  # fmt: skip
    _add_large_deployments(parser)
    add_ignored_flags(parser)


def _add_large_deployments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group(_LARGE_DEPLOYMENTS).add_argument
    add("--shared-cache", metavar="URL",
        help="URL or directory of a cache that several servers share")  # fmt: skip
    add("--cluster", metavar="WHERE", help="use Ray: local:N, auto or ray://HOST:PORT")
    add("--cluster-shards", type=int, metavar="N",
        help="number of shards on a cluster; default: one per node")  # fmt: skip
    add("--cluster-timeout", type=_parse_timeout, default=30.0, metavar="S",
        help="seconds after which queries leave out a slow shard (30)")  # fmt: skip
    add("--writers", action="append", default=[], metavar="USERS",
        help="users that may change notes and alert rules, as in a,b")  # fmt: skip
    add("--user-header", default="", metavar="NAME",
        help="header in which a proxy sends the name of the user")  # fmt: skip
    add("--audit-log", type=Path, metavar="FILE", help="append all changes to this file, as JSON")
    add("--request-budget", type=_parse_request_budget, metavar="N",
        help="requests per hour to object stores; then refresh less")  # fmt: skip
    add("--notifications", metavar="URL", help="SQS queue to which a bucket of S3 sends its events")


def _add_address(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("address and access").add_argument
    add("--host", help="address to listen on (localhost)")
    add("--bind-all", action="store_true", help="listen on all interfaces of this machine")
    add("--port", type=_parse_port, metavar="N",
        help="port, or 0 for any; default: 6006 or a free one")  # fmt: skip
    add("--reuse-port", type=_parse_bool, nargs="?", const=True, default=False, metavar="BOOL",
        help="allow several servers on one port")  # fmt: skip
    add(
        "--path-prefix", default="", metavar="PATH", help="URL path under which the board is served"
    )
    add("--open", action="store_true", help="open the browser")
    add("--trusted-host", action="append", default=[], metavar="NAME",
        help="host name that a reverse proxy uses for the board")  # fmt: skip
    add("--embed-origin", action="append", default=[], metavar="ORIGIN",
        help="site that may show the board in a frame, or * for all")  # fmt: skip
    add("--no-token", action="store_true", help="require no token from other machines")
    add(
        "--auth",
        action="append",
        default=[],
        metavar="USER:HASH",
        help="require this login; see `tracklight password`",
    )
    add("--tls-cert", type=Path, metavar="FILE", help="certificate, to serve https://")
    add("--tls-key", type=Path, metavar="FILE", help="private key of the certificate")
    add("--read-only", action="store_true", help="reject changes to notes, layouts and alert rules")


def _parse_request_budget(text: str) -> int:
    number = text.removesuffix("/h")
    if not number.isdigit() or int(number) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of requests per hour')
    return int(number)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    for noun in ("run", "tag"):
        parser.add_argument(
            f"--{noun}", action="append", help="name, glob or re:REGEX; can be repeated"
        )


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    # Off by default, so that the report is about the files and not about the cache.
    _add_log(parser, cache=False)
    _add_selection(parser)
    add = parser.add_argument
    add("--event-file", metavar="FILE", help="one event file instead of a log directory")
    add(
        "--graph",
        action="store_true",
        help="summarize graphs instead, of a log or a model file such as ONNX",
    )
    add("--profile", action="store_true", help="summarize profiler captures instead")
    add(
        "--embeddings",
        action="store_true",
        help="list embeddings instead, of a log or a checkpoint file",
    )
    add(
        "--debugger",
        action="store_true",
        help="list numerical problems instead: alerts and root cause of dumps and recordings",
    )
    add(
        "--fairness",
        action="store_true",
        help="list evaluations per slice instead, logged ones and TFMA folders",
    )
    add("--json", action="store_true", help="print JSON")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=True)
    _add_selection(parser)
    add = parser.add_argument
    add("--kind", default="scalars", metavar="KIND",
        choices=("scalars", "histograms", "images", "audio", "text", "hparams"),
        help="scalars (default), histograms, images, audio, text or hparams")  # fmt: skip
    add("--format", choices=("csv", "json", "jsonl", "parquet"),
        help="default: derived from the suffix of --out")  # fmt: skip
    add("--out", metavar="FILE",
        help="- for standard output; images and audio: a folder or .zip file")  # fmt: skip
    add("--overwritten", action="store_true", help="include overwritten points, marked in a column")
    add("--static", type=Path, metavar="OUT",
        help="write the board to a directory or .html file that needs no server")  # fmt: skip
    add("--view", default="", metavar="URL", help="URL of the view to export with --static")
    add("--data-dir", action="append", default=[], type=Path, metavar="DIR",
        help="directory with the data file that the view opens in What-If")  # fmt: skip


def _add_demo(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("directory", nargs="?", type=Path, metavar="DIRECTORY",
        help="write the log here and exit; default: serve a temporary log")  # fmt: skip
    _add_port(parser)
    add("--open", action="store_true", help="open the browser")


def _add_tour(parser: argparse.ArgumentParser) -> None:
    _add_port(parser)
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=True,
                        help="open the browser")  # fmt: skip


def _add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_parse_port, metavar="N",
                        help="port, or 0 for any; default: 6006 or a free one")  # fmt: skip


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    _add_log(parser, cache=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_password(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", nargs="?", metavar="USER", help="user name (default: yours)")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _parse_port(text: str) -> int | None:
    if text == "default":
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f'"{text}" is not a port; use a number from 0 to 65535')
    return int(text)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of seconds')
    return seconds


def _parse_timeout(text: str) -> float:
    seconds = _parse_seconds(text)
    if seconds < 1:
        raise argparse.ArgumentTypeError(f"a timeout of {text} s is too short; use at least 1")
    return seconds


def _parse_bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f'"{text}" is not a boolean; use true or false')
    return text.lower() == "true"


_ADD_FLAGS = {
    "serve": _add_serve,
    "demo": _add_demo,
    "tour": _add_tour,
    "inspect": _add_inspect,
    "export": _add_export,
    "doctor": _add_doctor,
    "password": _add_password,
    "completion": _add_completion,
}

_USAGE = {
    "demo": "[DIRECTORY] [FLAGS]",
    "tour": "[FLAGS]",
    "password": "[USER]",
    "completion": f"{{{','.join(SHELLS)}}}",
    "doctor": "[LOGDIR] [FLAGS]",
}
