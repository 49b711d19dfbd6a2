"""Choosing runs and tags by name, glob or regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tracklight.errors import LogError, UsageError
from tracklight.logdir.globs import compile_glob

Chooser = str | re.Pattern[str]

#: A name, a glob, ``re:`` and a regular expression, a compiled one, several of these, or all.
Choice = Chooser | Iterable[Chooser] | None

_REGEX = "re:"
_WILDCARDS = frozenset("*?[")


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
    if not _WILDCARDS.isdisjoint(chooser):
        return compile_glob(chooser).fullmatch
    raise unknown(chooser)
