"""Report log directories that do not exist, with the nearest name that does."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable, Sequence
from itertools import islice

from tracklight.cli.parser import COMMANDS
from tracklight.errors import LogError, UsageError
from tracklight.logdir.roots import Root, is_url, parse_roots

_MAX_ENTRIES = 1000
#: Similarity from which a name counts as a mistyped command; "demo-logs" is not "demo".
_MIN_COMMAND_SIMILARITY = 0.7


def find_missing(roots: Iterable[Root]) -> list[str]:
    """Return the paths of local log directories that do not exist."""
    paths = (root.path for root in roots)
    return [path for path in paths if not is_url(path) and not os.path.exists(path)]


def check_positional(flags: Namespace) -> None:
    """Refuse positional paths that do not exist, which are mostly mistyped commands or names.

    A directory that is given by --logdir may be created later, as with TensorBoard.
    """
    for at, given in enumerate(flags.directories):
        for path in find_missing(parse_roots([given])):
            if at == 0:
                _check_command(given)
            raise LogError(
                f"{describe_missing(path)} "
                "To wait for a directory that does not exist yet, use --logdir."
            )


def describe_missing(path: str) -> str:
    """Say that a directory does not exist, and which similar one does."""
    return f'there is no directory "{_shorten(path)}".{suggest_path(path)}'


def suggest_path(path: str) -> str:
    """Return `` Did you mean "…"?`` for the existing path nearest to a missing one, or ""."""
    parent, name = os.path.split(path.rstrip(os.sep))
    below: list[str] = []
    while parent and not os.path.isdir(parent) and parent != os.path.dirname(parent):
        below.insert(0, name)
        parent, name = os.path.split(parent)
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except OSError:
        return ""
    for near in _find_close(name, names, cutoff=0.6):
        found = os.path.join(parent, near)
        whole = os.path.join(found, *below)
        return f' Did you mean "{_shorten(whole if os.path.exists(whole) else found)}"?'
    return ""


def suggest_name(name: str, known: Iterable[str], cutoff: float = 0.6, *, prefix: str = "") -> str:
    """Return `` Did you mean "…"?`` for the known name nearest to another one, or ""."""
    for near in _find_close(name, list(known), cutoff):
        return f' Did you mean "{prefix}{near}"?'
    return ""


def _check_command(given: str) -> None:
    if given in COMMANDS:
        raise UsageError(f"the command comes before its flags: tracklight {given} …")
    suggestion = suggest_name(given, COMMANDS, _MIN_COMMAND_SIMILARITY)
    if suggestion:
        raise UsageError(f'there is no command or directory "{given}".{suggestion}')


def _find_close(name: str, known: Sequence[str], cutoff: float) -> list[str]:
    import difflib  # only for mistakes

    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return [by_lower[one] for one in found]


def _shorten(path: str) -> str:
    """Show a path below the current directory as a relative one."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive of Windows
        return path
    return path if relative.startswith(os.pardir) else relative
