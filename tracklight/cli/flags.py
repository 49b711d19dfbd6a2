"""Parse the command line, with defaults from ``tracklight.toml``.

    logdir = "logs"           # top level: for every command that has the flag
    exclude = ["*/debug"]

    [serve]                   # for one command
    port = 7000
    read-only = true

The file in the current directory is used, or else the one in the user's configuration directory.
The current directory may be a log that someone else wrote. Settings that grant access, send data
or write files are therefore accepted only from the user's own file or one given by ``--config``.

TensorBoard's spellings work as well: ``_`` and ``-`` are the same in flags, and TensorBoard flags
that have no effect here are ignored with a note.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tracklight.cli.logdir_arg import find_logdir_arg, suggest_name
from tracklight.cli.parser import COMMANDS, Parser, create_parsers
from tracklight.errors import UsageError, list_similar_names

# ---- tracklight.toml

CONFIG_NAME = "tracklight.toml"

#: Settings that are rejected in a file that was found in the current directory.
USER_ONLY_SETTINGS = frozenset(
    {
        *(
            "host",
            "bind-all",
            "no-token",
            "trusted-host",
            "embed-origin",
            "auth",
            "tls-cert",
            "tls-key",
            "writers",
            "user-header",
            "audit-log",
        ),
        *("alert-webhook", "notifications", "optuna", "cluster"),
        *("shared-cache", "cache-dir", "out", "static"),
    }
)

Parsers = Mapping[str, argparse.ArgumentParser]


class ConfigSettings(NamedTuple):
    """The settings of a file for one command.

    Attributes:
        arguments: The settings as command-line arguments.
        logdir: The log directory, which a log directory on the command line replaces.
    """

    arguments: list[str]
    logdir: str | None


def find_config(path: str | None) -> Path | None:
    """Return the settings file given by ``--config``, or the first that exists, or None."""
    if path:
        return Path(path).absolute()
    candidates = (Path(CONFIG_NAME), _get_user_config())
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def read_config(path: Path, command: str, parsers: Parsers) -> ConfigSettings:
    """Read the settings for one command.

    Args:
        path: The settings file.
        command: The command that is run.
        parsers: The parsers of all commands, which define the known settings.

    Raises:
        UsageError: The file cannot be read, or a setting is unknown or invalid.
    """
    try:
        pairs = dict(_iter_settings(_read_toml(path), command, parsers))
        if path == Path(CONFIG_NAME):
            _check_user_only(pairs)
        logdir = pairs.pop("logdir", None)
        options = _list_options(parsers[command])
        arguments = [
            argument
            for key, value in pairs.items()
            for argument in _to_arguments(options[key], key, value)
        ]
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return ConfigSettings(arguments, _join_logdirs(logdir))


def _check_user_only(pairs: Mapping[str, Any]) -> None:
    rejected = USER_ONLY_SETTINGS.intersection(pairs)
    if rejected:
        raise UsageError(
            f'"{min(rejected)}" is not accepted from a file in the current directory; '
            f"if you trust the file, use --config {CONFIG_NAME}"
        )


def _read_toml(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"invalid TOML: {error}") from error
    except OSError as error:
        raise UsageError(error.strerror or str(error)) from error


def _iter_settings(
    content: dict[str, Any], command: str, parsers: Parsers
) -> Iterator[tuple[str, Any]]:
    """Yield the top-level settings first, so that those of the command override them."""
    all_keys = {key for parser in parsers.values() for key in _list_options(parser)}
    options = _list_options(parsers[command])
    tables = {key: value for key, value in content.items() if key in parsers}
    for key, value in content.items():
        if key not in tables:
            key = _check_key(key, all_keys)
            if key in options:
                yield key, value
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f'"{name}" is a command: write its settings below [{name}]')
        pairs = [
            (_check_key(key, _list_options(parsers[name])), value) for key, value in table.items()
        ]
        if name == command:
            yield from pairs


def _list_options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    excluded = {"help", "config", "no-config"}
    flags = ((flag[2:], action) for flag, action in parser._option_string_actions.items())
    return {key: action for key, action in flags if key not in excluded}


def _check_key(key: str, known: Iterable[str]) -> str:
    key = key.replace("_", "-")
    if key in known:
        return key
    nearest = list_similar_names(key, known)
    hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
    raise UsageError(f'there is no setting "{key}".{hint}')


def _to_arguments(action: argparse.Action, key: str, value: Any) -> list[str]:
    flag = f"--{key}"
    if isinstance(value, bool):
        return _bool_to_arguments(action, flag, value)
    if isinstance(value, list) and isinstance(action, argparse._AppendAction):
        return [f"{flag}={item}" for item in value]
    if action.nargs == 0 or not isinstance(value, str | int | float):
        raise UsageError(f'"{key}" cannot be {value!r}')
    return [f"{flag}={value}"]


def _bool_to_arguments(action: argparse.Action, flag: str, value: bool) -> list[str]:
    if isinstance(action, argparse.BooleanOptionalAction):
        return [flag if value else f"--no-{flag[2:]}"]
    if action.nargs == 0:
        return [flag] if value else []
    return [f"{flag}={str(value).lower()}"]


def _join_logdirs(value: Any) -> str | None:
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _get_user_config() -> Path:
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", Path.home())) / "tracklight" / CONFIG_NAME
    config_home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return config_home / "tracklight" / CONFIG_NAME


# ---- the command line

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
