"""Everything tracklight raises on purpose, so that a caller can catch the level it means.

TracklightError
├── LogError                 a log, or a place in it, cannot be given
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
"""

from __future__ import annotations

from collections.abc import Iterable


class TracklightError(Exception):
    """Base of all errors that tracklight raises on purpose; its text is fit to show to a user."""


class LogError(TracklightError):
    """A log directory, or a place in it, cannot be given."""


class UnknownRun(LogError):
    """There is no run of that name."""

    def __init__(self, run: str, known: Iterable[str] = ()) -> None:
        super().__init__(f'no run "{run}"{_nearest(run, known)}')


class UnknownTag(LogError):
    """The run, or without one any run that is meant, has no tag of that name."""

    def __init__(self, run: str | None, tag: str, known: Iterable[str] = ()) -> None:
        where = "any run" if run is None else f'run "{run}"'
        super().__init__(f'no tag "{tag}" in {where}{_nearest(tag, known)}')


class DamagedRecord(LogError):
    """The bytes asked for do not match their checksum, or do not decode."""


class FormatError(TracklightError):
    """Bytes that are not what they should be."""


class EmptyGraphError(FormatError):
    """A graph was logged without any nodes, as `trace_export` does when nothing was traced."""


class NotKept(TracklightError):
    """Something that a user said about the log could not be written down."""


class UsageError(TracklightError):
    """An argument or a flag that makes no sense."""


class CannotListen(UsageError):
    """Nothing can be served at that address and port."""


class UsageWarning(UserWarning):
    """Something was asked of a writer that makes no sense; see `UsageError` for strict writers."""


class MissingExtra(TracklightError, ImportError):
    """An optional part of tracklight is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'tracklight[{extra}]'")


def _nearest(name: str, known: Iterable[str]) -> str:
    # Only who makes a mistake has to load this.
    import difflib

    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    return f'; nearest: "{close[0]}"' if close else ""
