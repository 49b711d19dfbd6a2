"""All exceptions and warnings that tracklight raises on purpose.

TracklightError
├── LogError                    a log directory, run or value cannot be read
│   ├── LogdirNotFoundError     the log directory does not exist (also a FileNotFoundError)
│   ├── RunNotFoundError        the log has no run of that name
│   ├── TagNotFoundError        the run has no tag of that name
│   ├── CorruptRecordError      a record fails its checksum or cannot be decoded
│   └── UnavailableError        a shard of the index is restarting or too slow
├── FormatError                 a file does not have the expected format
│   ├── EmptyGraphError         a graph was logged without any nodes
│   └── GraphFileError          a file has no graph, or its format is not supported
├── ModelError                  a model cannot be loaded or called, or returns invalid predictions
├── SaveError                   a note or another edit could not be saved
├── ConflictError               a note was changed by someone else meanwhile
├── UsageError                  invalid argument, flag or request
│   ├── ExpressionError         a filter or derived metric is invalid
│   └── BindError               the server cannot listen on the address or port
├── NonFiniteError              a watched value is NaN or infinite (also a FloatingPointError)
└── MissingDependencyError      an optional dependency is not installed (also an ImportError)

UsageWarning                    issued instead of a UsageError while logging, unless strict
NoMatchWarning                  a pattern over runs or tags matches nothing

The message of a `TracklightError` can be shown to users unchanged. Errors that reach the page are
raised with a message code and arguments, so that the page can translate them. This module imports
nothing from tracklight, so that every other module may import it, and only cheap modules of the
standard library, because every training program that logs imports it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any


class Message:
    """A sentence for users that the page can translate.

    Programs and terminals show the text. The page looks the code up in the catalog of its language
    (``web/messages``) and falls back to the text. A test checks that every code has a translation
    with the same arguments. A plain class, because defining a `NamedTuple` takes 2 ms.

    Args:
        code: Identifies the sentence, such as ``graphs.no_group``; it never changes.
        text: The sentence in English.
        args: The arguments by name, for the translation; not to be modified.

    Example:
        >>> str(Message.format("log.no_part", "there is no part {part}", part=3))
        'there is no part 3'
    """

    __slots__ = ("args", "code", "text")

    def __init__(
        self, code: str, text: str, args: dict[str, str | int | float | Message] | None = None
    ) -> None:
        self.code = code
        self.text = text
        self.args = args or {}

    @classmethod
    def format(cls, code: str, template: str, /, **args: Any) -> Message:
        """Return the message of an English template, written as for `str.format`.

        Args:
            code: The code of the sentence.
            template: The sentence in English, with the names of the arguments in braces.
            **args: The arguments. An exception with a message of its own becomes a nested
                message; other objects are sent as text.
        """
        return cls(code, template.format(**args), {name: _simplify(args[name]) for name in args})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {self.text!r}, {self.args!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, self.text, self.args) == (
            other.code,
            other.text,
            other.args,
        )

    def __hash__(self) -> int:
        return hash((self.code, self.text))


def find_message(error: BaseException) -> Message | None:
    """Return the message of an exception; None if it was raised with plain text."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else None


def get_message(error: BaseException) -> Message:
    """Return the message of an exception; without a code if it was raised with plain text."""
    return find_message(error) or Message("", str(error))


def _simplify(value: Any) -> str | int | float | Message:
    if isinstance(value, BaseException):
        return find_message(value) or str(value)
    if isinstance(value, (str, int, float, Message)):
        return value
    try:
        return value.__index__()  # type: ignore[no-any-return]  # an integer of NumPy
    except AttributeError:
        return str(value)


class TracklightError(Exception):
    """Base class of all errors that tracklight raises on purpose.

    Args:
        message: The message, or the code of the message if a template follows.
        template: The message in English, written as for `str.format`.
        **args: The arguments of the template, also sent to the page.

    Example:
        >>> raise UsageError("graphs.no_group", 'the graph has no group "{path}"', path="a/b")
    """

    def __init__(
        self, message: str | Message = "", template: str | None = None, /, **args: Any
    ) -> None:
        if template is not None:
            message = Message.format(str(message), template, **args)
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses have arguments of their own, which the message does not hold.
        return _restore_error, (type(self), self.args, self.__dict__)


