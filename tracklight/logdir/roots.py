"""Parse the log directory argument into a list of roots.

    logs                      one directory; runs are named by their path relative to it
    base:logs/a,new:logs/b    named directories; runs are ``base/…`` and ``new/…``
    logs/a,logs/b             several unnamed directories are named by the end of their path
    s3://bucket/logs          a URL; the part before ``://`` is never a name

A path that exists exactly as written is used as it is, even if it contains commas or colons. A list
of paths, or a mapping from names to paths, avoids this ambiguity.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from urllib.parse import urlsplit

from tracklight.errors import UsageError, list_similar_names

PathSpec = str | os.PathLike[str]
LogdirSpec = PathSpec | Sequence[PathSpec] | Mapping[str, PathSpec]

_MAX_SIBLINGS = 10_000

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BACKSLASH_DRIVE = re.compile(r"[A-Za-z]:\\")
_NAMED = re.compile(r"(?P<name>[^:/\\~]*):(?P<path>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Root:
    """A directory or URL that contains runs."""

    name: str
    path: str

    def get_run_name(self, relative: str) -> str:
        """Return the name of the run in a directory ``relative`` to the root ("" is the root)."""
        run = relative or "."
        return f"{self.name}/{run}" if self.name else run


def is_url(path: str) -> bool:
    """Return whether a path begins with a scheme such as ``s3://``."""
    return _URL.match(path) is not None


def parse_roots(spec: LogdirSpec) -> tuple[Root, ...]:
    """Parse a log directory argument.

    Args:
        spec: A path, a comma-separated list of paths with optional names, a list of these, or a
            mapping from names to paths.

    Returns:
        The roots with absolute paths. If there are several, all of them have a name.

    Raises:
        UsageError: The argument is empty or ambiguous.

    Example:
        >>> [root.name for root in parse_roots("logs/a,new:logs/b")]
        ['a', 'new']
    """
    if isinstance(spec, Mapping):
        pairs = [(_check_name(name), os.fspath(path)) for name, path in spec.items()]
    elif isinstance(spec, str):
        pairs = [_split_name(piece) for piece in _split_pieces(spec)]
    elif isinstance(spec, os.PathLike):
        pairs = [("", os.fspath(spec))]
    else:
        pairs = [_split_name(p) if isinstance(p, str) else ("", os.fspath(p)) for p in spec]
    if not pairs:
        raise UsageError("no log directory was given")
    return _name_all([Root(name, _resolve(path)) for name, path in pairs])


def _split_pieces(spec: str) -> list[str]:
    if "," not in spec or _exists(spec):
        return [spec]
    pieces = [piece.strip() for piece in spec.split(",")]
    if not all(pieces):
        raise UsageError(f'the log directory "{spec}" has an empty path between commas')
    return pieces


def _split_name(piece: str) -> tuple[str, str]:
    named = _NAMED.fullmatch(piece)
    if named is None or is_url(piece) or _is_drive(piece) or _exists(piece):
        return "", piece
    if not named["path"]:
        raise UsageError(f'missing path after the name in "{piece}"; write name:path')
    return _check_name(named["name"]), named["path"]


def _is_drive(piece: str, os_name: str = os.name) -> bool:
    # Except on Windows, ``a:/logs`` is the directory ``/logs`` with the name ``a``; but ``a:\logs``
    # can only be a Windows path.
    drive = _DRIVE if os_name == "nt" else _BACKSLASH_DRIVE
    return drive.match(piece) is not None


def _exists(path: str) -> bool:
    return not is_url(path) and os.path.lexists(os.path.expanduser(path))


def _check_name(name: str) -> str:
    if name.strip() in ("", ".", "..") or "/" in name:
        raise UsageError(
            f'"{name}" cannot be the name of a log directory; use a name without "/", other than '
            '"." and ".."'
        )
    return name


def _resolve(path: str) -> str:
    """Make a path absolute, so that it does not depend on the current directory."""
    if not path:
        raise UsageError("the log directory is an empty path")
    if path.startswith("file://"):
        from urllib.request import url2pathname  # slow to import: loads an HTTP client

        path = url2pathname(urlsplit(path).path)
    elif is_url(path):
        return path.rstrip("/")
    path = os.path.expanduser(path)
    # abspath would turn "link/.." into the parent of the link instead of the parent of its target.
    has_parent = os.pardir in PurePath(path).parts
    return os.path.realpath(path) if has_parent else os.path.abspath(path)


def _name_all(roots: Sequence[Root]) -> tuple[Root, ...]:
    """Name all roots if there are several, so that the names of their runs differ."""
    roots = list(dict.fromkeys(roots))
    if len(roots) == 1:
        return tuple(roots)
    names = [root.name for root in roots if root.name]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two log directories are both named "{name}"')
    unnamed = [root.path for root in roots if not root.name]
    by_path = _name_by_tail(unnamed, set(names))
    return tuple(root if root.name else Root(by_path[root.path], root.path) for root in roots)


def _name_by_tail(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """Name each path by the shortest end of it that is unique."""
    by_path: dict[str, str] = {}
    for path in paths:
        others = [_split_path(other) for other in paths if other != path]
        name = _shortest_tail(_split_path(path), others, taken)
        by_path[path] = _number(name, taken | set(by_path.values()))
    return by_path


def _shortest_tail(
    parts: Sequence[str], others: Sequence[Sequence[str]], taken: Iterable[str]
) -> str:
    for length in range(1, len(parts)):
        tail = parts[-length:]
        name = "/".join(tail)
        if name not in taken and all(other[-length:] != tail for other in others):
            return name
    return "/".join(parts) or "root"


def _number(name: str, taken: Iterable[str]) -> str:
    """Add a number to a name if it equals another one or one is a parent (``a`` and ``a/b``)."""
    numbered, count = name, 1
    while any(_is_within(numbered, other) or _is_within(other, numbered) for other in taken):
        count += 1
        numbered = f"{name}-{count}"
    return numbered


def _is_within(name: str, other: str) -> bool:
    return f"{name}/".startswith(f"{other}/")


def _split_path(path: str) -> list[str]:
    without_scheme = _URL.sub("", path, count=1)
    return [part for part in re.split(r"[\\/]", without_scheme) if part]


def find_nearest_path(path: str) -> str | None:
    """Return an existing path whose name is similar to that of a local path that does not exist.

    The first missing part of the path is compared with the existing names in the same directory.
    ``logs/tarin/run1`` gives ``logs/train/run1``, or ``logs/train`` if that has no ``run1``.
    """
    missing = os.path.abspath(path)
    below: list[str] = []
    parent, name = os.path.split(missing)
    while name and not os.path.isdir(parent):
        below.insert(0, name)
        parent, name = os.path.split(parent)
    nearest = list_similar_names(name, _list_names(parent), cutoff=0.6)
    if not nearest:
        return None
    whole = os.path.join(parent, nearest[0], *below)
    return whole if os.path.exists(whole) else os.path.join(parent, nearest[0])


def _list_names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, _MAX_SIBLINGS) if entry.is_dir()]
    except OSError:
        return []
