"""Whether a path, wherever its links lead, stays below a directory."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable

from tracklight.logdir.roots import is_url


def resolve(path: str) -> str:
    """Where a path really leads; a URL without its detours."""
    if not is_url(path):
        return os.path.realpath(path)
    scheme, _, rest = path.partition("://")
    return f"{scheme}://{posixpath.normpath(rest)}"


def is_within(path: str, root: str) -> bool:
    """Whether a resolved path is a resolved directory, or lies below it."""
    separator = "/" if is_url(root) else os.sep
    return path == root or path.startswith(root.rstrip(separator) + separator)


def leads_out(path: str, roots: Iterable[str]) -> bool:
    """Whether a file that was found below the roots is a link to what lies elsewhere.

    Its directory may be a link: people put runs from several places together that way.
    """
    places = [os.path.dirname(path), *roots] if not is_url(path) else roots
    resolved = resolve(path)
    return not any(is_within(resolved, resolve(place)) for place in places)