def _restore_error(
    kind: type[TracklightError], args: tuple[Any, ...], state: dict[str, Any]
) -> TracklightError:
    """Return a copy of an error that was sent by another process."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class LogError(TracklightError):
    """A log directory, run or value cannot be read."""


class LogdirNotFoundError(LogError, FileNotFoundError):
    """The log directory does not exist.

    Args:
        path: The directory that was requested.
        nearest: An existing directory with a similar name, if there is one.
    """

    def __init__(self, path: str, nearest: str | None = None) -> None:
        if nearest:
            super().__init__(
                "log.no_logdir_nearest",
                'No log directory "{path}". Did you mean "{nearest}"?',
                path=path,
                nearest=nearest,
            )
        else:
            super().__init__(
                "log.no_logdir",
                'No log directory "{path}". Pass missing_ok=True if it will be created later.',
                path=path,
            )
        self.path = path


class RunNotFoundError(LogError):
    """The log has no run of that name.

    Args:
        run: The requested name.
        known: The names of the existing runs; the most similar one is suggested.
    """

    def __init__(self, run: str, known: Iterable[str] = ()) -> None:
        nearest = list_similar_names(run, known)
        if nearest:
            super().__init__(
                "log.nearest_name",
                '{message}; nearest: "{nearest}"',
                message=Message.format("log.no_run", 'no run "{run}"', run=run),
                nearest=nearest[0],
            )
        else:
            super().__init__("log.no_run", 'no run "{run}"', run=run)


class TagNotFoundError(LogError):
    """The run has no tag of that name.

    Args:
        run: The run that was searched; None if several runs were searched.
        tag: The requested tag.
        known: The existing tags; the most similar one is suggested.
    """

    def __init__(self, run: str | None, tag: str, known: Iterable[str] = ()) -> None:
        message = (
            Message.format("log.no_tag", 'no tag "{tag}" in any run', tag=tag)
            if run is None
            else Message.format(
                "log.no_tag_in_run", 'no tag "{tag}" in run "{run}"', tag=tag, run=run
            )
        )
        nearest = list_similar_names(tag, known)
        if nearest:
            super().__init__(
                "log.nearest_name",
                '{message}; nearest: "{nearest}"',
                message=message,
                nearest=nearest[0],
            )
        else:
            super().__init__(message)


class CorruptRecordError(LogError):
    """A record fails its checksum or cannot be decoded."""


class UnavailableError(LogError):
    """A part of the index does not answer now; the same request succeeds later."""


class FormatError(TracklightError):
    """A file does not have the expected format."""


class EmptyGraphError(FormatError):
    """A graph was logged without any nodes, as `trace_export` does when nothing was traced."""


class EmbeddingSizeError(FormatError):
    """A matrix has too few vectors, or too short ones, to be projected."""


class GraphFileError(FormatError):
    """A file has no graph, or its format is not supported."""


class ModelError(TracklightError):
    """A model cannot be loaded or called, or returns invalid predictions."""


class SaveError(TracklightError):
    """A note or another edit could not be saved."""


class ConflictError(TracklightError):
    """A note was changed by someone else since it was read; nothing was saved."""


class UsageError(TracklightError):
    """An argument, flag or request is invalid."""


class ExpressionError(UsageError):
    """An expression in ``text`` is not valid, or names something that does not exist."""

    def __init__(self, message: Message, offset: int, text: str) -> None:
        if offset >= len(text.rstrip()):
            located = Message.format("filter.at_end", "{message} (at the end)", message=message)
        else:
            located = Message.format(
                "filter.at_position",
                "{message} (at character {position})",
                message=message,
                position=offset + 1,
            )
        super().__init__(located)


class BindError(UsageError):
    """The server cannot listen on the given address and port."""


class UsageWarning(UserWarning):
    """A logging call is invalid and was skipped; strict writers raise `UsageError` instead."""


class NoMatchWarning(UserWarning):
    """A glob or regular expression over runs or tags matches nothing."""


class NonFiniteError(TracklightError, FloatingPointError):
    """A value that `tracklight.debugger` watches is NaN or infinite."""


class MissingDependencyError(TracklightError, ImportError):
    """An optional dependency is not installed.

    Args:
        feature: What needs the dependency, as the subject of a sentence.
        extra: The extra of tracklight that installs it.
    """

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            "errors.missing_dependency",
            "{feature} needs an extra: pip install 'tracklight[{extra}]'",
            feature=feature,
            extra=extra,
        )


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
