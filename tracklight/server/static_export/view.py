"""Parse the URL of a page, to find out which runs a static export of it needs, and color them.

The exported page reads the URL itself. Where it cannot easily be known which runs it shows, as for
filter expressions, the export may contain more runs than are shown, but never fewer.

The page assigns colors to the oldest runs of a log. An export has only some of them, so it stores
the colors. ``web/src/lib/run-colors.ts`` is the original, and a test compares both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tracklight.server.notes import RunNote
from tracklight.server.source import RunRow

#: URL parameters that have no meaning without the server.
_DROPPED_PARAMS = frozenset({"token", "paused"})

#: The default selection of the page: all runs of a small log, the newest runs of a large one.
_MANY_RUNS = 500
_DEFAULT_NEWEST = 100

#: Parameters that say where files are on this machine.
_PRIVATE_PARAMS = frozenset({"wi-file", "wi-data"})
_EMPTY_NOTE = RunNote()

RunNotes = Mapping[str, RunNote]


@dataclass(frozen=True)
class PageView:
    """The parameters of a page's URL."""

    params: Mapping[str, str]

    @property
    def search(self) -> str:
        """The query string for the URL of the exported page."""
        shown = {name: text for name, text in self.params.items() if name not in _PRIVATE_PARAMS}
        return urlencode(shown, quote_via=quote)

    @property
    def compares_runs(self) -> bool:
        """Whether colors of runs or groups depend on the other runs, and not only by their age."""
        return self.params.get("color", "run") != "run" or "group" in self.params

    def select_runs(self, rows: Sequence[RunRow], notes: RunNotes) -> list[str]:
        """Return the names of the runs that the page shows, in the order of ``rows``."""
        matching = [
            row for row in rows if self._may_match(row.name, notes.get(row.name, _EMPTY_NOTE))
        ]
        selection = parse_selection(self.params.get("selected", ""))
        shown = selection.apply(matching, self._is_exact)
        # The baseline is needed even if it is not selected.
        shown |= {self.params["baseline"]} if "baseline" in self.params else set()
        return [row.name for row in rows if row.name in shown]

    @property
    def _is_exact(self) -> bool:
        """Whether the filter can be evaluated here; expressions cannot."""
        return not self.params.get("runs-query")

    def _may_match(self, name: str, note: RunNote) -> bool:
        if note.hidden and self.params.get("show-hidden") not in ("1", ""):
            return False
        return self._matches(name) or (bool(note.alias) and self._matches(note.alias))

    def _matches(self, name: str) -> bool:
        words = self.params.get("runs", "").lower().split()
        if words:
            return all(word in name.lower() for word in words)
        return _compile_pattern(self.params.get("runs-regex", ""))(name)


def parse_view(url: str) -> PageView:
    """Parse the URL of a page, or only its query string."""
    query = urlsplit(url).query if "?" in url else url if "=" in url else ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return PageView({name: text for name, text in pairs if name not in _DROPPED_PARAMS})


@dataclass(frozen=True)
class RunSelection:
    """The selected runs: the newest ones that match the filter, with exceptions."""

    newest: float
    """How many; NaN for the default of the page."""
    included: frozenset[str]
    excluded: frozenset[str]

    def apply(self, matching: Sequence[RunRow], is_exact: bool) -> set[str]:
        names = {row.name for row in matching}
        count = self.newest
        if math.isnan(count):
            count = len(matching) if len(matching) <= _MANY_RUNS else _DEFAULT_NEWEST
        if 0 < count < len(matching) and is_exact:
            names = _select_newest(matching, int(count))
        selected = ((names if count else set()) - self.excluded) | self.included
        return selected.intersection(row.name for row in matching)


def parse_selection(text: str) -> RunSelection:
    r"""Parse ``none;+a,b/{c,d}`` or ``newest-5;-a``, as the page writes it."""
    rule, *lists = re.findall(r"(?:[^\\;]|\\.)+", text) or [""]
    included = (name for one in lists if one[0] == "+" for name in parse_run_names(one[1:]))
    excluded = (name for one in lists if one[0] == "-" for name in parse_run_names(one[1:]))
    newest = re.fullmatch(r"newest-(\d+)", rule)
    count = {"all": math.inf, "none": 0.0}.get(rule, math.nan)
    return RunSelection(
        float(newest[1]) if newest else count, frozenset(included), frozenset(excluded)
    )


def _select_newest(rows: Iterable[RunRow], count: int) -> set[str]:
    def get_age(row: RunRow) -> float:
        start = float(-math.inf if row.start_wall is None else row.start_wall)
        return math.inf if math.isnan(start) else -start

    return {row.name for row in sorted(rows, key=get_age)[:count]}


def _compile_pattern(text: str) -> Callable[[str], bool]:
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error:  # JavaScript has syntax that Python has not
        return lambda name: True
    return lambda name: pattern.search(name) is not None


def parse_run_names(text: str) -> list[str]:
    r"""Parse a list of run names in a URL; ``web/src/lib/run-selection.ts`` writes it.

    ``conv/{a,b},vit`` is ``conv/a``, ``conv/b`` and ``vit``. A ``\`` escapes a character, and
    ``\e`` is an empty part.
    """
    return _RunNameParser(text).parse_list() if text else []


class _RunNameParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def parse_list(self) -> list[str]:
        names = self._parse_entry()
        while self._skip(","):
            names += self._parse_entry()
        return names

    def _parse_entry(self) -> list[str]:
        prefix = self._parse_text()
        if not self._skip("{"):
            return [prefix]
        suffixes = self.parse_list()
        self._skip("}")
        return [prefix + suffix for suffix in suffixes]

    def _parse_text(self) -> str:
        text = ""
        while self._position < len(self._text) and self._text[self._position] not in ",{}":
            character = self._next()
            text += character if character != "\\" else self._next().replace("e", "")
        return text

    def _next(self) -> str:
        character = self._text[self._position : self._position + 1]
        self._position += 1
        return character

    def _skip(self, character: str) -> bool:
        if self._text[self._position : self._position + 1] != character:
            return False
        self._position += 1
        return True


# ---- colors of runs

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
