"""All exceptions and warnings that tracklight raises on purpose.

TracklightError
├── LogError                    a log directory, run or value cannot be read
│   ├── LogdirNotFoundError     the log directory does not exist (also a FileNotFoundError)
│   ├── RunNotFoundError        the log has no run of that name
│   ├── TagNotFoundError        the run has no tag of that name
│   └── CorruptRecordError      a record fails its checksum or cannot be decoded
├── FormatError                 a file does not have the expected format
│   └── EmptyGraphError         a graph was logged without any nodes
├── ModelError                  a model cannot be loaded or called, or returns invalid predictions
├── SaveError                   a note or another edit could not be saved
├── UsageError                  invalid argument, flag or request
│   └── BindError               the server cannot listen on the address or port
└── MissingDependencyError      an optional dependency is not installed (also an ImportError)

UsageWarning                    issued instead of a UsageError while logging, unless strict
NoMatchWarning                  a pattern over runs or tags matches nothing

The message of a `TracklightError` can be shown to users unchanged. This module imports nothing from
tracklight, so that every other module may import it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any


class TracklightError(Exception):
    """Base class of all errors that tracklight raises on purpose."""


class LogError(TracklightError):
    """A log directory, run or value cannot be read."""


class LogdirNotFoundError(LogError, FileNotFoundError):
    """The log directory does not exist.

    Args:
        path: The directory that was requested.
        nearest: An existing directory with a similar name, if there is one.
    """

    def __init__(self, path: str, nearest: str | None = None) -> None:
        hint = (
            f'Did you mean "{nearest}"?'
            if nearest
            else "Pass missing_ok=True if it will be created later."
        )
        super().__init__(f'No log directory "{path}". {hint}')
        self.path = path


class RunNotFoundError(LogError):
    """The log has no run of that name.

    Args:
        run: The requested name.
        known: The names of the existing runs; the most similar one is suggested.
    """

    def __init__(self, run: str, known: Iterable[str] = ()) -> None:
        super().__init__(f'no run "{run}"{_suggest(run, known)}')


class TagNotFoundError(LogError):
    """The run has no tag of that name.

    Args:
        run: The run that was searched; None if several runs were searched.
        tag: The requested tag.
        known: The existing tags; the most similar one is suggested.
    """

    def __init__(self, run: str | None, tag: str, known: Iterable[str] = ()) -> None:
        where = "any run" if run is None else f'run "{run}"'
        super().__init__(f'no tag "{tag}" in {where}{_suggest(tag, known)}')


class CorruptRecordError(LogError):
    """A record fails its checksum or cannot be decoded."""


class FormatError(TracklightError):
    """A file does not have the expected format."""


class EmptyGraphError(FormatError):
    """A graph was logged without any nodes, as `trace_export` does when nothing was traced."""


class ModelError(TracklightError):
    """A model cannot be loaded or called, or returns invalid predictions."""


class SaveError(TracklightError):
    """A note or another edit could not be saved."""


class UsageError(TracklightError):
    """An argument, flag or request is invalid."""


class BindError(UsageError):
    """The server cannot listen on the given address and port."""


class UsageWarning(UserWarning):
    """A logging call is invalid and was skipped; strict writers raise `UsageError` instead."""


class NoMatchWarning(UserWarning):
    """A glob or regular expression over runs or tags matches nothing."""


class MissingDependencyError(TracklightError, ImportError):
    """An optional dependency is not installed.

    Args:
        feature: What needs the dependency, as the subject of a sentence.
        extra: The extra of tracklight that installs it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'tracklight[{extra}]'")


def import_optional(module: str, feature: str, extra: str) -> Any:
    """Import an optional dependency.

    Args:
        module: The module to import.
        feature: What needs it, for the error message.
        extra: The extra of tracklight that installs it.

    Returns:
        The module.

    Raises:
        MissingDependencyError: The module is not installed.

    Example:
        >>> pandas = import_optional("pandas", "a pandas table", "pandas")
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(feature, extra) from error


def list_similar_names(
    name: str, known: Iterable[str], *, limit: int = 1, cutoff: float = 0.4
) -> list[str]:
    """Return the known names that are most similar to a name, the most similar first.

    Args:
        name: The name to compare with.
        known: The candidates.
        limit: Maximum number of names to return.
        cutoff: Minimum similarity, from 0 (anything) to 1 (equal).
    """
    import difflib  # slow to import, and only needed when something was not found

    return difflib.get_close_matches(name, list(known), n=limit, cutoff=cutoff)


def _suggest(name: str, known: Iterable[str]) -> str:
    similar = list_similar_names(name, known)
    return f'; nearest: "{similar[0]}"' if similar else ""
