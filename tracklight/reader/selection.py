"""Select runs and tags by name, glob or regular expression."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tracklight.errors import NoMatchWarning, TracklightError, list_similar_names
from tracklight.logdir.names import REGEX_PREFIX, compile_glob, compile_pattern, is_plain_name

NamePattern = str | re.Pattern[str]

#: A name, a glob, ``re:REGEX``, a compiled regular expression, several of these, or None for all.
NameFilter = NamePattern | Iterable[NamePattern] | None

_MAX_NAMED = 3
_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def select_names(
    name_filter: NameFilter,
    names: Iterable[str],
    make_error: Callable[[str], TracklightError],
    on_no_match: Callable[[str], None] = lambda pattern: None,
) -> tuple[str, ...]:
    """Return the selected names, in the order of ``names``.

    A regular expression may match anywhere in a name; a glob must match all of it.

    Args:
        name_filter: Which names to select; None selects all.
        names: The names to select from.
        make_error: Creates the error for a plain name that does not exist.
        on_no_match: Called with each pattern that matches no name, which is not an error.
    """
    names = tuple(dict.fromkeys(names))
    if name_filter is None:
        return names
    patterns = [name_filter] if isinstance(name_filter, str | re.Pattern) else list(name_filter)
    known = frozenset(names)
    selected: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, str) and pattern in known:
            selected.add(pattern)
            continue
        matches = _compile(pattern, make_error)
        matching = [name for name in names if matches(name)]
        if not matching:
            on_no_match(pattern if isinstance(pattern, str) else pattern.pattern)
        selected.update(matching)
    return tuple(name for name in names if name in selected)


def _compile(
    pattern: NamePattern, make_error: Callable[[str], TracklightError]
) -> Callable[[str], object]:
    if isinstance(pattern, re.Pattern):
        return pattern.search
    if is_plain_name(pattern):
        raise make_error(pattern)
    return compile_pattern(pattern)


def warn_no_match(noun: str, pattern: str, known: Sequence[str]) -> None:
    """Warn that a pattern matches nothing, and suggest similar names."""
    warn_caller(f'No {noun} matches "{pattern}". {_suggest_names(noun, pattern, known)}')


def warn_caller(message: str) -> None:
    """Issue a NoMatchWarning that points at the calling line outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, NoMatchWarning, stacklevel=level)


def _suggest_names(noun: str, pattern: str, known: Sequence[str]) -> str:
    if not known:
        return f"There are no {noun}s."
    deeper = re.sub(r"\*+", "**", pattern)
    if not pattern.startswith(REGEX_PREFIX) and deeper != pattern and "*" in pattern:
        match = compile_glob(deeper).fullmatch
        if any(match(name) for name in known):
            return f'"*" does not match "/"; did you mean "{deeper}"?'
    text = re.sub(r"[*?\[\]^$]+", "", pattern.removeprefix(REGEX_PREFIX))
    nearest = list_similar_names(text, known, limit=_MAX_NAMED, cutoff=0.3)
    if nearest:
        return f"Similar {noun}s: {_quote(nearest)}."
    more = ", …" if len(known) > _MAX_NAMED else ""
    return f"Known {noun}s: {_quote(known[:_MAX_NAMED])}{more}."


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
