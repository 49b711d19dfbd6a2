"""Settings in ``tracklight.toml``: the same names as the flags, which they stand before.

    logdir = "logs"           # at the top: for every command that knows the flag
    exclude = ["*/debug"]

    [serve]                   # for one command
    port = 7000
    read-only = true

The file is that of the current directory, or else the user's own. The current directory may be a
log that came from somewhere else, so what would open the door, send something away or write
somewhere is taken only from the user's own file, or one that was named by ``--config``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tracklight.errors import UsageError

CONFIG_NAME = "tracklight.toml"

#: What no file may say that merely lies in the current directory.
USER_ONLY_SETTINGS = frozenset(
    {
        *("host", "bind-all", "no-token", "trusted-host", "auth", "tls-cert", "tls-key"),
        *("alert-webhook", "optuna", "cache-dir", "out", "static"),
    }
)

Parsers = Mapping[str, argparse.ArgumentParser]


class ConfigSettings(NamedTuple):
    """A file's settings for one command: as words of a command line, and the log."""

    arguments: list[str]
    logdir: str | None


def find_config(chosen: str | None) -> Path | None:
    """The file that was chosen, or the one that is found."""
    if chosen:
        return Path(chosen).absolute()
    return next((path for path in (Path(CONFIG_NAME), _get_user_config()) if path.is_file()), None)


def read_config(path: Path, command: str, parsers: Parsers) -> ConfigSettings:
    """The settings for ``command``; whatever is wrong with the file is a UsageError."""
    try:
        pairs = dict(_iter_pairs(_read(path), command, parsers))
        if path == Path(CONFIG_NAME):
            _check_user_only(pairs)
        logdir = pairs.pop("logdir", None)
        options = _list_options(parsers[command])
        words = [
            word for key, value in pairs.items() for word in _to_arguments(options[key], key, value)
        ]
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    return ConfigSettings(words, _join_logdirs(logdir))


def _check_user_only(pairs: Mapping[str, Any]) -> None:
    guarded = USER_ONLY_SETTINGS.intersection(pairs)
    if guarded:
        raise UsageError(
            f'"{min(guarded)}" is not taken from a file that merely lies here; '
            f"say that it is yours: --config {CONFIG_NAME}"
        )


def _read(path: Path) -> dict[str, Any]:
    import msgspec

    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"this is no TOML: {error}") from error
    except OSError as error:
        raise UsageError(error.strerror or str(error)) from error


def _iter_pairs(
    content: dict[str, Any], command: str, parsers: Parsers
) -> Iterator[tuple[str, Any]]:
    """Those at the top first, so that those for the command have the last word."""
    everything = {key for parser in parsers.values() for key in _list_options(parser)}
    mine = _list_options(parsers[command])
    tables = {key: value for key, value in content.items() if key in parsers}
    for key, value in content.items():
        if key not in tables:
            key = _check_key(key, everything)
            if key in mine:
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
    left_out = {"help", "config", "no-config"}
    flags = ((flag[2:], action) for flag, action in parser._option_string_actions.items())
    return {key: action for key, action in flags if key not in left_out}


def _check_key(key: str, known: Any) -> str:
    key = key.replace("_", "-")
    if key in known:
        return key
    import difflib

    near = difflib.get_close_matches(key, list(known), n=1)
    raise UsageError(f'there is no setting "{key}"' + (f'; nearest: "{near[0]}"' if near else ""))


def _to_arguments(action: argparse.Action, key: str, value: Any) -> list[str]:
    flag = f"--{key}"
    if isinstance(value, bool):
        return _bool_to_arguments(action, flag, value)
    if isinstance(value, list) and isinstance(action, argparse._AppendAction):
        return [f"{flag}={one}" for one in value]
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
    return (
        Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        / "tracklight"
        / CONFIG_NAME
    )
