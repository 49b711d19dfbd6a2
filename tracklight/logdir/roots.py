"""Find an existing path that a mistyped one probably means."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from urllib.parse import urlsplit

from tracklight.errors import UsageError, list_similar_names

_MAX_SIBLINGS = 10_000


def find_nearest_path(path: str) -> str | None:
    """Return an existing path whose name is similar to that of a local path that does not exist.

    The first missing part of the path is compared with the names beside it; the parts below are
    kept where they exist there too. ``logs/tarin/run1`` gives ``logs/train/run1``, or
    ``logs/train`` if that has no ``run1``.
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


# What the user called the log directory, as a list of roots.
#
#     logs                      one directory; its runs keep their bare relative names
#     base:logs/a,new:logs/b    named directories; runs are ``base/…`` and ``new/…``
#     logs/a,logs/b             several unnamed ones are named by the end of their path
#     s3://bucket/logs          a URL; what stands before ``://`` is never a name
#
# A path that exists as it is written is that path, whatever commas or colons it holds. A list or a
# mapping from names to paths says the same without any of that ambiguity.

PathSpec = str | os.PathLike[str]

LogdirSpec = PathSpec | Sequence[PathSpec] | Mapping[str, PathSpec]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")

_SURE_DRIVE = re.compile(r"[A-Za-z]:\\")

_NAMED = re.compile(r"(?P<name>[^:/\\~]*):(?P<path>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Root:
    """One directory, or URL, below which runs are looked for."""

    name: str
    path: str

    def get_run_name(self, relative: str) -> str:
        """Name of the run in the directory ``relative`` to this root ("" is the root itself)."""
        run = relative or "."
        return f"{self.name}/{run}" if self.name else run


def is_url(path: str) -> bool:
    return _URL.match(path) is not None


def parse_roots(spec: LogdirSpec) -> tuple[Root, ...]:
    """Read what was given as log directory; raise UsageError where it makes no sense."""
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
        raise UsageError(f'the log directory "{spec}" has nothing between two commas')
    return pieces


def _split_name(piece: str) -> tuple[str, str]:
    named = _NAMED.fullmatch(piece)
    if named is None or is_url(piece) or _is_drive(piece) or _exists(piece):
        return "", piece
    if not named["path"]:
        raise UsageError(f'no path follows the name in "{piece}"; write name:path')
    return _check_name(named["name"]), named["path"]


def _is_drive(piece: str, os_name: str = os.name) -> bool:
    # Elsewhere than on Windows, ``a:/logs`` is a directory that was named ``a``; but a path that
    # begins with a backslash is one of Windows wherever it was written down.
    drive = _DRIVE if os_name == "nt" else _SURE_DRIVE
    return drive.match(piece) is not None


def _exists(path: str) -> bool:
    return not is_url(path) and os.path.lexists(os.path.expanduser(path))


def _check_name(name: str) -> str:
    if name.strip() in ("", ".", "..") or "/" in name:
        raise UsageError(f'"{name}" cannot be the name of a log directory, nor can any with a "/"')
    return name


def _resolve(path: str) -> str:
    """Make a path absolute, so that it means the same wherever it is used later."""
    if not path:
        raise UsageError("the log directory is an empty path")
    if path.startswith("file://"):
        from urllib.request import url2pathname  # with an HTTP client that nothing else needs

        path = url2pathname(urlsplit(path).path)
    elif is_url(path):
        return path.rstrip("/")
    path = os.path.expanduser(path)
    # Leaving ".." out of "link/.." would end up beside the link instead of beside its target.
    climbs = os.pardir in PurePath(path).parts
    return os.path.realpath(path) if climbs else os.path.abspath(path)


def _name_all(roots: Sequence[Root]) -> tuple[Root, ...]:
    """Give every root beside another one a name, so that their runs cannot be mixed up."""
    roots = list(dict.fromkeys(roots))
    if len(roots) == 1:
        return tuple(roots)
    names = [root.name for root in roots if root.name]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two log directories are both named "{name}"')
    unnamed = [root.path for root in roots if not root.name]
    made = _name_by_tail(unnamed, set(names))
    return tuple(root if root.name else Root(made[root.path], root.path) for root in roots)


def _name_by_tail(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for path in paths:
        others = [_split_path(other) for other in paths if other != path]
        name = _shortest_tail(_split_path(path), others, taken)
        made[path] = _number(name, taken | set(made.values()))
    return made


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
    """Set a name apart from others, also from one that is its beginning (``a`` and ``a/b``)."""
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
