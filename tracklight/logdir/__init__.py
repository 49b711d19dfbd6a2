"""Find, read and watch the files of log directories, local and remote.

May import `tracklight.formats`, `tracklight.types`, `tracklight.errors` and `tracklight.util`. It
knows which files belong to a run but not what they contain; that is the job of `tracklight.index`.

This module has the names of runs and tags: patterns that select them, their natural order, and
escaping. Continue with:

- `access`: parse the log directory argument (``logs``, ``name:path``, URLs), and open files below
  log directories only.
- `filesystem`: the interface to a file system and the local one; `http` and `remote` are others.
  `object_store` keeps the number of listing requests to object stores low.
- `discover`: find runs, event files and other files below a root.
- `tail`: read the new records of an event file, and tell growth from replacement.
- `watch`: wait until something below the roots may have changed.

All commands, settings and the Python API use the same patterns, which docs/patterns.md documents
for users. A pattern is one of

    train/loss      a name
    lr*/train       a glob, see below
    re:^lr.*loss$   a regular expression, which may match anywhere in the name
    /^lr.*loss$/    another notation for a regular expression

A name that is equal to the pattern always matches. A glob must match the whole name:

    *       any characters except ``/``, or none; a pattern that is only ``*`` matches every name
    ?       one character except ``/``
    [abc]   one of these characters, ``[a-z]`` a range, ``[!abc]`` none of these
    **      any characters, including ``/``; ``**/train`` matches ``train`` and ``a/b/train``

Matching is case-sensitive. Where runs are included or excluded (`RunFilter`), a pattern that
matches a directory also covers everything below it, so ``old`` means ``old`` and
``old/2024/train``. The run in the root directory itself is named ``.``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator

import msgspec

from tracklight.errors import UsageError

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[!?.[^\]]*\]|.", re.DOTALL)
_RANGE = re.compile("(.)-(.)|(.)", re.DOTALL)
REGEX_PREFIX = "re:"
_GLOB_CHARACTERS = frozenset("*?[")
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


class RunFilter(msgspec.Struct, frozen=True):
    """Select the runs that match an include pattern (if there are any) and no exclude pattern."""

    include: Callable[[str], bool] | None
    exclude: Callable[[str], bool] | None

    @classmethod
    def parse(cls, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> RunFilter:
        return cls(_compile_directories(include), _compile_directories(exclude))

    def matches(self, run: str) -> bool:
        return not self.excludes(run) and (self.include is None or self.include(run))

    def excludes(self, directory: str) -> bool:
        """Return whether a directory, and therefore everything below it, is excluded."""
        return self.exclude is not None and self.exclude(directory)


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a name matches a pattern.

    Raises:
        UsageError: The pattern is not a valid glob or regular expression.

    >>> matches = compile_pattern("lr*/train")
    >>> matches("lr0.1/train"), matches("lr0.1/seed1/train")
    (True, False)
    """
    expression = _find_regex(pattern)
    search = compile_glob(pattern).fullmatch if expression is None else expression.search
    return lambda name: name == pattern or search(name) is not None


def compile_series_pattern(pattern: str) -> Callable[[str, str], bool]:
    """Return a function that tells whether the series of a run and a tag matches a pattern.

    A pattern is matched against the tag. A glob or name with a ``/`` is also matched against the
    tag with the run in front of it, beginning at any directory of the run: ``*/loss`` matches the
    tag ``loss`` of the runs ``train`` and ``a/b/train`` as well as the tag ``val/loss`` of any run.
    """
    matches = compile_pattern(pattern)
    if "/" not in pattern or _find_regex(pattern) is not None:
        return lambda run, tag: matches(tag)

    def matches_series(run: str, tag: str) -> bool:
        path = tag
        for part in ("", *reversed(run.split("/"))):
            path = f"{part}/{path}" if part else path
            if matches(path):
                return True
        return False

    return matches_series


def is_plain_name(pattern: str) -> bool:
    """Return whether a pattern is a plain name, which matches only itself."""
    return _GLOB_CHARACTERS.isdisjoint(pattern) and _find_regex(pattern) is None


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression of which a matching name is a full match."""
    return re.compile(".*" if pattern == "*" else _translate(pattern), re.DOTALL)


def _find_regex(pattern: str) -> re.Pattern[str] | None:
    if pattern.startswith(REGEX_PREFIX):
        text = pattern.removeprefix(REGEX_PREFIX)
    elif len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/"):
        text = pattern[1:-1]
    else:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(
            "query.invalid_regex",
            '"{pattern}" is not a valid regular expression: {error}',
            pattern=pattern,
            error=error,
        ) from None


def _compile_directories(patterns: Iterable[str]) -> Callable[[str], bool] | None:
    """Like `compile_pattern` for several patterns, which also match everything below a match."""
    globs, expressions = [], []
    for pattern in patterns:
        expression = _find_regex(pattern)
        if expression is None:
            globs.append(_translate(pattern))
        else:
            expressions.append(expression)
    if not globs and not expressions:
        return None
    glob = re.compile(f"(?:{'|'.join(globs)})(?:/.*)?", re.DOTALL) if globs else None

    def matches(run: str) -> bool:
        if glob is not None and glob.fullmatch(run):
            return True
        return any(item.search(part) for item in expressions for part in _iter_directories(run))

    return matches


def _iter_directories(run: str) -> Iterator[str]:
    """Yield a run name and the names of the directories above it."""
    while run:
        yield run
        run = run.rpartition("/")[0]


def _translate(pattern: str) -> str:
    stripped = pattern.rstrip("/") or pattern
    expression = "".join(_translate_token(token) for token in _TOKEN.findall(stripped))
    try:
        re.compile(expression)
    except re.error as error:  # the only possible error is a reversed range, such as [z-a]
        raise UsageError(
            "query.invalid_glob",
            'the pattern "{pattern}" is not a glob: {reason}',
            pattern=pattern,
            reason=error.msg,
        ) from None
    return expression


def _translate_token(token: str) -> str:
    if token in _WILDCARDS:
        return _WILDCARDS[token]
    if len(token) > 1:  # only a set in brackets is longer than one character
        return _translate_set(token)
    return re.escape(token)


def _translate_set(token: str) -> str:
    negated = token.startswith("[!") and len(token) > 3
    members = token[2 if negated else 1 : -1]
    body = "".join(
        f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(single)
        for low, high, single in _RANGE.findall(members)
    )
    return f"(?!/)[{'^' if negated else ''}{body}]"


def natural_key(name: str) -> tuple[str, str]:
    """Return a sort key that compares numbers by value, ignores case and respects directories.

    Numbers may be decimal or in scientific notation, as in learning rates: ``lr3e-4`` sorts before
    ``lr1e-3`` and ``lr0.15`` before ``lr0.2``. Paths are compared part by part, so that a run and
    the runs below it stay together: ``a``, ``a/eval``, ``a-2``.

    >>> sorted(["run10", "run2"], key=natural_key)
    ['run2', 'run10']
    """
    by_part = name.casefold().replace("/", "\0")
    return _NUMBER.sub(_make_sortable, by_part), name


def _make_sortable(number: re.Match[str]) -> str:
    # The bytes of non-negative doubles sort like the doubles, and digits of any length make a
    # double. The leading zero sorts numbers where digits sort among other characters.
    return "0" + struct.pack(">d", float(number[0])).hex()


def escape_unprintable(text: str) -> str:
    """Escape control characters, so that names in a log cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
