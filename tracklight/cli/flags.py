"""Parse the command line, with defaults from a settings file.

TensorBoard's spellings work as well: ``_`` and ``-`` are the same in flags, and TensorBoard flags
that have no effect here are ignored with a note.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tracklight.cli.config import find_config, read_config
from tracklight.cli.logdir_arg import find_logdir_arg, suggest_name
from tracklight.cli.parser import COMMANDS, Parser, create_parsers
from tracklight.errors import UsageError

_ALIASES = {
    "--version-tb": "--version",
    "--helpshort": "--help",
}


def parse_flags(argv: Sequence[str]) -> argparse.Namespace:
    """Parse command-line arguments.

    Args:
        argv: The arguments after the program name.

    Returns:
        The flags. ``command`` is the name of the command, ``notes`` are messages to print.

    Raises:
        UsageError: An argument or the settings file is invalid.
    """
    arguments = [_normalize(argument) for argument in argv]
    if "--inspect" in arguments:  # TensorBoard has a flag where we have a command
        arguments.remove("--inspect")
        arguments.insert(0, "inspect")
    if "--version" in arguments:
        arguments = ["--version"]
    if not arguments or arguments[0] not in (*COMMANDS, "-h", "--help", "--version"):
        arguments.insert(0, "serve")
    parser, parsers = create_parsers()
    flags = _parse(parser, parsers, arguments)
    if not hasattr(flags, "config") or flags.no_config:
        return flags
    path = find_config(flags.config)
    if path is None:
        return flags
    settings = read_config(path, flags.command, parsers)
    flags = _parse(parser, parsers, [arguments[0], *settings.arguments, *arguments[1:]])
    if settings.logdir and find_logdir_arg(flags) is None:
        flags.logdir = settings.logdir
    flags.notes.append(f"using settings from {path}")
    return flags


def _parse(parser: Parser, parsers: dict[str, Parser], arguments: list[str]) -> argparse.Namespace:
    flags, unknown = parser.parse_known_args(arguments)
    if unknown:
        options = parsers[flags.command]._option_string_actions
        names = [option.removeprefix("--") for option in options if option.startswith("--")]
        name = unknown[0].removeprefix("--").partition("=")[0]
        suggestion = suggest_name(name, names, prefix="--")
        message = f"unrecognized arguments: {' '.join(unknown)}"
        if suggestion:
            raise UsageError(f"{message}.{suggestion}")
        parser.error(message)
    return flags


def _normalize(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    flag, equals, value = argument.partition("=")
    flag = flag.replace("_", "-")
    return _ALIASES.get(flag, flag) + equals + value
