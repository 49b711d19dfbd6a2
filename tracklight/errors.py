"""Everything tracklight raises on purpose, so that a caller can catch the level it means.

TracklightError
├── LogError                 a log, or a place in it, cannot be given
│   ├── LogdirNotFoundError  the log directory does not exist; a FileNotFoundError as well
│   ├── UnknownRun
│   ├── UnknownTag
│   └── DamagedRecord        the bytes asked for do not match their checksum, or do not decode
├── FormatError              bytes that are not what they should be
│   └── EmptyGraphError      a graph was logged without any nodes
├── NotKept                  a note could not be written down
├── UsageError               an argument or a flag that makes no sense
│   └── CannotListen         the address or port is taken, or not there
└── MissingExtra             an optional part of tracklight is not installed

UsageWarning                 what a UsageError is turned into while logging, unless strict
NoMatchWarning               a pattern over runs or tags matches nothing
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any


class TracklightError(Exception):
    """Base of all errors that tracklight raises on purpose; its text is fit to show to a user."""


class LogError(TracklightError):
    """A log directory, or a place in it, cannot be given."""


class LogdirNotFoundError(LogError, FileNotFoundError):
    """The log directory does not exist.

    Args:
        path: The directory that was asked for.
        nearest: An existing directory with a similar name, if there is one.
    """

    def __init__(self, path: str, nearest: str | None = None) -> None:
        advice = (
            f'Did you mean "{nearest}"?'
            if nearest
            else "Pass missing_ok=True if it will be created later."
        )
        super().__init__(f'No log directory "{path}". {advice}')
        self.path = path


class RunNotFoundError(LogError):
    """There is no run of that name."""

    def __init__(self, run: str, known: Iterable[str] = ()) -> None:
        super().__init__(f'no run "{run}"{_suggest(run, known)}')


class TagNotFoundError(LogError):
    """The run, or without one any run that is meant, has no tag of that name."""

    def __init__(self, run: str | None, tag: str, known: Iterable[str] = ()) -> None:
        where = "any run" if run is None else f'run "{run}"'
        super().__init__(f'no tag "{tag}" in {where}{_suggest(tag, known)}')


class CorruptRecordError(LogError):
    """The bytes asked for do not match their checksum, or do not decode."""


class FormatError(TracklightError):
    """Bytes that are not what they should be."""


class EmptyGraphError(FormatError):
    """A graph was logged without any nodes, as `trace_export` does when nothing was traced."""


class SaveError(TracklightError):
    """Something that a user said about the log could not be written down."""


class UsageError(TracklightError):
    """An argument or a flag that makes no sense."""


class BindError(UsageError):
    """Nothing can be served at that address and port."""


class UsageWarning(UserWarning):
    """Something was asked of a writer that makes no sense; see `UsageError` for strict writers."""


class NoMatchWarning(UserWarning):
    """A glob or regular expression over runs or tags matches nothing."""


class MissingDependencyError(TracklightError, ImportError):
    """An optional part of tracklight is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'tracklight[{extra}]'")


def import_optional(module: str, feature: str, extra: str) -> Any:
    """Import an optional dependency.

    Args:
        module: The module to import.
        what: What needs it, for the error message.
        extra: The extra of tracklight that installs it.

    Raises:
        MissingExtra: The module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(feature, extra) from error


def list_similar_names(
    name: str, known: Iterable[str], *, limit: int = 1, cutoff: float = 0.4
) -> list[str]:
    """Return the known names that are most similar to a name, the most similar first."""
    # Only needed on errors, and slow to import.
    import difflib

    return difflib.get_close_matches(name, list(known), n=limit, cutoff=cutoff)


def _suggest(name: str, known: Iterable[str]) -> str:
    nearest = list_similar_names(name, known)
    return f'; nearest: "{nearest[0]}"' if nearest else ""
