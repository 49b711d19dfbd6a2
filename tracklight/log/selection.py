"""Choosing runs and tags by name, glob or regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tracklight.errors import LogError
from tracklight.logdir.globs import compile_pattern, is_plain_name

Chooser = str | re.Pattern[str]

#: A name, a glob, ``re:`` and a regular expression, a compiled one, several of these, or all.
Choice = Chooser | Iterable[Chooser] | None


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


def _compile(chooser: Chooser, unknown: Callable[[str], LogError]) -> Callable[[str], object]:
    if isinstance(chooser, re.Pattern):
        return chooser.search
    if is_plain_name(chooser):
        raise unknown(chooser)
    return compile_pattern(chooser)
