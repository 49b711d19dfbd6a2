"""Colors of runs, computed as in the page.

The page assigns colors to the oldest runs of a log. An export has only some of them, so it stores
the colors. ``web/src/lib/run-colors.ts`` is the original, and a test compares both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from tracklight.server.source import RunRow

RUN_COLORS = (
    "#5f8dd3", "#dd7900", "#2f9e5b", "#c2379a", "#3f8f8b", "#b0413e", "#7a5cc7", "#8a6d1a",
    "#e0559a", "#4d7c0f", "#5b6b82", "#b45309", "#1d74b8", "#e2604f", "#0d97a8", "#a06bd6",
    "#a98700", "#6f9a1f", "#c93060", "#2b7a5f", "#8f6650", "#4269d0", "#7f8a70", "#a35b91",
)  # fmt: skip

#: The first colors, which differ most; a small log has only these.
_DISTINCT_COLORS = 8
_SPLIT_SUFFIX = re.compile(
    r"(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)\Z", re.IGNORECASE
)
_DIGIT_WEIGHTS = (1, 7, 5, 11)


def assign_run_colors(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return the colors of the oldest runs.

    Args:
        rows: All runs of the log, in natural order.
    """
    newest_first = sorted(rows, key=_get_start, reverse=True)
    # Runs with the same start keep their order when they are sorted, as in the page.
    return _assign(row.name for row in reversed(newest_first))


def _get_start(row: RunRow) -> float:
    start = -math.inf if row.start_wall is None else float(row.start_wall)
    return -math.inf if math.isnan(start) else start


def _assign(names_by_age: Iterable[str]) -> dict[str, str]:
    assigned: dict[str, str] = {}
    taken: set[str] = set()
    for name in names_by_age:
        if len(taken) == len(RUN_COLORS):
            break
        experiment = _SPLIT_SUFFIX.sub("", name)
        color = assigned.get(experiment) or _find_free_color(name, taken)
        taken.add(color)
        assigned[experiment] = assigned[name] = color
    return assigned


def _find_free_color(name: str, taken: set[str]) -> str:
    pool = RUN_COLORS[:_DISTINCT_COLORS] if len(taken) < _DISTINCT_COLORS else RUN_COLORS
    first = hash_run_name(name) % len(pool)
    return next(color for color in (*pool[first:], *pool[:first]) if color not in taken)


def hash_run_name(name: str) -> int:
    """Return the number that gives a run its default color."""
    words = _SPLIT_SUFFIX.sub("", name)
    numbers = sum(map(_hash_digits, re.findall("[0-9]+", words)))
    return _hash_text(re.sub("[0-9]+", "#", words)) + numbers


def _hash_digits(digits: str) -> int:
    zeros = len(digits) - len(digits.lstrip("0")) if digits.strip("0") else len(digits) - 1
    weight = 5 * zeros
    rest = int(digits[-6:])
    for factor in _DIGIT_WEIGHTS:
        weight += factor * (rest % len(RUN_COLORS))
        rest //= len(RUN_COLORS)
    return weight


def _hash_text(text: str) -> int:
    """FNV-1a, 32 bit, of the UTF-16 code units."""
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0x811C9DC5
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = ((value ^ (low | high << 8)) * 0x01000193) & 0xFFFFFFFF
    return value
