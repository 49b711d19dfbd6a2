"""Columns that are computed from the names of runs, to group runs by.

The page does the same in ``web/src/lib/grouping.ts`` and ``web/src/lib/run-colors.ts`` for logs
whose runs it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tracklight.analysis.media.time_limits import capture_lines
from tracklight.errors import UsageError

_LINE_BREAKS = re.compile(r"[\r\n]")
_SPLIT_SUFFIX = re.compile(
    r"(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)$", re.IGNORECASE
)
_SPLITS = ("train", "val", "eval", "test")
_SPLIT_NAMES = {"val": "validation", "eval": "evaluation"}


def list_path_parts(names: Sequence[str], part: str) -> list[str | None]:
    """Return part ``part`` of each name, counted from 1.

    The last part is the run itself; it counts only in names without a slash.
    """
    if not part.isdecimal() or not 1 <= int(part) <= 99:
        raise UsageError("runs.bad_path_part", 'there is no part "{part}" of a path', part=part)
    index = int(part) - 1
    found: list[str | None] = []
    for name in names:
        parts = name.split("/")
        found.append(parts[index] if index < max(1, len(parts) - 1) else None)
    return found


def list_captures(names: Sequence[str], pattern: str) -> list[str | None]:
    """Return what a regular expression captures in each name; empty captures count as none."""
    lines = "\n".join(_LINE_BREAKS.sub(" ", name) for name in names)
    return [capture or None for capture in capture_lines(pattern, lines)] if names else []


def list_splits(names: Sequence[str], _: str = "") -> list[str | None]:
    """Return which data each run is about by the end of its name: ``train``, ``validation``, …"""
    return [_find_split(name) for name in names]


def _find_split(name: str) -> str | None:
    match = _SPLIT_SUFFIX.search(name)
    if match is None:
        return None
    word = next(split for split in _SPLITS if match[1].lower().startswith(split))
    return _SPLIT_NAMES.get(word, word)


def find_common_folder(names: Sequence[str]) -> str:
    """Return the longest folder, with its slash, that all names are in; empty if there is none."""
    if not names:
        return ""
    first, last = min(names), max(names)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[: first[:length].rfind("/") + 1]


#: By the first part of their keys, such as ``path:1`` and ``re:seed(.)``.
NAME_COLUMNS: Mapping[str, Callable[[Sequence[str], str], Sequence[str | None]]] = {
    "path": list_path_parts,
    "re": list_captures,
    "split": list_splits,
}
