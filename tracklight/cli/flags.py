"""What was asked for: the words of the command line, and the settings in a file.

TensorBoard's spellings work as well: a ``_`` in a flag is as good as a ``-``, and flags of its that
say nothing to tracklight are passed over with a note.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tracklight.cli.config import find_config, read_config
from tracklight.cli.logdir_arg import find_logdir_arg
from tracklight.cli.parser import COMMANDS, Parser, create_parsers
from tracklight.errors import UsageError

_ALIASES = {
    "--version-tb": "--version",
    "--helpfull": "--help",
    "--helpshort": "--help",
}


def parse_flags(argv: Sequence[str]) -> argparse.Namespace:
    """What was asked for; a command line that makes no sense is a UsageError."""
    words = [_normalize(word) for word in argv]
    if "--inspect" in words:  # TensorBoard's way to say it
        words.remove("--inspect")
        words.insert(0, "inspect")
    if "--version" in words:
        words = ["--version"]
    if not words or words[0] not in (*COMMANDS, "-h", "--help", "--version"):
        words.insert(0, "serve")
    parser, known = create_parsers()
    flags = _parse(parser, known, words)
    if not hasattr(flags, "config") or flags.no_config:
        return flags
    path = find_config(flags.config)
    if path is None:
        return flags
    settings = read_config(path, flags.command, known)
    flags = _parse(parser, known, [words[0], *settings.arguments, *words[1:]])
    if settings.logdir and find_logdir_arg(flags) is None:
        flags.logdir = settings.logdir
    flags.notes.append(f"settings are taken from {path}, too")
    return flags


def _parse(parser: Parser, known: dict[str, Parser], words: list[str]) -> argparse.Namespace:
    flags, unknown = parser.parse_known_args(words)
    if unknown:
        from tracklight.cli.logdir_arg import suggest_name

        options = known[flags.command]._option_string_actions
        names = [option.removeprefix("--") for option in options if option.startswith("--")]
        given = unknown[0].removeprefix("--").partition("=")[0]
        suggestion = suggest_name(given, names, prefix="--")
        message = f"unrecognized arguments: {' '.join(unknown)}"
        if suggestion:
            raise UsageError(f"{message}.{suggestion}")
        parser.error(message)
    return flags


def _normalize(word: str) -> str:
    if not word.startswith("--"):
        return word
    flag, equals, value = word.partition("=")
    flag = flag.replace("_", "-")
    return _ALIASES.get(flag, flag) + equals + value
