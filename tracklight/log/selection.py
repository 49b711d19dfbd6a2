"""Choosing runs and tags by name, glob or regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable

from tracklight.errors import LogError, UsageError
from tracklight.logdir.globs import compile_glob

Chooser = str | re.Pattern[str]

#: A name, a glob, ``re:`` and a regular expression, a compiled one, several of these, or all.
Choice = Chooser | Iterable[Chooser] | None

_REGEX = "re:"


def select(
    choice: Choice, names: Iterable[str], unknown: Callable[[str], LogError]
) -> tuple[str, ...]:
    """Those of the names that are meant, in the order they are given in.

    A plain name that is not there is an error, made by ``unknown``; a pattern may match nothing. A
    regular expression may match anywhere in a name, a glob speaks of all of it.
    """
    names = tuple(dict.fromkeys(names))
    if choice is None:
        return names
    choosers = [choice] if isinstance(choice, str | re.Pattern) else list(choice)
    known = frozenset(names)
    exact = {chooser for chooser in choosers if chooser in known}
    matches = [_compile(chooser, unknown) for chooser in choosers if chooser not in exact]
    return tuple(n for n in names if n in exact or any(match(n) for match in matches))


def is_pattern(chooser: Chooser, names: Container[str]) -> bool:
    """Whether this is a glob or a regular expression, and not one of the names."""
    if isinstance(chooser, re.Pattern):
        return True
    return chooser not in names and (
        chooser.startswith(_REGEX) or not set(chooser).isdisjoint("*?[")
    )


def _compile(
    chooser: Chooser, unknown: Callable[[str], LogError]
) -> Callable[[str], re.Match[str] | None]:
    if isinstance(chooser, re.Pattern):
        return chooser.search
    if chooser.startswith(_REGEX):
        try:
            return re.compile(chooser.removeprefix(_REGEX)).search
        except re.error as error:
            raise UsageError(f'"{chooser}" is no regular expression: {error}') from None
    if is_pattern(chooser, ()):
        return compile_glob(chooser).fullmatch
    raise unknown(chooser)
